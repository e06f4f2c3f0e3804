"""Training text and held-out windows, with the vocabulary taken from the training part alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.errors import InputError
from superwords.text.corpus import Corpus
from superwords.text.sentences import sentence_spans

SENTENCES = 5  # in a window
EVERY = 5  # one window in five is held out


class Windows(NamedTuple):
    """Windows of a few sentences, in the order of the texts: those to train on by document, and the others."""

    train: list[list[str]]  # per document; empty if all its windows are held out
    held_out: list[str]
    held_out_document: list[int]


@dataclass(frozen=True)
class Split:
    """One preprocessing for all: training rows as documents and as windows, and the held-out windows."""

    documents: Corpus
    windows: Corpus
    held_out: Corpus


def split_windows(
    texts: Iterable[str], languages: str | Sequence[str], sentences: int = SENTENCES, every: int = EVERY
) -> Windows:
    """Cut texts into windows and hold out one in `every`, counted through all documents.

    Counted through, and not from each document's start, because short documents have only one or two windows.
    """
    train: list[list[str]] = []
    held_out: list[str] = []
    held_out_document: list[int] = []
    number = 0
    for d, text in enumerate(texts):
        train.append([])
        spans = sentence_spans(text, languages if isinstance(languages, str) else languages[d])
        for first in range(0, len(spans), sentences):
            last = min(first + sentences, len(spans)) - 1
            window = text[spans[first][0] : spans[last][1]].strip()
            number += 1
            if number % every:
                train[-1].append(window)
            else:
                held_out.append(window)
                held_out_document.append(d)
    return Windows(train, held_out, held_out_document)


def make_split(
    texts: Sequence[str],
    ids: Sequence[str],
    languages: str | Sequence[str],
    options: Mapping[str, Any],
    metadata: pd.DataFrame | None = None,
) -> Split:
    """Count the training windows with a vocabulary of their own, and the same words in the held-out ones."""
    found = split_windows(texts, languages)
    if not found.held_out:
        raise InputError(
            f"The documents make fewer than {EVERY} windows of {SENTENCES} sentences, "
            "so none can be held out; give more text."
        )
    kept = [d for d, windows in enumerate(found.train) if windows]
    # A blank line ends a sentence, so that the windows come back as the passages of the joined text; but for a few
    # (in some 1% of recipes) whose sentences are cut otherwise without what stood before them.
    windows = Corpus.from_texts(
        ["\n\n".join(found.train[d]) for d in kept],
        [ids[d] for d in kept],
        None if metadata is None else metadata.iloc[kept],
        language=_of(languages, kept),
        unit=f"passages:{SENTENCES}",
        keep_texts=True,  # BERTopic reads them
        **options,
    )
    held_out = Corpus.from_texts(
        found.held_out,
        language=_of(languages, found.held_out_document),
        vocabulary=windows.vocabulary,
        recipe=windows.notes["recipe"],
        keep_texts=False,
        n_jobs=options.get("n_jobs"),
    )
    return Split(as_documents(windows), windows, held_out)


def _of(languages: str | Sequence[str], documents: Sequence[int]) -> str | list[str]:
    return languages if isinstance(languages, str) else [languages[d] for d in documents]


def as_documents(passages: Corpus) -> Corpus:
    """Return the same counts and sentences with whole documents as rows."""
    assert passages.parent is not None
    rows, parent = np.unique(passages.parent, return_inverse=True)
    shape = (len(rows), passages.n_documents)
    gather = sparse.csr_array((np.ones(len(parent), np.int32), (parent, np.arange(len(parent)))), shape=shape)
    counts = sparse.csr_array(gather @ passages.counts)
    counts.sort_indices()
    first, texts = np.unique(parent, return_index=True)[1], passages.texts
    return Corpus(
        counts,
        passages.vocabulary,
        passages.metadata.iloc[first].reset_index(drop=True),
        [passages.ids[int(row)].rpartition("#")[0] for row in first],
        texts=None if texts is None else pd.Series(texts).groupby(parent).agg(" ".join).tolist(),
        sentences=passages.sentences,
        sentence_row=None if passages.sentence_row is None else parent[passages.sentence_row],
        notes=passages.notes,
    )
