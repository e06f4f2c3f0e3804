"""Document completion: the split into halves, and predictions of unseen words against an enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import sparse

from experiments.generators import plant_corpus
from superwords import ConceptModel
from superwords.compare.contest import from_draws, word_frequencies
from superwords.compare.judging import log_probability, mean_and_error
from superwords.compare.peers import by_mixture
from superwords.sampler.fold_in import Halves, make_halves, predict
from superwords.sampler.leave_one_out import LeaveOneOutCounts, leave_one_out_counts
from superwords.sampler.model import Prior
from superwords.sampler.state import Sizes
from superwords.text.corpus import Corpus

N_DOCUMENTS, B1, B2, ALPHA_PI = 5, 2.5, 0.8, 0.7
M = np.array([[3, 2, 1, 0], [0, 1, 2, 2]])
HOLDERS = np.array([4, 3])
THETA = np.array([0.5, 1.7, 0.8, 1.2])
LAM = np.array([0.2, 0.5, 0.3, 0.1])
SHOWN = [0, 0, 1]  # words of the first half; word 0 is asked about again, 2 and 3 are new


def tiny_concepts() -> LeaveOneOutCounts:
    prior = Prior(1.0, B1, B2, LAM, ALPHA_PI, 0.5, 2.0, 1.0, 1.0)
    sizes = Sizes(M.astype(np.int32), HOLDERS.astype(np.int64), M.sum(axis=0))
    return leave_one_out_counts(sizes, N_DOCUMENTS, THETA, prior)


def enumerated(shown: list[int]) -> np.ndarray:
    """P(next word | shown), over all c, f and z of a document, with π integrated out."""
    odds = HOLDERS / (N_DOCUMENTS - HOLDERS + B1)
    p = (M + B2 * LAM) / (HOLDERS + B2)[:, None]
    total, predicted = 0.0, np.zeros(len(THETA))
    for held in ([0], [1], [0, 1]):
        r = len(held)
        for sets in itertools.product(itertools.product([0, 1], repeat=len(THETA)), repeat=r):
            f = np.array(sets)
            mass = np.maximum(f @ THETA, 1e-300)
            given_concept = f * THETA / mass[:, None]
            prior = odds[held].prod() * np.where(f, p[held], 1 - p[held]).prod()
            for z in itertools.product(range(r), repeat=len(shown)):
                n = np.bincount(z, minlength=r)
                text = math.prod(given_concept[k, i] for k, i in zip(z, shown))
                text *= math.exp(
                    math.lgamma(r * ALPHA_PI)
                    - math.lgamma(r * ALPHA_PI + len(shown))
                    + sum(math.lgamma(ALPHA_PI + n_j) - math.lgamma(ALPHA_PI) for n_j in n)
                )
                share = (ALPHA_PI + n) / (r * ALPHA_PI + len(shown))
                total += prior * text
                predicted += prior * text * (share @ given_concept)
    return predicted / total


def asked_about_all(shown: list[int], words: list[int]) -> Halves:
    first = sparse.csr_array(np.bincount(shown, minlength=len(THETA))[None].astype(np.int32))
    return Halves(first, np.zeros(len(words), np.int64), np.array(words))


def runs(words: list[int], n_runs: int = 12) -> np.ndarray:
    concepts = tiny_concepts()
    halves = asked_about_all(SHOWN, words)
    return np.array([predict(concepts, halves, seed, 20_000) for seed in range(n_runs)])


def distance(found: np.ndarray, exact: np.ndarray) -> float:
    """The farthest mean, in standard errors over the runs."""
    error = found.std(axis=0, ddof=1) / math.sqrt(len(found))
    return float(np.abs((found.mean(axis=0) - exact) / error).max())


@pytest.mark.parametrize("words", [[0, 1, 2, 3], [2], [0, 3, 3]])
def test_unseen_words_are_predicted_as_enumerated(words: list[int]) -> None:
    assert distance(runs(words), enumerated(SHOWN)[words]) < 4.5


def test_the_enumeration_would_see_words_predicted_as_if_nothing_were_shown_of_their_concept() -> None:
    """The mean weights times γ_ji θ_i / E[T_j], which leaves out what the document's own words say of f."""
    concepts = tiny_concepts()
    gamma = (M + B2 * LAM) / (HOLDERS + B2)[:, None]
    plain = gamma * THETA / concepts.mass[:, None]
    found = runs([0, 1, 2, 3])
    assert found.std(axis=0).max() < 0.01
    assert all(distance(found, share * plain[0] + (1 - share) * plain[1]) > 4.5 for share in np.linspace(0, 1, 11))


def test_halves_hold_each_token_once_and_are_the_same_each_time() -> None:
    counts = sparse.csr_array(np.random.default_rng(2).poisson(0.6, (40, 9)).astype(np.int32))
    halves = make_halves(counts)
    long_enough = counts.toarray().sum(axis=1) >= 2
    hidden = np.zeros(halves.first.shape, int)
    np.add.at(hidden, (halves.row, halves.word), 1)
    assert (halves.first.toarray() + hidden == counts.toarray()[long_enough]).all()
    assert set(halves.first.toarray().sum(axis=1) - hidden.sum(axis=1)) == {0, 1}
    again = make_halves(counts)
    assert (again.word == halves.word).all()
    assert len(make_halves(sparse.csr_array((3, 4), dtype=np.int32)).row) == 0


def test_mixture_and_smoothing_by_hand() -> None:
    halves = asked_about_all(SHOWN, [2, 3])
    doc_topic, topic_word = np.array([[0.25, 0.75]]), np.array([[0.1, 0.2, 0.3, 0.4], [1, 0, 0, 0]])
    predicted = by_mixture(doc_topic, topic_word, halves)
    assert predicted == pytest.approx([0.075, 0.1])
    frequency = word_frequencies(Corpus.from_counts(np.array([[1, 0, 2, 0], [0, 0, 0, 1]]), list("abcd")))
    assert frequency.tolist() == [0.25, 0, 0.5, 0.25]
    expected = (math.log(0.9 * 0.075 + 0.05) + math.log(0.9 * 0.1 + 0.025)) / 2
    assert log_probability(predicted, frequency[halves.word], 0.1).mean() == pytest.approx(expected)


def test_the_error_of_a_mean_is_over_windows() -> None:
    rng = np.random.default_rng(3)
    means = []
    for _ in range(4000):
        window = np.repeat(np.arange(20), 3)
        values = np.repeat(rng.normal(size=20), 3) + 0.1 * rng.normal(size=60)
        means.append(mean_and_error(values, window))
    mean, error = np.array(means).T
    assert mean.std() == pytest.approx(error.mean(), rel=0.06)
    assert np.isnan(mean_and_error(values[:0], window[:0])).all()


def test_probabilities_over_all_words_sum_to_one() -> None:
    planted = plant_corpus(120, 30, 4, 2, 20, 3, seed=1)
    model = ConceptModel(n_chains=2, n_sweeps=30, random_state=1, n_jobs=1).fit(planted.counts[:100])
    first = sparse.csr_array(planted.counts[100:])
    rows, words = np.divmod(np.arange(20 * 30), 30)
    predicted = from_draws(model, Halves(first, rows, words)).reshape(20, 30)
    assert predicted.sum(axis=1) == pytest.approx(np.ones(20), abs=0.1)
    assert predicted.sum(axis=1).mean() == pytest.approx(1, abs=0.02)
    assert (predicted > 0).all()
    again = from_draws(model, Halves(first, rows, words)).reshape(20, 30)
    assert (again == predicted).all()


def test_without_concepts_nothing_is_predicted() -> None:
    none = Sizes(np.zeros((0, 4), np.int32), np.zeros(0, np.int64), np.zeros(4, np.int64))
    prior = Prior(1.0, B1, B2, LAM, ALPHA_PI, 0.5, 2.0, 1.0, 1.0)
    concepts = leave_one_out_counts(none, 3, THETA, prior)
    assert predict(concepts, asked_about_all(SHOWN, [1, 2]), 1).tolist() == [0, 0]
