"""Features from vectors of words: a matrix, a text file, a function, or a language model on disk."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pandas as pd

from superwords.errors import InputError, whole_number
from superwords.features.block import WordFeatures, check_any_known, check_matrix, find_word, project, spellings
from superwords.text.checks import check_unique_words

N_COMPONENTS = 50
WORDLLAMA = "wordllama"
_VECTORS, _TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
_BATCH = 1000  # texts tokenized at a time


def vectors(source: Any, vocabulary: Sequence[str]) -> np.ndarray:
    """Return a vector for each word; a phrase without one gets the mean of those of its words.

    Parameters
    ----------
    source : tuple, mapping, DataFrame, array, path, str or function
        `(matrix, words)`; a dict word → vector; a DataFrame with the words as index; the path of a word2vec or GloVe
        text file, also .gz; the name of an installed spaCy pipeline that has vectors; an array (V, F), or a function
        from a list of words and phrases to one.
    vocabulary : sequence of str
        The words and phrases of the corpus.

    Returns
    -------
    numpy.ndarray
        (V, F), NaN where a word has no vector.

    Examples
    --------
    >>> from superwords import features
    >>> features.vectors({"ice": [0.0, 1.0], "cream": [0.0, 3.0]}, ["ice cream", "boat"])
    array([[ 0.,  2.],
           [nan, nan]])
    """
    words = check_unique_words(vocabulary)
    if callable(source) or isinstance(source, np.ndarray):
        matrix = source(list(words)) if callable(source) else source
        return check_matrix(matrix, "The function's result" if callable(source) else "The matrix", len(words))
    name = "the vectors given"
    if isinstance(source, pd.DataFrame):
        known = _by_word(source.to_numpy(), list(source.index))
    elif isinstance(source, Mapping):
        known = _by_word(list(source.values()), list(source))
    elif isinstance(source, tuple) and len(source) == 2:
        known = _by_word(*source)
    elif isinstance(source, str | Path):
        read, name = _read_vectors if Path(source).is_file() else _spacy_vectors, str(source)
        known = read(name, words)
    else:
        raise InputError(
            f"The vectors are of type {type(source).__name__}; give (matrix, words), a file, "
            "the name of a spaCy pipeline or a function."
        )
    values = np.full((len(words), len(next(iter(known.values()), [0]))), np.nan)
    for i, word in enumerate(words):
        own = find_word(known, word)
        parts = [own] if own is not None else [find_word(known, piece) for piece in _pieces(word)]
        if found := [part for part in parts if part is not None]:
            values[i] = np.mean(found, axis=0)
    check_any_known(values, name)
    return values


def _pieces(word: str) -> list[str]:
    return word.replace("_", " ").split()


def _needed_keys(words: list[str]) -> set[str]:
    return {key for word in words for part in (word, *_pieces(word)) for key in spellings(part)}


def _by_word(matrix: Any, words: Sequence[Any]) -> dict[str, np.ndarray]:
    rows = check_matrix(matrix, "The matrix of vectors", len(words))
    return {str(word): row for word, row in zip(words, rows, strict=True) if not np.isnan(row).any()}


def _spacy_vectors(name: str, words: list[str]) -> dict[str, np.ndarray]:
    try:
        import spacy
    except ImportError:
        raise InputError(f"{name}: there is no such file, and spaCy is not installed to load it by name.") from None
    try:
        vocab = spacy.load(name).vocab
    except OSError:
        raise InputError(f"{name}: there is no such file and no spaCy pipeline of that name.") from None
    if vocab.vectors_length == 0:
        raise InputError(f"The spaCy pipeline {name} has no word vectors; use one of its _md or _lg sisters.")
    needed = filter(vocab.has_vector, _needed_keys(words))
    return {key: np.asarray(vocab.get_vector(key), dtype=float) for key in needed}


def _read_vectors(path: str, words: list[str]) -> dict[str, np.ndarray]:
    """Read the vectors that are needed, line by line: the file may be larger than memory."""
    opener: Callable[..., TextIO] = gzip.open if path.lower().endswith(".gz") else open
    needed, known, width = _needed_keys(words), {}, 0
    try:
        with opener(path, "rt", encoding="utf-8", errors="replace") as lines:
            for number, line in enumerate(lines, start=1):
                first = line.split(maxsplit=1)[:1]
                if not first or (width and first[0] not in needed):
                    continue
                fields = line.split()
                if number == 1 and len(fields) == 2 and all(field.isdigit() for field in fields):
                    width = int(fields[1])  # word2vec's header "words length"
                    continue
                width = width or len(fields) - 1
                if len(fields) <= width or not width:
                    problem = f"a word and {width or 'some'} numbers are expected here"
                    raise InputError(f"{path}, line {number}: {problem}.")
                # Some words hold spaces themselves, so the numbers are counted from the right.
                word = " ".join(fields[:-width])
                if word not in needed or word in known:
                    continue
                with suppress(ValueError):
                    known[word] = np.array(fields[-width:], dtype=float)
                if not np.isfinite(known.get(word, np.nan)).all():
                    raise InputError(f"{path}, line {number}: the word is not followed by finite numbers only.")
    except (OSError, EOFError, zlib.error):
        raise InputError(f"{path}: this file of vectors cannot be read; it may be cut short or damaged.") from None
    return known


def embeddings(name_or_folder: str | Path, vocabulary: Sequence[str], n_components: int = N_COMPONENTS) -> WordFeatures:
    """Return embeddings of the words, scaled to length 1, as principal components.

    Parameters
    ----------
    name_or_folder : str or path
        "wordllama", whose vectors come with its package; a model on disk; or a name that model2vec,
        sentence-transformers or spaCy resolves.
    vocabulary : sequence of str
        The words and phrases of the corpus.
    n_components : int
        The largest number of columns.

    Returns
    -------
    WordFeatures
        (V, F), NaN for words that the model does not know (or has a vector of zeros for).

    Examples
    --------
    >>> from superwords import features
    >>> Y = features.embeddings("models/potion-base-8M", ["milk", "boat"])  # doctest: +SKIP
    """
    words, n_components = check_unique_words(vocabulary), whole_number("n_components", n_components)
    raw = encode_with(str(name_or_folder), words)
    # The length of a vector reflects how common a word is, not its meaning.
    length = np.linalg.norm(raw, axis=1)
    known = np.flatnonzero(np.isfinite(length) & (length > 0))
    check_any_known(np.where(length > 0, length, np.nan), str(name_or_folder))
    return project(raw[known] / length[known, None], known, len(words), n_components, "embedding")


def encode_with(name: str, words: list[str]) -> np.ndarray:
    """Return the vectors of the first library that can load the model."""
    folder = Path(name)
    if name == WORDLLAMA and not folder.exists():
        return check_matrix(text_vectors(words, name), name, len(words))
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{name}: this is a file; give a model's folder or name, or vectors:FILE for a file.")
    reasons, missing = [], []
    for library in [_saved_by(folder)] if folder.is_dir() else _ENCODERS:
        if find_spec(library) is None:
            missing.append(library)
            continue
        try:
            found = _ENCODERS[library](import_module(library), name, words)
        except Exception as error:
            # Each library has its own exceptions for a model that it does not know.
            lines = str(error).strip().splitlines() or [type(error).__name__]
            reasons.append(f"{library}: {lines[0].rstrip('.')}")
        else:
            return check_matrix(found, name, len(words))
    if not reasons:
        raise InputError(
            f"{name}: embeddings need {' or '.join(missing)}, which is not installed; "
            "pip install 'superwords[embeddings]' brings model2vec."
        )
    raise InputError(f"{name}: no library could load this model ({'; '.join(reasons)}).")


def _saved_by(folder: Path) -> str:
    """Return the library that saved a folder; model2vec's modules are static embeddings, or not listed."""
    if (folder / "meta.json").is_file():
        return "spacy"
    with suppress(OSError, ValueError, AttributeError, TypeError):
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        if not all(module.get("type", "").endswith(("StaticEmbedding", "Normalize")) for module in modules):
            return "sentence_transformers"
    return "model2vec"


_ENCODERS: dict[str, Callable[[Any, str, list[str]], Any]] = {
    "spacy": lambda spacy, name, words: vectors(name, words),
    "model2vec": lambda library, name, words: library.StaticModel.from_pretrained(name).encode(words),
    "sentence_transformers": lambda library, name, words: library.SentenceTransformer(name).encode(
        words, show_progress_bar=False
    ),
}


def text_vectors(texts: Sequence[str], model: str = WORDLLAMA) -> np.ndarray:
    """Return a vector of length 1 for each text: the mean of the vectors of its tokens.

    Parameters
    ----------
    texts : sequence of str
        Documents, passages, phrases or words.
    model : str
        "wordllama" (`pip install 'superwords[embeddings]'`).

    Returns
    -------
    numpy.ndarray
        (N, 256) of float32; a text without a token has a row of NaN.

    Examples
    --------
    >>> from superwords import features
    >>> texts = ["a cup of tea", "a cup of coffee", "a bill on tax law"]
    >>> tea, coffee, law = features.text_vectors(texts)  # doctest: +SKIP
    >>> tea @ coffee > tea @ law  # doctest: +SKIP
    True
    """
    if model != WORDLLAMA:
        raise InputError(f"model={model!r} has no text vectors; give {WORDLLAMA!r}.")
    if isinstance(texts, str):
        raise InputError("The texts are one string; give a list with one string per text.")
    tokenizer, token_vectors = _wordllama()
    out = np.full((len(texts), token_vectors.shape[1]), np.nan, dtype=np.float32)
    for start in range(0, len(texts), _BATCH):
        encoded = tokenizer.encode_batch(list(texts[start : start + _BATCH]), add_special_tokens=False)
        for row, tokens in enumerate(encoded, start):
            if tokens.ids:
                mean = token_vectors[tokens.ids].mean(axis=0, dtype=np.float32)
                length = float(np.linalg.norm(mean))
                out[row] = mean / length if length > 0 else np.nan
    return out


@lru_cache(maxsize=1)
def _wordllama() -> tuple[Any, np.ndarray]:
    """Return the tokenizer and the (tokens, 256) vectors that the wheel carries.

    The package's own loader looks for both in a cache folder of the user and then online.
    """
    spec = find_spec(WORDLLAMA)
    missing = [name for name in ("safetensors", "tokenizers") if find_spec(name) is None]
    if spec is None or spec.origin is None or missing:
        needed = ", ".join(missing or [WORDLLAMA])
        raise InputError(f"wordllama needs {needed}; run: pip install 'superwords[embeddings]'.")
    paths = [Path(spec.origin).parent / name for name in (_VECTORS, _TOKENIZER)]
    if absent := [path for path in paths if not path.is_file()]:
        raise InputError(f"{absent[0]} is missing; install wordllama 0.4 again.")
    (token_vectors,) = import_module("safetensors.numpy").load_file(paths[0]).values()
    tokenizer = import_module("tokenizers").Tokenizer.from_file(str(paths[1]))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, token_vectors
