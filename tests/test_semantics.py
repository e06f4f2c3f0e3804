"""The fast algebra of P(Y|Φ) against the formula from scratch."""

import math

import numpy as np
import pytest
from scipy import sparse, stats

import naive
from parts import from_python
from superwords.sampler import feature_likelihood as semantics
from superwords.sampler.feature_draw import change_counts, draw_regression, log_fit_change, log_fit_newborn
from superwords.sampler.model import Prior, make_data
from superwords.sampler.random import new_stream
from superwords.sampler.state import Sizes

J, V, F = 7, 30, 5
PRIOR = Prior(1.0, 1.0, 1.0, np.full(V, 0.2), 1.0, 0.7, 2.0, 1.5, 1.0)


def problem(seed=0, n_unknown=0, n_idle=0):
    """Random counts m_ji (the last n_idle words on nowhere) and features."""
    rng = np.random.default_rng(seed)
    m = rng.integers(0, 5, size=(J, V)) * (rng.random((J, V)) < 0.3)
    m[:, V - n_idle :] = 0
    m[J - 1] = 0
    sizes = Sizes(m.astype(np.int32), np.full(J, 9), m.sum(axis=0).astype(np.int64))
    Y = rng.normal(size=(V, F)) * 2
    Y[:n_unknown] = np.nan
    data = make_data(sparse.csr_array((3, V), dtype=np.int32), Y)
    return sizes, data, rng


def log_features_naive(m, data):
    rows = m[m.sum(axis=1) > 0]
    phi = rows / np.maximum(m.sum(axis=0), 1)
    return naive.log_features(phi[:, data.known], data.Y[data.known], PRIOR)


def sizes_with(m):
    return Sizes(m.astype(np.int32), np.full(len(m), 9), m.sum(axis=0).astype(np.int64))


@pytest.fixture(params=["dense", "sparse"])
def algebra(request, monkeypatch):
    """Counts are made a sparse array only where they are many; here, of any number."""
    if request.param == "sparse":
        monkeypatch.setattr(semantics, "_LARGE", 0)
        monkeypatch.setattr(semantics, "_FEW", 1.0)


def test_few_counts_of_many_are_a_sparse_array():
    m = np.zeros((60, 10_000), np.int32)
    m[:, :100] = 3
    assert sparse.issparse(semantics.counts_as_numbers(sizes_with(m)))
    assert not sparse.issparse(semantics.counts_as_numbers(sizes_with(m[:, :1_000])))
    assert not sparse.issparse(semantics.counts_as_numbers(sizes_with(m + 1)))


def test_the_instance_is_the_same_either_way(monkeypatch):
    sizes, data, _ = problem(3, 4, 3)
    dense = draw_regression(sizes, data, PRIOR, new_stream(1, 0), 0, n_spare=2)
    monkeypatch.setattr(semantics, "_LARGE", 0)
    monkeypatch.setattr(semantics, "_FEW", 1.0)
    for one, other in zip(dense, draw_regression(sizes, data, PRIOR, new_stream(1, 0), 0, n_spare=2)):
        np.testing.assert_allclose(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("algebra")
@pytest.mark.parametrize(("n_unknown", "n_idle"), [(0, 0), (4, 3)])
def test_log_features_is_the_papers_formula(n_unknown, n_idle):
    sizes, data, _ = problem(1, n_unknown, n_idle)
    assert semantics.log_features(sizes, data, PRIOR) == pytest.approx(log_features_naive(sizes.m, data), rel=1e-11)


def test_log_features_without_any_concept_is_a_plain_student_t():
    _, data, _ = problem(2)
    sizes = sizes_with(np.zeros((0, V)))
    by_hand = sum(
        stats.multivariate_t(shape=np.eye(V) * PRIOR.beta_sigma / PRIOR.alpha_sigma, df=2 * PRIOR.alpha_sigma).logpdf(
            data.Y[:, k]
        )
        for k in range(F)
    )
    assert semantics.log_features(sizes, data, PRIOR) == pytest.approx(by_hand, rel=1e-10)


def instance_of(sizes, data, n_spare=0):
    return draw_regression(sizes, data, PRIOR, new_stream(3, 0), 0, n_spare=n_spare)


def log_gaussian(m, x, precision, data):
    """log P(Y | X, σ², Φ) from scratch."""
    phi = m / np.maximum(m.sum(axis=0), 1)
    residual = (data.Y - phi.T @ x)[data.known]
    return float((0.5 * np.log(precision / (2 * np.pi)) - 0.5 * precision * residual**2).sum())


def test_instantiated_fit_change_is_the_gaussian_ratio_and_pull_keeps_up():
    """For joins, leaves and words that pass from one concept to another."""
    sizes, data, rng = problem(6, n_unknown=2, n_idle=3)
    instance = instance_of(sizes, data)
    m, mark = sizes.m.astype(int).copy(), np.zeros(V, np.uint8)
    for _ in range(3000):
        j, t = (int(x) for x in rng.choice(J, 2, replace=False))
        gone = np.flatnonzero((rng.random(V) < rng.choice([0.0, 0.3])) & (m[j] > 0)).astype(np.int32)
        come = np.flatnonzero(rng.random(V) < rng.choice([0.0, 0.3])).astype(np.int32)
        new = m.copy()
        new[j, gone] -= 1
        new[t, come] += 1
        change = from_python(log_fit_change)(instance, gone, j, come, t, mark)
        assert not mark.any()
        slow = log_gaussian(new, instance.x, instance.precision, data) - log_gaussian(
            m, instance.x, instance.precision, data
        )
        assert change == pytest.approx(slow, abs=1e-7)
        from_python(change_counts)(instance, gone, j, come, t)
        m = new
    rebuilt = (m.T @ instance.x) * data.known[:, None]
    weighed = instance.x * instance.precision
    np.testing.assert_array_equal(instance.total, m.sum(axis=0))
    for fast, slow in (
        (instance.feature_sum, rebuilt),
        (instance.p_x, rebuilt @ weighed.T),
        (instance.y_p, (rebuilt * data.Y) @ instance.precision),
        (instance.p_p, (rebuilt * rebuilt) @ instance.precision),
    ):
        assert np.abs(fast - slow).max() <= 1e-9 * np.abs(slow).max()


@pytest.mark.parametrize("size", [0, 1, 4])
def test_newborn_fit_integrates_its_own_features(size):
    """log ∫ P(Y|x) N(x; 0, σ²/K) dx − log P(Y), by Gaussian algebra in the full matrix form."""
    sizes, data, rng = problem(7, n_unknown=2, n_idle=4)
    instance = instance_of(sizes, data, 1)
    words = rng.choice(V, size=size, replace=False).astype(np.int32)
    fast, B = from_python(log_fit_newborn)(instance, PRIOR.K, words, J, 0)
    after, x = sizes.m.astype(float).copy(), instance.x[:J]
    row = np.zeros(V)
    row[words] = 1
    total = after.sum(axis=0) + row
    mean = (after.T @ x) / np.maximum(total, 1)[:, None]
    slope = row / np.maximum(total, 1)
    slow = 0.0
    for k in range(F):
        variance = 1 / instance.precision[k]
        covariance = variance * (np.eye(V) + np.outer(slope, slope) / PRIOR.K)[np.ix_(data.known, data.known)]
        slow += stats.multivariate_normal(mean[data.known, k], covariance).logpdf(data.Y[data.known, k])
    slow -= log_gaussian(sizes.m, x, instance.precision, data)
    assert fast == pytest.approx(slow, abs=1e-8)
    assert pytest.approx(PRIOR.K + (slope[data.known] ** 2).sum()) == B


def test_instance_is_drawn_from_its_posterior():
    """Over many draws: mean of x is X̂, E[1/σ²] = shape/β̂, covariance of x is A/E-scale (fixed seeds, |z| < 4.5)."""
    sizes, data, _ = problem(8)
    A, X, b, _ = semantics.posterior(sizes, data, PRIOR)
    n = 4000
    draws = [draw_regression(sizes, data, PRIOR, new_stream(4, 0), sweep) for sweep in range(n)]
    x = np.array([d.x for d in draws])
    precision = np.array([d.precision for d in draws])
    shape = PRIOR.alpha_sigma + V / 2
    z_precision = (precision.mean(axis=0) - shape / b) / (np.sqrt(shape) / b / math.sqrt(n))
    assert np.abs(z_precision).max() < 4.5
    scaled = (x - X) * np.sqrt(precision)[:, None, :]
    assert np.abs(scaled.mean(axis=0) / np.sqrt(np.diag(A))[:, None] * math.sqrt(n)).max() < 4.5
    variance_ratio = scaled.var(axis=0) / np.diag(A)[:, None]
    assert np.abs((variance_ratio - 1) / math.sqrt(2 / n)).max() < 4.5
