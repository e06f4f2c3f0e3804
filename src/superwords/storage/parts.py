"""The parts of a model file: how they are stored, and how they are read back and checked."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.posterior.draws import Schedule
from superwords.posterior.resampling import Pilots
from superwords.posterior.traces import CONCEPT_TRACED
from superwords.sampler.model import Affinity, Prior, Steps, with_absent
from superwords.sampler.records import Position
from superwords.storage.arrays import DamagedError, construct
from superwords.storage.draws import plain_state, read_state, read_tokens
from superwords.text.checks import check_unique_words
from superwords.text.corpus import Corpus

_MOST_SWEEPS = 2**53
_AFFINITY = ("near", "rho_present")  # what is stored of it


class ModelParts(NamedTuple):
    """A fitted model without its draws: its settings, and where its chains are."""

    settings: dict[str, Any]
    seed: int
    schedule: Schedule
    order: np.ndarray
    corpus: Corpus
    features: np.ndarray  # (V, F), NaN rows where unknown
    affinity: Affinity
    steps: Steps
    chains: list[Position]
    pilots: Pilots
    concept_trace: dict[str, np.ndarray]
    fixed: np.ndarray  # (K, V) pinned and banned words

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and words."""
        return self.corpus.n_documents, self.corpus.n_words


def plain_corpus(corpus: Corpus) -> dict[str, Any]:
    """Return a corpus as it is stored, without its texts, which are a part of their own."""
    fields = {one.name: getattr(corpus, one.name) for one in dataclasses.fields(corpus) if one.name != "texts"}
    # Notes may hold dictionaries of any depth: they are one text.
    return fields | {"metadata": plain_table(corpus.metadata), "notes": [corpus.notes]}


def plain_affinity(affinity: Affinity) -> dict[str, np.ndarray]:
    """Return the arrays that the others of an affinity follow from."""
    return {name: getattr(affinity, name) for name in _AFFINITY}


def plain_chain(at: Position) -> dict[str, Any]:
    """Return where a chain is, as it is stored."""
    tokens = None if at.tokens is None else at.tokens._asdict()
    return at._asdict() | {"prior": at.prior._asdict(), "state": plain_state(at.state), "tokens": tokens}


def chain_part(number: int) -> str:
    """Return the name of a chain's part."""
    return f"chain/{number}"


def read_parts(plain: dict[str, Any]) -> ModelParts:
    """Return the parts of a file, every index checked; raise some exception for what is missing or points nowhere."""
    corpus = _read_corpus({**plain["corpus"], "texts": plain["texts"]})
    shape = n_documents, n_words = corpus.n_documents, corpus.n_words
    order = _indices(plain["order"], n_documents, n_documents, np.int64)
    _require(len(np.unique(order)) == n_documents, "its documents are not in any order")
    seed = plain["seed"]
    _require(type(seed) is int and seed >= 0, "its seed is not a number")
    n_chains = sum(name.startswith("chain/") for name in plain)
    _require(n_chains > 0, "it has no chains")
    return ModelParts(
        dict(plain["settings"]),
        seed,
        _read_schedule(plain["schedule"]),
        order,
        corpus,
        _array(plain["features"], "f8", n_words, None),
        _read_affinity(plain["affinity"], n_words),
        _read_steps(plain["steps"]),
        [_read_position(plain[chain_part(c)], shape) for c in range(n_chains)],
        _read_pilots(plain["pilots"], n_words),
        _read_concept_trace(plain.get("concept_trace", {}), n_chains),
        _read_fixed(plain.get("fixed"), n_words),
    )


def _read_fixed(fixed: np.ndarray | None, n_words: int) -> np.ndarray:
    if fixed is None or fixed.size == 0:
        return np.zeros((0, 0), np.int8)
    _array(fixed, "i1", None, n_words)
    _require(bool(np.isin(fixed, (-1, 0, 1)).all()), "its pinned words cannot be read")
    return fixed


def _read_concept_trace(fields: dict[str, Any], n_chains: int) -> dict[str, np.ndarray]:
    for name in CONCEPT_TRACED if fields else ():
        _array(fields[name], "f4", n_chains, *fields[CONCEPT_TRACED[0]].shape[1:])
    return fields


def _read_corpus(fields: dict[str, Any]) -> Corpus:
    (notes,) = fields["notes"]
    metadata = read_table(fields["metadata"])
    _check_notes(notes, metadata)
    corpus = construct(Corpus, {**fields, "metadata": metadata, "notes": notes})
    counts, sentences = corpus.counts, corpus.sentences
    _require(sparse.issparse(counts) and min(counts.shape) > 0, "it has no counts")
    n_documents, n_words = counts.shape
    is_counted = counts.dtype == np.int32 and (counts.data > 0).all()
    _require(is_counted, "its counts are not whole numbers from 1 on")
    _require(_ascend(counts.indices, counts.indptr), "its counts are not in order")
    _require(int(counts.sum(dtype=np.int64)) < 2**53, "its counts are too large")
    _check_texts(corpus.vocabulary, n_words)
    check_unique_words(corpus.vocabulary)
    _check_texts(corpus.ids, n_documents)
    if corpus.texts is not None:
        _check_texts(corpus.texts, n_documents)
    _require(len(corpus.metadata) == n_documents, "its metadata do not match")
    if corpus.parent is not None:
        _indices(corpus.parent, n_documents, n_documents)
    if sentences is not None:
        _require(sparse.issparse(sentences) and sentences.shape[1] == n_words, "its sentences do not match")
        _indices(corpus.sentence_row, sentences.shape[0], n_documents)
    return corpus


_NAME = str | None
# Of the notes that are computed with or shown: [kind] is a list of it, {"": kind} a mapping of names to it.
_NOTES: dict[str, Any] = {
    **dict.fromkeys(("words_read", "words_used", "sentences", "long_tokens", "unknown_words", "min_df"), int),
    **dict.fromkeys(("min_df_chosen", "min_df_counts", "number_of_concepts", "approximate"), str),
    **{name: [str] for name in ("empty_documents", "procedural", "other_words")},
    "groups": [str | int],  # a column may be named by a number
    "seeds": {"": [str]},
    "source": {"": object},
    "pruned": {"": int | list},
    "recipe": {"": object},
}
_RECIPE: dict[str, Any] = {
    **dict.fromkeys(("language", "words", "tagger", "unit"), _NAME),
    "lemmas": bool | None,
    "max_length": int,
    "units": {"": _NAME},
}


def _check_notes(notes: Any, metadata: pd.DataFrame) -> None:
    """Check what is computed with or shown, such as the recipe by which new texts are read."""
    _require(isinstance(notes, dict), "its notes cannot be read")
    for name, kind in _NOTES.items():
        _require(name not in notes or _is(notes[name], kind), f"its {name} cannot be read")
    recipe = notes.get("recipe", {})
    for name, kind in _RECIPE.items():
        _require(name not in recipe or _is(recipe[name], kind), "its recipe cannot be read")
    numbers = [one for one in notes.get("groups", []) if not isinstance(one, str)]
    _require(all(one in metadata.columns for one in numbers), "its groups cannot be read")


def _is(value: Any, kind: Any) -> bool:
    if isinstance(kind, list):
        return isinstance(value, list) and all(_is(one, kind[0]) for one in value)
    if isinstance(kind, dict):
        return isinstance(value, dict) and all(_is(one, kind[""]) for one in value.values())
    return isinstance(value, kind)


def _check_texts(texts: Any, n: int) -> None:
    _require(isinstance(texts, list) and len(texts) == n, "its texts are too few or too many")
    _require(all(isinstance(one, str) for one in texts), "its texts cannot be read")


def _read_schedule(fields: dict[str, Any]) -> Schedule:
    schedule = construct(Schedule, fields)
    are_counts = all(type(one) is int and 0 <= one < _MOST_SWEEPS for one in schedule)
    _require(are_counts, "its sweeps are not numbers")
    _require(schedule.thin >= 1, "it keeps no draw")
    return schedule


def _read_affinity(fields: dict[str, Any], n_words: int) -> Affinity:
    near, rho = (fields[name] for name in _AFFINITY)
    n_near = near.shape[1]
    _array(near, "i4", n_words, n_near)
    _require(0 < n_near <= n_words, "its near words do not match")
    _within(near, n_words)
    _array(rho, "f8", n_words, n_near)
    _require(((rho > 0) & (rho < 1)).all(), "its near words have no probability")
    return with_absent(near, rho)


def _read_steps(fields: dict[str, Any]) -> Steps:
    steps = construct(Steps, fields)
    for given, default in zip(steps, Steps()):
        _require(type(given) is type(default) and 0 <= given < 2**31, "its steps cannot be read")
    return steps


def _read_position(fields: dict[str, Any], shape: tuple[int, int]) -> Position:
    prior = construct(Prior, fields["prior"])
    lam = _array(prior.lam, "f8", shape[1])
    _require((lam > 0).all() and np.isfinite(lam).all(), "its prior is not possible")
    for value in prior._replace(lam=1.0):  # type: ignore[arg-type]
        _require(type(value) is float and 0 < value < np.inf, "its prior is not possible")
    state = read_state(fields["state"], shape)
    tokens = fields["tokens"] and read_tokens(fields["tokens"], state)
    sweep, tried, accepted = fields["sweep"], fields["tried"], fields["accepted"]
    _require(type(sweep) is int and 0 <= sweep < _MOST_SWEEPS, "a chain has no number of sweeps")
    are_counts = all(type(n) is int for n in (*tried.values(), *accepted.values()))
    _require(are_counts, "its counts of moves are not numbers")
    seconds = fields["seconds"]
    are_times = all(type(one) is float and 0 <= one < np.inf for one in seconds.values())
    _require(are_times, "its times are not numbers")
    return Position(sweep, prior, state, tokens, seconds, tried, accepted)


def _read_pilots(fields: dict[str, Any], n_words: int) -> Pilots:
    pilots = construct(Pilots, fields)
    _require(type(pilots.n_pilots) is int and 0 <= pilots.n_pilots < 2**31, "its pilots are not a number")
    n = len(_indices(pilots.pilot, None, pilots.n_pilots, np.int32))
    _array(pilots.share, "f4", n)
    n_entries = len(_indices(pilots.word, None, n_words, np.int32))
    _array(pilots.score, "f4", n_entries)
    _array(pilots.ptr, "i8", n + 1)
    is_pointer = pilots.ptr[0] == 0 and pilots.ptr[-1] == n_entries and (np.diff(pilots.ptr) >= 0).all()
    _require(is_pointer, "a pointer points nowhere")
    return pilots


def plain_table(table: pd.DataFrame) -> list[Any]:
    """Return a table of metadata in what JSON knows; times become whole numbers."""
    return [len(table), [_column(table.iloc[:, at]) for at in range(table.shape[1])]]


def read_table(stored: list[Any]) -> pd.DataFrame:
    """Invert `plain_table`."""
    n_rows, columns = stored
    if not columns:
        return pd.DataFrame(index=range(n_rows))
    table = pd.concat([_series(column) for column in columns], axis=1)
    table.columns = pd.Index([column["name"] for column in columns])
    return table


def _column(series: pd.Series) -> dict[str, Any]:
    name = series.name if isinstance(series.name, str | int) else str(series.name)
    out: dict[str, Any] = {"name": name, "dtype": str(series.dtype)}
    if isinstance(series.dtype, pd.CategoricalDtype):
        out |= {"dtype": "category", "ordered": bool(series.cat.ordered)}
        out["categories"] = _column(pd.Series(series.cat.categories))
        out["values"] = series.cat.codes.tolist()
    elif isinstance(series.dtype, pd.DatetimeTZDtype):
        plain = series.dt.tz_convert("UTC").dt.tz_localize(None)
        zone, values = str(series.dt.tz), plain.astype("int64").tolist()
        out |= {"dtype": str(plain.dtype), "zone": zone, "values": values}
    elif series.dtype.kind in "mM":
        out["values"] = series.astype("int64").tolist()
    else:
        out["values"] = [None if value is pd.NA or value is pd.NaT else value for value in series.tolist()]
    return out


def _series(column: dict[str, Any]) -> pd.Series:
    values, dtype = column["values"], column["dtype"]
    if dtype == "category":
        categories = pd.Index(_series(column["categories"]))
        return pd.Series(pd.Categorical.from_codes(values, categories, ordered=column["ordered"]))
    if dtype.startswith(("datetime64", "timedelta64")):
        times = pd.Series(np.array(values, "int64").view(dtype))
        return times.dt.tz_localize("UTC").dt.tz_convert(column["zone"]) if "zone" in column else times
    return pd.Series(values, dtype=dtype)


def _require(is_so: Any, otherwise: str) -> None:
    if not is_so:
        raise DamagedError(otherwise)


def _array(values: Any, kind: Any, *shape: int | None) -> np.ndarray:
    """Return an array, if it is of this type and shape (None: of any length)."""
    is_right = isinstance(values, np.ndarray) and values.dtype == kind and values.ndim == len(shape)
    _require(is_right, "an array is of the wrong type")
    fits = all(expected is None or n == expected for n, expected in zip(values.shape, shape))
    _require(fits, "its parts do not fit together")
    return values


def _within(values: np.ndarray, end: int) -> None:
    _require(values.size == 0 or 0 <= values.min() <= values.max() < end, "a number points nowhere")


def _indices(values: Any, n: int | None, end: int, kind: Any = None) -> np.ndarray:
    """Return `values`, if they are `n` (None: any number of) whole numbers from 0 to before the end."""
    _require(isinstance(values, np.ndarray) and values.dtype.kind == "i", "an array is of the wrong type")
    _within(_array(values, kind or values.dtype, n), end)
    return values


def _ascend(values: np.ndarray, ptr: np.ndarray) -> bool:
    """Return whether the numbers of each slice ascend."""
    rises = np.diff(values.astype(np.int64)) > 0
    starts = np.asarray(ptr[1:-1])
    rises[starts[(starts > 0) & (starts < len(values))] - 1] = True
    return bool(rises.all())
