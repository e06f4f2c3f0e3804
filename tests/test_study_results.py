"""Results: the paper's own outcome under its right names, and figures from votes equal to those by hand."""

from __future__ import annotations

import json
import math

import pandas as pd
import pytest
from typer.testing import CliRunner

from study_for_tests import WORDS, small_study
from superwords.cli.study import app
from superwords.errors import InputError
from superwords.study.results import Vote, balance, interval, preference_of, preference_summary, results, to_table
from superwords.study.votes import VoteStore

PAPER = ["--participants", "34", "--mean", "5.735", "--sd", "1.540"]
PAPER += ["--wins", "16", "--losses", "6", "--ties", "12"]


@pytest.mark.parametrize(("mean", "sd"), [(5.735, 1.540), (5.7352941176471, 1.5398400132598)])
def test_the_papers_outcome_has_the_papers_figures(mean: float, sd: float) -> None:
    preference = preference_summary(34, mean, sd)
    assert interval(preference.normal_interval) == "5.218–6.253"
    assert interval(preference.t_interval) == "5.198–6.273"
    people = balance(16, 6, 12)
    assert people.mean == pytest.approx(0.72727272727273)
    assert people.sd == pytest.approx(0.44536177141512)
    assert interval(people.wald_interval) == "0.541–0.913"
    assert interval(people.exact_interval) == "0.498–0.893"
    # Both tails of a fair coin tossed 22 times: 16 heads or more, or 6 or fewer.
    assert people.sign_test_p == pytest.approx(2 * sum(math.comb(22, k) for k in range(7)) / 2**22)


def test_the_command_prints_the_papers_outcome() -> None:
    shown = CliRunner().invoke(app, ["results", *PAPER])
    assert shown.exit_code == 0
    for figure in ("5.218–6.253", "5.198–6.273", "0.541–0.913", "0.498–0.893", "0.727", "12"):
        assert figure in shown.output
    for name in ("normal interval", "t interval", "Wald interval", "exact interval"):
        assert set(name.split()) <= set(shown.output.split())


def votes() -> list[Vote]:
    """Three people of four questions: a win, a tie and a loss, the last with a pair without a difference."""
    yes, no, same = "concept", "topic", "neither"
    return [
        Vote(True, "closely", (yes, yes, yes, no)),
        Vote(True, "closely", (yes, yes, no, no)),
        Vote(False, "little", (no, no, yes, same)),
    ]


def test_figures_from_votes_equal_those_by_hand() -> None:
    found = results(votes(), ["a", "b", "c", "d"])
    everyone = found.preference["everyone"]
    assert found.following == 2
    assert (everyone.participants, everyone.mean, everyone.sd) == (3, pytest.approx(6.5 / 3), pytest.approx(0.763763))
    half = 4.302653 * 0.763763 / math.sqrt(3)
    assert everyone.t_interval == pytest.approx((6.5 / 3 - half, 4.0), rel=1e-4)  # of four questions
    people = found.balance["everyone"]
    assert (people.wins, people.losses, people.ties, people.mean) == (1, 1, 1, 0.5)
    assert found.preference["closely"].mean == 2.5
    assert found.preference["at least headlines"].participants == 2
    assert found.balance["little"].losses == 1
    assert found.preference["headlines"].mean is None
    counted = {word: row["everyone"] for word, row in found.words.items()}
    by_word = {word: (row.wins, row.losses, row.ties) for word, row in counted.items()}
    assert by_word == {"a": (2, 1, 0), "b": (2, 1, 0), "c": (2, 1, 0), "d": (0, 2, 1)}
    assert found.words["a"]["little"].mean == 0.0
    assert found.words["a"]["closely"].mean == 1.0


def test_no_interval_leaves_what_can_be_answered() -> None:
    found = preference_of([0, 10, 9])
    assert found.t_interval == (0.0, 10.0)
    assert 0.0 <= found.normal_interval[0] < found.normal_interval[1] <= 10.0


def test_few_or_no_participants_give_no_interval() -> None:
    assert preference_of([]).mean is None
    assert preference_of([7]).mean == 7
    assert preference_of([7]).t_interval is None
    assert balance(0, 0, 4).exact_interval is None
    assert results([], ["a"]).words["a"]["everyone"].mean is None


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: preference_summary(1, 5.0, 1.0), "at least two"),
        (lambda: preference_summary(9, 11.0, 1.0), "between 0 and the 10"),
        (lambda: preference_summary(9, 5.0, -1.0), "standard deviation"),
        (lambda: preference_summary(9, 5.0, math.nan), "standard deviation"),
        (lambda: balance(-1, 2), "negative"),
        (lambda: results(votes(), ["a"]), "it needs 1 answers"),
    ],
)
def test_impossible_numbers_are_refused(call, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call()


def test_the_table_has_a_row_for_every_figure() -> None:
    table = to_table(results(votes(), ["a", "b", "c", "d"]))
    assert len(table) == 5 + 5 + 4 * 5
    row = table[(table.figure == "word") & (table.word == "d") & (table.group == "everyone")].iloc[0]
    assert (row["wins"], row["losses"], row["ties"], row["mean"]) == (0, 2, 1, 0.0)
    assert row["exact_high"] == pytest.approx(1 - 0.025 ** (1 / 2))


def test_json_and_csv_carry_the_stored_votes(tmp_path) -> None:
    store = VoteStore.for_study(tmp_path / "v.votes", small_study())
    store.add("p1", True, "closely", [(n, "concept", "first") for n in range(1, 11)])
    store.add("p2", True, "headlines", [(n, "concept", "second") for n in range(1, 11)])
    shown = CliRunner().invoke(app, ["results", str(tmp_path / "v.votes"), "--json", "--csv", str(tmp_path / "r.csv")])
    figures = json.loads(shown.output)
    assert figures["preference"]["everyone"]["mean"] == 5.0
    assert figures["words"][WORDS[2]]["closely"]["wins"] == 1
    table = pd.read_csv(tmp_path / "r.csv")
    assert set(table["word"].dropna()) == set(WORDS)
    for width, left_out in (("160", False), ("80", True)):
        readable = CliRunner().invoke(app, ["results", str(tmp_path / "v.votes")], env={"COLUMNS": width}).output
        assert [word for word in WORDS if word not in readable] == []
        assert ("Left out, because the terminal is narrow" in readable) == left_out


@pytest.mark.parametrize("arguments", [[], PAPER[:4], ["x.votes", *PAPER]], ids=["nothing", "too few numbers", "both"])
def test_the_command_needs_votes_or_a_whole_outcome(arguments: list[str]) -> None:
    shown = CliRunner().invoke(app, ["results", *arguments])
    assert isinstance(shown.exception, InputError)
