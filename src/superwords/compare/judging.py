"""Measures of word sets and of clusters, the judge fitted to people's ratings, and the tables of all runs.

`python -m experiments judge` fits the judge's weights to 300 topics that people rated (Hoyle et al., 2021) and measures
how well weights from one corpus rank the topics of the other. The judge needs word vectors, which the package does not
bring, and which must not be features of a model that it judges. Its six measures were picked among many sets tried on
the same two corpora, so the correlations below are optimistic. No judge transfers safely to new kinds of model.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from itertools import permutations, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse, stats
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from superwords.analysis.tables import coherence, presence
from superwords.errors import InputError
from superwords.posterior.resampling import first_words, jaccard
from superwords.text.corpus import Corpus

OURS = "superwords"
RANKINGS = BY_PROBABILITY, BY_SCORE = "probability", "score"
TOP = 10  # words of a concept that diversity, stability and its own coherence look at
MOST_WORDS = 20  # in a size-matched pair of sets
SMOOTHING = 0.1  # the share of the training part's word frequencies in every model's prediction
SAME = 1e-12  # two coherences closer than that are a tie
FOLDS = 5  # of the probe
# Of two concepts' ten first words: five in common, or seven; less a rounding error.
PARTNERS = {"partners 1/3": 1 / 3 - 1e-9, "partners 1/2": 1 / 2 - 1e-9}
RANGED = ("npmi", "log_likelihood")  # columns that begin so are given with the lowest and highest seed
SIDES = ("first", "second")
MEASURES = ("NPMI", "C_v", "cosine", "nearest", "weakest", "rarity")
# Weights of the standardised measures (ridge); `python -m experiments judge` prints them.
WEIGHTS = (-0.0716, 0.3479, 0.0741, 0.0819, -0.0184, -0.1654)
# Spearman's correlation with the mean rating, each with weights from the other corpus (NPMI alone: .43 and .38).
WITH_PEOPLE = {"Wikipedia": 0.63, "The New York Times": 0.68}
_MORE = 20  # words of a topic that the judge's mean cosine is over
_COMPONENTS = 3  # removed from the vectors: they say how frequent a word is
Judge = Callable[[Sequence[int] | np.ndarray], float]


class Found(NamedTuple):
    """Word sets of one run, and what it took."""

    weights: np.ndarray  # (T, V) how much a word says of a concept or topic; 0: not in it
    holds: np.ndarray  # (T, V) the largest of a column is the concept or topic chosen for the word
    seconds: float
    predicted: np.ndarray | None = None  # unsmoothed probability of each token to predict; None: no model of it


AllFound = Mapping[tuple[str, int], Found]  # by model and seed


def ranked(found: Found, ranking: str) -> Found:
    """Rank topics' words by probability, or by that times the topic's share of the word."""
    if ranking == BY_PROBABILITY:
        return found
    return found._replace(weights=found.weights**2 / np.maximum(found.weights.sum(axis=0), 1e-300))


def make_judges(held_out: Corpus) -> dict[str, Judge]:
    """Return NPMI in held-out windows and sentences; a pair of words that is never together there counts 0."""
    assert held_out.sentences is not None
    units = {"windows": held_out.counts, "sentences": held_out.sentences}
    return {name: partial(coherence, presence(counts)) for name, counts in units.items()}


def top_sets(weights: np.ndarray, most: int = TOP) -> list[np.ndarray]:
    """Return the first words of every concept that has any: of positive weight, ties as in the vocabulary."""
    return [words for words in first_words(weights, most) if len(words)]


def diversity(sets: Sequence[np.ndarray]) -> float:
    """Return different words as a share of all words of the sets: 1 where no word is in two."""
    named = np.concatenate([*sets, np.zeros(0, int)])
    return len(np.unique(named)) / len(named) if len(named) else float("nan")


def reliability(runs: Sequence[Sequence[np.ndarray]]) -> dict[str, float]:
    """Return the share of concepts with a partner in another run, and the mean Jaccard index with the best one.

    `runs` are the sets of first words of each run's concepts; two of them are partners if their Jaccard index is at
    least 1/3 (or 1/2). NaN for a single run.
    """
    best = [jaccard(one, other).max(axis=1, initial=0.0) for one, other in permutations(runs, 2) if len(one)]
    if not best:
        return dict.fromkeys((*PARTNERS, "stability"), float("nan"))
    shares = {name: float(np.mean([(found >= least).mean() for found in best])) for name, least in PARTNERS.items()}
    return shares | {"stability": float(np.mean([found.mean() for found in best]))}


def win_rate(ours: np.ndarray, theirs: np.ndarray) -> dict[str, Any]:
    """Return how often ours is larger; a tie is half a win. `low` and `high` are Wilson's 95% interval."""
    n = len(ours)
    if n == 0:
        return {"n": 0, "wins": 0, "ties": 0} | dict.fromkeys(("rate", "low", "high"), float("nan"))
    tied = np.abs(ours - theirs) <= SAME
    wins, ties = int(((ours > theirs) & ~tied).sum()), int(tied.sum())
    rate = (wins + ties / 2) / n
    low, high = wilson(rate, n)
    return {"n": n, "wins": wins, "ties": ties, "rate": rate, "low": low, "high": high}


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return Wilson's 95% interval for a share of n trials."""
    z = float(stats.norm.ppf(0.975))
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * float(np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2)))
    return max(0.0, middle - half), min(1.0, middle + half)


def paired_test(difference: np.ndarray) -> float:
    """Return the p-value of Wilcoxon's signed-rank test that differences lie about 0; NaN where all are 0."""
    moved = difference[np.abs(difference) > SAME]
    # The normal approximation for any n: the exact one changes with ties, which short lists have.
    return float(stats.wilcoxon(moved, method="approx").pvalue) if len(moved) else float("nan")


def harmonic_purity(clusters: np.ndarray, labels: np.ndarray) -> float:
    """Return P1: the best F₁ of any cluster for each label, weighted by the size of the label."""
    both = contingency_matrix(labels, clusters)
    of_label, of_cluster = both.sum(axis=1), both.sum(axis=0)
    f1 = 2 * both / (of_label[:, None] + of_cluster)
    return float(f1.max(axis=1) @ of_label / len(labels))


def probe(documents: np.ndarray, labels: np.ndarray) -> float:
    """Return the cross-validated macro-F₁ of a logistic regression of the labels on the weights.

    Labels of fewer documents than there are folds are left out.
    """
    names, count = np.unique(labels, return_counts=True)
    kept = np.isin(labels, names[count >= FOLDS])
    if len(np.unique(labels[kept])) < 2 or not documents.shape[1]:
        return float("nan")
    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1, max_iter=2000))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    predicted = cross_val_predict(model, documents[kept], labels[kept], cv=folds)
    return float(f1_score(labels[kept], predicted, average="macro"))


def alignment(documents: np.ndarray, labels: np.ndarray) -> dict[str, float]:
    """Return P1, ARI and NMI of the heaviest concepts, and the probe's macro-F₁, for the labelled documents.

    Documents without a concept are a cluster of their own, −1.
    """
    known = pd.notna(labels)
    documents, labels = documents[known], labels[known].astype(str)
    heaviest = np.column_stack([np.zeros(len(documents)), documents]).argmax(axis=1) - 1
    return {
        "P1": harmonic_purity(heaviest, labels),
        "ARI": float(adjusted_rand_score(labels, heaviest)),
        "NMI": float(normalized_mutual_info_score(labels, heaviest)),
        "probe": probe(documents, labels),
    }


def log_probability(predicted: np.ndarray, frequency: np.ndarray, smoothing: float = SMOOTHING) -> np.ndarray:
    """Return the log probability of each token: the model's, mixed with the frequency of its word."""
    return np.log((1 - smoothing) * predicted + smoothing * frequency)


def mean_and_error(values: np.ndarray, row: np.ndarray) -> tuple[float, float]:
    """Return the mean over tokens and its standard error over windows (tokens of a window are dependent)."""
    if not len(values):
        return float("nan"), float("nan")
    mean = float(values.mean())
    per_window = np.bincount(row, values - mean)
    return mean, float(np.sqrt((per_window**2).sum())) / len(values)


def set_for(found: Found, word: int, most: int = MOST_WORDS) -> np.ndarray:
    """Return the other words of the concept or topic that has a word most; none where no concept has it."""
    if not len(found.holds) or not found.holds[:, word].any():
        return np.zeros(0, int)
    words = first_words(found.weights[[found.holds[:, word].argmax()]], most + 1)[0]
    return words[words != word][:most]


def matched(first: Found, second: Found, word: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the sets of two models for a word, cut to equal size."""
    ours, theirs = set_for(first, word), set_for(second, word)
    size = min(len(ours), len(theirs))
    return ours[:size], theirs[:size]


def peer_coherence(found: Found, words: Sequence[int], judge: Judge) -> dict[str, float]:
    """Return, for each ranking, the mean coherence of the first ten other words of the words' topics.

    A topic with fewer than two other words says nothing and counts 0; left out, it would flatter many tiny topics.
    """
    orders = {ranking: ranked(found, ranking) for ranking in RANKINGS}
    values = {ranking: [judge(set_for(one, word, TOP)) for word in words] for ranking, one in orders.items()}
    return {ranking: float(np.mean(np.nan_to_num(one, nan=0.0))) for ranking, one in values.items()}


def run_table(runs: AllFound, judges: Mapping[str, Judge], frequency: np.ndarray) -> pd.DataFrame:
    """Return one row for each model and seed; coherence is the mean over concepts of their own top words.

    `frequency` is that of the word of each token to predict, in the training part.
    """
    rows = []
    for (model, seed), found in runs.items():
        sets = top_sets(found.weights)
        several = [words for words in sets if len(words) > 1]
        likelihood = np.nan
        if found.predicted is not None and len(frequency):
            likelihood = float(log_probability(found.predicted, frequency).mean())
        row = {"model": model, "seed": seed, "n_concepts": len(sets), "n_single_words": len(sets) - len(several)}
        for name, judge in judges.items():
            row[f"npmi, {name}"] = float(np.mean([judge(words) for words in several])) if several else np.nan
        row |= {"diversity": diversity(sets), "log_likelihood": likelihood, "perplexity": float(np.exp(-likelihood))}
        rows.append(row | {"seconds": found.seconds})
    return pd.DataFrame(rows)


def model_table(runs: AllFound, table: pd.DataFrame, frequency: np.ndarray, window: np.ndarray) -> pd.DataFrame:
    """Return one row for each model: means over seeds, some ranges over them, and stability between seeds.

    `frequency` as above; `window` is that of each token to predict. "ours ahead" is by how much ours gives a token
    the higher log probability.
    """
    of_model = {model: [found for (name, _), found in runs.items() if name == model] for model, _ in runs}

    def over_seeds(model: str) -> np.ndarray:
        known = [one.predicted for one in of_model[model] if one.predicted is not None]
        logs = [log_probability(one, frequency) for one in known] or [np.full(len(window), np.nan)]
        return np.asarray(np.mean(logs, axis=0))

    rows = []
    for model, found in of_model.items():
        row: dict[str, Any] = {"model": model}
        for name, values in table[table["model"] == model].drop(columns=["model", "seed"]).items():
            row[str(name)] = values.mean()
            if str(name).startswith(RANGED):
                row |= {f"{name}, lowest": values.min(), f"{name}, highest": values.max()}
        mean, error = mean_and_error(over_seeds(OURS) - over_seeds(model), window)
        stability = reliability([top_sets(one.weights) for one in found])["stability"]
        rows.append(row | {"ours ahead": mean, "ours ahead, error": error, "stability": stability})
    return pd.DataFrame(rows)


def word_table(
    runs: AllFound, contests: Sequence[tuple[str, str]], words: Sequence[int], vocabulary: Sequence[str],
    judges: Mapping[str, Judge],
) -> pd.DataFrame:  # fmt: skip
    """Return one row for each contest, seed and word: the two sets of equal size and their coherences."""

    @cache  # the same set is in many contests
    def judged(name: str, chosen: tuple[int, ...]) -> float:
        return judges[name](chosen)

    rows = []
    for (first, second), seed, word in product(contests, sorted({seed for _, seed in runs}), words):
        sets = dict(zip(SIDES, matched(runs[first, seed], runs[second, seed], word)))
        row = {"first": first, "second": second, "seed": seed, "word": vocabulary[word], "size": len(sets["first"])}
        for side, name in product(SIDES, judges):
            row[f"{side}, {name}"] = judged(name, tuple(sorted(sets[side].tolist())))
        rows.append(row | {f"{side}_words": " | ".join(vocabulary[i] for i in sets[side]) for side in SIDES})
    return pd.DataFrame(rows)


def contest_table(by_word: pd.DataFrame, judges: Sequence[str]) -> pd.DataFrame:
    """Return one row for each contest and judge: how often the first wins, how surely, and by how much."""
    rows = []
    for (first, second), own in by_word.groupby(["first", "second"], sort=False):
        judged = own[own["size"] > 1]
        for judge in judges:
            columns = [f"{side}, {judge}" for side in SIDES]
            ours, theirs = judged[columns].to_numpy(float).T
            per_seed = [win_rate(*one[columns].to_numpy(float).T)["rate"] for _, one in judged.groupby("seed")]
            # A word's seeds are not independent of each other, so each word enters the test once.
            difference = pd.Series(ours - theirs).groupby(judged["word"].to_numpy()).mean()
            row = {"first": first, "second": second, "judged_on": judge} | win_rate(ours, theirs)
            row |= {"left_out": len(own) - len(judged)}
            row |= {"lowest_seed": min(per_seed, default=np.nan), "highest_seed": max(per_seed, default=np.nan)}
            row |= dict(zip(("first_npmi", "second_npmi"), judged[columns].mean()))
            rows.append(row | {"p_value": paired_test(difference.to_numpy())})
    return pd.DataFrame(rows)


def salient_words(counts: Any, vocabulary: Sequence[str], n_words: int = 10) -> list[str]:
    """Return the words that stand out: log(1 + count) summed over documents, times idf.

    Both logarithms keep a word of one long document, and a word of every document, from leading the list.
    """
    matrix = sparse.csc_array(counts, dtype=float)
    matrix.eliminate_zeros()
    idf = np.log(matrix.shape[0] / np.maximum(np.diff(matrix.indptr), 1))
    salience = np.asarray(matrix.log1p().sum(axis=0)).ravel() * idf
    order = np.argsort(-salience, kind="stable")
    return [vocabulary[i] for i in order[:n_words] if salience[i] > 0]


class WordVectors(NamedTuple):
    """Unit vectors of words, from the most frequent word to the rarest."""

    place: Mapping[str, int]
    vectors: np.ndarray

    def of(self, label: str) -> tuple[np.ndarray, float]:
        """Return the vector of a word (of a phrase: the mean of its words) and log(1 + rank)."""
        found = [self.place[part] for part in label.casefold().replace("_", " ").split() if part in self.place]
        if not found:
            return np.zeros(self.vectors.shape[1]), float(np.log1p(len(self.place)))
        mean = self.vectors[found].mean(axis=0)
        return mean / max(float(np.linalg.norm(mean)), 1e-12), float(np.log1p(max(found)))


def read_judge_vectors(path: Path) -> WordVectors:
    """Read word vectors: .npz with `words` and `vectors`, or GloVe's text format (also .gz), frequent words first.

    The mean and the first principal components are removed, and vectors scaled to length 1.
    """
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as stored:
                words, vectors = [str(word) for word in stored["words"]], np.asarray(stored["vectors"], float)
        else:
            with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
                rows = [line.rstrip().split(" ") for line in lines]
            words, vectors = [row[0] for row in rows], np.array([row[1:] for row in rows], dtype=float)
        centred = vectors - vectors.mean(axis=0)
        axes = np.linalg.svd(centred, full_matrices=False)[2][:_COMPONENTS]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            f"{path}: these are not word vectors ({error}); give .npz with words and vectors, or GloVe's text."
        ) from None
    rest = centred - centred @ axes.T @ axes
    rest /= np.maximum(np.linalg.norm(rest, axis=1, keepdims=True), 1e-12)
    place = {word.casefold(): i for i, word in reversed(list(enumerate(words)))}  # the first of equal words
    return WordVectors(place, rest)


def vector_measures(words: Sequence[str], known: WordVectors) -> dict[str, float]:
    """Return the measures of a topic that come from the vectors; unknown words have a cosine of 0."""
    found, ranks = zip(*map(known.of, words[:_MORE]))
    vectors = np.array(found)
    cosine = vectors @ vectors.T
    first = cosine[:TOP, :TOP].copy()
    np.fill_diagonal(first, -1.0)
    nearest = first.max(axis=1)
    mean = float(cosine[np.triu_indices(len(cosine), 1)].mean())
    measures = {"cosine": mean, "nearest": float(nearest.mean()), "weakest": float(nearest.min())}
    return measures | {"rarity": float(np.mean(ranks[:TOP]))}


def c_v(units: sparse.csc_array, words: Sequence[int] | np.ndarray) -> float:
    """Return C_v (Röder et al., 2015) on presence in units of text.

    Each word is described by its NPMI with every word of the set; the value is the mean cosine of these vectors
    with their sum.
    """
    present = units[:, list(words)].astype(float)
    together = (present.T @ present).toarray() / units.shape[0]
    alone = np.diag(together)
    with np.errstate(divide="ignore", invalid="ignore"):
        npmi = np.log(together / np.outer(alone, alone)) / -np.log(together)
    npmi = np.where(together > 0, np.nan_to_num(npmi, nan=0.0, posinf=1.0), 0.0)
    np.fill_diagonal(npmi, (alone > 0).astype(float))
    total = npmi.sum(axis=0)
    length = np.linalg.norm(npmi, axis=1) * np.linalg.norm(total)
    return float(np.mean(npmi @ total / np.maximum(length, 1e-12)))


def standardised(measures: np.ndarray) -> np.ndarray:
    """Scale every measure by its mean and standard deviation over the topics that are compared."""
    spread = measures.std(axis=0)
    return (measures - measures.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def judged(measures: np.ndarray) -> np.ndarray:
    """Return the judge's value of each of (T, 6) topics, in units of its standard deviation over all of them."""
    return standardised((standardised(measures) @ np.array(WEIGHTS))[:, None]).ravel()


def judge_values(
    runs: AllFound, vocabulary: Sequence[str], counts: sparse.csr_array, known: WordVectors
) -> list[float]:
    """Return the mean value of each run's concepts by the judge, on counts of held-out windows."""
    units, measures, of_run = presence(counts), [], []
    for number, found in enumerate(runs.values()):
        for words in top_sets(found.weights, _MORE):
            if len(words) > 1:
                first = words[:TOP]
                own = {"NPMI": coherence(units, first), "C_v": c_v(units, first)}
                own |= vector_measures([vocabulary[i] for i in words], known)
                measures.append([own[name] for name in MEASURES])
                of_run.append(number)
    values = judged(np.array(measures)) if measures else np.zeros(0)
    return pd.Series(values).groupby(of_run).mean().reindex(range(len(runs))).tolist()
