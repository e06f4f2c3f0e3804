"""The models we are compared with: a table of adapters to tomotopy, topica and BERTopic."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.preprocessing import normalize

from superwords.errors import InputError, import_extra
from superwords.features.word_vectors import WORDLLAMA, text_vectors
from superwords.sampler.fold_in import Halves
from superwords.text.corpus import Corpus

ITERATIONS = 1000
DRAWS = 10  # states of a sampler over which predictions are averaged
ON_DOCUMENTS, ON_WINDOWS = " on documents", " on windows"
INSTALL = {
    "tomotopy": "pip install 'superwords[compare]'",
    "topica": "pip install 'superwords[peers]'",
    "bertopic": "pip install --no-deps bertopic && pip install umap-learn plotly tqdm pyyaml 'superwords[embeddings]'",
}
_HALF_A_TOKEN = 0.5
_INFERENCE = 100  # iterations
_COMPONENTS, _FEW = 50, 5  # dimensions for k-means, and for HDBSCAN (as BERTopic reduces them)
_NEIGHBOURS = 15  # of UMAP, BERTopic's default

Setting = Mapping[str, Any]


class Fitted(NamedTuple):
    """What the adapter of a peer returns."""

    weights: np.ndarray  # (T, V) how much a word says of a topic; 0: not in it
    predict: Callable[[Halves], np.ndarray] | None  # probability of each token, unsmoothed; None: the model has none
    rows: np.ndarray  # (D, T) weights of the topics in each row


class Peer(NamedTuple):
    """A model of others: its name, its library, the settings tried, and a fit by setting, seed and iterations."""

    name: str
    library: str
    grid: Sequence[Setting]
    fit: Callable[[Corpus, Setting, int, int], Fitted]


def tomotopy_module() -> Any:
    """Import tomotopy, or raise InputError."""
    return import_extra("tomotopy", "A topic model", "compare")


def topic_model(name: str, counts: sparse.csr_array, iterations: int, seed: int, **setting: Any) -> Any:
    """Train tomotopy's HDP, which chooses the number of topics, or its LDA with `k` of them."""
    if setting.get("k", 1) < 1:
        raise InputError(f"LDA cannot have {setting['k']} topics; give at least 1.")
    if iterations < 1:
        raise InputError(f"{iterations} iterations find no topics; give at least 1.")
    at_first = {"initial_k": 10} if name == "HDP" else {}
    model = getattr(tomotopy_module(), f"{name}Model")(seed=seed, **at_first, **setting)
    for tokens in filter(None, named_tokens(counts)):
        model.add_doc(tokens)
    if not len(model.docs):
        raise InputError("No document has a word, so there are no topics to find.")
    # One worker: with more, the same seed would not give the same topics.
    model.train(iterations, workers=1)
    return model


def named_tokens(counts: sparse.csr_array) -> list[list[str]]:
    """Return the documents as lists of tokens; a word is called by its column's number."""
    parts = zip(counts.indptr[:-1], counts.indptr[1:])
    return [np.repeat(counts.indices[a:b], counts.data[a:b]).astype(str).tolist() for a, b in parts]


def live_topics(model: Any, n_words: int) -> tuple[list[int], np.ndarray]:
    """Return the numbers of the topics in use (those of HDP come and go), and their words as (T, V) probabilities."""
    live = [t for t in range(model.k) if getattr(model, "is_live_topic", lambda _: True)(t)]
    topic_word = np.zeros((len(live), n_words))
    topic_word[:, [int(name) for name in model.used_vocabs]] = [model.get_topic_word_dist(t) for t in live]
    return live, topic_word


def topic_shares(documents: Any, live: Sequence[int]) -> np.ndarray:
    """Return the shares of the live topics in each document of tomotopy."""
    share = np.array([document.get_topic_dist() for document in documents], dtype=float)[:, live]
    return share / share.sum(axis=1, keepdims=True)


def by_mixture(doc_topic: np.ndarray, topic_word: np.ndarray, halves: Halves) -> np.ndarray:
    """Return Σ_t of a window's share of topic t times the word's probability in it."""
    return np.einsum("nt,tn->n", doc_topic[halves.row], topic_word[:, halves.word])


def assigned(topic_word: np.ndarray, tokens: np.ndarray, eta: float, n_used: int) -> np.ndarray:
    """Set the probability to 0 where a word has no token in the topic.

    What is left to such words is the prior's, the same for each: ranked, they would fill a short topic up in
    the order of the alphabet.
    """
    count = topic_word * (tokens + n_used * eta)[:, None] - eta
    return np.where(count > _HALF_A_TOKEN, topic_word, 0.0)


def mean_of(states: Sequence[Mapping[int, np.ndarray]]) -> np.ndarray:
    """Return the topics of the last state, each as its mean over the states that have it."""
    return np.array([np.mean([one[t] for one in states if t in one], axis=0) for t in states[-1]])


def _tomotopy(name: str, corpus: Corpus, setting: Setting, seed: int, iterations: int) -> Fitted:
    """Fit HDP or LDA; a topic's words are its mean over states of the second half, as ours are."""
    # States that are averaged over are as far apart as our draws: closer ones would be alike, and predict worse.
    between = max(1, iterations // (2 * DRAWS))
    model = topic_model(name, corpus.counts, max(1, iterations - (DRAWS - 1) * between), seed, **setting)

    def states() -> Iterator[tuple[list[int], np.ndarray]]:
        for draw in range(DRAWS):
            if draw:
                model.train(between, workers=1)
            yield live_topics(model, corpus.n_words)

    topics = []
    for live, topic_word in states():
        tokens = np.asarray(model.get_count_by_topics(), dtype=float)[live]
        topics.append(dict(zip(live, assigned(topic_word, tokens, float(model.eta), len(model.used_vocabs)))))
    rows = np.zeros((corpus.n_documents, len(live)))
    rows[np.flatnonzero(np.diff(corpus.counts.indptr))] = topic_shares(model.docs, live)

    def predict(halves: Halves) -> np.ndarray:
        """Average predictions over states of the sampler, which continues."""
        total = np.zeros(len(halves.row))
        for live, topic_word in states():
            documents = [model.make_doc(words) for words in named_tokens(halves.first)]
            model.infer(documents, _INFERENCE, workers=1)
            total += by_mixture(topic_shares(documents, live), topic_word, halves)
        return total / DRAWS

    return Fitted(mean_of(topics), predict, rows)


def _topica(name: str, corpus: Corpus, setting: Setting, seed: int, iterations: int) -> Fitted:
    """Fit HDP, STM without covariates (no seed changes its spectral start), or CorEx to the presence of words."""
    topica, given = import_module("topica"), dict(setting)
    names = [str(i) for i in range(corpus.n_words)]
    data = topica.Corpus.from_documents(named_tokens(corpus.counts), vocabulary=names)
    more: dict[str, Any] = {"num_threads": 1} if name != "HDP" else {"keep_theta_draws": False}
    if name == "STM":
        more |= {"prevalence": np.zeros((data.num_docs, 0)), "keep_eta_cov": False}
    if "k" in given:  # no more topics than words
        k = given.pop("k")
        given["num_topics"] = min(k, corpus.n_words) if name == "CorEx" else k
    model = getattr(topica, name)(seed=seed, **given)
    model.fit(data, iters=iterations, **more)
    doc_topic, topic_word = np.asarray(model.doc_topic), np.asarray(model.topic_word)
    rows = np.zeros((corpus.n_documents, doc_topic.shape[1]))
    rows[np.asarray(data.kept_indices)] = doc_topic
    if name == "CorEx":
        occurs = sparse.csr_array(corpus.counts[data.kept_indices] > 0, dtype=float)
        speaks_for = (occurs.T @ (doc_topic - doc_topic.mean(axis=0))).T > 0
        return Fitted(np.where(speaks_for, topic_word, 0.0), None, rows)
    tokens = doc_topic.T @ np.asarray(data.doc_lengths, dtype=float)
    weights = np.where(topic_word * tokens[:, None] > _HALF_A_TOKEN, topic_word, 0.0)
    options = {"seed": seed} if name == "HDP" else {}

    def predict(halves: Halves) -> np.ndarray:
        shares = np.asarray(model.transform(named_tokens(halves.first), **options))
        return by_mixture(shares, topic_word, halves)

    return Fitted(weights, predict, rows)


def _bertopic(corpus: Corpus, setting: Setting, seed: int, iterations: int) -> Fitted:
    """Fit BERTopic without torch; a topic's words weigh their c-TF-IDF, and it has no iterations to choose."""
    library = import_module("bertopic")
    logging.getLogger("BERTopic").setLevel(logging.ERROR)
    filled = np.flatnonzero(np.diff(corpus.counts.indptr))
    if len(filled) < 2:
        return Fitted(np.zeros((0, corpus.n_words)), None, np.zeros((corpus.n_documents, 0)))
    if "k" in setting:
        clusters: Any = KMeans(min(setting["k"], len(filled)), n_init=10, random_state=seed)
    else:
        clusters = HDBSCAN(min_cluster_size=max(2, min(setting["min_cluster_size"], len(filled))), copy=True)
    vocabulary = [str(i) for i in range(corpus.n_words)]
    model = library.BERTopic(
        embedding_model=import_module("bertopic.backend").BaseEmbedder(),
        umap_model=import_module("bertopic.dimensionality").BaseDimensionalityReduction(),
        hdbscan_model=clusters,
        vectorizer_model=CountVectorizer(vocabulary=vocabulary, token_pattern=r"\S+", lowercase=False),
    )
    vectors = _row_vectors(corpus, filled, _COMPONENTS if "k" in setting else _FEW, seed)
    texts = [" ".join(words) for words in named_tokens(corpus.counts[filled])]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer different documents than clusters
        topics, _ = model.fit_transform(texts, embeddings=vectors)
    # The outliers (topic −1) are no topic, but a cluster of their own in the rows: the last column.
    n_outliers = int(min(topics) == -1)
    weights = model.c_tf_idf_.toarray()[n_outliers:]
    rows = np.zeros((corpus.n_documents, len(weights) + n_outliers))
    rows[filled, np.asarray(topics)] = 1.0
    return Fitted(weights, None, rows)


def _row_vectors(corpus: Corpus, filled: np.ndarray, n_components: int, seed: int) -> np.ndarray:
    """Return vectors of the rows: of their texts by wordllama, reduced by UMAP for HDBSCAN; or of their counts."""
    if corpus.texts is None or find_spec(WORDLLAMA) is None:
        return document_vectors(corpus.counts[filled], n_components, seed)
    vectors = np.nan_to_num(text_vectors([corpus.texts[d] for d in filled]))
    if n_components != _FEW or find_spec("umap") is None or len(filled) <= _NEIGHBOURS + 1:
        return vectors
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"min_dist": 0.0, "metric": "cosine", "random_state": seed, "n_jobs": 1}
        reduce = import_module("umap").UMAP(n_neighbors=_NEIGHBOURS, n_components=_FEW, **options)
        return np.asarray(reduce.fit_transform(vectors))


def document_vectors(counts: Any, n_components: int, seed: int) -> np.ndarray:
    """Return latent semantic vectors: TF-IDF reduced by a singular value decomposition, of length 1."""
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(counts)
    n_components = max(1, min(n_components, min(counts.shape) - 1))
    return normalize(TruncatedSVD(n_components, random_state=seed).fit_transform(weighted))


def _grid(name: str, *values: Any) -> tuple[Setting, ...]:
    return tuple({name: value} for value in values)


def _priors(words: str, *values: tuple[float, float, float]) -> tuple[Setting, ...]:
    """Return settings of HDP; `words` is the name of the words' parameter."""
    return tuple({"alpha": alpha, words: eta, "gamma": gamma} for alpha, eta, gamma in values)


# HDP's first settings are its library's defaults; topica's samples α and γ from there, so that they matter less than
# the words' β. STM with 100 topics takes minutes on a few hundred documents. HDBSCAN, BERTopic's default, leaves
# documents out as outliers; k-means, which its guide names instead, does not.
_TOPICS = _grid("k", 5, 10, 20, 50, 100)
_HDP = _priors("eta", (0.1, 0.01, 0.1), (0.1, 0.1, 0.1), (1.0, 0.01, 1.0), (1.0, 0.1, 1.0), (1.0, 0.3, 1.0))
_TOPICA_HDP = _priors("beta", (0.1, 0.01, 0.1), (0.1, 0.1, 0.1), (1.0, 0.1, 1.0))
# By what they are called on the command line.
PEERS = {
    "hdp": Peer("HDP", "tomotopy", _HDP, partial(_tomotopy, "HDP")),
    "lda": Peer("LDA", "tomotopy", _TOPICS, partial(_tomotopy, "LDA")),
    "topica-hdp": Peer("topica's HDP", "topica", _TOPICA_HDP, partial(_topica, "HDP")),
    "stm": Peer("STM", "topica", _TOPICS[:-1], partial(_topica, "STM")),
    "corex": Peer("CorEx", "topica", _TOPICS, partial(_topica, "CorEx")),
    "bertopic": Peer("BERTopic", "bertopic", (*_grid("min_cluster_size", 10, 5, 20), *_TOPICS), _bertopic),
}
