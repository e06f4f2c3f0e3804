"""Themes (a tree of concepts by words and documents, cut where most stable), and maps of documents and concepts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.cluster import hierarchy
from scipy.spatial.distance import cdist, squareform
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from superwords.analysis import prevalence, tables
from superwords.analysis.documents import mean_weights
from superwords.analysis.tables import by_word, concept_names, concept_table, objects, sources, with_bounds
from superwords.posterior.result import Result
from superwords.tabular import records

MOST_DOCUMENTS = 3000  # on a map
WORDS_SHARE = 0.5  # weight of the words in the similarity; the rest is that of documents
_MOST_THEMES = 20
_MOST_DRAWS = 40
_LEAST_CONCEPTS = 3  # minimum number of concepts for themes
_NAME_WORDS = 3
_DIMENSIONS, _PERPLEXITY, _FEWEST, _NEAREST = 20, 30, 12, 10


class ConceptTree(NamedTuple):
    """A tree of the concepts shown."""

    concepts: list[int]  # the leaves' numbers, in the order of `linkage`
    names: list[str]
    linkage: np.ndarray  # (leaves - 1, 4) as scipy has it; heights are Ward's, of distances √(2 − 2 likeness)
    theme: np.ndarray  # of each leaf: 1, 2, …, largest first
    theme_names: list[str]
    stability: dict[int, float]  # by number of themes: adjusted Rand index with the draws' own trees

    @property
    def order(self) -> list[int]:
        """The concepts in the order of the leaves of the drawn tree."""
        leaves = hierarchy.leaves_list(self.linkage) if len(self.linkage) else range(len(self.concepts))
        return [self.concepts[k] for k in leaves]

    @property
    def table(self) -> pd.DataFrame:
        """One row per concept: its theme, as the tree was cut."""
        names = objects(self.theme_names[t - 1] for t in self.theme)
        rows = {"theme": self.theme, "theme_name": names, "concept": self.concepts, "name": objects(self.names)}
        table = pd.DataFrame(rows).set_index("concept", drop=False).loc[self.order]
        return table.sort_values("theme", kind="stable", ignore_index=True)

    def as_json(self) -> dict[str, Any]:
        """Return the tree as JSON: leaves have a concept, nodes children and a height."""
        leaves = zip(self.concepts, self.names, self.theme.tolist())
        nodes: list[dict[str, Any]] = [dict(zip(("concept", "name", "theme"), leaf)) for leaf in leaves]
        for a, b, height, _ in self.linkage:
            nodes.append({"height": float(height), "children": [nodes[int(a)], nodes[int(b)]]})
        stability = [{"themes": k, "stability": value} for k, value in self.stability.items()]
        root = nodes[-1] if nodes else None
        return {"tree": root, "themes": self.theme_names, "order": self.order, "stability": stability}


def likeness(words: sparse.csr_array, weights: sparse.csr_array) -> np.ndarray:
    """Return (J, J) the mean cosine of concepts' `words` (J, V) and centred documents' `weights` (D, J)."""
    if not words.shape[0]:
        return np.zeros((0, 0))
    unit = normalize(words)
    by_word = (unit @ unit.T).toarray()
    # Cosines of centred columns, without a dense (D, J).
    mean = np.asarray(weights.mean(axis=0)).ravel()
    product = (weights.T @ weights).toarray() - weights.shape[0] * np.outer(mean, mean)
    length = np.sqrt(np.maximum(np.diagonal(product), 0))
    scale = np.where(length > 0, length, 1.0)
    by_document = np.clip(product / np.outer(scale, scale), 0, 1)
    return WORDS_SHARE * by_word + (1 - WORDS_SHARE) * by_document


def make_tree(result: Result) -> ConceptTree:
    """Return a tree of the concepts, cut into themes where the draws agree most.

    Returns
    -------
    ConceptTree
        Its `table` has the themes, `linkage` is scipy's, `as_json()` is for pages.

    Examples
    --------
    >>> len(model.tree().order) == model.n_concepts_
    True
    """
    leaves, names = result.shown, concept_names(result)
    shown = np.array(leaves, int) - 1
    used = by_word(result, result.summary.words.used)
    linkage = _linked(likeness(used[shown], sparse.csr_array(result.weights[:, shown])))
    stability = _stability(result, linkage, shown)
    # A cut that leaves most concepts in one theme says little.
    telling = [k for k in stability if 2 * np.bincount(_cuts(linkage, [k], len(shown))[:, 0]).max() <= len(shown)]
    n_themes = max(telling or stability, key=lambda k: (stability[k], -k)) if stability else 1
    # Themes are numbered by their number of concepts, the largest first.
    cut = _cuts(linkage, [n_themes], len(shown))[:, 0]
    _, first, own, sizes = np.unique(cut, return_index=True, return_inverse=True, return_counts=True)
    theme = np.argsort(np.lexsort((first, -sizes)))[own] + 1
    # A theme is called by its most characteristic words.
    words, vocabulary, called = result.summary.words, result.corpus.vocabulary, list[str]()
    for t in range(1, len(sizes) + 1):
        inside = np.isin(words.concept, shown[theme == t])
        total = np.bincount(words.word[inside], words.score[inside], len(vocabulary))
        best = np.argsort(-total, kind="stable")[:_NAME_WORDS]
        called.append(", ".join(vocabulary[i] for i in best if total[i] > 0) or "(no words)")
    return ConceptTree(leaves, [names[j] for j in shown], linkage, theme, called, stability)


def _linked(alike: np.ndarray) -> np.ndarray:
    if len(alike) < 2:
        return np.zeros((0, 4))
    distance = np.sqrt(np.clip(2 - 2 * alike, 0, None))
    np.fill_diagonal(distance, 0.0)
    return hierarchy.linkage(squareform(distance, checks=False), "ward", optimal_ordering=True)


def _cuts(linkage: np.ndarray, n_themes: Sequence[int], n_leaves: int) -> np.ndarray:
    """Return (n_leaves, cuts) the theme of each concept, for each number of themes."""
    if not len(linkage):
        return np.ones((n_leaves, len(n_themes)), int)
    return hierarchy.cut_tree(linkage, n_themes) + 1


def _stability(result: Result, linkage: np.ndarray, shown: np.ndarray) -> dict[int, float]:
    """Return, by number of themes, how far the trees of the draws agree with the tree."""
    numbers = range(2, min(_MOST_THEMES, len(shown) // 2) + 1)
    if len(shown) < _LEAST_CONCEPTS or not numbers:
        return {}
    drawn, agreement = result.drawn_weights(), {k: list[float]() for k in numbers}
    whole, shape = _cuts(linkage, numbers, len(shown)), (result.n_concepts, result.corpus.n_words)
    for t in evenly_spaced(len(drawn), _MOST_DRAWS):
        found = shown[np.diff(sparse.csc_array(drawn[t]).indptr)[shown] > 0]
        if len(found) < _LEAST_CONCEPTS:
            continue
        used = result.summary.word_counts.used_in(int(t), shape)[found]
        own = _linked(likeness(used, sparse.csr_array(drawn[t][:, found])))
        there, possible = np.isin(shown, found), [k for k in numbers if k < len(found)]
        for k, one, other in zip(possible, whole[there].T, _cuts(own, possible, len(found)).T):
            agreement[k].append(adjusted_rand_score(one, other))
    return {k: float(np.mean(values)) for k, values in agreement.items() if values}


def evenly_spaced(n: int, most: int) -> np.ndarray:
    """Return at most so many places, the first and the last of n included."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(int))


def theme_table(result: Result, tree: ConceptTree | None = None) -> pd.DataFrame:
    """Return themes and their prevalence: those the user made, or those of the tree.

    Parameters
    ----------
    tree : ConceptTree, optional
        As returned by `tree`, to avoid computing it again.

    Returns
    -------
    DataFrame
        `prevalence` is the share of rows that use any of a theme's concepts, over the draws that find all of them, with
        a 95% interval; `proposed` if the user did not make it.

    Examples
    --------
    >>> sorted(j for concepts in model.themes()["concepts"] for j in concepts) == model.result_.shown
    True
    """
    names = concept_names(result)
    of_concept = [(result.themes[j], j) for j in result.shown if j in result.themes]
    if proposed := not of_concept:
        tree = tree or make_tree(result)
        of_concept = [(tree.theme_names[t - 1], j) for t, j in sorted(zip(tree.theme, tree.concepts))]
    gathered: dict[str, list[int]] = {}
    for theme, j in of_concept:
        gathered.setdefault(theme, []).append(j)
    table = pd.DataFrame({"theme": objects(gathered), "concepts": objects(gathered.values())})
    table["names"] = objects([names[j - 1] for j in concepts] for concepts in gathered.values())
    if not gathered:
        empty = with_bounds("prevalence", np.zeros(0), (np.zeros(0), np.zeros(0)))
        return table.assign(**empty, proposed=proposed)
    size = np.array([len(concepts) for concepts in gathered.values()])
    place = np.concatenate(list(gathered.values())) - 1, np.repeat(np.arange(len(size)), size)
    member = sparse.csr_array((np.ones(size.sum()), place), shape=(result.n_concepts, len(size)))
    drawn = [sparse.csr_array(weights @ member) for weights in result.drawn_weights()]
    aligned = result.summary.alignment
    n_found = aligned.matched @ member
    # Draws that lack one of the concepts are left out, or the theme could be rarer than its concepts.
    weights = aligned.weight[:, None] * (n_found == size)
    weights /= np.where(weights.any(axis=0), weights.sum(axis=0), 1.0)
    missed = aligned._replace(overlap=n_found).is_missed
    whole = prevalence.groups_of(result, None, drawn, weights)._replace(missed=missed)
    used = whole.mean_holders[0] / result.corpus.n_documents
    return table.assign(**with_bounds("prevalence", used, prevalence.population_interval(whole)), proposed=proposed)


def document_map(result: Result, most: int = MOST_DOCUMENTS) -> dict[str, Any]:
    """Return a map of documents as plain JSON: points (of evenly spaced documents), and a region per concept."""
    ids, shown = sources(result.corpus)[0], np.array(result.shown, int)
    chosen = evenly_spaced(len(ids), most)
    own = mean_weights(result)[:, shown - 1][chosen].toarray()
    place, weight = _plane(np.sqrt(own)), own.max(axis=1, initial=0.0)
    main = np.where(weight > 0, shown[own.argmax(axis=1)] if own.shape[1] else 0, 0)
    points = pd.DataFrame({"document": objects(ids[d] for d in chosen), "place": chosen})
    points = points.assign(x=place[:, 0], y=place[:, 1], concept=main, weight=weight)
    regions, names, leftover = [], concept_names(result), tables.leftovers(result).tolist()
    for j in np.unique(main[main > 0]).tolist():
        region = place[main == j]
        # The point whose neighbours are nearest.
        some = region[:: max(1, len(region) // 1000)]
        distance = np.sort(cdist(some, some), axis=1)[:, : _NEAREST + 1].mean(axis=1)
        x, y = some[int(distance.argmin())].tolist()
        known = {"concept": j, "name": names[j - 1], "documents": len(region)}
        regions.append({**known, "x": x, "y": y, "leftover": leftover[j - 1]})
    regions.sort(key=lambda one: -one["documents"])
    return {"points": records(points), "regions": regions}


def _plane(rows: np.ndarray) -> np.ndarray:
    """Return (D, 2) from 0 to 1, by t-SNE with a fixed start, so that the same model gives the same map."""
    from sklearn.decomposition import TruncatedSVD  # slow to import
    from sklearn.manifold import TSNE

    n_rows, n_columns = rows.shape
    if n_rows < _FEWEST or n_columns < 3:
        place = np.column_stack([rows, np.zeros((n_rows, 2))])[:, :2]
    else:
        # Documents with identical weights would overlap.
        jitter = np.random.default_rng(0).normal(scale=1e-4, size=rows.shape)
        n_dimensions = min(_DIMENSIONS, n_columns - 1)
        reduced = TruncatedSVD(n_dimensions, algorithm="arpack", random_state=0).fit_transform(rows + jitter)
        with threadpool_limits(1):  # fixed order of summation, for the same map on every run
            tsne = TSNE(2, perplexity=min(_PERPLEXITY, (n_rows - 1) / 3), init="pca", random_state=0)
            place = tsne.fit_transform(reduced)
    low, high = place.min(axis=0, initial=np.inf), place.max(axis=0, initial=-np.inf)
    return (place - low) / np.maximum(high - low, 1e-12) if n_rows else place


def concept_quality(result: Result) -> pd.DataFrame:
    """Return coherence (mean NPMI of top words) and exclusivity (their mean share of uses) of every concept shown."""
    table, share = concept_table(result, 0), tables.use_shares(result)
    own = (share[rows[: tables.TOP_WORDS]] for rows in tables.used_words(result))
    table["exclusivity"] = [float(one.mean()) if len(one) else np.nan for one in own]
    columns = ["concept", "name", "coherence", "exclusivity", "prevalence", "leftover"]
    return tables.of_shown(result, table)[columns]
