"""Short fits on random 80% samples of the documents: how many concepts to start with, and which are found again.

A pilot differs from the chains as a fit to other documents would: it has the words that are frequent enough in its
sample, features of the text and clusters of rows made anew, and the rule's number of concepts for its own size. The
pilots depend on the data and the settings, not on the seed. Together they take about half as long as the chains.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import entr
from threadpoolctl import threadpool_limits

from superwords.analysis.tables import of_sources
from superwords.features.specs import make_features, says_only_the_text
from superwords.fitting.defaults import N_PILOTS
from superwords.fitting.settings import make_starts
from superwords.fitting.starting import Prepared, model_of, shares_of
from superwords.machine import n_workers
from superwords.posterior.alignment import find_partners, usage_of
from superwords.posterior.draws import Schedule
from superwords.posterior.resampling import LEAST_JACCARD, Pilots, first_words, found_again, gather_pilots, jaccard
from superwords.progress import Watcher
from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels
from superwords.sampler.init.grow import start_of
from superwords.sampler.init.rows import FEWEST_DOCUMENTS, SHARE, sample_rows
from superwords.sampler.init.starts import parse_start, usual_number
from superwords.text.corpus import Corpus

MULTIPLES = (1.0, 0.5, 2.0)  # of the rule's number of concepts; the first wins ties
_MOST_TIMES = 8  # the rule's number
_WORTH = 1.2  # times the information of the rule's number, for another to be taken
_MOST_COST = 0.35  # of the chains', in sweeps over rows; starts and larger numbers of concepts come on top
_MOST_SWEEPS, _FEWEST_SWEEPS, _SHORTEST_LOOK = 40, 8, 6
_FIRST_LOOK = 1 / 3  # of the sweeps, for pilots that only choose the number
_KEPT = 1 / 3  # of the sweeps, the last ones
_SEED = 20140915
NOTE = "number_of_concepts"  # of the corpus: why it has about this many


class Found(NamedTuple):
    """The concepts of one pilot."""

    scores: np.ndarray  # (J, V) of the words
    share: np.ndarray  # (J) of the tokens


class Measured(NamedTuple):
    """The concepts that another pilot finds again, in the mean over pairs of pilots."""

    information: float  # Σ s log₂ 1/s over the shares s of the tokens in these concepts: bits per token
    text: float  # Σ s


class Chosen(NamedTuple):
    multiple: float = 1.0  # of the rule's number
    n_concepts: int | None = None  # to start with; None: by the rule
    reason: str | None = None  # in a sentence


def n_pilot_sweeps(given: Mapping[str, Any], schedule: Schedule) -> int:
    """Return how many sweeps a pilot makes, so that all together take about half as long as the chains."""
    per_sweep = SHARE * given["n_pilots"] * (1 + len(MULTIPLES) * _FIRST_LOOK / 2)
    cost = _MOST_COST * given["n_chains"] * schedule.n_sweeps
    return min(_MOST_SWEEPS, int(cost / per_sweep)) if per_sweep else 0


def has_pilots(given: Mapping[str, Any], prepared: Prepared, schedule: Schedule) -> bool:
    """Return whether pilots are run: from "rows" only, with enough rows, and if each has at least eight sweeps."""
    is_by_rows = {parse_start(one)[0] for one in make_starts(given)} == {"rows"}
    is_tiny = np.count_nonzero(prepared.model.data.length) < 2 * FEWEST_DOCUMENTS
    is_possible = is_by_rows and given["approximate"] is None and not is_tiny
    return is_possible and n_pilot_sweeps(given, schedule) >= _FEWEST_SWEEPS


def run_pilots(
    given: Mapping[str, Any], prepared: Prepared, features: Any, schedule: Schedule, tell: Watcher
) -> tuple[Pilots, Chosen]:
    """Run the pilots: choose the number of concepts where none is given, then fit each sample with it."""
    n_sweeps, n_pilots = n_pilot_sweeps(given, schedule), given["n_pilots"]
    if not has_pilots(given, prepared, schedule):
        if n_pilots not in (0, N_PILOTS):  # asked for
            longer = f"longer or more chains, so that each pilot has {_FEWEST_SWEEPS} sweeps"
            tell.say(
                f"No pilots are run: they need the start 'rows', {2 * FEWEST_DOCUMENTS} rows or more, and {longer}."
            )
        return gather_pilots([], []), Chosen()
    tell.say(f"{n_pilots} pilots on random {SHARE:.0%} samples of the documents, {n_sweeps} sweeps each.")
    await_kernels()
    asked, rows = parse_start(make_starts(given)[0])[1], prepared.picked
    rows = np.arange(len(prepared.order)) if rows is None else rows
    drawn = [rows[sample_rows(prepared.source[rows], np.random.default_rng([_SEED, b]))] for b in range(n_pilots)]
    with threadpool_limits(1), ThreadPoolExecutor(n_workers(given["n_jobs"])) as pool:
        samples = list(pool.map(lambda one: _sample(given, prepared, features, one), drawn))
        shares: dict[tuple[int, int], np.ndarray] = {}

        def fit_all(which: Iterable[int], multiple: float, sweeps: int) -> list[Found]:
            def fit_one(b: int) -> Found:
                problem, words = samples[b]
                n = asked or max(2, round(multiple * usual_number(problem.model.data, "rows")))
                if (b, n) not in shares:
                    shares[b, n] = shares_of(problem, n)
                found = _fit(problem, given, b, shares[b, n], sweeps)
                scores = np.zeros((len(found.scores), prepared.corpus.n_words))
                scores[:, words] = found.scores
                return found._replace(scores=scores)

            return list(pool.map(fit_one, which))

        chosen = Chosen(n_concepts=asked)
        look, n_look = range((n_pilots + 1) // 2), round(_FIRST_LOOK * n_sweeps)
        if asked is None and n_look >= _SHORTEST_LOOK:  # shorter pilots favour too few concepts
            rule = usual_number(prepared.model.data, "rows")
            chosen = choose_number(rule, lambda times: measure(fit_all(look, times, n_look)))
            tell.say(str(chosen.reason))
        fitted = fit_all(range(n_pilots), chosen.multiple, n_sweeps)
    return gather_pilots([one.scores for one in fitted], [one.share for one in fitted]), chosen


def choose_number(rule: int, measure_with: Callable[[float], Measured]) -> Chosen:
    """Choose the number of concepts whose found-again concepts are most informative about the text.

    Half, once and twice the rule's number are tried (`measure_with` takes the multiple) and, as long as the largest is
    the best, twice as many again. Information counts, since the share of the text would favour a few broad concepts.
    The rule's number is kept unless another has at least 20% more: between samples of one corpus it varies by about
    15%, and a number that changes with the sample changes every concept.
    """
    # Of multiples with the same number, the first counts.
    tried = {max(2, round(multiple * rule)): multiple for multiple in MULTIPLES[::-1]}
    found = {n: measure_with(multiple) for n, multiple in tried.items()}
    usual = max(2, rule)
    while True:
        best = max(found, key=lambda n: found[n].information)
        if found[best].information < _WORTH * found[usual].information:
            best = usual
        if best != max(found) or not usual < best < _MOST_TIMES * usual:
            break
        tried[2 * best] = 2 * tried[best]
        found[2 * best] = measure_with(tried[2 * best])
    others = ", ".join(f"{one.text:.0%} with {n}" for n, one in sorted(found.items()) if n != best)
    again = f"{found[best].text:.0%} of the text is in concepts that are found again in another sample of the documents"
    end = f" ({others}; specific concepts count for more)." if others else "."
    return Chosen(tried[best], best, f"The chains start with about {best} concepts: {again}{end}")


def measure(fits: Sequence[Found]) -> Measured:
    """Return the information in the concepts of a pilot that another one finds again, in the mean over the pairs.

    Concepts of one pilot that have the same first words count as one: splitting a concept adds no information.
    """
    united = []
    for scores, share in fits:
        words = first_words(scores)
        n, group = connected_components(jaccard(words, words) >= LEAST_JACCARD - 1e-12, directed=False)
        member = np.equal.outer(np.arange(n), group).astype(float)
        united.append(Found(member @ scores, member @ share))
    single = [gather_pilots([one.scores], [one.share]) for one in united]
    pairs_of = permutations(range(len(fits)), 2)
    again = [united[a].share[found_again(united[a].scores, single[b]) > 0] for a, b in pairs_of]
    pairs = [(entr(share).sum() / np.log(2), share.sum()) for share in again]
    return Measured(*np.mean(pairs, axis=0).tolist()) if pairs else Measured(0.0, 0.0)


def _sample(
    given: Mapping[str, Any], prepared: Prepared, features: Any, rows: np.ndarray
) -> tuple[Prepared, np.ndarray]:
    """Return the model of a sample of the rows, as a reader of these documents alone would have it, and its words."""
    corpus = rows_of(prepared.corpus, prepared.order[rows])
    words, sentences = frequent_words(corpus), corpus.sentences
    corpus = replace(
        corpus,
        counts=sparse.csr_array(corpus.counts[:, words]),
        vocabulary=[corpus.vocabulary[i] for i in words],
        sentences=None if sentences is None else sparse.csr_array(sentences[:, words]),
    )
    found = prepared.features
    if says_only_the_text(features):
        found = make_features(features, corpus)
    elif found.values is not None:
        found = found._replace(values=np.asarray(found.values)[words])
    vectors = None if prepared.vectors is None else prepared.vectors[rows]
    own = {name: np.asarray(given[name])[words] for name in ("lam", "theta") if np.ndim(given[name]) == 1}
    return model_of({**given, **own, "start_rows": None}, corpus, found, vectors, prepared.beside_words), words


def frequent_words(corpus: Corpus) -> np.ndarray:
    """Return the words in at least `min_df` documents (or passages, as it was counted); all if none is."""
    presence = sparse.csr_array(corpus.counts > 0)
    if corpus.parent is not None and corpus.notes.get("min_df_counts") != "passages":
        presence = sparse.csr_array(of_sources(corpus) @ presence) > 0
    frequency = np.asarray(presence.sum(axis=0)).ravel()
    kept = np.flatnonzero(frequency >= corpus.notes.get("min_df", 1))
    return kept if len(kept) else np.arange(corpus.n_words)


def rows_of(corpus: Corpus, rows: np.ndarray) -> Corpus:
    """Return the corpus of some rows alone, with its vocabulary."""
    sentences, sentence_row = corpus.sentences, corpus.sentence_row
    if sentences is not None and sentence_row is not None:
        place = np.full(corpus.n_documents, -1)
        place[rows] = np.arange(len(rows))
        kept = place[sentence_row] >= 0
        sentences, sentence_row = sparse.csr_array(sentences[kept]), place[sentence_row[kept]]
    return replace(
        corpus,
        counts=sparse.csr_array(corpus.counts[rows]),
        metadata=corpus.metadata.iloc[rows],
        ids=[corpus.ids[d] for d in rows],
        parent=None if corpus.parent is None else corpus.parent[rows],
        sentences=sentences,
        sentence_row=sentence_row,
        texts=None,
    )


def _fit(problem: Prepared, given: Mapping[str, Any], number: int, shares: np.ndarray, n_sweeps: int) -> Found:
    """Run one chain; return the concepts of its last draw, averaged over their partners in its last draws."""
    state = start_of(make_starts(given)[0], problem.model, problem.theta, _SEED, number, shares)
    draws = []
    for draw in Chain(problem.model, state, _SEED, number).advance(n_sweeps):
        if draw.sweep > n_sweeps - max(1, round(_KEPT * n_sweeps)):
            usage = usage_of(draw)
            draws.append((usage, np.bincount(draw.state.concept, draw.tokens.pair, len(usage.holders))))
    last, _ = draws[-1]
    reference = last.description
    used, tokens = np.zeros(last.used.shape), np.zeros(len(last.holders))
    n_found = np.zeros(len(last.holders))
    for usage, in_concept in draws:
        partner = find_partners(reference, usage.description).of
        ours = np.flatnonzero(partner >= 0)
        used[ours] += usage.used[partner[ours]].toarray()
        tokens[ours] += in_concept[partner[ours]] / max(1.0, in_concept.sum())
        n_found[ours] += 1
    times = np.maximum(n_found, 1)
    used /= times[:, None]
    everywhere = used.sum(axis=0)
    return Found(used**2 / np.where(everywhere > 0, everywhere, 1.0), tokens / times)
