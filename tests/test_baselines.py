"""HDP and LDA find planted topics, the same at every run."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from experiments.harness import Topics, fit_topics
from superwords.errors import InputError

pytest.importorskip("tomotopy", reason="needs the extra `compare`")


def two_blocks() -> np.ndarray:
    """30 documents, 15 on words 0–9 and 15 on words 10–18; one is empty and word 19 occurs nowhere."""
    rng = np.random.default_rng(5)
    counts = np.zeros((31, 20), int)
    for d in range(30):
        words = slice(0, 10) if d < 15 else slice(10, 19)
        counts[d, words] = rng.poisson(3, counts[d, words].shape)
    return counts


@pytest.mark.parametrize("fit", [lambda c: fit_topics("HDP", c, 200, 3), lambda c: fit_topics("LDA", c, 200, 3, k=2)])
def test_planted_topics_are_found_twice_alike(fit) -> None:
    counts = two_blocks()
    found = fit(counts)
    assert isinstance(found, Topics)
    assert found.topic_word.shape[1] == 20
    assert found.topic_word.sum(axis=1) == pytest.approx(1, abs=1e-4)
    assert found.doc_topic[:30].sum(axis=1) == pytest.approx(1, abs=1e-6)
    assert not found.doc_topic[30].any()
    first, second = (found.doc_topic[part].mean(axis=0).argmax() for part in (slice(0, 15), slice(15, 30)))
    assert found.topic_word[first, :10].sum() > 0.95
    assert found.topic_word[second, 10:19].sum() > 0.95
    assert -20 < found.log_likelihood < 0
    again = fit(counts)
    assert all(np.array_equal(a, b) for a, b in zip(found, again))


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fit_topics("HDP", np.zeros((2, 20), int)), "No document has a word"),
        (lambda: fit_topics("HDP", two_blocks(), 0), "at least 1"),
        (lambda: fit_topics("LDA", two_blocks(), k=0), "at least 1"),
    ],
)
def test_what_cannot_be_fitted_is_said(call, said) -> None:
    with pytest.raises(InputError, match=said):
        call()


def test_a_missing_tomotopy_is_said_in_one_sentence(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    with pytest.raises(InputError, match=r"superwords\[compare\]"):
        fit_topics("HDP", two_blocks())
