"""Checkpoints: a run that is taken up again has the bits of one that was never interrupted."""

import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cli_for_tests import assert_same_bits
from models_for_tests import PLANTED, planted_corpus
from superwords import ConceptModel, InputError, load
from superwords.fitting.running import Swept
from superwords.progress import Progress
from superwords.storage import checkpoint as checkpoints
from superwords.storage import model as storage
from superwords.storage.checkpoint import Checkpoint

KEY = {"--sweeps": 20, "--theta": None}
SETTINGS = {"n_chains": 2, "n_sweeps": 20, "n_burn_in": 6, "thin": 2, "random_state": 11}
SAMPLED = {"b1": "sample", "b2": "sample", "alpha_omega": "sample", "theta": "sample"}


def prepared(n_jobs: int = 2, **settings: object) -> ConceptModel:
    model = ConceptModel(**{**SETTINGS, **settings}, n_jobs=n_jobs)
    model.start(planted_corpus(), PLANTED.features)
    return model


@pytest.fixture(scope="module")
def uninterrupted():
    return ConceptModel(**SETTINGS).fit(planted_corpus(), features=PLANTED.features)


def no_complaint(text):
    raise AssertionError(text)


def begun(model, path, every=0.0):
    storage.write(path, model, model.kept_, run=KEY)
    return Checkpoint(path, every, no_complaint)


def interrupt(model, checkpoint, chain, sweep):
    """Run the model until a chain has made so many sweeps."""

    class Interrupted(Checkpoint):
        def __call__(self, progress):
            if progress.chain == chain and progress.sweep == sweep:
                raise KeyboardInterrupt

    checkpoint.__class__ = Interrupted
    with pytest.raises(KeyboardInterrupt):
        watched(model, checkpoint)
    checkpoint.__class__ = Checkpoint


def watched(model, checkpoint):
    model.set_params(progress=checkpoint).resume()
    return model.set_params(progress=None)


def taken_up(path):
    """The run in a file, to its end."""
    return watched(load(path), Checkpoint(path, 0.0, no_complaint))


@pytest.mark.parametrize(("n_jobs", "chain", "sweep"), [(2, 0, 1), (2, 1, 9), (1, 0, 13), (1, 1, 18)])
def test_the_same_bits_after_an_interruption(tmp_path, uninterrupted, n_jobs, chain, sweep):
    path = tmp_path / "run.checkpoint"
    model = prepared(n_jobs)
    interrupt(model, begun(model, path), chain, sweep)
    assert storage.read(path).run == KEY
    assert load(path).chains_[chain].sweep <= sweep + 1
    assert_same_bits(taken_up(path), uninterrupted)
    assert_same_bits(model.set_params(progress=None).resume(), uninterrupted)


def test_sampled_hyperparameters_go_on_too(tmp_path):
    path = tmp_path / "run.checkpoint"
    model = prepared(**SAMPLED)
    interrupt(model, begun(model, path), 1, 9)
    whole = ConceptModel(**SETTINGS, **SAMPLED).fit(planted_corpus(), features=PLANTED.features)
    assert_same_bits(taken_up(path), whole)


def test_the_last_state_is_written_on_request(tmp_path, uninterrupted):
    path = tmp_path / "run.checkpoint"
    model = prepared()
    checkpoint = begun(model, path, every=3600.0)
    interrupt(model, checkpoint, 0, 12)
    assert [chain.sweep for chain in load(path).chains_] == [0, 0], "it is not yet time"
    checkpoint.write()
    again = load(path)
    assert [chain.sweep for chain in again.chains_] == [chain.sweep for chain in model.chains_]
    assert len(again.draws_) == len(model.draws_) > 0
    assert again.n_concepts_ == model.n_concepts_
    assert_same_bits(taken_up(path), uninterrupted)


def test_draws_of_sweeps_that_are_made_again_do_not_count(tmp_path, uninterrupted):
    """A kill between two positions: the file has draws of later sweeps than the chains'."""
    path = tmp_path / "run.checkpoint"
    model = prepared()
    checkpoint = begun(model, path, every=3600.0)
    interrupt(model, checkpoint, 0, 12)
    checkpoint.draws[0].file.draws()  # which writes those that wait
    assert storage.read(path).chains[0].sweep == 0
    with closing(sqlite3.connect(path)) as database:
        assert len(database.execute("SELECT * FROM draw").fetchall()) > 0
    assert len(load(path).draws_) == 0
    assert_same_bits(taken_up(path), uninterrupted)


def test_going_on_from_another_sweep_has_other_bits(tmp_path, uninterrupted):
    """The comparison can fail: a chain that believes itself one sweep further draws other numbers."""
    path = tmp_path / "run.checkpoint"
    model = prepared()
    interrupt(model, begun(model, path), 0, 8)
    again = load(path)
    again.chains_[0].sweep += 1
    with pytest.raises(AssertionError):
        assert_same_bits(again.resume(), uninterrupted)


def test_a_checkpoint_before_the_first_sweep(tmp_path, uninterrupted):
    path = tmp_path / "run.checkpoint"
    begun(prepared(), path).close()
    assert_same_bits(load(path).resume(), uninterrupted)


def test_sampling_does_not_change_by_being_watched(tmp_path, uninterrupted):
    model = prepared()
    assert_same_bits(watched(model, begun(model, tmp_path / "run.checkpoint")), uninterrupted)


def test_what_cannot_be_written_does_not_stop_the_chains(tmp_path, uninterrupted):
    said = []
    path = tmp_path / "run.checkpoint"
    model = prepared()
    begun(model, path).close()
    checkpoint = Checkpoint(path, 0.0, said.append)
    checkpoint._file._database.execute("PRAGMA query_only = ON")
    watched(model, checkpoint)
    checkpoint._file._database.execute("PRAGMA query_only = OFF")
    assert_same_bits(model, uninterrupted)
    assert said
    assert "cannot be written" in said[0]


def test_writing_takes_a_twentieth_of_the_time_at_most(tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    model = prepared()
    checkpoint = begun(model, path)
    clock = [1000.0]
    monkeypatch.setattr(checkpoints, "monotonic", lambda: clock[0])
    monkeypatch.setattr(checkpoint, "_next", 0.0)
    written = []

    def write():
        written.append(clock[0])
        clock[0] += 2.0

    monkeypatch.setattr(checkpoint, "write", write)
    position = model.chains_[0].position()
    while clock[0] < 1200.0:
        clock[0] += 1.0  # a sweep
        checkpoint.see(Swept(Progress(0, 1, 20, 1, 0.0, 0.0), None, position))
    assert 2.0 * len(written) <= 0.05 * 200.0 + 2.0
    assert len(written) >= 4


def test_a_finished_model_is_no_checkpoint(tmp_path, uninterrupted):
    path = uninterrupted.save(tmp_path / "model.sw")
    assert storage.read(path).run is None


def test_a_missing_or_damaged_checkpoint(tmp_path):
    path = tmp_path / "run.checkpoint"
    with pytest.raises(InputError, match="There is no file"):
        Checkpoint(path, 0.0, no_complaint)
    begun(prepared(), path).close()
    path.write_bytes(path.read_bytes()[:-5000])
    with pytest.raises(InputError, match="is not a superwords model, or it is damaged"):
        Checkpoint(path, 0.0, no_complaint)


def test_texts_and_metadata_come_back(tmp_path):
    path = tmp_path / "run.checkpoint"
    model = prepared()
    model.corpus_ = replace(model.corpus_, notes={"groups": ["party"], "recipe": {"units": {"a": None}}})
    begun(model, path).close()
    again = load(path)
    assert again.corpus_.texts == model.corpus_.texts
    assert again.corpus_.notes == model.corpus_.notes
    assert again.corpus_.metadata.equals(model.corpus_.metadata)


RUN = """
import sys
from pathlib import Path
from superwords import load
from superwords.storage.checkpoint import Checkpoint
path = Path(sys.argv[1])
model = load(path)
print("ready", flush=True)
model.set_params(progress=Checkpoint(path, 0.0, print)).resume()
print("done", flush=True)
"""


@pytest.mark.statistics  # test_faults.py has kills for every run
def test_killed_again_and_again_it_ends_with_the_same_bits(tmp_path):
    """kill -9 at random moments, some of them within a transaction."""
    long = {"n_sweeps": 240, "n_burn_in": 60, "thin": 6}
    path = tmp_path / "run.checkpoint"
    begun(prepared(**long), path).close()
    rng = random.Random(4)
    sweeps = []
    for _ in range(3):
        process = subprocess.Popen([sys.executable, "-c", RUN, path], stdout=subprocess.PIPE, text=True)
        assert process.stdout.readline() == "ready\n"
        before, deadline = path.stat().st_mtime_ns, time.monotonic() + 120
        while path.stat().st_mtime_ns == before and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3 * rng.random())
        process.kill()
        said, _ = process.communicate()
        sweeps.append([chain.sweep for chain in load(path).chains_])
        if "done" in said:
            break
    assert any(0 < one < 240 for pair in sweeps for one in pair), sweeps
    assert sorted(sweeps) == sweeps, "it goes on from where it was"
    whole = ConceptModel(**{**SETTINGS, **long}).fit(planted_corpus(), features=PLANTED.features)
    ended = taken_up(path)
    assert_same_bits(ended, whole)
    assert len(ended.draws_) == len(whole.draws_) == 60
    for mine, theirs in list(zip(ended.draws_, whole.draws_, strict=True))[::5]:
        for one, other in zip(mine.state, theirs.state, strict=True):
            np.testing.assert_array_equal(one, other)
    assert sorted(os.listdir(tmp_path)) == [Path(path).name]
