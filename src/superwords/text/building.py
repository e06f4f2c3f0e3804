"""From texts to counts: tokens to words, words to columns, sentences or documents to rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.errors import InputError
from superwords.text.checks import TextOptions, recipe_of, threshold
from superwords.text.cleaning import clean_text
from superwords.text.phrases import TAGGED, is_content
from superwords.text.stream import LONG_TOKENS, TokenStream
from superwords.text.vocabulary import (
    FEW_DOCUMENTS,
    Cut,
    Parts,
    Words,
    apply_words,
    choose_words,
    document_frequency,
    find_words,
    matching_words,
    other_words,
    unknown_words,
)

N_EXAMPLES = 20


# Forms of address of parliaments and meetings, in any phrase; greetings of letters; marks of short messages.
ADDRESS = frozenset({"hon", "honourable", "honorable", "speaker", "gentleman", "gentlemen", "gentlewoman"})
ROUTINE = frozenset(
    re.split(
        r";\s*",
        """noble lord;noble lords;noble friend;my lords;point of order;madam president;mr president;mr chairman;
    madam chair;mr chair;chairman;order paper;dear sir;dear madam;sincerely;regards;kind regards;
    best regards;yours faithfully;rt;retweet;tweet;tweets;follower;followers;weekend;livestream""",
    )
)
ROUTINE_SPREAD = 0.02  # share of the documents from which such words count
RITUAL_DOCUMENTS = 0.03  # share of documents, but at least three, in which a ritual sentence begins alike
RITUAL_SHARE = 0.25  # share of its uses in ritual sentences that makes a word procedural,
RITUAL_SPREAD = 0.2  # if it is in this share of the documents
NEAR_SPREAD = 0.6  # a word in most documents is procedural too if
NEAR_SHARE = 0.15  # this share of its sentences is ritual or has such a word, and
NEAR_LIFT = 1.35  # this many times the share usual for a word of this corpus


def count_words(
    stream: TokenStream,
    options: TextOptions,
    names: list[str],
    metadata: pd.DataFrame,
    language: str | None = None,
    texts: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return the fields of a `Corpus`: counts of the words of a stream, or of those that were decided earlier.

    `names` and `metadata` are the documents', and `texts` are those to keep.
    """
    notes: dict[str, Any] = {
        "words_read": int(stream.document_words.sum()),
        "sentences": len(stream.sentence_document),
        "long_tokens": stream.form_count[LONG_TOKENS],
    }
    row_of_sentence, parent, passage = _rows(stream, options.passage_sentences)
    units = options.units
    if units is None:
        words = _find_words(stream, row_of_sentence, options, notes)
        cut, units = words.cut, _kept_units(stream, words, options, notes)
    else:
        cut = apply_words(stream, list(units), options.method.max_length)
        unknown = unknown_words(stream, cut)
        examples = dict(unknown.most_common(N_EXAMPLES))
        notes |= {"unknown_words": unknown.total(), "unknown_examples": examples}
    vocabulary = options.vocabulary
    if vocabulary is None:
        vocabulary = sorted({label for label in units.values() if label is not None})
    notes["recipe"] = recipe_of(options, language, units)
    number: dict[str | None, int] = {label: n for n, label in enumerate(vocabulary)}
    column = np.array([number.get(label, -1) for label in units.values()], np.int32)
    sentence = stream.token_sentence[cut.start]
    of_token = column[cut.unit] if len(column) else cut.unit
    is_counted = of_token >= 0
    sentence, of_token = sentence[is_counted], of_token[is_counted]
    sentences = _tally(sentence, of_token, (len(row_of_sentence), len(vocabulary)))
    sentences.data[:] = 1
    is_empty = np.ones(stream.n_documents, bool)
    is_empty[stream.sentence_document[sentence]] = False
    notes["words_used"] = int(cut.length[is_counted].sum())
    notes["empty_documents"] = [names[d] for d in np.flatnonzero(is_empty)]
    clean = None if texts is None else list(map(clean_text, texts))
    if options.passage_sentences is not None:
        metadata = metadata.iloc[parent].reset_index(drop=True)
        names = [f"{names[d]}#{p + 1}" for d, p in zip(parent, passage, strict=True)]
        if clean is not None:
            spans = np.zeros((len(parent), 2), np.int64)  # of a row; empty if it has no sentence
            rows, first = np.unique(row_of_sentence, return_index=True)
            last = np.append(first, len(row_of_sentence))[1:] - 1
            spans[rows, 0], spans[rows, 1] = stream.sentence_span[first, 0], stream.sentence_span[last, 1]
            clean = [clean[d][a:b].strip() for d, (a, b) in zip(parent, spans, strict=True)]
    return {
        "counts": _tally(row_of_sentence[sentence], of_token, (len(parent), len(vocabulary))),
        "vocabulary": list(vocabulary),
        "metadata": metadata,
        "ids": names,
        "parent": None if options.passage_sentences is None else parent,
        "sentences": sentences,
        "sentence_row": row_of_sentence,
        "texts": clean,
        "notes": notes,
    }


def _find_words(stream: TokenStream, row_of_sentence: np.ndarray, options: TextOptions, notes: dict[str, Any]) -> Words:
    max_length = options.method.max_length
    parts = Parts(stream.sentence_document, stream.n_documents)
    if options.min_df == "auto":
        if options.passage_sentences is not None and stream.n_documents < FEW_DOCUMENTS:
            parts = Parts(row_of_sentence, int(row_of_sentence.max(initial=-1)) + 1, "passages")
        words, min_df, why = choose_words(stream, parts, row_of_sentence, max_length)
        notes["min_df_chosen"] = why
    else:
        min_df = threshold(options.min_df, stream.n_documents, "min_df")
        words = find_words(stream, parts, min_df, max_length)
    if not words.labels:
        documents = f"the {stream.n_documents:,} documents" if stream.n_documents > 1 else "the document"
        method = options.method.words
        if is_content(stream.token_flags).any():
            raise InputError(f"No word is in at least {min_df} of {documents}; give a lower min_df or more documents.")
        if method in TAGGED:
            what = "noun or name" if method == "phrases" else "noun, name, verb or adjective"
            raise InputError(f"There is no {what} in {documents}; give more text, or ask for plain words.")
        raise InputError(f"There is no word in {documents} but stop words; give more text.")
    notes |= {"min_df": min_df, "min_df_counts": parts.name}
    return words


def _kept_units(
    stream: TokenStream, words: Words, options: TextOptions, notes: dict[str, Any]
) -> dict[str, str | None]:
    """Return the label of each unit's spelling, None if it is too frequent or dropped."""
    procedural = procedural_units(stream, words.cut, words.labels)
    too_frequent: set[int] = set()
    if options.max_df is not None:
        max_df = threshold(options.max_df, stream.n_documents, "max_df")
        document = stream.sentence_document[stream.token_sentence[words.cut.start]]
        df = document_frequency(words.cut.unit, document, len(words.labels), stream.n_documents)
        too_frequent = set(np.flatnonzero(df > max_df).tolist())
    dropped = {
        "above_max_df": too_frequent,
        "dropped": matching_words(words, options.drop),
        "procedural": set(procedural) if options.drop_procedural else set(),
    }
    gone = set().union(*dropped.values())
    if len(gone) == len(words.labels):
        remedies = {
            "above_max_df": "give a higher {max_df}",
            "dropped": "give a shorter list of words to drop",
            "procedural": "leave out {drop_procedural}",
        }
        remedy = " or ".join(way for reason, way in remedies.items() if dropped[reason])
        raise InputError(f"All {len(gone):,} words found were dropped", remedy=remedy)
    unknown = unknown_words(stream, words.cut)
    if options.method.words == "content":
        notes["other_words"] = other_words(stream, words)
    notes["procedural"] = [words.labels[u] for u in procedural]
    notes["pruned"] = {
        "below_min_df": len(unknown),
        "tokens_below_min_df": unknown.total(),
        **{reason: sorted(words.labels[u] for u in units) for reason, units in dropped.items()},
    }
    pairs = zip(words.keys, words.labels, strict=True)
    return {key: None if u in gone else label for u, (key, label) in enumerate(pairs)}


def _rows(stream: TokenStream, passage_sentences: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the row of each sentence, and the document and passage of each row; every document has a row."""
    document = stream.sentence_document
    if passage_sentences is None:
        every = np.arange(stream.n_documents)
        return document.astype(np.int64), every, np.zeros_like(every)
    n_sentences = np.bincount(document, minlength=stream.n_documents)
    n_passages = np.maximum(1, -(-n_sentences // passage_sentences))
    first_row = np.cumsum(n_passages) - n_passages
    first_sentence = np.cumsum(n_sentences) - n_sentences
    place = np.arange(len(document)) - first_sentence[document]
    parent = np.repeat(np.arange(stream.n_documents), n_passages)
    return (first_row[document] + place // passage_sentences, parent, np.arange(len(parent)) - first_row[parent])


def _tally(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    ones = np.ones(len(rows), np.int32)
    tally = sparse.csr_array(sparse.coo_array((ones, (rows, columns)), shape=shape))
    tally.sum_duplicates()
    tally.sort_indices()
    return tally


def procedural_units(stream: TokenStream, cut: Cut, labels: Sequence[str]) -> list[int]:
    """Return the procedural words, most ritual first.

    A sentence is ritual if sentences of at least three documents (and 3 in 100) begin with the same five
    items, a noun phrase being one item: people speak of a subject in their own words, but follow procedure in
    set ones. A word is procedural if it is widespread and often in ritual sentences, or if it is in most
    documents and keeps company with such words and sentences clearly more than usual.
    """
    n_units = len(labels)
    if n_units == 0:
        return []
    n_documents = stream.n_documents
    sentence = stream.token_sentence[cut.start]
    openings, opening = np.unique(stream.sentence_opening, return_inverse=True)
    df_opening = document_frequency(opening, stream.sentence_document, len(openings), n_documents)
    is_ritual = df_opening[opening] >= max(3, round(RITUAL_DOCUMENTS * n_documents))
    is_ritual &= stream.sentence_opening != 0
    count = np.bincount(cut.unit, minlength=n_units)
    ritual_share = np.bincount(cut.unit[is_ritual[sentence]], minlength=n_units) / np.maximum(count, 1)
    df = document_frequency(cut.unit, stream.sentence_document[sentence], n_units, n_documents)
    spread = df / n_documents
    is_core = (ritual_share >= RITUAL_SHARE) & (spread >= RITUAL_SPREAD)
    is_core |= np.array([_is_routine(label) for label in labels]) & (spread >= ROUTINE_SPREAD)
    if not is_core.any():
        return []
    is_near = is_ritual.copy()
    is_near[sentence[is_core[cut.unit]]] = True
    pairs = np.unique(cut.unit.astype(np.int64) * len(is_near) + sentence)
    unit, of_sentence = pairs // len(is_near), pairs % len(is_near)
    n_near = np.bincount(unit[is_near[of_sentence]], minlength=n_units)
    near_share = n_near / np.bincount(unit, minlength=n_units)
    usual = is_near[of_sentence].mean()
    is_company = (spread >= NEAR_SPREAD) & (near_share >= max(NEAR_SHARE, NEAR_LIFT * usual))
    order = np.lexsort((np.arange(n_units), -near_share, -ritual_share * is_core))
    return [int(u) for u in order if is_core[u] or is_company[u]]


def _is_routine(label: str) -> bool:
    """Return whether a word is routine wherever it occurs: a form of address, a greeting, a mark of a medium."""
    words = label.lower().replace(".", "").split()
    return label.lower() in ROUTINE or not ADDRESS.isdisjoint(words)
