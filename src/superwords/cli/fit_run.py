"""What `superwords fit` adds to `superwords.fit`: checkpoints, a clean stop, sampling on, and the summary."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import typer

from superwords import __version__
from superwords.analysis.curation import held
from superwords.analysis.words import unused_words, used_share
from superwords.cli.common import busy, check_whole_file, say, warnings_as_notices
from superwords.cli.concept_list import fitted_groups, print_concepts, rows_of
from superwords.cli.options import PARAMETERS, wrong_use
from superwords.cli.printing import print_json, print_line, print_steps
from superwords.cluster import ClusterLostError, leave_at_once
from superwords.errors import ClusterError, InputError, InterruptedFitError
from superwords.features.specs import split_features
from superwords.files import exclusive
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel, load, restored, take_choices
from superwords.fitting.fit import checked, fit_documents
from superwords.progress import Watcher
from superwords.storage import model as storage
from superwords.storage.checkpoint import Checkpoint
from superwords.storage.model_file import ModelFile, is_model_file
from superwords.tabular import plain, records
from superwords.text.corpus import n_sources
from superwords.text.files import digest
from superwords.text.read import group_columns

_CONTENT = " (content)"
# Options that are the command's own.
_OWN = ("file", "more", "output", "save_draws", "checkpoint_every", "resume", "quiet", "as_json")
# Options that do not change what is sampled: they may differ when a run is resumed.
FREE = {*_OWN, "jobs", "cluster", "groups", "keep_texts"}


def how_to_go_on(checkpoint: Path) -> str:
    return f"run the same command with --resume to continue (from {checkpoint})."


def fit_and_save(ctx: typer.Context) -> None:
    """Fit a model to the documents in FILE, or continue an interrupted fit, and save it."""
    start, given = perf_counter(), ctx.params
    output, quiet = given["output"], given["quiet"]
    asked = asked_for(given)
    columns = {name: asked.get(name) for name in ("text", "id", "groups")}
    with wrong_use():  # before any text is read
        model, reading = checked({name: value for name, value in asked.items() if name not in columns})
    check_whole_file(output)
    ctx.with_resource(exclusive(output))
    check_replaced(output, given["file"], given["resume"], quiet)
    checkpoint, key = _checkpoint(output), run_key(given)
    run = CheckpointedRun(checkpoint, key, given)
    progress = [run, not quiet]
    if given["resume"]:
        model = resumed(checkpoint, key, given).set_params(progress=progress).resume()
    else:
        say_replaced_checkpoint(checkpoint, quiet)
        with warnings_as_notices(quiet):
            model.set_params(progress=progress)
            features = asked.get("features", defaults.FEATURES)
            fit_documents(model, given["file"], columns | reading, features, given["row_vectors"])
    if len(model.draws_) == 0:
        raise InterruptedFitError(
            f"Stopped before the first draw was kept, so there is no model yet; {how_to_go_on(checkpoint)}"
        )
    with busy("summing up the draws and saving", quiet):
        model.save(output, draws="all" if given["save_draws"] else "spaced")
    _report(model, given, output, given["groups"] or [], perf_counter() - start, run.is_interrupted)
    if run.is_interrupted:
        raise InterruptedFitError(
            f"{_stopped_at(model)}; the model in {output} is made of the {len(model.draws_)} draws so far; "
            f"{how_to_go_on(checkpoint)}"
        )
    run.end()


def _stopped_at(model: ConceptModel) -> str:
    reached = min(chain.sweep for chain in model.chains_)
    return f"Stopped after {reached:,} of {model.schedule_.n_sweeps:,} sweeps"


def _report(
    model: ConceptModel, given: Mapping[str, Any], output: Path, groups: list[str], seconds: float, is_cut: bool
) -> None:
    """Print the outcome in the form that was asked for."""
    if given["as_json"]:
        print_json(outcome_as_json(model, output, seconds, is_cut))
    elif not given["quiet"]:
        print_outcome(model, output, groups, seconds)


def asked_for(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `superwords.fit`; what was not given is left to its defaults."""
    return {
        PARAMETERS.get(option, option): value
        for option, value in given.items()
        if option not in _OWN and value not in (None, ())
    }


def check_replaced(output: Path, file: str, resume: bool, quiet: bool) -> None:
    """Say that a model is replaced; documents are not."""
    if not output.exists():
        return
    if Path(file).exists() and output.samefile(file):
        raise InputError(f"{output} holds the documents; give another name for the model.")
    if not resume:
        what = "model in" if is_model_file(output) else "file"
        say(f"Replaces the {what} {output}.", quiet)


def say_replaced_checkpoint(checkpoint: Path, quiet: bool) -> None:
    if checkpoint.exists():
        say(f"{checkpoint} of an earlier, unfinished run will be replaced (--resume would continue it).", quiet)


def resumed(checkpoint: Path, key: Mapping[str, Any], given: Mapping[str, Any]) -> ConceptModel:
    """Return the model of an interrupted run, if this run is its continuation."""
    if not checkpoint.exists():
        raise InputError(
            f"There is no checkpoint {str(checkpoint)!r} to resume from; a finished run leaves none. "
            "To continue a finished model: superwords fit --more 1000 MODEL."
        )
    stored = storage.read(checkpoint)
    earlier = stored.run
    if earlier is None:
        raise InputError(f"{str(checkpoint)!r} is a finished model, not a checkpoint to resume from.")
    for name in sorted({*key, *earlier}):
        now, then = key.get(name), earlier.get(name)
        if now == then:
            continue
        if name.endswith(_CONTENT):
            raise InputError(
                f"{name.removesuffix(_CONTENT)} has changed since {checkpoint} was written; "
                "start again without --resume."
            )
        if name == "superwords":
            raise InputError(
                f"{checkpoint} was written by superwords {then}, and this is {now}; start again without --resume."
            )
        raise InputError(
            f"--resume needs the options of the interrupted run, but {name} is {now!r} and was {then!r}; "
            "give it as it was, or start again without --resume."
        )
    model = restored(stored, str(checkpoint))
    group_columns(given["groups"], model.corpus_.metadata)
    first, last = (end(chain.sweep for chain in model.chains_) for end in (min, max))
    done = f"{last:,}" if first == last else f"{first:,} to {last:,}"
    say(f"Continuing from {checkpoint}, after {done} of {model.schedule_.n_sweeps:,} sweeps.", given["quiet"])
    return model.set_params(n_jobs=given["jobs"], cluster=given["cluster"])


def run_key(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the bits of a run: options, input files, and the sampler's version."""
    options = {f"--{name.replace('_', '-')}": value for name, value in given.items() if name not in FREE}
    key = {name: _plain(value) for name, value in options.items()}
    key["superwords"] = __version__
    # By content, not by name: the same file may be named from another folder.
    key[f"The input{_CONTENT}"] = digest(given["file"])
    sources = [one.partition(":")[2] for one in split_features(given["features"] or None)]
    for source in filter(None, [*sources, given["drop"] and str(given["drop"])]):
        key[f"{source}{_CONTENT}"] = digest(source)
    return key


def model_key(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the bits of sampling on: the model, whatever was decided about its concepts, and how far."""
    with closing(ModelFile.open(Path(given["file"]))) as file:
        identity = file.identity()
    return {"--more": given["more"], "superwords": __version__, f"The model{_CONTENT}": identity}


def _plain(value: Any) -> Any:
    """Return a value as it comes back from JSON."""
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return value if isinstance(value, bool | int | float | None) else str(value)


class CheckpointedRun(Watcher):
    """Write the checkpoint of a run, and let Ctrl-C end it between two sweeps.

    A resumed run continues in its checkpoint; another begins a new one. An approximation has none.
    """

    def __init__(self, checkpoint: Path, key: Mapping[str, Any], given: Mapping[str, Any]):
        self._path, self._key, self._is_resumed = checkpoint, key, given["resume"]
        self._has_checkpoint = given.get("approximate") is None
        self.every = given["checkpoint_every"]
        self._checkpoint: Checkpoint | None = None
        self.is_interrupted = False

    @contextmanager
    def watching(self, model: ConceptModel) -> Iterator[None]:

        if not self._has_checkpoint:
            yield
            return
        is_begun = False
        try:
            with _stopped_softly(say):
                if not self._is_resumed:
                    storage.write(self._path, model, model.kept_, run=self._key)
                self._checkpoint = Checkpoint(self._path, self.every, say)
                with self._checkpoint.watching(model):
                    is_begun = True
                    yield
                # The draws are summed up next, which may take a while.
                self._write()
        except KeyboardInterrupt:
            if not is_begun:
                how = f"; {how_to_go_on(self._path)}" if self._path.exists() else "."
                raise InterruptedFitError(f"Stopped before the first sweep{how}") from None
            self.is_interrupted = True
            self._write()
        except ClusterLostError as error:
            self._write()
            raise ClusterError(f"{str(error).rstrip('.')}; {how_to_go_on(self._path)}") from None

    def _write(self) -> None:
        if self._checkpoint is not None:
            self._checkpoint.write()

    def see(self, swept: Any) -> None:
        if self._checkpoint is not None:
            self._checkpoint.see(swept)

    def end(self) -> None:
        """Remove the checkpoint of a run whose model is saved."""
        if self._checkpoint is not None:
            self._checkpoint.close()
        if self._has_checkpoint:
            self._path.unlink(missing_ok=True)


@contextmanager
def _stopped_softly(tell: Callable[[str], None]) -> Iterator[None]:
    """Raise KeyboardInterrupt at the first Ctrl-C (or SIGTERM); the second ends the process."""

    def stop_now(number: int, frame: FrameType | None) -> None:
        # Chains still run in their threads, so nothing they hold may be saved; the checkpoint is always whole.
        leave_at_once()
        os._exit(1)

    def stop(number: int, frame: FrameType | None) -> None:
        for one in signals:
            signal.signal(one, stop_now)
        tell("Stopping after this sweep (press Ctrl-C again to stop at once; the last checkpoint stays).")
        raise KeyboardInterrupt

    signals = (signal.SIGINT, signal.SIGTERM)
    before = {one: signal.signal(one, stop) for one in signals}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


# What may be given with --more; the rest is as the model was fitted with.
_FREE = {
    *("file", "more", "output", "save_draws", "checkpoint_every", "resume"),
    *("jobs", "cluster", "groups", "quiet", "as_json"),
}


def sample_more(ctx: typer.Context) -> None:
    """Sample on from the model in FILE, and save it there or where it is asked for."""
    start, given = perf_counter(), ctx.params
    for name in ctx.params:
        if name not in _FREE and _is_given(ctx, name):
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter(f"--more keeps the model's own settings; leave {option} out.")
    file, quiet = Path(given["file"]), given["quiet"]
    output = given["output"] if _is_given(ctx, "output") else file
    check_whole_file(output)
    ctx.with_resource(exclusive(output))
    model, run = _advance(file, output, given)
    if run.is_interrupted:
        raise InterruptedFitError(f"{_stopped_at(model)}; {file} is as it was; {how_to_go_on(_checkpoint(output))}")
    with busy("summing up the draws and saving", quiet):
        # With all that was decided about the model in the file, meanwhile too.
        draws = "all" if given["save_draws"] or len(model.draws_) > len(model.draws_.spaced()) else "spaced"
        with held(file) if output.exists() and output.samefile(file) else nullcontext():
            with warnings.catch_warnings(record=True) as lost:
                warnings.simplefilter("always")
                take_choices(model, load(file))
            model.save(output, draws=draws if model.draws_.has_all else "spaced")
    for one in lost:
        say(str(one.message), quiet)
    _report(model, given, output, given["groups"] or fitted_groups(model.corpus_), perf_counter() - start, False)
    run.end()


def _checkpoint(output: Path) -> Path:
    return output.parent / f"{output.name}.checkpoint"


def _advance(file: Path, output: Path, given: Mapping[str, Any]) -> tuple[ConceptModel, CheckpointedRun]:
    """Take the model in a file, or in the checkpoint of an interrupted run, to its last sweep."""
    checkpoint, earlier = _checkpoint(output), load(file)
    group_columns(given["groups"], earlier.corpus_.metadata)
    run = CheckpointedRun(checkpoint, model_key(given), given)
    options = {"progress": [run, not given["quiet"]], "n_jobs": given["jobs"], "cluster": given["cluster"]}
    with warnings.catch_warnings():
        # What was decided is taken from the file when the model is saved, with its warnings.
        warnings.simplefilter("ignore")
        if not given["resume"]:
            say_replaced_checkpoint(checkpoint, given["quiet"])
            return earlier.set_params(**options).advance(given["more"]), run
        if _is_saved(earlier, checkpoint):
            say(f"{file} was saved before the run was interrupted; nothing is left to do.", given["quiet"])
            return earlier, run
        again = resumed(checkpoint, model_key(given), given)
        return again.set_params(progress=options["progress"]).resume(), run


def _is_saved(model: ConceptModel, checkpoint: Path) -> bool:
    """Return whether a model is the finished one of a checkpoint that a kill kept from being removed."""
    if not checkpoint.exists():
        return False
    ended = storage.read(checkpoint)
    reached = [chain.sweep for chain in model.chains_]
    return model.seed_ == ended.seed and reached == [ended.schedule.n_sweeps] * len(ended.chains)


def _is_given(ctx: typer.Context, name: str) -> bool:
    source: Any = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


_TOP_CONCEPTS = 12


def print_outcome(model: ConceptModel, saved: Path, groups: list[str], seconds: float) -> None:
    n_concepts = len(model.result_.shown)
    print_line(f"{n_concepts} concept{'' if n_concepts == 1 else 's'} in {rows_of(model.corpus_)}.")
    if n_concepts:
        print_concepts(model.result_, model.concepts(), groups, _TOP_CONCEPTS)
    print_line(str(model.verdict()))
    print_line(f"Saved in {saved} ({saved.stat().st_size / 1e6:.1f} MB, {seconds:.0f} s in all).")
    more = f"superwords fit --more {model.schedule_.n_sweeps} {saved}"
    steps = {} if model.verdict().converged else {more: "continue sampling"}
    steps |= {
        f"superwords show {saved}": "all concepts",
        f"superwords show {saved} --concept 1": "one concept: its words and documents",
        **{f"superwords show {saved} --groups {one}": "who speaks of what" for one in groups[:1]},
        f"superwords report {saved} -o report.html": "a page to mail to a colleague",
        f"superwords explore {saved}": "look around in the browser",
    }
    print_steps(steps)


def outcome_as_json(model: ConceptModel, saved: Path, seconds: float, interrupted: bool) -> dict[str, Any]:
    return {
        "model": str(saved),
        "rows": model.corpus_.n_documents,
        "documents": n_sources(model.corpus_),
        "words": model.corpus_.n_words,
        "tokens": model.corpus_.n_tokens,
        "chains": len(model.chains_),
        "sweeps": [chain.sweep for chain in model.chains_],
        "draws": len(model.draws_),
        "seed": model.seed_,
        "seconds": round(seconds, 3),
        "interrupted": interrupted,
        "approximate": model.approximate,
        "n_concepts": model.n_concepts_,
        "used_share": used_share(model.result_),
        "unused_words": records(unused_words(model.result_)),
        "verdict": str(model.verdict()),
        "judged": plain(asdict(model.verdict())),
        "convergence": records(model.convergence()),
        "concepts": records(model.concepts()),
    }
