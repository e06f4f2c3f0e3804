"""Checkpoints: a run that is taken up again has the bits of one that was never interrupted."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pytest

from cli_for_tests import assert_same_bits
from models_for_tests import PLANTED, planted_corpus
from superwords import ConceptModel, InputError
from superwords.fitting.checkpoint import Checkpointer, read_checkpoint

KEY = {"--sweeps": 20, "--theta": None}


SETTINGS = {"n_chains": 2, "n_sweeps": 20, "n_burn_in": 6, "thin": 2, "random_state": 11}
SAMPLED = {"b1": "sample", "b2": "sample", "alpha_omega": "sample", "theta": "sample"}


def prepared(n_jobs: int = 2, **settings: object) -> ConceptModel:
    model = ConceptModel(**SETTINGS, n_jobs=n_jobs, **settings)
    model.start(planted_corpus(), PLANTED.features)
    return model


@pytest.fixture(scope="module")
def uninterrupted():
    return ConceptModel(**SETTINGS).fit(planted_corpus(), features=PLANTED.features)


def interrupt(model, checkpointer, chain, sweep):
    """Run the model until a chain has made so many sweeps."""

    def report(progress):
        checkpointer(progress)
        if progress.chain == chain and progress.sweep == sweep:
            raise KeyboardInterrupt

    model.progress = report
    with pytest.raises(KeyboardInterrupt):
        model.resume()
    model.progress = None


def no_complaint(text):
    raise AssertionError(text)


@pytest.mark.parametrize(("n_jobs", "chain", "sweep"), [(2, 0, 1), (2, 1, 9), (1, 0, 13), (1, 1, 19)])
def test_the_same_bits_after_an_interruption(tmp_path, uninterrupted, n_jobs, chain, sweep):
    path = tmp_path / "run.checkpoint"
    model = prepared(n_jobs)
    interrupt(model, Checkpointer(model, path, KEY, 0.0, no_complaint), chain, sweep)
    again, key = read_checkpoint(path)
    assert key == KEY
    assert again.chains_[chain].sweep <= sweep
    assert_same_bits(again.resume(), uninterrupted)


def test_sampled_hyperparameters_go_on_too(tmp_path):
    path = tmp_path / "run.checkpoint"
    model = prepared(**SAMPLED)
    interrupt(model, Checkpointer(model, path, KEY, 0.0, no_complaint), 1, 9)
    again, _ = read_checkpoint(path)
    whole = ConceptModel(**SETTINGS, **SAMPLED).fit(planted_corpus(), features=PLANTED.features)
    assert_same_bits(again.resume(), whole)


def test_the_last_state_is_written_on_request(tmp_path, uninterrupted):
    path = tmp_path / "run.checkpoint"
    model = prepared()
    checkpointer = Checkpointer(model, path, KEY, 3600.0, no_complaint)
    interrupt(model, checkpointer, 0, 12)
    assert not path.exists(), "it is not yet time"
    checkpointer.look()
    checkpointer.write()
    again, _ = read_checkpoint(path)
    assert [chain.sweep for chain in again.chains_] == [chain.sweep for chain in model.chains_]
    assert_same_bits(again.resume(), uninterrupted)


def test_going_on_from_another_sweep_has_other_bits(tmp_path, uninterrupted):
    """The comparison can fail: a chain that believes itself one sweep further draws other numbers."""
    path = tmp_path / "run.checkpoint"
    model = prepared()
    interrupt(model, Checkpointer(model, path, KEY, 0.0, no_complaint), 0, 8)
    again, _ = read_checkpoint(path)
    again.chains_[0].sweep += 1
    with pytest.raises(AssertionError):
        assert_same_bits(again.resume(), uninterrupted)


def test_a_checkpoint_before_the_first_sweep(tmp_path, uninterrupted):
    path = tmp_path / "run.checkpoint"
    Checkpointer(prepared(), path, KEY, 60.0, no_complaint).write()
    again, _ = read_checkpoint(path)
    assert_same_bits(again.resume(), uninterrupted)


def test_sampling_does_not_change_by_being_watched(tmp_path, uninterrupted):
    model = prepared()
    model.progress = Checkpointer(model, tmp_path / "run.checkpoint", KEY, 0.0, no_complaint)
    assert_same_bits(model.resume(), uninterrupted)


def test_what_cannot_be_written_does_not_stop_the_chains(tmp_path, uninterrupted):
    said = []
    model = prepared()
    model.progress = Checkpointer(model, tmp_path / "gone" / "run.checkpoint", KEY, 0.0, said.append)
    assert_same_bits(model.resume(), uninterrupted)
    assert said
    assert "cannot be written" in said[0]


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    path = tmp_path / "run.checkpoint"
    path.write_bytes(b"the one before")
    checkpointer = Checkpointer(prepared(), path, KEY, 60.0, no_complaint)

    def fail(file):
        file.write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpointer, "_write", fail)
    with pytest.raises(InputError, match="No space left"):
        checkpointer.write()
    assert [one.name for one in tmp_path.iterdir()] == ["run.checkpoint"]
    assert path.read_bytes() == b"the one before"


def test_no_pickle_inside(tmp_path):
    path = tmp_path / "run.checkpoint"
    model = prepared()
    interrupt(model, Checkpointer(model, path, KEY, 0.0, no_complaint), 0, 10)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            with archive.open(name) as member:
                if name.endswith(".npy"):
                    np.load(member, allow_pickle=False)
                else:
                    json.load(member)


@pytest.mark.parametrize("content", [b"", b"not a zip", None])
def test_a_damaged_checkpoint_is_said_in_one_sentence(tmp_path, content):
    path = tmp_path / "run.checkpoint"
    if content is None:
        Checkpointer(prepared(), path, KEY, 60.0, no_complaint).write()
        content = path.read_bytes()[:-200]
    path.write_bytes(content)
    with pytest.raises(InputError, match="not a checkpoint, or it is damaged"):
        read_checkpoint(path)


def test_a_model_is_no_checkpoint(tmp_path, uninterrupted):
    path = uninterrupted.save(tmp_path / "model.sw")
    with pytest.raises(InputError, match="not a checkpoint"):
        read_checkpoint(path)


def test_a_missing_checkpoint(tmp_path):
    with pytest.raises(InputError, match="There is no checkpoint"):
        read_checkpoint(tmp_path / "nothing")


def test_texts_and_metadata_come_back(tmp_path):
    path = tmp_path / "run.checkpoint"
    model = prepared()
    model.corpus_ = replace(model.corpus_, notes={"groups": ["party"], "recipe": {"units": {"a": None}}})
    Checkpointer(model, path, KEY, 60.0, no_complaint).write()
    again, _ = read_checkpoint(path)
    assert again.corpus_.texts == model.corpus_.texts
    assert again.corpus_.notes == model.corpus_.notes
    assert again.corpus_.metadata.equals(model.corpus_.metadata)
