"""Concepts are recognised across draws, and what is averaged over draws is what a slow loop averages."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from models_for_tests import kept, planted_model, summary_of, with_parts
from superwords.concepts import sets, summary
from superwords.concepts.alignment import find_partners, usage_of
from superwords.concepts.intervals import TAILS, sparse_quantile
from superwords.concepts.sets import co_membership, on_in_concepts, sets_by_draw, sharing
from superwords.sampler.state import State, sizes_of

FRUIT, TOOLS, CARS = {0: 2, 1: 1, 2: 1}, {3: 1, 4: 2}, {5: 1, 6: 1, 7: 1}


def test_partners_are_found_under_any_labels():
    ours = usage_of(kept([{0: FRUIT, 1: TOOLS}, {0: FRUIT, 2: CARS}, {1: TOOLS}], 8))
    theirs = usage_of(kept([{2: FRUIT, 0: TOOLS}, {2: FRUIT, 1: CARS}, {0: TOOLS}], 8))
    partners = find_partners(ours, theirs)
    assert partners.of.tolist() == [2, 0, 1]
    np.testing.assert_allclose(partners.similarity, 1)
    np.testing.assert_allclose(partners.jaccard, 1)


def test_a_concept_of_other_words_is_no_partner():
    ours = usage_of(kept([{0: FRUIT, 1: TOOLS}], 8))
    theirs = usage_of(kept([{0: CARS, 1: FRUIT}], 8))
    partners = find_partners(ours, theirs)
    assert partners.of.tolist() == [1, -1]
    assert partners.similarity[1] == partners.jaccard[1] == 0


def test_two_concepts_never_share_a_partner():
    ours = usage_of(kept([{0: FRUIT, 1: FRUIT}], 8))
    theirs = usage_of(kept([{0: FRUIT}], 8))
    assert sorted(find_partners(ours, theirs).of.tolist()) == [-1, 0]


def test_similarity_and_jaccard_by_hand():
    ours = usage_of(kept([{0: {0: 1, 1: 0}}], 2))  # word 0 on and used: 2; word 1 only on: 1
    theirs = usage_of(kept([{0: {0: 1}}, {0: {0: 1, 1: 1}}], 2))  # shares 2 and 1; counts 4 and 2
    partners = find_partners(ours, theirs)
    assert partners.similarity[0] == pytest.approx(1.0)
    assert partners.jaccard[0] == pytest.approx(1.0)
    other = usage_of(kept([{0: {0: 0, 1: 1}}], 2))  # shares 1 and 2
    partners = find_partners(ours, other)
    assert partners.similarity[0] == pytest.approx(4 / 5)
    assert partners.jaccard[0] == pytest.approx(2 / 4)


def test_used_words_are_on_words_with_tokens():
    usage = usage_of(kept([{0: {0: 2, 1: 0}}, {0: {1: 3}}, {}], 3))
    assert usage.holders.tolist() == [2]
    assert usage.on.toarray().tolist() == [[1, 2, 0]]
    assert usage.used.toarray().tolist() == [[1, 1, 0]]


def test_sparse_quantiles_are_numpys():
    rng = np.random.default_rng(0)
    dense = np.where(rng.random((6, 23)) < 0.6, rng.random((6, 23)), 0.0)
    dense[2] = 0.0
    key, _ = np.nonzero(dense)
    rows = np.unique(key)
    for q in (*TAILS, 0.5):
        found = sparse_quantile(key, dense[dense > 0], np.full(len(rows), 23), q)
        np.testing.assert_allclose(found, np.quantile(dense[rows], q, axis=1))


def test_the_summary_is_what_a_slow_loop_gives():
    model = planted_model()
    gathered, order = model.result_.summary, model.result_.concept_order
    reference = usage_of(model.best_draw_)
    j = 1
    on, used, holders = [], [], []
    for s, draw in enumerate(model.draws_):
        usage = usage_of(draw)
        partner = find_partners(reference, usage).of[order[j]]
        assert (partner >= 0) == gathered.alignment.matched[s, j]
        if partner >= 0:
            holders.append(usage.holders[partner])
            on.append(usage.on.toarray()[partner] / usage.holders[partner])
            used.append(usage.used.toarray()[partner] / usage.holders[partner])
    rows = gathered.words.concept == j
    word = gathered.words.word[rows]
    assert set(np.flatnonzero(np.any(on, axis=0))) == set(word)
    for found, wanted in (
        (gathered.words.inside, np.mean(np.array(on) > 0, axis=0)),
        (gathered.words.on, np.mean(on, axis=0)),
        (gathered.words.used, np.mean(used, axis=0)),
        (gathered.words.documents, np.mean(np.array(used) * np.array(holders)[:, None], axis=0)),
        (gathered.words.on_low, np.quantile(on, TAILS[0], axis=0)),
        (gathered.words.used_high, np.quantile(used, TAILS[1], axis=0)),
    ):
        np.testing.assert_allclose(found[rows], wanted[word], rtol=1e-5, atol=1e-7)


def test_the_most_probable_draw_is_its_own_partner():
    model = planted_model()
    best = model.best_draw_
    place = next(s for s, draw in enumerate(model.draws_) if draw.score == best.score)
    np.testing.assert_allclose(model.result_.summary.alignment.similarity[place], 1, rtol=1e-6)


def test_permuted_labels_do_not_change_the_usage():
    draw = planted_model().best_draw_
    n = int(draw.state.concept.max()) + 1
    label = np.random.default_rng(1).permutation(n).astype(np.int32)
    other = draw._replace(state=State(**{**draw.state._asdict(), "concept": label[draw.state.concept]}))
    assert find_partners(usage_of(draw), usage_of(other)).of.tolist() == label.tolist()


def test_word_sets_give_the_co_membership_of_the_draws():
    model = planted_model()
    draws = model.draws_
    together = np.zeros((model.corpus_.n_words,) * 2)
    for draw, on in zip(draws, sets_by_draw(model.result_.word_sets), strict=True):
        m = sizes_of(draw.state).m
        assert ((m > 0) == (on.toarray() > 0)).all()
        assert (on_in_concepts(draw.state).toarray() == m).all()
        together += ((m > 0).T.astype(int) @ (m > 0).astype(int)) > 0
    np.testing.assert_allclose(co_membership(model.result_.word_sets), together / len(draws))
    shared = sharing(model.result_.word_sets, 7)
    assert shared.shape == (2, 20, 40)
    np.testing.assert_allclose(shared.mean(axis=(0, 1)), together[7] / len(draws))


def test_a_large_vocabulary_gives_a_sparse_co_membership(monkeypatch):
    model = planted_model()
    dense = co_membership(model.result_.word_sets)
    monkeypatch.setattr(sets, "DENSE_WORDS", 10)
    found = co_membership(model.result_.word_sets)
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), dense)


def test_of_too_many_memberships_evenly_spaced_draws_are_kept(monkeypatch):
    whole = planted_model()
    monkeypatch.setattr(summary, "_MOST_PAIRS", 1)
    monkeypatch.setattr(summary, "_FEWEST_DRAWS", 5)
    model = with_parts(whole, summary=summary_of(whole))
    assert model.result_.summary.memberships.draw.tolist() == [0, 10, 20, 29, 39]
    np.testing.assert_array_equal(
        model.result_.summary.alignment.similarity, whole.result_.summary.alignment.similarity
    )
    np.testing.assert_array_equal(model.result_.summary.words.used, whole.result_.summary.words.used)
    columns = ["document", "concept", "weight"]
    pd.testing.assert_frame_equal(model.documents()[columns], whole.documents()[columns])
    assert len(model.by_group("party")) == len(whole.by_group("party"))
