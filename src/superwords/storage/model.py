"""Write a fitted model to its file, and read it back with every index checked.

A finished model's file has the draws that its summaries are computed from (or all of them) and the traces of all kept
draws. The file of a run (the *checkpoint*) has every kept draw so far. Both are read alike, and no summary is stored.
"""

from __future__ import annotations

import dataclasses
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis import curation
from superwords.errors import StorageError
from superwords.files import atomic_path
from superwords.posterior.draws import ChainDraws, Draws, Schedule
from superwords.posterior.resampling import Pilots
from superwords.posterior.result import Result
from superwords.posterior.traces import CONCEPT_TRACED
from superwords.sampler.model import Affinity, Model, Prior, Steps, make_data, with_absent
from superwords.sampler.records import Position
from superwords.storage.arrays import check_numbers, construct, expect, require
from superwords.storage.draws import plain_state, read_state, read_tokens
from superwords.storage.model_file import Choice, ModelFile, translate_corruption
from superwords.text.checks import check_unique_words
from superwords.text.corpus import Corpus

if TYPE_CHECKING:
    from superwords.fitting.fitted_model import FittedModel

_RUN, CHAIN = "run", "chain/{}"  # the parts with what an unfinished run was asked for, and where a chain is
_MOST_SWEEPS = 2**53
_NONE_FIXED = np.zeros((0, 0), np.int8)


class Stored(NamedTuple):
    """What a file holds."""

    settings: dict[str, Any]
    seed: int
    schedule: Schedule
    order: np.ndarray
    corpus: Corpus
    features: np.ndarray  # (V, F), NaN rows where unknown
    shared: tuple[Affinity, Steps, np.ndarray]  # of the chains' models, the last one (K, V): pinned and banned words
    chains: list[Position]
    pilots: Pilots
    concept_trace: dict[str, np.ndarray]  # over all kept draws, of which a finished file has only some
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
    parts = {"version": __version__, **plain_parts(model, texts)} | ({} if run is None else {_RUN: [dict(run)]})
    try:
        with atomic_path(path) as temporary, closing(ModelFile.create(temporary)) as file:
            for name, value in parts.items():
                file.put(name, value)
            for chain in draws:
                chain.copy_to(file)
            file.add_choices(model.choices_)  # and the draws that still wait
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(f"The model cannot be written to {str(path)!r}: {reason}.") from error


def plain_parts(model: FittedModel, texts: bool = True) -> dict[str, Any]:
    """Return what a file holds of a model except its draws and choices, by name."""
    first, corpus = model.chains_[0].model, model.corpus_
    is_finished = all(one.sweep >= model.schedule_.n_sweeps for one in model.chains_)
    fields = {one.name: getattr(corpus, one.name) for one in dataclasses.fields(corpus) if one.name != "texts"}
    table = corpus.metadata
    metadata = [len(table), [_plain_column(table.iloc[:, at]) for at in range(table.shape[1])]]
    chains = {CHAIN.format(c): plain_chain(chain.position()) for c, chain in enumerate(model.chains_)}
    return chains | {
        "settings": plain_settings(model.get_params()),
        "seed": model.seed_,
        "schedule": model.schedule_._asdict(),
        "order": model.order_,
        # Notes may hold dictionaries of any depth: they are one text.
        "corpus": fields | {"metadata": metadata, "notes": [corpus.notes]},
        "texts": corpus.texts if texts else None,
        "features": np.where(first.data.known[:, None], first.data.Y, np.nan),
        "affinity": {"near": first.affinity.near, "rho_present": first.affinity.rho_present},
        "steps": first.steps._asdict(),
        "pilots": model.pilots_._asdict(),
        "concept_trace": model.sampled_.concept_trace if is_finished and model.sampled_.has_concepts else {},
        "fixed": first.fixed,
    }


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


def plain_chain(at: Position) -> dict[str, Any]:
    """Return where a chain is, as it is stored."""
    tokens = None if at.tokens is None else at.tokens._asdict()
    return at._asdict() | {"prior": at.prior._asdict(), "state": plain_state(at.state)[0], "tokens": tokens}


def _plain_column(series: pd.Series) -> dict[str, Any]:
    """Return a column of metadata in what JSON knows; times become whole numbers."""
    name = series.name if isinstance(series.name, str | int) else str(series.name)
    out: dict[str, Any] = {"name": name, "dtype": str(series.dtype)}
    if isinstance(series.dtype, pd.CategoricalDtype):
        out |= {"dtype": "category", "ordered": bool(series.cat.ordered)}
        out["categories"] = _plain_column(pd.Series(series.cat.categories))
        return out | {"values": series.cat.codes.tolist()}
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        plain = series.dt.tz_convert("UTC").dt.tz_localize(None)
        return out | {"dtype": str(plain.dtype), "zone": str(series.dt.tz), "values": plain.astype("int64").tolist()}
    if series.dtype.kind in "mM":
        return out | {"values": series.astype("int64").tolist()}
    return out | {"values": [None if value is pd.NA or value is pd.NaT else value for value in series.tolist()]}


def _read_column(column: dict[str, Any]) -> pd.Series:
    """Invert `_plain_column`."""
    values, dtype = column["values"], column["dtype"]
    if dtype == "category":
        categories = pd.Index(_read_column(column["categories"]))
        return pd.Series(pd.Categorical.from_codes(values, categories, ordered=column["ordered"]))
    if dtype.startswith(("datetime64", "timedelta64")):
        times = pd.Series(np.array(values, "int64").view(dtype))
        return times.dt.tz_localize("UTC").dt.tz_convert(column["zone"]) if "zone" in column else times
    return pd.Series(values, dtype=dtype)


def read(path: str | Path) -> Stored:
    """Read a file; a `StorageError` says what is wrong with it. Its draws are read and checked on demand."""
    with translate_corruption(str(path)):
        file = ModelFile.open(Path(path))
        try:
            with file.reading():
                return read_open(file)
        except BaseException:
            file.close()
            raise


def read_open(file: ModelFile) -> Stored:
    """Read an open file, every index checked; raise some exception for what is missing or points nowhere."""
    plain = {name: file.get(name) for name in file.parts()}
    corpus = _read_corpus({**plain["corpus"], "texts": plain["texts"]})
    shape = n_documents, n_words = corpus.counts.shape
    order = expect(plain["order"], "i8", n_documents, end=n_documents)
    require(len(np.unique(order)) == n_documents, "its documents are not in any order")
    check_numbers("its seed", [plain["seed"]], int)
    schedule = construct(Schedule, plain["schedule"], _MOST_SWEEPS)
    require(schedule.thin >= 1, "it keeps no draw")
    n_near = plain["affinity"]["near"].shape[1]
    near = expect(plain["affinity"]["near"], "i4", n_words, n_near, end=n_words)
    rho = expect(plain["affinity"]["rho_present"], "f8", n_words, n_near)
    require(0 < n_near <= n_words, "its near words do not match")
    require(((rho > 0) & (rho < 1)).all(), "its near words have no probability")
    n_chains = sum(name.startswith(CHAIN.format("")) for name in plain)
    require(n_chains > 0, "it has no chains")
    chains = [_read_chain(plain[CHAIN.format(c)], shape) for c in range(n_chains)]
    trace = plain.get("concept_trace", {})
    for name in CONCEPT_TRACED if trace else ():
        expect(trace[name], "f4", n_chains, *trace[CONCEPT_TRACED[0]].shape[1:])
    fixed = plain.get("fixed", _NONE_FIXED)
    if fixed.size:
        require(np.isin(expect(fixed, "i1", None, n_words), (-1, 0, 1)).all(), "its pinned words cannot be read")
    (run,) = plain.get(_RUN, [None])
    require(_RUN not in plain or isinstance(run, dict), "it does not say what its run was asked for")
    require(all(row.chain in range(n_chains) for row in file.draws()), "a draw is of no chain")
    draws = [ChainDraws(file, c, shape, at.sweep) for c, at in enumerate(chains)]
    features, pilots = expect(plain["features"], "f8", n_words, None), _read_pilots(plain["pilots"], n_words)
    shared = with_absent(near, rho), construct(Steps, plain["steps"], 2**31), fixed if fixed.size else _NONE_FIXED
    of_chains = chains, pilots, trace, draws, _read_choices(file, draws)
    settings = dict(plain["settings"])
    return Stored(settings, plain["seed"], schedule, order, corpus, features, shared, *of_chains, run, file.identity())


# What is computed with or shown of the notes: [kind] is a list of it, {name: kind} a mapping, where "" is every name.
_NAME = str | None
_NOTES: dict[str, Any] = {
    **dict.fromkeys(("words_read", "words_used", "sentences", "long_tokens", "unknown_words", "min_df"), int),
    **dict.fromkeys(("min_df_chosen", "min_df_counts", "number_of_concepts", "approximate"), str),
    **{name: [str] for name in ("empty_documents", "procedural", "other_words")},
    "groups": [str | int],  # a column may be named by a number
    "seeds": {"": [str]},
    "source": {},
    "pruned": {"": int | list},
    "recipe": {
        **dict.fromkeys(("language", "words", "tagger", "unit"), _NAME),
        "lemmas": bool | None,
        "max_length": int,
        "units": {"": _NAME},
    },
}


def _is(value: Any, kind: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, list) and all(_is(one, kind[0]) for one in value)
    if isinstance(kind, dict):
        own = kind.get("", object)
        return isinstance(value, dict) and all(_is(one, kind.get(name, own)) for name, one in value.items())
    return isinstance(value, kind)


def _read_corpus(fields: dict[str, Any]) -> Corpus:
    (notes,), (n_rows, columns) = fields["notes"], fields["metadata"]
    metadata = pd.DataFrame(index=range(n_rows))
    if columns:
        metadata = pd.concat([_read_column(column) for column in columns], axis=1)
        metadata.columns = pd.Index([column["name"] for column in columns])
    require(isinstance(notes, dict), "its notes cannot be read")
    for name, kind in _NOTES.items():
        require(name not in notes or _is(notes[name], kind), f"its {name} cannot be read")
    are_columns = all(isinstance(one, str) or one in metadata.columns for one in notes.get("groups", []))
    require(are_columns, "its groups cannot be read")
    corpus = construct(Corpus, {**fields, "metadata": metadata, "notes": notes})
    counts, sentences = corpus.counts, corpus.sentences
    require(sparse.issparse(counts) and min(counts.shape) > 0, "it has no counts")
    n_documents, n_words = counts.shape
    is_counted = counts.dtype == np.int32 and (counts.data > 0).all()
    require(is_counted, "its counts are not whole numbers from 1 on")
    require(counts.has_canonical_format, "its counts are not in order")
    require(int(counts.sum(dtype=np.int64)) < 2**53, "its counts are too large")
    texts = [] if corpus.texts is None else [(corpus.texts, n_documents)]
    for some, n in ((corpus.vocabulary, n_words), (corpus.ids, n_documents), *texts):
        require(isinstance(some, list) and len(some) == n, "its texts are too few or too many")
        require(all(isinstance(one, str) for one in some), "its texts cannot be read")
    check_unique_words(corpus.vocabulary)
    require(len(metadata) == n_documents, "its metadata do not match")
    if corpus.parent is not None:
        expect(corpus.parent, None, n_documents, end=n_documents)
    if sentences is not None:
        require(sparse.issparse(sentences) and sentences.shape[1] == n_words, "its sentences do not match")
        expect(corpus.sentence_row, None, sentences.shape[0], end=n_documents)
    return corpus


def _read_chain(fields: dict[str, Any], shape: tuple[int, int]) -> Position:
    prior = construct(Prior, fields["prior"], np.inf)
    lam = expect(prior.lam, "f8", shape[1])
    numbers = [value for name, value in prior._asdict().items() if name != "lam"]
    is_possible = (lam > 0).all() and np.isfinite(lam).all() and all(numbers)
    require(is_possible, "its prior is not possible")
    state, _ = read_state(fields["state"], shape)
    tokens = fields["tokens"] and read_tokens(fields["tokens"], state)
    at = construct(Position, {**fields, "prior": prior, "state": state, "tokens": tokens}, _MOST_SWEEPS)
    require(all(type(n) is int for n in (*at.tried.values(), *at.accepted.values())), "its moves are not counted")
    check_numbers("a time", at.seconds.values(), float)
    return at


def _read_pilots(fields: dict[str, Any], n_words: int) -> Pilots:
    pilots = construct(Pilots, fields, 2**31)
    n = len(expect(pilots.pilot, "i4", None, end=pilots.n_pilots))
    n_entries = len(expect(pilots.word, "i4", None, end=n_words))
    expect(pilots.share, "f4", n)
    expect(pilots.score, "f4", n_entries)
    ptr = expect(pilots.ptr, "i8", n + 1)
    require(ptr[0] == 0 and ptr[-1] == n_entries and (np.diff(ptr) >= 0).all(), "a pointer points nowhere")
    return pilots


def _read_choices(file: ModelFile, draws: Sequence[ChainDraws]) -> list[Choice]:
    """Check what can be checked without the draws; `curated` checks that the concepts exist."""
    choices = file.choices()
    most = max((int(max(one.trace["n_concepts"])) for one in draws if one.kept_sweeps), default=0)
    known = range(1, most + 1)
    for one in choices:
        is_known = one.kind in curation.KINDS and one.concept in known and curation.checked_value(one) == one.value
        require(is_known, "a choice is about no concept, or of no kind")
        is_merge = one.kind == curation.MERGE and one.value
        require(not is_merge or int(one.value) in known, "a choice merges a concept into none")
    curation.decisions(choices).columns(most)
    return choices


def _sampled(stored: Stored) -> Result:
    """Return what was found, before anything that people decided about it."""
    fields = stored.corpus, stored.order, stored.chains[0].prior, Draws(stored.draws)
    sampled = Result(*fields, pilots=stored.pilots, is_cached=True)
    if stored.concept_trace and not all(one.has_all for one in stored.draws):
        sampled.concept_trace = stored.concept_trace  # over all kept draws
    return sampled


def read_result(path: str | Path) -> Result:
    """Read what a saved model found, with people's choices: all that tables need, and nothing to sample with."""
    stored = read(path)
    with translate_corruption(str(path)):
        return curation.curated(_sampled(stored), stored.choices)


def restore(model: FittedModel, stored: Stored) -> None:
    """Make a model of the same settings what it was when it was saved."""
    from superwords.sampler.chain import Chain  # kernels, which only sampling needs

    model.corpus_, model.order_, model.pilots_ = stored.corpus, stored.order, stored.pilots
    model.seed_, model.schedule_, model.identity_ = stored.seed, stored.schedule, stored.identity
    model.kept_, model.choices_, model.sampled_ = stored.draws, list(stored.choices), _sampled(stored)
    data = make_data(sparse.csr_array(stored.corpus.counts[stored.order]), stored.features)
    model.chains_ = []
    for c, at in enumerate(stored.chains):
        chain = Chain(Model(at.prior, data, *stored.shared), at.state, stored.seed, c)
        chain.go_to(at)
        model.chains_.append(chain)
