"""The start from a topic model of the same rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from chains_for_tests import N_BLOCKS, N_WORDS, blocks, many_concepts, prior_of
from superwords import ConceptModel
from superwords.fitting import defaults
from superwords.fitting.fit import checked
from superwords.sampler.chain import Chain
from superwords.sampler.density import log_text
from superwords.sampler.init.hdp import ALPHA, ETA, GAMMA, draw_topics
from superwords.sampler.init.starts import initial_state
from superwords.sampler.model import make_data
from superwords.sampler.random import new_stream
from superwords.sampler.state import check_state, n_concepts, sizes_of


def start(init: str, counts: sparse.csr_array, seed: int = 1):
    data = make_data(counts, None)
    state = initial_state(init, data, prior_of(), np.ones(N_WORDS), seed, 0)
    check_state(state, counts.shape[0], N_WORDS)
    return data, state


def test_topics_find_planted_blocks_of_words():
    counts = blocks()
    _, state = start("topics:4", counts)
    m = sizes_of(state).m
    assert m.shape == (N_BLOCKS, N_WORDS)
    owner = m.argmax(axis=0).reshape(N_BLOCKS, 5)
    assert (owner == owner[:, :1]).all()
    assert len(np.unique(owner)) == N_BLOCKS


def test_words_are_on_just_where_a_topic_has_tokens_of_them():
    counts = blocks(n_tokens=6)
    data, state = start("topics:7", counts)
    assert np.isfinite(log_text(state, data))
    topics = draw_topics(counts, 7, new_stream(1, 0))
    used = {(d, int(i), int(t)) for d, i, t in zip(topics.row, topics.word, topics.topic)}
    assert len(used) == len(state.word)
    rows = np.repeat(np.arange(counts.shape[0]), np.diff(state.doc_ptr))
    on = {
        (int(rows[p]), int(i)) for p in range(len(rows)) for i in state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
    }
    assert on == {(d, i) for d, i, _ in used}
    assert state.doc_ptr[-1] == state.doc_ptr[-2], "a row without tokens starts without concepts"


def test_the_number_of_topics_grows_with_the_root_of_the_tokens():
    _, few = start("topics", blocks(n_rows=40, n_tokens=10))
    _, more = start("topics", blocks(n_rows=250, n_tokens=10))
    assert n_concepts(few) == 2
    assert n_concepts(more) == 5


def test_the_same_seed_gives_the_same_start_and_another_another():
    counts = blocks(n_tokens=5)
    one, same, other = (start("topics:6", counts, seed)[1] for seed in (1, 1, 2))
    assert all(np.array_equal(a, b) for a, b in zip(one, same))
    assert not np.array_equal(one.weight, other.weight)


def test_no_tokens_no_concepts():
    _, state = start("topics", sparse.csr_array((3, N_WORDS), dtype=int))
    assert len(state.concept) == 0


def test_topics_follow_their_posterior_by_enumeration():
    """Two rows of two tokens, two topics: how often tokens share a topic, against the sum over all 16 allotments."""
    counts = sparse.csr_array(np.array([[1, 1], [2, 0]]))
    tokens = [(0, 0), (0, 1), (1, 0), (1, 0)]
    exact, total = np.zeros(3), 0.0
    rng = np.random.default_rng(5)
    for _ in range(4000):  # over the shares β, whose prior is Dirichlet(γ/2, γ/2)
        share = rng.dirichlet([GAMMA / 2] * 2)
        for z in np.ndindex(2, 2, 2, 2):
            p, in_row, of_word = 1.0, np.zeros((2, 2)), np.zeros((2, 2))
            for (d, i), t in zip(tokens, z):
                p *= (in_row[d, t] + ALPHA * share[t]) / (in_row[d].sum() + ALPHA)
                p *= (of_word[t, i] + ETA) / (of_word[t].sum() + 2 * ETA)
                in_row[d, t] += 1
                of_word[t, i] += 1
            total += p
            exact += p * np.array([z[0] == z[1], z[0] == z[2], z[2] == z[3]])
    n = 1500
    found = np.zeros(3)
    for seed in range(n):
        z = draw_topics(counts, 2, new_stream(seed, 0)).topic
        found += [z[0] == z[1], z[0] == z[2], z[2] == z[3]]
    p = exact / total
    z_score = (found / n - p) / np.sqrt(p * (1 - p) / n)
    assert (np.abs(z_score) < 4.0).all(), z_score  # 4: false alarm 2e-4, and fixed seeds


@pytest.mark.parametrize("features", ["auto", None, "cooccurrence:log", np.eye(3), "cooccurrence,embeddings:x"])
def test_chains_start_from_rows_whatever_the_features_are(features):
    model, _ = checked({"features": features})
    assert model.init == defaults.INIT == "rows"
    model, _ = checked({"features": features, "init": "single"})
    assert model.init == "single"


def started(counts: sparse.csr_array, **given: str) -> Chain:
    model = ConceptModel(n_chains=1, random_state=2, progress=False, **given)
    model.start(counts, None)
    return model.chains_[0]


def test_a_start_from_topics_grows_where_the_data_ask_for_more_concepts():
    counts = many_concepts()
    grown, asked = started(counts, init="topics"), started(counts, init="topics:9")
    assert round(np.sqrt(counts.sum()) / 10) == 9
    assert n_concepts(asked.state) == 9
    assert n_concepts(grown.state) >= 18
    assert grown.sweep == 0
    assert not grown.tried


def test_a_start_from_topics_does_not_grow_where_the_data_ask_for_no_more():
    counts = blocks(n_rows=400)
    chain = started(counts, init="topics")
    assert n_concepts(chain.state) <= round(np.sqrt(counts.sum()) / 10) + 1
