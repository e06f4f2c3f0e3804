"""Periods, concepts by period, what rises and falls, words early and late."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from models_for_tests import PLANTED, fit, planted_corpus, planted_model, with_parts
from superwords.analysis.dates import make_periods
from superwords.analysis.over_time import time_page
from superwords.errors import InputError


def with_column(model, name, values):
    metadata = model.corpus_.metadata.assign(**{name: values})
    return with_parts(model, corpus=replace(model.corpus_, metadata=metadata))


def test_periods_of_dates_have_no_gap_and_know_their_documents():
    values = pd.Series(["2016-12-31", None, "2017-01-01", "2017-03-15"])
    periods = make_periods(values, "date", "month")
    assert periods.labels == ["2016-12", "2017-01", "2017-02", "2017-03"]
    assert periods.of_row.tolist() == [0, -1, 1, 3]
    assert np.isnan(periods.when[1])
    assert make_periods(values, "date", "quarter").labels == ["2016Q4", "2017Q1"]
    assert make_periods(values, "date", "year").labels == ["2016", "2017"]
    assert make_periods(values, "date", "decade").labels == ["2010s"]
    assert make_periods(values, "date").labels[:2] == ["2016-12-26", "2017-01-02"]  # by weeks


def test_periods_of_years_and_numbers():
    years = make_periods(pd.Series([2001, 2004, None, 2004]), "year")
    assert years.labels == ["2001", "2002", "2003", "2004"]
    assert years.of_row.tolist() == [0, 3, -1, 3]
    numbers = make_periods(pd.Series([0.0, 12.5, 29.9]), "score", 10)
    assert numbers.labels == ["0 to 10", "10 to 20", "20 to 30"]
    assert numbers.middle.tolist() == [5, 15, 25]
    assert make_periods(pd.Series(["1999", "2001"]), "year").labels == ["1999", "2000", "2001"]
    assert len(make_periods(pd.Series(np.linspace(0, 1, 50)), "x").labels) <= 13
    decades = make_periods(pd.Series(pd.to_datetime(["1899-05-05", "1921-01-01"])), "d", "decade")
    assert decades.labels == ["1890s", "1900s", "1910s", "1920s"]
    assert decades.of_row.tolist() == [0, 3]


@pytest.mark.parametrize(
    ("values", "by", "said"),
    [
        (["2017-01-01", "yesterday"], None, "has 'yesterday' in it, which is not a date"),
        (["2017-01-01", "2017-02-31"], None, "has '2017-02-31' in it, which is not a date"),
        (["2017-01-01", 2018], None, "has dates and numbers in it"),
        ([None, None], None, "is empty"),
        (["2017-01-01"], "fortnight", "by='fortnight' is not a period"),
        (["2017-01-01"], ["month"], "is not a period"),
        ([1, 2], "month", "by='month' is not a width"),
        ([1, 2], 0, "by=0 is not a width"),
        ([0, 1e9], 1, "give a greater width"),
    ],
)
def test_what_is_no_time_is_said_in_one_sentence(values, by, said):
    with pytest.raises(InputError, match=said):
        make_periods(pd.Series(values), "when", by)


def test_periods_agree_with_groups_and_gaps_are_shown():
    model = with_column(planted_model(), "year", np.where(np.arange(40) % 3 == 1, 2013, 2010))
    table = model.over_time("year")
    assert table["period"].tolist()[:4] == ["2010", "2011", "2012", "2013"]
    gaps = table[table["period"].isin(["2011", "2012"])]
    assert (gaps["n_rows"] == 0).all()
    assert gaps["prevalence"].isna().all()
    groups = model.by_group("year", 0)
    filled = table[table["n_rows"] > 0]
    for name in ("prevalence", "prevalence_low", "prevalence_high", "strength", "strength_low"):
        np.testing.assert_allclose(filled[name], groups[name])


def test_what_rises_is_found():
    when = np.where(PLANTED.holds[:, 0], 2010 + np.arange(40) % 2 * 2, 2000 + np.arange(40) % 3)
    model = with_column(planted_model(), "year", when)
    rising = model.trends("year", by=2)
    held = PLANTED.holds[:, 0].astype(float)
    drawn = np.array([np.corrcoef(held, model.doc_concept_[:, j - 1] > 0)[0, 1] for j in model.result_.shown])
    expected = model.result_.shown[int(np.nanargmax(drawn))]
    assert rising["concept"][0] == expected
    assert rising["probability_rises"][0] > 0.99
    assert rising["low"][0] > 0
    assert (rising["low"] <= rising["high"]).all()
    assert model.trends("year").shape == rising.shape


def test_a_change_without_any_trend_is_near_zero_and_one_period_has_none():
    model = planted_model()
    table = model.trends("year")
    assert (table["low"] < 0).all()
    assert (table["high"] > 0).all()
    with pytest.raises(InputError, match="All documents are of one period"):
        with_column(model, "one", 5).trends("one")
    with pytest.raises(InputError, match="There is no column 'date'"):
        model.over_time("date")


def test_words_early_and_late():
    model = planted_model()
    table = model.words_over_time("weight", 1)
    assert set(table.columns) >= {"word", "early", "late", "change", "early_low", "late_high"}
    np.testing.assert_allclose(table["change"], table["late"] - table["early"])
    assert table["change"].abs().is_monotonic_decreasing
    with pytest.raises(InputError, match="no later half"):
        with_column(model, "one", 5).words_over_time("one", 1)


def test_a_page_of_it_is_plain_json():
    import json

    page = time_page(planted_model().result_, "year")
    assert json.loads(json.dumps(page, allow_nan=False)) == page
    assert [one["period"] for one in page["periods"]] == ["2010", "2011", "2012"]
    assert len(page["values"]["1"]) == 3


def test_hidden_concepts_have_no_trend():
    model = fit(planted_corpus(), n_chains=1, n_sweeps=20, n_burn_in=10)
    assert 1 not in model.hide(1).trends("year")["concept"].tolist()
    assert 1 not in model.over_time("year")["concept"].tolist()
