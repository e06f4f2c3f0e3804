"""Buffers that are too small grow, and not a bit is other than with room enough."""

from __future__ import annotations

from collections import Counter

from chains_for_tests import assert_same_chain, some_chain, tiny_state
from mutation import rewrite
from superwords.sampler.moves import documents as concepts
from superwords.sampler.moves import word_inclusion as words
from superwords.sampler.moves.split_merge import unused_words

N_DOCUMENTS = 60  # of `some_chain`
FOUND_SHORT = {concepts: "_sweep_documents", words: "_sweep_some", unused_words: "_go_through"}


def make_tiny(monkeypatch):
    """Every buffer that can grow as small as it may be; counts how often each kernel then finds it too small."""
    monkeypatch.setattr(concepts, "_SPARE", 0)
    monkeypatch.setattr(concepts, "new_state", tiny_state)
    enough = "2 * int(context.ptr[last] - context.ptr[first]) + n_pairs"
    rewrite(monkeypatch, words, "_sweep_block", enough, "n_pairs")
    rewrite(monkeypatch, unused_words, "propose", "np.empty(len(used.word) + n_words,", "np.empty(n_words,")
    short: Counter[str] = Counter()
    for module, name in FOUND_SHORT.items():
        monkeypatch.setattr(module, name, counted(getattr(module, name), name, short))
    return short


def counted(kernel, name, short):
    def call(*given):
        done = kernel(*given)
        short[name] += done < N_DOCUMENTS if name == "_sweep_documents" else not done
        return done

    return call


def test_tiny_buffers_grow_and_change_no_bit(monkeypatch):
    roomy, tiny = (some_chain(births=1.0, split_merges=8) for _ in range(2))
    for _ in roomy.advance(4):
        pass
    short = make_tiny(monkeypatch)
    for _ in tiny.advance(4):
        pass
    assert_same_chain(roomy, tiny)
    assert all(short[name] for name in FOUND_SHORT.values())
