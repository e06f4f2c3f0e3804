"""A run of `superwords fit`: set up or taken up again, sampled, and stopped cleanly."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import is_zipfile

import typer

from superwords.cli.common import say
from superwords.cli.inputs import check_features, read_corpus
from superwords.cli.sampling import SamplingDisplay, report_to, stopped_softly
from superwords.corpus.reading import check_groups
from superwords.corpus.sources import digest
from superwords.errors import InputError
from superwords.features.specs import make_features

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

SWEEPS = 1000  # if --sweeps is not given
_CONTENT = " (content)"
# From an option's name in the command line's parameters to ConceptModel's.
MODEL_PARAMETERS = {
    "chains": "n_chains",
    "sweeps": "n_sweeps",
    "burn_in": "n_burn_in",
    "thin": "thin",
    "init": "init",
    "jobs": "n_jobs",
    "seed": "random_state",
    "k": "K",
    **{
        name: name
        for name in ("alpha_omega", "b1", "b2", "lam", "theta", "alpha_pi", "alpha_sigma", "beta_sigma")
    },
}
# Options that do not change what is sampled: they may differ when a run is resumed.
FREE = {
    "file",
    "output",
    "jobs",
    "quiet",
    "as_json",
    "save_draws",
    "checkpoint_every",
    "resume",
    "groups",
    "keep_texts",
}


def how_to_go_on(checkpoint: Path) -> str:
    return f"run the same command with --resume to go on (from {checkpoint})."


def check_schedule(given: Mapping[str, Any]) -> None:
    """Say before the documents are read that no draw would be kept."""
    sweeps = given["sweeps"] or SWEEPS
    burn_in = sweeps // 2 if given["burn_in"] is None else given["burn_in"]
    if burn_in >= sweeps:
        raise typer.BadParameter(
            f"--burn-in {burn_in} leaves no draw of --sweeps {sweeps}; give a smaller --burn-in."
        )
    if (given["thin"] or 1) > sweeps - burn_in:
        raise typer.BadParameter(
            f"--thin {given['thin']} keeps no draw of the {sweeps - burn_in} sweeps after burn-in; "
            "give a smaller --thin."
        )


def check_replaced(output: Path, file: str, resume: bool, quiet: bool) -> None:
    """Say that a model is replaced; documents are not."""
    if not output.exists():
        return
    if Path(file).exists() and output.samefile(file):
        raise InputError(f"{output} holds the documents; give another name for the model.")
    if not resume:
        what = "model in" if is_zipfile(output) else "file"
        say(f"Replaces the {what} {output}.", quiet)


def say_how_to_sample_longer(model: ConceptModel, quiet: bool) -> None:
    if not quiet and model.verdict().startswith("Sample longer"):
        say(f"To sample longer, run it again with --sweeps {2 * model.schedule_.n_sweeps}.")


def prepared(given: Mapping[str, Any], checkpoint: Path) -> ConceptModel:
    """A model whose chains stand at their start."""
    quiet = given["quiet"]
    if checkpoint.exists():
        say(
            f"{checkpoint} of an earlier, unfinished run will be replaced (--resume would go on with it).",
            quiet,
        )
    corpus = read_corpus(given, quiet)
    found = make_features(given["features"], corpus, lambda line: say(line, quiet))
    if found.seeds:
        corpus = replace(corpus, notes={**corpus.notes, "seeds": found.seeds})
    from superwords.fitting.estimator import ConceptModel

    settings = {name: given[option] for option, name in MODEL_PARAMETERS.items() if given[option] is not None}
    model = ConceptModel(**settings, standardize_features=found.standardize)
    model.start(corpus, found.values)
    return model


def resumed(checkpoint: Path, key: Mapping[str, Any], given: Mapping[str, Any]) -> ConceptModel:
    """The model of an interrupted run, if this run is its continuation."""
    from superwords.fitting.checkpoint import read_checkpoint

    if not checkpoint.exists():
        raise InputError(
            f"There is no checkpoint {str(checkpoint)!r} to go on from; a run that has ended leaves none: to sample "
            "longer, run it again without --resume and with more --sweeps (in Python, model.advance goes on)."
        )
    model, earlier = read_checkpoint(checkpoint)
    for name in sorted({*key, *earlier}):
        now, then = key.get(name), earlier.get(name)
        if now == then:
            continue
        if name.endswith(_CONTENT):
            raise InputError(
                f"{name.removesuffix(_CONTENT)} has changed since {checkpoint} was written; "
                "start anew without --resume."
            )
        if name == "superwords":
            raise InputError(
                f"{checkpoint} was written by superwords {then}, and this is {now}; "
                "start anew without --resume."
            )
        raise InputError(
            f"--resume needs the options of the interrupted run, but {name} is {now!r} and was {then!r}; "
            "give it as it was, or start anew without --resume."
        )
    check_groups(given["groups"], model.corpus_.metadata)
    model.n_jobs = given["jobs"]
    done = min(chain.sweep for chain in model.chains_)
    say(f"Going on from {checkpoint}, after {done:,} of {model.schedule_.n_sweeps:,} sweeps.", given["quiet"])
    return model


def run_key(given: Mapping[str, Any]) -> dict[str, Any]:
    """What decides the bits of a run: its options, its input files, and the version of the sampler."""
    from superwords import __version__

    options = {f"--{name.replace('_', '-')}": value for name, value in given.items() if name not in FREE}
    key = {name: _plain(value) for name, value in options.items()}
    key["superwords"] = __version__
    # By content, not by name: the same file may be named from another folder.
    key[f"The input{_CONTENT}"] = digest(given["file"])
    sources = [one.partition(":")[2] for one in check_features(given["features"] or [])]
    for source in filter(None, [*sources, given["drop"] and str(given["drop"])]):
        key[f"{source}{_CONTENT}"] = digest(source)
    return key


def _plain(value: Any) -> Any:
    """As it comes back from JSON."""
    if isinstance(value, list | tuple):
        return [str(one) for one in value]
    return value if isinstance(value, bool | int | float | None) else str(value)


def sample(model: ConceptModel, given: Mapping[str, Any], checkpoint: Path, key: Mapping[str, Any]) -> bool:
    """Run the chains to their end, or to Ctrl-C; then the checkpoint is where they stopped."""
    from superwords.fitting.checkpoint import Checkpointer

    display = SamplingDisplay(model, given["quiet"])
    checkpointer = Checkpointer(model, checkpoint, key, given["checkpoint_every"], display.note)
    model.progress = report_to(checkpointer, display)
    try:
        with display.shown(), stopped_softly(display.note):
            model.resume()
        return False
    except KeyboardInterrupt:
        checkpointer.look()
        checkpointer.write()
        return True
    finally:
        model.progress = None
