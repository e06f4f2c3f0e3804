"""Who is compared: our concepts and their ablations, the peers that are installed, and controls that no model found."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

import superwords
from superwords.analysis.ranking import scores
from superwords.compare import baselines
from superwords.compare.completion import from_draws, word_frequencies
from superwords.compare.peers import ON_DOCUMENTS, ON_WINDOWS, PEERS, Library
from superwords.errors import InputError
from superwords.features.specs import make_features
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.sampler.fold_in import Halves
from superwords.text.corpus import Corpus, documents_using

OURS, WITHOUT, SHUFFLED = "superwords", "without features", "shuffled features"
FREQUENT, RANDOM = "frequent words", "random words"
UNIGRAM = "word frequencies"  # has no word sets; it only predicts
CONTROLS = (FREQUENT, RANDOM)
RANKINGS = BY_PROBABILITY, BY_SCORE = "probability", "score"
NEEDED = ("hdp", "lda")  # unless others are named
# By what they are called on the command line, as are the peers.
OWN = {"without": WITHOUT, "shuffled": SHUFFLED}
NAMES = (*OWN, *PEERS)
_WORDS_IN_RANDOM_SET = 21  # the word asked about and as many others as are compared at most
_SWEEPS_TO_WARM_UP = 5


class Found(NamedTuple):
    """Word sets of one run, and what it took."""

    weights: np.ndarray  # (T, V) how much a word says of a concept or topic; 0: not in it
    holds: np.ndarray  # (T, V) the largest of a column is the concept or topic chosen for the word
    seconds: float
    predicted: np.ndarray | None = None  # unsmoothed probability of each token to predict; None: no model of it


class Effort(NamedTuple):
    """How long our chains and the topic models run."""

    n_chains: int = defaults.N_CHAINS
    n_sweeps: int = defaults.N_SWEEPS
    iterations: int = baselines.ITERATIONS
    n_jobs: int | None = None


class Lineup(NamedTuple):
    own: tuple[str, ...]  # ours under other conditions
    peers: tuple[str, ...]  # each on documents and on windows
    left_out: tuple[str, ...]  # a sentence for each library that is not installed

    @property
    def models(self) -> tuple[str, ...]:
        return (OURS, *self.own, *CONTROLS, UNIGRAM, *self.peers)

    @property
    def contests(self) -> list[tuple[str, str]]:
        """Return the contests: ours against all others; our ablations and the controls against the peers."""
        others = (*self.own, *CONTROLS)
        return [
            *((OURS, other) for other in (*self.peers, *others)),
            *((other, peer) for other in others for peer in self.peers),
        ]


def is_installed(library: Library) -> bool:
    """Return whether it can be imported: BERTopic may be installed without its dependencies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # UMAP warns that TensorFlow is missing
        try:
            import_module(library.module)
        except ImportError:
            return False
    return True


def make_lineup(asked: Sequence[str] | None = None) -> Lineup:
    """Return the models asked for; by default all whose library is installed.

    HDP and LDA are not left out in silence, as a comparison without them says little.
    """
    for name in asked or ():
        if name not in NAMES:
            raise InputError(f"{name!r} is not a model to compare with; choose among {', '.join(NAMES)}.")
    chosen, needed = (NAMES, NEEDED) if asked is None else (asked, asked)
    peers: list[str] = []
    missing: dict[Library, list[str]] = {}
    for name, peer in PEERS.items():
        if name in chosen and is_installed(peer.library):
            peers += [peer.name + ON_DOCUMENTS, peer.name + ON_WINDOWS]
        elif name in needed:
            needs = f"{peer.name} needs {peer.library.module}, which is not installed"
            raise InputError(f"{needs}; run: {peer.library.install}.")
        elif name in chosen:
            missing.setdefault(peer.library, []).append(peer.name)
    left_out = tuple(
        f"Left out, as {library.module} is not installed: {', '.join(names)} ({library.install})."
        for library, names in missing.items()
    )
    return Lineup(tuple(label for name, label in OWN.items() if name in chosen), tuple(peers), left_out)


def warm_up(corpus: Corpus) -> None:
    """Let the kernels be compiled before anything is timed: all that a few sweeps need."""
    superwords.fit(corpus, n_chains=1, n_sweeps=_SWEEPS_TO_WARM_UP, random_state=0, progress=False)


def shuffled_features(corpus: Corpus, seed: int) -> np.ndarray | None:
    """Return the features of `superwords fit` with their rows given to the wrong words; None where there are none."""
    values = make_features(defaults.FEATURES, corpus).values
    if values is None:
        return None
    return np.asarray(values)[np.random.default_rng([seed, len(values)]).permutation(len(values))]


def fit_concepts(corpus: Corpus, kind: str, seed: int, effort: Effort, halves: Halves) -> Found:
    """Fit our concepts, with the most telling words first, as everywhere in the package."""
    start = perf_counter()
    features: Any = shuffled_features(corpus, seed) if kind == SHUFFLED else defaults.FEATURES
    model = superwords.fit(
        corpus,
        n_chains=effort.n_chains,
        n_sweeps=effort.n_sweeps,
        random_state=seed,
        features=None if kind == WITHOUT else features,
        init=defaults.INIT,  # also where features are given
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
