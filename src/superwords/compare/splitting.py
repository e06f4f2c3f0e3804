"""Training text and held-out windows, with the vocabulary taken from the training part alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.analysis.tables import of_sources, source_of_rows, sources
from superwords.errors import InputError
from superwords.text.corpus import Corpus
from superwords.text.sentences import sentence_spans

SENTENCES = 5  # in a window
EVERY = 5  # one window in five is held out


class Split(NamedTuple):
    """One preprocessing for all: training rows as documents and as windows, and the held-out windows."""

    documents: Corpus
    windows: Corpus
    held_out: Corpus


def split_windows(texts: Iterable[str], languages: Sequence[str]) -> tuple[list[list[str]], list[tuple[int, str]]]:
    """Cut texts into windows; return those to train on by document, and one in five with its document.

    Counted through all documents, and not from each one's start, because short documents have only one or two windows.
    """
    train: list[list[str]] = []
    held_out: list[tuple[int, str]] = []
    number = 0
    for d, (text, language) in enumerate(zip(texts, languages)):
        train.append([])
        spans = sentence_spans(text, language)
        for first in range(0, len(spans), SENTENCES):
            last = min(first + SENTENCES, len(spans)) - 1
            window = text[spans[first][0] : spans[last][1]].strip()
            number += 1
            if number % EVERY:
                train[-1].append(window)
            else:
                held_out.append((d, window))
    return train, held_out


def make_split(
    texts: Sequence[str],
    ids: Sequence[str],
    language: str | Sequence[str],
    options: Mapping[str, Any],
    metadata: pd.DataFrame | None = None,
) -> Split:
    """Count the training windows with a vocabulary of their own, and the same words in the held-out ones."""
    languages = [language] * len(texts) if isinstance(language, str) else language
    train, held_out = split_windows(texts, languages)
    if not held_out:
        raise InputError(
            f"The documents make fewer than {EVERY} windows of {SENTENCES} sentences, "
            "so none can be held out; give more text."
        )
    kept = [d for d, windows in enumerate(train) if windows]
    # A blank line ends a sentence, so that the windows come back as the passages of the joined text; but for a few
    # (in some 1% of recipes) whose sentences are cut otherwise without what stood before them.
    windows = Corpus.from_texts(
        ["\n\n".join(train[d]) for d in kept],
        [ids[d] for d in kept],
        None if metadata is None else metadata.iloc[kept],
        language=language if isinstance(language, str) else [languages[d] for d in kept],
        unit=f"passages:{SENTENCES}",
        keep_texts=True,  # BERTopic reads them
        **options,
    )
    seen = Corpus.from_texts(
        [text for _, text in held_out],
        language=language if isinstance(language, str) else [languages[d] for d, _ in held_out],
        vocabulary=windows.vocabulary,
        recipe=windows.notes["recipe"],
        keep_texts=False,
        n_jobs=options.get("n_jobs"),
    )
    return Split(as_documents(windows), windows, seen)


def as_documents(passages: Corpus) -> Corpus:
    """Return the same counts and sentences with whole documents as rows."""
    (ids, metadata), document = sources(passages), source_of_rows(passages)
    counts = sparse.csr_array(of_sources(passages).astype(np.int32) @ passages.counts)
    counts.sort_indices()
    return Corpus(
        counts,
        passages.vocabulary,
        metadata,
        ids,
        texts=None if passages.texts is None else pd.Series(passages.texts).groupby(document).agg(" ".join).tolist(),
        sentences=passages.sentences,
        sentence_row=None if passages.sentence_row is None else document[passages.sentence_row],
        notes=passages.notes,
    )
