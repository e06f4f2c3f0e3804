"""Write a fitted model to its file, and read it back.

A finished model's file has the draws that its summaries are computed from (or all of them) and the traces of all kept
draws. The file of a run (the *checkpoint*) has every kept draw so far. Both are read alike, and no summary is stored.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.analysis.curation import KINDS, MERGE, checked_value, curated, decisions
from superwords.errors import StorageError
from superwords.files import atomic_path
from superwords.posterior.draws import ChainDraws, Draws
from superwords.posterior.result import Result
from superwords.sampler.model import Model, make_data
from superwords.storage.arrays import DamagedError
from superwords.storage.model_file import Choice, ModelFile, translate_corruption
from superwords.storage.parts import ModelParts, chain_part, plain_affinity, plain_chain, plain_corpus, read_parts

if TYPE_CHECKING:
    from superwords.fitting.fitted_model import FittedModel

_RUN = "run"  # the part that says what an unfinished run was asked for


class Stored(NamedTuple):
    """What a file holds."""

    parts: ModelParts
    draws: list[ChainDraws]
    choices: list[Choice]
    run: dict[str, Any] | None  # what an unfinished run was asked for
    identity: str  # of everything but the choices


def write(
    path: Path,
    model: FittedModel,
    draws: Sequence[ChainDraws],
    texts: bool = True,
    run: Mapping[str, Any] | None = None,
) -> None:
    """Write a file atomically, replacing an earlier one."""
    from superwords import __version__

    if not path.parent.is_dir():
        raise StorageError(f"There is no folder {str(path.parent)!r} to save the model in.")
    try:
        with (
            atomic_path(path) as temporary,
            closing(ModelFile.create(temporary, safe=False)) as file,
            file.transaction(),
        ):
            file.put("version", __version__)
            for name, value in plain_parts(model, texts).items():
                file.put(name, value)
            if run is not None:
                file.put(_RUN, [dict(run)])
            for chain in draws:
                chain.copy_to(file)
            file.add_choices(model.choices_)
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"The model cannot be written to {str(path)!r}: {reason}.") from error


def read(path: str | Path) -> Stored:
    """Read a file, every index checked; a `StorageError` says what is wrong with it.

    Draws stay in the file, and are read and checked on demand.
    """
    with translate_corruption(str(path)):
        file = ModelFile.open(Path(path))
        try:
            with file.reading():
                stored = read_open(file)
        except BaseException:
            file.close()
            raise
        return stored


def read_open(file: ModelFile) -> Stored:
    """Read an open file."""
    names = file.parts()
    parts = read_parts({name: file.get(name) for name in names if name != _RUN})
    if any(row.chain not in range(len(parts.chains)) for row in file.draws()):
        raise DamagedError("a draw is of no chain")
    draws = [ChainDraws(file, c, parts.shape, position.sweep) for c, position in enumerate(parts.chains)]
    choices = file.choices()
    _check_choices(choices, parts, draws)
    run = None
    if _RUN in names:
        (run,) = file.get(_RUN)
        if not isinstance(run, dict):
            raise DamagedError("it does not say what its run was asked for")
    return Stored(parts, draws, choices, run, file.identity())


def _check_choices(choices: Sequence[Choice], parts: ModelParts, draws: Sequence[ChainDraws]) -> None:
    """Check what can be checked without the draws; `curated` checks that the concepts exist."""
    most = max((int(max(one.trace["n_concepts"])) for one in draws if one.kept_sweeps), default=0)
    known = range(1, most + 1)
    for one in choices:
        if one.kind not in KINDS or one.concept not in known or checked_value(one) != one.value:
            raise DamagedError("a choice is about no concept, or of no kind")
        if one.kind == MERGE and one.value and int(one.value) not in known:
            raise DamagedError("a choice merges a concept into none")
    decisions(choices).columns(most)


def plain_parts(model: FittedModel, texts: bool = True) -> dict[str, Any]:
    """Return what a file holds of a model except its draws and choices, by name."""
    first, corpus = model.chains_[0].model, model.corpus_
    is_finished = all(one.sweep >= model.schedule_.n_sweeps for one in model.chains_)
    chains = {chain_part(c): plain_chain(chain.position()) for c, chain in enumerate(model.chains_)}
    return chains | {
        "settings": plain_settings(model.get_params()),
        "seed": model.seed_,
        "schedule": model.schedule_._asdict(),
        "order": model.order_,
        "corpus": plain_corpus(corpus),
        "texts": corpus.texts if texts else None,
        "features": np.where(first.data.known[:, None], first.data.Y, np.nan),
        "affinity": plain_affinity(first.affinity),
        "steps": first.steps._asdict(),
        "pilots": model.pilots_._asdict(),
        # Over all kept draws, of which a finished file has only some.
        "concept_trace": model.sampled_.concept_trace if is_finished and model.sampled_.has_concepts else {},
        "fixed": first.fixed,
    }


def read_result(path: str | Path) -> Result:
    """Read what a saved model found, with people's choices: all that tables need, and nothing to sample with."""
    stored = read(path)
    parts = stored.parts
    with translate_corruption(str(path)):
        fields = parts.corpus, parts.order, parts.chains[0].prior, Draws(stored.draws)
        sampled = Result(*fields, pilots=parts.pilots, is_cached=True)
        _remember_trace(sampled, stored)
        return curated(sampled, stored.choices)


def _remember_trace(sampled: Result, stored: Stored) -> None:
    """Take over the traces of all kept draws where the file has only some of these."""
    if stored.parts.concept_trace and not all(one.has_all for one in stored.draws):
        sampled.remember(concept_trace=stored.parts.concept_trace)


def restore(model: FittedModel, stored: Stored) -> None:
    """Make a model of the same settings what it was when it was saved."""
    from superwords.sampler.chain import Chain  # kernels, which only sampling needs

    parts = stored.parts
    model.corpus_, model.order_ = parts.corpus, parts.order
    model.seed_, model.schedule_ = parts.seed, parts.schedule
    counts = sparse.csr_array(parts.corpus.counts[parts.order])
    data = make_data(counts, parts.features)
    model.chains_ = []
    for c, position in enumerate(parts.chains):
        whole = Model(position.prior, data, parts.affinity, parts.steps, parts.fixed)
        chain = Chain(whole, position.state, parts.seed, c)
        chain.go_to(position)
        model.chains_.append(chain)
    model.kept_, model.choices_ = stored.draws, list(stored.choices)
    model.pilots_, model.identity_ = parts.pilots, stored.identity
    _remember_trace(model.sampled_, stored)


def plain_settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the estimator's parameters as they are stored, without those that depend on the machine."""
    kept = {name: value for name, value in given.items() if name not in ("progress", "cluster")}
    if not isinstance(kept["random_state"], int | np.integer):
        kept["random_state"] = None
    for name, value in kept.items():
        if not isinstance(value, str | int | float | np.generic | None):
            array = np.asarray(value)
            kept[name] = array if array.dtype.kind in "biuf" else array.tolist()
    return kept
