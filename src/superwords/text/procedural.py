"""Procedural words: those that serve the occasion ("mr president", "floor", "ingredients"), not its subject."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from superwords.text.grams import Cut, document_frequency
from superwords.text.stream import TokenStream

# Forms of address of parliaments and meetings, in any phrase; greetings of letters; marks of short messages.
ADDRESS = frozenset({"hon", "honourable", "honorable", "speaker", "gentleman", "gentlemen", "gentlewoman"})
ROUTINE = frozenset(
    re.split(
        r";\s*",
        """noble lord;noble lords;noble friend;my lords;point of order;madam president;mr president;mr chairman;
    madam chair;mr chair;chairman;order paper;dear sir;dear madam;sincerely;regards;kind regards;
    best regards;yours faithfully;rt;retweet;tweet;tweets;follower;followers;weekend;livestream""",
    )
)
ROUTINE_SPREAD = 0.02  # share of the documents from which such words count
RITUAL_DOCUMENTS = 0.03  # share of documents, but at least three, in which a ritual sentence begins alike
RITUAL_SHARE = 0.25  # share of its uses in ritual sentences that makes a word procedural,
RITUAL_SPREAD = 0.2  # if it is in this share of the documents
NEAR_SPREAD = 0.6  # a word in most documents is procedural too if
NEAR_SHARE = 0.15  # this share of its sentences is ritual or has such a word, and
NEAR_LIFT = 1.35  # this many times the share usual for a word of this corpus


def procedural_units(stream: TokenStream, cut: Cut, labels: Sequence[str]) -> list[int]:
    """Return the procedural words, most ritual first.

    A sentence is ritual if sentences of at least three documents (and 3 in 100) begin with the same five
    items, a noun phrase being one item: people speak of a subject in their own words, but follow procedure in
    set ones. A word is procedural if it is widespread and often in ritual sentences, or if it is in most
    documents and keeps company with such words and sentences clearly more than usual.
    """
    n_units = len(labels)
    if n_units == 0:
        return []
    n_documents = stream.n_documents
    sentence = stream.token_sentence[cut.start]
    openings, opening = np.unique(stream.sentence_opening, return_inverse=True)
    df_opening = document_frequency(opening, stream.sentence_document, len(openings), n_documents)
    is_ritual = df_opening[opening] >= max(3, round(RITUAL_DOCUMENTS * n_documents))
    is_ritual &= stream.sentence_opening != 0
    count = np.bincount(cut.unit, minlength=n_units)
    ritual_share = np.bincount(cut.unit[is_ritual[sentence]], minlength=n_units) / np.maximum(count, 1)
    df = document_frequency(cut.unit, stream.sentence_document[sentence], n_units, n_documents)
    spread = df / n_documents
    is_core = (ritual_share >= RITUAL_SHARE) & (spread >= RITUAL_SPREAD)
    is_core |= np.array([_is_routine(label) for label in labels]) & (spread >= ROUTINE_SPREAD)
    if not is_core.any():
        return []
    is_near = is_ritual.copy()
    is_near[sentence[is_core[cut.unit]]] = True
    pairs = np.unique(cut.unit.astype(np.int64) * len(is_near) + sentence)
    unit, of_sentence = pairs // len(is_near), pairs % len(is_near)
    n_near = np.bincount(unit[is_near[of_sentence]], minlength=n_units)
    near_share = n_near / np.bincount(unit, minlength=n_units)
    usual = is_near[of_sentence].mean()
    is_company = (spread >= NEAR_SPREAD) & (near_share >= max(NEAR_SHARE, NEAR_LIFT * usual))
    order = np.lexsort((np.arange(n_units), -near_share, -ritual_share * is_core))
    return [int(u) for u in order if is_core[u] or is_company[u]]


def _is_routine(label: str) -> bool:
    """Return whether a word is routine wherever it occurs: a form of address, a greeting, a mark of a medium."""
    words = label.lower().replace(".", "").split()
    return label.lower() in ROUTINE or not ADDRESS.isdisjoint(words)
