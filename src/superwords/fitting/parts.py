"""What a model file holds, as plain dictionaries and arrays and back; on the way back every index is checked."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from superwords.concepts.elsewhere import OtherConcepts
from superwords.concepts.sets import WordSets
from superwords.concepts.summary import Alignment, Memberships, Summary, Uses, WordUse
from superwords.concepts.word_draws import WordDraws
from superwords.corpus.checks import check_unique_words
from superwords.corpus.corpus import Corpus
from superwords.draws import TRACED, Kept, plain_kept, read_kept
from superwords.fitting.metadata import plain_table, read_table
from superwords.fitting.running import Schedule
from superwords.packing import DamagedError
from superwords.sampler.affinity import with_absent
from superwords.sampler.chain import Position
from superwords.sampler.model import Affinity, Prior, Steps
from superwords.sampler.state import n_concepts
from superwords.stored_state import plain_state, read_state, read_tokens

_MOST_SWEEPS = 2**53
_AFFINITY = ("near", "rho_present")  # what is stored of it


class Findings(NamedTuple):
    """What all tables are made of, so that the draws need not be at hand."""

    best_draw: Kept
    consensus_draw: Kept
    summary: Summary
    word_sets: WordSets
    trace: dict[str, np.ndarray]  # (chain, draw) of each traced quantity


class ModelParts(NamedTuple):
    """A fitted model: what was asked for, where its chains stand, and what they have found, if anything yet."""

    settings: dict[str, Any]
    seed: int
    schedule: Schedule
    order: np.ndarray
    corpus: Corpus
    features: np.ndarray  # (V, F), NaN rows where unknown
    affinity: Affinity
    steps: Steps
    chains: list[Position]
    findings: Findings | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Documents and words."""
        return self.corpus.n_documents, self.corpus.n_words


def to_plain(parts: ModelParts) -> dict[str, Any]:
    """The parts of a file by name; a chain's is `chain/0` and so on."""
    fields = parts._asdict()
    chains, found = fields.pop("chains"), fields.pop("findings")
    corpus = {one.name: getattr(parts.corpus, one.name) for one in dataclasses.fields(parts.corpus)}
    # Notes may hold dictionaries of any depth: they are one text.
    corpus |= {"metadata": plain_table(parts.corpus.metadata), "notes": [parts.corpus.notes]}
    # Texts alone compress better than beside numbers; the rest of the affinity follows from these two.
    texts, affinity = corpus.pop("texts"), {name: getattr(parts.affinity, name) for name in _AFFINITY}
    plain: dict[str, Any] = {**_dictionaries(fields), "corpus": corpus, "texts": texts, "affinity": affinity}
    plain |= {chain_part(c): plain_position(one) for c, one in enumerate(chains)}
    if found is not None:
        draws = {"best_draw": plain_kept(found.best_draw), "consensus_draw": plain_kept(found.consensus_draw)}
        rest = {name: getattr(found, name) for name in ("summary", "word_sets", "trace")}
        plain |= {f"found/{name}": one for name, one in {**_dictionaries(rest), **draws}.items()}
    return plain


def chain_part(number: int) -> str:
    return f"chain/{number}"


def plain_position(position: Position) -> dict[str, Any]:
    return _dictionaries(position._asdict()) | {"state": plain_state(position.state)}


def _dictionaries(value: Any) -> Any:
    """Named tuples as dictionaries, at any depth."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        value = value._asdict()
    return {name: _dictionaries(one) for name, one in value.items()} if isinstance(value, dict) else value


def from_plain(plain: dict[str, Any]) -> ModelParts:
    """Inverse of `to_plain`. What is not there, or points nowhere, raises some exception."""
    corpus = _read_corpus({**plain["corpus"], "texts": plain["texts"]})
    shape = n_documents, n_words = corpus.n_documents, corpus.n_words
    order = _indices(plain["order"], n_documents, n_documents, np.int64)
    _require(len(np.unique(order)) == n_documents, "its documents are not in any order")
    seed = plain["seed"]
    _require(type(seed) is int and seed >= 0, "its seed is not a number")
    features = _array(plain["features"], "f8", n_words, None)
    n_chains = sum(name.startswith("chain/") for name in plain)
    _require(n_chains > 0, "it has no chains")
    chains = [_read_position(plain[chain_part(c)], shape) for c in range(n_chains)]
    return ModelParts(
        dict(plain["settings"]),
        seed,
        _read_schedule(plain["schedule"]),
        order,
        corpus,
        features,
        _read_affinity(plain["affinity"], n_words),
        _read_steps(plain["steps"]),
        chains,
        _read_findings(plain, shape, n_chains) if "found/best_draw" in plain else None,
    )


def _read_corpus(fields: dict[str, Any]) -> Corpus:
    (notes,) = fields["notes"]
    _require(isinstance(notes, dict), "its notes cannot be read")
    corpus = Corpus(**{**fields, "metadata": read_table(fields["metadata"]), "notes": notes})
    counts, sentences = corpus.counts, corpus.sentences
    _require(sparse.issparse(counts) and min(counts.shape) > 0, "it has no counts")
    n_documents, n_words = counts.shape
    _require(
        counts.dtype == np.int32 and (counts.data > 0).all(), "its counts are not whole numbers from 1 on"
    )
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


def _check_texts(texts: Any, n: int) -> None:
    _require(isinstance(texts, list) and len(texts) == n, "its texts are too few or too many")
    _require(all(isinstance(one, str) for one in texts), "its texts cannot be read")


def _read_schedule(fields: dict[str, Any]) -> Schedule:
    schedule = Schedule(**fields)
    _require(
        all(type(one) is int and 0 <= one < _MOST_SWEEPS for one in schedule), "its sweeps are not numbers"
    )
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
    steps = Steps(**fields)
    for given, default in zip(steps, Steps()):
        _require(type(given) is type(default) and 0 <= given < 2**31, "its steps cannot be read")
    return steps


def _read_position(fields: dict[str, Any], shape: tuple[int, int]) -> Position:
    prior = Prior(**fields["prior"])
    lam = _array(prior.lam, "f8", shape[1])
    _require((lam > 0).all() and np.isfinite(lam).all(), "its prior is not possible")
    for value in prior._replace(lam=1.0):  # type: ignore[arg-type]
        _require(type(value) is float and 0 < value < np.inf, "its prior is not possible")
    state = read_state(fields["state"], shape)
    tokens = fields["tokens"] and read_tokens(fields["tokens"], state)
    sweep, tried, accepted = fields["sweep"], fields["tried"], fields["accepted"]
    _require(type(sweep) is int and 0 <= sweep < _MOST_SWEEPS, "a chain has no number of sweeps")
    _require(
        all(type(n) is int for n in (*tried.values(), *accepted.values())),
        "its counts of moves are not numbers",
    )
    seconds = fields["seconds"]
    _require(
        all(type(one) is float and 0 <= one < np.inf for one in seconds.values()), "its times are not numbers"
    )
    return Position(sweep, prior, state, tokens, seconds, tried, accepted)


def _read_findings(plain: dict[str, Any], shape: tuple[int, int], n_chains: int) -> Findings:
    best = read_kept(plain["found/best_draw"], shape)
    summary = plain["found/summary"]
    n_concepts_found = n_concepts(best.state)
    n_spaced = len(summary["memberships"]["draw"])
    read = Summary(
        alignment := _read_alignment(summary["alignment"], n_concepts_found, n_chains),
        _read_word_use(summary["words"], n_concepts_found, shape[1]),
        _read_memberships(summary["memberships"], n_concepts_found, shape[0], len(alignment.chain)),
        _read_uses(summary["uses"], n_concepts_found, shape),
        _read_word_draws(summary["word_draws"], n_concepts_found, shape, n_spaced),
        _read_others(summary["others"], n_chains, shape[1]),
    )
    trace = {name: plain["found/trace"][name] for name in TRACED}
    for name, values in trace.items():
        _array(values, "f8" if name == TRACED[0] else "i8", n_chains, trace[TRACED[0]].shape[1])
    sets = _read_word_sets(plain["found/word_sets"], shape[1], alignment.chain)
    return Findings(best, read_kept(plain["found/consensus_draw"], shape), read, sets, trace)


def _read_alignment(fields: dict[str, Any], n_found: int, n_chains: int) -> Alignment:
    alignment = Alignment(**fields)
    n_draws = len(_indices(alignment.chain, None, n_chains, np.int32))
    weight, reference = _array(alignment.chain_weight, "f8", n_chains), alignment.reference
    _require((weight >= 0).all() and abs(weight.sum() - 1) < 1e-6, "its chains have no weights")
    _require(type(reference) is int and 0 <= reference < n_draws, "its reference is not a draw")
    for values, kind in zip(alignment[3:], ("f4", "i4", "f4", "i4")):
        _array(values, kind, n_draws, n_found)
    _require((alignment.holders >= 0).all() and (alignment.n_words >= 0).all(), "its numbers are negative")
    return alignment


def _read_word_use(fields: dict[str, Any], n_found: int, n_words: int) -> WordUse:
    words = WordUse(**fields)
    n = len(words.concept)
    _indices(words.concept, n, n_found, np.int32)
    _indices(words.word, n, n_words, np.int32)
    for values in words[2:]:
        _array(values, "f4", n)
    return words


def _read_memberships(fields: dict[str, Any], n_found: int, n_documents: int, n_draws: int) -> Memberships:
    memberships = Memberships(**fields)
    n_spaced = len(_indices(memberships.draw, None, n_draws, np.int32))
    n = len(_indices(memberships.concept, None, n_found, np.int32))
    _array(memberships.weight, "f4", n)
    _pointers(memberships.ptr, n_spaced * n_documents, n)
    return memberships


def _read_uses(fields: dict[str, Any], n_found: int, shape: tuple[int, int]) -> Uses:
    uses = Uses(**fields)
    n = len(_indices(uses.concept, None, n_found, np.int32))
    _indices(uses.word, n, shape[1], np.int32)
    _array(uses.share, "f4", n)
    _pointers(uses.ptr, shape[0], n)
    return uses


def _read_word_draws(
    fields: dict[str, Any], n_found: int, shape: tuple[int, int], n_spaced: int
) -> WordDraws:
    words = WordDraws(**fields)
    n, n_shared = len(words.concept), len(words.shared_document)
    for values, end in ((words.concept, n_found), (words.word, shape[1])):
        _indices(values, n, end, np.int32)
    for values, end in (
        (words.shared_document, shape[0]),
        (words.shared_concept, n_found),
        (words.shared_word, shape[1]),
        (words.shared_used, 2),
    ):
        _indices(values, n_shared, end, np.int32)
    for values in (words.on, words.used):
        _indices(values, n, shape[0] + 1, np.int32)
    _pointers(words.ptr, n_spaced, n)
    _pointers(words.shared_ptr, n_spaced, n_shared)
    return words


def _read_others(fields: dict[str, Any], n_chains: int, n_words: int) -> OtherConcepts:
    others = OtherConcepts(**fields)
    n = len(_array(others.holders, "i4", None))
    _array(others.found, "f4", n, n_chains)
    _pointers(others.ptr, n, len(_indices(others.word, None, n_words, np.int32)))
    return others


def _read_word_sets(fields: dict[str, Any], n_words: int, chain: np.ndarray) -> WordSets:
    sets = WordSets(**fields)
    n_draws = len(_indices(sets.chain, None, int(chain.max(initial=-1)) + 1, np.int32))
    _require(np.array_equal(np.unique(sets.chain), np.unique(chain)), "its draws do not match")
    _array(sets.n_concepts, "i4", n_draws)
    _require((sets.n_concepts >= 0).all() and sets.n_words == n_words, "its word sets do not match")
    n = len(_indices(sets.word, None, n_words, np.int32))
    _pointers(sets.ptr, int(sets.n_concepts.sum(dtype=np.int64)), n)
    _require(_ascend(sets.word, sets.ptr), "its word sets are not in order")
    _require((_array(sets.used, "i4", n) >= 0).all(), "its numbers are negative")
    return sets


def _require(is_so: Any, otherwise: str) -> None:
    if not is_so:
        raise DamagedError(otherwise)


def _array(values: Any, kind: Any, *shape: int | None) -> np.ndarray:
    """An array of this type and shape (None: of any length)."""
    is_right = isinstance(values, np.ndarray) and values.dtype == kind and values.ndim == len(shape)
    _require(is_right, "an array is of the wrong type")
    fits = all(wanted is None or n == wanted for n, wanted in zip(values.shape, shape))
    _require(fits, "its parts do not fit together")
    return values


def _within(values: np.ndarray, end: int) -> None:
    _require(values.size == 0 or 0 <= values.min() <= values.max() < end, "a number points nowhere")


def _indices(values: Any, n: int | None, end: int, kind: Any = None) -> np.ndarray:
    """So many whole numbers from 0 to before the end."""
    _require(isinstance(values, np.ndarray) and values.dtype.kind == "i", "an array is of the wrong type")
    _within(_array(values, kind or values.dtype, n), end)
    return values


def _pointers(ptr: Any, n_slices: int, end: int) -> None:
    """Where each of so many slices begins, and where the last one ends."""
    _array(ptr, "i8", n_slices + 1)
    _require(ptr[0] == 0 and ptr[-1] == end and (np.diff(ptr) >= 0).all(), "a pointer points nowhere")


def _ascend(values: np.ndarray, ptr: np.ndarray) -> bool:
    """Whether the numbers of each slice ascend."""
    rises = np.diff(values.astype(np.int64)) > 0
    starts = np.asarray(ptr[1:-1])
    rises[starts[(starts > 0) & (starts < len(values))] - 1] = True
    return bool(rises.all())
