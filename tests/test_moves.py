"""Kernels of the moves against naive twins, and incremental statistics against a rebuild."""

import itertools
import math

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import beta

import naive
from chains_for_tests import simulate_words
from experiments.generators import plant_corpus
from joint import any_affinity
from parts import from_python
from superwords.sampler.affinity import make_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.document import load_document, new_document, set_on
from superwords.sampler.feature_draw import draw_regression
from superwords.sampler.init.starts import counts_of, initial_state
from superwords.sampler.leave_one_out import count_pair, leave_one_out_counts
from superwords.sampler.model import Model, Prior, Steps, make_data
from superwords.sampler.moves import birth_death as births
from superwords.sampler.moves import divide_unite
from superwords.sampler.moves import proposals as word_sets
from superwords.sampler.moves import reassign_word as word_move
from superwords.sampler.moves.assignments import impute_tokens
from superwords.sampler.moves.documents import sweep_membership, take_pairs
from superwords.sampler.moves.word_inclusion import sweep_words
from superwords.sampler.random import new_stream, open_stream_from_python
from superwords.sampler.state import Sizes, relabel, sizes_of

V = 5
THETA = np.linspace(0.6, 1.4, V)
PRIOR = Prior(2.5, 1.5, 2.0, np.linspace(0.25, 0.6, V), 0.9, 0.7, 2.0, 1.5, 1.0)


def laid_out(seed, d=0, length=6, steps=None):
    """A simulated problem with document d at hand, taken out of the counts."""
    sim = simulate_words(PRIOR, np.full(4, length), 0, THETA, seed)
    data = make_data(sim.counts, None)
    model = Model(PRIOR, data, any_affinity(V), steps or Steps())
    counts = leave_one_out_counts(sizes_of(sim.state), 3, THETA, PRIOR, 4)
    doc = new_document(V, V, len(counts.holders))
    for p in range(sim.state.doc_ptr[d], sim.state.doc_ptr[d + 1]):
        words = sim.state.word[sim.state.pair_ptr[p] : sim.state.pair_ptr[p + 1]]
        from_python(count_pair)(counts, int(sim.state.concept[p]), words, -1)
    from_python(load_document)(doc, counts, data, d, 5.0, 4.0)
    from_python(take_pairs)(doc, sim.state, counts, d)
    stream = new_stream(seed, 1)
    open_stream_from_python(stream, 1, 1, 1)
    return sim, model, counts, doc, stream


def seeds_with_pairs(n, least=2, lengths=(6,), suits=lambda sim, own, others: True):
    """Seeds whose document 0 holds at least so many concepts, and suits, at each length of a document."""
    found = []
    for seed in itertools.count():
        sims = [simulate_words(PRIOR, np.full(4, length), 0, THETA, seed) for length in lengths]
        held = [np.split(sim.state.concept, sim.state.doc_ptr[1:2]) for sim in sims]
        if all(len(own) >= least and suits(sim, own, others) for sim, (own, others) in zip(sims, held)):
            found.append(seed)
        if len(found) == n:
            return found


@pytest.mark.parametrize("seed", seeds_with_pairs(8))
def test_text_gain_and_loss_are_ratios_of_the_text_likelihood(seed):
    sim, _, _, doc, _ = laid_out(seed)
    held, counts = naive.unpack(sim.state)[0], sim.counts.toarray()[0]
    now = naive.log_document(held, counts, THETA)
    k, length = int(doc.n_pairs), counts.sum()
    doc.rest[:] = doc.explained
    for words in ([], [1], [0, 2, 4], list(range(V))):
        mass = sum(THETA[w] for w in words)
        from_python(set_on)(doc, k, np.array(words, np.int32))
        fast = -length * math.log1p(0.7 / doc.total_weight)
        if words:
            fast += from_python(word_sets.log_gain)(k, 0.7 / mass, doc)
        slow = naive.log_document({**held, -1: (0.7, set(words))}, counts, THETA) - now
        assert fast == pytest.approx(slow, abs=1e-11)
    for k, j in enumerate(held):
        slow = naive.log_document({i: h for i, h in held.items() if i != j}, counts, THETA) - now
        assert from_python(births.log_leave)(k, doc) == pytest.approx(slow, abs=1e-11)


def all_sets():
    return [np.flatnonzero(f).astype(np.int32) for f in itertools.product([0, 1], repeat=V)]


@pytest.mark.parametrize("length", [6, 70])
@pytest.mark.parametrize(
    "seed", seeds_with_pairs(3, lengths=(6, 70), suits=lambda sim, own, others: set(others) - set(own))
)
def test_join_proposal_is_a_probability_and_scores_what_it_draws(seed, length):
    """Σ_f q(f) = 1 where log P(f)/q(f) is what the kernel says, and draws have the frequencies q."""
    _, _, counts, doc, stream = laid_out(seed, length=length)
    open_to = np.flatnonzero((counts.holders > 0) & (doc.place == 0))
    j, k = int(open_to[0]), int(doc.n_pairs)
    absent, draw_absent = from_python(word_sets.log_absent), from_python(word_sets.draw_absent)
    doc.rest[:] = doc.explained
    tilt = from_python(word_sets.tilt_of)(j, 0.8, doc.total_weight, doc, counts)
    assert (tilt.absent > 0) == (length > 60)
    log_tilt = from_python(word_sets.tilt_words)(j, tilt, doc.factor, doc)
    p = (counts.m[:, j] + PRIOR.b2 * PRIOR.lam) / (counts.holders[j] + PRIOR.b2)
    q = {}
    for words in all_sets():
        from_python(set_on)(doc, k, words)
        log_ratio = log_tilt + absent(j, tilt.absent, words, doc, counts)
        log_ratio -= sum(math.log(doc.factor[a]) for a in range(doc.n_words) if doc.on[k, a])
        q[tuple(words)] = naive.bernoulli(np.isin(np.arange(V), words), p) / math.exp(log_ratio)
    assert sum(q.values()) == pytest.approx(1.0, abs=1e-10)
    n, seen = 20_000, dict.fromkeys(q, 0)
    for _ in range(n):
        size, _ = from_python(word_sets.draw_present)(k, j, doc.factor, doc, stream)
        size, _ = draw_absent(k, j, tilt.absent, 0.0, size, doc, counts, stream)
        seen[tuple(sorted(doc.words[k, :size].tolist()))] += 1
    assert_frequencies(seen, q, n)


def assert_frequencies(seen, q, n):
    z = [(seen[k] - n * q[k]) / math.sqrt(n * q[k] * (1 - q[k]) + 1e-9) for k in q if n * q[k] > 5]
    assert max(map(abs, z)) < 4.5


@pytest.mark.parametrize("seed", seeds_with_pairs(3))
def test_birth_proposal_is_a_probability_and_scores_what_it_draws(seed):
    _, model, counts, doc, stream = laid_out(seed)
    doc.rest[:] = doc.explained
    from_python(births._weigh_seeds)(doc, doc.total_weight)
    score, draw = from_python(births._log_proposal_over_prior), from_python(births._draw_words)
    q = {
        tuple(words): naive.bernoulli(np.isin(np.arange(V), words), PRIOR.lam)
        * math.exp(score(words, doc, counts, model))
        for words in all_sets()
    }
    assert sum(q.values()) == pytest.approx(1.0, abs=1e-10)
    n, seen = 20_000, dict.fromkeys(q, 0)
    for _ in range(n):
        k, size = int(doc.n_pairs), draw(doc, counts, model, stream)
        seen[tuple(sorted(doc.words[k, :size].tolist()))] += 1
    assert_frequencies(seen, q, n)


@pytest.mark.parametrize("seed", seeds_with_pairs(6, lengths=(9,), suits=lambda sim, own, others: own[1] in others))
def test_a_division_has_the_ratio_of_densities_over_that_of_its_proposal(seed):
    """Against c, f, π and the text of the document from scratch, for random divisions of its first concept."""
    sim, _, counts, doc, _ = laid_out(seed, length=9)
    rng = np.random.default_rng(seed)
    held, tokens = naive.unpack(sim.state)[0], sim.counts.toarray()[0]
    j, t = int(doc.concept[0]), int(doc.concept[1])
    without = {i: h for i, h in held.items() if i != t}
    p = {i: (counts.m[:, i] + PRIOR.b2 * PRIOR.lam) / (counts.holders[i] + PRIOR.b2) for i in (j, t)}
    own = [int(w) for w in doc.word[: doc.n_words]]

    def log_density(concepts_held):
        if not all(any(w in words for _, words in concepts_held.values()) for w in own):
            return -math.inf
        log_p = naive.log_weights([concepts_held], PRIOR)
        log_p += naive.log_document(concepts_held, tokens, THETA)
        for i in set(concepts_held) & {j, t}:
            f = np.isin(np.arange(V), sorted(concepts_held[i][1]))
            log_p += math.log(naive.bernoulli(f, p[i]))
        return log_p + (math.log(counts.holders[t] / (3 - counts.holders[t] + PRIOR.b1)) if t in concepts_held else 0)

    checked = 0
    for _ in range(30):
        part = rng.uniform(0.1, 0.9)
        whole, absent_j = rng.uniform(0.5, 2.0), {w for w in held[j][1] if w not in own}
        absent_t = {w for w in range(V) if w not in own and rng.random() < 0.5}
        fate = {w: int(rng.integers(0, 4)) for w in own}
        one = {**without, j: (whole, absent_j | {w for w in own if fate[w]})}
        two = {
            **without,
            j: (part * whole, absent_j | {w for w in own if fate[w] & 1}),
            t: ((1 - part) * whole, absent_t | {w for w in own if fate[w] >> 1}),
        }
        if log_density(one) == -math.inf or not any(f >> 1 for f in fate.values()):
            continue
        rest = [sum(pi / THETA[list(ws)].sum() for i, (pi, ws) in without.items() if i != j and w in ws) for w in own]
        doc.rest[: len(own)] = rest
        doc.side[: len(own)] = [fate[w] for w in own]
        mass = [float(THETA[sorted(words)].sum()) for words in (absent_j, absent_t)]
        weights = part * whole, (1 - part) * whole
        division = from_python(divide_unite._weigh_division)(j, t, PRIOR.alpha_pi, doc)
        fast = division.log_prior + math.log(counts.odds[t])
        fast += from_python(divide_unite._log_weights)(division, *weights, PRIOR.alpha_pi)
        fast += from_python(divide_unite._log_text)(division, *weights, *mass, len(two[j][1]), doc)
        n = [sum(tokens[w] * share[fate[w]] for w in own) for share in ((0, 1, 0, 0.5), (0, 0, 1, 0.5))]
        log_q = beta.logpdf(part, PRIOR.alpha_pi + n[0], PRIOR.alpha_pi + n[1]) - math.log(whole)
        for w in own:
            if fate[w]:
                a, b = p[j][w], p[t][w]
                ways = {1: a * (1 - b), 2: b * (1 - a), 3: a * b}
                log_q += math.log(ways[fate[w]] / (a + b - a * b))
        for w in set(range(V)) - set(own):
            log_q += math.log(p[t][w] if w in absent_t else 1 - p[t][w])
        assert fast == pytest.approx(log_density(two) - log_density(one) - log_q, abs=1e-9)
        checked += 1
    assert checked


def test_tokens_are_imputed_in_proportion_to_weight_over_mass():
    sim, model, _, _, _ = laid_out(seeds_with_pairs(1, 3)[0])
    state = sim.state
    model = model._replace(steps=Steps(weights=False))
    n, total = 3000, np.zeros(len(state.word))
    for sweep in range(n):
        total += impute_tokens(state, model, new_stream(5, 0), sweep).entry
    counts = sim.counts.toarray()
    for d in range(4):
        for i in np.flatnonzero(counts[d]):
            entries, weights = [], []
            for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
                words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
                for e, w in enumerate(words):
                    if w == i:
                        entries.append(state.pair_ptr[p] + e)
                        weights.append(state.weight[p] / THETA[words].sum())
            share = np.array(weights) / sum(weights)
            expected = n * counts[d, i] * share
            spread = np.sqrt(expected * (1 - share)) + 1e-9
            assert (np.abs(total[entries] - expected) / spread)[spread > 1e-6].max(initial=0) < 4.5


@pytest.fixture(scope="module")
def planted():
    corpus = plant_corpus(60, 80, 8, 4, 60, 6, seed=2)
    features = corpus.features.copy()
    features[:5] = np.nan
    lam = np.full(80, 0.1)
    prior = Prior(2.0, 1.0, 1.0, lam, 1.0, 0.5, 2.0, 1.0, 1.0)
    data = make_data(corpus.counts, features)
    model = Model(prior, data, make_affinity(corpus.counts, features), Steps(births=3.0, word_moves=1.0))
    return model, initial_state("kmeans:10", data, prior, np.ones(80), 1, 0)


def test_the_counts_of_the_concept_step_equals_a_rebuild(planted):
    """After thousands of joins, leaves, births and deaths: counts exactly, sums to 1e-9."""
    model, state = planted
    stream = new_stream(1, 0)
    changed = 0
    for sweep in range(25):
        new, counts, instance, _ = sweep_membership(state, model, stream, sweep)
        used = np.unique(new.concept)
        rebuilt = sizes_of(new)
        free = counts.free[: counts.n_free]
        assert sorted([*free.tolist(), *used.tolist()]) == list(range(len(counts.holders)))
        np.testing.assert_array_equal(counts.m[:, used], rebuilt.m[used].T)
        np.testing.assert_array_equal(counts.holders[used], rebuilt.holders[used])
        np.testing.assert_array_equal(instance.total, rebuilt.total)
        np.testing.assert_allclose(counts.mass[used], rebuilt.m[used] @ new.theta, rtol=1e-9)
        held = rebuilt.holders[used]
        np.testing.assert_allclose(counts.odds[used], held / (59 - held + model.prior.b1))
        np.testing.assert_allclose(counts.inverse[used], 1 / (held + model.prior.b2))
        assert_listed(counts, used)
        pull = (rebuilt.m[used].T @ instance.x[used]) * model.data.known[:, None]
        assert np.abs(instance.feature_sum - pull).max() <= 1e-9 * np.abs(pull).max()
        changed += abs(len(new.concept) - len(state.concept)) + len(np.setxor1d(new.word, state.word))
        relabel(new, stream, sweep, 0)
        tokens = impute_tokens(new, model, stream, sweep)
        sizes = sizes_of(new)
        state, _ = sweep_words(new, tokens, sizes, model, stream, sweep)
    assert changed > 0


def assert_listed(counts, used):
    """Every word of a concept stands in one level, whose bound it keeps; those that some document has on are listed."""
    for j in used:
        assert sorted(counts.by_level[j]) == list(range(80))
        value = counts.m[:, j] + counts.extra
        for level in range(counts.bound.shape[1]):
            words = counts.by_level[j, counts.level_ptr[j, level] : counts.level_ptr[j, level + 1]]
            assert (counts.level[j, words] == level).all()
            assert (value[words] <= counts.bound[j, level]).all()
        listed = counts.support[j, : counts.support_size[j]]
        assert len(set(listed)) == len(listed)
        assert set(np.flatnonzero(counts.m[:, j])) <= set(listed) == set(np.flatnonzero(counts.listed[j]))


def test_the_statistics_of_the_word_steps_equal_a_rebuild(planted):
    """f word by word, and word moves document by document: counts, z and the words' order."""
    model, state = planted
    model = model._replace(steps=model.steps._replace(words=1.0))
    stream = new_stream(2, 0)
    flips = moved = 0
    for sweep in range(10):
        tokens, sizes = impute_tokens(state, model, stream, sweep), sizes_of(state)
        before = state
        for kind in ("words", "word moves"):
            if kind == "words":
                state, tokens = sweep_words(state, tokens, sizes, model, stream, sweep)
                flips += abs(len(state.word) - len(before.word))
            else:
                instance = draw_regression(sizes, model.data, model.prior, stream, sweep, 9)
                given = word_move.start_moves(state, tokens, sizes, instance, model)
                word_move.sweep_word_moves(given, stream, sweep)
                moved += given.moved[0]
                pull = (sizes.m.T @ instance.x) * model.data.known[:, None] * instance.precision
                assert np.abs(instance.p_x - pull @ instance.x.T).max() <= 1e-9 * np.abs(pull).max()
                np.testing.assert_array_equal(instance.total, sizes.total)
                again = word_move.start_moves(state, tokens, sizes, instance, model)
                np.testing.assert_array_equal(given.odds, again.odds)
            rebuilt = sizes_of(state)
            np.testing.assert_array_equal(sizes.m, rebuilt.m)
            np.testing.assert_array_equal(sizes.total, rebuilt.total)
            pair = np.add.reduceat(np.append(tokens.entry, 0), state.pair_ptr[:-1]) * (np.diff(state.pair_ptr) > 0)
            np.testing.assert_array_equal(pair, tokens.pair)
            for p in range(len(state.concept)):
                assert (np.diff(state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]) > 0).all()
            used = np.repeat(np.repeat(np.arange(60), np.diff(state.doc_ptr)), np.diff(state.pair_ptr))
            found = sparse.coo_array((tokens.entry, (used, state.word)), (60, 80)).toarray()
            np.testing.assert_array_equal(found, counts_of(model.data).toarray())
    assert flips > 1000
    assert moved > 100


def test_a_document_of_one_word_many_concepts_outgrows_every_buffer():
    """Births on every document: slots and the new state all have to grow, and nothing is lost."""
    prior = Prior(400.0, 1.0, 1.0, np.full(6, 0.5), 1.0, 0.5, 2.0, 1.0, 1.0)
    counts = sparse.csr_array(np.ones((5, 6), int))
    data = make_data(counts, None)
    model = Model(prior, data, make_affinity(counts, None), Steps(births=60.0))
    chain = Chain(model, initial_state("single", data, prior, np.ones(6), 0, 0), seed=3)
    for _ in chain.advance(5):
        rebuilt = sizes_of(chain.state)
        assert (rebuilt.holders > 0).all()
    assert len(rebuilt.holders) > 40
    assert isinstance(rebuilt, Sizes)


def test_nothing_adapts(planted):
    """From sweep to sweep a chain carries its state, z and the concentrations that are sampled, and nothing else."""
    model, state = planted
    sampling = model._replace(steps=model.steps._replace(sample_b1=True))
    for given in (model, sampling):
        chain = Chain(given, state, seed=4)
        for _ in chain.advance(3):
            assert all(now is then for now, then in zip(chain.model[1:], given[1:]))
            assert chain.model.prior._replace(b1=given.prior.b1, lam=None) == given.prior._replace(lam=None)
            assert (chain.model.prior.b1 == given.prior.b1) is (given is model)
