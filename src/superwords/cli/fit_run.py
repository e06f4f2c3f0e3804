"""What `superwords fit` adds to `superwords.fit`: checkpoints, a clean stop, sampling on, and the summary."""

from __future__ import annotations

import json
import os
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from dataclasses import asdict
from functools import partial
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Any

import typer

from superwords import __version__
from superwords.analysis import words
from superwords.analysis.curation import held
from superwords.cli.options import PARAMETERS, as_option, check_output, wrong_use
from superwords.cli.printing import busy, print_json, print_line, print_steps, say, warnings_as_notices
from superwords.cli.views import concepts_page, counted, print_concepts
from superwords.cluster import leave_at_once
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
from superwords.text.corpus import fitted_groups
from superwords.text.files import digest
from superwords.text.read import group_columns

_CONTENT = " (content)"
_TOP_CONCEPTS = 12
# Options that are the command's own.
_OWN = {"file", "more", "output", "save_draws", "checkpoint_every", "resume", "quiet", "as_json"}
# What may be given with --more; the rest is as the model was fitted with.
_FREE_WITH_MORE = _OWN | {"jobs", "cluster", "groups"}
# Options that do not change what is sampled: they may differ when a run is resumed.
_FREE = _FREE_WITH_MORE | {"keep_texts"}


def fit_and_save(ctx: typer.Context) -> None:
    """Fit a model to the documents in FILE, or continue an interrupted fit, and save it."""
    start, given = perf_counter(), ctx.params
    file, output, quiet, groups = given["file"], given["output"], given["quiet"], given["groups"] or []
    asked = asked_for(given)
    columns = {name: asked.pop(name, None) for name in ("text", "id", "groups")}
    with wrong_use():  # before any text is read
        model, reading = checked(asked)
    run = CheckpointedRun(ctx, output, partial(_run_key, given))
    if output.exists() and Path(file).exists() and output.samefile(file):
        raise InputError(f"{output} holds the documents; give another name for the model.")
    if output.exists() and not given["resume"]:
        say(f"Replaces the {'model in' if is_model_file(output) else 'file'} {output}.", quiet)
    if given["resume"]:
        model = run.resumed().resume()
    else:
        with warnings_as_notices(quiet):
            model.set_params(progress=run.progress)
            features = asked.get("features", defaults.FEATURES)
            fit_documents(model, file, columns | reading, features, given["row_vectors"])
    if len(model.draws_) == 0:
        raise InterruptedFitError(f"Stopped before the first draw was kept, so there is no model yet; {run.next_step}")
    with busy("summing up the draws and saving", quiet):
        model.save(output, draws="all" if given["save_draws"] else "spaced")
    _report(model, run, groups, perf_counter() - start)
    if run.is_interrupted:
        made = f"the model in {output} is made of the {len(model.draws_)} draws so far"
        raise InterruptedFitError(f"{_stopped_at(model)}; {made}; {run.next_step}")
    run.end()


def sample_more(ctx: typer.Context) -> None:
    """Sample on from the model in FILE, and save it there or where it is asked for."""
    start, given = perf_counter(), ctx.params
    on_line = [name for name in given if getattr(ctx.get_parameter_source(name), "name", "") == "COMMANDLINE"]
    for name in on_line:
        if name not in _FREE_WITH_MORE:
            raise typer.BadParameter(f"--more keeps the model's own settings; leave {as_option(name)} out.")
    file, quiet = Path(given["file"]), given["quiet"]
    output = given["output"] if "output" in on_line else file

    def key() -> dict[str, Any]:
        """Return what decides the bits: the model, whatever was decided about its concepts, and how far."""
        with closing(ModelFile.open(file)) as opened:
            identity = opened.identity()
        return {"--more": given["more"], "superwords": __version__, f"The model{_CONTENT}": identity}

    run, model = CheckpointedRun(ctx, output, key), load(file)
    group_columns(given["groups"], model.corpus_.metadata)
    with warnings.catch_warnings():
        # What was decided is taken from the file when the model is saved, with its warnings.
        warnings.simplefilter("ignore")
        if not given["resume"]:
            run.prepared(model).advance(given["more"])
        elif run.is_saved_as(model):
            say(f"{file} was saved before the run was interrupted; nothing is left to do.", quiet)
        else:
            model = run.resumed().resume()
    if run.is_interrupted:
        raise InterruptedFitError(f"{_stopped_at(model)}; {file} is as it was; {run.next_step}")
    with busy("summing up the draws and saving", quiet):
        # With all that was decided about the model in the file, meanwhile too.
        are_all = given["save_draws"] or len(model.draws_) > len(model.draws_.spaced())
        with held(file) if output.exists() and output.samefile(file) else nullcontext():
            with warnings.catch_warnings(record=True) as lost:
                warnings.simplefilter("always")
                take_choices(model, load(file))
            model.save(output, draws="all" if are_all and model.draws_.has_all else "spaced")
    for one in lost:
        say(str(one.message), quiet)
    _report(model, run, given["groups"] or fitted_groups(model.corpus_), perf_counter() - start)
    run.end()


def asked_for(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `superwords.fit`; what was not given is left to its defaults."""
    return {
        PARAMETERS.get(option, option): value
        for option, value in given.items()
        if option not in _OWN and value not in (None, ())
    }


def _stopped_at(model: ConceptModel) -> str:
    reached = min(chain.sweep for chain in model.chains_)
    return f"Stopped after {reached:,} of {model.schedule_.n_sweeps:,} sweeps"


def _run_key(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what decides the bits of a run, as JSON has it: options, input files, and the sampler's version."""
    key: dict[str, Any] = {as_option(name): value for name, value in given.items() if name not in _FREE}
    key |= {"superwords": __version__}
    # By content, not by name: the same file may be named from another folder.
    sources = [source for _, source in split_features(given["features"] or None)]
    for name, path in [("The input", given["file"]), *((source, source) for source in (*sources, given["drop"]))]:
        if path:
            key[f"{name}{_CONTENT}"] = digest(path)
    as_json: dict[str, Any] = json.loads(json.dumps(key, default=str))
    return as_json


class CheckpointedRun(Watcher):
    """Write the checkpoint of a run, and let Ctrl-C (or SIGTERM) end each chain after its present sweep.

    A resumed run continues in its checkpoint; another begins a new one. An approximation has none. The second Ctrl-C
    ends the process.
    """

    def __init__(self, ctx: typer.Context, output: Path, key: Callable[[], dict[str, Any]]):
        """Take the place of the model, which no other process may write to, and what decides the bits of the run."""
        check_output(output, whole=True)
        ctx.with_resource(exclusive(output))
        self.given, self.output, self._path = ctx.params, output, output.parent / f"{output.name}.checkpoint"
        self._key = key()
        self._checkpoint: Checkpoint | None = None
        self.every, self.is_interrupted = self.given["checkpoint_every"], False
        self.stop: threading.Event = threading.Event()
        self.progress = [self, not self.given["quiet"]]
        self.next_step = f"run the same command with --resume to continue (from {self._path})."
        if self._path.exists() and not self.given["resume"]:
            earlier = f"{self._path} of an earlier, unfinished run will be replaced (--resume would continue it)."
            say(earlier, self.given["quiet"])

    def resumed(self) -> ConceptModel:
        """Return the model of an interrupted run, if this run is its continuation."""
        path, given = self._path, self.given
        if not path.exists():
            raise InputError(
                f"There is no checkpoint {str(path)!r} to resume from; a finished run leaves none. "
                "To continue a finished model: superwords fit --more 1000 MODEL."
            )
        stored = storage.read(path)
        if stored.run is None:
            raise InputError(f"{str(path)!r} is a finished model, not a checkpoint to resume from.")
        for name in sorted({*self._key, *stored.run}):
            now, then = self._key.get(name), stored.run.get(name)
            if now == then:
                continue
            changed = f"--resume needs the options of the interrupted run, but {name} is {now!r} and was {then!r}; "
            changed += "give it as it was, or "
            if name.endswith(_CONTENT):
                changed = f"{name.removesuffix(_CONTENT)} has changed since {path} was written; "
            elif name == "superwords":
                changed = f"{path} was written by superwords {then}, and this is {now}; "
            raise InputError(f"{changed}start again without --resume.")
        model = restored(stored, str(path))
        group_columns(given["groups"], model.corpus_.metadata)
        first, last = (end(chain.sweep for chain in model.chains_) for end in (min, max))
        done = f"{last:,}" if first == last else f"{first:,} to {last:,}"
        say(f"Continuing from {path}, after {done} of {model.schedule_.n_sweeps:,} sweeps.", given["quiet"])
        return self.prepared(model)

    def prepared(self, model: ConceptModel) -> ConceptModel:
        """Return a model that runs where, and shows what, is asked for now."""
        return model.set_params(n_jobs=self.given["jobs"], cluster=self.given["cluster"], progress=self.progress)

    def is_saved_as(self, model: ConceptModel) -> bool:
        """Return whether a model is the finished one of a checkpoint that a kill kept from being removed."""
        if not self._path.exists():
            return False
        ended = storage.read(self._path)
        reached = [chain.sweep for chain in model.chains_]
        return model.seed_ == ended.seed and reached == [ended.schedule.n_sweeps] * len(ended.chains)

    @contextmanager
    def watching(self, model: ConceptModel) -> Iterator[None]:
        if self.given["approximate"] is not None:
            yield
            return
        before = {one: signal.signal(one, self._interrupt) for one in (signal.SIGINT, signal.SIGTERM)}
        try:
            if not self.given["resume"]:
                storage.write(self._path, model, model.kept_, run=self._key)
            self._checkpoint = Checkpoint(self._path, self.every, say)
            with self._checkpoint.watching(model):
                try:
                    yield
                except ClusterError as error:
                    self._checkpoint.write()
                    raise ClusterError(f"{str(error).rstrip('.')}; {self.next_step}") from None
            # The draws are summed up next, which may take a while.
            self._checkpoint.write()
        finally:
            for one, handler in before.items():
                signal.signal(one, handler)

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        # Nothing is raised here: it could arrive while a context is entered or left, whose other end is then lost.
        if self.is_interrupted:
            # Chains still run in their threads, so nothing they hold may be saved; the checkpoint is always whole.
            leave_at_once()
            os._exit(1)
        self.is_interrupted = True
        self.stop.set()
        say("Stopping after this sweep (press Ctrl-C again to stop at once; the last checkpoint stays).")

    def see(self, swept: Any) -> None:
        if self._checkpoint is not None:
            self._checkpoint.see(swept)

    def end(self) -> None:
        """Remove the checkpoint of a run whose model is saved."""
        if self._checkpoint is not None:
            self._checkpoint.close()
        if self.given["approximate"] is None:
            self._path.unlink(missing_ok=True)


def _report(model: ConceptModel, run: CheckpointedRun, groups: list[str], seconds: float) -> None:
    """Print the outcome in the form that was asked for."""
    result, verdict, given, output = model.result_, model.verdict(), run.given, run.output
    if given["as_json"]:
        page = {"model": str(output), **concepts_page(result, model.concepts()), "n_concepts": model.n_concepts_}
        page |= {"chains": len(model.chains_), "sweeps": [chain.sweep for chain in model.chains_]}
        page |= {"draws": len(model.draws_), "seed": model.seed_, "seconds": round(seconds, 3)}
        page |= {"interrupted": run.is_interrupted, "approximate": model.approximate}
        page |= {"used_share": words.used_share(result), "unused_words": records(words.unused_words(result))}
        print_json({**page, "judged": plain(asdict(verdict)), "convergence": records(model.convergence())})
    elif not given["quiet"]:
        print_line(f"{counted(result)}.")
        if result.shown:
            print_concepts(result, model.concepts(), groups, _TOP_CONCEPTS)
        print_line(str(verdict))
        print_line(f"Saved in {output} ({output.stat().st_size / 1e6:.1f} MB, {seconds:.0f} s in all).")
        more = f"superwords fit --more {model.schedule_.n_sweeps} {output}"
        steps = {} if verdict.converged else {more: "continue sampling"}
        steps |= {
            f"superwords show {output}": "all concepts",
            f"superwords show {output} --concept 1": "one concept: its words and documents",
            **{f"superwords show {output} --groups {one}": "who speaks of what" for one in groups[:1]},
            f"superwords report {output} -o report.html": "a page to mail to a colleague",
            f"superwords explore {output}": "look around in the browser",
        }
        print_steps(steps)
