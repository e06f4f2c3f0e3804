"""Read documents of any kind into a corpus, and report the choices made."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.errors import InputError, ReadingWarning
from superwords.text.checks import check_languages, passage_length, threshold, word_method, words_to_drop
from superwords.text.corpus import Corpus, counted_rows, n_sources, named_column
from superwords.text.files import few, files_of, is_missing
from superwords.text.languages import doubtful_language, has_stop_words
from superwords.text.sentences import LONGEST_TOKEN
from superwords.text.sources import Documents, open_documents
from superwords.text.stream import ReadingProgress
from superwords.text.vocabulary import FEW_DOCUMENTS, FEW_WORDS, LOWEST

Say = Callable[[str], None]

PASSAGES = "passages:5"
LONG = 100  # words in a document on average
TEXTS_KEPT_BELOW = 20_000_000  # bytes of input
MANY_EMPTY = 0.1  # share of the documents
LANGUAGE_COLUMN = "column:"
SINGLE, SHORT = 1.2, 25  # sentences and words of a document below which it says too little
MISSING = frozenset({"na", "n/a", "nan", "null", "none", "-", "?", "."})  # groups that are none
MOST_GROUPS = 12  # values of a column that is proposed as groups
LEAST_ROWS = 5  # documents of a group on average
_ISO = re.compile(r"\s*\d{4}(-\d{1,2}(-\d{1,2})?([T ].*)?|/\d{1,2}/\d{1,2})?\s*")
_DATE_NAME = re.compile(r"(?:^|_)(date|datum|datetime|fecha|data|day|published|created)(?:$|_)", re.IGNORECASE)
_OTHER_DATE = re.compile(r"\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b.*|\s*[^\W\d_]{3,12}\.? \d{1,2},? \d{4}\s*")
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
    encoding: str | None = None,
    date_format: str | None = None,
    progress: ReadingProgress | None = None,
    say: Say = lambda line: None,
    **options: Any,
) -> Corpus:
    """Return a corpus of documents of any kind.

    Parameters
    ----------
    documents : list of str, Series, DataFrame, path, "-", counts or Corpus
        Texts (or lists of tokens) in memory; the path of a file or folder (docs/text.md lists the kinds);
        "-" for standard input; sparse counts with their `vocabulary`. A Corpus is returned as it is.
    text, id : str, optional
        The columns that hold the text and the name of each document; "text" (or the only column) and "id"
        if not given.
    groups : str or list of str, optional
        Columns to compare later, such as party; kept in `corpus.notes["groups"]`.
    language : str or list of str
        A code such as "en", one code per document, or "column:NAME" for the column that holds them.
    unit : str, optional
        As of `Corpus.from_texts`; chosen by the length of documents if not given.
    keep_texts : bool, optional
        Whether to keep the texts in the corpus; by default those in memory and of files below 20 MB.
    vocabulary : list of str or path, optional
        The words of ready counts.
    encoding : str, optional
        The encoding of text files; UTF-8, or a guess if the file is not UTF-8.
    date_format : str, optional
        The notation of dates in the metadata, such as "%d.%m.%Y", if it is not YYYY-MM-DD.
    say : function, optional
        Called with each sentence about what was chosen and found.
    n_jobs, progress, **options
        As of `Corpus.from_texts`: min_df, max_df, words, tagger, lemmas, drop, drop_procedural, tokenizer.

    Returns
    -------
    Corpus

    Examples
    --------
    >>> from superwords.text.read import read_documents
    >>> corpus = read_documents(["The dog saw a cat.", "One cat slept near a dog."], min_df=2)
    >>> corpus.vocabulary
    ['cat', 'dog']
    """
    if isinstance(documents, Corpus):
        columns = group_columns(groups, documents.metadata)
        return replace(documents, notes={**documents.notes, "groups": columns}) if columns else documents
    found = open_documents(documents, text, id, encoding, vocabulary=vocabulary)
    columns = group_columns(groups, found.metadata)
    found = _with_columns(found, columns, date_format)
    for line in (*found.notes, *_proposals(found.metadata, columns)):
        say(line)
    given = {name: value for name, value in options.items() if value is not None}
    codes = warn_about(found, language)
    if found.are_tokens:
        given = {name: given[name] for name in ("min_df", "max_df", "drop") if name in given}
        given["unit"] = unit or "document"
    elif found.counts is None:
        if keep_texts is None:
            is_file = isinstance(documents, str | Path) and str(documents) != "-"
            size = sum(path.stat().st_size for path in files_of(Path(documents))) if is_file else 0
            keep_texts = size < TEXTS_KEPT_BELOW
        if keep_texts:
            found = replace(found, texts=list(found.texts))
        unit = unit or (PASSAGES if are_long(text for _, text in found.sample) else "document")
        given |= {"language": codes, "unit": unit, "keep_texts": keep_texts, "n_jobs": n_jobs, "progress": progress}
    corpus = count_documents(found, **given)
    if columns:
        corpus = replace(corpus, notes={**corpus.notes, "groups": columns})
    for line in corpus_lines(corpus):
        say(line)
    for line in corpus_warnings(corpus, bool(options.get("drop_procedural"))):
        _warn(line)
    return corpus


def count_documents(documents: Documents, **options: Any) -> Corpus:
    """Return a corpus of documents as they were read; options as of `from_texts` or `from_tokens`, none for counts."""
    if documents.counts is not None:
        return Corpus.from_counts(documents.counts, documents.vocabulary, documents.metadata, documents.ids)
    make = Corpus.from_tokens if documents.are_tokens else Corpus.from_texts
    return make(documents.texts, documents.ids, documents.metadata, **options)


def _warn(message: str) -> None:
    """Warn at the line outside of this package that asked for the reading."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(str(Path(__file__).parents[1])):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, ReadingWarning, stacklevel=level)


def warn_about(documents: Documents, language: str | Sequence[str]) -> str | list[str]:
    """Warn of what is wrong with documents and their language; return the language of all, or of each."""
    for problem in documents.doubts:
        _warn(problem)
    if documents.counts is not None or documents.are_tokens:
        return "none"
    codes = _document_languages(language, documents)
    of_sample = codes if isinstance(codes, str) else [codes[n] for n, _ in documents.sample]
    doubt = doubtful_language((text for _, text in documents.sample), of_sample)
    if doubt is not None:
        _warn(doubt)
    for code in sorted({codes} if isinstance(codes, str) else set(codes)):
        if code != "none" and not has_stop_words(str(check_languages(code))):
            _warn(f"There is no stop-word list for the language {code!r}, so every word counts.")
    return codes


def _with_columns(documents: Documents, groups: list[Any], date_format: str | None) -> Documents:
    """Return documents with dates parsed and missing groups missing, and what is doubtful about them."""
    metadata, doubts = documents.metadata.copy(deep=False), list(documents.doubts)
    if date_format is not None:
        _parse_dates(metadata, date_format)
    for name, values in metadata.items():
        if _DATE_NAME.search(str(name)) and _all_match(values, _OTHER_DATE):
            example = next(value for value in values if not _is_missing(value))
            doubts.append(
                f"The column {name!r} has dates such as {example!r}, which trends cannot order; "
                "give the date format (--date-format %d.%m.%Y)."
            )
    for name in groups:
        is_none = metadata[name].map(lambda value: isinstance(value, str) and value != "" and _is_missing(value))
        if is_none.any():
            metadata[name] = metadata[name].mask(is_none.astype(bool))
            doubts.append(f'The column {name!r} has {is_none.sum():,} values such as "NA", which count as missing.')
    return replace(documents, metadata=metadata, doubts=tuple(doubts))


def _parse_dates(metadata: pd.DataFrame, date_format: str) -> None:
    """Turn every column whose values all have a date format into dates; raise InputError if there is none."""
    has_dates, nearest, most = False, "", 0
    for name in metadata.columns[[kind.kind not in "Mfib" for kind in metadata.dtypes]]:
        texts = metadata[name].map(lambda value: None if _is_missing(value) else str(value).strip())
        try:
            dates = pd.to_datetime(texts, format=date_format, errors="coerce")
        except (ValueError, OverflowError) as error:
            raise InputError(f"The date format {date_format!r} cannot be used: {error}.") from None
        bad = texts[texts.notna() & dates.isna()]
        n_good = int(dates.notna().sum())
        if n_good and not len(bad):
            metadata[name], has_dates = dates, True
        elif n_good > most:
            most, nearest = n_good, f" ({name!r} has {bad.iloc[0]!r} in row {int(bad.index[0]) + 1})"
    if not has_dates:
        raise InputError(f"No column has dates in the format {date_format!r}{nearest}; give a format such as %d.%m.%Y.")


def _proposals(metadata: pd.DataFrame, groups: Sequence[str]) -> Iterator[str]:
    """Yield a line about columns to compare, if none was named, and one about columns of dates."""
    by_group, dates = [], []
    for name, values in metadata.items():
        are_texts = all(isinstance(value, str) for value in values.dropna().head(200))
        with suppress(TypeError):  # lists and the like have no number of different values
            if are_texts and 2 <= (n := values.nunique()) <= MOST_GROUPS and len(values) >= LEAST_ROWS * n:
                by_group.append(str(name))
        if values.dtype.kind == "M" or _all_match(values, _ISO):
            dates.append(str(name))
    if by_group and not groups:
        yield f"Columns that could be compared: {', '.join(by_group[:5])} (groups NAME)."
    if dates:
        yield f"Columns of dates, for trends: {', '.join(dates[:5])}."


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in MISSING or not value.strip()
    return is_missing(value)


def _all_match(values: pd.Series, pattern: re.Pattern[str]) -> bool:
    known = [value for value in values if not _is_missing(value)]
    return bool(known) and all(isinstance(value, str) and pattern.fullmatch(value) for value in known)


def corpus_of(X: Any, n_jobs: int | None, progress: ReadingProgress | None, say: Say) -> Corpus:
    """Return a Corpus as it is; one of texts; or one of counts, whose words are a DataFrame's columns."""
    if isinstance(X, str | Path):
        raise InputError("X is one string; give a list of texts, or use superwords.fit for a file.")
    if isinstance(X, Corpus):
        return X
    if are_texts(X):
        return read_documents(X, n_jobs=n_jobs, progress=progress, say=say)
    return Corpus.from_counts(X)


def are_texts(X: Any) -> bool:
    """Return whether X is a list or the like of strings, by its first."""
    is_list = isinstance(X, list | tuple | pd.Series | np.ndarray) and np.ndim(X) < 2
    return is_list and len(X) > 0 and isinstance(next(iter(X)), str)


def check_options(language: str | Sequence[str] = "en", unit: str | None = None, **options: Any) -> None:
    """Refuse what no documents could be read with, before any are; options as in `read_documents`."""
    codes: str | list[str] = []
    if not str(language).startswith(LANGUAGE_COLUMN):
        codes = check_languages(language)
    if unit is not None:
        passage_length(unit)
    words, tagger, tokenizer = map(options.get, ("words", "tagger", "tokenizer"))
    word_method(words, [codes] if isinstance(codes, str) else codes, tagger, bool(options.get("lemmas")), tokenizer)
    for name in ("min_df", "max_df"):
        if options.get(name) not in (None, "auto"):
            threshold(options[name], sys.maxsize, name)
    words_to_drop(options.get("drop"))


def group_columns(groups: Any, metadata: pd.DataFrame) -> list[Any]:
    """Return the columns to group by, each of which exists; a number that names one may also be given as text."""
    given = [groups] if isinstance(groups, str) or not isinstance(groups, Iterable | None) else list(groups or ())
    return [named_column(metadata, column).name for column in given]


def are_long(texts: Iterable[str]) -> bool:
    """Return whether documents speak of so much that every concept would end up in every one of them."""
    lengths = [len(text.split()) for text in texts]
    return bool(lengths) and sum(lengths) / len(lengths) > LONG


def _document_languages(language: str | Sequence[str], documents: Documents) -> str | list[str]:
    """Return one language, or that of each document if a list or "column:NAME" is given."""
    if not isinstance(language, str):
        return check_languages(language, len(documents.ids))
    column = language.removeprefix(LANGUAGE_COLUMN)
    if column == language:
        return language
    codes = named_column(documents.metadata, column)
    n_missing = sum(is_missing(code) or not str(code).strip() for code in codes)
    if n_missing:
        raise InputError(
            f"{n_missing:,} documents have no language in the column {column!r}; "
            'give each its code, or "none" for plain words with no stop words.'
        )
    return [str(code) for code in codes]


def corpus_lines(corpus: Corpus) -> list[str]:
    """Return lines to report about a corpus before it is modelled."""
    rows = counted_rows(corpus) + (' (unit "document" would keep documents whole)' if corpus.parent is not None else "")
    notes, lines = corpus.notes, [f"{rows}, {corpus.n_words:,} different words, {corpus.n_tokens:,} in all."]
    if n_read := notes.get("words_read"):
        lines.append(f"The model reads {notes['words_used'] / n_read:.0%} of the {n_read:,} running words.")
    if "min_df_chosen" in notes:
        number, parts = notes["min_df"], notes["min_df_counts"]
        rule = f"Words in fewer than {number} {parts} are left out" if number > 1 else "No word is too rare"
        lines.append(f"{rule} (min-df {number}): {notes['min_df_chosen']}.")
    if n_sources(corpus) < FEW_DOCUMENTS:
        lines.append(f"These are too few documents for reliable concepts; at least {FEW_DOCUMENTS} are recommended.")
    if empty := notes.get("empty_documents"):
        lines.append(f"Documents that have none of these words (they are kept): {len(empty):,} ({few(empty)}).")
    if procedural := few(notes.get("procedural", [])):
        routine = f"Words that look like routine, not like a subject: {procedural}; drop-procedural leaves them out."
        lines.append(f"Procedural words left out: {procedural}." if notes["pruned"]["procedural"] else routine)
    return lines


def corpus_warnings(corpus: Corpus, drop_procedural: bool = False) -> list[str]:
    """Return what is likely to spoil the concepts of a corpus, each with what to do."""
    notes, lines = corpus.notes, []
    n_texts, n_empty = n_sources(corpus), len(notes.get("empty_documents", ()))
    if "recipe" in notes and "min_df" in notes:
        ways = ["give more or longer texts"]
        if notes["min_df"] > LOWEST:
            ways.insert(0, f"give a lower min-df than {notes['min_df']}")
        if notes["recipe"]["words"] == "phrases":
            ways.append("ask for content words, which takes verbs and adjectives too")
        advice = ", or ".join(ways)
        if corpus.n_words < FEW_WORDS:
            lines.append(f"{corpus.n_words:,} different words are too few for many concepts; {advice}.")
        if n_empty > MANY_EMPTY * n_texts:
            share = f"{n_empty:,} of the {n_texts:,} documents ({n_empty / n_texts:.0%})"
            lines.append(f"{share} have none of these words, so nothing is known about them; {advice}.")
    if notes.get("long_tokens"):
        lines.append(
            f"{notes['long_tokens']:,} tokens of more than {LONGEST_TOKEN} characters (codes, not words) were skipped."
        )
    n_sentences, n_words = notes.get("sentences", 0), notes.get("words_read", 0)
    if n_texts >= FEW_DOCUMENTS and 0 < n_sentences <= SINGLE * n_texts and n_words < SHORT * n_texts:
        lines.append(
            "Most documents are a single short sentence, and a concept needs a few words in one row; join the "
            "texts of an author, a thread or a day first."
        )
    if drop_procedural and not notes.get("procedural"):
        lines.append("No procedural words were found, so drop-procedural left none out.")
    return lines
