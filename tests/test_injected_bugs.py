"""Every wrong step of docs/algebra.md section 2, and some of our own, must turn the joint-distribution test red.

A clean sampler stays under 4.7 (test_joint.py); a bug has to show at more than 6. It is looked for four times, after an
eighth, a quarter, half and all of the replicates: by the normal distribution an exact sampler shows 6 at any of them in
any of 22 statistics with a probability below 2e-7. A state of density zero, which an exact sampler cannot reach, shows
the bug at once. All need kernels compiled anew, and belong to `make test-statistics`.
"""

import numpy as np
import pytest

from experiments.published import STEPS, published_steps
from joint import Setting, ZeroDensityError, joint_z
from mutation import mutant_concepts, mutant_part, mutant_split_merge, mutant_word_move
from superwords.sampler import chain
from superwords.sampler import feature_draw as instance
from superwords.sampler import feature_likelihood as semantics
from superwords.sampler.model import Steps

CAUGHT = 6.0
SWEEP = Steps(split_merges=1)
ALONE = Steps(flips=False, swaps=0, divisions=0, births=0.0, weights=False, word_moves=0.0, split_merges=0, words=0.0)
# η from the Poisson, with η(0) = 1 where a birth is proposed but not in the ratio
(ETA,) = STEPS["eta"].values()
ETA_IN_PROPOSAL = [
    *ETA[:-1],
    (ETA[-1][0], "- math.log(birth_probability(unique, mu) if unique else 1.0 - math.exp(-mu))"),
]


def largest(setting, steps, n_replicates=600, n_steps=12, enough=np.inf):
    return abs(joint_z(setting, steps, n_replicates, n_steps, seed=21, enough=enough)).max()


def is_caught(setting, steps, n_replicates=600):
    try:
        return largest(setting, steps, n_replicates, enough=CAUGHT) > CAUGHT
    except ZeroDensityError:  # no exact sampler reaches such a state
        return True


@pytest.mark.parametrize(
    ("step", "steps", "setting"),
    [
        ("pi", SWEEP, Setting(length=8)),
        ("birth", SWEEP._replace(data_driven=False, births=1.0), Setting(alpha_omega=3.0)),
        ("join", ALONE._replace(flips=True, data_driven=False), Setting(n_documents=3, length=2)),
        ("order", SWEEP, Setting(length=6)),
    ],
    ids=["published pi", "births divided by J+1 twice", "m_j without d", "stale z"],
)
@pytest.mark.statistics
def test_a_published_step_is_caught(step, steps, setting):
    with published_steps([step]):
        assert is_caught(setting, steps)


@pytest.mark.statistics
def test_published_eta_is_valid_when_eta_0_is_1_in_the_ratios_too():
    with published_steps(["eta"]):
        assert largest(Setting(), SWEEP._replace(data_driven=False), 1000) < 4.7


@pytest.mark.statistics
def test_eta_0_forced_in_the_proposal_but_not_in_the_ratio_is_caught(monkeypatch, tmp_path):
    steps = SWEEP._replace(data_driven=False)
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(tmp_path, steps, birth_death=ETA_IN_PROPOSAL))
    assert is_caught(Setting(), steps)


@pytest.mark.statistics
def test_a_wrong_scale_of_the_noise_is_caught(monkeypatch):
    right = semantics.posterior

    def wrong(sizes, data, prior):
        A, X, b, log_det = right(sizes, data, prior)
        return A, X, 0.7 * b, log_det

    monkeypatch.setattr(instance, "posterior", wrong)
    assert is_caught(Setting(n_words=6, n_features=8, length=2), ALONE._replace(words=1.0), 1500)


@pytest.mark.statistics
def test_a_wrong_normaliser_of_phi_is_caught(monkeypatch):
    right = semantics.mixing_matrix
    monkeypatch.setattr(
        semantics,
        "mixing_matrix",
        lambda sizes, known: right(sizes, known) * sizes.total[known] / (sizes.total[known] + 2),
    )
    assert is_caught(Setting(n_words=6, n_features=8, length=2), ALONE._replace(words=1.0), 1500)


# Any odd function may take the first look; one that looks hard at small ratios shows what is done with it.
HARD_LOOK = ("return log_ratio - min(max(log_ratio, -_SLACK), _SLACK)", "return 3.0 * log_ratio")
SCREEN_BUG = ("        log_rough -= log_screened\n", "")
SCREENED = (ALONE._replace(flips=True), ALONE._replace(swaps=3))
SWAPS = {
    "swap without its choice": (
        "log_choice = math.log(chance_back / chance)",
        "log_choice = 0.0",
        ALONE._replace(swaps=3),
    ),
    "division's Jacobian": (
        "- math.lgamma(alpha_pi) + log_whole",
        "- math.lgamma(alpha_pi)",
        ALONE._replace(divisions=4),
    ),
    "division's last screen": (
        "weight_j, weight_t, absent_j, 0.0, size_j, doc)",
        "weight_j, weight_t, absent_j, 3.0, size_j, doc)",
        ALONE._replace(divisions=4),
    ),
    "division's first look": (
        "log_ratio = log_ways - log_screened + log_absent",
        "log_ratio = log_ways + log_absent",
        ALONE._replace(divisions=4),
    ),
    "who is united with whom": (
        "before / (doc.n_explaining[at] * n_left * chance)",
        "before / (doc.n_explaining[at] * chance)",
        ALONE._replace(divisions=4),
    ),
}


@pytest.mark.parametrize(
    ("where", "old", "new", "setting", "steps"),
    [
        (
            "proposals",
            "(doc.factor_back[a] if was else 1.0) / (doc.factor[a] if will_be else 1.0)",
            "(doc.factor_back[a] if was else 1.0)",
            Setting(length=6),
            ALONE._replace(flips=True),
        ),
        (
            "birth_death",
            "    if log_u >= log_ratio - _log_proposal_over_prior(",
            "    if log_u >= log_ratio - 0.0 * _log_proposal_over_prior(",
            Setting(length=6),
            ALONE._replace(births=2.0),
        ),
        (
            "feature_draw",
            "            B += b * b",
            "            B += b",
            Setting(n_features=4, length=2),
            ALONE._replace(births=2.0),
        ),
        (
            "feature_draw",
            "2.0 * (step_j * regression.p_x[w, j]",
            "1.0 * (step_j * regression.p_x[w, j]",
            Setting(n_features=6, length=5),
            ALONE._replace(swaps=3, divisions=3),
        ),
        (
            "exchange",
            "uniform(stream) < doc.rate[j])",
            "uniform(stream) < doc.rate[j] * (1.0 + (doc.place[j] > 0)))",
            Setting(length=6),
            ALONE._replace(flips=True, attempts=0.3, overlap=0.5),
        ),
        *(("proposals", *SCREEN_BUG, Setting(length=6), steps) for steps in SCREENED),
        *(
            ("exchange" if steps.swaps else "divide_unite", old, new, Setting(length=6), steps)
            for old, new, steps in SWAPS.values()
        ),
    ],
    ids=[
        "join without its proposal",
        "birth without its proposal",
        "newborn's precision",
        "features of a word that changes its concept",
        "what is held is tried more often, where few are tried",
        "join's second look",
        "swap's second look",
        *SWAPS,
    ],
)
@pytest.mark.statistics
def test_a_bug_in_the_concept_step_is_caught(monkeypatch, tmp_path, where, old, new, setting, steps):
    bugs = {where: [(old, new)]}
    if "log_screened" in old:
        bugs.setdefault("proposals", []).append(HARD_LOOK)
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(tmp_path, steps, **bugs))
    assert is_caught(setting, steps, 1500)


WORD_BUGS = {
    "prior of f": ("(context.sizes.holders[j] - 1 - m_others", "(context.sizes.holders[j] - m_others"),
    "u not drawn": ("u[p] = gamma(stream, float(tokens.pair[p])) / mass", "u[p] = tokens.pair[p] / mass"),
}


@pytest.mark.parametrize(("old", "new"), WORD_BUGS.values(), ids=WORD_BUGS)
@pytest.mark.statistics
def test_a_bug_in_the_word_step_is_caught(monkeypatch, tmp_path, old, new):
    monkeypatch.setitem(chain.MOVES, "words", mutant_part("word_inclusion", "move_words", old, new, tmp_path))
    assert is_caught(Setting(length=8, lam=0.4), ALONE._replace(words=1.0), 1500)


THETA_ALONE = Setting(n_words=3, length=12, lam=0.6), ALONE._replace(sample_theta=True)
TOKEN_BUGS = {
    "z by weight alone": (
        "tokens",
        "state.weight[p] / mass if mass > 0.0 else 0.0",
        "state.weight[p] if mass > 0.0 else 0.0",
        Setting(n_documents=3, n_words=8, length=20, lam=0.4),
        ALONE._replace(weights=True, words=1.0),
    ),
    "tokens of theta": ("theta", "alpha_theta + used[i]", "alpha_theta", *THETA_ALONE),
    "rate of theta": ("theta", "rate[state.word[e]] += u", "rate[state.word[e]] += 0.0", *THETA_ALONE),
}


@pytest.mark.parametrize(("move", "old", "new", "setting", "steps"), TOKEN_BUGS.values(), ids=TOKEN_BUGS)
@pytest.mark.statistics
def test_a_bug_in_z_or_theta_is_caught(monkeypatch, tmp_path, move, old, new, setting, steps):
    monkeypatch.setitem(chain.MOVES, move, mutant_part("assignments", f"move_{move}", old, new, tmp_path))
    assert is_caught(setting, steps, 1500)


CONCENTRATION_BUGS = {
    "mass": ("MASS_SHAPE + len(sizes.holders)", "MASS_SHAPE + len(sizes.holders) + 1"),
    "b1": ("return of_concepts + log", "return of_concepts - len(sizes.holders) * x + log"),
    "b2": ("gammaln(out + of - m) - gammaln(out + of)", "0.0"),
}


@pytest.mark.parametrize(("old", "new"), CONCENTRATION_BUGS.values(), ids=CONCENTRATION_BUGS)
@pytest.mark.statistics
def test_a_bug_in_the_concentrations_is_caught(monkeypatch, tmp_path, old, new):
    wrong = mutant_part("hyperparameters", "move_concentrations", old, new, tmp_path)
    monkeypatch.setitem(chain.MOVES, "concentrations", wrong)
    steps = ALONE._replace(sample_alpha_omega=True, sample_b1=True, sample_b2=True)
    assert is_caught(Setting(n_documents=5, n_words=8, length=2), steps)


MOVE_BUGS = {
    "text": ("reassign_word", "log_gain += used * math.log((mass - theta) / mass)", "log_gain += 0.0", 4, 0),
    "the word itself counted": ("reassign_word", "sizes.m[j, i] - own", "sizes.m[j, i]", 2, 0),
    "features": ("feature_draw", "2.0 * (step_j * regression.p_x[w, j]", "1.0 * (step_j * regression.p_x[w, j]", 4, 10),
}


@pytest.mark.parametrize(("where", "old", "new", "n_documents", "n_features"), MOVE_BUGS.values(), ids=MOVE_BUGS)
@pytest.mark.statistics
def test_a_bug_in_the_word_move_is_caught(monkeypatch, tmp_path, where, old, new, n_documents, n_features):
    monkeypatch.setitem(chain.MOVES, "word_moves", mutant_word_move(old, new, tmp_path, where))
    steps = ALONE._replace(word_moves=1.0)
    setting = Setting(n_documents=n_documents, length=8, lam=0.4, n_features=n_features)
    assert is_caught(setting, steps, 6000 // n_documents)


# Words that a document does not use are held back in proposals for long documents; here for all.
HELD_BACK = ("_LONG = 60", "_LONG = 0")
HELD = Setting(n_documents=2, length=12)


@pytest.mark.statistics
@pytest.mark.parametrize("move", [{"flips": True}, {"swaps": 3}, {"divisions": 4}], ids=min)
def test_words_are_held_back_by_other_documents_alone(monkeypatch, tmp_path, move):
    steps = ALONE._replace(**move)
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(tmp_path, steps, proposals=[HELD_BACK]))
    assert largest(HELD, steps, 1500) < 4.7


@pytest.mark.statistics
def test_words_held_back_by_the_document_itself_are_caught(monkeypatch, tmp_path):
    """As they were by the list of words that any document, this one too, has or has had on."""
    bugs = [
        HELD_BACK,
        ("(penalty if concepts.m[w, j] > 0.0 else penalty_new)", "(penalty if concepts.listed[j, w] else penalty_new)"),
        (
            "for w in words:\n        if doc.local_index[w] == 0 and concepts.m[w, j] > 0.0:",
            "for w in words:\n        if doc.local_index[w] == 0 and concepts.listed[j, w]:",
        ),
        (
            "w = concepts.support[j, s]\n        if doc.local_index[w] == 0 and concepts.m[w, j] > 0.0:",
            "w = concepts.support[j, s]\n        if doc.local_index[w] == 0:",
        ),
    ]
    steps = ALONE._replace(flips=True)
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(tmp_path, steps, proposals=bugs))
    setting = Setting(n_documents=2, length=20, n_words=6, alpha_omega=2.5)
    assert is_caught(setting, steps, 6000)


@pytest.mark.parametrize(
    ("where", "old", "new"),
    [
        ("attempt", "math.log(partner * (n_split", "math.log((1.0 if is_merge else partner) * (n_split"),
        ("attempt", "    change = log_weights(", "    change = 0.5 * log_weights("),
        ("attempt", "log_choice) - first", "log_choice) - (1.0 + 3.0 * is_merge) * first"),
        ("division", "    return n * math.log(2.0) + math.log1p(-(2.0 ** (1 - n)))\n", "    return 0.0\n"),
        ("division", "        log_q += math.log(p / total)\n", ""),
        ("unused_words", "            log_q += math.log(product * odds * p_off)\n", ""),
        ("unused_words", "            log_p -= side.per_doc[n] * math.log(mass)\n", ""),
        ("assignments", "scale = gamma(stream, (last - first) * alpha_pi) / total", "scale = 1.0"),
    ],
    ids=[
        "who merges with whom",
        "weights of a division",
        "the first look counted more than once",
        "tokens of a word on both sides",
        "words of a division",
        "unused words",
        "text of unused words",
        "weights after a split or merge",
    ],
)
@pytest.mark.statistics
def test_a_bug_in_split_and_merge_is_caught(monkeypatch, tmp_path, where, old, new):
    monkeypatch.setitem(chain.MOVES, "split_merge", mutant_split_merge(old, new, tmp_path, where))
    setting = Setting(n_words=3, length=6, lam=0.5, alpha_omega=2.0)
    assert is_caught(setting, ALONE._replace(split_merges=2), 800)
