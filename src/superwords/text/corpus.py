"""A corpus: sparse word counts per document, the vocabulary, and what is known of each document."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.errors import InputError
from superwords.machine import n_workers
from superwords.tabular import lines_as_html
from superwords.text import checks
from superwords.text.building import TextOptions, count_words
from superwords.text.checks import check_metadata, check_names, check_unique_words
from superwords.text.files import TextStream
from superwords.text.phrases import Method
from superwords.text.sentences import Tokenizer
from superwords.text.stream import ReadingProgress, stream_texts, stream_tokens


@dataclass(frozen=True, repr=False)
class Corpus:
    """Counts of V words in D rows: documents, or passages of them.

    Attributes
    ----------
    counts : sparse array
        (D, V) how often each row uses each word.
    vocabulary, ids : list of str
        The words, and a name for each row.
    metadata : DataFrame
        What is known of the documents: one row per row of `counts`, whatever was left out.
    parent : array or None
        The source document of each row where rows are passages.
    sentences, sentence_row : sparse array and array, or None
        Which words each sentence has, and the row of `counts` it belongs to; None for ready counts.
    texts : list of str or None
        The text of each row, if it is kept.
    notes : dict
        How words were found, and what was left out.
    """

    counts: sparse.csr_array
    vocabulary: list[str]
    metadata: pd.DataFrame
    ids: list[str]
    parent: np.ndarray | None = None
    sentences: sparse.csr_array | None = None
    sentence_row: np.ndarray | None = None
    texts: list[str] | None = None
    notes: dict[str, Any] = field(default_factory=dict)

    @property
    def n_documents(self) -> int:
        """Rows of the counts: documents, or passages of them."""
        return int(self.counts.shape[0])

    @property
    def n_words(self) -> int:
        """Words of the vocabulary."""
        return int(self.counts.shape[1])

    @property
    def n_tokens(self) -> int:
        """Words in all rows, each as often as it is used."""
        return int(self.counts.sum())

    @property
    def unit(self) -> str:
        """What a row is, as `from_texts` takes it: "document", or "passages:5"."""
        return "document" if self.parent is None else str(self.notes.get("recipe", {}).get("unit", "document"))

    def __repr__(self) -> str:
        columns = ", ".join(map(str, self.metadata.columns)) or "none"
        words = ", ".join(self.vocabulary[:8]) + (", …" if self.n_words > 8 else "")
        kept = "kept" if self.texts is not None else "not kept"
        return (
            f"Corpus of {counted_rows(self)}: {self.n_words:,} different words, {self.n_tokens:,} in all.\n"
            f"Words: {words}\nMetadata: {columns}. Texts are {kept}."
        )

    def _repr_html_(self) -> str:
        return lines_as_html(repr(self))

    @classmethod
    def from_counts(
        cls,
        counts: Any,
        vocabulary: Sequence[str] | None = None,
        metadata: Any = None,
        ids: Sequence[Any] | None = None,
    ) -> Corpus:
        """Return a corpus of ready counts.

        Parameters
        ----------
        counts : array, sparse matrix or DataFrame
            (D, V) whole, non-negative numbers. The columns of a DataFrame are the words.
        vocabulary : list of str, optional
            The words; "word0", "word1", … if nothing names them.
        metadata : DataFrame or mapping, optional
            What is known of the documents, a row for each.
        ids : list, optional
            A name for each document; those of a DataFrame are its index.

        Returns
        -------
        Corpus

        Examples
        --------
        >>> import pandas as pd
        >>> from superwords import Corpus
        >>> Corpus.from_counts(pd.DataFrame({"tea": [2, 0], "ink": [0, 1]})).vocabulary
        ['tea', 'ink']
        """
        if isinstance(counts, pd.DataFrame):
            vocabulary = [str(word) for word in counts.columns] if vocabulary is None else vocabulary
            ids = counts.index.tolist() if ids is None and counts.index.is_unique else ids
            is_sparse = all(isinstance(kind, pd.SparseDtype) for kind in counts.dtypes)
            counts = getattr(counts, "sparse").to_coo() if is_sparse else counts  # noqa: B009 (the stubs lack it)
        matrix = checks.check_counts(counts)
        n_documents, n_words = matrix.shape
        words = [f"word{i}" for i in range(n_words)] if vocabulary is None else [str(w) for w in vocabulary]
        if len(words) != n_words:
            raise InputError(
                f"The vocabulary has {len(words)} words but the counts have {n_words} columns; "
                "give one word per column."
            )
        names = check_names(ids, n_documents)
        return cls(matrix, check_unique_words(words), check_metadata(metadata, n_documents), names)

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str],
        ids: Sequence[Any] | None = None,
        metadata: Any = None,
        language: str | Sequence[str] = "en",
        min_df: float | str = "auto",
        unit: str = "document",
        *,
        max_df: float | None = None,
        words: str | None = None,
        tagger: str | None = None,
        lemmas: bool | None = None,
        drop: Iterable[str] | str | Path | None = None,
        drop_procedural: bool = False,
        tokenizer: Tokenizer | None = None,
        vocabulary: Sequence[str] | None = None,
        recipe: Mapping[str, Any] | None = None,
        keep_texts: bool | None = None,
        n_jobs: int | None = None,
        progress: ReadingProgress | None = None,
    ) -> Corpus:
        """Return a corpus of raw texts; docs/text.md explains how words are found.

        Parameters
        ----------
        texts : iterable of str
            One per document.
        ids, metadata
            As in `from_counts`.
        language : str or list of str
            One code such as "en", or one per document.
        min_df, max_df : int, float or "auto"
            Words in fewer or in more documents, a number or a share of them, are left out; "auto" chooses min_df.
        unit : str
            What a row is: "document", or "passages:5" for five sentences.
        words : str, optional
            "content" (noun phrases and names, and behind them verbs and adjectives; the default where the
            language can be tagged), "phrases" (noun phrases and names alone), "plain" or "ngrams:2".
        tagger : str, optional
            "spacy:NAME" for an installed spaCy pipeline to tag with.
        lemmas : bool, optional
            Whether to count words by their lemmas.
        drop : list of str or path, optional
            Words to leave out.
        drop_procedural : bool
            Whether to leave out words that are mere procedure.
        tokenizer : function, optional
            Takes a sentence and returns its words; replaces the built-in rules, and words are plain ones.
        vocabulary, recipe : list of str and mapping, optional
            Count exactly these words, or find words as the corpus did whose `notes["recipe"]` it is.
        keep_texts : bool, optional
            Whether to keep the texts; by default, if they are in memory already.
        n_jobs : int, optional
            Processes that tag; all cores if not given.
        progress : function, optional
            Called with the number of documents read and of all documents.

        Returns
        -------
        Corpus

        Examples
        --------
        >>> from superwords import Corpus
        >>> corpus = Corpus.from_texts(["Tea with milk.", "Black tea, no milk."], min_df=2, n_jobs=1)
        >>> corpus.vocabulary
        ['milk', 'tea']
        """
        if isinstance(texts, str):
            raise InputError("The texts are one string; give a list with one string per document.")
        is_stored = hasattr(texts, "__len__") and iter(texts) is not texts
        documents: Any = texts if is_stored else list(texts)
        n_documents = len(documents)
        if n_documents == 0:
            raise InputError("There are no documents; give at least one text.")
        languages = checks.check_languages(language, n_documents)
        codes = {languages} if isinstance(languages, str) else set(languages)
        units = None
        if recipe is None:
            method = checks.word_method(words, codes, tagger, lemmas, tokenizer)
        else:
            method, known, units = checks.read_recipe(recipe, tokenizer)
            if known is not None and isinstance(languages, str):
                languages = known
        columns = None if vocabulary is None else check_unique_words(vocabulary)
        if units is None and columns is not None:
            units = checks.units_of_labels(columns, codes, method)
        how = (checks.passage_length(unit), min_df, max_df, checks.words_to_drop(drop), drop_procedural)
        names, table = check_names(ids, n_documents), check_metadata(metadata, n_documents)
        of_all, of_each = (languages, repeat(languages)) if isinstance(languages, str) else (None, languages)
        stream = stream_texts(documents, of_each, method, n_workers(n_jobs), progress)
        is_kept = not isinstance(documents, TextStream) if keep_texts is None else keep_texts
        kept = documents if is_kept else None
        return cls(**count_words(stream, TextOptions(method, *how, units, columns), names, table, of_all, kept))

    @classmethod
    def from_tokens(
        cls,
        documents: Iterable[Sequence[str] | Sequence[Sequence[str]]],
        ids: Sequence[Any] | None = None,
        metadata: Any = None,
        min_df: float | str = "auto",
        unit: str = "document",
        *,
        max_df: float | None = None,
        drop: Iterable[str] | str | Path | None = None,
        vocabulary: Sequence[str] | None = None,
    ) -> Corpus:
        """Return a corpus of ready tokens, each of which is a word.

        Parameters
        ----------
        documents : iterable of lists
            A document is a list of tokens (one sentence), or a list of sentences, each a list of tokens.
        ids, metadata, min_df, max_df, unit, drop, vocabulary
            As in `from_texts`.

        Returns
        -------
        Corpus

        Examples
        --------
        >>> from superwords import Corpus
        >>> Corpus.from_tokens([["tea", "milk"], ["tea"]], min_df=1).n_tokens
        3
        """
        sentences = [checks.check_sentences(document, d) for d, document in enumerate(documents)]
        if not sentences:
            raise InputError("There are no documents; give at least one list of tokens.")
        names, table = check_names(ids, len(sentences)), check_metadata(metadata, len(sentences))
        columns = None if vocabulary is None else check_unique_words(vocabulary)
        units = None if vocabulary is None else {word: word for word in vocabulary}
        how = (checks.passage_length(unit), min_df, max_df, checks.words_to_drop(drop), False)
        return cls(
            **count_words(stream_tokens(sentences), TextOptions(Method("tokens"), *how, units, columns), names, table)
        )


def row_name(corpus: Corpus) -> str:
    """Return what the rows of a corpus are: documents, or passages of them."""
    return "documents" if corpus.parent is None else "passages"


def n_sources(corpus: Corpus) -> int:
    """Return how many documents the rows were cut from: as many as there are rows if they were not cut."""
    return corpus.n_documents if corpus.parent is None else len(np.unique(corpus.parent))


def counted_rows(corpus: Corpus) -> str:
    """Return how many rows a corpus has: "360 documents", or "8,440 passages of 30 documents"."""
    of = "" if corpus.parent is None else f" of {n_sources(corpus):,} documents"
    return f"{corpus.n_documents:,} {row_name(corpus)}{of}"


def fitted_groups(corpus: Corpus) -> list[Any]:
    """Return the columns that were given to `fit` as groups."""
    return [name for name in corpus.notes.get("groups", []) if name in corpus.metadata]


def named_column(metadata: pd.DataFrame, name: Any) -> pd.Series:
    """Return a column by its name, or by its name as text."""
    for one in metadata:
        if one == name or str(one) == str(name):
            return metadata[one]
    known = ", ".join(repr(str(one)) for one in metadata)
    have = f"the columns are {known}" if known else "the corpus has no metadata"
    raise InputError(f"There is no column {name!r}; {have}.")


def documents_using(counts: sparse.csr_array) -> np.ndarray:
    """Return (V) how many documents use a word, of counts without stored zeros, as a corpus's are."""
    return np.bincount(counts.indices, minlength=counts.shape[1])
