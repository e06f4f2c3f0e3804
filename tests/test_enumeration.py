"""The whole posterior of a tiny problem (D = 2, V = 2), enumerated, against the chain's visits.

A concept is one of 24 types (which documents hold it, with which words). The posterior of a multiset of types is
Π w_t^{n_t} / n_t! times the text and the features, with z summed and π integrated out. The chain is compared on the
states of at most three concepts, which the enumeration covers.
"""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from scipy import sparse
from scipy.special import betaln, gammaln

import naive
from joint import any_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.initial import initial_state
from superwords.sampler.model import Model, Prior, Steps, make_data

COUNTS = np.array([[2, 0], [1, 1]])
MOST = 3
SUBSETS = [(), (0,), (1,), (0, 1)]
TYPES = [
    *((words, None) for words in SUBSETS),
    *((None, words) for words in SUBSETS),
    *itertools.product(SUBSETS, SUBSETS),
]


def log_prior(kind, prior):
    held = [words for words in kind if words is not None]
    log_p = math.log(prior.alpha_omega * prior.b1) + betaln(len(held), 2 - len(held) + prior.b1)
    for i in range(2):
        on, off = prior.b2 * prior.lam[i], prior.b2 * (1 - prior.lam[i])
        m = sum(i in words for words in held)
        log_p += betaln(m + on, len(held) - m + off) - betaln(on, off)
    return log_p


def p_document(sets, counts, theta, alpha):
    """Σ_z P(w, z), π integrated out."""
    tokens = [i for i in range(2) for _ in range(counts[i])]
    total = 0.0
    for z in itertools.product(range(len(sets)), repeat=len(tokens)):
        if all(i in sets[k] for i, k in zip(tokens, z)):
            n = np.bincount(z, minlength=len(sets))
            log_p = gammaln(len(sets) * alpha) - gammaln(len(sets) * alpha + len(tokens))
            log_p += (gammaln(alpha + n) - gammaln(alpha)).sum()
            total += math.exp(log_p) * math.prod(
                theta[i] / sum(theta[w] for w in sets[k]) for i, k in zip(tokens, z)
            )
    return total


def posterior(prior, theta, Y):
    """Probabilities of all multisets of at most MOST types with positive likelihood."""
    weight = {}
    for n in range(1, MOST + 1):
        for chosen in itertools.combinations_with_replacement(range(len(TYPES)), n):
            kinds = [TYPES[t] for t in chosen]
            p = 1.0
            for d in range(2):
                p *= p_document([k[d] for k in kinds if k[d] is not None], COUNTS[d], theta, prior.alpha_pi)
            if p == 0:
                continue
            log_p = math.log(p) + sum(log_prior(k, prior) for k in kinds)
            log_p -= sum(gammaln(c + 1) for c in Counter(chosen).values())
            if Y.shape[1]:
                m = np.array([[sum(i in w for w in k if w is not None) for i in range(2)] for k in kinds])
                m = m[m.sum(axis=1) > 0]
                log_p += naive.log_features(m / np.maximum(m.sum(axis=0), 1), Y, prior)
            weight[chosen] = math.exp(log_p)
    total = sum(weight.values())
    return {key: value / total for key, value in weight.items()}


def key_of(state):
    kinds = {}
    for d, held in enumerate(naive.unpack(state)):
        for j, (_, words) in held.items():
            kinds.setdefault(j, [None, None])[d] = tuple(sorted(words))
    return tuple(sorted(TYPES.index(tuple(kind)) for kind in kinds.values()))


CASES = [(1.0, 1.0, 0), (1.0, 1.0, 2), (2.5, 3.0, 1)]
LONG = [pytest.param(*case, 300, marks=pytest.mark.statistics) for case in CASES]


@pytest.mark.parametrize(
    "turns",
    [pytest.param(1, id="in turn"), pytest.param(2, id="one of two apart", marks=pytest.mark.statistics)],
)
@pytest.mark.parametrize(("b1", "b2", "n_features", "size"), [(2.5, 3.0, 1, 100), *LONG])
def test_the_chain_visits_states_as_often_as_the_posterior_says(b1, b2, n_features, size, turns):
    """z-scores by batch means over the 25 most probable states and the number of concepts; |z| < 4.5."""
    prior = Prior(0.8, b1, b2, np.array([0.3, 0.5]), 1.2, 0.7, 2.0, 1.0, 1.0)
    theta = np.array([0.8, 1.2])
    Y = np.random.default_rng(3).normal(size=(2, n_features))
    exact = posterior(prior, theta, Y)
    data = make_data(sparse.csr_array(COUNTS), Y)
    model = Model(prior, data, any_affinity(2), Steps(births=1.0, split_merges=2, turns=turns))
    chain = Chain(model, initial_state("single", data, prior, theta, 1, 0), seed=8)
    n_batches = 50
    top = sorted(exact, key=exact.get)[-25:]
    shares = np.zeros((n_batches, len(top) + 1))
    for _ in chain.advance(200):
        pass
    for batch in range(n_batches):
        keys = [key_of(draw.state) for draw in chain.advance(size)]
        seen = Counter(key for key in keys if len(key) <= MOST)
        n = sum(seen.values())
        assert set(seen) <= set(exact), "a state of likelihood zero was visited"
        shares[batch, :-1] = [seen[key] / n for key in top]
        shares[batch, -1] = sum(len(key) * count for key, count in seen.items()) / n
    truth = np.array([*(exact[key] for key in top), sum(len(key) * p for key, p in exact.items())])
    z = (shares.mean(axis=0) - truth) / (shares.std(axis=0, ddof=1) / math.sqrt(n_batches))
    assert np.abs(z).max() < 4.5, z.round(1)
    assert truth[:-1].sum() > 0.5
