"""Split and merge of whole concepts: every part against a slower one that is written from the definition."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from experiments.generators import plant_corpus
from superwords.sampler.affinity import make_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.density import log_score
from superwords.sampler.feature_likelihood import log_features
from superwords.sampler.init.starts import initial_state
from superwords.sampler.model import Model, Prior, Steps, make_data
from superwords.sampler.moves.split_merge import attempt as moves
from superwords.sampler.moves.split_merge.attempt import rebuild
from superwords.sampler.moves.split_merge.division import (
    BLIND,
    BOTH,
    Side,
    Sides,
    Words,
    count_sides,
    divide,
    gather,
    undivided,
)
from superwords.sampler.moves.split_merge.unused_words import make_urn, propose, unused_of, with_unused, without_unused
from superwords.sampler.random import new_stream, open_stream_from_python
from superwords.sampler.state import sizes_of


@pytest.fixture(scope="module", params=[0, 4], ids=["no features", "features"])
def chain(request):
    corpus = plant_corpus(30, 40, 5, 4, 40, max(1, request.param), seed=4)
    features = corpus.features.copy() if request.param else None
    if features is not None:
        features[:4] = np.nan
    prior = Prior(1.0, 2.0, 3.0, np.linspace(0.05, 0.2, 40), 0.8, 0.5, 2.0, 1.0, 1.0)
    data = make_data(corpus.counts, features)
    model = Model(prior, data, make_affinity(corpus.counts, features), Steps())
    theta = np.linspace(0.5, 1.5, 40)
    chain = Chain(model, initial_state("kmeans:4", data, prior, theta, 1, 0), seed=2)
    for _ in chain.advance(5):
        pass
    return chain


def snapshot_of(chain):
    return moves.Snapshot(chain.state, chain.tokens, sizes_of(chain.state), chain.model)


def divided(snapshot, stream):
    """Splits that leave both halves with documents, whatever their ratio: (concept, group, division, merged, split)."""
    model, theta, found = snapshot.model, snapshot.state.theta, []
    for j in range(len(snapshot.sizes.holders)):
        group, now = gather(snapshot.state, snapshot.tokens, model, [j])
        elsewhere = snapshot.sizes.total - snapshot.sizes.m[j]
        for attempt in range(20):
            open_stream_from_python(stream, 99, attempt, j)
            seeds = moves._draw_seeds(group, now.m[0], now.m[0], model, stream)
            sides, _ = moves._launch(group, None, seeds, elsewhere, model, stream)
            if sides.holders.all():
                present = [unused_of(snapshot.state, snapshot.tokens, group, j)]
                frame = moves.make_context(snapshot, [j], (sides.doc == BOTH) | (j % 2 == 0), present)
                merged = with_unused(without_unused(group, now, theta), frame, present, theta, stream)
                split = with_unused(without_unused(group, sides, theta), frame, None, theta, stream)
                found.append((j, group, sides, merged, split))
                break
    assert len(found) >= 3
    return found


def after(snapshot, j, group, split, stream):
    """The state once a split was accepted, its sizes, and the new concept's number."""
    sizes = moves.change_sizes(snapshot.sizes, [j], split)
    new = rebuild(snapshot, moves.Attempt([j], group, split, sizes, 0.0), stream)
    return new.state, new.tokens, sizes, len(sizes.holders) - 1


def test_the_density_of_a_split_is_that_of_the_two_states(chain):
    model, stream = chain.model, new_stream(5, 0)
    snapshot = snapshot_of(chain)
    for j, group, sides, merged, split in divided(snapshot, stream):
        state, tokens, sizes, _ = after(snapshot, j, group, split, stream)
        change = moves.log_density_change(group, sides, merged, split, model)
        change += log_features(sizes, model.data, model.prior)
        change -= log_features(snapshot.sizes, model.data, model.prior)
        slow = log_score(state, tokens, model) - log_score(snapshot.state, snapshot.tokens, model)
        assert change == pytest.approx(slow, abs=1e-7)


def test_counts_after_a_split_equal_a_rebuild_and_a_merge_takes_it_back(chain):
    model, stream = chain.model, new_stream(6, 0)
    snapshot = snapshot_of(chain)
    for j, group, sides, merged, split in divided(snapshot, stream):
        state, tokens, sizes, last = after(snapshot, j, group, split, stream)
        assert_same_sizes(sizes, sizes_of(state))
        assert tokens.pair.sum() == snapshot.tokens.pair.sum()
        again, found = gather(state, tokens, model, [j, last])
        for mine, theirs in zip(found, sides):
            np.testing.assert_array_equal(mine, theirs)
        back = moves.change_sizes(sizes, [j, last], merged)
        assert_same_sizes(back, snapshot.sizes)
        snapshot_after = moves.Snapshot(state, tokens, sizes, model)
        united = rebuild(snapshot_after, moves.Attempt([j, last], again, merged, back, 0.0), stream)
        assert log_score(united.state, united.tokens, model) == pytest.approx(
            log_score(snapshot.state, snapshot.tokens, model), abs=1e-7
        )


def assert_same_sizes(mine, theirs):
    np.testing.assert_array_equal(mine.m, theirs.m)
    np.testing.assert_array_equal(mine.holders, theirs.holders)
    np.testing.assert_array_equal(mine.total, theirs.total)


def test_unused_words_have_the_same_probability_drawn_and_found_again(chain):
    """In the state they were put into, by the other way of the move."""
    model, stream = chain.model, new_stream(9, 0)
    snapshot, log_q = snapshot_of(chain), []
    for j, group, _, _, split in divided(snapshot, stream):
        state, tokens, sizes, last = after(snapshot, j, group, split, stream)
        again, sides = gather(state, tokens, model, [j, last])
        present = [unused_of(state, tokens, again, row) for row in (j, last)]
        changing = (sides.doc == BOTH) | (j % 2 == 0)
        frame = moves.make_context(moves.Snapshot(state, tokens, sizes, model), [j, last], changing, present)
        found = with_unused(without_unused(again, sides, state.theta), frame, present, state.theta, stream)
        assert found.log_q == pytest.approx(split.log_q, abs=1e-8)
        for mine, theirs in zip(found.words, split.words):
            np.testing.assert_array_equal(mine.word, theirs.word)
            np.testing.assert_array_equal(mine.ptr, theirs.ptr)
        log_q.append(split.log_q)
        assert log_q[-1] < (0.0 if changing.all() else 1e-9)
    assert min(log_q) < -10.0  # there was something to draw


def fresh(given):
    return make_urn(*(np.copy(one) if isinstance(one, np.ndarray) else one for one in given))


def small_side():
    """Three documents, four words: the first uses two of them, the second does not hold the concept."""
    return Side(
        np.array([True, False, True]),
        np.array([4, 0, 0]),
        Words(np.array([0, 2, 2, 2]), np.array([0, 2]), np.array([3, 1])),
    )


def test_the_unused_words_probabilities_sum_to_one():
    """Over everything that could be drawn: words 1 and 3 in the first document, all four in the third."""
    side, stream = small_side(), new_stream(3, 0)
    urn = (
        np.array([0.5, 0.2, 0.9, 0.4]),
        np.array([1.5, 2.0, 0.6, 1.0]),
        np.array([0.7, 1.3, 1.0, 1.0]),
        np.array([3.0, 0.0, 2.0, 1.0]),
        np.array([0.4, -0.8, 0.0, 2.0]),
        np.array([1.0, 0.5, 0.0, 3.0]),
        np.array([1.0, 0.3, 0.5, 0.7]),
        1.8,
    )
    total = 0.0
    for first in powerset([1, 3]):
        for third in powerset([0, 1, 2, 3]):
            n, m = len(first), len(third)
            unused = Words(np.array([0, n, n, n + m]), np.array([*first, *third], np.int32), np.zeros(n + m, int))
            found, log_q = propose(side, fresh(urn), unused, stream)
            np.testing.assert_array_equal(found.word, unused.word)
            total += math.exp(log_q)
    assert total == pytest.approx(1.0, abs=1e-12)


def powerset(items):
    return itertools.chain.from_iterable(itertools.combinations(items, n) for n in range(len(items) + 1))


def test_the_unused_words_are_drawn_with_their_probability():
    """Frequencies of all 64 outcomes over 20,000 draws, by a chi-squared test at one in a thousand."""
    side, stream = small_side(), new_stream(4, 0)
    rising = np.linspace(0.3, 1.0, 4)
    urn = rising, rising[::-1].copy(), rising + 0.5, rising, rising - 0.6, rising, rising, 1.5
    seen, log_q = {}, {}
    for draw in range(20_000):
        open_stream_from_python(stream, 99, draw, 0)
        unused, log_p = propose(side, fresh(urn), None, stream)
        key = (tuple(unused.ptr), tuple(unused.word))
        seen[key], log_q[key] = seen.get(key, 0) + 1, log_p
    expected = {key: 20_000 * math.exp(log_p) for key, log_p in log_q.items()}
    large = [key for key in seen if expected[key] >= 5]
    few = 20_000 - sum(expected[key] for key in large), 20_000 - sum(seen[key] for key in large)
    chi = sum((seen[key] - expected[key]) ** 2 / expected[key] for key in large)
    chi += (few[1] - few[0]) ** 2 / max(few[0], 1.0)
    assert stats.chi2.sf(chi, len(large)) > 1e-3
    assert len(large) > 20


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_way_back_has_the_probability_of_the_way_there(chain, share):
    """The last pass, made again by force from the same launch, gives the same log probability."""
    model = chain.model
    snapshot = snapshot_of(chain)
    group, _ = gather(snapshot.state, snapshot.tokens, model, [0])
    leaning, prior = np.linspace(-2.0, 2.0, len(group.support)), model.prior
    stream = new_stream(7, 0)
    open_stream_from_python(stream, 99, 0, 0)
    launch = undivided(group)
    divide(group, launch, launch, leaning, share, prior, stream, False)

    def copy():
        return Sides(*(array.copy() for array in launch))

    drawn, forced = copy(), copy()
    log_q = divide(group, drawn, drawn, leaning, share, prior, stream, False)
    assert log_q == pytest.approx(divide(group, forced, drawn, leaning, share, prior, stream, True), abs=1e-9)
    for mine, theirs in zip(forced, drawn):
        np.testing.assert_array_equal(mine, theirs)
    assert log_q < -0.1


def all_divisions(group):
    """Every division of a group, tokens of words on both sides one by one."""
    per_doc = []
    for n in range(len(group.doc)):
        entries = range(group.ptr[n], group.ptr[n + 1])
        ways = [(1, [(1, int(group.tokens[e])) for e in entries], 1), (2, [(2, 0) for e in entries], 1)]
        options = []
        for e in entries:
            tokens = int(group.tokens[e])
            shared = [(BOTH, k, math.comb(tokens, k)) for k in range(1, tokens)]
            options.append([(1, tokens, 1), (2, 0, 1), *shared])
        for chosen in itertools.product(*options):
            ways.append((BOTH, [c[:2] for c in chosen], math.prod(c[2] for c in chosen)))
        per_doc.append(ways)
    return itertools.product(*per_doc)


@pytest.mark.parametrize("share", [0.0, 0.5, BLIND], ids=["by holders", "evenly", "blindly"])
def test_the_divisions_probabilities_sum_to_one(chain, share):
    """Over all divisions of a small group: two documents of two words."""
    model = chain.model
    snapshot = snapshot_of(chain)
    largest = int((snapshot.sizes.m > 0).sum(axis=1).argmax())
    whole_group, _ = gather(snapshot.state, snapshot.tokens, model, [largest])
    group = whole_group._replace(
        doc=np.array([3, 5]),
        ptr=np.array([0, 2, 4]),
        word=np.array([0, 1, 0, 2], np.int32),
        tokens=np.array([3, 1, 1, 2]),
        others=np.array([0, 2]),
        length=np.array([4, 9]),
    )
    leaning = np.linspace(1.0, -1.0, len(group.support))
    stream = new_stream(8, 0)
    total = 0.0
    for ways in all_divisions(group):
        sides = undivided(group)
        sides.doc[:] = [way[0] for way in ways]
        sides.word[:] = [side for way in ways for side, _ in way[1]]
        sides.tokens[:] = [tokens for way in ways for _, tokens in way[1]]
        count_sides(group, sides)
        log_q = divide(group, undivided(group), sides, leaning, share, model.prior, stream, True)
        total += math.exp(log_q) * math.prod(way[2] for way in ways)
    assert total == pytest.approx(1.0, abs=1e-9)


@pytest.fixture(scope="module")
def planted():
    """Five concepts of about five words, and a sampler that can change their number by splits and merges only."""
    corpus = plant_corpus(100, 25, 5, 5, 50, 5, seed=3)
    prior = Prior(0.1, 1.0, 1.0, np.full(25, 0.2), 1.0, 0.5, 2.0, 1.0, 1.0)
    data = make_data(corpus.counts, corpus.features)
    return corpus, Model(prior, data, make_affinity(corpus.counts, corpus.features), Steps(births=0.0, split_merges=6))


def recovered(state, truth):
    """How many of the planted concepts have a partner of Jaccard index 0.6 among those of twenty documents."""
    sizes = sizes_of(state)
    found = sizes.m[sizes.holders >= 20] > sizes.holders[sizes.holders >= 20, None] / 2
    return sum(max((row & t).sum() / (row | t).sum() for row in found) >= 0.6 for t in truth)


def test_one_concept_of_all_words_is_split_into_the_planted_ones(planted):
    corpus, model = planted
    without = model._replace(steps=model.steps._replace(split_merges=0))
    counts = []
    for using in (model, without):
        chain = Chain(using, initial_state("single", model.data, model.prior, np.ones(25), 1, 0), seed=2)
        for _ in chain.advance(150):
            pass
        counts.append(recovered(chain.state, corpus.truth))
    assert counts[0] >= 4, counts
    assert counts[1] == 0, counts


def test_concepts_cut_in_two_at_random_are_made_whole(planted):
    _, model = planted
    start = initial_state("kmeans:5", model.data, model.prior, np.ones(25), 1, 0)
    doc = np.repeat(np.arange(100), np.diff(start.doc_ptr))
    cut = start._replace(concept=(start.concept + 5 * (doc % 2)).astype(np.int32))
    steps = model.steps._replace(flips=False, swaps=0, divisions=0)  # whole concepts alone
    chain = Chain(model._replace(steps=steps), cut, seed=2)
    for _ in chain.advance(60):
        pass
    assert chain.accepted["merge"] >= 4
    assert (sizes_of(chain.state).holders >= 20).sum() <= 7
