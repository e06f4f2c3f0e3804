"""Short fits on random 80% samples of the documents: how many concepts to start with, and which are found again.

A pilot differs from the chains as a fit to other documents would: it has the words that are frequent enough in its
sample, features of the text and clusters of rows made anew, and the rule's number of concepts for its own size. The
pilots depend on the data and the settings, not on the seed. Together they take about half as long as the chains.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import entr
from threadpoolctl import threadpool_limits

from superwords.features.specs import make_features, says_only_the_text
from superwords.fitting.defaults import N_PILOTS
from superwords.fitting.running import Schedule
from superwords.fitting.settings import make_start_rows, make_starts
from superwords.fitting.starting import Prepared, model_of, shares_of
from superwords.jobs import n_workers
from superwords.posterior.alignment import Usage, described, find_partners, usage_of
from superwords.posterior.draws import Kept
from superwords.posterior.resampling import (
    LEAST_JACCARD,
    Pilots,
    first_words,
    found_again,
    gather_pilots,
    jaccard,
    no_pilots,
)
from superwords.progress import Watcher
from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels
from superwords.sampler.init.grow import pick_rows, start_of
from superwords.sampler.init.rows import FEWEST_DOCUMENTS, SHARE, sample_rows
from superwords.sampler.init.starts import parse_start, usual_number
from superwords.sampler.model import n_documents
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


class Sample(NamedTuple):
    """The model of a sample of the rows."""

    problem: Prepared
    words: np.ndarray  # of the whole vocabulary, that are frequent enough in the sample
    rule: int  # number of concepts

    def number(self, asked: int | None, multiple: float) -> int:
        """Return the number of concepts to start with."""
        return asked or max(2, round(multiple * self.rule))


class Outcome(NamedTuple):
    pilots: Pilots
    n_concepts: int | None  # to start with; None: by the rule
    reason: str | None  # of that number, in a sentence


def n_pilot_sweeps(given: Mapping[str, Any], schedule: Schedule) -> int:
    """Return how many sweeps a pilot makes, so that all together take about half as long as the chains."""
    per_sweep = SHARE * given["n_pilots"] * (1 + len(MULTIPLES) * _FIRST_LOOK / 2)
    cost = _MOST_COST * given["n_chains"] * schedule.n_sweeps
    return min(_MOST_SWEEPS, int(cost / per_sweep)) if per_sweep else 0


def has_pilots(given: Mapping[str, Any], prepared: Prepared, schedule: Schedule) -> bool:
    """Return whether pilots are run.

    They are not for starts other than "rows", for an approximation, for fewer than 40 rows, and where chains are so few
    and short that a pilot would have fewer than eight sweeps.
    """
    names = {parse_start(one)[0] for one in make_starts(given)}
    if names != {"rows"} or given["approximate"] is not None:
        return False
    is_tiny = np.count_nonzero(prepared.model.data.length) < 2 * FEWEST_DOCUMENTS
    return not is_tiny and n_pilot_sweeps(given, schedule) >= _FEWEST_SWEEPS


def run_pilots(
    given: Mapping[str, Any], prepared: Prepared, features: Any, schedule: Schedule, tell: Watcher
) -> Outcome:
    """Run the pilots: choose the number of concepts where none is given, then fit each sample with it."""
    if not has_pilots(given, prepared, schedule):
        if given["n_pilots"] not in (0, N_PILOTS):  # asked for
            tell.say(
                f"No pilots are run: they need the start 'rows', at least {2 * FEWEST_DOCUMENTS} rows, and longer "
                f"or more chains, so that each pilot has {_FEWEST_SWEEPS} sweeps."
            )
        return Outcome(no_pilots(), None, None)
    n_sweeps, n_pilots = n_pilot_sweeps(given, schedule), given["n_pilots"]
    asked = parse_start(make_starts(given)[0])[1]
    tell.say(f"{n_pilots} pilots on random {SHARE:.0%} samples of the documents, {n_sweeps} sweeps each.")
    await_kernels()
    n_words = prepared.corpus.n_words
    with threadpool_limits(1), ThreadPoolExecutor(n_workers(given["n_jobs"])) as pool:
        rows = _samples(prepared, given, n_pilots)
        samples = list(pool.map(lambda one: _sample(given, prepared, features, one), rows))
        shares: dict[tuple[int, int], np.ndarray] = {}

        def fit_one(b: int, multiple: float, sweeps: int) -> Found:
            n = samples[b].number(asked, multiple)
            if (b, n) not in shares:
                shares[b, n] = shares_of(samples[b].problem, {**given, "start_rows": None}, n)
            found = _fit(samples[b].problem, given, b, shares[b, n], sweeps)
            scores = np.zeros((len(found.scores), n_words))
            scores[:, samples[b].words] = found.scores
            return Found(scores, found.share)

        def fit_all(which: Sequence[int], multiple: float, sweeps: int) -> list[Found]:
            return list(pool.map(lambda b: fit_one(b, multiple, sweeps), which))

        chosen = Chosen(1.0, asked, None)
        look, n_look = range((n_pilots + 1) // 2), round(_FIRST_LOOK * n_sweeps)
        if asked is None and n_look >= _SHORTEST_LOOK:  # shorter pilots favour too few concepts
            rule = usual_number(prepared.model.data, "rows")
            chosen = choose_number(rule, lambda multiple: measure(fit_all(look, multiple, n_look)))
            tell.say(str(chosen.reason))
        fitted = fit_all(range(n_pilots), chosen.multiple, n_sweeps)
    pilots = gather_pilots([one.scores for one in fitted], [one.share for one in fitted])
    return Outcome(pilots, chosen.n_concepts, chosen.reason)


class Measured(NamedTuple):
    """What the concepts that another pilot finds again tell, in the mean over pairs of pilots."""

    information: float  # Σ s log₂ 1/s over the shares s of the tokens in these concepts: bits per token
    text: float  # Σ s


class Chosen(NamedTuple):
    multiple: float  # of the rule's number
    n_concepts: int | None  # to start with; None: by the rule
    reason: str | None


def choose_number(rule: int, measure_with: Callable[[float], Measured]) -> Chosen:
    """Choose the number of concepts whose found-again concepts tell most about the text.

    Half, once and twice the rule's number are tried and, as long as the largest is the best, twice as many again. A
    concept found again counts by its information: the share of the text in it would favour a few broad concepts. The
    rule's number is kept unless another tells at least 20% more: between samples of one corpus it varies by
    about 15%, and a number that changes with the sample changes every concept.

    Parameters
    ----------
    rule
        The rule's number.
    measure_with
        Returns what is found again, by the multiple of the rule's number.
    """
    # Of multiples with the same number, the first counts.
    tried = {max(2, round(multiple * rule)): multiple for multiple in MULTIPLES[::-1]}
    found = {n: measure_with(multiple) for n, multiple in tried.items()}
    usual = max(2, rule)

    def chosen() -> int:
        best = max(found, key=lambda n: found[n].information)
        return best if found[best].information >= _WORTH * found[usual].information else usual

    while (best := chosen()) == max(found) and usual < best < _MOST_TIMES * usual:
        tried[2 * best] = 2 * tried[best]
        found[2 * best] = measure_with(tried[2 * best])
    others = ", ".join(f"{one.text:.0%} with {n}" for n, one in sorted(found.items()) if n != best)
    reason = (
        f"The chains start with about {best} concepts: {found[best].text:.0%} of the text is in concepts that are "
        f"found again in another sample of the documents"
    )
    reason += f" ({others}; specific concepts count for more)." if others else "."
    return Chosen(tried[best], best, reason)


def measure(fits: Sequence[Found]) -> Measured:
    """Return what the concepts of a pilot that another one finds again tell, in the mean over the pairs.

    Concepts of one pilot that have the same first words count as one: splitting a concept adds no information.
    """
    fits = [_united(one) for one in fits]
    single = [gather_pilots([one.scores], [one.share]) for one in fits]
    pairs = []
    for a, b in permutations(range(len(fits)), 2):
        share = fits[a].share[found_again(fits[a].scores, single[b]) > 0]
        pairs.append(Measured(float(entr(share).sum() / np.log(2)), float(share.sum())))
    return Measured(*np.mean(pairs, axis=0).tolist()) if pairs else Measured(0.0, 0.0)


def _united(found: Found) -> Found:
    """Return the concepts with those that have the same first words summed."""
    words = first_words(found.scores)
    n, group = connected_components(jaccard(words, words) >= LEAST_JACCARD - 1e-12, directed=False)
    member = np.equal.outer(np.arange(n), group).astype(float)
    return Found(member @ found.scores, member @ found.share)


def _samples(prepared: Prepared, given: Mapping[str, Any], n_pilots: int) -> list[np.ndarray]:
    """Return the rows of the model in each pilot; of a large corpus, of those that the start is made from."""
    n_rows = n_documents(prepared.model.data)
    n_part = make_start_rows(given, n_rows)
    pool = np.arange(n_rows) if n_part is None else pick_rows(n_rows, n_part, 0, 0)
    source = prepared.source[pool]
    return [pool[sample_rows(source, np.random.default_rng([_SEED, b]))] for b in range(n_pilots)]


def _sample(given: Mapping[str, Any], prepared: Prepared, features: Any, rows: np.ndarray) -> Sample:
    """Return the model of a sample of the rows, as a reader of these documents alone would have it."""
    corpus = rows_of(prepared.corpus, prepared.order[rows])
    words = frequent_words(corpus)
    corpus = words_of(corpus, words)
    if says_only_the_text(features):
        found = make_features(features, corpus)
    else:
        found = prepared.features
        found = found._replace(values=None if found.values is None else np.asarray(found.values)[words])
    place = None if prepared.vectors is None else prepared.vectors[rows]
    own = {name: np.asarray(given[name])[words] for name in ("lam", "theta") if np.ndim(given[name]) == 1}
    problem = model_of({**given, **own}, corpus, found, place, prepared.beside_words)
    return Sample(problem, words, usual_number(problem.model.data, "rows"))


def frequent_words(corpus: Corpus) -> np.ndarray:
    """Return the words in at least `min_df` documents (or passages, as it was counted); all if none is."""
    presence = sparse.csr_array(corpus.counts > 0)
    if corpus.parent is not None and corpus.notes.get("min_df_counts") != "passages":
        _, document = np.unique(corpus.parent, return_inverse=True)
        member = sparse.csr_array((np.ones(len(document)), (document, np.arange(len(document)))))
        presence = sparse.csr_array(member @ presence) > 0
    frequency = np.asarray(presence.sum(axis=0)).ravel()
    kept = np.flatnonzero(frequency >= corpus.notes.get("min_df", 1))
    return kept if len(kept) else np.arange(corpus.n_words)


def words_of(corpus: Corpus, words: np.ndarray) -> Corpus:
    """Return the corpus with some of its words alone."""
    return replace(
        corpus,
        counts=sparse.csr_array(corpus.counts[:, words]),
        vocabulary=[corpus.vocabulary[i] for i in words],
        sentences=None if corpus.sentences is None else sparse.csr_array(corpus.sentences[:, words]),
    )


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
    """Run one chain and gather the words of its concepts from its last draws."""
    init = make_starts(given)[0]
    state = start_of(init, problem.model, problem.theta, _SEED, number, shares)
    chain = Chain(problem.model, state, _SEED, number)
    n_burn_in = n_sweeps - max(1, round(_KEPT * n_sweeps))
    draws = []
    for draw in chain.advance(n_sweeps):
        if draw.sweep > n_burn_in:
            usage = usage_of(Kept(draw.sweep, draw.state, draw.tokens, 0.0))
            draws.append((usage, np.bincount(draw.state.concept, draw.tokens.pair, len(usage.holders))))
    return summed_up(draws)


def summed_up(draws: Sequence[tuple[Usage, np.ndarray]]) -> Found:
    """Return the concepts of the last draw, their words and tokens averaged over their partners in all draws.

    A draw is given as what the documents use its concepts for, and the tokens of each concept.
    """
    last, _ = draws[-1]
    reference = described(last.used, last.holders)
    used, tokens = np.zeros(last.used.shape), np.zeros(len(last.holders))
    n_found = np.zeros(len(last.holders))
    for usage, pairs in draws:
        partner = find_partners(reference, described(usage.used, usage.holders)).of
        ours = np.flatnonzero(partner >= 0)
        used[ours] += usage.used[partner[ours]].toarray()
        tokens[ours] += pairs[partner[ours]] / max(1.0, pairs.sum())
        n_found[ours] += 1
    times = np.maximum(n_found, 1)
    used /= times[:, None]
    everywhere = used.sum(axis=0)
    return Found(used**2 / np.where(everywhere > 0, everywhere, 1.0), tokens / times)
