"""New documents folded in: exact against enumeration, each on its own, the same after loading, and bad input."""

from __future__ import annotations

import itertools
import math
import warnings
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse
from scipy.special import gammaln
from sklearn.exceptions import NotFittedError

from experiments.generators import plant_corpus
from superwords import ConceptModel, Corpus, load
from superwords.errors import InputError
from superwords.fitting.folding import LEAST_INCLUSION, UnknownWordsWarning, fold
from superwords.sampler.leave_one_out import LeaveOneOutCounts, leave_one_out_counts
from superwords.sampler.model import Prior
from superwords.sampler.state import Sizes

PLANTED = plant_corpus(160, 40, 5, 2, 30, 3, seed=4)
N_TRAINING = 120
N_RUNS, N_SWEEPS = 30, 20_000  # so many that a wrong factor in any of the moves was seen
FAR = 4.5


class Case(NamedTuple):
    """A tiny trained state and a new document."""

    m: list[list[int]]
    holders: list[int]
    theta: list[float]
    b1: float
    b2: float
    lam: list[float]
    alpha_pi: float
    counts: list[int]


CASES = {
    "b = 1": Case([[3, 1, 0], [0, 2, 2]], [3, 2], [1, 1, 1], 1, 1, [0.3, 0.3, 0.3], 1, [1, 2, 0]),
    "b ≠ 1": Case([[3, 1, 0], [0, 2, 2]], [3, 2], [0.5, 1.7, 0.8], 2.5, 0.6, [0.2, 0.5, 0.3], 0.7, [1, 1, 1]),
    "three concepts": Case(
        [[3, 1, 0], [0, 2, 2], [1, 0, 1]], [4, 2, 1], [0.5, 1.7, 0.8], 3, 2, [0.2, 0.5, 0.3], 1.6, [2, 0, 1]
    ),
    "a long document": Case(
        [[3, 1, 2, 1], [2, 2, 0, 1]], [3, 2], [0.5, 1.3, 0.8, 1.4], 2.5, 1.6, [0.2, 0.5, 0.3, 0.1], 0.7, [61, 0, 0, 0]
    ),
    "a long document of small weights": Case(
        [[3, 2, 2, 1], [2, 1, 1, 2]], [3, 2], [0.5, 1.3, 0.8, 1.4], 0.5, 1.6, [0.2, 0.5, 0.3, 0.1], 0.3, [61, 0, 0, 0]
    ),
}
N_DOCUMENTS = 4


def concepts_of(case: Case, n_documents: int = N_DOCUMENTS) -> LeaveOneOutCounts:
    prior = Prior(1.0, case.b1, case.b2, np.array(case.lam), case.alpha_pi, 0.5, 2.0, 1.0, 1.0)
    m = np.array(case.m, np.int32)
    sizes = Sizes(m, np.array(case.holders, np.int64), m.sum(axis=0))
    return leave_one_out_counts(sizes, n_documents, np.array(case.theta, float), prior)


def enumerate_exactly(case: Case) -> np.ndarray:
    """P(a concept is used) and mean weights of those used, over all c, f and ways to share out each word's tokens."""
    holders, theta, a = np.array(case.holders), np.array(case.theta), case.alpha_pi
    odds = holders / (N_DOCUMENTS - holders + case.b1)
    p = (np.array(case.m) + case.b2 * np.array(case.lam)) / (holders + case.b2)[:, None]
    n_concepts, n_words = p.shape
    length = sum(case.counts)
    total, inclusion, weight = 0.0, np.zeros(n_concepts), np.zeros(n_concepts)
    for r in range(1, n_concepts + 1):
        z = np.array(list(itertools.product(*(_shares(n, r) for n in case.counts))))  # (ways, V, r)
        n = z.sum(axis=1)
        log_z = gammaln(z.sum(axis=2) + 1).sum(axis=1) - gammaln(z + 1).sum(axis=(1, 2))
        log_z += gammaln(r * a) - gammaln(r * a + length) + (gammaln(a + n) - gammaln(a)).sum(axis=1)
        for held in map(list, itertools.combinations(range(n_concepts), r)):
            for sets in itertools.product(itertools.product([0, 1], repeat=n_words), repeat=r):
                f = np.array(sets)
                possible = ((z == 0) | (f.T[None] == 1)).all(axis=(1, 2))
                mass = np.where(f.any(axis=1), f @ theta, 1.0)
                log_text = (z.sum(axis=2) @ np.log(theta)) - n @ np.log(mass)
                prior = odds[held].prod() * np.where(f, p[held], 1 - p[held]).prod()
                joint = prior * np.exp(log_z + log_text)[possible]
                total += joint.sum()
                used = n[possible] > 0
                inclusion[held] += joint @ used
                weight[held] += joint @ (used * (a + n[possible]) / (r * a + length))
    return np.concatenate([inclusion / total, weight / weight.sum()])


def _shares(n: int, r: int) -> list[tuple[int, ...]]:
    """All ways to share n tokens out among r concepts."""
    if r == 1:
        return [(n,)]
    return [(first, *rest) for first in range(n + 1) for rest in _shares(n - first, r - 1)]


def distance(concepts: LeaveOneOutCounts, case: Case, n_sweeps: int = N_SWEEPS) -> float:
    """The largest |z| of inclusion and weight over independent runs."""
    counts = sparse.csr_array(np.array([case.counts], np.int32))
    runs = [fold(concepts, counts, seed, n_sweeps, 1) for seed in range(N_RUNS)]
    found = np.array([np.concatenate([run.inclusion[0], run.weight[0]]) for run in runs])
    error = found.std(axis=0, ddof=1) / math.sqrt(N_RUNS)
    return float(np.abs((found.mean(axis=0) - enumerate_exactly(case)) / error).max())


@pytest.mark.parametrize("name", CASES)
def test_enumeration(name):
    assert distance(concepts_of(CASES[name]), CASES[name]) < FAR


@pytest.mark.parametrize("bug", ["a document too few", "b2 left out", "pi of another shape"])
def test_a_wrong_ratio_is_seen(bug):
    case = CASES["b ≠ 1"]
    wrong = {
        "a document too few": concepts_of(case, N_DOCUMENTS - 1),
        "b2 left out": concepts_of(case._replace(b2=1.0)),
        "pi of another shape": concepts_of(case._replace(alpha_pi=1.0)),
    }[bug]
    assert distance(wrong, case) > FAR


@cache
def planted_model() -> ConceptModel:
    corpus = Corpus.from_counts(PLANTED.counts[:N_TRAINING], [f"w{i}" for i in range(40)])
    model = ConceptModel(n_chains=1, n_sweeps=120, n_burn_in=100, init="kmeans:5", random_state=2)
    return model.fit(corpus, features=PLANTED.features)


def test_training_documents_keep_their_concepts():
    model = planted_model()
    weights = model.transform(PLANTED.counts[:N_TRAINING])
    assert weights.shape == model.doc_concept_.shape
    assert np.corrcoef(weights.ravel(), model.doc_concept_.ravel())[0, 1] > 0.9


def test_new_documents_hold_what_was_planted():
    model = planted_model()
    weights, inclusion = model.transform(PLANTED.counts[N_TRAINING:], return_inclusion=True)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    assert (weights[inclusion < LEAST_INCLUSION] == 0).all()
    assert (inclusion <= 1 + 1e-12).all()
    truth = PLANTED.truth.astype(float)
    meant = np.argmax(np.corrcoef(model.concept_word_, truth)[: model.n_concepts_, model.n_concepts_ :], axis=1)
    heaviest = meant[weights.argmax(axis=1)]
    assert PLANTED.holds[np.arange(N_TRAINING, 160), heaviest].mean() > 0.9


def test_each_document_on_its_own():
    model, new = planted_model(), PLANTED.counts[N_TRAINING:]
    together = model.transform(new)
    order = np.random.default_rng(0).permutation(new.shape[0])[:17]
    np.testing.assert_array_equal(model.transform(new[order]), together[order])
    np.testing.assert_array_equal(model.transform(new[[3]].toarray()), together[[3]])
    np.testing.assert_array_equal(fold_with_jobs(model, new, 1), fold_with_jobs(model, new, 3))


def fold_with_jobs(model: ConceptModel, counts: sparse.csr_array, n_jobs: int) -> np.ndarray:
    model.n_jobs = n_jobs
    try:
        return model.transform(sparse.vstack([counts] * 30, format="csr"))
    finally:
        model.n_jobs = None


def test_same_after_loading(tmp_path: Path):
    model, new = planted_model(), PLANTED.counts[N_TRAINING:]
    loaded = load(model.save(tmp_path / "model.sw"))
    np.testing.assert_array_equal(loaded.transform(new), model.transform(new))


def test_columns_go_by_word():
    model, new = planted_model(), PLANTED.counts[N_TRAINING:].toarray()
    order = np.random.default_rng(1).permutation(40)
    words = [model.corpus_.vocabulary[i] for i in order]
    np.testing.assert_array_equal(model.transform(Corpus.from_counts(new[:, order], words)), model.transform(new))
    assert model.unknown_words_.n_tokens == 0


def test_unknown_words_are_left_out_and_said():
    model, new = planted_model(), PLANTED.counts[N_TRAINING:].toarray()
    more = np.hstack([new, np.zeros((40, 2), int)])
    more[:2, 40:] = [[1, 5], [1, 0]]
    corpus = Corpus.from_counts(more, [*model.corpus_.vocabulary, "zebra", "gnu"])
    with pytest.warns(UnknownWordsWarning, match=r"^7 tokens .* left out: gnu, zebra\.$"):
        weights = model.transform(corpus)
    np.testing.assert_array_equal(weights, model.transform(new))
    with warnings.catch_warnings(action="ignore"):
        model.transform(corpus)
    assert model.unknown_words_ == (7, ["gnu", "zebra"])


def test_a_document_without_known_words_has_no_weights():
    model = planted_model()
    counts = np.zeros((2, 40), int)
    counts[1, 3] = 2
    weights, inclusion = model.transform(counts, return_inclusion=True)
    assert not weights[0].any()
    assert not inclusion[0].any()
    assert weights[1].sum() == pytest.approx(1)


def test_texts_are_read_as_in_the_fit():
    texts = ["The tax bill raises taxes.", "Taxes and health care.", "Health care is health care.", "A tax on care."]
    corpus = Corpus.from_texts(texts, min_df=1, words="plain")
    model = ConceptModel(n_chains=1, n_sweeps=20, random_state=0).fit(corpus)
    np.testing.assert_array_equal(model.transform(texts), model.transform(corpus))
    model.transform(["A zebra likes health care."])
    assert model.unknown_words_.n_tokens > 0
    assert "zebra" in model.unknown_words_.examples
    assert not model.transform([""]).any()
    assert not model.transform(["", "Thank you."]).any()


def test_a_model_without_concepts():
    empty = Corpus.from_counts(np.zeros((3, 2), int))
    model = ConceptModel(alpha_omega=1e-9, init="prior", n_chains=1, n_sweeps=2, random_state=0).fit(empty)
    assert model.transform([[1, 0]]).shape == (1, 0)


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.ones((2, 39), int), "39 columns but the model knows 40 words"),
        ([[0.5] * 40], "not a whole number"),
        ([[-1] * 40], "negative"),
        (["a text"], "not fitted to raw texts"),
        ("a text", "not fitted to raw texts"),
        (np.ones(40, int), r"1 dimension\(s\)"),
    ],
)
def test_bad_documents(X, sentence):
    with pytest.raises(InputError, match=sentence):
        planted_model().transform(X)


def test_bad_calls():
    with pytest.raises(NotFittedError, match="call fit first"):
        ConceptModel().transform([[1]])
    with pytest.raises(InputError, match="n_sweeps=0 is not a whole number of at least 1"):
        planted_model().transform(np.ones((1, 40), int), n_sweeps=0)


def test_no_documents_have_no_rows() -> None:
    """`transform([])` complained about dimensions."""
    counts = np.array([[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 2, 1], [0, 0, 1, 2]])
    model = ConceptModel(n_chains=1, n_sweeps=10, random_state=0, progress=False).fit(counts)
    assert model.transform([]).shape == (0, model.n_concepts_)
    weight, inclusion = model.transform([], return_inclusion=True)
    assert weight.shape == inclusion.shape == (0, model.n_concepts_)
