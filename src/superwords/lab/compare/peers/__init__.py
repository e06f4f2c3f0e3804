"""The models we are compared with, each behind an adapter; one whose library is not installed is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from superwords.corpus.corpus import Corpus
from superwords.errors import InputError
from superwords.lab.compare.peers import bertopic_model, tomotopy_models, topica_models
from superwords.lab.compare.peers.fitted import Fitted

Setting = Mapping[str, Any]
ON_DOCUMENTS, ON_WINDOWS = " on documents", " on windows"


class Library(NamedTuple):
    module: str
    install: str


TOMOTOPY = Library("tomotopy", "pip install 'superwords[compare]'")
TOPICA = Library("topica", "pip install 'superwords[peers]'")
BERTOPIC = Library("bertopic", "pip install --no-deps bertopic && pip install plotly tqdm pyyaml")


class Peer(NamedTuple):
    """A model of others: its name, the settings tried, and a fit on one of them with a seed and iterations."""

    name: str
    library: Library
    grid: Sequence[Setting]
    fit: Callable[[Corpus, Setting, int, int], Fitted]


# By what they are called on the command line.
PEERS = {
    "hdp": Peer("HDP", TOMOTOPY, tomotopy_models.HDP_GRID, tomotopy_models.hdp),
    "lda": Peer("LDA", TOMOTOPY, tomotopy_models.LDA_GRID, tomotopy_models.lda),
    "topica-hdp": Peer("topica's HDP", TOPICA, topica_models.HDP_GRID, topica_models.hdp),
    "stm": Peer("STM", TOPICA, topica_models.STM_GRID, topica_models.stm),
    "corex": Peer("CorEx", TOPICA, topica_models.COREX_GRID, topica_models.corex),
    "bertopic": Peer("BERTopic", BERTOPIC, bertopic_model.GRID, bertopic_model.bertopic),
}
NEEDED = ("hdp", "lda")  # unless others are named


def is_installed(library: Library) -> bool:
    """Whether it can be imported: BERTopic without its dependencies may be there and not run."""
    try:
        import_module(library.module)
    except ImportError:
        return False
    return True


def check_installed(name: str) -> None:
    peer = PEERS[name]
    if not is_installed(peer.library):
        raise InputError(
            f"{peer.name} needs {peer.library.module}, which is not installed; run: {peer.library.install}."
        )


def left_out(names: Sequence[str]) -> list[str]:
    """One line for each library that is not installed: who is missing, and how to have them."""
    missing: dict[Library, list[str]] = {}
    for name in names:
        if not is_installed(PEERS[name].library):
            missing.setdefault(PEERS[name].library, []).append(PEERS[name].name)
    return [
        f"Left out, as {library.module} is not installed: {', '.join(who)} ({library.install})."
        for library, who in missing.items()
    ]


def peer_of(model: str) -> Peer:
    """The peer of a row such as `LDA on windows`."""
    name = model.removesuffix(ON_DOCUMENTS).removesuffix(ON_WINDOWS)
    return next(peer for peer in PEERS.values() if peer.name == name)


__all__ = [
    "NEEDED",
    "ON_DOCUMENTS",
    "ON_WINDOWS",
    "PEERS",
    "Fitted",
    "Peer",
    "check_installed",
    "left_out",
    "peer_of",
]
