"""Maps of documents by their concepts, and of concepts by quality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist
from sklearn.decomposition import TruncatedSVD
from sklearn.manifold import TSNE
from threadpoolctl import threadpool_limits

from superwords.analysis.documents import mean_weights
from superwords.analysis.tables import TOP_WORDS, concept_table, objects, of_shown, sources, use_shares, used_words
from superwords.analysis.themes import evenly_spaced
from superwords.posterior.result import Result
from superwords.tabular import records

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
    ids, shown = sources(result.corpus)[0], np.array(result.shown, int)
    chosen = evenly_spaced(len(ids), most)
    own = mean_weights(result)[:, shown - 1][chosen].toarray()
    place, weight = _plane(np.sqrt(own)), own.max(axis=1, initial=0.0)
    main = shown[own.argmax(axis=1)] if own.shape[1] else 0
    places = pd.DataFrame(
        {
            "document": objects(ids[d] for d in chosen),
            "place": chosen,
            "x": place[:, 0],
            "y": place[:, 1],
            "concept": np.where(weight > 0, main, 0),
            "weight": weight,
        }
    )
    table = concept_table(result, 0)
    regions = []
    for j in np.unique(places["concept"][places["concept"] > 0]) - 1:
        region = places.loc[places["concept"] == j + 1, ["x", "y"]].to_numpy()
        # The point whose neighbours are nearest.
        some = region[:: max(1, len(region) // 1000)]
        distance = np.sort(cdist(some, some), axis=1)[:, : _NEAREST + 1].mean(axis=1)
        x, y = some[int(distance.argmin())].tolist()
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


def concept_quality(result: Result) -> pd.DataFrame:
    """Return `concept`, `name`, `coherence`, `exclusivity`, `prevalence` and `leftover` of every concept shown.

    Coherence is the mean NPMI of the top words, exclusivity the mean over them of the share of a word's uses that are
    this concept's.
    """
    table, share = concept_table(result, 0), use_shares(result)
    own = (share[rows[:TOP_WORDS]] for rows in used_words(result))
    table["exclusivity"] = [float(one.mean()) if len(one) else np.nan for one in own]
    columns = ["concept", "name", "coherence", "exclusivity", "prevalence", "leftover"]
    return of_shown(result, table)[columns]
