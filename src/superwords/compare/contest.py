"""The comparison: who takes part, single runs and where they are kept, and every model with every seed."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module, metadata
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import joblib
import numpy as np
import pandas as pd

import superwords
from superwords.analysis.tables import by_word
from superwords.compare import judging
from superwords.compare.judging import OURS, Found, WordVectors
from superwords.compare.peers import DRAWS, INSTALL, ITERATIONS, ON_DOCUMENTS, ON_WINDOWS, PEERS, Peer, Setting
from superwords.compare.splitting import Split
from superwords.errors import InputError
from superwords.features.specs import make_features
from superwords.files import atomic_file
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.sampler.fold_in import Halves, make_halves, predict
from superwords.sampler.leave_one_out import leave_one_out_counts
from superwords.sampler.state import sizes_of
from superwords.storage.model_file import code_digest
from superwords.text.corpus import Corpus, documents_using

WITHOUT, SHUFFLED = "without features", "shuffled features"
FREQUENT, RANDOM = "frequent words", "random words"
UNIGRAM = "word frequencies"  # has no word sets; it only predicts
CONTROLS = (FREQUENT, RANDOM)
# By what they are called on the command line, as are the peers.
OWN = {"without": WITHOUT, "shuffled": SHUFFLED}
NAMES = (*OWN, *PEERS)
N_WORDS, FEW_WINDOWS = 60, 50
_NEEDED = ("hdp", "lda")  # unless others are named
_SWEEPS_TO_WARM_UP = 5
_BETWEEN_CHAINS = 1_000_003  # added to the seed of a peer's next fit: beyond any seed that is compared
Say = Callable[[str], None]
Arrays = dict[str, np.ndarray]


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
        return [(OURS, one) for one in (*self.peers, *others)] + [(one, peer) for one in others for peer in self.peers]


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
    for name, peer in ((name, peer) for name, peer in PEERS.items() if name in chosen):
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


class Runs:
    """Fits of our model and of peers, kept in a folder by all they depend on.

    That is the counts, the settings, and the sources (of a peer: its adapter and version). So an interrupted
    comparison continues, and one with more seeds adds to it.
    """

    def __init__(self, effort: Effort | None = None, folder: Path | None = None):
        self.effort, self.folder = effort or Effort(), folder

    def ours(
        self, rows: Corpus, seed: int, read: Callable[[ConceptModel], Mapping[str, Any]], key: Any, **options: Any
    ) -> Arrays:
        """Fit our model, by default as `superwords fit`; keep its words and what `read`, named by `key`, returns."""
        n_chains, n_sweeps, _, n_jobs = self.effort
        asked = {"n_chains": n_chains, "n_sweeps": n_sweeps, "random_state": seed, **options}

        def fit() -> Mapping[str, Any]:
            start = perf_counter()
            model = superwords.fit(rows, n_jobs=n_jobs, progress=False, **asked)
            weights = word_sets(model)[0]
            return {"weights": weights, "seconds": perf_counter() - start, **read(model)}

        return self._kept(fit, code_digest(), rows, [asked, key])

    def peer(
        self, peer: Peer, rows: Corpus, setting: Setting, seed: int, halves: Halves | None = None, n_fits: int = 0
    ) -> Arrays:
        """Fit a peer with one setting; keep its words, and its rows or, given `halves`, what it predicts of them.

        Ours predicts by the mean over its chains, so a peer does by that over as many fits, each with its seed.
        """
        iterations = self.effort.iterations

        def fit() -> Mapping[str, Any]:
            start = perf_counter()
            fitted = peer.fit(rows, setting, seed, iterations)
            found = {"weights": fitted.weights, "seconds": perf_counter() - start}
            if halves is None:
                return found | {"rows": fitted.rows}
            if not n_fits or fitted.predict is None:
                return found
            others = [peer.fit(rows, setting, seed + k * _BETWEEN_CHAINS, iterations) for k in range(1, n_fits)]
            predicts = [one.predict for one in (fitted, *others) if one.predict is not None]
            return found | {"predicted": np.mean([predict(halves) for predict in predicts], axis=0)}

        made_by = metadata.version(peer.library) + code_digest("compare/peers.py")
        asked = [peer.name, dict(setting), seed, iterations, n_fits]
        return self._kept(fit, made_by, rows, [asked, None if halves is None else _numbers(halves.first, *halves[1:])])

    def _kept(self, fit: Callable[[], Mapping[str, Any]], made_by: str, rows: Corpus, key: Any) -> Arrays:
        """Return the arrays of a run, from the folder if it was made before."""
        if self.folder is None:
            return dict(fit())
        counts = [_numbers(one) for one in (rows.counts, rows.sentences) if one is not None]
        path = self.folder / f"{joblib.hash([made_by, list(rows.vocabulary), counts, key])[:24]}.npz"
        try:
            with np.load(path, allow_pickle=False) as stored:
                return dict(stored)
        except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile):
            pass  # none yet, or half of one
        self.folder.mkdir(parents=True, exist_ok=True)
        arrays = dict(fit())
        with atomic_file(path) as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)
        return arrays


def _numbers(matrix: Any, *more: np.ndarray) -> list[np.ndarray]:
    return [np.asarray(one, np.int64) for one in (matrix.indptr, matrix.indices, matrix.data, *more)]


class Contest(NamedTuple):
    """The models of a lineup on their rows of a split; ours are windows or documents."""

    split: Split
    ours: Corpus
    lineup: Lineup
    halves: Halves
    runs: Runs

    def fit(self, model: str, seed: int, setting: Setting | None = None, predicts: bool = True) -> Found:
        """Return one run; the setting is a peer's, which predicts only if asked and if there are tokens to predict."""
        if model in (*CONTROLS, UNIGRAM):
            return control(self.ours, model, seed, self.halves)
        if model in self.lineup.peers:
            n_fits = self.runs.effort.n_chains if predicts and len(self.halves.word) else 0
            rows = self.split.windows if model.endswith(ON_WINDOWS) else self.split.documents
            run = self.runs.peer(self.lineup.peers[model], rows, setting or {}, seed, self.halves, n_fits)
            return Found(run["weights"], run["weights"], float(run["seconds"]), run.get("predicted"))

        def read(fitted: ConceptModel) -> Arrays:
            return {"holds": word_sets(fitted)[1], "predicted": from_draws(fitted, self.halves)}

        features: Any = None if model == WITHOUT else defaults.FEATURES
        if model == SHUFFLED:
            features = shuffled_features(self.ours, seed)
        key = _numbers(self.halves.first, *self.halves[1:])
        run = self.runs.ours(self.ours, seed, read, key, features=features, init=defaults.INIT)
        return Found(run["weights"], run["holds"], float(run["seconds"]), run["predicted"])


class Comparison(NamedTuple):
    """Tables of what was found, by the names of their files (docs/lab/compare.md), and the runs they are made of."""

    tables: dict[str, pd.DataFrame]
    facts: dict[str, Any]
    found: judging.AllFound
    vocabulary: list[str]
    lineup: Lineup


def compare(
    split: Split,
    is_long: bool,
    lineup: Lineup,
    runs: Runs,
    n_seeds: int = 5,
    seed: int = 0,
    n_words: int = N_WORDS,
    say: Say = lambda line: None,
    vectors: WordVectors | None = None,
) -> Comparison:
    """Compare on a split; our rows are windows if the documents are long, as in `superwords fit`.

    `seed` chooses among the peers' settings; the comparison itself uses the `n_seeds` seeds after it. With word
    `vectors` concepts are also valued by a judge fitted to people's ratings.
    """
    ours = split.windows if is_long else split.documents
    vocabulary, held_out = ours.vocabulary, split.held_out
    make_features(defaults.FEATURES, ours, say)  # says which there are
    judges, halves = judging.make_judges(held_out), make_halves(held_out.counts)
    names = judging.salient_words(ours.counts, vocabulary, n_words)
    words = [vocabulary.index(name) for name in names]
    if not held_out.counts[:, words].nnz:
        raise InputError(
            "No word stands out in these documents that the held-out text has too, so there is nothing to compare by; "
            "give more documents, or a lower --min-df."
        )
    contest = Contest(split, ours, lineup, halves, runs)
    grid = search_grid(contest, words, judges["windows"], seed, say)
    chosen = {row["model"]: row for row in grid[grid["chosen"]].to_dict("records")}
    warm_up(ours)
    found: dict[tuple[str, int], Found] = {}
    seeds = list(range(seed + 1, seed + 1 + n_seeds))
    for number in seeds:
        for model in lineup.models:
            one = contest.fit(model, number, chosen[model]["setting"] if model in chosen else None)
            if model in chosen:
                one = judging.ranked(one, chosen[model]["ranking"])
            found[model, number] = one
            if model not in (*CONTROLS, UNIGRAM):
                what = "topics" if model in chosen else "concepts"
                say(f"seed {number}: {model}, {len(one.weights)} {what}, {one.seconds:.1f} s")
    frequency = word_frequencies(ours)[halves.word]
    of_runs = judging.run_table(found, judges, frequency)
    if vectors is not None:
        of_runs["judge"] = judging.judge_values(found, vocabulary, held_out.counts, vectors)
    by_word = judging.word_table(found, lineup.contests, words, vocabulary, judges)
    assert held_out.sentences is not None
    facts: dict[str, Any] = {
        "training_documents": split.documents.n_documents,
        "training_windows": split.windows.n_documents,
        "held_out_windows": held_out.n_documents,
        "held_out_sentences": int(held_out.sentences.shape[0]),
        "tokens_to_predict": len(halves.word),
        "smoothing": judging.SMOOTHING,
        "words": ours.n_words,
        "training_tokens": ours.n_tokens,
        "our_rows": "windows" if is_long else "documents",
        "salient_words": names,
        "left_out": list(lineup.left_out),
    }
    facts |= {"seeds": seeds, "grid_seed": seed, **runs.effort._asdict()}
    tables = {"models": judging.model_table(found, of_runs, frequency, halves.row)}
    tables |= {"contests": judging.contest_table(by_word, list(judges)), "grid": grid, "runs": of_runs}
    return Comparison(tables | {"words": by_word}, facts, found, list(vocabulary), lineup)


def search_grid(contest: Contest, words: list[int], judge: judging.Judge, seed: int, say: Say) -> pd.DataFrame:
    """Fit every setting of every peer with the seed of the grid and choose the most coherent.

    This favours the peers: their settings are chosen on the text that judges, ours are not.
    """
    rows: list[dict[str, Any]] = []
    for name, peer in contest.lineup.peers.items():
        for setting in peer.grid:
            found = contest.fit(name, seed, setting, predicts=False)
            row = {"model": name, "setting": setting, "n_topics": len(found.weights)}
            values = judging.peer_coherence(found, words, judge)
            rows += [row | {"ranking": one, "npmi": npmi, "seconds": found.seconds} for one, npmi in values.items()]
            by_ranking = ", ".join(f"{value:.3f} by {ranking}" for ranking, value in values.items())
            say(f"{name}, {described(setting)}: {len(found.weights)} topics, NPMI {by_ranking}")
    table = pd.DataFrame(rows, columns=["model", "setting", "n_topics", "ranking", "npmi", "seconds"])
    return table.assign(chosen=table.index.isin(table.groupby("model")["npmi"].idxmax()))


def described(setting: Setting) -> str:
    return ", ".join(f"{name} = {value:g}" for name, value in setting.items())


def caution(facts: Mapping[str, Any]) -> str | None:
    """Return a sentence where too little text is held out to judge by."""
    n_windows = facts["held_out_windows"]
    if n_windows >= FEW_WINDOWS:
        return None
    held_out = "1 window is" if n_windows == 1 else f"{n_windows} windows are"
    return f"Only {held_out} held out: so little text decides nothing between models."


def warm_up(corpus: Corpus) -> None:
    """Let the kernels be compiled before anything is timed: all that a few sweeps need."""
    superwords.fit(corpus, n_chains=1, n_sweeps=_SWEEPS_TO_WARM_UP, random_state=0, progress=False)


def shuffled_features(corpus: Corpus, seed: int) -> np.ndarray | None:
    """Return the features of `superwords fit` with their rows given to the wrong words; None where there are none."""
    values = make_features(defaults.FEATURES, corpus).values
    if values is None:
        return None
    return np.asarray(values)[np.random.default_rng([seed, len(values)]).permutation(len(values))]


def word_sets(model: ConceptModel, value: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return weights, from a value per row of the summary's words (default: the score), and m_ji, the mean of draws."""
    summary = model.result_.summary
    weights = by_word(model.result_, summary.words.score if value is None else value).toarray()
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
    n_sets = 1 if name == FREQUENT else max(1, corpus.n_words // (1 + judging.MOST_WORDS))
    member = rng.permutation(corpus.n_words) % n_sets
    weights = np.where(member == np.arange(n_sets)[:, None], documents_using(corpus.counts).astype(float), 0.0)
    return Found(weights, weights, 0.0)
