"""Every wrong step of docs/algebra.md section 2, and some of our own, must turn the joint-distribution test red.

A clean sampler stays under 4.7 (test_joint.py); a bug has to show at more than 6. The published steps are run by
`make test`; those for which kernels are compiled anew belong to `make test-statistics`.
"""

import pytest

from joint import Setting, joint_z
from mutation import mutant_columns, mutant_concepts, mutant_split_merge, mutant_words
from superwords.sampler import chain, semantics
from superwords.sampler.model import Steps

CAUGHT = 6.0
SWEEP = Steps(split_merges=1)
ALONE = Steps(
    flips=False, swaps=0, divisions=0, births=0, weights=False, word_moves=0.0, split_merges=0, words=False
)


def largest(setting, steps, n_replicates=600, n_steps=12):
    return abs(joint_z(setting, steps, n_replicates, n_steps, seed=21)).max()


@pytest.mark.parametrize(
    ("steps", "setting"),
    [
        (SWEEP._replace(published_pi=True), Setting(length=8)),
        (SWEEP._replace(published_birth=True, data_driven=False), Setting(alpha_omega=3.0)),
        (
            ALONE._replace(flips=True, published_join=True, data_driven=False),
            Setting(n_documents=3, length=2),
        ),
        (SWEEP._replace(published_order=True), Setting(length=6)),
    ],
    ids=["published pi", "births divided by J+1 twice", "m_j without d", "stale z"],
)
def test_a_published_step_is_caught(steps, setting):
    assert largest(setting, steps) > CAUGHT


@pytest.mark.statistics
def test_published_eta_is_valid_when_eta_0_is_1_in_the_ratios_too():
    assert largest(Setting(), SWEEP._replace(published_eta=True, data_driven=False), 1000) < 4.7


@pytest.mark.statistics
def test_eta_0_forced_in_the_proposal_but_not_in_the_ratio_is_caught(monkeypatch, tmp_path):
    wrong = mutant_concepts(
        "    log_odds -= math.log(max(birth_probability(unique, mu, steps), 1e-300))",
        "    log_odds -= math.log(birth_probability(unique, mu, steps) if unique else 1.0 - math.exp(-mu))",
        tmp_path,
    )
    monkeypatch.setitem(chain.MOVES, "concepts", wrong)
    assert largest(Setting(), SWEEP._replace(published_eta=True, data_driven=False)) > CAUGHT


@pytest.mark.statistics
def test_a_wrong_degree_of_freedom_is_caught(monkeypatch):
    monkeypatch.setattr(semantics, "degrees_of_freedom", lambda prior, n_known: 2.0 * prior.alpha_sigma)
    assert largest(Setting(n_words=6, n_features=8, length=2), ALONE._replace(words=True), 1500) > CAUGHT


@pytest.mark.statistics
def test_a_wrong_normaliser_of_phi_is_caught(monkeypatch):
    right = semantics.mixing_matrix
    monkeypatch.setattr(
        semantics,
        "mixing_matrix",
        lambda sizes, known: right(sizes, known) * sizes.total[known] / (sizes.total[known] + 2),
    )
    assert largest(Setting(n_features=4, length=2), ALONE._replace(words=True), 1500) > CAUGHT


EXCHANGES = {
    "swap without its choice": (
        "log_ratio + math.log(chance_back / chance)",
        "log_ratio",
        ALONE._replace(swaps=3),
    ),
    "division's Jacobian": (
        "- math.lgamma(alpha_pi) + log_whole",
        "- math.lgamma(alpha_pi)",
        ALONE._replace(divisions=4),
    ),
    "division's first look": (
        "weight_t, absent_j, 0.0, size_j",
        "weight_t, absent_j, 3.0, size_j",
        ALONE._replace(divisions=4),
    ),
    "who is united with whom": (
        "(doc.cover[at] * n_left * chance)",
        "(doc.cover[at] * chance)",
        ALONE._replace(divisions=4),
    ),
}


@pytest.mark.parametrize(
    ("where", "old", "new", "setting", "steps"),
    [
        ("word_sets", "            product /= factor\n", "", Setting(length=6), ALONE._replace(flips=True)),
        (
            "births",
            "    if log_u >= log_ratio - _log_proposal_over_prior(",
            "    if log_u >= log_ratio - 0.0 * _log_proposal_over_prior(",
            Setting(length=6),
            ALONE._replace(births=2),
        ),
        (
            "instance",
            "            B += b * b",
            "            B += b",
            Setting(n_features=4, length=2),
            ALONE._replace(births=2),
        ),
        *(("exchange", old, new, Setting(length=6), steps) for old, new, steps in EXCHANGES.values()),
    ],
    ids=["join without its proposal", "birth without its proposal", "newborn's precision", *EXCHANGES],
)
@pytest.mark.statistics
def test_a_bug_in_the_concept_step_is_caught(monkeypatch, tmp_path, where, old, new, setting, steps):
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(old, new, tmp_path, where))
    assert largest(setting, steps, 1500) > CAUGHT


@pytest.mark.parametrize(
    ("where", "old", "new", "steps"),
    [
        (
            "words",
            "(work.sizes.holders[j] - 1 - m_others + b2 * (1.0 - lam))",
            "(work.sizes.holders[j] - m_others + b2 * (1.0 - lam))",
            ALONE._replace(words=True),
        ),
        (
            "word_move",
            "        log_weight -= (tokens + n) * math.log(mass + theta)",
            "        log_weight -= tokens * math.log(mass + theta)",
            ALONE._replace(word_moves=1.0),
        ),
    ],
    ids=["prior of f", "word move's text"],
)
@pytest.mark.statistics
def test_a_bug_in_the_word_step_is_caught(monkeypatch, tmp_path, where, old, new, steps):
    monkeypatch.setitem(chain.MOVES, "words", mutant_words(old, new, tmp_path, where))
    assert largest(Setting(length=8, lam=0.4), steps, 1500) > CAUGHT


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("(columns.sizes.holders[j] - 1 - m_others", "(columns.sizes.holders[j] - m_others"),
        (
            "u[q] = gamma(stream, float(page.tokens[q])) / page.mass[q]",
            "u[q] = page.tokens[q] / page.mass[q]",
        ),
    ],
    ids=["prior of f", "u not drawn"],
)
@pytest.mark.statistics
def test_a_bug_in_the_word_step_with_words_apart_is_caught(monkeypatch, tmp_path, old, new):
    monkeypatch.setitem(chain.MOVES, "columns", mutant_columns(old, new, tmp_path))
    setting = Setting(length=8, lam=0.4)
    assert largest(setting, ALONE._replace(words=True, columns=True), 1500) > CAUGHT


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("attempt", "math.log(partners[b] * (n_rows - 1) / n_rows)", "math.log((n_rows - 1) / n_rows)"),
        ("attempt", "    change = log_weights(", "    change = 0.5 * log_weights("),
        ("attempt", "sign * log_ratio - first", "sign * log_ratio - (1.0 + 3.0 * is_merge) * first"),
        ("division", "    return n * math.log(2.0) + math.log1p(-(2.0 ** (1 - n)))\n", "    return 0.0\n"),
        ("division", "        log_q += math.log(p / total)\n", ""),
        ("unused_words", "            log_q += math.log(product * odds * p_off)\n", ""),
        ("unused_words", "        log_p -= side.per_doc[n] * math.log(mass)\n", ""),
    ],
    ids=[
        "who merges with whom",
        "weights of a division",
        "the first look counted more than once",
        "tokens of a word on both sides",
        "words of a division",
        "unused words",
        "text of unused words",
    ],
)
@pytest.mark.statistics
def test_a_bug_in_split_and_merge_is_caught(monkeypatch, tmp_path, where, old, new):
    monkeypatch.setitem(chain.MOVES, "split_merge", mutant_split_merge(old, new, tmp_path, where))
    setting = Setting(n_words=3, length=6, lam=0.5, alpha_omega=2.0)
    assert largest(setting, ALONE._replace(split_merges=2), 800) > CAUGHT
