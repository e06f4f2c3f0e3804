"""Concepts are recognised across draws, and what is averaged over draws is what a slow loop averages."""

import numpy as np
import pytest
from scipy import sparse

from models_for_tests import kept, planted_model, summary_of, with_parts
from superwords.concepts import sets, summary
from superwords.concepts.alignment import described, overlaps, usage_of
from superwords.concepts.alignment import find_partners as partners_of
from superwords.concepts.intervals import TAILS, sparse_quantile
from superwords.concepts.sets import co_membership, on_in_concepts, sets_by_draw
from superwords.concepts.summary import USED_BY, shared_weights
from superwords.sampler.state import State, sizes_of

FRUIT, TOOLS, CARS = {0: 2, 1: 1, 2: 1}, {3: 1, 4: 2}, {5: 1, 6: 1, 7: 1}


def find_partners(ours, theirs):
    return partners_of(*(described(usage.used, usage.holders) for usage in (ours, theirs)))


def test_partners_are_found_under_any_labels():
    ours = usage_of(kept([{0: FRUIT, 1: TOOLS}, {0: FRUIT, 2: CARS}, {1: TOOLS}], 8))
    theirs = usage_of(kept([{2: FRUIT, 0: TOOLS}, {2: FRUIT, 1: CARS}, {0: TOOLS}], 8))
    partners = find_partners(ours, theirs)
    assert partners.of.tolist() == [2, 0, 1]
    np.testing.assert_allclose(partners.overlap, 1)


def test_a_concept_of_other_words_is_no_partner():
    ours = usage_of(kept([{0: FRUIT, 1: TOOLS}], 8))
    theirs = usage_of(kept([{0: CARS, 1: FRUIT}], 8))
    partners = find_partners(ours, theirs)
    assert partners.of.tolist() == [1, -1]
    assert partners.overlap[1] == 0


def test_two_concepts_never_share_a_partner():
    ours = usage_of(kept([{0: FRUIT, 1: FRUIT}], 8))
    theirs = usage_of(kept([{0: FRUIT}], 8))
    assert sorted(find_partners(ours, theirs).of.tolist()) == [-1, 0]


def test_descriptions_and_overlaps_by_hand():
    usage = usage_of(kept([{0: {0: 1, 1: 1}, 1: {1: 1, 2: 0}}, {0: {0: 1}}], 3))
    # Concept 0 is held by two documents: word 0 scores 2/2 · 2/2, word 1 scores 1/2 · 1/2; concept 1: word 1 1 · 1/2.
    found = described(usage.used, usage.holders)
    np.testing.assert_allclose(found.toarray(), [[0.8, 0.2, 0], [0, 1, 0]])
    other = sparse.csc_array([[0.5, 0.3, 0.2], [0, 0, 1]])
    np.testing.assert_allclose(overlaps(found, other), [[0.7, 0], [0.3, 0]])


@pytest.mark.parametrize(("common", "is_partner"), [(0.5, True), (0.49, False)])
def test_half_of_two_descriptions_makes_partners(common, is_partner):
    ours = sparse.csc_array([[common, 1 - common, 0]])
    theirs = sparse.csc_array([[common, 0, 1 - common]])
    assert (partners_of(ours, theirs).of[0] >= 0) == is_partner


def test_words_that_are_on_without_use_make_no_partners():
    """What every document might use says nothing of a concept."""
    open_to_all = dict.fromkeys(range(2, 8), 0)
    ours, theirs = (usage_of(kept([{0: {word: 1, **open_to_all}}], 8)) for word in (0, 1))
    assert find_partners(ours, theirs).of.tolist() == [-1]


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
        for weight in (np.full(23, 1 / 23), rng.dirichlet(np.ones(23)), np.eye(23)[4]):
            _, draw = np.nonzero(dense)
            found = sparse_quantile(key, dense[dense > 0], weight[draw], q)
            wanted = np.quantile(dense[rows], q, axis=1, weights=weight, method="inverted_cdf")
            np.testing.assert_allclose(found, wanted)


def test_the_summary_is_what_a_slow_loop_gives():
    model = planted_model()
    gathered, order = model.result_.summary, model.result_.concept_order
    reference = usage_of(model.best_draw_)
    j = 1
    on, used, holders, weights = [], [], [], []
    for s, draw in enumerate(model.draws_):
        usage = usage_of(draw)
        partner = find_partners(reference, usage).of[order[j]]
        assert (partner >= 0) == gathered.alignment.matched[s, j]
        if partner >= 0:
            weights.append(gathered.alignment.weight[s])
            holders.append(usage.holders[partner])
            on.append(usage.on.toarray()[partner] / usage.holders[partner])
            used.append(usage.used.toarray()[partner] / usage.holders[partner])
    rows = gathered.words.concept == j
    word = gathered.words.word[rows]
    on, used, weights = np.array(on), np.array(used), np.array(weights) / np.sum(weights)
    assert set(np.flatnonzero(on[weights > 0].any(axis=0))) == set(word)

    def bound(values, q):
        return np.quantile(values, q, axis=0, weights=weights, method="inverted_cdf")

    for found, wanted in (
        (gathered.words.probability, weights @ (used >= USED_BY)),
        (gathered.words.on, weights @ on),
        (gathered.words.used, weights @ used),
        (gathered.words.documents, weights @ (used * np.array(holders)[:, None])),
        (gathered.words.on_low, bound(on, TAILS[0])),
        (gathered.words.used_high, bound(used, TAILS[1])),
    ):
        np.testing.assert_allclose(found[rows], wanted[word], rtol=1e-5, atol=1e-7)


def test_the_most_probable_draw_is_its_own_partner():
    model = planted_model()
    best = model.best_draw_
    place = next(s for s, draw in enumerate(model.draws_) if draw.score == best.score)
    np.testing.assert_allclose(model.result_.summary.alignment.overlap[place], 1, rtol=1e-6)


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
    equal = np.full(len(draws), 1 / len(draws))
    np.testing.assert_allclose(co_membership(model.result_.word_sets, equal), together / len(draws))


def test_a_large_vocabulary_gives_a_sparse_co_membership(monkeypatch):
    model = planted_model()
    weight = shared_weights(model.result_.chain_weights, model.result_.word_sets.chain)
    dense = co_membership(model.result_.word_sets, weight)
    monkeypatch.setattr(sets, "DENSE_WORDS", 10)
    found = co_membership(model.result_.word_sets, weight)
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), dense)


def test_of_too_many_memberships_evenly_spaced_draws_are_kept(monkeypatch):
    whole = planted_model()
    monkeypatch.setattr(summary, "_MOST_PAIRS", 1)
    monkeypatch.setattr(summary, "_FEWEST_DRAWS", 5)
    model = with_parts(whole, summary=summary_of(whole))
    best = next(s for s, draw in enumerate(model.draws_) if draw.score == model.best_draw_.score)
    assert set(model.result_.summary.memberships.draw.tolist()) == {0, 10, 20, 29, 39, best}
    np.testing.assert_array_equal(
        model.result_.summary.alignment.overlap, whole.result_.summary.alignment.overlap
    )
    np.testing.assert_array_equal(model.result_.summary.words.used, whole.result_.summary.words.used)
    assert len(model.by_group("party")) == len(whole.by_group("party"))
