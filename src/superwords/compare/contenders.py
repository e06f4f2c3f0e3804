"""Our side of a comparison: the concepts and their ablations; and controls that no model found."""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

import superwords
from superwords.analysis.ranking import scores
from superwords.compare import baselines
from superwords.compare.completion import from_draws, word_frequencies
from superwords.errors import InputError
from superwords.features import cooccurrence
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.sampler.prediction import Halves
from superwords.text.corpus import Corpus, documents_using

OURS, WITHOUT, SHUFFLED = "superwords", "without features", "shuffled features"
FREQUENT, RANDOM = "frequent words", "random words"
UNIGRAM = "word frequencies"  # has no word sets; it only predicts
CONTROLS = (FREQUENT, RANDOM)
RANKINGS = BY_PROBABILITY, BY_SCORE = "probability", "score"
_WORDS_IN_RANDOM_SET = 21  # the word asked about and as many others as are compared at most
_SWEEPS_TO_WARM_UP = 5


class Found(NamedTuple):
    """Word sets of one run, and what it took."""

    weights: np.ndarray  # (T, V) how much a word says of a concept or topic; 0: not in it
    holds: np.ndarray  # (T, V) the largest of a column is the concept or topic chosen for the word
    seconds: float
    predicted: np.ndarray | None = (
        None  # unsmoothed probability of each token to predict; None: no model of it
    )


class Effort(NamedTuple):
    """How long our chains and the topic models run."""

    n_chains: int = defaults.N_CHAINS
    n_sweeps: int = defaults.N_SWEEPS
    iterations: int = baselines.ITERATIONS
    n_jobs: int | None = None


def warm_up(corpus: Corpus) -> None:
    """Let the kernels be compiled before anything is timed: all that a few sweeps need."""
    superwords.fit(corpus, n_chains=1, n_sweeps=_SWEEPS_TO_WARM_UP, random_state=0, progress=False)


def why_no_features(corpus: Corpus) -> str:
    """Return why co-occurrence gives these words no features; "" if it does."""
    try:
        cooccurrence(corpus)
    except InputError as error:
        return str(error)
    return ""


def word_features(corpus: Corpus, kind: str, seed: int) -> np.ndarray | None:
    """Return co-occurrence in the training part; none; or its rows given to the wrong words."""
    if kind == WITHOUT:
        return None
    try:
        values = cooccurrence(corpus)
    except InputError:
        return None  # as `superwords fit` does
    if kind == SHUFFLED:
        return values[np.random.default_rng([seed, len(values)]).permutation(len(values))]
    return values


def fit_concepts(corpus: Corpus, kind: str, seed: int, effort: Effort, halves: Halves) -> Found:
    """Fit our concepts, with the most telling words first, as everywhere in the package."""
    start = perf_counter()
    model = superwords.fit(
        corpus,
        n_chains=effort.n_chains,
        n_sweeps=effort.n_sweeps,
        random_state=seed,
        features=word_features(corpus, kind, seed),
        init=defaults.INIT,  # the features are of the text, if shuffled
        n_jobs=effort.n_jobs,
        progress=False,
    )
    sets = word_sets(model, scores(model.result_.summary.words, corpus.n_words))
    return Found(*sets, perf_counter() - start, from_draws(model, halves))


def word_sets(model: ConceptModel, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return weights, from a value per row of the summary's words, and m_ji, the mean over the draws."""
    words = model.result_.summary.words
    weights = np.zeros(model.concept_word_.shape)
    weights[words.concept, words.word] = value
    held = model.result_.summary.alignment.held.mean(axis=0)
    return weights, model.concept_word_ * held[:, None]


def ranked(found: Found, ranking: str) -> Found:
    """Rank topics' words by probability, or by that times the topic's share of the word."""
    if ranking == BY_PROBABILITY:
        return found
    return found._replace(weights=found.weights**2 / np.maximum(found.weights.sum(axis=0), 1e-300))


def control(corpus: Corpus, name: str, seed: int) -> Found:
    """Return sets that no model found: the most frequent words, or random words.

    A measure by which these win against topics judges how frequent words are, not how they belong together.
    """
    using = documents_using(corpus.counts).astype(float)
    rng = np.random.default_rng([seed, corpus.n_words])
    n_sets = 1 if name == FREQUENT else max(1, corpus.n_words // _WORDS_IN_RANDOM_SET)
    member = rng.permutation(corpus.n_words) % n_sets
    weights = np.where(member == np.arange(n_sets)[:, None], using, 0.0)
    return Found(weights, weights, 0.0)


def unigram(corpus: Corpus, halves: Halves) -> Found:
    """Predict every token by the frequency of its word in the training part; there are no sets."""
    none = np.zeros((0, corpus.n_words))
    return Found(none, none, 0.0, word_frequencies(corpus.counts)[halves.word])
