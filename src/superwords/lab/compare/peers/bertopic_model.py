"""BERTopic, with vectors of the documents made from the same counts: nothing is downloaded, and no torch is needed."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

from superwords.corpus.corpus import Corpus
from superwords.lab.compare.peers.fitted import Fitted
from superwords.lab.compare.peers.tomotopy_models import named_tokens

# HDBSCAN, its default, leaves documents out as outliers; k-means, which its guide names instead, does not.
GRID = (*({"k": k} for k in (5, 10, 20, 50, 100)), *({"min_cluster_size": size} for size in (5, 10)))
_COMPONENTS, _FEW = 50, 5  # of the vectors: for k-means, and for HDBSCAN, as BERTopic reduces them


def bertopic(corpus: Corpus, setting: Mapping[str, Any], seed: int, iterations: int) -> Fitted:
    """A topic's words weigh their c-TF-IDF. It has no iterations to choose."""
    library = import_module("bertopic")
    logging.getLogger("BERTopic").setLevel(logging.ERROR)
    filled = np.flatnonzero(np.diff(corpus.counts.indptr))
    if len(filled) < 2:
        return Fitted(np.zeros((0, corpus.n_words)), None)  # nothing to cluster
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
    vectors = document_vectors(counts, _COMPONENTS if "k" in setting else _FEW, seed)
    texts = [" ".join(words) for words in named_tokens(counts)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different documents than clusters
        topics, _ = model.fit_transform(texts, embeddings=vectors)
    n_outliers = int(min(topics) == -1)  # the outliers' topic stands first
    return Fitted(model.c_tf_idf_.toarray()[n_outliers:], None)


def document_vectors(counts: Any, n_components: int, seed: int) -> np.ndarray:
    """Latent semantic analysis: TF-IDF reduced by a singular value decomposition, of length 1."""
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    n_components = max(1, min(n_components, min(counts.shape) - 1))
    return normalize(TruncatedSVD(n_components, random_state=seed).fit_transform(weighted))
