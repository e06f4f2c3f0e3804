"""Whatever happens to a write, the file opens, and the run continues with the same bits.

Faults are injected below SQLite and Python by a small preloaded library (tests/faults.c), so nothing of the storage is
replaced: the n-th write fails, is short, finds the disk full, or is the last thing that the process does.
"""

import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from choices_for_tests import read_choices
from cli_for_tests import QUICK, assert_same_bits, fit_arguments, loaded, run, start, write_documents

HERE = Path(__file__).parent
MODES = ["fail", "short", "full", "kill", "tear", "sync fails", "kill at sync"]

needs_compiler = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("cc") is None, reason="faults are injected by a library built with cc"
)


@pytest.fixture(scope="session")
def faults(tmp_path_factory):
    library = tmp_path_factory.mktemp("faults") / "faults.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, HERE / "faults.c", "-ldl"], check=True)
    return library


def inject(faults, scenario, mode, step, folder):
    environment = {**os.environ, "LD_PRELOAD": str(faults)}
    environment["PYTHONPATH"] = os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, HERE / "fault_runs.py", scenario, mode, str(step), folder]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def assert_held(found):
    assert found["writes"] > 2
    assert sum(found["codes"].values()) > 0
    assert not found["wrong"], found["wrong"][:3]


@needs_compiler
@pytest.mark.parametrize(("scenario", "mode", "step"), [("edit", "kill", 5), ("fit", "kill", 40), ("more", "tear", 60)])
def test_some_faults(faults, tmp_path, scenario, mode, step):
    """A few of those below, so that every run of the tests has them."""
    found = inject(faults, scenario, mode, step, tmp_path)
    assert_held(found)
    # A sync cannot be torn: it fails, and the command says so.
    assert str(-signal.SIGKILL) in found["codes"]
    assert set(found["codes"]) <= {str(-signal.SIGKILL), "1"}


@needs_compiler
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    ("scenario", "step"),
    [
        pytest.param("edit", 4, marks=pytest.mark.statistics),
        pytest.param("fit", 40, marks=pytest.mark.statistics),
        pytest.param("more", 40, marks=pytest.mark.statistics),
        *(
            pytest.param(name, 1, marks=[pytest.mark.slow, pytest.mark.timeout(7200)])
            for name in ("edit", "fit", "more")
        ),
    ],
)
def test_a_fault_at_every_nth_write(faults, tmp_path, scenario, step, mode):
    assert_held(inject(faults, scenario, mode, step, tmp_path))


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    return write_documents(tmp_path_factory.mktemp("documents"))


@pytest.fixture
def model(capsys, source, tmp_path):
    path = tmp_path / "m.sw"
    assert run(capsys, *fit_arguments(source, path, "--quiet")).code == 0
    return path


def commands(source, model):
    return {
        "fit": fit_arguments(source, model, "--quiet"),
        "more": ["fit", "--more", 4, model, "--quiet"],
        "edit": ["edit", model, "--name", 1, "given meanwhile", "--quiet"],
        "export": ["export", model, "--format", "csv", "-o", model.with_name("tables")],
        "explore": ["explore", model, "--port", 0, "--no-browser"],
    }


BUSY = ("Another process is writing", "has been sampled further", "Another program is writing")


# In every statistical leg the pairs that write; all others by hand (make test-slow).
WRITING = (("more", "edit"), ("edit", "edit"), ("more", "more"), ("fit", "more"))
PAIRS = itertools.combinations_with_replacement(["fit", "more", "edit", "explore", "export"], 2)


@pytest.mark.parametrize(
    ("one", "other"),
    [pytest.param(*pair, marks=pytest.mark.statistics if pair in WRITING else pytest.mark.slow) for pair in PAIRS],
)
def test_two_processes_on_one_file(source, model, one, other):
    """Each of them succeeds, or refuses in one sentence because of the other; the file opens afterwards."""
    processes = [start(*commands(source, model)[name]) for name in (one, other)]
    for name, process in zip((one, other), processes):
        if name == "explore":
            process.stdout.readline()  # its address, or the end of what it says
        else:
            process.wait(300)
    for name, process in zip((one, other), processes):
        if name == "explore":
            process.terminate()
    said = [process.communicate(timeout=300)[1] for process in processes]
    for name, process, error in zip((one, other), processes, said):
        is_fine = process.returncode == 0 or any(reason in error for reason in BUSY)
        assert is_fine or name == "explore", (name, error)
        assert "Traceback" not in error
    found = loaded(model)
    assert len(found.concepts()) > 0
    kept = [one.value for one in read_choices(model)]
    n_edits = sum(name == "edit" and not process.returncode for name, process in zip((one, other), processes))
    if "fit" not in (one, other):  # which replaces the model and what was decided about it
        assert kept == ["given meanwhile"] * n_edits or "is lost" in "".join(said)


@pytest.mark.statistics
def test_thirty_random_kills(capsys, source, tmp_path):
    """kill -9 at any moment of fit, resume, more and edit: the same bits as if nothing had happened."""
    whole, output = tmp_path / "whole.sw", tmp_path / "m.sw"
    long = [*QUICK, "--sweeps", "120", "--burn-in", "40", "--thin", "4"]
    fit = ["fit", source, "--text", "speech", *long, "--quiet", "--checkpoint-every", "0"]
    more = ["fit", "--more", "80", "--quiet", "--checkpoint-every", "0"]
    assert run(capsys, *fit, "-o", whole).code == 0
    assert run(capsys, *more, whole).code == 0
    checkpoint, rng, kills = output.with_name("m.sw.checkpoint"), random.Random(8), 0
    for command, n_sweeps in (([*fit, "-o", output], 120), ([*more, output], 200)):
        is_done = False
        while not is_done:
            again = ["--resume"] if checkpoint.exists() else []
            process = start(*command, *again)
            try:
                process.wait(rng.uniform(1.0, 6.0) if kills < 30 else 300)
            except subprocess.TimeoutExpired:
                process.kill()
                kills += 1
            error = process.communicate()[1]
            assert process.returncode in (0, -signal.SIGKILL), error
            is_done = process.returncode == 0
            if output.exists():
                reached = {chain.sweep for chain in loaded(output).chains_}
                # Killed after its last step, as Python ended: to run it again would sample further.
                is_done = is_done or (reached == {n_sweeps} and not checkpoint.exists())
    while kills < 30:
        process = start("edit", output, "--name", 1, f"name {kills}", "--quiet")
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0.3, 0.8))
        process.kill()
        process.communicate()
        kills += 1
        assert all(one.value.startswith("name ") for one in read_choices(output))
    assert_same_bits(loaded(output), loaded(whole))
    assert {one.name for one in tmp_path.iterdir() if not one.name.startswith(".")} == {"whole.sw", "m.sw"}
