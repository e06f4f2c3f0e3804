"""Who takes part: ours always, our ablations and the peers as asked for and installed, and the controls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from superwords.errors import InputError
from superwords.lab.compare.contenders import CONTROLS, OURS, SHUFFLED, START, UNIGRAM, WITHOUT
from superwords.lab.compare.peers import (
    NEEDED,
    ON_DOCUMENTS,
    ON_WINDOWS,
    PEERS,
    check_installed,
    is_installed,
    left_out,
)

# By what they are called on the command line, as are the peers.
OWN = {"without": WITHOUT, "shuffled": SHUFFLED, "start": START}
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
        """Ours against all others; our ablations and the controls against the peers."""
        others = [name for name in (*self.own, *CONTROLS) if name != START]
        return [
            *((OURS, other) for other in (*self.peers, *self.own, *CONTROLS)),
            *((other, peer) for other in others for peer in self.peers),
        ]


def make_lineup(asked: Sequence[str] | None = None) -> Lineup:
    """Those that are asked for; by default all, without the peers whose library is not installed.

    HDP and LDA are not left out in silence, as a comparison without them says little.
    """
    for name in asked or ():
        if name not in NAMES:
            raise InputError(f"{name!r} is not a model to compare with; choose among {', '.join(NAMES)}.")
    for name in NEEDED if asked is None else asked:
        if name in PEERS:
            check_installed(name)
    wanted = NAMES if asked is None else asked
    peers = [PEERS[name].name for name in PEERS if name in wanted and is_installed(PEERS[name].library)]
    return Lineup(
        tuple(label for name, label in OWN.items() if name in wanted),
        tuple(name + rows for name in peers for rows in (ON_DOCUMENTS, ON_WINDOWS)),
        tuple(left_out([name for name in wanted if name in PEERS])),
    )
