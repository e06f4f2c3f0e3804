"""Features from language models: wordllama, model2vec, sentence-transformers, spaCy."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from superwords.errors import InputError
from superwords.features.block import (
    WordFeatures,
    check_any_known,
    check_matrix,
    check_n_components,
    check_vocabulary,
    project,
)
from superwords.features.word_vectors import vectors

N_COMPONENTS = 50
WORDLLAMA = "wordllama"
_VECTORS, _TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
_BATCH = 1000  # texts tokenized at a time


def embeddings(
    name_or_folder: str | Path, vocabulary: Sequence[str], n_components: int = N_COMPONENTS
) -> WordFeatures:
    """Return embeddings of the words as (V, F) principal components.

    A phrase is encoded whole by wordllama, model2vec and sentence-transformers; with spaCy it is the mean of its
    words. Vectors are scaled to length 1 first, because their length reflects how common a word is, not its meaning.

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
        An array (V, F), NaN for words that the model does not know (or has a vector of zeros for); its `explained`
        has the share of the variance that each column explains.

    Examples
    --------
    A model has to be on the machine, so this one is not run with the tests:

    >>> from superwords import features
    >>> Y = features.embeddings("models/potion-base-8M", ["milk", "boat"])  # doctest: +SKIP
    """
    words, n_components = check_vocabulary(vocabulary), check_n_components(n_components)
    raw = encode_with(str(name_or_folder), words)
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
        raise InputError(
            f"{name}: this is a file; give a model's folder or name, or vectors:FILE for a file."
        )
    reasons, missing = [], []
    for library in _saved_by(folder) if folder.is_dir() else tuple(_ENCODERS):
        if find_spec(library) is None:
            missing.append(library)
            continue
        try:
            found = _ENCODERS[library](name, words)
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


def _saved_by(folder: Path) -> tuple[str]:
    """Return the library that saved a folder, by its files.

    A folder is model2vec's if all its modules are static embeddings, or none are listed.
    """
    if (folder / "meta.json").is_file():
        return ("spacy",)
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        modules = None
    static = ("StaticEmbedding", "Normalize")
    if isinstance(modules, list) and not all(
        isinstance(module, dict) and str(module.get("type", "")).endswith(static) for module in modules
    ):
        return ("sentence_transformers",)
    return ("model2vec",)


def _model2vec(name: str, words: list[str]) -> Any:
    from model2vec import StaticModel

    return StaticModel.from_pretrained(name).encode(words)


def _sentence_transformers(name: str, words: list[str]) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(name).encode(words, show_progress_bar=False)


_ENCODERS: dict[str, Callable[[str, list[str]], Any]] = {
    "spacy": vectors,
    "model2vec": _model2vec,
    "sentence_transformers": _sentence_transformers,
}


def text_vectors(texts: Sequence[str], model: str = WORDLLAMA) -> np.ndarray:
    """Return a vector of length 1 for each text: the mean of the vectors of its tokens.

    Parameters
    ----------
    texts : sequence of str
        Documents, passages, phrases or words.
    model : str
        "wordllama": 256 numbers for each of 32,000 tokens, from the PyPI package of that name (MIT, 16 MB;
        `pip install 'superwords[embeddings]'`).

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
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    folder = Path(spec.origin).parent
    for name in (_VECTORS, _TOKENIZER):
        if not (folder / name).is_file():
            raise InputError(f"{folder / name} is missing; install wordllama 0.4 again.")
    tokenizer = Tokenizer.from_file(str(folder / _TOKENIZER))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    (token_vectors,) = load_file(folder / _VECTORS).values()
    return tokenizer, token_vectors
