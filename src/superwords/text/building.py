"""From texts to counts: tokens to words, words to columns, sentences or documents to rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from superwords.errors import InputError
from superwords.text.cleaning import clean_text
from superwords.text.grams import document_frequency
from superwords.text.phrases import TAGGED, is_content
from superwords.text.procedural import procedural_units
from superwords.text.recipe import TextOptions, recipe_of, threshold
from superwords.text.stream import LONG_TOKENS, TokenStream
from superwords.text.vocabulary import (
    FEW_DOCUMENTS,
    Parts,
    Words,
    apply_words,
    choose_words,
    find_words,
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
        cut, units = words.cut, _kept_units(stream, words, options, notes)
        vocabulary = sorted({label for label in units.values() if label is not None})
    else:
        units, vocabulary = options.fixed.units, list(options.fixed.vocabulary)
        cut = apply_words(stream, list(units), options.max_length)
        unknown = unknown_words(stream, cut)
        examples = dict(unknown.most_common(N_EXAMPLES))
        notes |= {"unknown_words": unknown.total(), "unknown_examples": examples}
    notes["recipe"] = recipe_of(options, language, units)
    number: dict[str | None, int] = {label: n for n, label in enumerate(vocabulary)}
    column = np.array([number.get(label, -1) for label in units.values()], np.int32)
    sentence = stream.token_sentence[cut.start]
    of_token = column[cut.unit] if len(column) else cut.unit
    is_counted = of_token >= 0
    sentence, of_token = sentence[is_counted], of_token[is_counted]
    counts = _tally(row_of_sentence[sentence], of_token, (len(parent), len(vocabulary)))
    sentences = _tally(sentence, of_token, (len(row_of_sentence), len(vocabulary)))
    sentences.data[:] = 1
    is_empty = np.ones(stream.n_documents, bool)
    is_empty[stream.sentence_document[sentence]] = False
    notes["words_used"] = int(cut.length[is_counted].sum())
    notes["empty_documents"] = np.flatnonzero(is_empty).tolist()
    spans = np.zeros((len(parent), 2), np.int64)
    rows, first = np.unique(row_of_sentence, return_index=True)
    last = np.append(first, len(row_of_sentence))[1:] - 1
    spans[rows, 0], spans[rows, 1] = stream.sentence_span[first, 0], stream.sentence_span[last, 1]
    return CountedTexts(counts, vocabulary, sentences, row_of_sentence, parent, passage, spans, notes)


def _find_words(
    stream: TokenStream, row_of_sentence: np.ndarray, options: TextOptions, notes: dict[str, Any]
) -> Words:
    parts = Parts(stream.sentence_document, stream.n_documents)
    if options.min_df == "auto":
        if options.passage_sentences is not None and stream.n_documents < FEW_DOCUMENTS:
            parts = Parts(row_of_sentence, int(row_of_sentence.max(initial=-1)) + 1, "passages")
        words, min_df, why = choose_words(stream, parts, row_of_sentence, options.max_length)
        notes["min_df_chosen"] = why
    else:
        min_df = threshold(options.min_df, stream.n_documents, "min_df")
        words = find_words(stream, parts, min_df, options.max_length)
    if not words.labels:
        documents = f"the {stream.n_documents:,} documents" if stream.n_documents > 1 else "the document"
        method = options.method.words
        if is_content(stream.token_flags).any():
            raise InputError(
                f"No word is in at least {min_df} of {documents}; give a lower min_df or more documents."
            )
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
    return (
        first_row[document] + place // passage_sentences,
        parent,
        np.arange(len(parent)) - first_row[parent],
    )


def _tally(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    ones = np.ones(len(rows), np.int32)
    tally = sparse.csr_array(sparse.coo_array((ones, (rows, columns)), shape=shape))
    tally.sum_duplicates()
    tally.sort_indices()
    return tally


def row_texts(texts: Iterable[str], counted: CountedTexts, is_passages: bool) -> list[str]:
    """Return the raw text of every row."""
    clean = map(clean_text, texts)
    if not is_passages:
        return list(clean)
    of_document = np.split(counted.spans, np.searchsorted(counted.parent, range(1, counted.parent[-1] + 1)))
    return [text[a:b].strip() for text, spans in zip(clean, of_document) for a, b in spans]
