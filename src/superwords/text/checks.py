"""Check what a corpus is made of and the options of finding words; write and read their recipe."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.errors import InputError
from superwords.text.phrases import TAGGED, Method, plain_lemmatizer, spelling_key
from superwords.text.sentences import Tokenizer, check_segmenter, tokens
from superwords.text.tagging import ADJECTIVE, HANTA_MODELS, NOUN, VERB, make_lemmatizer, make_tagger

MAX_LENGTH = 4  # tokens of a phrase
RECIPE_FORMAT = 2


def check_languages(language: str | Iterable[str], n_documents: int | None = None) -> str | list[str]:
    """Return the code of the language ("en" for "en-US"; "none" is plain words without stop words), or of each."""
    if isinstance(language, str):
        code = re.split(r"[-_]", language.strip().lower())[0]
        if code != "none" and not re.fullmatch("[a-z]{2,3}", code):
            raise InputError(
                f'The language {language!r} is not a code; give one of two or three letters such as "en", '
                'or "none" for plain words with no stop words.'
            )
        return code
    if not isinstance(language, Iterable):
        remedy = 'give a code such as "en", or one for each document'
        raise InputError("is not a language", "language", language, remedy)
    codes = [str(check_languages(str(name))) for name in language]
    if n_documents not in (None, len(codes)):
        raise InputError(
            f"There are {len(codes)} languages for {n_documents} documents; give one language, or one per document."
        )
    return codes


def word_method(
    words: str | None,
    languages: Iterable[str],
    tagger: str | None,
    lemmas: bool | None,
    tokenizer: Tokenizer | None = None,
) -> Method:
    """Return how to find words: noun phrases where the language can be tagged."""
    codes = sorted(set(languages))
    if tokenizer is not None:
        if not callable(tokenizer):
            raise InputError(f"tokenizer={tokenizer!r} cannot be called; give a function from a sentence to its words.")
        lemmas = bool(lemmas)
    else:
        for code in codes:
            check_segmenter(code)
    if words is None:
        can_tag = tokenizer is None and all(code in HANTA_MODELS for code in codes)
        words = "content" if tagger or can_tag else "plain"
    kind = str(words)
    max_length = {"content": MAX_LENGTH, "phrases": MAX_LENGTH, "plain": 1}.get(kind)
    if max_length is None:
        remedy = 'give "content", "phrases", "plain" or "ngrams:2" (or another number)'
        max_length = _number_after("ngrams", "words", words, remedy)
        kind = "ngrams" if max_length > 1 else "plain"
    for code in codes if words in TAGGED or lemmas else ():
        (make_tagger if words in TAGGED else make_lemmatizer)(code, tagger)
    return Method(kind, tagger, lemmas, tokenizer, max_length)


def passage_length(unit: str) -> int | None:
    """Return the sentences of a passage: None for "document", 5 for "passages:5"."""
    remedy = 'give "document", or "passages:5" for passages of five sentences'
    return None if unit == "document" else _number_after("passages", "unit", unit, remedy)


def _number_after(kind: str, parameter: str, value: str, remedy: str) -> int:
    """Return the number of "KIND:NUMBER"."""
    start, _, number = str(value).partition(":")
    if start != kind or not number.isdigit() or int(number) < 1:
        raise InputError("is not known", parameter, value, remedy)
    return int(number)


def threshold(value: float | str, n_documents: int, name: str) -> int:
    """Return a number of documents, given as one (10) or as a share (0.1)."""
    if isinstance(value, bool) or not isinstance(value, Real):
        also = ' or "auto"' if name == "min_df" else ""
        raise InputError("is not possible", name, value, f"give a number of documents, a share of them{also}")
    is_share = isinstance(value, float) and (0 < value < 1 or (name == "max_df" and value == 1))
    if not is_share and not (value >= 1 and value % 1 == 0):
        remedy = "give a whole number of documents (at least 1), or a share between 0 and 1"
        raise InputError("is not possible", name, value, remedy)
    if is_share:
        return max(1, round(value * n_documents))
    if name == "min_df" and value > n_documents:
        problem = f"is more than the {n_documents} documents there are"
        raise InputError(problem, "min_df", int(value), "give a lower number")
    return int(value)


def words_to_drop(drop: Iterable[str] | str | Path | None) -> tuple[str, ...]:
    """Return the words of a list, or of a file with one word per line."""
    if not isinstance(drop, Iterable | Path | None):
        raise InputError("is not a list of words", "drop", drop, "give a list, or a file with one word per line")
    if not isinstance(drop, str | Path):
        return tuple(map(str, drop or ()))
    try:
        lines = Path(drop).read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"The file of words to drop, {drop}, cannot be read ({type(error).__name__}); "
            "give a UTF-8 text file with one word per line, or a list of words."
        ) from None
    return tuple(line.strip() for line in lines if line.strip())


def recipe_of(
    method: Method, language: str | None, passage_sentences: int | None, units: Mapping[str, str | None]
) -> dict[str, Any]:
    """Return all that is needed to find the same words in new text, as plain JSON."""
    how, tokenizer = method._asdict(), method.tokenizer
    if tokenizer is not None:
        how["tokenizer"] = getattr(tokenizer, "__qualname__", type(tokenizer).__name__)
    unit = f"passages:{passage_sentences}" if passage_sentences else "document"
    return {"format": RECIPE_FORMAT, "language": language, **how, "unit": unit, "units": units}


def read_recipe(
    recipe: Mapping[str, Any], tokenizer: Tokenizer | None = None
) -> tuple[Method, str | None, dict[str, str | None]]:
    """Return how words were found; a recipe holds the name of the user's tokenizer only, so give it again."""
    known = dict(recipe) if isinstance(recipe, Mapping) else {}
    needed = {"words", "tagger", "lemmas", "max_length", "language", "units"}
    if known.get("format") != RECIPE_FORMAT or not needed <= set(known):
        raise InputError(
            f"The recipe has format {known.get('format')!r} but this version reads {RECIPE_FORMAT}; "
            "give the corpus's notes['recipe'] unchanged."
        )
    name = known.get("tokenizer")
    if name is not None and tokenizer is None:
        raise InputError(
            f"The words were found by the function {name}, which a model file does not hold; "
            "make a corpus of the new texts by Corpus.from_texts with recipe= and tokenizer=."
        )
    how = (known["words"], known["tagger"], known["lemmas"], tokenizer if name else None)
    return Method(*how, int(known["max_length"])), known["language"], dict(known["units"])


def units_of_labels(labels: Sequence[str], languages: Iterable[str], method: Method) -> dict[str, str | None]:
    """Return the joined spelling of each word of a bare vocabulary, as reading it in a text would give it."""
    classes = (NOUN, ADJECTIVE) if method.words == "phrases" else (NOUN, ADJECTIVE, VERB)

    def base_of(word: str, language: str) -> str:
        if method.words not in TAGGED:
            return plain_lemmatizer(language, method)([word])[0]
        bases = (make_tagger(language, method.tagger).base(word, kind) for kind in classes)
        return next((one for one in bases if one != word.lower()), word)

    units: dict[str, str | None] = {}
    for language in sorted(languages):
        for label in labels:
            words = (token for token in tokens(label, language, method.tokenizer) if token[0].isalnum())
            spelling = "".join(spelling_key(base_of(word, language).lower()) for word in words)
            units.setdefault(spelling, label)
    return units


def check_counts(counts: Any) -> sparse.csr_array:
    """Return the counts as a sorted int32 CSR array, or raise InputError for an invalid entry."""
    if not sparse.issparse(counts):
        try:
            counts = np.asarray(counts, dtype=float)
        except (TypeError, ValueError):
            raise InputError(
                "The counts are not numbers; give a documents-by-words array of whole, non-negative counts, "
                "or texts as a corpus made by Corpus.from_texts."
            ) from None
        if counts.ndim != 2:
            raise InputError(
                f"The counts have {counts.ndim} dimension(s); give a two-dimensional array, "
                "one row per document and one column per word."
            )
    matrix = sparse.csr_array(counts)
    for size, what, line in zip(matrix.shape, ("documents", "words"), ("row", "column"), strict=True):
        if size == 0:
            raise InputError(f"The counts hold zero {what}; give at least one {line}.")
    if matrix.dtype.kind not in "biuf":
        raise InputError(f"The counts are of type {matrix.dtype}; give whole, non-negative numbers.")
    matrix.sum_duplicates()
    data = matrix.data.astype(float)
    for bad, what in (
        (~np.isfinite(data), "not a finite number"),
        (data < 0, "negative"),
        (data != np.floor(data), "not a whole number"),
        (data > 2**31 - 1, "larger than 2,147,483,647"),
    ):
        if bad.any():
            at = int(np.flatnonzero(bad)[0])
            row = int(np.searchsorted(matrix.indptr, at, side="right")) - 1
            raise InputError(
                f"The count in row {row}, column {int(matrix.indices[at])} is {matrix.data[at]}, which is {what}; "
                "counts must be whole, non-negative numbers."
            )
    whole = sparse.csr_array((data.astype(np.int32), matrix.indices, matrix.indptr), shape=matrix.shape)
    whole.eliminate_zeros()
    whole.sort_indices()
    return whole


def check_sentences(document: Any, n: int) -> list[list[str]]:
    parts: list[Any] = [None] if isinstance(document, str) or not isinstance(document, Iterable) else list(document)
    if all(isinstance(part, str) for part in parts):
        return [parts] if parts else []
    if all(isinstance(part, list | tuple) and all(isinstance(t, str) for t in part) for part in parts):
        return [list(part) for part in parts]
    raise InputError(f"Document {n} is neither a list of tokens nor a list of sentences that are lists of tokens.")


def check_names(ids: Sequence[Any] | None, n_documents: int) -> list[str]:
    if isinstance(ids, str) or not isinstance(ids, Iterable | None):
        raise InputError("is not a list", "ids", ids, "give one id per document")
    names = list(map(str, range(n_documents) if ids is None else ids))
    if len(names) != n_documents:
        raise InputError(f"There are {len(names)} ids for {n_documents} documents; give one id per document.")
    _check_once(names, "The id {!r} is given twice, to documents {} and {}; give each its own.")
    return names


def check_unique_words(words: Sequence[str]) -> list[str]:
    """Return the words as strings."""
    if isinstance(words, str) or not len(words):
        kind = "one string" if words else "empty"
        raise InputError(f"The vocabulary is {kind}; give a list of words.")
    _check_once(words, "The vocabulary has the word {!r} twice, at positions {} and {}; give each word one column.")
    return list(map(str, words))


def _check_once(names: Sequence[str], problem: str) -> None:
    """Raise InputError for the first name that was there before, with both its places."""
    first: dict[str, int] = {}
    for n, name in enumerate(names):
        if first.setdefault(name, n) != n:
            raise InputError(problem.format(name, first[name], n))


def check_metadata(metadata: Any, n_documents: int) -> pd.DataFrame:
    try:
        given = pd.DataFrame(index=range(n_documents)) if metadata is None else metadata
        table = pd.DataFrame(given).reset_index(drop=True)
    except (TypeError, ValueError) as error:
        problem = f"The metadata are not a table ({str(error).strip('!.')})"
        raise InputError(f"{problem}; give a DataFrame, or columns of one length.") from None
    if len(table) != n_documents:
        raise InputError(f"The metadata have {len(table)} rows for {n_documents} documents; give one row per document.")
    return table
