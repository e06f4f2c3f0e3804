"""Concepts found again in pilots: matching, and what a model file holds of them."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from superwords.posterior.resampling import first_words, found_again, gather_pilots, jaccard


def planted(n_concepts: int = 4, n_shared: int = 10) -> np.ndarray:
    """Scores of concepts of ten words each; `n_shared` of the first words, the others from a set of spare words."""
    scores = np.zeros((n_concepts, 20 * n_concepts))
    for j in range(n_concepts):
        scores[j, 20 * j : 20 * j + n_shared] = 10.0 - np.arange(n_shared)
        scores[j, 20 * j + 10 : 20 * j + 20 - n_shared] = 0.5
    return scores


@pytest.mark.parametrize(("n_shared", "is_found"), [(10, True), (7, True), (6, True), (5, False), (0, False)])
def test_six_of_ten_shared_words_make_a_partner(n_shared, is_found):
    pilots = gather_pilots([planted(n_shared=n_shared)] * 3, [np.ones(4) / 4] * 3)
    assert (found_again(planted(), pilots) == 3 * is_found).all()


def test_a_concept_is_counted_once_in_a_pilot_and_in_every_pilot_that_has_it():
    whole = planted()
    twice = np.vstack([whole[:1], whole[:1]])
    pilots = gather_pilots([whole, twice, whole[2:]], [np.ones(4), np.ones(2), np.ones(2)])
    assert found_again(whole, pilots).tolist() == [2, 1, 2, 2]
    assert found_again(sparse.csr_array(whole), pilots).tolist() == [2, 1, 2, 2]


def test_two_concepts_joined_are_not_found_again_where_they_are_apart():
    whole = planted()
    pilots = gather_pilots([whole] * 8, [np.ones(4)] * 8)
    joined = whole[:1] + whole[1:2]
    assert found_again(joined, pilots).tolist() == [0]


def test_without_pilots_and_without_concepts():
    assert found_again(planted(), gather_pilots([], [])).tolist() == [0, 0, 0, 0]
    assert found_again(np.zeros((0, 80)), gather_pilots([planted()], [np.ones(4)])).shape == (0,)
    empty = gather_pilots([np.zeros((0, 80)), planted()], [np.zeros(0), np.ones(4)])
    assert empty.n_pilots == 2
    assert found_again(planted(), empty).tolist() == [1, 1, 1, 1]


def test_first_words_leave_out_words_without_score():
    scores = np.array([[0.0, 2.0, 0.0, 3.0], [1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0]])
    assert [one.tolist() for one in first_words(scores, 2)] == [[3, 1], [0, 1], []]


def test_jaccard_by_hand():
    sets = [np.array([0, 1, 2]), np.array([5]), np.array([], int)]
    assert jaccard(sets, [np.array([1, 2, 3])]).ravel().tolist() == [0.5, 0.0, 0.0]
