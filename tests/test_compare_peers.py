"""Each peer's adapter with the real library, on three themes that share no word."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from scipy import sparse

from superwords.compare.contest import make_lineup, word_frequencies
from superwords.compare.judging import log_probability
from superwords.compare.peers import INSTALL, PEERS, document_vectors, mean_of
from superwords.errors import InputError
from superwords.sampler.fold_in import make_halves
from superwords.text.corpus import Corpus

SETTINGS = {
    "hdp": {"alpha": 0.1, "eta": 0.1, "gamma": 0.1},
    "lda": {"k": 3},
    "topica-hdp": {"alpha": 1.0, "beta": 0.1, "gamma": 1.0},
    "stm": {"k": 3},
    "corex": {"k": 3},
    "bertopic": {"k": 3},
}
PREDICTING = ("hdp", "lda", "topica-hdp", "stm")
N_WORDS, N_THEMES, SIZE = 12, 3, 4


def themes(n_documents: int, seed: int) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    counts = np.zeros((n_documents, N_WORDS), np.int32)
    for d in range(n_documents):
        words = rng.integers(0, SIZE, 12) + SIZE * (d % N_THEMES)
        counts[d] = np.bincount(words, minlength=N_WORDS)
    counts[-1] = 0
    return sparse.csr_array(counts)


def corpus() -> Corpus:
    return Corpus.from_counts(themes(81, 1), [f"word{i}" for i in range(N_WORDS)])


@pytest.mark.parametrize("name", PEERS)
def test_a_peer_finds_the_themes_and_predicts_by_them(name: str) -> None:
    peer = PEERS[name]
    pytest.importorskip(peer.library, reason=f"needs: {INSTALL[peer.library]}")
    fitted = peer.fit(corpus(), SETTINGS[name], 3, 100)
    weights = fitted.weights
    assert weights.shape[1] == N_WORDS
    assert (weights >= 0).all()
    theme = weights.argmax(axis=1) // SIZE
    in_theme = np.arange(N_WORDS) // SIZE == theme[:, None]
    assert set(theme.tolist()) == {0, 1, 2}
    assert weights[in_theme].sum() > 0.9 * weights.sum()
    again = peer.fit(corpus(), SETTINGS[name], 3, 100)
    assert (again.weights == weights).all()
    assert (fitted.predict is not None) == (name in PREDICTING)
    if fitted.predict is not None and again.predict is not None:
        halves = make_halves(themes(31, 2))
        predicted = fitted.predict(halves)
        frequency = word_frequencies(corpus())[halves.word]
        ahead = log_probability(predicted, frequency) - log_probability(frequency, frequency)
        assert ahead.mean() > 0.5
        assert (predicted == again.predict(halves)).all()


@pytest.mark.parametrize("name", PEERS)
def test_a_grid_runs_on_few_words_and_rows(name: str) -> None:
    peer = PEERS[name]
    pytest.importorskip(peer.library, reason=f"needs: {INSTALL[peer.library]}")
    for setting in peer.grid:
        assert peer.fit(corpus(), setting, 1, 5).weights.shape[1] == N_WORDS


def test_topics_are_means_over_the_states_that_have_them() -> None:
    one, two, three = np.eye(3)
    found = mean_of([{0: one, 1: two}, {0: two, 2: three}, {0: two, 2: one}])
    assert found == pytest.approx(np.array([[1 / 3, 2 / 3, 0], [0.5, 0, 0.5]]))


def test_one_document_has_no_topics_by_clusters() -> None:
    pytest.importorskip("bertopic", reason="needs BERTopic")
    counts = sparse.csr_array(np.ones((1, N_WORDS), np.int32))
    one = Corpus.from_counts(counts, [f"word{i}" for i in range(N_WORDS)])
    assert all(len(PEERS["bertopic"].fit(one, setting, 1, 5).weights) == 0 for setting in PEERS["bertopic"].grid)


def test_document_vectors_have_length_one_and_keep_the_themes_apart() -> None:
    vectors = document_vectors(themes(61, 1)[:60], 5, 1)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(60))
    assert np.abs(vectors[::3] @ vectors[1::3].T).max() < 0.1


def test_a_peer_that_is_not_installed_is_left_out_and_said(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "topica", None)
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    found = make_lineup()
    assert not any(name.startswith(("topica", "STM", "CorEx")) for name in found.peers)
    assert "HDP on documents" in found.peers
    said = "Left out, as topica is not installed: topica's HDP, STM, CorEx (pip install 'superwords[peers]')."
    assert said in found.left_out
    with pytest.raises(InputError, match=r"STM needs topica, which is not installed; run: pip install"):
        make_lineup(["stm"])


def test_who_is_asked_for_takes_part_in_the_order_of_the_tables() -> None:
    found = make_lineup(["shuffled", "without"])
    assert found.models[:3] == ("superwords", "without features", "shuffled features")
    assert not found.peers
    assert ("superwords", "shuffled features") in found.contests
