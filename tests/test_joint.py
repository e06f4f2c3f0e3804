"""Joint-distribution tests of the whole sweep and of each move alone.

Twenty-two statistics for each of 36 settings: at |z| < 4.7 the chance that an exact sampler fails any of them is
below 0.0022, in the short runs (`make test`) and again in the long ones (`make test-statistics`). Short runs are of
every move alone and of four settings of the whole sweep; long runs, of six times the sweeps, are of every setting. The
seeds are fixed.
"""

import pytest

from joint import Setting, joint_z, largest
from superwords.sampler.model import PRIOR_PROPOSALS, Steps
from superwords.sampler.moves.split_merge import attempt

LIMIT = 4.7
SWEEP = Steps(split_merges=1)
ALONE = Steps(flips=False, swaps=0, divisions=0, births=0.0, weights=False, word_moves=0.0, split_merges=0, words=0.0)

WHOLE_SWEEP = {
    "no features": (Setting(n_silent=1), SWEEP),
    "features": (Setting(n_features=2, n_silent=1), SWEEP),
    "unknown features": (Setting(n_features=2, n_unknown=2), SWEEP._replace(word_moves=1.0)),
    "theta sampled": (Setting(n_features=1), SWEEP._replace(sample_theta=True)),
    "b1 and b2": (Setting(n_features=2, b1=3.0, b2=2.5), SWEEP),
    "small b1 and b2": (Setting(n_features=1, b1=0.4, b2=0.5), SWEEP),
    "long documents": (Setting(n_documents=3, length=70, n_features=1, alpha_pi=0.7), SWEEP),
    "few concepts tried": (Setting(length=6, n_features=1), SWEEP._replace(attempts=0.3, overlap=0.5)),
    "concentrations sampled": (
        Setting(length=4, n_features=1),
        SWEEP._replace(sample_alpha_omega=True, sample_b1=True, sample_b2=True),
    ),
    "prior proposals": (Setting(n_features=2), PRIOR_PROPOSALS),
}
ONE_MOVE = {
    "join and leave": (Setting(n_features=2, length=5, n_silent=1), ALONE._replace(flips=True)),
    "join and leave, long": (Setting(n_documents=3, length=70), ALONE._replace(flips=True)),
    "few tries to join and leave": (Setting(length=6), ALONE._replace(flips=True, attempts=0.3, overlap=0.5)),
    "swap": (Setting(n_features=2, n_unknown=1, length=5), ALONE._replace(swaps=3)),
    "swap, long": (Setting(n_documents=3, length=70), ALONE._replace(swaps=3)),
    "divide and unite": (Setting(n_features=2, n_unknown=1, length=5), ALONE._replace(divisions=4)),
    "divide and unite, long": (
        Setting(n_documents=3, length=70, b1=2.0, b2=3.0, alpha_pi=0.7),
        ALONE._replace(divisions=4),
    ),
    "birth and death": (Setting(n_features=2, length=5, n_silent=1), ALONE._replace(births=2.0)),
    "weights": (Setting(length=6), ALONE._replace(weights=True)),
    "words": (Setting(n_features=2, n_unknown=1, length=5), ALONE._replace(words=1.0)),
    "words, long": (Setting(n_documents=3, length=70, n_features=1, b1=2.0, b2=3.0), ALONE._replace(words=1.0)),
    "half of the words": (Setting(n_features=2, length=5), ALONE._replace(words=0.5)),
    "word move": (Setting(n_features=2, n_unknown=1, length=8, lam=0.4), ALONE._replace(word_moves=1.0)),
    "half of the word moves": (Setting(n_features=2, length=8, lam=0.4), ALONE._replace(word_moves=0.5)),
    "split and merge": (Setting(length=5, n_silent=1), ALONE._replace(split_merges=2)),
    "split and merge, features": (
        Setting(n_words=5, length=4, n_features=2, n_unknown=1, b1=2.0, b2=3.0, alpha_pi=0.7),
        ALONE._replace(split_merges=2),
    ),
    "theta": (Setting(length=8), ALONE._replace(sample_theta=True)),
    "concentrations": (Setting(), ALONE._replace(sample_alpha_omega=True, sample_b1=True, sample_b2=True)),
}
SHORT = pytest.param((400, 6), id="short")
LONG = pytest.param((1200, 12), id="long", marks=pytest.mark.statistics)
IN_SHORT = ("unknown features", "theta sampled", "few concepts tried", "concentrations sampled")


@pytest.mark.parametrize("size", [LONG])
@pytest.mark.parametrize("name", WHOLE_SWEEP)
def test_whole_sweep(name, size):
    check_sweep(name, size)


@pytest.mark.parametrize("size", [SHORT])
@pytest.mark.parametrize("name", IN_SHORT)
def test_short_runs_of_the_whole_sweep(name, size):
    check_sweep(name, size)


def check_sweep(name, size):
    setting, steps = WHOLE_SWEEP[name]
    z = joint_z(setting, steps, *size, seed=11)
    assert abs(z).max() < LIMIT, largest(z)


@pytest.mark.parametrize("size", [SHORT, LONG])
@pytest.mark.parametrize("name", ONE_MOVE)
def test_one_move_alone(name, size, monkeypatch):
    setting, steps = ONE_MOVE[name]
    monkeypatch.setattr(attempt, "_HOPEFUL", (0.0, 0.0))  # the first look at everything: ratios are small here
    z = joint_z(setting, steps, *size, seed=12)
    assert abs(z).max() < LIMIT, largest(z)
    assert (z != 0).sum() >= 3, "the move changes nothing: the test could not fail"
