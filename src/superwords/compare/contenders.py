"""Who is compared, and single runs: our concepts and their ablations, the peers installed, and controls."""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module, metadata
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import joblib
import numpy as np

import superwords
from superwords.analysis.ranking import scores
from superwords.compare.peers import DRAWS, INSTALL, ITERATIONS, ON_DOCUMENTS, ON_WINDOWS, PEERS, Peer
from superwords.compare.splitting import Split
from superwords.errors import InputError
from superwords.features.specs import make_features
from superwords.files import atomic_file
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.sampler.fold_in import Halves, predict
from superwords.sampler.leave_one_out import leave_one_out_counts
from superwords.sampler.state import sizes_of
from superwords.text.corpus import Corpus, documents_using

PACKAGE = Path(superwords.__file__).parent
OURS, WITHOUT, SHUFFLED = "superwords", "without features", "shuffled features"
FREQUENT, RANDOM = "frequent words", "random words"
UNIGRAM = "word frequencies"  # has no word sets; it only predicts
CONTROLS = (FREQUENT, RANDOM)
RANKINGS = BY_PROBABILITY, BY_SCORE = "probability", "score"
# By what they are called on the command line, as are the peers.
OWN = {"without": WITHOUT, "shuffled": SHUFFLED}
NAMES = (*OWN, *PEERS)
_NEEDED = ("hdp", "lda")  # unless others are named
_WORDS_IN_RANDOM_SET = 21  # the word asked about and as many others as are compared at most
_SWEEPS_TO_WARM_UP = 5
_BETWEEN_CHAINS = 1_000_003  # added to the seed of a peer's next fit: beyond any seed that is compared
Say = Callable[[str], None]
Arrays = dict[str, np.ndarray]


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
    iterations: int = ITERATIONS
    n_jobs: int | None = None


class Lineup(NamedTuple):
    own: tuple[str, ...]  # ours under other conditions
    peers: dict[str, Peer]  # each on documents and on windows
    left_out: tuple[str, ...]  # a sentence for each library that is not installed

    @property
    def models(self) -> tuple[str, ...]:
        return (OURS, *self.own, *CONTROLS, UNIGRAM, *self.peers)

    @property
    def contests(self) -> list[tuple[str, str]]:
        """Return the contests: ours against all others; our ablations and the controls against the peers."""
        others = (*self.own, *CONTROLS)
        ours = [(OURS, other) for other in (*self.peers, *others)]
        return ours + [(other, peer) for other in others for peer in self.peers]


def make_lineup(asked: Sequence[str] | None = None) -> Lineup:
    """Return the models asked for; by default all whose library is installed.

    HDP and LDA are not left out in silence, as a comparison without them says little.
    """
    for name in asked or ():
        if name not in NAMES:
            raise InputError(f"{name!r} is not a model to compare with; choose among {', '.join(NAMES)}.")
    chosen, needed = (NAMES, _NEEDED) if asked is None else (asked, asked)
    peers: dict[str, Peer] = {}
    missing: dict[str, list[str]] = {}
    for name, peer in PEERS.items():
        if name not in chosen:
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # UMAP warns that TensorFlow is missing
                import_module(peer.library)  # BERTopic may be installed without its dependencies
            peers |= {peer.name + ON_DOCUMENTS: peer, peer.name + ON_WINDOWS: peer}
        except ImportError:
            if name in needed:
                needs = f"{peer.name} needs {peer.library}, which is not installed"
                raise InputError(f"{needs}; run: {INSTALL[peer.library]}.") from None
            missing.setdefault(peer.library, []).append(peer.name)
    left_out = (
        f"Left out, as {library} is not installed: {', '.join(names)} ({INSTALL[library]})."
        for library, names in missing.items()
    )
    return Lineup(tuple(label for name, label in OWN.items() if name in chosen), peers, tuple(left_out))


class Keeper:
    """Runs in a folder by all they depend on: counts, settings, and sources (of a peer: its adapter and version).

    So an interrupted comparison continues, and one with more seeds adds to it.
    """

    def __init__(self, folder: Path | None, corpora: Sequence[Corpus]):
        self.folder = folder
        matrices = [one for corpus in corpora for one in (corpus.counts, corpus.sentences) if one is not None]
        arrays = [np.asarray(part, np.int64) for one in matrices for part in (one.indptr, one.indices, one.data)]
        self.fingerprint = joblib.hash(["\n".join(corpora[0].vocabulary), arrays]) if folder else ""

    def get(self, what: Mapping[str, Any], library: str | None, make: Callable[[], Arrays]) -> Arrays:
        """Return the kept arrays of a run, or new ones, which are then kept."""
        if self.folder is None:
            return make()
        made_by = metadata.version(library) + _sources("compare/peers.py") if library else _sources("**/*.py")
        key = json.dumps([self.fingerprint, made_by, what], sort_keys=True)
        path = self.folder / f"{hashlib.sha256(key.encode()).hexdigest()[:24]}.npz"
        try:
            with np.load(path, allow_pickle=False) as stored:
                return dict(stored)
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):  # none yet, or half of one
            arrays = make()
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        return arrays


@cache
def _sources(pattern: str) -> str:
    files = sorted(PACKAGE.glob(pattern))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


@dataclass(frozen=True)
class Runner:
    """Runs any model of a lineup on its rows of a split, unless the run is kept from before."""

    split: Split
    ours: Corpus
    lineup: Lineup
    effort: Effort
    halves: Halves
    keeper: Keeper
    say: Say

    def fit(self, model: str, seed: int, setting: Mapping[str, Any] | None = None, predicts: bool = True) -> Found:
        """Return one run; the setting is a peer's, which predicts only if asked and if there are tokens to predict."""
        if model in (*CONTROLS, UNIGRAM):
            return control(self.ours, model, seed, self.halves)
        what: dict[str, Any] = {"model": model, "seed": seed}
        n_chains, n_sweeps, iterations, _ = self.effort
        library: str | None = None
        make: Callable[[], Found] = partial(fit_concepts, self.ours, model, seed, self.effort, self.halves)
        if model in self.lineup.peers:
            n_fits = n_chains if predicts and len(self.halves.word) else 0
            rows = self.split.windows if model.endswith(ON_WINDOWS) else self.split.documents
            peer, given = self.lineup.peers[model], setting or {}
            what |= {"setting": dict(given), "iterations": iterations, "n_predicting": n_fits}
            library = peer.library
            make = partial(fit_peer, peer, rows, given, seed, iterations, self.halves, n_fits)
        else:
            what |= {"rows": self.ours.n_documents, "n_chains": n_chains, "n_sweeps": n_sweeps}

        def arrays() -> Arrays:
            return {name: np.asarray(value) for name, value in make()._asdict().items() if value is not None}

        found = Found(**self.keeper.get(what, library, arrays))  # type: ignore[arg-type]
        return found._replace(seconds=float(found.seconds))


def fit_peer(
    peer: Peer, rows: Corpus, setting: Mapping[str, Any], seed: int, iterations: int, halves: Halves, n_fits: int
) -> Found:
    """Fit a peer with one setting.

    Ours predicts by the mean over its chains, so a peer does by that over as many fits, each with its seed.
    """
    start = perf_counter()
    fitted, predicted = peer.fit(rows, setting, seed, iterations), None
    seconds = perf_counter() - start
    if n_fits and fitted.predict is not None:
        others = [peer.fit(rows, setting, seed + k * _BETWEEN_CHAINS, iterations) for k in range(1, n_fits)]
        predicts = [one.predict for one in (fitted, *others) if one.predict is not None]
        predicted = np.mean([predict(halves) for predict in predicts], axis=0)
    return Found(fitted.weights, fitted.weights, seconds, predicted)


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
    weights, held = word_sets(model)
    return Found(weights, held, perf_counter() - start, from_draws(model, halves))


def word_sets(model: ConceptModel, value: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return weights, from a value per row of the summary's words (default: the score), and m_ji, the mean of draws."""
    summary = model.result_.summary
    weights = np.zeros(model.concept_word_.shape)
    value = scores(summary.words, model.corpus_.n_words) if value is None else value
    weights[summary.words.concept, summary.words.word] = value
    held = summary.alignment.held.mean(axis=0)
    return weights, model.concept_word_ * held[:, None]


def from_draws(model: ConceptModel, halves: Halves) -> np.ndarray:
    """Return the predictions of our concepts: the mean over evenly spaced draws of all chains."""
    draws = list(model.draws_)
    chosen = np.unique(np.linspace(0, len(draws) - 1, DRAWS).round().astype(int))
    prior, predicted = model.chains_[0].model.prior, []
    for s in chosen:
        state, own = draws[s].state, prior._replace(b1=draws[s].b1, b2=draws[s].b2)
        concepts = leave_one_out_counts(sizes_of(state), len(state.doc_ptr) - 1, state.theta, own)
        predicted.append(predict(concepts, halves, model.seed_))
    return np.mean(predicted, axis=0)


def ranked(found: Found, ranking: str) -> Found:
    """Rank topics' words by probability, or by that times the topic's share of the word."""
    if ranking == BY_PROBABILITY:
        return found
    return found._replace(weights=found.weights**2 / np.maximum(found.weights.sum(axis=0), 1e-300))


def word_frequencies(corpus: Corpus) -> np.ndarray:
    total = np.asarray(corpus.counts.sum(axis=0), dtype=float).ravel()
    return total / total.sum()


def control(corpus: Corpus, name: str, seed: int, halves: Halves) -> Found:
    """Return sets that no model found: the most frequent words, or random words; or predict by word frequencies alone.

    A measure by which these sets win against topics judges how frequent words are, not how they belong together.
    """
    if name == UNIGRAM:
        none = np.zeros((0, corpus.n_words))
        return Found(none, none, 0.0, word_frequencies(corpus)[halves.word])
    rng = np.random.default_rng([seed, corpus.n_words])
    n_sets = 1 if name == FREQUENT else max(1, corpus.n_words // _WORDS_IN_RANDOM_SET)
    member = rng.permutation(corpus.n_words) % n_sets
    weights = np.where(member == np.arange(n_sets)[:, None], documents_using(corpus.counts).astype(float), 0.0)
    return Found(weights, weights, 0.0)
