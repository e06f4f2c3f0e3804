"""The models we are compared with, each behind an adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from superwords.compare import baselines
from superwords.compare.completion import Fitted
from superwords.compare.peers import bertopic_model, topica_models
from superwords.text.corpus import Corpus

Setting = Mapping[str, Any]
ON_DOCUMENTS, ON_WINDOWS = " on documents", " on windows"


class Library(NamedTuple):
    """A library of peers, and the command that installs it."""

    module: str
    install: str


TOMOTOPY = Library("tomotopy", "pip install 'superwords[compare]'")
TOPICA = Library("topica", "pip install 'superwords[peers]'")
BERTOPIC = Library(
    "bertopic", "pip install --no-deps bertopic && pip install umap-learn plotly tqdm pyyaml 'superwords[embeddings]'"
)


class Peer(NamedTuple):
    """A model of others: its name, the settings tried, and a fit on one of them with a seed and iterations."""

    name: str
    library: Library
    grid: Sequence[Setting]
    fit: Callable[[Corpus, Setting, int, int], Fitted]


# By what they are called on the command line.
PEERS = {
    "hdp": Peer("HDP", TOMOTOPY, baselines.HDP_GRID, baselines.hdp_peer),
    "lda": Peer("LDA", TOMOTOPY, baselines.LDA_GRID, baselines.lda_peer),
    "topica-hdp": Peer("topica's HDP", TOPICA, topica_models.HDP_GRID, topica_models.hdp),
    "stm": Peer("STM", TOPICA, topica_models.STM_GRID, topica_models.stm),
    "corex": Peer("CorEx", TOPICA, topica_models.COREX_GRID, topica_models.corex),
    "bertopic": Peer("BERTopic", BERTOPIC, bertopic_model.GRID, bertopic_model.bertopic),
}


def peer_of(model: str) -> Peer:
    """Return the peer of a row such as `LDA on windows`."""
    name = model.removesuffix(ON_DOCUMENTS).removesuffix(ON_WINDOWS)
    return next(peer for peer in PEERS.values() if peer.name == name)
