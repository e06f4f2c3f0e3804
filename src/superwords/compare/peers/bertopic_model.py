"""BERTopic as people run it: vectors of the texts by a language model, UMAP, HDBSCAN and c-TF-IDF; no torch."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

from superwords.compare.baselines import named_tokens
from superwords.compare.completion import Fitted
from superwords.features.word_vectors import WORDLLAMA, text_vectors
from superwords.text.corpus import Corpus

# HDBSCAN, its default, leaves documents out as outliers; k-means, which its guide names instead, does not.
GRID = (*({"min_cluster_size": size} for size in (10, 5, 20)), *({"k": k} for k in (5, 10, 20, 50, 100)))
_COMPONENTS, _FEW = 50, 5  # dimensions for k-means, and for HDBSCAN (as BERTopic reduces them)
_NEIGHBOURS = 15  # of UMAP, BERTopic's default


def bertopic(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    """Fit BERTopic; a topic's words weigh their c-TF-IDF, and it has no iterations to choose."""
    library = import_module("bertopic")
    logging.getLogger("BERTopic").setLevel(logging.ERROR)
    filled = np.flatnonzero(np.diff(corpus.counts.indptr))
    if len(filled) < 2:
        return Fitted(np.zeros((0, corpus.n_words)), None, np.zeros((corpus.n_documents, 0)))
    counts = corpus.counts[filled]
    if "k" in setting:
        clusters: Any = KMeans(min(setting["k"], len(filled)), n_init=10, random_state=seed)
    else:
        clusters = HDBSCAN(min_cluster_size=max(2, min(setting["min_cluster_size"], len(filled))), copy=True)
    model = library.BERTopic(
        embedding_model=import_module("bertopic.backend").BaseEmbedder(),
        umap_model=import_module("bertopic.dimensionality").BaseDimensionalityReduction(),
        hdbscan_model=clusters,
        vectorizer_model=CountVectorizer(
            vocabulary=[str(i) for i in range(corpus.n_words)], token_pattern=r"\S+", lowercase=False
        ),
    )
    vectors = row_vectors(corpus, filled, _COMPONENTS if "k" in setting else _FEW, seed)
    texts = [" ".join(words) for words in named_tokens(counts)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different documents than clusters
        topics, _ = model.fit_transform(texts, embeddings=vectors)
    # The outliers (topic −1) are no topic, but a cluster of their own in the rows: the last column.
    n_outliers = int(min(topics) == -1)
    weights = model.c_tf_idf_.toarray()[n_outliers:]
    rows = np.zeros((corpus.n_documents, len(weights) + n_outliers))
    rows[filled, np.asarray(topics)] = 1.0
    return Fitted(weights, None, rows)


def row_vectors(corpus: Corpus, filled: np.ndarray, n_components: int, seed: int) -> np.ndarray:
    """Return vectors of the rows: of their texts by wordllama, reduced by UMAP for HDBSCAN; or of their counts."""
    if corpus.texts is None or find_spec(WORDLLAMA) is None:
        return document_vectors(corpus.counts[filled], n_components, seed)
    vectors = np.nan_to_num(text_vectors([corpus.texts[d] for d in filled]))
    if n_components != _FEW or find_spec("umap") is None or len(filled) <= _NEIGHBOURS + 1:
        return vectors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        umap = import_module("umap")
        reduce = umap.UMAP(
            n_neighbors=_NEIGHBOURS, n_components=_FEW, min_dist=0.0, metric="cosine", random_state=seed, n_jobs=1
        )
        return np.asarray(reduce.fit_transform(vectors))


def document_vectors(counts: Any, n_components: int, seed: int) -> np.ndarray:
    """Return latent semantic vectors: TF-IDF reduced by a singular value decomposition, of length 1."""
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    n_components = max(1, min(n_components, min(counts.shape) - 1))
    return normalize(TruncatedSVD(n_components, random_state=seed).fit_transform(weighted))
