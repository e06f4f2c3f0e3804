"""One way from any kind of documents to a corpus, with the choices made on the way said aloud."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.corpus.corpus import Corpus, n_sources
from superwords.corpus.count_cache import CountCache
from superwords.corpus.fingerprint import size_of
from superwords.corpus.languages import doubtful_language
from superwords.corpus.min_df import FEW_DOCUMENTS, FEW_WORDS, LOWEST
from superwords.corpus.recipe import language_code, passage_length, threshold, word_method, words_to_drop
from superwords.corpus.sources import Documents, open_documents
from superwords.corpus.stream import ReadingProgress
from superwords.errors import InputError

Say = Callable[[str], None]

PASSAGES = "passages:5"
LONG = 100  # words in a document on average
LOOKED_AT = 200  # documents, evenly spread, that tell their length and language
TEXTS_KEPT_BELOW = 20_000_000  # bytes of input
MANY_EMPTY = 0.1  # share of the documents
LANGUAGE_COLUMN = "column:"
EXAMPLES = 8
# What a person may ask for when texts become words; `Corpus.from_texts` explains each.
WORD_OPTIONS = ("min_df", "max_df", "words", "tagger", "lemmas", "drop", "drop_procedural")


def read_documents(
    documents: Any,
    text: str | None = None,
    id: str | None = None,
    groups: str | Sequence[str] | None = None,
    language: str | Sequence[str] = "en",
    *,
    unit: str | None = None,
    n_jobs: int | None = None,
    keep_texts: bool | None = None,
    vocabulary: Sequence[str] | str | Path | None = None,
    cache: bool = True,
    progress: ReadingProgress | None = None,
    say: Say | None = None,
    **options: Any,
) -> Corpus:
    """A corpus of documents of any kind.

    Parameters
    ----------
    documents : list of str, Series, DataFrame, path, "-", counts or Corpus
        Texts (or lists of tokens) in memory; the path of a .csv, .tsv, .jsonl (each also .gz), .parquet, .txt
        (one document per line) or .npz file or of a folder of .txt files; "-" for standard input; sparse
        counts with their `vocabulary`. A Corpus is returned as it is.
    text, id : str, optional
        The columns that hold the text and the name of each document; "text" (or the only column) and "id"
        if not given.
    groups : str or list of str, optional
        Columns to compare later, such as party; kept in `corpus.notes["groups"]`.
    language : str or list of str
        A code such as "en", one code per document, or "column:NAME" for the column that holds them.
    unit : str, optional
        "document", or "passages:5" for rows of five sentences; chosen by the length of documents if not given.
    n_jobs : int, optional
        Processes that tag; all cores if not given.
    keep_texts : bool, optional
        Whether to keep the texts in the corpus; by default those in memory and of files below 20 MB.
    vocabulary : list of str or path, optional
        The words of ready counts.
    cache : bool
        Whether the counts of large texts are kept, so that the same texts are not tagged again.
    progress : function, optional
        Called with the number of documents read and of all documents.
    say : function, optional
        Called with each sentence about what was chosen and found.
    **options
        min_df, max_df, words, tagger, lemmas, drop, drop_procedural of `Corpus.from_texts`.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> from superwords.corpus.reading import read_documents
    >>> corpus = read_documents(["The dog saw a cat.", "One cat slept near a dog."], min_df=2)
    >>> corpus.vocabulary
    ['cat', 'dog']
    """
    columns = [groups] if isinstance(groups, str) else list(groups or [])
    tell = say or (lambda line: None)
    if isinstance(documents, Corpus):
        check_groups(columns, documents.metadata)
        return _with_groups(documents, columns)
    found = open_documents(documents, text, id, vocabulary=vocabulary)
    for line in found.notes:
        tell(line)
    check_groups(columns, found.metadata)
    given = {name: value for name, value in options.items() if value is not None}
    if found.counts is not None:
        corpus = Corpus.from_documents(found)
    elif found.are_tokens:
        kept = {name: given[name] for name in ("min_df", "max_df", "drop") if name in given}
        corpus = Corpus.from_documents(found, unit=unit or "document", **kept)
    else:
        given["language"] = document_languages(language, found)
        step = max(1, len(found.ids) // LOOKED_AT)
        sample = list(islice(found.texts, 0, None, step))
        codes = given["language"]
        doubt = doubtful_language(sample, codes if isinstance(codes, str) else codes[::step])
        if doubt is not None:
            tell(f"Warning: {doubt}")
        given["unit"] = unit or (PASSAGES if are_long(sample) else "document")
        given["keep_texts"] = _are_kept(documents) if keep_texts is None else keep_texts
        given["cache"] = CountCache(tell) if cache else None
        corpus = Corpus.from_documents(found, n_jobs=n_jobs, progress=progress, **given)
    corpus = _with_groups(corpus, columns)
    for line in corpus_lines(corpus):
        tell(line)
    return corpus


def corpus_of(
    X: Any, n_jobs: int | None = None, progress: ReadingProgress | None = None, say: Say | None = None
) -> Corpus:
    """A Corpus as it is; one of texts; or one of counts, whose words are a DataFrame's columns."""
    if isinstance(X, str | Path):
        raise InputError("X is one string; give a list of texts, or use superwords.fit for a file.")
    if isinstance(X, Corpus):
        return X
    if are_texts(X):
        return read_documents(X, n_jobs=n_jobs, progress=progress, say=say)
    return Corpus.from_counts(X)


def are_texts(X: Any) -> bool:
    """Whether X is a list or the like of strings, by its first."""
    is_list = isinstance(X, list | tuple | pd.Series | np.ndarray) and np.ndim(X) < 2
    return is_list and len(X) > 0 and isinstance(next(iter(X)), str)


def check_options(language: str | Sequence[str] = "en", unit: str | None = None, **options: Any) -> None:
    """Refuse what no documents could be read with, before any are; options as in `read_documents`."""
    is_column = isinstance(language, str) and language.startswith(LANGUAGE_COLUMN)
    given = [] if is_column else [language] if isinstance(language, str) else list(language)
    codes = {language_code(code) for code in given}
    if unit is not None:
        passage_length(unit)
    word_method(options.get("words"), codes, options.get("tagger"), bool(options.get("lemmas")))
    for name in ("min_df", "max_df"):
        if options.get(name) not in (None, "auto"):
            threshold(options[name], sys.maxsize, name)
    words_to_drop(options.get("drop"))


def check_groups(groups: Iterable[str] | None, metadata: pd.DataFrame) -> None:
    """Say before the work that there is no such column to group by."""
    for column in groups or []:
        if column not in metadata.columns:
            known = ", ".join(repr(name) for name in metadata.columns) or "none"
            raise InputError(f"There is no column {column!r} to group by; the columns are {known}.")


def are_long(texts: Iterable[str]) -> bool:
    """Whether documents speak of so much that every concept would end up in every one of them."""
    lengths = [len(text.split()) for text in texts]
    return bool(lengths) and sum(lengths) / len(lengths) > LONG


def document_languages(language: str | Sequence[str], documents: Documents) -> str | list[str]:
    """One language, or that of each document if a list or "column:NAME" is given."""
    if not isinstance(language, str):
        return [str(code) for code in language]
    column = language.removeprefix(LANGUAGE_COLUMN)
    if column == language:
        return language
    if column not in documents.metadata.columns:
        raise InputError(f"There is no column {column!r} to take each document's language from.")
    return [str(code) for code in documents.metadata[column]]


def corpus_lines(corpus: Corpus) -> list[str]:
    """What a person should know of a corpus before it is modelled, one sentence or two a line."""
    rows = f"{corpus.n_documents:,} documents"
    if corpus.parent is not None:
        rows = f"{corpus.n_documents:,} passages of {n_sources(corpus):,} documents"
        rows += ' (unit "document" would keep documents whole)'
    lines = [f"{rows}, {corpus.n_words:,} different words, {corpus.n_tokens:,} in all."]
    if "min_df_chosen" in corpus.notes:
        number, parts = corpus.notes["min_df"], corpus.notes["min_df_counts"]
        told = f"Words in fewer than {number} {parts} are left out" if number > 1 else "No word is too rare"
        lines.append(f"{told} (min-df {number}): {corpus.notes['min_df_chosen']}.")
    if n_sources(corpus) < FEW_DOCUMENTS:
        lines.append(
            f"So few documents tell little: from {FEW_DOCUMENTS} on, concepts can be told from chance."
        )
    empty = corpus.notes.get("empty_documents", [])
    if empty:
        lines.append(
            f"Documents that have none of these words (they are kept): {len(empty):,} ({_few(empty)})."
        )
    lines += _thin_vocabulary(corpus)
    procedural = corpus.notes.get("procedural", [])
    if procedural and not corpus.notes["pruned"]["procedural"]:
        words = _few(procedural)
        lines.append(
            f"Words that look like routine, not like a subject: {words}; drop-procedural leaves them out."
        )
    elif procedural:
        lines.append(f"Procedural words left out: {_few(procedural)}.")
    return lines


def _thin_vocabulary(corpus: Corpus) -> list[str]:
    """Warnings, with what to do, where there are too few words for concepts or many documents have none."""
    recipe = corpus.notes.get("recipe")
    if recipe is None or "min_df" not in corpus.notes:
        return []
    ways = ["give more or longer texts"]
    if corpus.notes["min_df"] > LOWEST:
        ways.insert(0, f"give a lower min-df than {corpus.notes['min_df']}")
    if recipe["words"] == "phrases":
        ways.append("ask for plain words, which takes verbs and adjectives too")
    advice = ", or ".join(ways)
    lines = []
    if corpus.n_words < FEW_WORDS:
        lines.append(f"Warning: {corpus.n_words:,} different words are too few for many concepts; {advice}.")
    n_empty, n_documents = len(corpus.notes["empty_documents"]), n_sources(corpus)
    if n_empty > MANY_EMPTY * n_documents:
        share = f"{n_empty:,} of the {n_documents:,} documents ({n_empty / n_documents:.0%})"
        lines.append(f"Warning: {share} have none of these words, so nothing is known about them; {advice}.")
    return lines


def _with_groups(corpus: Corpus, groups: list[str]) -> Corpus:
    return replace(corpus, notes={**corpus.notes, "groups": groups}) if groups else corpus


def _are_kept(documents: Any) -> bool:
    is_file = isinstance(documents, str | Path) and str(documents) != "-"
    return not is_file or size_of(documents) < TEXTS_KEPT_BELOW


def _few(words: Sequence[str]) -> str:
    more = len(words) - EXAMPLES
    return ", ".join(words[:EXAMPLES]) + (f" and {more} more" if more > 0 else "")
