"""Effects of columns: the regression against statsmodels, formulas, coverage of known effects."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import sparse

from models_for_tests import PLANTED, passage_model, planted_model, with_parts
from superwords.concepts.design import make_design
from superwords.concepts.effects import RobustFit, _fit_prevalence
from superwords.concepts.outcomes import Outcomes
from superwords.errors import InputError


def with_columns(model, **columns):
    metadata = model.corpus_.metadata.assign(**columns)
    return with_parts(model, corpus=replace(model.corpus_, metadata=metadata))


def test_the_regression_is_that_of_statsmodels():
    rng = np.random.default_rng(3)
    X = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    Y = rng.random((60, 3)) < 0.4
    coefficients, covariance = RobustFit(X).together(Y.astype(float))
    for j in range(3):
        expected = sm.OLS(Y[:, j].astype(float), X).fit(cov_type="HC3")
        np.testing.assert_allclose(coefficients[j], expected.params)
        np.testing.assert_allclose(covariance[j], expected.cov_params())


def test_what_all_hold_is_not_certain_of_the_next():
    X = np.column_stack([np.ones(20), np.arange(20) % 2])
    _, covariance = RobustFit(X).together(np.ones((20, 1)), 0.5)
    assert covariance[0, 1, 1] == pytest.approx(2 * 0.5 / 10**2)


def test_designs_of_names_numbers_and_dates():
    table = pd.DataFrame(
        {
            "party": ["D", "R", "R", None] * 5,
            "age": np.arange(20.0),
            "date": [f"2017-0{k % 6 + 1}-01" for k in range(20)],
            "the house": ["upper", "lower"] * 10,
            "code": ["1", "2"] * 10,
            "flag": [True, False] * 10,
        }
    )
    design = make_design(table, "party + date + `the house` + age")
    assert design.columns == ["party[T.R]", "date", "the house[T.upper]", "age"]
    assert len(design.rows) == 15
    assert np.ptp(design.matrix[:, 2]) < 1  # half a year
    assert make_design(table, "code + age").columns == ["code", "age"]
    assert make_design(table, "flag").matrix[:2].tolist() == [[1, 1], [1, 0]]
    both = make_design(table, "party * age")
    assert both.terms == ["party", "age", "party:age"]
    assert both.only("party").matrix.tolist() == both.matrix[:, [0, 1]].tolist()


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("party + seniority", "There is no column 'seniority'; the columns are 'party'"),
        ("", "The formula is empty"),
        ("name", "has 40 different values among 40 documents"),
        ("party + C(party)", "cannot be told apart"),
        ("__import__('os').system('ls')", "There is no column '__import__'"),
        ("party.str.len()", "in it; give columns joined by"),
        ("y ~ party", "There is no column 'y'"),
        ("party +", "cannot be used"),
        ("party - 1", "leaves out the intercept"),
        ("1", "names no column"),
        ("log(party)", "'party' is a column of groups, and log, poly and the like need numbers"),
        ("poly(party, 2)", "'party' is a column of groups, and log, poly and the like need numbers"),
        (["party"], "formula=['party'] is not text"),
    ],
)
def test_formulas_that_cannot_be_used_are_said_in_one_sentence(formula, said):
    with pytest.raises(InputError, match=r"^[^\n]*$") as error:
        planted_model().effects(formula)
    assert said in str(error.value)


def test_functions_of_numbers_are_known_and_what_they_cannot_give_is_said():
    table = pd.DataFrame({"age": [0.0, 1, 4, 9]})
    assert make_design(table, "sqrt(age)").matrix[:, 1].tolist() == [0, 1, 2, 3]
    with pytest.raises(InputError, match=r"log\(age\) has no finite value for some documents"):
        make_design(table, "log(age)")


def test_too_many_coefficients_and_unknown_outcomes_are_refused():
    model = planted_model()
    with pytest.raises(InputError, match="coefficients for 10 documents"):
        passage_model().effects("poly(weight, 6)")
    with pytest.raises(InputError, match="of='share' is not known"):
        model.effects("party", "share")


def test_an_effect_that_is_there_is_found_adjusted_and_not():
    """Party A is who holds the first planted concept; noise goes with party but has no effect of its own."""
    model = planted_model()
    rng = np.random.default_rng(0)
    noise = PLANTED.holds[:, 0] + rng.normal(size=40)
    table = with_columns(model, noise=noise).effects("party + noise")
    held = PLANTED.holds[:, 0].astype(float)
    alike = [np.corrcoef(held, model.doc_concept_[:, j] > 0)[0, 1] for j in range(model.n_concepts_)]
    own = table[table["concept"] == int(np.nanargmax(alike)) + 1].set_index("term")
    assert own.loc["party[T.B]", "high"] < -0.2
    assert own.loc["noise", "low"] < 0 < own.loc["noise", "high"]
    assert own.loc["noise", "unadjusted"] > own.loc["noise", "effect"]
    assert (table["low"] <= table["effect"]).all()
    assert (table["effect"] <= table["high"]).all()


def test_chains_that_differ_are_not_taken_for_texts_that_leave_it_open():
    """Two chains, each sure of who holds a concept, 30% of the one group and 60% of the other; but not of the same."""
    party = np.arange(400) % 2
    rng = np.random.default_rng(5)
    chains = [
        sparse.csr_array((rng.random(400) < 0.3 + 0.3 * party)[:, None].astype(float)) for _ in range(2)
    ]
    weights = [chains[0]] * 10 + [chains[1]] * 10
    outcomes = Outcomes(
        pd.DataFrame({"party": party}), np.arange(400), weights, np.ones((20, 1)), np.arange(20) // 10
    )
    effect, low, high, _ = _fit_prevalence(outcomes, make_design(outcomes.metadata, "party")).told(0, 0)
    plain = np.mean([np.ptp([one.toarray()[party == k].mean() for k in (0, 1)]) for one in chains])
    assert effect == pytest.approx(plain)
    assert 0.1 < high - low < 0.35


def test_one_column_alone_is_the_same_adjusted_and_not():
    table = planted_model().effects("party")
    np.testing.assert_allclose(table["effect"], table["unadjusted"])
    again = planted_model().effects("party")
    assert table["low"].tolist() == again["low"].tolist()


def test_documents_and_not_passages_are_the_cases():
    table = passage_model().effects("weight")
    assert (table["documents"] == 10).all()


def test_strength_is_of_those_that_hold_the_concept():
    table = planted_model().effects("weight", of="strength").set_index("concept")
    model = planted_model()
    X = np.column_stack([np.ones(40), model.corpus_.metadata["weight"]])
    slopes = []
    for draw in model.draws_:
        weights = model.result_.weights_of(draw).toarray()
        aligned = model.sampled_.concept_order[0]
        if draw.score == model.best_draw_.score:
            own = weights[:, aligned]
            slopes.append(np.linalg.lstsq(X[own > 0], own[own > 0], rcond=None)[0][1])
    assert table.loc[1, "low"] <= slopes[0] <= table.loc[1, "high"]


@pytest.mark.slow
def test_intervals_of_known_effects_cover(tmp_path):
    """400 effects of each length, 250 of them null: two standard errors are 2.2 and 2.8 points."""
    from superwords.lab.reproduce.effects_study import reproduce

    table = reproduce(tmp_path, 50, (12, 40), 200, lambda text: None)
    prevalence = table[table["of"] == "prevalence"].set_index("method")
    ours, plain = (prevalence.loc[method] for method in ("given the columns", "plain composition"))
    assert (ours["cases"] >= 390).all()
    assert ours["covered"].between(0.93, 0.97).all()
    assert (ours["null_found"] <= 0.07).all()
    assert (plain["effect_found"].to_numpy() < ours["effect_found"].to_numpy() - 0.05).all()


def test_a_study_that_was_broken_off_goes_on(tmp_path):
    from superwords.lab.reproduce import effects_study

    said = []
    first = effects_study.reproduce(tmp_path, 1, (12,), 20, said.append, documents=40)
    before = (tmp_path / "cases.csv").read_text(encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            effects_study, "one_corpus", lambda *given: pytest.fail("a finished corpus is fitted again")
        )
        again = effects_study.reproduce(tmp_path, 1, (12,), 20, said.append, documents=40)
        with pytest.raises(InputError, match="is of a run with another sweeps"):
            effects_study.reproduce(tmp_path, 1, (12,), 40, said.append, documents=40)
    pd.testing.assert_frame_equal(first, again)
    assert (tmp_path / "cases.csv").read_text(encoding="utf-8") == before
