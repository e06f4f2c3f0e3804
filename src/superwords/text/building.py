"""From texts to counts: tokens to words, words to columns, sentences or documents to rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from superwords.errors import InputError
from superwords.text.cleaning import clean_text
from superwords.text.grams import Cut, document_frequency
from superwords.text.phrases import TAGGED
from superwords.text.procedural import procedural_units
from superwords.text.recipe import Fixed, TextOptions, recipe_of, threshold
from superwords.text.stream import LONG_TOKENS, TokenStream
from superwords.text.vocabulary import (
    FEW_DOCUMENTS,
    Parts,
    Words,
    apply_words,
    choose_words,
    find_words,
    has_words,
    matching_words,
    other_words,
    unknown_words,
)

N_EXAMPLES = 20


@dataclass(frozen=True)
class CountedTexts:
    """What a corpus needs of its texts. `parent` is each row's source document, `spans` its place there."""

    counts: sparse.csr_array
    vocabulary: list[str]
    sentences: sparse.csr_array
    sentence_row: np.ndarray
    parent: np.ndarray
    passage: np.ndarray
    spans: np.ndarray
    notes: dict[str, Any] = field(default_factory=dict)


def count_stream(stream: TokenStream, options: TextOptions, language: str | None = None) -> CountedTexts:
    """Count the words of a stream: those of this corpus, or those that `options.fixed` decided earlier."""
    notes: dict[str, Any] = {
        "words_read": int(stream.document_words.sum()),
        "sentences": len(stream.sentence_document),
        "long_tokens": stream.form_count[LONG_TOKENS],
    }
    row_of_sentence, parent, passage = _rows(stream, options.passage_sentences)
    if options.fixed is None:
        words = _find_words(stream, row_of_sentence, options, notes)
        cut, column, vocabulary = _choose_words(stream, words, options, language, notes)
    else:
        cut, column, vocabulary = _fixed_words(stream, options.fixed, options.max_length, notes)
        notes["recipe"] = recipe_of(options, language, options.fixed.units)
    sentence = stream.token_sentence[cut.start]
    of_token = column[cut.unit] if len(column) else cut.unit
    is_counted = of_token >= 0
    sentence, of_token = sentence[is_counted], of_token[is_counted]
    shape = (len(parent), len(vocabulary))
    notes["words_used"] = int(cut.length[is_counted].sum())
    counts = _tally(row_of_sentence[sentence], of_token, shape)
    sentences = _tally(sentence, of_token, (len(row_of_sentence), len(vocabulary)))
    sentences.data[:] = 1
    has_word = np.zeros(stream.n_documents, bool)
    has_word[stream.sentence_document[sentence]] = True
    notes["empty_documents"] = np.flatnonzero(~has_word).tolist()
    spans = _row_spans(stream, row_of_sentence, len(parent))
    return CountedTexts(counts, vocabulary, sentences, row_of_sentence, parent, passage, spans, notes)


def _find_words(
    stream: TokenStream, row_of_sentence: np.ndarray, options: TextOptions, notes: dict[str, Any]
) -> Words:
    parts = Parts(stream.sentence_document, stream.n_documents)
    if options.min_df == "auto":
        if options.passage_sentences is not None and stream.n_documents < FEW_DOCUMENTS:
            parts = Parts(row_of_sentence, int(row_of_sentence.max(initial=-1)) + 1, "passages")
        choice = choose_words(stream, parts, row_of_sentence, options.max_length)
        words, min_df = choice.words, choice.min_df
        notes["min_df_chosen"] = choice.why
    else:
        min_df = threshold(options.min_df, stream.n_documents, "min_df")
        words = find_words(stream, parts, min_df, options.max_length)
    if not words.labels:
        raise InputError(_why_no_words(stream, options.method.words, min_df))
    notes["min_df"], notes["min_df_counts"] = min_df, parts.name
    return words


def _choose_words(
    stream: TokenStream, words: Words, options: TextOptions, language: str | None, notes: dict[str, Any]
) -> tuple[Cut, np.ndarray, list[str]]:
    """Return the words of this corpus: frequent, not too frequent, not dropped. Returns the column of each unit, or
    -1.
    """
    procedural = procedural_units(stream, words.cut, words.labels)
    dropped = {
        "above_max_df": _too_frequent(stream, words, options),
        "dropped": matching_words(words, options.drop),
        "procedural": set(procedural) if options.drop_procedural else set(),
    }
    gone = set().union(*dropped.values())
    vocabulary = sorted({label for u, label in enumerate(words.labels) if u not in gone})
    if not vocabulary:
        raise InputError(
            f"All {len(words.labels)} words found were dropped; "
            "give a higher max_df or a shorter list of words to drop."
        )
    number = {label: n for n, label in enumerate(vocabulary)}
    column = np.array([-1 if u in gone else number[label] for u, label in enumerate(words.labels)], np.int32)
    unknown = unknown_words(stream, words.cut)
    if options.method.words == "content":
        notes["other_words"] = other_words(stream, words)
    notes["procedural"] = [words.labels[u] for u in procedural]
    notes["pruned"] = {
        "below_min_df": len(unknown),
        "tokens_below_min_df": unknown.total(),
        **{reason: sorted(words.labels[u] for u in units) for reason, units in dropped.items()},
    }
    units = {
        key: None if u in gone else label
        for u, (key, label) in enumerate(zip(words.keys, words.labels, strict=True))
    }
    notes["recipe"] = recipe_of(options, language, units)
    return words.cut, column, vocabulary


def _why_no_words(stream: TokenStream, method: str, min_df: int) -> str:
    documents = f"the {stream.n_documents:,} documents" if stream.n_documents > 1 else "the document"
    if has_words(stream):
        return f"No word is in at least {min_df} of {documents}; give a lower min_df or more documents."
    if method in TAGGED:
        what = "noun or name" if method == "phrases" else "noun, name, verb or adjective"
        return f"There is no {what} in {documents}; give more text, or ask for plain words."
    return f"There is no word in {documents} but stop words; give more text."


def _fixed_words(
    stream: TokenStream, fixed: Fixed, max_length: int, notes: dict[str, Any]
) -> tuple[Cut, np.ndarray, list[str]]:
    cut = apply_words(stream, list(fixed.units), max_length)
    number = {label: n for n, label in enumerate(fixed.vocabulary)}
    column = np.array([number.get(label, -1) if label else -1 for label in fixed.units.values()], np.int32)
    unknown = unknown_words(stream, cut)
    notes["unknown_words"] = unknown.total()
    notes["unknown_examples"] = dict(unknown.most_common(N_EXAMPLES))
    return cut, column, list(fixed.vocabulary)


def _too_frequent(stream: TokenStream, words: Words, options: TextOptions) -> set[int]:
    if options.max_df is None:
        return set()
    max_df = threshold(options.max_df, stream.n_documents, "max_df")
    document = stream.sentence_document[stream.token_sentence[words.cut.start]]
    df = document_frequency(words.cut.unit, document, len(words.labels), stream.n_documents)
    return set(np.flatnonzero(df > max_df).tolist())


def _rows(stream: TokenStream, passage_sentences: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the row of each sentence, and the document and passage number of each row; no document is without a
    row.
    """
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
    return (
        first_row[document] + place // passage_sentences,
        parent,
        np.arange(len(parent)) - first_row[parent],
    )


def _row_spans(stream: TokenStream, row_of_sentence: np.ndarray, n_rows: int) -> np.ndarray:
    spans = np.zeros((n_rows, 2), np.int64)
    rows, first = np.unique(row_of_sentence, return_index=True)
    last = np.append(first, len(row_of_sentence))[1:] - 1
    spans[rows, 0] = stream.sentence_span[first, 0]
    spans[rows, 1] = stream.sentence_span[last, 1]
    return spans


def _tally(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    ones = np.ones(len(rows), np.int32)
    tally = sparse.csr_array(sparse.coo_array((ones, (rows, columns)), shape=shape))
    tally.sum_duplicates()
    tally.sort_indices()
    return tally


def row_texts(texts: Iterable[str], counted: CountedTexts, is_passages: bool) -> list[str]:
    """Return the raw text of every row."""
    clean = map(clean_text, texts)
    return list(_passage_texts(clean, counted) if is_passages else clean)


def _passage_texts(texts: Iterable[str], counted: CountedTexts) -> Iterator[str]:
    bounds = np.searchsorted(counted.parent, np.arange(counted.parent[-1] + 2))
    for text, start, end in zip(texts, bounds[:-1], bounds[1:]):
        for row in range(start, end):
            yield text[counted.spans[row, 0] : counted.spans[row, 1]].strip()
