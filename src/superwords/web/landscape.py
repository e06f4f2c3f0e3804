"""The map of concepts: concepts that share words and documents are close."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.linalg import eigh

from superwords.analysis.maps import concept_quality, document_map
from superwords.analysis.themes import likeness
from superwords.web.catalog import CONCEPT_COLUMN, Catalog
from superwords.web.json_tables import Column, Table

NEAREST = 5
_MOST_DOCUMENTS = 1500  # on the map: more would only cover each other


def similarity(catalog: Catalog) -> np.ndarray:
    """Return how alike two of the concepts shown are."""
    if catalog.model.n_concepts_ == 0:
        return np.zeros((0, 0))
    use = catalog.model.result_.summary.words
    shape = (catalog.model.n_concepts_, catalog.corpus.n_words)
    words = sparse.csr_array((use.used.astype(float), (use.concept, use.word)), shape=shape)
    shown = np.array(catalog.model.result_.shown, int) - 1
    return likeness(words[shown], sparse.csr_array(catalog.weights[:, shown]))


def positions(alike: np.ndarray) -> np.ndarray:
    """Return (J, 2) in [0, 1]: classical multidimensional scaling, each axis then spread evenly by half.

    Most concepts have little in common, so that plain scaling heaps them up in the middle.
    """
    n = len(alike)
    if n < 3:
        return np.column_stack([np.linspace(0.25, 0.75, n), np.full(n, 0.5)])
    squared = (1 - alike) ** 2
    np.fill_diagonal(squared, 0.0)
    centred = squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True) + squared.mean()
    values, vectors = eigh(-centred / 2, subset_by_index=[n - 2, n - 1])
    plane = vectors[:, ::-1] * np.sqrt(np.maximum(values[::-1], 0))
    # An eigenvector's sign is arbitrary; this one makes the same map on every machine.
    plane *= np.where(plane[np.abs(plane).argmax(axis=0), [0, 1]] < 0, -1, 1)
    span = np.maximum(np.ptp(plane, axis=0), 1e-12)
    scaled = (plane - plane.min(axis=0)) / span
    ranked = plane.argsort(axis=0, kind="stable").argsort(axis=0) / (n - 1)
    return (scaled + ranked) / 2


class Landscape:
    def __init__(self, catalog: Catalog):
        self.catalog = catalog
        self.alike = similarity(catalog)
        self.places = positions(self.alike)

    def points(self) -> list[dict[str, Any]]:
        known = self.catalog.concept_rows.assign(name=self.catalog.shown_names)
        shares = known["prevalence"].fillna(0.0)  # a concept without a word has no partner in any draw
        return [
            {"concept": int(j), "name": name, "prevalence": float(share), "x": float(x), "y": float(y)}
            for j, name, share, (x, y) in zip(known["concept"], known["name"], shares, self.places)
        ]

    @cached_property
    def documents(self) -> dict[str, Any]:
        """Return the map of documents, with regions by their main concepts."""
        return document_map(self.catalog.model.result_, _MOST_DOCUMENTS)

    def quality(self) -> Table:
        """Return coherence and exclusivity of the concepts."""
        rows = concept_quality(self.catalog.model.result_)
        rows = rows.sort_values(["leftover", "prevalence"], ascending=[True, False], kind="stable")
        columns = [
            CONCEPT_COLUMN,
            Column("coherence", "Coherence", "decimal"),
            Column("exclusivity", "Exclusivity", "share"),
            Column("prevalence", "Prevalence", "share"),
        ]
        return Table(columns, rows)

    def nearest(self) -> Table:
        """Return each concept with those most like it: what the map shows, as a table."""
        names, shown = self.catalog.names, np.array(self.catalog.model.result_.shown, int)
        alike = self.alike.copy()
        np.fill_diagonal(alike, -1.0)
        order = np.argsort(-alike, axis=1, kind="stable")[:, : min(NEAREST, len(alike) - 1)]
        likeness = [float(alike[j, near[0]]) if len(near) else np.nan for j, near in enumerate(order)]
        nearest = [[names[j - 1] for j in shown[near]] for near in order]
        rows = pd.DataFrame(
            {
                "concept": shown,
                "name": pd.Series([names[j - 1] for j in shown], dtype=object),
                "likeness": likeness,
                "nearest": pd.Series(nearest, dtype=object),
                "nearest_ids": pd.Series([shown[near].tolist() for near in order], dtype=object),
            }
        )
        columns = [
            Column("name", "Concept", "concept", link="concept"),
            Column("nearest", "Most alike", "concepts", link="nearest_ids", sortable=False),
            Column("likeness", "Likeness to the first", "share"),
        ]
        return Table(columns, rows)
