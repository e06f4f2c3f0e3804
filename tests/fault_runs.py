"""Run in a process of its own by test_faults.py: a small fit, edit or `fit --more` with a fault at every n-th write.

usage: fault_runs.py SCENARIO MODE STEP FOLDER; prints one line of JSON. Each run is a fork, so that nothing is compiled
or imported again; the parent opens what is left, resumes it and compares every bit with a run that was left alone.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import shutil
import sys
import traceback
from pathlib import Path

import numpy as np

from choices_for_tests import read_choices
from superwords import load
from superwords.analysis.curation import add_choices
from superwords.cli.main import main
from superwords.errors import InputError
from superwords.storage import cache
from superwords.storage.model_file import Choice

MODES = {"none": 0, "fail": 1, "short": 2, "full": 3, "kill": 4, "tear": 5, "sync fails": 1, "kill at sync": 4}
OPTIONS = ["--sweeps", "6", "--burn-in", "2", "--thin", "2", "--chains", "2", "--seed", "3", "--jobs", "1"]
OPTIONS += ["--words", "plain", "--min-df", "1", "--features", "none", "--no-texts"]
WORDS = ["apple", "pear", "cherry", "basket"], ["engine", "wheel", "brake", "tyre"]
NAME = Choice("name", 1, "first", "2026-01-01")


def fit(folder: Path, *more: str) -> int:
    output = ["-o", str(folder / "m.sw"), "--quiet", "--checkpoint-every", "0"]
    return main(["fit", str(folder / "notes.txt"), *OPTIONS, *output, *more])


def sample_more(folder: Path, *more: str) -> int:
    return main(
        ["fit", "--more", "4", str(folder / "m.sw"), "--quiet", "--jobs", "1", "--checkpoint-every", "0", *more]
    )


def edit(folder: Path, *_: str) -> int:
    add_choices(folder / "m.sw", [NAME])
    return 0


SCENARIOS = {"fit": fit, "more": sample_more, "edit": edit}


def bits(path: Path) -> str:
    """All that is sampled and all that is shown, as one text."""
    model = load(path)
    states = [array.tobytes().hex() for chain in model.chains_ for array in (*chain.state, *chain.tokens)]
    draws = [array.tobytes().hex() for draw in model.draws_ for array in (*draw.state, *draw.tokens)]
    return json.dumps([states, draws, [chain.sweep for chain in model.chains_], model.concepts().to_csv()])


def forked(work) -> int:
    """Run in a fork, and return its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException), open(os.devnull, "w") as null:
            os.dup2(null.fileno(), 2)
            os.dup2(null.fileno(), 1)
            code = work()
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def trial(scenario: str, mode: str, n: int, folder: Path) -> int:
    faults = ctypes.CDLL(None)

    def work() -> int:
        faults.fault_arm(str(folder).encode(), MODES[mode], int("sync" in mode), ctypes.c_long(n))
        return SCENARIOS[scenario](folder)

    return forked(work)


def check(scenario: str, folder: Path, before: str, after: str) -> str:
    """What a fault left: the file before or after, never another; a checkpoint that resumes with the same bits."""
    model, checkpoint = folder / "m.sw", folder / "m.sw.checkpoint"
    if model.exists() and bits(model) not in (before, after):
        return "the model is neither the old nor the new one"
    if scenario == "edit":
        return "" if read_choices(model) in ([], [NAME]) else "half a decision"
    if not model.exists() and before:
        return "the model is lost"
    again = ["--resume"] if checkpoint.exists() else []
    is_done = model.exists() and bits(model) == after and not again
    if not is_done and SCENARIOS[scenario](folder, *again) != 0:
        return f"it cannot be continued ({again})"
    if bits(model) != after:
        return "it continues with other bits"
    left = sorted(one.name for one in folder.iterdir() if one.name not in ("m.sw", "notes.txt"))
    return f"left behind: {left}" if left else ""


def fresh(folder: Path, start: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(start, folder)


def run(scenario: str, mode: str, step: int, root: Path) -> dict[str, object]:
    start, folder = root / "start", root / "work"
    start.mkdir()
    rng = np.random.default_rng(0)
    words = [rng.choice(WORDS[d % 2], 12) for d in range(12)]
    (start / "notes.txt").write_text("\n".join(map(" ".join, words)))
    if scenario != "fit":
        assert fit(start) == 0
    before = bits(start / "m.sw") if scenario != "fit" else ""
    fresh(folder, start)
    assert SCENARIOS[scenario](folder) == 0
    after = bits(folder / "m.sw")
    faults = ctypes.CDLL(None)
    faults.fault_seen.restype = ctypes.c_long
    faults.fault_arm(str(folder).encode(), 0, int("sync" in mode), ctypes.c_long(0))
    fresh(folder, start)
    faults.fault_arm(str(folder).encode(), 0, int("sync" in mode), ctypes.c_long(0))
    assert SCENARIOS[scenario](folder) == 0
    n_writes = faults.fault_seen()
    faults.fault_arm(b"", 0, 0, ctypes.c_long(0))
    codes: dict[int, int] = {}
    wrong = []
    for n in range(1, n_writes + 1, step):
        fresh(folder, start)
        code = trial(scenario, mode, n, folder)
        codes[code] = codes.get(code, 0) + 1
        try:
            found = check(scenario, folder, before, after)
        except InputError as error:
            found = f"{type(error).__name__}: {error}"
        except Exception:
            found = traceback.format_exc()
        if found:
            wrong.append([n, code, found])
    return {"writes": n_writes, "codes": codes, "wrong": wrong}


if __name__ == "__main__":
    scenario, mode, step, root = sys.argv[1:]
    cache.cache_folder = lambda: Path(root) / "cache"
    print(json.dumps(run(scenario, mode, int(step), Path(root))))
