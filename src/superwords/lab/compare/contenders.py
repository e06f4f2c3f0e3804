"""Our side of a comparison: the concepts, their ablations and their start; and controls that no model found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import NamedTuple, TypeVar

import numpy as np

import superwords
from superwords.concepts.ranking import scores
from superwords.corpus.corpus import Corpus, documents_using
from superwords.errors import InputError
from superwords.features import cooccurrence
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.lab import baselines
from superwords.lab.compare import unseen_words
from superwords.lab.compare.completion import word_frequencies
from superwords.sampler.prediction import Halves
from superwords.sampler.state import sizes_of

OURS, WITHOUT, SHUFFLED = "superwords", "without features", "shuffled features"
START = "our start"
FREQUENT, RANDOM = "frequent words", "random words"
UNIGRAM = "word frequencies"  # has no word sets; it only predicts
CONTROLS = (FREQUENT, RANDOM)
RANKINGS = BY_PROBABILITY, BY_SCORE = "probability", "score"
_WORDS_IN_RANDOM_SET = 21  # the word asked about and as many others as are compared at most
_SWEEPS_TO_WARM_UP = 5
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_CLEAR_PEAK = "5"

Anything = TypeVar("Anything")


class Found(NamedTuple):
    """Word sets of one run, and what it took."""

    weights: np.ndarray  # (T, V) how much a word says of a concept or topic; 0: not in it
    holds: np.ndarray  # (T, V) the largest of a column is the concept or topic that stands for the word
    seconds: float
    peak_mb: float  # of the whole process; NaN where the system does not tell
    predicted: np.ndarray | None = (
        None  # the probability of each token to predict, unsmoothed; None: no model of it
    )


class Effort(NamedTuple):
    """How long our chains and the topic models run."""

    n_chains: int = defaults.N_CHAINS
    n_sweeps: int = defaults.N_SWEEPS
    iterations: int = baselines.ITERATIONS
    n_jobs: int | None = None


def measured(fit: Callable[[], Anything]) -> tuple[Anything, float, float]:
    """What `fit` gives, its seconds, and the process's peak memory in MB meanwhile."""
    is_told = _CLEAR.exists()
    if is_told:
        _CLEAR.write_text(_CLEAR_PEAK)
    start = perf_counter()
    result = fit()
    seconds = perf_counter() - start
    if not is_told:
        return result, seconds, float("nan")
    kilobytes = next(line.split()[1] for line in _STATUS.read_text().splitlines() if line.startswith("VmHWM"))
    return result, seconds, int(kilobytes) / 1024


def warm_up(corpus: Corpus) -> None:
    """Let the kernels be compiled before anything is timed: all that a few sweeps need."""
    superwords.fit(corpus, n_chains=1, n_sweeps=_SWEEPS_TO_WARM_UP, random_state=0, progress=False)


def why_no_features(corpus: Corpus) -> str:
    """Why co-occurrence tells nothing of these words; "" if it does tell."""
    try:
        cooccurrence(corpus)
    except InputError as error:
        return str(error)
    return ""


def word_features(corpus: Corpus, kind: str, seed: int) -> np.ndarray | None:
    """Co-occurrence in the training part; none; or its rows handed to the wrong words."""
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
    """Our concepts with the words that tell them apart first, as every face of the package shows them."""

    def fit() -> tuple[ConceptModel, np.ndarray]:
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
        return model, scores(model.result_.summary.words, corpus.n_words)

    (model, score), seconds, peak = measured(fit)
    return Found(*word_sets(model, score), seconds, peak, unseen_words.from_draws(model, halves))


def word_sets(model: ConceptModel, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights, from a value per row of the summary's words, and m_ji of the most probable draw."""
    words = model.result_.summary.words
    weights = np.zeros(model.concept_word_.shape)
    weights[words.concept, words.word] = value
    return weights, sizes_of(model.best_draw_.state).m[model.result_.concept_order].astype(float)


def ranked(found: Found, ranking: str) -> Found:
    """Topics with their words ranked by probability, or by that times how much of the word is the topic's."""
    if ranking == BY_PROBABILITY:
        return found
    return found._replace(weights=found.weights**2 / np.maximum(found.weights.sum(axis=0), 1e-300))


def own_start(corpus: Corpus, seed: int, halves: Halves) -> Found:
    """What our first chain starts from; a word weighs the share of the documents that have it on for the concept,
    times how much of the word's use is the concept's."""

    def start() -> ConceptModel:
        model = ConceptModel(n_chains=1, random_state=seed)
        model.start(corpus, word_features(corpus, OURS, seed))
        return model

    model, seconds, peak = measured(start)
    chain = model.chains_[0]
    sizes = sizes_of(chain.state)
    weights = sizes.m**2.0 / np.maximum(sizes.holders, 1)[:, None] / np.maximum(sizes.total, 1)
    predicted = unseen_words.from_state(chain.state, chain.model.prior, halves, model.seed_)
    return Found(weights, sizes.m.astype(float), seconds, peak, predicted)


def control(corpus: Corpus, name: str, seed: int) -> Found:
    """Sets that no model found: the words of most documents, whatever is asked, or words thrown together.

    A measure by which these win against topics judges how frequent words are, not how they belong together.
    """
    using = documents_using(corpus.counts).astype(float)
    rng = np.random.default_rng([seed, corpus.n_words])
    n_sets = 1 if name == FREQUENT else max(1, corpus.n_words // _WORDS_IN_RANDOM_SET)
    member = rng.permutation(corpus.n_words) % n_sets
    weights = np.where(member == np.arange(n_sets)[:, None], using, 0.0)
    return Found(weights, weights, 0.0, float("nan"))


def unigram(corpus: Corpus, halves: Halves) -> Found:
    """Every token by how frequent its word is in the training part; it finds no sets."""
    none = np.zeros((0, corpus.n_words))
    return Found(none, none, 0.0, float("nan"), word_frequencies(corpus.counts)[halves.word])
