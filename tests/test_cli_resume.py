"""Ctrl-C in a fit: what was sampled is kept, and --resume has the bits of a run that was left alone."""

import operator
import os
import signal
import time

import pytest

import superwords
from choices_for_tests import read_choices
from cli_for_tests import assert_same_bits, fit_arguments, loaded, run, start, write_documents
from superwords import load
from superwords.analysis.curation import add_choices
from superwords.cli.fit_run import CheckpointedRun
from superwords.errors import StorageError
from superwords.files import exclusive
from superwords.progress import Progress
from superwords.storage.model_file import Choice


@pytest.fixture
def source(tmp_path):
    return write_documents(tmp_path)


@pytest.fixture
def pressing_ctrl_c(monkeypatch):
    """Sends SIGINT to this process when a chain has made so many sweeps, and waits until it has arrived."""

    def press(at_sweep: int, number: int = signal.SIGINT) -> None:
        watch = CheckpointedRun.__call__
        sent = []

        def pressing(self: CheckpointedRun, progress: Progress) -> None:
            watch(self, progress)
            if progress.sweep >= at_sweep and not sent:
                sent.append(progress)
                os.kill(os.getpid(), number)
            if sent:
                time.sleep(0.2)

        monkeypatch.setattr(CheckpointedRun, "__call__", pressing)

    yield press
    monkeypatch.undo()


def test_interrupted_and_resumed_is_as_never_interrupted(capsys, source, tmp_path, pressing_ctrl_c, monkeypatch):
    whole, halved = tmp_path / "whole.sw", tmp_path / "halved.sw"
    assert run(capsys, *fit_arguments(source, whole, "--quiet", "--save-draws")).code == 0
    pressing_ctrl_c(at_sweep=9)
    stopped = run(capsys, *fit_arguments(source, halved, "--json"))
    monkeypatch.undo()
    assert stopped.code == 1
    last = stopped.err.splitlines()[-1]
    assert last.startswith("superwords: Stopped after ")
    assert "--resume" in last
    assert "Stopping after this sweep" in stopped.err
    assert stopped.json["interrupted"] is True
    assert 0 < stopped.json["draws"] < 12
    assert loaded(halved).n_concepts_ > 0
    checkpoint = tmp_path / "halved.sw.checkpoint"
    assert checkpoint.exists()
    resumed = run(capsys, *fit_arguments(source, halved, "--resume", "--save-draws", "--jobs", 1))
    assert resumed.code == 0, resumed.err
    assert "Continuing from" in resumed.err
    assert not checkpoint.exists()
    assert_same_bits(loaded(halved), loaded(whole))
    assert len(loaded(halved).draws_) == len(loaded(whole).draws_) == 12


def test_stopped_before_any_draw_there_is_a_checkpoint_but_no_model(
    capsys, source, tmp_path, pressing_ctrl_c, monkeypatch
):
    output = tmp_path / "model.sw"
    pressing_ctrl_c(at_sweep=1, number=signal.SIGTERM)
    stopped = run(capsys, *fit_arguments(source, output, "--quiet"))
    monkeypatch.undo()
    assert stopped.code == 1
    assert "no model yet" in stopped.err
    assert not output.exists()
    assert run(capsys, *fit_arguments(source, output, "--resume", "--quiet")) == (0, "", "")
    assert output.exists()


def test_one_chain_after_another(capsys, source, tmp_path, pressing_ctrl_c, monkeypatch):
    """With one job, the second chain has not begun when the first is interrupted."""
    output = tmp_path / "model.sw"
    pressing_ctrl_c(at_sweep=12)
    stopped = run(capsys, *fit_arguments(source, output, "--json", "--jobs", 1))
    monkeypatch.undo()
    assert stopped.code == 1
    assert stopped.json["sweeps"][1] == 0
    assert "cannot be judged" in stopped.json["verdict"]
    assert run(capsys, "show", output).code == 0


@pytest.fixture
def interrupted(capsys, source, tmp_path, pressing_ctrl_c, monkeypatch):
    pressing_ctrl_c(at_sweep=8)
    output = tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, output, "--quiet")).code == 1
    monkeypatch.undo()
    return output


def test_a_resumed_run_must_be_the_same_run(capsys, source, interrupted):
    for change, said in (
        (["--sweeps", "30"], "--sweeps is 30 and was 16"),
        (["--seed", "8"], "--seed is 8 and was 7"),
        (["--alpha-pi", "2"], "--alpha-pi is 2.0 and was None"),
        (["--features", "none"], "--features is ['none'] and was []"),
        (["--groups", "faction"], "no column 'faction'"),
    ):
        found = run(capsys, *fit_arguments(source, interrupted, *change, "--resume"))
        assert found.code == 1
        assert said in found.err
        assert found.err.count("\n") == 1
    assert interrupted.with_name("model.sw.checkpoint").exists()


def test_a_changed_file_is_not_gone_on_with(capsys, source, interrupted):
    source.write_text(source.read_text().replace("apple", "plum"))
    found = run(capsys, *fit_arguments(source, interrupted, "--resume"))
    assert found.code == 1
    assert "The input has changed" in found.err


def test_another_version_is_not_gone_on_with(capsys, source, interrupted, monkeypatch):
    monkeypatch.setattr("superwords.cli.fit_run.__version__", "99.0")
    found = run(capsys, *fit_arguments(source, interrupted, "--resume"))
    assert found.code == 1
    assert "and this is 99.0" in found.err


def test_starting_anew_replaces_a_checkpoint_and_says_so(capsys, source, interrupted):
    found = run(capsys, *fit_arguments(source, interrupted))
    assert found.code == 0
    assert "will be replaced" in found.err
    assert not interrupted.with_name("model.sw.checkpoint").exists()


def test_a_process_of_its_own_stops_and_goes_on(capsys, source, tmp_path):
    """The same from outside: Ctrl-C at whatever moment, with checkpoints after every sweep."""
    whole, output = tmp_path / "whole.sw", tmp_path / "model.sw"
    long = ["--sweeps", "240", "--burn-in", "120", "--thin", "4"]
    process = start(*fit_arguments(source, output, *long, "--checkpoint-every", 0, "--quiet"))
    checkpoint = tmp_path / "model.sw.checkpoint"
    deadline = time.monotonic() + 120
    while not checkpoint.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=200)
    assert process.returncode == 1
    assert said.splitlines()[-1].startswith("superwords: Stopped ")
    assert "Traceback" not in said
    assert run(capsys, *fit_arguments(source, whole, *long, "--quiet")).code == 0
    assert run(capsys, *fit_arguments(source, output, *long, "--quiet", "--resume")).code == 0
    assert_same_bits(loaded(output), loaded(whole))


@pytest.mark.parametrize("more", [[8], [3, 5]])
def test_more_sweeps_are_as_if_asked_for_at_once(capsys, source, tmp_path, more):
    whole, parted = tmp_path / "whole.sw", tmp_path / "parted.sw"
    assert run(capsys, *fit_arguments(source, whole, "--sweeps", 24, "--quiet", "--save-draws")).code == 0
    assert run(capsys, *fit_arguments(source, parted, "--quiet", "--save-draws")).code == 0
    for sweeps in more:
        found = run(capsys, "fit", "--more", sweeps, parted, "--json")
        assert found.code == 0, found.err
    assert found.json["sweeps"] == [24, 24]
    assert_same_bits(loaded(parted), loaded(whole))
    assert len(loaded(parted).draws_) == len(loaded(whole).draws_) == 20
    assert not parted.with_name("parted.sw.checkpoint").exists()


def test_more_of_a_model_saved_without_all_draws(capsys, source, tmp_path):
    whole, parted = tmp_path / "whole.sw", tmp_path / "parted.sw"
    assert run(capsys, *fit_arguments(source, whole, "--sweeps", 24, "--quiet")).code == 0
    assert run(capsys, *fit_arguments(source, parted, "--quiet")).code == 0
    before = parted.read_bytes()
    found = run(capsys, "fit", "--more", 8, parted, "-o", tmp_path / "longer.sw")
    assert found.code == 0, found.err
    assert_same_bits(loaded(tmp_path / "longer.sw"), loaded(whole))
    assert parted.read_bytes() == before


def test_a_name_given_while_more_is_sampled_is_kept(capsys, source, tmp_path, monkeypatch):
    """By a command that runs at the same time: both answer "ok", and both hold."""
    output = tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, output, "--quiet")).code == 0
    add_choices(output, [Choice("name", 1, "before")])
    said = []

    def name_meanwhile(self, progress):
        if progress.sweep == 18 and not said:
            said.append(start("edit", output, "--name", 2, "meanwhile", "--quiet").communicate())

    monkeypatch.setattr(CheckpointedRun, "__call__", name_meanwhile)
    found = run(capsys, "fit", "--more", 6, output, "--jobs", 1)
    assert found.code == 0, found.err
    assert said == [("", "")]
    names = set(loaded(output).names_.values())
    for name in ("before", "meanwhile"):
        assert name in names or f"{name!r} of concept" in found.err


def test_a_decision_about_a_model_that_was_replaced_is_refused(capsys, source, tmp_path):
    output = tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, output, "--quiet")).code == 0
    model = load(output)
    assert run(capsys, "fit", "--more", 4, output, "--quiet").code == 0
    with pytest.raises(StorageError, match="has been sampled further"):
        add_choices(output, [Choice("name", 1, "late")], model.identity_)
    assert read_choices(output) == []


def test_one_run_at_a_time_writes_a_file(capsys, source, tmp_path):
    output = tmp_path / "model.sw"
    with exclusive(output):
        for command in (fit_arguments(source, output), ["fit", "--more", 4, output]):
            output.write_bytes(b"")
            found = run(capsys, *command)
            assert found.code == 1
            assert "Another process is writing" in found.err
    assert [one.name for one in tmp_path.iterdir() if "lock" in one.name] == []


def test_a_run_whose_last_sweep_is_in_its_checkpoint_is_finished(capsys, source, tmp_path, monkeypatch):
    """As when it is killed while the draws are summed up."""
    whole, output = tmp_path / "whole.sw", tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, whole, "--quiet")).code == 0

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("superwords.fitting.estimator.ConceptModel.save", killed)
        run(capsys, *fit_arguments(source, output, "--quiet"))
    checkpoint = output.with_name("model.sw.checkpoint")
    assert [chain.sweep for chain in load(checkpoint).chains_] == [16, 16]
    found = run(capsys, *fit_arguments(source, output, "--quiet", "--resume"))
    assert found.code == 0, found.err
    assert_same_bits(loaded(output), loaded(whole))
    assert not checkpoint.exists()


def test_more_that_was_saved_but_kept_its_checkpoint_is_finished(capsys, source, tmp_path, monkeypatch):
    output = tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, output, "--quiet")).code == 0
    with monkeypatch.context() as patch:
        patch.setattr(CheckpointedRun, "end", lambda self: None)
        assert run(capsys, "fit", "--more", 4, output, "--quiet").code == 0
    assert output.with_name("model.sw.checkpoint").exists()
    found = run(capsys, "fit", "--more", 4, output, "--resume")
    assert found.code == 0, found.err
    assert "nothing is left to do" in found.err
    assert {chain.sweep for chain in loaded(output).chains_} == {20}
    assert not output.with_name("model.sw.checkpoint").exists()


def test_more_groups_as_the_fit_did_and_knows_its_columns_beforehand(capsys, source, tmp_path):
    output = tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, output, "--groups", "party", "--quiet")).code == 0
    before = output.read_bytes()
    refused = run(capsys, "fit", "--more", 4, output, "--groups", "nosuch")
    assert refused.code == 1
    assert "There is no column 'nosuch'" in refused.err
    assert output.read_bytes() == before
    assert "--groups party" in run(capsys, "fit", "--more", 4, output).out


def test_more_interrupted_leaves_the_model_and_goes_on(capsys, source, tmp_path, pressing_ctrl_c, monkeypatch):
    whole, output = tmp_path / "whole.sw", tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, whole, "--sweeps", 30, "--quiet", "--save-draws")).code == 0
    assert run(capsys, *fit_arguments(source, output, "--quiet", "--save-draws")).code == 0
    add_choices(output, [Choice("name", 1, "mine")])
    before = output.read_bytes()
    pressing_ctrl_c(at_sweep=22)
    stopped = run(capsys, "fit", "--more", 14, output)
    monkeypatch.undo()
    assert stopped.code == 1
    assert "is as it was" in stopped.err
    assert output.read_bytes() == before
    assert run(capsys, "fit", "--more", 15, output, "--resume").code == 1
    resumed = run(capsys, "fit", "--more", 14, output, "--resume")
    assert resumed.code == 0, resumed.err
    assert_same_bits(loaded(output), loaded(whole))
    assert "mine" in loaded(output).names_.values() or "is lost" in resumed.err


def test_more_takes_the_models_own_settings(capsys, source, interrupted):
    for option in (["--chains", 3], ["--thin", 1], ["--no-texts"]):
        found = run(capsys, "fit", "--more", 4, interrupted, *option)
        assert found.code == 2
        assert "leave --" in found.err
    assert run(capsys, "fit", "--more", 0, interrupted).code == 2
    refused = run(capsys, "fit", "--more", 4, source)
    assert refused.code == 1
    assert "is not a superwords model" in refused.err


@pytest.mark.parametrize(
    "moment",
    [
        "superwords.storage.model.write",  # before there is a checkpoint
        "superwords.fitting.forecast.check_disk",  # the last of the contexts is entered
        "superwords.fitting.running.await_kernels",  # all are entered, and no chain runs yet
        "superwords.progress.Progress.__new__",  # a chain runs
        "superwords.storage.checkpoint.Checkpoint.write",  # it has ended
    ],
)
def test_ctrl_c_at_whatever_moment_is_a_clean_stop(capsys, source, tmp_path, monkeypatch, moment):
    """Also while a context of the run is entered or left, where an exception would lose its other end."""
    whole, output = tmp_path / "whole.sw", tmp_path / "model.sw"
    assert run(capsys, *fit_arguments(source, whole, "--quiet", "--pilots", 0)).code == 0
    do, pressed = operator.attrgetter(moment.rpartition("superwords.")[2])(superwords), []

    def pressing(*given, **named):
        if not pressed:
            pressed.append(os.kill(os.getpid(), signal.SIGINT))
        return do(*given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(moment, pressing)
        stopped = run(capsys, *fit_arguments(source, output, "--quiet", "--pilots", 0))
    assert stopped.code == 1
    assert stopped.err.splitlines()[-1].startswith("superwords: Stopped ")
    assert "something went wrong" not in stopped.err
    assert run(capsys, *fit_arguments(source, output, "--quiet", "--pilots", 0, "--resume")).code == 0
    assert_same_bits(loaded(output), loaded(whole))
