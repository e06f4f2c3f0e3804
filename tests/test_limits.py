"""Fits on a small machine: little memory, one core, no home, nothing writable beside the output, another locale."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import superwords
from superwords import load, machine
from superwords.machine import available_memory, limit_memory, peak_memory

with contextlib.suppress(ImportError):  # Windows
    import resource

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits as Linux has them")
THEMES = ["engines and wheels in the garage. ", "apples and pears in the garden. "]
CORPUS = "id,speech,party\n" + "\n".join(f"d{n},{THEMES[n % 2] * 3},{'AB'[n % 2]}" for n in range(40))
FIT = ["fit", "speeches.csv", "--text", "speech", "--id", "id", "--groups", "party", "--unit", "document"]
FIT += ["--chains", "2", "--sweeps", "12", "--burn-in", "6", "--seed", "3", "--min-df", "2", "--quiet", "-o", "m.sw"]
LIMIT = "from superwords.fitting.estimator import ConceptModel; from superwords.machine import limit_memory\n"


def fit_in(
    folder: Path, before: str = "", env: dict[str, str] | None = None, corpus: str = CORPUS, package: Path | None = None
):
    """Run `superwords fit` in another process, after some lines of Python that limit it."""
    (folder / "speeches.csv").write_text(corpus, encoding="utf-8")
    path = [*([str(package)] if package else []), *sys.path]
    run = "from superwords.cli.main import main\nsys.argv = ['superwords', *sys.argv[1:]]\nmain()"
    program = f"import os, sys\n{before}\n{run}"
    return subprocess.run(
        [sys.executable, "-c", program, *FIT],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(path), **(env or {})},
        preexec_fn=obey_permissions,
        capture_output=True,
        text=True,
        timeout=400,
    )


def obey_permissions() -> None:
    """Take from root the right to write where files are read-only; it has no effect on others."""
    for right in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP


def draws(path: Path) -> list[tuple[int, float]]:
    return [(kept.sweep, kept.log_joint) for chain in load(path).kept_ for kept in chain]


@linux
@pytest.mark.statistics  # compiles every kernel; so does the next, which is of every run
def test_one_core_no_home_no_cache_and_locale_c_change_no_bit(tmp_path) -> None:
    usual, bare = tmp_path / "usual", tmp_path / "bare"
    usual.mkdir()
    bare.mkdir()
    assert fit_in(usual).returncode == 0
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    without = {"HOME": str(locked / "none"), "NUMBA_CACHE_DIR": "/dev/null/cache", "XDG_CACHE_HOME": "/dev/null"}
    without |= {"MPLCONFIGDIR": "/dev/null/mpl", "LC_ALL": "C", "LANG": "C", "PYTHONDONTWRITEBYTECODE": "1"}
    done = fit_in(bare, "os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])", without)
    assert done.returncode == 0, done.stderr
    assert draws(usual / "m.sw") == draws(bare / "m.sw")


@linux
def test_a_package_that_cannot_be_written_to_changes_no_bit_and_stays_as_it_is(tmp_path) -> None:
    usual, bare, package, home = (tmp_path / name for name in ("usual", "bare", "package", "home"))
    usual.mkdir()
    bare.mkdir()
    shutil.copytree(
        Path(superwords.__file__).parent, package / "superwords", ignore=shutil.ignore_patterns("__pycache__")
    )
    home.mkdir()
    for folder in (package, *(one for one in package.rglob("*") if one.is_dir()), home):
        folder.chmod(0o500)
    try:
        before = sorted(package.rglob("*"))
        without = {
            "HOME": str(home),
            "XDG_CACHE_HOME": str(home / "cache"),
            "MPLCONFIGDIR": str(home / "mpl"),
            "LC_ALL": "C",
        }
        where = f"import superwords; assert superwords.__file__.startswith({str(package)!r})"
        done = fit_in(bare, where, without, package=package)
        assert done.returncode == 0, done.stderr
        assert (sorted(package.rglob("*")), list(home.iterdir())) == (before, [])
    finally:
        for folder in (package, *(one for one in package.rglob("*") if one.is_dir()), home):
            folder.chmod(0o700)
    assert fit_in(usual).returncode == 0
    assert draws(usual / "m.sw") == draws(bare / "m.sw")


def mid_size_corpus() -> str:
    """12,000 documents of 60 tokens, of 3,000 words in thirty themes."""
    rng = np.random.default_rng(5)
    names = np.array([f"w{n}" for n in range(3000)])
    words = 100 * rng.integers(30, size=(12_000, 1)) + rng.integers(100, size=(12_000, 60))
    return "id,speech,party\n" + "\n".join(f"d{n},{' '.join(names[one])},A" for n, one in enumerate(words))


@linux
@pytest.mark.statistics
def test_a_mid_size_fit_in_little_memory_fits_or_is_refused_beforehand(tmp_path) -> None:
    done = fit_in(tmp_path, f"{LIMIT}limit_memory(1.5 * 2**30)", corpus=mid_size_corpus())
    assert done.returncode == 0 or "would need" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert "MemoryError" not in done.stderr


@linux
def test_little_memory_fits_or_is_refused_beforehand_with_what_would(tmp_path) -> None:
    """1.5 GB above what the interpreter and its libraries map."""
    done = fit_in(tmp_path, f"{LIMIT}limit_memory(1.5 * 2**30)")
    assert done.returncode == 0 or "would need" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert "MemoryError" not in done.stderr


@linux
@pytest.mark.parametrize("megabytes", [150, 400])
def test_too_little_to_load_the_libraries_is_said_at_once(megabytes) -> None:
    """OpenBLAS would try to get its memory for ever."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes * 10**6, megabytes * 10**6))

    run = [sys.executable, "-m", "superwords.cli.main"]
    options = {"preexec_fn": limit, "capture_output": True, "text": True, "timeout": 60, "check": False}
    refused = subprocess.run([*run, "show", "m.sw"], **options)
    assert refused.returncode == 1
    assert "needs at least 600 MB" in refused.stderr
    assert subprocess.run([*run, "show", "--help"], **options).returncode == 0


@linux
def test_a_limit_on_memory_counts_as_what_is_available() -> None:
    program = "from superwords.machine import *; limit_memory(3e8); print(available_memory())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert 2e8 < float(done.stdout) <= 3e8


def test_a_system_that_reports_nothing_gets_no_limit(monkeypatch) -> None:
    """As on Windows: no module `resource`, no /proc."""
    monkeypatch.setattr(machine, "resource", None)
    monkeypatch.setattr(machine, "Path", lambda *parts: Path("/nowhere"))
    assert peak_memory() != peak_memory()  # NaN
    assert available_memory() is None
    limit_memory(1e9)
