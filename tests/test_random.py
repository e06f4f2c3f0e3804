"""The counter-based streams against numpy's Philox and scipy's distributions."""

import numpy as np
import pytest
from scipy import stats

from parts import from_python
from superwords.sampler import random
from superwords.sampler.jit import kernel

ALARM = 1e-4  # false-alarm rate of each distribution test; the seeds are fixed


@kernel
def draw_many(stream, what, argument, n):
    out = np.empty(n)
    for k in range(n):
        if what == 0:
            out[k] = random.uniform(stream)
        elif what == 1:
            out[k] = random.normal(stream)
        elif what == 2:
            out[k] = random.gamma(stream, argument)
        elif what == 3:
            out[k] = random.poisson(stream, argument)
        elif what == 4:
            out[k] = random.skip(stream, argument)
        else:
            out[k] = random.below(stream, int(argument))
    return out


def opened(seed=1, chain=0, move=2, sweep=3, ident=4):
    stream = random.new_stream(seed, chain)
    random.open_stream_from_python(stream, move, sweep, ident)
    return stream


def numpy_philox(seed, chain, move, sweep, ident):
    counter = ident * 2**64 + sweep * 2**128 + move * 2**192
    return np.random.Philox(counter=(counter - 1) % 2**256, key=seed + chain * 2**64)


def test_the_bits_are_philox4x64():
    fill_block = from_python(random._fill_block)
    stream = opened(12345, 7, 3, 2, 1)
    ours = []
    for _ in range(5):
        fill_block(stream)
        ours += [int(x) for x in stream[6:10]]
    assert ours == [int(x) for x in numpy_philox(12345, 7, 3, 2, 1).random_raw(20)]


def test_streams_differ_in_every_part_of_their_name_and_repeat():
    names = [{}, {"seed": 2}, {"chain": 1}, {"move": 3}, {"sweep": 4}, {"ident": 5}]
    first = [draw_many(opened(**name), 0, 0.0, 3)[0] for name in names]
    assert len(set(first)) == len(names)
    assert draw_many(opened(), 0, 0.0, 9).tolist() == draw_many(opened(), 0, 0.0, 9).tolist()


@pytest.mark.parametrize(
    ("what", "argument", "law"),
    [
        (0, 0.0, stats.uniform()),
        (1, 0.0, stats.norm()),
        (2, 0.2, stats.gamma(0.2)),
        (2, 1.0, stats.gamma(1.0)),
        (2, 40.0, stats.gamma(40.0)),
    ],
)
def test_continuous_draws_follow_their_law(what, argument, law):
    assert stats.kstest(draw_many(opened(), what, argument, 50_000), law.cdf).pvalue > ALARM


@pytest.mark.parametrize(
    ("what", "argument", "law"),
    [
        (3, 0.4, stats.poisson(0.4)),
        (3, 6.0, stats.poisson(6.0)),
        (4, 0.3, stats.geom(0.3, loc=-1)),
        (4, 0.9, stats.geom(0.9, loc=-1)),
        (5, 7, stats.randint(0, 7)),
    ],
)
def test_counts_follow_their_law(what, argument, law):
    n = 50_000
    seen = draw_many(opened(), what, float(argument), n).astype(int)
    values = np.arange(int(law.ppf(1 - 20 / n)) + 1)
    observed = np.array([*(np.sum(seen == v) for v in values), np.sum(seen > values[-1])], float)
    expected = n * np.append(law.pmf(values), law.sf(values[-1]))
    keep = expected > 1e-9
    assert observed[~keep].sum() == 0
    assert stats.chisquare(observed[keep], expected[keep] * observed.sum() / expected[keep].sum()).pvalue > ALARM


def test_skipping_with_certainty_and_with_no_chance():
    assert draw_many(opened(), 4, 1.0, 3).tolist() == [0, 0, 0]
    assert (draw_many(opened(), 4, 0.0, 3) > 1e18).all()
