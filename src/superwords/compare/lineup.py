"""Who takes part: ours always, our ablations and the peers as asked for and installed, and the controls."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple

from superwords.compare.contenders import CONTROLS, OURS, SHUFFLED, UNIGRAM, WITHOUT
from superwords.compare.peers import ON_DOCUMENTS, ON_WINDOWS, PEERS, Library
from superwords.errors import InputError

NEEDED = ("hdp", "lda")  # unless others are named
# By what they are called on the command line, as are the peers.
OWN = {"without": WITHOUT, "shuffled": SHUFFLED}
NAMES = (*OWN, *PEERS)


class Lineup(NamedTuple):
    own: tuple[str, ...]  # ours under other conditions
    peers: tuple[str, ...]  # each on documents and on windows
    left_out: tuple[str, ...]  # a sentence for each library that is not installed

    @property
    def models(self) -> tuple[str, ...]:
        return (OURS, *self.own, *CONTROLS, UNIGRAM, *self.peers)

    @property
    def contests(self) -> list[tuple[str, str]]:
        """Return the contests: ours against all others; our ablations and the controls against the peers."""
        others = (*self.own, *CONTROLS)
        return [
            *((OURS, other) for other in (*self.peers, *others)),
            *((other, peer) for other in others for peer in self.peers),
        ]


def is_chosen(name: str, asked: str | None) -> bool:
    """Return whether a peer is asked for (by default all) and installed."""
    names = None if asked is None else [part.strip() for part in asked.split(",")]
    return (names is None or name in names) and is_installed(PEERS[name].library)


def is_installed(library: Library) -> bool:
    """Return whether it can be imported: BERTopic may be installed without its dependencies."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # UMAP warns that TensorFlow is missing
        try:
            import_module(library.module)
        except ImportError:
            return False
    return True


def left_out(names: Sequence[str]) -> list[str]:
    """Return one line for each library that is not installed: who is missing, and how to have them."""
    missing: dict[Library, list[str]] = {}
    for peer in (PEERS[name] for name in names):
        if not is_installed(peer.library):
            missing.setdefault(peer.library, []).append(peer.name)
    return [
        f"Left out, as {library.module} is not installed: {', '.join(who)} ({library.install})."
        for library, who in missing.items()
    ]


def make_lineup(asked: Sequence[str] | None = None) -> Lineup:
    """Return the models asked for; by default all whose library is installed.

    HDP and LDA are not left out in silence, as a comparison without them says little.
    """
    for name in asked or ():
        if name not in NAMES:
            raise InputError(f"{name!r} is not a model to compare with; choose among {', '.join(NAMES)}.")
    for peer in (PEERS[name] for name in (NEEDED if asked is None else asked) if name in PEERS):
        if not is_installed(peer.library):
            library = peer.library
            raise InputError(
                f"{peer.name} needs {library.module}, which is not installed; run: {library.install}."
            )
    chosen = NAMES if asked is None else asked
    peers = [PEERS[name].name for name in PEERS if name in chosen and is_installed(PEERS[name].library)]
    return Lineup(
        tuple(label for name, label in OWN.items() if name in chosen),
        tuple(name + rows for name in peers for rows in (ON_DOCUMENTS, ON_WINDOWS)),
        tuple(left_out([name for name in chosen if name in PEERS])),
    )
