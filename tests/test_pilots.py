"""The start from clusters of rows, the number of concepts, and pilots on samples of the documents."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from chains_for_tests import N_BLOCKS, N_WORDS, Saying, blocks, many_concepts, prior_of, same
from superwords import ConceptModel, Corpus, load
from superwords.errors import InputError
from superwords.fitting.pilots import (
    NOTE,
    Found,
    Measured,
    choose_number,
    frequent_words,
    has_pilots,
    measure,
    n_pilot_sweeps,
    rows_of,
)
from superwords.fitting.settings import make_schedule
from superwords.fitting.starting import prepare, shares_of
from superwords.posterior.draws import Schedule
from superwords.posterior.resampling import found_again
from superwords.progress import Watcher
from superwords.sampler.init.rows import _supported, row_vectors, sample_rows, spherical_kmeans, word_shares
from superwords.sampler.init.starts import initial_state, row_shares
from superwords.sampler.model import make_data
from superwords.sampler.state import check_state, n_concepts


def passages(n_documents: int = 60, seed: int = 5) -> Corpus:
    """Documents of two passages each; a passage is of one of four blocks of ten words."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((2 * n_documents, 40), np.int32)
    for d in range(2 * n_documents):
        np.add.at(counts[d], 10 * rng.integers(4) + rng.integers(10, size=20), 1)
    plain = Corpus.from_counts(counts)
    return replace(plain, parent=np.repeat(np.arange(n_documents), 2))


def fitted(corpus, **options) -> ConceptModel:
    settings = {"n_chains": 2, "n_sweeps": 60, "n_pilots": 4, "random_state": 3, "n_jobs": 1, "progress": False}
    return ConceptModel(**{**settings, **options}).fit(corpus)


def test_rows_find_planted_blocks_of_words():
    counts = blocks()
    state = initial_state("rows:4", make_data(counts, None), prior_of(), np.ones(N_WORDS), 1, 0)
    check_state(state, counts.shape[0], N_WORDS)
    assert n_concepts(state) == N_BLOCKS
    heaviest = [state.concept[a] for a in state.doc_ptr[:-2]]
    assert all(heaviest[d] == heaviest[d % N_BLOCKS] for d in range(80))


def test_word_shares_are_distributions_that_depend_on_no_seed():
    counts = blocks()[:80]
    data = make_data(counts, None)
    one, two = row_shares(data, 4), row_shares(data, 4)
    assert np.array_equal(one, two)
    assert one.sum(axis=1) == pytest.approx(np.ones(len(one)))
    assert (one > 0).all()


def test_a_cluster_that_few_samples_find_is_left_out():
    """Three clusters are found in all of ten samples, and a fourth in three of them."""
    planted = np.kron(np.eye(4), np.ones(10)) / 10
    shares = np.vstack([planted[: 4 if b < 3 else 3] for b in range(10)])
    sample = np.concatenate([[b] * (4 if b < 3 else 3) for b in range(10)])
    group, kept = _supported(shares, sample, 4, 10)
    found = shares.argmax(axis=1) // 10
    assert sorted(kept) == sorted({int(group[found == j][0]) for j in range(3)})


def test_words_without_features_take_the_place_of_their_rows():
    counts = blocks()[:80]
    vectors = np.zeros((N_WORDS, N_BLOCKS))
    vectors[np.arange(N_WORDS), np.arange(N_WORDS) // 5] = 1.0
    vectors[1::5] = np.nan  # one word of each block
    rows = row_vectors(counts, vectors)
    assert np.array_equal(rows.argmax(axis=1), np.arange(80) % N_BLOCKS)
    only_unknown = sparse.csr_array(np.vstack([counts.toarray(), np.eye(N_WORDS, dtype=int)[1:2]]))
    assert row_vectors(only_unknown, vectors)[-1].argmax() == 0


def test_kmeans_copes_with_more_clusters_than_different_vectors():
    vectors = np.repeat(np.eye(2, dtype=np.float32), 5, axis=0)
    label = spherical_kmeans(vectors, 4, np.random.default_rng(1), 2)
    assert len(set(label[:5]) & set(label[5:])) == 0


def test_samples_take_whole_documents():
    source = np.repeat(np.arange(50)[::-1], 3)
    rows = sample_rows(source, np.random.default_rng(1))
    assert len(rows) == 120
    assert len(np.unique(source[rows])) == 40
    assert len(sample_rows(np.zeros(100, int), np.random.default_rng(1))) == 80


def test_names_of_documents_do_not_matter_for_a_sample():
    source = np.repeat(np.arange(50), 3)
    renamed = np.random.default_rng(2).permutation(50)[source]
    one, two = (sample_rows(names, np.random.default_rng(1)) for names in (source, renamed))
    assert np.array_equal(one, two)


def test_a_corpus_of_no_tokens_starts():
    data = make_data(sparse.csr_array((3, N_WORDS), dtype=int), None)
    assert len(initial_state("rows", data, prior_of(), np.ones(N_WORDS), 1, 0).concept) == 0


def test_all_chains_start_from_the_same_clusters_with_tokens_of_their_own():
    counts = blocks()[:80]
    models = [ConceptModel(n_concepts=4, n_chains=2, n_pilots=0, random_state=seed) for seed in (1, 2)]
    for model in models:
        model.start(counts, None)
    states = [chain.state for model in models for chain in model.chains_]
    assert not same(states[0], states[1])
    words = [
        {tuple(np.unique(one.word[one.concept.repeat(np.diff(one.pair_ptr)) == j])) for j in range(4)} for one in states
    ]
    assert all(one == words[0] for one in words)


def test_pilots_find_planted_concepts_again_and_are_saved(tmp_path):
    corpus = passages()
    model = fitted(corpus, n_concepts=4)
    assert model.pilots_.n_pilots == 4
    assert model.n_concepts_ == 4
    shares = np.bincount(model.pilots_.pilot, model.pilots_.share)
    assert shares == pytest.approx(np.ones(4), abs=0.05)
    planted = np.kron(np.eye(4), np.ones(10))
    assert found_again(planted, model.pilots_).tolist() == [4, 4, 4, 4]
    mixed = np.tile(np.arange(40) % 4 == 0, (1, 1)).astype(float)
    assert found_again(mixed, model.pilots_).tolist() == [0]
    again = load(model.save(tmp_path / "model.sw"))
    assert all(np.array_equal(a, b) for a, b in zip(again.pilots_, model.pilots_))
    assert again.n_concepts == 4


def test_the_number_of_concepts_is_chosen_and_the_reason_is_kept():
    said: list[str] = []
    model = fitted(passages(), n_sweeps=140, progress=Saying(said))
    (reason,) = [line for line in said if "start with about" in line]
    assert model.corpus_.notes[NOTE] == reason
    assert "of the text" in reason
    assert any("4 pilots" in line for line in said)


def test_pilots_too_short_to_compare_numbers_keep_the_rules():
    said: list[str] = []
    assert fitted(passages(), progress=Saying(said)).pilots_.n_pilots == 4
    assert not any("start with about" in line for line in said)


def test_pilots_depend_on_neither_seed_nor_jobs_nor_the_order_of_documents():
    corpus = passages()
    one, two = fitted(corpus), fitted(corpus, random_state=4, n_jobs=2)
    assert all(np.array_equal(a, b) for a, b in zip(one.pilots_, two.pilots_))
    shuffled = rows_of(corpus, np.random.default_rng(1).permutation(corpus.n_documents))
    three = fitted(shuffled)
    assert all(np.array_equal(a, b) for a, b in zip(one.pilots_, three.pilots_))
    assert same(one.chains_[0].state, three.chains_[0].state)


def test_chains_have_the_same_bits_at_any_number_of_jobs():
    corpus = passages()
    one, two = (fitted(corpus, n_jobs=n) for n in (1, 2))
    assert all(same(a.state, b.state) for a, b in zip(one.chains_, two.chains_))


@pytest.mark.parametrize(
    "options", [{"n_pilots": 0}, {"init": "topics"}, {"n_sweeps": 20}, {"approximate": "shards:2x40"}]
)
def test_no_pilots_where_they_make_no_sense(options):
    def is_piloted(corpus, **more):
        given = ConceptModel(n_chains=2, n_sweeps=120, progress=False).set_params(**more).get_params()
        return has_pilots(given, prepare(given, corpus, None, Watcher()), make_schedule(given))

    assert is_piloted(passages())
    assert not is_piloted(passages(), **options)
    assert not is_piloted(passages(n_documents=10))


def test_pilots_take_less_than_the_chains():
    given = {**ConceptModel().get_params()}
    sweeps = n_pilot_sweeps(given, Schedule(150, 75, 1))
    assert 15 <= sweeps <= 40
    assert 0.8 * (8 * sweeps + 3 * 4 * sweeps / 3) <= 0.6 * 4 * 150


def told(**information: float):
    """What concepts found again tell, by the number of concepts of a rule of 20."""
    return lambda multiple: Measured(information[f"n{round(20 * multiple)}"], 0.7 if multiple == 1 else 0.6)


def test_the_number_whose_concepts_found_again_tell_most_is_taken():
    chosen = choose_number(20, told(n10=1.5, n20=2.0, n40=1.9))
    assert chosen[:2] == (1.0, 20)
    assert "70% of the text" in chosen.reason
    assert "60% with 10, 60% with 40" in chosen.reason
    assert choose_number(20, told(n10=2.45, n20=2.0, n40=1.9))[:2] == (0.5, 10)
    assert choose_number(20, told(n10=1.0, n20=2.0, n40=2.5, n80=2.0))[:2] == (2.0, 40)
    assert choose_number(20, lambda multiple: Measured(multiple, 0.1)).n_concepts == 160
    assert choose_number(20, told(n10=2.3, n20=2.0, n40=2.35)).n_concepts == 20  # within chance
    assert choose_number(2, lambda multiple: Measured(1 / multiple, 0.1))[:2] == (1.0, 2)


def test_pilots_that_are_asked_for_and_cannot_be_run_are_reported():
    class Heard(Watcher):
        def __init__(self):
            self.lines = []

        def say(self, line):
            self.lines.append(line)

    def heard(n_pilots):
        watcher = Heard()
        model = ConceptModel(n_chains=1, n_sweeps=4, n_pilots=n_pilots, random_state=1, progress=watcher)
        model.fit(passages(), features=None)
        return [line for line in watcher.lines if line.startswith("No pilots are run")]

    assert len(heard(3)) == 1
    assert heard(0) == []


def test_what_concepts_found_again_tell_by_hand():
    a = Found(np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]), np.array([0.75, 0.25]))
    b = Found(np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]), np.array([0.5, 0.5]))
    own = 0.75 * np.log2(4 / 3) + 0.25 * 2
    assert measure([a, a]) == pytest.approx((own, 1.0))
    assert measure([a, b]) == pytest.approx(((own + 1.0) / 2, 1.0))  # a word of two: a Jaccard index of 1/2
    c = Found(np.array([[1.0, 1.0, 0.0, 0.0]]), np.array([1.0]))
    assert measure([a, c]) == pytest.approx((0.75 * np.log2(4 / 3) / 2, (0.75 + 1.0) / 2))  # one broad concept: 0 bits
    # The two halves of a concept, which have its words, tell no more than the concept.
    halves = Found(a.scores[[0, 0, 1]] * [[0.4], [0.6], [1.0]], np.array([0.3, 0.45, 0.25]))
    assert measure([halves, halves]) == pytest.approx((own, 1.0))


def test_a_pilot_has_the_words_that_are_frequent_in_its_sample():
    corpus = passages()
    counts = corpus.counts.toarray()
    counts[:, 0] = 0
    counts[0:6, 0] = 1  # three documents of two passages each
    noted = replace(corpus, counts=sparse.csr_array(counts), notes={"min_df": 3, "min_df_counts": "documents"})
    assert frequent_words(noted).tolist() == list(range(40))
    rare = replace(noted, notes={"min_df": 4, "min_df_counts": "documents"})
    assert frequent_words(rare).tolist() == list(range(1, 40))
    by_row = replace(noted, notes={"min_df": 6, "min_df_counts": "passages"})
    assert 0 in frequent_words(by_row)
    model = fitted(rare, n_concepts=4, lam=np.full(40, 0.2))
    assert 0 not in model.pilots_.word
    assert model.pilots_.word.max() == 39


def test_many_distinct_concepts_are_found_by_doubling():
    model = fitted(many_concepts(), random_state=2)
    assert model.n_concepts_ >= 18


def test_n_concepts_sets_roughly_how_many():
    counts = many_concepts()
    for n in (6, 12):
        model = ConceptModel(n_concepts=n, n_chains=1, n_pilots=0, random_state=1)
        model.start(counts, None)
        assert n / 2 <= n_concepts(model.chains_[0].state) <= n


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"n_concepts": 0}, "n_concepts"),
        ({"n_concepts": 2.5}, "n_concepts"),
        ({"n_concepts": 5, "init": "rows:6"}, "n_concepts"),
        ({"n_concepts": 5, "init": "single"}, "init"),
        ({"n_pilots": -1}, "n_pilots"),
        ({"n_pilots": "few"}, "n_pilots"),
    ],
)
def test_numbers_that_cannot_be_used_are_refused(options, named):
    with pytest.raises(InputError, match=named):
        ConceptModel(**options, progress=False).fit(blocks()[:80])


def test_row_vectors_place_the_rows():
    counts = blocks()[:80]
    where = np.eye(N_BLOCKS)[np.arange(80) % N_BLOCKS]
    model = ConceptModel(n_concepts=4, n_chains=1, n_sweeps=2, progress=False, random_state=1)
    where[0] = np.nan  # a row of which nothing is known
    model.fit(counts, features=None, row_vectors=where)
    assert model.n_concepts_ == 4
    for wrong, said in ((where[:5], "shape"), (np.full((80, 2), np.inf), "finite"), ([["a"]] * 80, "numbers")):
        with pytest.raises(InputError, match=said):
            model.fit(counts, features=None, row_vectors=wrong)


def test_vectors_of_texts_place_rows_beside_their_words():
    pytest.importorskip("wordllama", reason="needs the extra embeddings")
    texts = [
        "The geologist cut the granite.",
        "The miner found the basalt.",
        "The kitten purred at the cat.",
        "The puppy barked at the dog.",
    ] * 15
    corpus = Corpus.from_texts(texts, min_df=2, words="plain", n_jobs=1)
    given = {**ConceptModel().get_params(), "start_rows": None}
    by_texts = prepare(given, corpus, None, Watcher(), "wordllama")
    assert by_texts.corpus.notes["row_vectors"] == "wordllama"
    # No two of the four texts share a word; stones and animals are alike by the texts' vectors alone.
    stone, basalt, kitten = (corpus.vocabulary.index(word) for word in ("granite", "basalt", "kitten"))
    shares = shares_of(by_texts, 2)
    assert shares[:, stone].argmax() == shares[:, basalt].argmax() != shares[:, kitten].argmax()
    with pytest.raises(InputError, match="row_vectors"):
        ConceptModel(progress=False).fit(corpus.counts, row_vectors="wordllama")


def test_few_rows_are_clustered_once():
    counts = blocks()[:12]
    shares = word_shares(counts, np.eye(N_BLOCKS)[np.arange(12) % N_BLOCKS], np.arange(12), 4)
    assert len(shares) == N_BLOCKS
