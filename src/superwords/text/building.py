"""From texts to counts: tokens to words, words to columns, sentences or documents to rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.errors import InputError
from superwords.text import vocabulary as finding
from superwords.text.checks import recipe_of, threshold
from superwords.text.phrases import CAN_END, TAGGED, Method, is_content, spelling_key
from superwords.text.sentences import clean_text
from superwords.text.stream import LONG_TOKENS, TokenStream
from superwords.text.vocabulary import Cut, Words, document_frequency

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


class TextOptions(NamedTuple):
    """How words are found and rows are cut."""

    method: Method
    passage_sentences: int | None
    min_df: float | str
    max_df: float | None
    drop: tuple[str, ...]
    drop_procedural: bool
    units: Mapping[str, str | None] | None  # decided earlier: joined spelling → label (None: known, but not counted)
    vocabulary: list[str] | None  # the columns, if they are not all labels


def count_words(
    stream: TokenStream,
    options: TextOptions,
    names: list[str],
    metadata: pd.DataFrame,
    language: str | None = None,
    texts: Iterable[str] | None = None,
) -> dict[str, Any]:
    """Return the fields of a `Corpus`: counts of the words of a stream, or of those that were decided earlier."""
    method, size, document = options.method, options.passage_sentences, stream.sentence_document
    notes: dict[str, Any] = {
        "words_read": int(stream.document_words.sum()),
        "sentences": len(document),
        "long_tokens": stream.form_count[LONG_TOKENS],
    }
    # Every document has a row, and a passage if it has no sentence.
    n_sentences = np.bincount(document, minlength=stream.n_documents)
    n_rows = np.maximum(1, -(-n_sentences // size)) if size else np.ones_like(n_sentences)
    parent = np.repeat(np.arange(stream.n_documents), n_rows)
    first_row, first_sentence = np.cumsum(n_rows) - n_rows, np.cumsum(n_sentences) - n_sentences
    place = np.arange(len(document)) - first_sentence[document]
    row_of_sentence = first_row[document] + (place // size if size else 0)
    if options.units is None:
        words = _find_words(stream, options, row_of_sentence, notes)
        cut, units = words.cut, _kept_units(stream, words, options, notes)
    else:
        cut, units = finding.apply_words(stream, list(options.units), method.max_length), dict(options.units)
        unknown = finding.unknown_words(stream, cut)
        notes |= {"unknown_words": unknown.total(), "unknown_examples": dict(unknown.most_common(N_EXAMPLES))}
    vocabulary = options.vocabulary
    if vocabulary is None:
        vocabulary = sorted({label for label in units.values() if label is not None})
    notes["recipe"] = recipe_of(method, language, size, units)
    number: dict[str | None, int] = {label: n for n, label in enumerate(vocabulary)}
    column = np.array([number.get(label, -1) for label in units.values()], np.int32)
    of_token = column[cut.unit] if len(column) else cut.unit
    is_counted = of_token >= 0
    sentence, of_token = stream.token_sentence[cut.start][is_counted], of_token[is_counted]
    sentences = _tally(sentence, of_token, (len(document), len(vocabulary)))
    sentences.data[:] = 1
    notes["words_used"] = int(cut.length[is_counted].sum())
    empty = np.setdiff1d(np.arange(stream.n_documents), document[sentence])
    notes["empty_documents"] = [names[d] for d in empty]
    kept = None if texts is None else list(map(clean_text, texts))
    if size:
        metadata = metadata.iloc[parent].reset_index(drop=True)
        passage = np.arange(len(parent)) - first_row[parent]
        names = [f"{names[d]}#{p + 1}" for d, p in zip(parent, passage, strict=True)]
        if kept is not None:
            spans = np.zeros((len(parent), 2), np.int64)  # of a row; empty if it has no sentence
            rows, first = np.unique(row_of_sentence, return_index=True)
            last = np.append(first, len(document))[1:] - 1
            spans[rows, 0], spans[rows, 1] = stream.sentence_span[first, 0], stream.sentence_span[last, 1]
            kept = [kept[d][a:b].strip() for d, (a, b) in zip(parent, spans, strict=True)]
    return {
        "counts": _tally(row_of_sentence[sentence], of_token, (len(parent), len(vocabulary))),
        "vocabulary": list(vocabulary),
        "metadata": metadata,
        "ids": names,
        "parent": parent if size else None,
        "sentences": sentences,
        "sentence_row": row_of_sentence,
        "texts": kept,
        "notes": notes,
    }


def _tally(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> sparse.csr_array:
    """Return how often each column occurs in each row."""
    return sparse.csr_array(sparse.coo_array((np.ones(len(rows), np.int32), (rows, columns)), shape=shape))


def _find_words(stream: TokenStream, options: TextOptions, row_of_sentence: np.ndarray, notes: dict[str, Any]) -> Words:
    method, n_parts, parts = options.method, stream.n_documents, "documents"  # what min_df counts
    row = row_of_sentence[stream.token_sentence]
    part = stream.sentence_document[stream.token_sentence]
    if options.min_df == "auto":
        if options.passage_sentences is not None and stream.n_documents < finding.FEW_DOCUMENTS:
            part, n_parts, parts = row, int(row_of_sentence.max(initial=-1)) + 1, "passages"
        words, min_df, why = finding.choose_words(stream, part, n_parts, parts, row, method.max_length)
        notes["min_df_chosen"] = why
    else:
        min_df = threshold(options.min_df, stream.n_documents, "min_df")
        words = finding.find_words(stream, part, n_parts, min_df, method.max_length)
    if not words.labels:
        documents = f"the {stream.n_documents:,} documents" if stream.n_documents > 1 else "the document"
        if is_content(stream.token_flags).any():
            raise InputError(f"No word is in at least {min_df} of {documents}; give a lower min_df or more documents.")
        if method.words in TAGGED:
            what = "noun or name" if method.words == "phrases" else "noun, name, verb or adjective"
            raise InputError(f"There is no {what} in {documents}; give more text, or ask for plain words.")
        raise InputError(f"There is no word in {documents} but stop words; give more text.")
    notes |= {"min_df": min_df, "min_df_counts": parts}
    return words


def _kept_units(
    stream: TokenStream, words: Words, options: TextOptions, notes: dict[str, Any]
) -> dict[str, str | None]:
    """Return the label of each unit's spelling, None if it is too frequent or dropped."""
    cut, labels, n_units = words.cut, words.labels, len(words.labels)
    procedural = procedural_units(stream, cut, labels)
    too_frequent = np.zeros(n_units, bool)
    if options.max_df is not None:
        max_df = threshold(options.max_df, stream.n_documents, "max_df")
        document = stream.sentence_document[stream.token_sentence[cut.start]]
        too_frequent = document_frequency(cut.unit, document, n_units, stream.n_documents) > max_df
    # A word to drop is given by its label or by any spelling that occurs.
    given = {" ".join(name.lower().split()) for name in options.drop}
    joined = {spelling_key(name).replace(" ", "") for name in given}
    known = enumerate(zip(labels, words.keys, words.surfaces, strict=True))
    dropped = {
        "above_max_df": set(np.flatnonzero(too_frequent).tolist()),
        "dropped": {u for u, (name, key, forms) in known if name.lower() in given or key in joined or forms & given},
        "procedural": set(procedural) if options.drop_procedural else set(),
    }
    gone = set().union(*dropped.values())
    if len(gone) == n_units:
        remedies = {
            "above_max_df": "give a higher {max_df}",
            "dropped": "give a shorter list of words to drop",
            "procedural": "leave out {drop_procedural}",
        }
        remedy = " or ".join(way for reason, way in remedies.items() if dropped[reason])
        raise InputError(f"All {len(gone):,} words found were dropped", remedy=remedy)
    if options.method.words == "content":  # words that are mostly verbs or adjectives, not noun phrases
        is_noun = (stream.token_flags[cut.start + cut.length - 1] & CAN_END) > 0
        nouns = np.bincount(cut.unit, is_noun, minlength=n_units)
        is_other = 2 * nouns < np.bincount(cut.unit, minlength=n_units)
        notes["other_words"] = sorted(labels[u] for u in np.flatnonzero(is_other))
    unknown = finding.unknown_words(stream, cut)
    notes["procedural"] = [labels[u] for u in procedural]
    notes["pruned"] = {
        "below_min_df": len(unknown),
        "tokens_below_min_df": unknown.total(),
        **{reason: sorted(labels[u] for u in units) for reason, units in dropped.items()},
    }
    return {key: None if u in gone else label for u, (key, label) in enumerate(zip(words.keys, labels, strict=True))}


def procedural_units(stream: TokenStream, cut: Cut, labels: Sequence[str]) -> list[int]:
    """Return the procedural words, most ritual first: those often in sentences that begin alike in many documents.

    A word of most documents is procedural too if it keeps company with such words and sentences more than usual.
    """
    n_units, n_documents = len(labels), stream.n_documents
    sentence = stream.token_sentence[cut.start]
    openings, opening = np.unique(stream.sentence_opening, return_inverse=True)
    df_opening = document_frequency(opening, stream.sentence_document, len(openings), n_documents)
    is_ritual = df_opening[opening] >= max(3, round(RITUAL_DOCUMENTS * n_documents))
    is_ritual &= stream.sentence_opening != 0
    count = np.bincount(cut.unit, minlength=n_units)
    ritual_share = np.bincount(cut.unit[is_ritual[sentence]], minlength=n_units) / np.maximum(count, 1)
    spread = document_frequency(cut.unit, stream.sentence_document[sentence], n_units, n_documents) / n_documents
    bare = (label.lower() for label in labels)
    is_routine = [label in ROUTINE or not ADDRESS.isdisjoint(label.replace(".", "").split()) for label in bare]
    is_core = (ritual_share >= RITUAL_SHARE) & (spread >= RITUAL_SPREAD)
    is_core |= np.array(is_routine) & (spread >= ROUTINE_SPREAD)
    if not is_core.any():
        return []
    is_near = is_ritual.copy()
    is_near[sentence[is_core[cut.unit]]] = True
    pairs = np.unique(cut.unit.astype(np.int64) * len(is_near) + sentence)
    unit, is_near_it = pairs // len(is_near), is_near[pairs % len(is_near)]
    near_share = np.bincount(unit[is_near_it], minlength=n_units) / np.bincount(unit, minlength=n_units)
    is_company = (spread >= NEAR_SPREAD) & (near_share >= max(NEAR_SHARE, NEAR_LIFT * is_near_it.mean()))
    order = np.lexsort((np.arange(n_units), -near_share, -ritual_share * is_core))
    return [int(u) for u in order if is_core[u] or is_company[u]]
