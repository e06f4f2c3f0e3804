"""Maps of documents by their concepts, and of concepts by quality."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.decomposition import TruncatedSVD
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from superwords.analysis.documents import mean_weights
from superwords.analysis.tables import TOP_WORDS, concept_table, sources, use_shares, used_words
from superwords.tabular import records

if TYPE_CHECKING:
    from superwords.posterior.result import Result

MOST_DOCUMENTS = 3000
_DIMENSIONS, _PERPLEXITY, _FEWEST = 20, 30, 12
_NEAREST = 10


def document_map(result: Result, most: int = MOST_DOCUMENTS) -> dict[str, Any]:
    """Return a map of documents as plain JSON: points, and a region per concept.

    Documents are placed by t-SNE on their concept weights, with Hellinger's distances and a fixed initial layout, so
    that the same model gives the same map. If there are more than `most`, evenly spaced ones are placed. A point has
    the `document` (its id) and its `place` among the documents, `x` and `y` from 0 to 1, its main `concept` (0: none)
    and the `weight` of that.
    """
    corpus, shown = result.corpus, np.array(result.shown, int)
    ids = corpus.ids if corpus.parent is None else sources(corpus)[0]
    weights = mean_weights(result)[:, shown - 1]
    chosen = np.unique(np.linspace(0, len(ids) - 1, min(len(ids), most)).round().astype(int))
    own = weights[chosen].toarray()
    place = _plane(np.sqrt(own))
    main = own.argmax(axis=1) if own.shape[1] else np.zeros(len(own), int)
    weight = own.max(axis=1, initial=0.0)
    places = pd.DataFrame(
        {
            "document": pd.Series([ids[d] for d in chosen], dtype=object),
            "place": chosen,
            "x": place[:, 0],
            "y": place[:, 1],
            "concept": np.where(weight > 0, shown[main] if len(shown) else 0, 0),
            "weight": weight,
        }
    )
    table = concept_table(result, 0)
    regions = []
    for j in np.unique(places["concept"][places["concept"] > 0]) - 1:
        region = places[places["concept"] == j + 1]
        x, y = _densest(region[["x", "y"]].to_numpy())
        known = {"concept": int(j) + 1, "name": table["name"][j], "documents": len(region)}
        regions.append({**known, "x": x, "y": y, "leftover": bool(table["leftover"][j])})
    regions.sort(key=lambda one: -one["documents"])
    return {"points": records(places), "regions": regions}


def _plane(rows: np.ndarray) -> np.ndarray:
    """Return (D, 2) from 0 to 1."""
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


def _densest(points: np.ndarray) -> tuple[float, float]:
    """Return the point whose neighbours are nearest."""
    some = points[:: max(1, len(points) // 1000)]
    distance = np.sort(cdist(some, some), axis=1)[:, : _NEAREST + 1].mean(axis=1)
    best = some[int(distance.argmin())]
    return float(best[0]), float(best[1])


def concept_quality(result: Result) -> pd.DataFrame:
    """Return coherence, exclusivity and prevalence of every concept shown.

    Returns
    -------
    pandas.DataFrame
        `concept`, `name`, `coherence` (mean NPMI of the top words), `exclusivity` (mean over the top words of the share
        of a word's uses that are this concept's), `prevalence` and `leftover`.
    """
    table, share = concept_table(result, 0), use_shares(result)
    exclusivity = [
        float(share[rows[:TOP_WORDS]].mean()) if len(rows) else np.nan for rows in used_words(result)
    ]
    table = table.assign(exclusivity=exclusivity)
    columns = ["concept", "name", "coherence", "exclusivity", "prevalence", "leftover"]
    return table.loc[table["concept"].isin(result.shown), columns].reset_index(drop=True)
