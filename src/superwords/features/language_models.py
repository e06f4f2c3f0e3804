"""Features from language models that give any word or phrase a vector: model2vec, sentence-transformers, spaCy."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from superwords.errors import InputError
from superwords.features.block import (
    WordFeatures,
    check_any_known,
    check_n_components,
    check_vocabulary,
    principal_components,
)
from superwords.features.word_vectors import check_embedding, vectors

N_COMPONENTS = 50


def embeddings(name_or_folder: str | Path, vocabulary: Sequence[str], n_components: int = 50) -> np.ndarray:
    """Embeddings of the words as (V, F) principal components; see `embedding_components`.

    Parameters
    ----------
    name_or_folder : str or path
        A model on disk, or a name that model2vec, sentence-transformers or spaCy resolves.
    vocabulary : sequence of str
        The words and phrases of the corpus.
    n_components : int
        At most so many columns.

    Returns
    -------
    numpy.ndarray
        (V, F); words that the model does not know are NaN.

    Examples
    --------
    A model has to be on the machine, so this one is not run with the tests:

    >>> from superwords import features
    >>> Y = features.embeddings("models/potion-base-8M", ["milk", "boat"])  # doctest: +SKIP
    """
    return embedding_components(name_or_folder, vocabulary, n_components).values


def embedding_components(
    name_or_folder: str | Path, vocabulary: Sequence[str], n_components: int = N_COMPONENTS
) -> WordFeatures:
    """A model's vectors projected onto principal components, with the variance each explains.

    A phrase is encoded whole by model2vec and sentence-transformers; with spaCy it is the mean of its words. A word
    with no vector (or a vector of zeros) is unknown: a NaN row. Vectors are scaled to length 1 first, because their
    length says how common a word is rather than what it means.

    Parameters
    ----------
    name_or_folder, vocabulary, n_components
        As of `embeddings`.

    Returns
    -------
    WordFeatures
        `values` (V, F), and `explained`, the share of the variance that each column explains.

    Examples
    --------
    >>> from superwords import features
    >>> block = features.embedding_components("models/potion-base-8M", ["milk", "boat"])  # doctest: +SKIP
    """
    words = check_vocabulary(vocabulary)
    n_components = check_n_components(n_components)
    raw = encode_with(str(name_or_folder), words)
    length = np.linalg.norm(raw, axis=1)
    known = np.flatnonzero(np.isfinite(length) & (length > 0))
    values = np.full_like(raw, np.nan)
    values[known] = raw[known] / length[known, None]
    check_any_known(values, str(name_or_folder))
    scores, explained = principal_components(values[known], n_components)
    projected = np.full((len(words), scores.shape[1]), np.nan)
    projected[known] = scores
    return WordFeatures(projected, explained, [f"embedding_{k + 1}" for k in range(scores.shape[1])])


def encode_with(name: str, words: list[str]) -> np.ndarray:
    """The vectors of the first library that can load the model, tried in the order that suits what is there."""
    folder = Path(name)
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"{name}: this is a file; give a model's folder or name, or vectors:FILE for a file."
        )
    libraries = _libraries(folder if folder.is_dir() else None)
    missing = [library for library, _ in libraries if find_spec(library) is None]
    reasons = []
    for library, encode in libraries:
        if library in missing:
            continue
        try:
            found = encode(name, words)
        except Exception as error:
            # Each library has its own way to say that it does not know a model.
            lines = str(error).strip().splitlines() or [type(error).__name__]
            reasons.append(f"{library}: {lines[0].rstrip('.')}")
        else:
            return check_embedding(found, len(words), name)
    if not reasons:
        raise InputError(
            f"{name}: embeddings need {' or '.join(missing)}, which is not installed; "
            "pip install 'superwords[embeddings]' brings model2vec."
        )
    raise InputError(f"{name}: no library could load this model ({'; '.join(reasons)}).")


Encoder = Callable[[str, list[str]], Any]


def _libraries(folder: Path | None) -> list[tuple[str, Encoder]]:
    """Who may load the model: the one whose folder it is, or for a name every one in turn."""
    every: dict[str, Encoder] = {
        "spacy": _spacy,
        "model2vec": _model2vec,
        "sentence_transformers": _sentence_transformers,
    }
    if folder is None:
        return list(every.items())
    if (folder / "meta.json").is_file():
        return [("spacy", _spacy)]
    if _is_static(folder):
        return [("model2vec", _model2vec)]
    return [("sentence_transformers", _sentence_transformers)]


def _is_static(folder: Path) -> bool:
    """Whether a folder is model2vec's: all its modules are static embeddings (or it has none)."""
    modules = _read_json(folder / "modules.json")
    if not isinstance(modules, list):
        return True
    of_words = ("StaticEmbedding", "Normalize")
    return all(isinstance(one, dict) and str(one.get("type", "")).endswith(of_words) for one in modules)


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def _model2vec(name: str, words: list[str]) -> Any:
    from model2vec import StaticModel

    return StaticModel.from_pretrained(name).encode(words)


def _sentence_transformers(name: str, words: list[str]) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(name).encode(words, show_progress_bar=False)


def _spacy(name: str, words: list[str]) -> Any:
    return vectors(name, words)
