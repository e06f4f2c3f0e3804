"""What to call documents and passages: by their speaker and title, where the metadata have them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from superwords.analysis.tables import sources

if TYPE_CHECKING:
    from superwords.text.corpus import Corpus

SPEAKERS = ("speaker", "author", "speaker_name", "author_name", "name", "member", "sender")
TITLES = ("title", "headline", "subject", "heading")
_LENGTH = 80  # mean characters of a column that names documents, at the most
_DIFFERENT = 0.8  # share of the values of a column of titles under another name, at the least


def names_of(corpus: Corpus) -> tuple[list[str], pd.DataFrame]:
    """Ids and metadata of the documents; of a corpus of passages, of those that the passages are of."""
    return (corpus.ids, corpus.metadata) if corpus.parent is None else sources(corpus)


def label_columns(metadata: pd.DataFrame) -> list[Any]:
    """Return at most two columns that name documents for a reader: a speaker or author, then a title.

    A column counts by its own name. Where no column has such a name, the first one of short texts of several words,
    nearly all of them different, is taken for a title.
    """
    short = [name for name in metadata if _is_short(metadata[name])]
    found = [
        next((name for wanted in known for name in short if str(name).casefold() == wanted), None)
        for known in (SPEAKERS, TITLES)
    ]
    known = [name for name in found if name is not None]
    return known or [name for name in short if _is_title(metadata[name])][:1]


def document_labels(corpus: Corpus) -> list[str]:
    """Return a label for every document: "speaker: title" as far as there are such columns, else its id."""
    ids, metadata = names_of(corpus)
    columns = [_plain(metadata[name]) for name in label_columns(metadata)]
    labels = [": ".join(part for part in parts if part) for parts in zip(*columns)]
    return [label or one for label, one in zip(labels, ids)] if columns else list(ids)


def passage_places(parent: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Of every passage: the number of its document, its place in it (from 1), and how many passages that has."""
    _, document, n_rows = np.unique(parent, return_inverse=True, return_counts=True)
    order = np.argsort(document, kind="stable")
    place = np.empty(len(parent), int)
    starts = np.concatenate([[0], np.cumsum(n_rows)[:-1]])
    place[order] = np.arange(len(parent)) - np.repeat(starts, n_rows) + 1
    return document, place, n_rows[document]


def row_labels(corpus: Corpus) -> list[str]:
    """Return a label for every row; a passage has its document's, and its place among its passages."""
    labels = document_labels(corpus)
    if corpus.parent is None:
        return labels
    places = zip(*(column.tolist() for column in passage_places(corpus.parent)))
    return [f"{labels[d]}, passage {k} of {n}" for d, k, n in places]


def _plain(values: pd.Series) -> list[str]:
    return ["" if pd.isna(value) else " ".join(str(value).split()) for value in values]


def _is_short(values: pd.Series) -> bool:
    texts = _texts(values)
    return bool(texts) and sum(map(len, texts)) <= _LENGTH * len(texts)


def _is_title(values: pd.Series) -> bool:
    texts = _texts(values)
    different = len(set(texts)) >= _DIFFERENT * len(values) > 1
    return different and sum(" " in one for one in texts) > len(texts) / 2


def _texts(values: pd.Series) -> Sequence[str]:
    """The texts of a column, if all its values are."""
    known = [
        value for value in values if not (isinstance(value, float) and pd.isna(value)) and value is not None
    ]
    return known if all(isinstance(value, str) for value in known) else []
