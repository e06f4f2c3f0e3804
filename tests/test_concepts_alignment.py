"""Concepts are recognised across draws, and what is averaged over draws is what a slow loop averages."""

import numpy as np
import pytest
from scipy import sparse

from models_for_tests import chain_of, kept, planted_model
from superwords.posterior import draws
from superwords.posterior import word_sets as sets
from superwords.posterior.alignment import chain_shares, find_consensus, overlaps, usage_of
from superwords.posterior.alignment import find_partners as partners_of
from superwords.posterior.draws import Draws
from superwords.posterior.intervals import TAILS, sparse_quantile
from superwords.posterior.result import Result
from superwords.posterior.summary import USED_BY
from superwords.posterior.word_sets import co_membership, on_in_concepts
from superwords.sampler.state import State, sizes_of

FRUIT, TOOLS, CARS = {0: 2, 1: 1, 2: 1}, {3: 1, 4: 2}, {5: 1, 6: 1, 7: 1}


def find_partners(ours, theirs):
    return partners_of(*(usage.description for usage in (ours, theirs)))


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
    found = usage.description
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
    gathered, found = model.result_.summary, model.result_.consensus
    j = 1
    on, used, holders, weights = [], [], [], []
    for s, draw in enumerate(model.draws_):
        usage = usage_of(draw)
        partner = partners_of(found.description, usage.description).of[j]
        assert (partner >= 0) == gathered.alignment.matched[s, j]
        if partner >= 0:
            weights.append(gathered.alignment.weight[s])
            holders.append(usage.holders[partner])
            has_on = on_in_concepts(draw.state, draw.tokens.pair > 0).toarray()[partner]
            on.append(has_on / usage.holders[partner])
            used.append(usage.used.toarray()[partner] / usage.holders[partner])
    rows = gathered.words.concept == j
    word = gathered.words.word[rows]
    on, used, weights = np.array(on), np.array(used), np.array(weights) / np.sum(weights)
    assert set(np.flatnonzero(on[weights > 0].any(axis=0))) == set(word)

    def bound(values, q):
        return np.quantile(values, q - 1e-9, axis=0, weights=weights, method="inverted_cdf")

    for found, wanted in (
        (gathered.words.probability, weights @ (used >= USED_BY)),
        (gathered.words.on, weights @ on),
        (gathered.words.used, weights @ used),
        (gathered.words.documents, weights @ (used * np.array(holders)[:, None])),
        (gathered.words.on_low, bound(on, TAILS[0])),
        (gathered.words.used_high, bound(used, TAILS[1])),
    ):
        np.testing.assert_allclose(found[rows], wanted[word], rtol=1e-5, atol=1e-7)


def test_the_consensus_draw_is_the_one_most_like_the_list():
    model = planted_model()
    aligned = model.result_.summary.alignment
    rows = np.array([aligned.rows[:, j].mean() for j in range(model.n_concepts_)])
    like = [float(aligned.overlap[t] @ rows) for t in range(len(aligned.chain))]
    draw = list(model.result_.spaced)[int(np.argmax(like))]
    assert model.consensus_draw_.score == draw.score
    column = model.result_.consensus_column
    assert sorted(column[column >= 0].tolist()) == list(range(model.n_concepts_))


TEA, WAR = dict.fromkeys(range(5), 2), dict.fromkeys(range(5, 10), 2)
SEA = dict.fromkeys(range(10, 15), 2)


def list_of(*chains):
    """The consensus of chains that keep one draw each again and again."""
    return find_consensus(Draws([chain_of(one, 4) for one in chains]))


def words_of(found):
    rows = sparse.csr_array(found.description)
    return [set(rows.indices[a:b].tolist()) for a, b in zip(rows.indptr, rows.indptr[1:])]


def test_the_list_is_what_most_chains_find_whichever_is_most_probable():
    both = kept([{0: TEA, 1: WAR}] * 12 + [{0: TEA}] * 8, 15)
    alone = kept([{0: SEA, 1: TEA}] * 12 + [{1: TEA}] * 8, 15)._replace(score=99.0)
    found = list_of(alone, both, both, both)
    assert words_of(found) == [set(TEA), set(WAR)]
    assert found.partner.reshape(4, 4, 2)[:, 0].tolist() == [[1, -1], [0, 1], [0, 1], [0, 1]]
    # What one chain alone finds is not listed, but is not lost.
    assert found.others.found.tolist() == [[True, False, False, False]]
    assert set(found.others.word.tolist()) == set(SEA)


def test_what_half_of_the_chains_find_is_listed_beside_what_the_others_find():
    tea, war = kept([{0: TEA, 1: SEA}] * 12, 15), kept([{0: TEA, 1: WAR}] * 12, 15)
    assert {frozenset(one) for one in words_of(list_of(tea, tea, war, war))} == {
        frozenset(TEA),
        frozenset(SEA),
        frozenset(WAR),
    }


def test_of_two_chains_one_is_listed_and_of_chains_that_share_nothing_too():
    tea, war, sea = (kept([{0: one}] * 12, 15) for one in (TEA, WAR, SEA))
    assert words_of(list_of(tea, war)) == [set(TEA)]
    assert words_of(list_of(tea, war, sea)) == [set(TEA)]


def test_every_chain_counts_the_same_whatever_its_length():
    np.testing.assert_allclose(chain_shares(np.array([0, 0, 0, 2])), [1 / 6, 1 / 6, 1 / 6, 1 / 2])


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
    for draw, used in zip(draws, model.result_.word_sets.used, strict=True):
        m = sizes_of(draw.state).m
        assert used.nnz == (m > 0).sum()  # a 0 is kept where a word is on and not used
        assert (used.toarray() <= m).all()
        assert (on_in_concepts(draw.state).toarray() == m).all()
        together += ((m > 0).T.astype(int) @ (m > 0).astype(int)) > 0
    equal = np.full(len(draws), 1 / len(draws))
    np.testing.assert_allclose(co_membership(model.result_.word_sets, equal), together / len(draws))


def test_a_large_vocabulary_gives_a_sparse_co_membership(monkeypatch):
    model = planted_model()
    weight = chain_shares(model.result_.word_sets.chain)
    dense = co_membership(model.result_.word_sets, weight)
    monkeypatch.setattr(sets, "DENSE_WORDS", 10)
    found = co_membership(model.result_.word_sets, weight)
    assert sparse.issparse(found)
    np.testing.assert_allclose(found.toarray(), dense)


def test_of_too_many_memberships_evenly_spaced_draws_are_summarised(monkeypatch):
    whole = planted_model()
    monkeypatch.setattr(draws, "_MOST_MEMBERSHIPS", 1)
    monkeypatch.setattr(draws, "FEWEST_SPACED", 5)
    spaced = whole.draws_.spaced()
    n = len(whole.draws_.chains[0])
    each = -(-5 // len(whole.draws_.chains))
    for few, chain in zip(spaced.chains, whole.draws_.chains):
        assert few.sweeps == [chain.sweeps[round(k)] for k in np.linspace(0, n - 1, each)]
    found = Result(whole.corpus_, whole.order_, whole.result_.prior, whole.draws_)
    assert found.summary.alignment.chain.tolist() == spaced.chain.tolist()
    assert found.best_draw.sweep in {sweep for chain in spaced.chains for sweep in chain.sweeps}
