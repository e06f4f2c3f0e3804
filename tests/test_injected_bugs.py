"""Every wrong step of docs/algebra.md section 2, and some of our own, must turn the joint-distribution test red.

A clean sampler stays under 4.7 (test_joint.py); a bug has to show at more than 6. The published steps are run by
`make test`; those for which kernels are compiled anew belong to `make test-statistics`.
"""

import pytest

from joint import Setting, joint_z
from mutation import mutant_concepts, mutant_part, mutant_split_merge, mutant_word_move
from superwords.sampler import chain, instance, semantics
from superwords.sampler.model import Steps

CAUGHT = 6.0
SWEEP = Steps(split_merges=1)
ALONE = Steps(
    flips=False, swaps=0, divisions=0, births=0.0, weights=False, word_moves=0.0, split_merges=0, words=0.0
)


def largest(setting, steps, n_replicates=600, n_steps=12):
    return abs(joint_z(setting, steps, n_replicates, n_steps, seed=21)).max()


@pytest.mark.parametrize(
    ("steps", "setting"),
    [
        pytest.param(
            SWEEP._replace(published_pi=True),
            Setting(length=8),
            id="published pi",
            marks=pytest.mark.statistics,
        ),
        pytest.param(
            SWEEP._replace(published_birth=True, data_driven=False, births=1.0),
            Setting(alpha_omega=3.0),
            id="births divided by J+1 twice",
            marks=pytest.mark.statistics,
        ),
        pytest.param(
            ALONE._replace(flips=True, published_join=True, data_driven=False),
            Setting(n_documents=3, length=2),
            id="m_j without d",
        ),
        pytest.param(SWEEP._replace(published_order=True), Setting(length=6), id="stale z"),
    ],
)
def test_a_published_step_is_caught(steps, setting):
    assert largest(setting, steps) > CAUGHT


@pytest.mark.statistics
def test_published_eta_is_valid_when_eta_0_is_1_in_the_ratios_too():
    assert largest(Setting(), SWEEP._replace(published_eta=True, data_driven=False), 1000) < 4.7


@pytest.mark.statistics
def test_eta_0_forced_in_the_proposal_but_not_in_the_ratio_is_caught(monkeypatch, tmp_path):
    right = "    log_odds -= math.log(max(birth_probability(unique, mu, steps), 1e-300))"
    bug = "    log_odds -= math.log(birth_probability(unique, mu, steps) if unique else 1.0 - math.exp(-mu))"
    wrong = mutant_concepts(tmp_path, births=[(right, bug)])
    monkeypatch.setitem(chain.MOVES, "concepts", wrong)
    assert largest(Setting(), SWEEP._replace(published_eta=True, data_driven=False)) > CAUGHT


@pytest.mark.statistics
def test_a_wrong_scale_of_the_noise_is_caught(monkeypatch):
    right = semantics.posterior

    def wrong(sizes, data, prior):
        A, X, b, log_det = right(sizes, data, prior)
        return A, X, 0.7 * b, log_det

    monkeypatch.setattr(instance, "posterior", wrong)
    assert largest(Setting(n_words=6, n_features=8, length=2), ALONE._replace(words=1.0), 1500) > CAUGHT


@pytest.mark.statistics
def test_a_wrong_normaliser_of_phi_is_caught(monkeypatch):
    right = semantics.mixing_matrix
    monkeypatch.setattr(
        semantics,
        "mixing_matrix",
        lambda sizes, known: right(sizes, known) * sizes.total[known] / (sizes.total[known] + 2),
    )
    assert largest(Setting(n_words=6, n_features=8, length=2), ALONE._replace(words=1.0), 1500) > CAUGHT


# Any odd function may take the first look; one that looks hard at small ratios shows what is done with it.
HARD_LOOK = ("return log_ratio - min(max(log_ratio, -_SLACK), _SLACK)", "return 3.0 * log_ratio")
SWAPS = {
    "swap without its choice": (
        "concepts.odds[t] * chance_back / (concepts.odds[j] * chance)",
        "concepts.odds[t] / concepts.odds[j]",
        ALONE._replace(swaps=3),
    ),
    "swap's second look": (
        "        log_first -= log_looked\n        log_u = math.log(uniform(stream))\n    log_u -= log_first\n    mass",
        "        log_u = math.log(uniform(stream))\n    log_u -= log_first\n    mass",
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
        "log_ratio = log_ways - log_looked + log_absent",
        "log_ratio = log_ways + log_absent",
        ALONE._replace(divisions=4),
    ),
    "who is united with whom": (
        "before / (doc.cover[at] * n_left * chance)",
        "before / (doc.cover[at] * chance)",
        ALONE._replace(divisions=4),
    ),
}


@pytest.mark.parametrize(
    ("where", "old", "new", "setting", "steps"),
    [
        (
            "word_sets",
            "            product *= power(gain, times) / factor[a]\n",
            "            product *= power(gain, times)\n",
            Setting(length=6),
            ALONE._replace(flips=True),
        ),
        (
            "births",
            "    if log_u >= log_ratio - _log_proposal_over_prior(",
            "    if log_u >= log_ratio - 0.0 * _log_proposal_over_prior(",
            Setting(length=6),
            ALONE._replace(births=2.0),
        ),
        (
            "instance",
            "            B += b * b",
            "            B += b",
            Setting(n_features=4, length=2),
            ALONE._replace(births=2.0),
        ),
        (
            "instance",
            "2.0 * (step_j * instance.p_x[w, j]",
            "1.0 * (step_j * instance.p_x[w, j]",
            Setting(n_features=6, length=5),
            ALONE._replace(swaps=3, divisions=3),
        ),
        (
            "flips",
            "uniform(stream) < doc.rate[j])",
            "uniform(stream) < doc.rate[j] * (1.0 + (doc.place[j] > 0)))",
            Setting(length=6),
            ALONE._replace(flips=True, attempts=0.3, overlap=0.5),
        ),
        *(
            ("swaps" if steps.swaps else "divide_unite", old, new, Setting(length=6), steps)
            for old, new, steps in SWAPS.values()
        ),
    ],
    ids=[
        "join without its proposal",
        "birth without its proposal",
        "newborn's precision",
        "features of a word that changes its concept",
        "what is held is tried more often, where few are tried",
        *SWAPS,
    ],
)
@pytest.mark.statistics
def test_a_bug_in_the_concept_step_is_caught(monkeypatch, tmp_path, where, old, new, setting, steps):
    bugs = {where: [(old, new)], **({"word_sets": [HARD_LOOK]} if "log_looked" in old else {})}
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(tmp_path, **bugs))
    assert largest(setting, steps, 1500) > CAUGHT


APART = Setting(n_features=4, length=5)


@pytest.mark.parametrize(
    ("old", "new", "setting", "steps"),
    [
        ("if order[d] <= guard[j]:", "if order[d] < -2.0:", Setting(), ALONE._replace(flips=True)),
        (
            "state, order, guard[1], concepts",
            "state, order, guard[0], concepts",
            Setting(),
            ALONE._replace(flips=True),
        ),
        (
            "gamma(stream, n_documents - holders + prior.b1)",
            "gamma(stream, n_documents - holders + 1.0 + prior.b1)",
            Setting(),
            ALONE._replace(flips=True),
        ),
        ("            log_ratio -= log_fit\n", "", APART, ALONE._replace(births=1.0)),
    ],
    ids=["no guards", "one guard", "a share of concepts", "a death's features"],
)
@pytest.mark.statistics
def test_a_bug_where_documents_are_apart_is_caught(monkeypatch, tmp_path, old, new, setting, steps):
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(tmp_path, apart=[(old, new)]))
    assert largest(setting, steps._replace(turns=0), 2500) > CAUGHT


@pytest.mark.statistics
def test_shares_handed_on_to_the_wrong_concept_are_caught(monkeypatch, tmp_path):
    """γ, drawn for documents apart, goes on to the word moves, by which time concepts have other numbers."""
    bug = "gamma[used]", "gamma[np.sort(used)]"
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(tmp_path, concepts=[bug]))
    assert largest(Setting(length=6), ALONE._replace(flips=True, word_moves=1.0, turns=0), 1500) > CAUGHT


WORD_BUGS = {
    "prior of f": ("(columns.sizes.holders[j] - 1 - m_others", "(columns.sizes.holders[j] - m_others"),
    "u not drawn": (
        "u[p] = gamma(stream, float(tokens.pair[p])) / mass",
        "u[p] = tokens.pair[p] / mass",
    ),
}


@pytest.mark.parametrize(("old", "new"), WORD_BUGS.values(), ids=WORD_BUGS)
@pytest.mark.statistics
def test_a_bug_in_the_word_step_is_caught(monkeypatch, tmp_path, old, new):
    monkeypatch.setitem(chain.MOVES, "words", mutant_part("words", "move_words", old, new, tmp_path))
    assert largest(Setting(length=8, lam=0.4), ALONE._replace(words=1.0), 1500) > CAUGHT


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
    monkeypatch.setitem(chain.MOVES, move, mutant_part("tokens", f"move_{move}", old, new, tmp_path))
    assert largest(setting, steps, 1500) > CAUGHT


CONCENTRATION_BUGS = {
    "mass": ("MASS_SHAPE + len(sizes.holders)", "MASS_SHAPE + len(sizes.holders) + 1"),
    "b1": ("len(sizes.holders) * log_b1", "0.0 * log_b1"),
    "b2": ("gammaln(out + of - m) - gammaln(out + of)", "0.0"),
}


@pytest.mark.parametrize(("old", "new"), CONCENTRATION_BUGS.values(), ids=CONCENTRATION_BUGS)
@pytest.mark.statistics
def test_a_bug_in_the_concentrations_is_caught(monkeypatch, tmp_path, old, new):
    wrong = mutant_part("concentrations", "move_concentrations", old, new, tmp_path)
    monkeypatch.setitem(chain.MOVES, "concentrations", wrong)
    steps = ALONE._replace(sample_alpha_omega=True, sample_b1=True, sample_b2=True)
    assert largest(Setting(n_documents=5, n_words=8, length=2), steps) > CAUGHT


MOVE_BUGS = {
    "text": ("word_move", "log_gain += used * math.log((mass - theta) / mass)", "log_gain += 0.0", 4, 0, 1),
    "the word itself counted": ("word_move", "sizes.m[j, i] - own", "sizes.m[j, i]", 2, 0, 1),
    "features": (
        "instance",
        "2.0 * (step_j * instance.p_x[w, j]",
        "1.0 * (step_j * instance.p_x[w, j]",
        4,
        10,
        1,
    ),
    "gamma, apart": ("word_move", "gamma / np.maximum(1.0 - gamma, 1e-16)", "gamma", 4, 0, 0),
}


@pytest.mark.parametrize(
    ("where", "old", "new", "n_documents", "n_features", "turns"), MOVE_BUGS.values(), ids=MOVE_BUGS
)
@pytest.mark.statistics
def test_a_bug_in_the_word_move_is_caught(
    monkeypatch, tmp_path, where, old, new, n_documents, n_features, turns
):
    monkeypatch.setitem(chain.MOVES, "word_moves", mutant_word_move(old, new, tmp_path, where))
    steps = ALONE._replace(word_moves=1.0, turns=turns)
    setting = Setting(n_documents=n_documents, length=8, lam=0.4, n_features=n_features)
    assert largest(setting, steps, 6000 // n_documents) > CAUGHT


# Words that a document does not use are held back in proposals for long documents; here for all.
HELD_BACK = ("_LONG = 60", "_LONG = 0")
HELD = Setting(n_documents=2, length=12)


@pytest.mark.statistics
@pytest.mark.parametrize("turns", [1, 0], ids=["in turn", "apart"])
@pytest.mark.parametrize("move", [{"flips": True}, {"swaps": 3}, {"divisions": 4}], ids=min)
def test_words_are_held_back_by_other_documents_alone(monkeypatch, tmp_path, move, turns):
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(tmp_path, word_sets=[HELD_BACK]))
    setting = HELD if turns else HELD._replace(n_documents=3, length=6)
    assert largest(setting, ALONE._replace(**move, turns=turns), 1500) < 4.7


@pytest.mark.statistics
def test_words_held_back_by_the_document_itself_are_caught(monkeypatch, tmp_path):
    """As they were by the list of words that any document, this one too, has or has had on."""
    bugs = [
        HELD_BACK,
        (
            "(back if concepts.m[w, j] > concepts.least else back_new)",
            "(back if concepts.listed[j, w] else back_new)",
        ),
        (
            "for w in words:\n        if doc.spot[w] == 0 and concepts.m[w, j] > concepts.least:",
            "for w in words:\n        if doc.spot[w] == 0 and concepts.listed[j, w]:",
        ),
        (
            "w = concepts.support[j, s]\n        if doc.spot[w] == 0 and concepts.m[w, j] > concepts.least:",
            "w = concepts.support[j, s]\n        if doc.spot[w] == 0:",
        ),
    ]
    monkeypatch.setitem(chain.MOVES, "concepts", mutant_concepts(tmp_path, word_sets=bugs))
    setting = Setting(n_documents=2, length=20, n_words=6, alpha_omega=2.5)
    assert largest(setting, ALONE._replace(flips=True), 6000) > CAUGHT


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
        ("rebuild", "alpha_pi, d, stream, False)", "alpha_pi, d, stream, True)"),
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
    assert largest(setting, ALONE._replace(split_merges=2), 800) > CAUGHT
