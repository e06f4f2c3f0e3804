"""How kernels are compiled: what numba must offer for it, once for all constants, and ahead of need."""

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numba.core.dispatcher import Dispatcher

from superwords.sampler import compiling
from superwords.sampler.jit import cache_folder, helper, kernel, ref_kernel


@helper
def _add(a, b):
    return a + b


@kernel
def _add_constants(x):
    return _add(0, x) + _add(1, x) + _add(x, x)


def test_a_constant_makes_no_copy_of_a_part():
    assert _add_constants.py_func is not None
    assert _add_constants(3) == 13
    assert len(_add.signatures) <= 1  # none where the kernel came from disk


def test_numba_has_the_hook_by_which_constants_make_no_copies():
    """Without it kernels work, but take longer to compile: look for another when this fails."""
    assert hasattr(Dispatcher, "get_call_template")


class Inner(NamedTuple):
    number: np.ndarray
    scale: float


class Outer(NamedTuple):
    inner: Inner
    table: np.ndarray
    flags: np.ndarray


@helper
def _through_handles(outer, words, result):
    """All that kernels do with what is handed on."""
    row = outer.table[1]
    result[0] = row[2] + outer.table[0, 1] * outer.inner.scale
    for w in words[1:]:
        result[1] += outer.inner.number[w]
    for w in words[:0]:
        result[1] -= 1000 * w
    result[2] = len(words[2:100]) + 10 * len(outer.table) + 100 * len(outer.table[0])
    outer.flags[2] = not outer.flags[1]
    row[0] += 5.0


@ref_kernel
def _lean_kernel(outer, pair, result):
    words, more = pair
    _through_handles(outer, words, result)
    result[3] = more[0]


def test_a_kernel_hands_arrays_and_tuples_on_by_pointers():
    outer = Outer(Inner(np.arange(10, dtype=np.int32), 0.5), np.arange(6.0).reshape(2, 3), np.zeros(3, bool))
    result = np.zeros(4)
    _lean_kernel(outer, (np.array([9, 3, 4], np.int32), np.array([7], np.uint8)), result)
    assert result.tolist() == [5.5, 7.0, 321.0, 7.0]
    assert outer.flags.tolist() == [False, False, True]
    assert outer.table[1].tolist() == [8.0, 4.0, 5.0]


def test_an_index_out_of_bounds_can_be_found(tmp_path):
    program = (
        "import numpy as np; from superwords.sampler.jit import ref_kernel\n"
        "@ref_kernel\ndef read(x, i):\n    return x[i]\n"
        "read(np.zeros(3), 3)"
    )
    path = tmp_path / "program.py"
    path.write_text(program)
    checked = {**os.environ, "NUMBA_BOUNDSCHECK": "1", "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, path], env=checked, capture_output=True, text=True, check=False)
    assert "IndexError: index is out of bounds" in done.stderr


def test_kernels_are_compiled_ahead_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(compiling, "cache_folder", cache_folder.__wrapped__)
    monkeypatch.setattr(compiling, "_HALVES", (("tokens",),))
    compiling.compile_ahead()
    assert compiling._running
    compiling.await_kernels()
    assert list(Path(tmp_path).rglob("assignments._impute_documents*.nbc"))
    compiling.compile_ahead()
    assert not compiling._running
    # numba keeps machine code by the path of its source, so another copy of the package has nothing yet.
    monkeypatch.setattr(compiling, "__file__", "/another/copy/superwords/sampler/compiling.py")
    compiling.compile_ahead()
    assert compiling._running
    compiling.await_kernels()
