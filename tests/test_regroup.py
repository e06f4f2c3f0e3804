"""Split and merge of whole concepts: every part against a slower one that is written from the definition."""

import itertools
import math

import numpy as np
import pytest

from superwords.generate import plant_corpus
from superwords.sampler.affinity import make_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.density import log_score
from superwords.sampler.initial import initial_state
from superwords.sampler.model import Model, Prior, Steps, make_data
from superwords.sampler.moves import regroup as moves
from superwords.sampler.moves.allocation import divide, divide_blindly, make_rules
from superwords.sampler.moves.group import BOTH, Sides, count_sides, gather, undivided
from superwords.sampler.random import new_stream, open_stream
from superwords.sampler.semantics import log_features
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


def place_of(chain):
    return moves.Place(chain.state, chain.tokens, sizes_of(chain.state), chain.model)


def divided(place, model, stream):
    """Splits that leave both halves with documents, whatever their ratio: (concept, group, division)."""
    found = []
    for j in range(len(place.sizes.holders)):
        group, now = gather(place.state, place.tokens, model, j, -1)
        for attempt in range(20):
            open_stream(stream, 99, attempt, j)
            seeds = moves._draw_seeds(group, now.m[0], now.m[0], model, stream)
            sides, _ = moves._launch(group, None, seeds, place.sizes.total, model, stream)
            if sides.holders.all():
                found.append((j, group, sides))
                break
    assert len(found) >= 3
    return found


def test_the_density_of_a_split_is_that_of_the_two_states(chain):
    model, stream = chain.model, new_stream(5, 0)
    place = place_of(chain)
    for j, group, sides in divided(place, model, stream):
        sizes = moves._split_sizes(place.sizes, j, group, sides)
        change = moves.log_density_change(group, sides, j, place.sizes, sizes, model)
        change += log_features(sizes, model.data, model.prior)
        change -= log_features(place.sizes, model.data, model.prior)
        new = moves._settle(place, sizes, group, sides, (j, len(sizes.holders) - 1), stream)
        slow = log_score(new.state, new.tokens, model) - log_score(place.state, place.tokens, model)
        assert change == pytest.approx(slow, abs=1e-7)


def test_counts_after_a_split_equal_a_rebuild_and_a_merge_takes_it_back(chain):
    model, stream = chain.model, new_stream(6, 0)
    place = place_of(chain)
    for j, group, sides in divided(place, model, stream):
        sizes = moves._split_sizes(place.sizes, j, group, sides)
        last = len(sizes.holders) - 1
        split = moves._settle(place, sizes, group, sides, (j, last), stream)
        rebuilt = sizes_of(split.state)
        np.testing.assert_array_equal(sizes.m, rebuilt.m)
        np.testing.assert_array_equal(sizes.holders, rebuilt.holders)
        np.testing.assert_array_equal(sizes.total, rebuilt.total)
        assert split.tokens.pair.sum() == place.tokens.pair.sum()
        again, found = gather(split.state, split.tokens, model, j, last)
        for mine, theirs in zip(found, sides):
            np.testing.assert_array_equal(mine, theirs)
        back = moves._merged_sizes(sizes, j, again)
        np.testing.assert_array_equal(back.m, place.sizes.m)
        np.testing.assert_array_equal(back.total, place.sizes.total)
        merged = moves._settle(split, back, again, moves.whole(again), (j, last), stream)
        assert log_score(merged.state, merged.tokens, model) == pytest.approx(
            log_score(place.state, place.tokens, model), abs=1e-7
        )


def test_the_way_back_has_the_probability_of_the_way_there(chain):
    """The last pass, made again by force from the same launch, gives the same log probability."""
    model = chain.model
    place = place_of(chain)
    group, _ = gather(place.state, place.tokens, model, 0, -1)
    rules, leaning = make_rules(model, group), np.linspace(-2.0, 2.0, len(group.support))
    stream = new_stream(7, 0)
    open_stream(stream, 99, 0, 0)
    launch = undivided(group)
    divide(group, launch, launch, leaning, rules, stream, False)

    def copy():
        return Sides(*(array.copy() for array in launch))

    drawn, forced = copy(), copy()
    log_q = divide(group, drawn, drawn, leaning, rules, stream, False)
    assert log_q == pytest.approx(divide(group, forced, drawn, leaning, rules, stream, True), abs=1e-9)
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
            shared = [(BOTH, k, math.comb(tokens, k)) for k in range(tokens + 1)]
            options.append([(1, tokens, 1), (2, 0, 1), *shared])
        for chosen in itertools.product(*options):
            ways.append((BOTH, [c[:2] for c in chosen], math.prod(c[2] for c in chosen)))
        per_doc.append(ways)
    return itertools.product(*per_doc)


@pytest.mark.parametrize("is_blind", [False, True])
def test_the_divisions_probabilities_sum_to_one(chain, is_blind):
    """Over all divisions of a small group: two documents of two words."""
    model = chain.model
    place = place_of(chain)
    whole_group, _ = gather(place.state, place.tokens, model, 0, -1)
    group = whole_group._replace(
        doc=np.array([3, 5]),
        ptr=np.array([0, 2, 4]),
        word=np.array([0, 1, 0, 2], np.int32),
        tokens=np.array([2, 0, 1, 1]),
        null=np.zeros(2, np.int64),
        others=np.array([0, 2]),
        length=np.array([4, 9]),
    )
    rules, leaning = make_rules(model, group), np.linspace(1.0, -1.0, len(group.support))
    stream = new_stream(8, 0)
    total = 0.0
    for ways in all_divisions(group):
        sides = undivided(group)
        sides.doc[:] = [way[0] for way in ways]
        sides.word[:] = [side for way in ways for side, _ in way[1]]
        sides.tokens[:] = [tokens for way in ways for _, tokens in way[1]]
        count_sides(group, sides)
        if is_blind:
            log_q = divide_blindly(group, undivided(group), sides, stream, True)
        else:
            log_q = divide(group, undivided(group), sides, leaning, rules, stream, True)
        total += math.exp(log_q) * math.prod(way[2] for way in ways)
    assert total == pytest.approx(1.0, abs=1e-9)


@pytest.fixture(scope="module")
def planted():
    """Five concepts of about five words, and a sampler that can change their number by splits and merges only."""
    corpus = plant_corpus(100, 25, 5, 5, 50, 5, seed=3)
    prior = Prior(0.1, 1.0, 1.0, np.full(25, 0.2), 1.0, 0.5, 2.0, 1.0, 1.0)
    data = make_data(corpus.counts, corpus.features)
    return corpus, Model(
        prior, data, make_affinity(corpus.counts, corpus.features), Steps(births=0, regroups=6)
    )


def recovered(state, truth):
    """How many of the planted concepts have a partner of Jaccard index 0.6 among those of twenty documents."""
    sizes = sizes_of(state)
    found = sizes.m[sizes.holders >= 20] > sizes.holders[sizes.holders >= 20, None] / 2
    return sum(max((row & t).sum() / (row | t).sum() for row in found) >= 0.6 for t in truth)


def test_one_concept_of_all_words_is_split_into_the_planted_ones(planted):
    corpus, model = planted
    without = model._replace(steps=model.steps._replace(regroups=0))
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
    steps = model.steps._replace(flips=False)
    chain = Chain(model._replace(steps=steps), cut, seed=2)
    for _ in chain.advance(60):
        pass
    assert chain.accepted[1] >= 4
    assert (sizes_of(chain.state).holders >= 20).sum() <= 7
