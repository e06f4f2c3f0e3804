"""Effects of columns: the regression against statsmodels, formulas, coverage of known effects."""

import copy
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import sparse

from models_for_tests import PLANTED, passage_model, planted_model, with_parts
from superwords.analysis.design import make_design
from superwords.analysis.effects import Outcomes, RobustFit, fit_prevalence
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


def test_clusters_are_jackknifed_whole():
    """CR3 is the jackknife over whole clusters around the estimate; with a case each it is HC3."""
    rng = np.random.default_rng(4)
    X = np.column_stack([np.ones(60), rng.normal(size=(60, 2))])
    Y, cluster = rng.random((60, 2)), rng.integers(0, 9, 60)
    coefficients, covariance = RobustFit(X, cluster).together(Y)
    for j in range(2):
        left_out = np.array([sm.OLS(Y[cluster != g, j], X[cluster != g]).fit().params for g in range(9)])
        moved = left_out - coefficients[j]
        np.testing.assert_allclose(covariance[j], moved.T @ moved)
    single = RobustFit(X, np.arange(60)).together(Y)[1]
    np.testing.assert_allclose(single, RobustFit(X).together(Y)[1])


def test_clusters_widen_the_intervals_of_what_varies_between_them():
    """20 authors of 20 texts each: between authors shares differ, and the party is the author's."""
    rng = np.random.default_rng(6)
    author = np.repeat(np.arange(20), 20)
    chance = np.clip(0.4 + rng.normal(0, 0.2, 20), 0.05, 0.95)
    held = sparse.csr_array((rng.random(400) < chance[author])[:, None].astype(float))
    outcomes = Outcomes(pd.DataFrame({"party": author % 2}), np.arange(400), [held], np.ones((1, 1)))
    X = np.column_stack([np.ones(400), author % 2])
    asked = np.array([[0.0, 1.0]])
    plain, nested = (
        fit_prevalence(outcomes, np.arange(400), X, asked, cluster).summaries([1])[0, 0] for cluster in (None, author)
    )
    assert plain[0] == pytest.approx(nested[0])
    assert nested[2] - nested[1] > 1.5 * (plain[2] - plain[1])


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
    assert design.labels[:2] == ["party R compared with D", "date (per month)"]
    assert np.ptp(design.matrix[:, 2]) == pytest.approx(5, abs=0.1)
    assert design.matrix[:, 2].mean() == pytest.approx(0, abs=1e-4)
    assert make_design(table, "code + age").columns == ["code", "age"]
    assert make_design(table, "flag").matrix[:2].tolist() == [[1, 1], [1, 0]]
    both = make_design(table, "party * age")
    assert both.terms == ["party", "age", "party:age"]


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("party + seniority", "There is no column 'seniority'; the columns are 'party'"),
        ("", "The formula is empty"),
        ("name", "has 40 different values among 40 documents"),
        ("party + C(party)", "are collinear"),
        ("__import__('os').system('ls')", "There is no column '__import__'"),
        ("party.str.len()", "in it; give columns joined by"),
        ("y ~ party", "There is no column 'y'"),
        ("party +", "cannot be used"),
        ("party - 1", "leaves out the intercept"),
        ("1", "names no column"),
        ("log(party)", "'party' is a column of groups, and log, poly and the like need numbers"),
        ("poly(party, 2)", "'party' is a column of groups, and log, poly and the like need numbers"),
        (["party"], "formula=['party'] is not text"),
        ("year**99999999", "has a power that is not a whole number from 1 to 5"),
        ("((year**4)**4)", "has a power that is not a whole number from 1 to 5"),
        ("log(9**9**9**9 + year)", "has a power that is not a whole number from 1 to 5"),
        ("bs(year, df=3000)", "has a degree or df that is not a whole number from 1 to 12"),
        ("poly(year, 3000)", "has a degree or df that is not a whole number from 1 to 12"),
        ("(party + year + weight)**5", "has up to 3,124 coefficients; give one with at most 60"),
        ("party" + "*year*weight" * 4, "coefficients; give one with at most 60"),
        ("year + " * 100 + "year", "The formula has 704 characters; give at most 500"),
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
    chains = [sparse.csr_array((rng.random(400) < 0.3 + 0.3 * party)[:, None].astype(float)) for _ in range(2)]
    weights = [chains[0]] * 10 + [chains[1]] * 10
    outcomes = Outcomes(pd.DataFrame({"party": party}), np.arange(400), weights, np.ones((20, 1)))
    X = np.column_stack([np.ones(400), party])
    pooled = fit_prevalence(outcomes, np.arange(400), X, np.array([[0.0, 1.0]]))
    effect, low, high, _ = pooled.summaries([1])[0, 0]
    plain = np.mean([np.ptp([one.toarray()[party == k].mean() for k in (0, 1)]) for one in chains])
    assert effect == pytest.approx(plain)
    assert 0.1 < high - low < 0.35


def test_effects_are_the_differences_that_the_draws_show():
    """With documents as rows, groups and effects give one answer to one question."""
    model = with_columns(planted_model(), party=["A", "B"] * 20)
    effects = model.effects("party").set_index("concept")["effect"]
    groups = model.by_group("party").pivot(index="concept", columns="group", values="prevalence")
    np.testing.assert_allclose(effects, (groups["B"] - groups["A"])[effects.index], atol=1e-6)


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
        if draw.score == model.consensus_draw_.score:
            own = model.result_.drawn_weights()[model.result_.summary.alignment.closest].toarray()[:, 0]
            slopes.append(np.linalg.lstsq(X[own > 0], own[own > 0], rcond=None)[0][1])
    assert table.loc[1, "low"] <= slopes[0] <= table.loc[1, "high"]


def test_small_groups_are_pooled_or_left_out_and_stated():
    party = ["D"] * 12 + ["R"] * 12 + ["L"] * 3 + ["G"] * 3 + ["S"]
    table = pd.DataFrame({"party": party, "x": np.arange(31.0)})
    design = make_design(table, "party + x", reference={"party": "R"})
    assert design.columns == ["party[T.D]", "party[T.other]", "x"]
    assert design.labels[0] == "party D compared with R"
    assert design.notes == ["party: G (3), L (3), S (1) pooled as 'other', each fewer than 5 documents."]
    few = make_design(table, "party + x", min_group=8)
    assert few.columns == ["party[T.R]", "x"]
    assert len(few.rows) == 24
    assert "left out, fewer than 8 documents" in few.notes[0]
    two = make_design(table, "party + x", groups={"party": ["D", "L"]}, min_group=1)
    assert two.columns == ["party[T.L]", "x"]
    assert len(two.rows) == 15
    with pytest.raises(InputError, match="There is no group 'Z' in the column 'party'"):
        make_design(table, "party", groups={"party": "Z"})
    with pytest.raises(InputError, match="There is no group 'Z' in the column 'party'; it has 'D', 'R'"):
        make_design(table, "party", reference={"party": "Z"})
    with pytest.raises(InputError, match="'x' is not a column of groups"):
        make_design(table, "party + x", reference={"x": 1})
    with pytest.raises(InputError, match="min_group=0"):
        make_design(table, "party", min_group=0)


def test_the_unit_of_dates_follows_their_span_and_an_interaction_keeps_its_size():
    days = pd.Series(pd.date_range("2017-01-01", periods=40))
    units = {1: "day", 10: "month", 60: "year", 400: "decade"}
    for step, unit in units.items():
        table = pd.DataFrame({"date": days[0] + pd.to_timedelta(np.arange(40) * step, "D"), "p": list("ab") * 20})
        design = make_design(table, "p*date")
        assert design.labels == [
            "p b compared with a",
            f"date (per {unit})",
            f"p b compared with a × date (per {unit})",
        ]
        assert np.linalg.cond(design.matrix) < 100
    years = make_design(pd.DataFrame({"year": np.arange(1990, 2030)}), "year")
    assert years.labels == ["year (per decade)"]
    assert np.ptp(years.matrix[:, 1]) == pytest.approx(3.9)


def test_predictions_by_group_are_the_groups_means_and_differ_by_the_effect():
    model = planted_model()
    table = model.predicted("party", by="party")
    effect = model.effects("party")["effect"]
    wide = table.pivot(index="concept", columns="party", values="predicted")
    np.testing.assert_allclose(wide["B"] - wide["A"], effect, atol=1e-9)
    assert (table["low"] <= table["predicted"]).all()
    assert (table["predicted"] <= table["high"]).all()
    assert table[["low", "high"]].to_numpy().min() >= 0
    assert table[["low", "high"]].to_numpy().max() <= 1


def test_predictions_over_time_by_group_follow_the_formula():
    model = with_columns(planted_model(), date=[f"201{k % 7}-0{k % 9 + 1}-10" for k in range(40)])
    table = model.predicted("party*date + bs(weight, df=4)", by=["date", "party"])
    assert table.columns[2:4].tolist() == ["date", "party"]
    assert table["date"].iloc[0] == "2010-01-10"
    own = table[(table["concept"] == 1) & (table["party"] == "A")]
    assert len(own) == 40
    inner = own[(own["predicted"] > 0) & (own["predicted"] < 1)]["predicted"].diff().dropna()
    assert inner.std() < 1e-9  # a straight line
    curve = model.predicted("party + bs(weight, df=4)", by="weight")
    assert curve[curve["concept"] == 1]["predicted"].diff().dropna().std() > 1e-4
    with pytest.raises(InputError, match="by='year' is not a column of the formula; give one of 'party'"):
        model.predicted("party", by="year")


def test_clusters_that_cannot_be_used_are_refused():
    model = with_columns(planted_model(), author=[f"author {d // 4}" for d in range(40)])
    table = model.effects("weight", cluster="author")
    assert table.attrs["notes"] == ["Intervals allow for the 10 clusters of author."]
    with pytest.raises(InputError, match="There is no column 'who'"):
        model.effects("weight", cluster="who")
    with pytest.raises(InputError, match="has 3 values among 40 documents"):
        model.effects("weight", cluster="year")
    alone = with_columns(model, side=["left"] * 36 + ["right"] * 4)
    with pytest.raises(InputError, match="one value of 'author', 'author 9', alone"):
        alone.effects("side", cluster="author", min_group=4)


def test_effects_of_documents_folded_in_agree_with_those_of_the_fit():
    """The same documents as new ones: the same effects, as far as the folding finds the same memberships."""
    model = planted_model()
    fitted = model.effects("party")
    folded = model.effects("party", X=model.corpus_)
    sure = fitted[fitted["effect"].abs() > 0.3]
    assert len(sure)
    np.testing.assert_allclose(folded.loc[sure.index, "effect"], sure["effect"], atol=0.15)
    table = model.corpus_.metadata.iloc[:30]
    assert (model.effects("party", X=model.corpus_.counts[:30], metadata=table)["documents"] == 30).all()
    assert model.predicted("party", by="party", X=model.corpus_, of="strength")["documents"].eq(40).all()
    with pytest.raises(InputError, match="30 rows for 40 documents"):
        model.effects("party", X=model.corpus_, metadata=table)
    with pytest.raises(InputError, match="New documents need their columns"):
        model.effects("party", X=model.corpus_.counts)


def test_effects_of_documents_folded_in_follow_what_was_merged_and_hidden():
    model = copy.deepcopy(with_columns(planted_model(), party=["A", "B"] * 20))
    before = model.effects("party", X=model.corpus_).set_index("concept")["effect"]
    first, second, *others = model.result_.shown
    after = model.merge([first, second]).effects("party", X=model.corpus_).set_index("concept")["effect"]
    assert after.index.tolist() == [first, *others]
    np.testing.assert_allclose(after[others], before[others])


@pytest.mark.slow
def test_intervals_of_known_effects_cover(tmp_path):
    """400 effects of each length, 250 of them null: two standard errors are 2.2 and 2.8 points."""
    from experiments.effects import experiment
    from experiments.harness import Lab

    table = experiment(Lab(tmp_path))
    ours = table[(table["of"] == "prevalence") & (table["method"] == "effects")]
    assert (ours["cases"] >= 390).all()
    assert ours["covered"].between(0.92, 0.99).all()
    assert (ours["null_found"] <= 0.08).all()
    assert ours["effect_found"].between(0.85, 1.05).all()


def test_a_study_that_was_broken_off_goes_on(tmp_path):
    from experiments import effects as effects_study
    from experiments.harness import Lab

    small = {"corpora": 1, "tokens": (12,), "documents": 40}
    first = effects_study.experiment(Lab(tmp_path), sweeps=20, **small)
    before = (tmp_path / "cases.csv").read_text(encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(effects_study, "one_corpus", lambda *given: pytest.fail("a finished corpus is fitted again"))
        again = effects_study.experiment(Lab(tmp_path), sweeps=20, **small)
        with pytest.raises(InputError, match="is of a run with another sweeps"):
            effects_study.experiment(Lab(tmp_path), sweeps=40, **small)
    pd.testing.assert_frame_equal(first, again)
    assert (tmp_path / "cases.csv").read_text(encoding="utf-8") == before
