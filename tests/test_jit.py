"""How kernels are compiled: what numba must offer for it, once for all constants, and ahead of need."""

from pathlib import Path

from numba.core.dispatcher import Dispatcher

from superwords.sampler import compiling
from superwords.sampler.jit import NO_COUNTS, cache_folder, kernel, part


@part
def _add(a, b):
    return a + b


@kernel
def _add_constants(x):
    return _add(0, x) + _add(1, x) + _add(x, x)


def test_a_constant_makes_no_copy_of_a_part():
    assert _add_constants.py_func is not None
    assert _add_constants(3) == 13
    assert len(_add.signatures) <= 1  # none where the kernel came from disk


def test_numba_has_the_private_switches_that_make_kernels_fast():
    """Without them kernels work, but run and compile more slowly: look for others when this fails."""
    assert NO_COUNTS
    assert hasattr(Dispatcher, "get_call_template")


def test_kernels_are_compiled_ahead_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiling, "cache_folder", cache_folder.__wrapped__)
    monkeypatch.setattr(compiling, "_HALVES", (("tokens",),))
    compiling.compile_ahead()
    assert compiling._running
    compiling.await_kernels()
    assert list(Path(tmp_path).rglob("tokens._impute_documents*.nbc"))
    compiling.compile_ahead()
    assert not compiling._running
