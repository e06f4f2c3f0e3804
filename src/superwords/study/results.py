"""What the votes say: the figures the paper reports, each under its right name.

The paper's "t-test interval" is the normal interval and its "sign test interval" the Wald interval; both are
given, beside the t interval and the exact (Clopper–Pearson) interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from superwords.errors import InputError

LEVEL = 0.95
ATTENTION = {
    "closely": "followed it closely",
    "headlines": "followed the main headlines",
    "little": "followed it very little",
}
# The paper keeps only people who followed the subject at least by its headlines.
GROUPS: dict[str, tuple[str, ...]] = {
    "everyone": tuple(ATTENTION),
    "at least headlines": ("closely", "headlines"),
    "closely": ("closely",),
    "headlines": ("headlines",),
    "little": ("little",),
}

Interval = tuple[float, float]


@dataclass(frozen=True)
class Vote:
    """One participant's answers: for each question, in order, "concept", "topic" or "neither"."""

    follows: bool
    attention: str
    preferred: tuple[str, ...]


@dataclass(frozen=True)
class Preference:
    """In how many of `questions` pairs a participant preferred the concept, over participants.

    A pair without a difference counts as half a pair.
    """

    participants: int
    questions: int
    mean: float | None
    sd: float | None
    normal_interval: Interval | None
    t_interval: Interval | None


@dataclass(frozen=True)
class Balance:
    """Wins against losses, ties left out: the share won, its intervals and the two-sided sign test."""

    wins: int
    losses: int
    ties: int
    mean: float | None
    sd: float | None
    wald_interval: Interval | None
    exact_interval: Interval | None
    sign_test_p: float | None


@dataclass(frozen=True)
class Results:
    """By group of participants (see GROUPS): preference, participants won and lost, and votes by word.

    `following` is how many answered that they follow the subject; None when only summary numbers were given.
    """

    questions: int
    following: int | None
    preference: dict[str, Preference]
    balance: dict[str, Balance]
    words: dict[str, dict[str, Balance]]


def preference_summary(participants: int, mean: float, sd: float, questions: int = 10) -> Preference:
    """Return the intervals of a mean preference from its summary numbers.

    All scores are whole numbers, so a mean that was rounded for print is first taken back to the whole total
    it came from: 5.735 of 34 people is 195 / 34.
    """
    if participants < 2:
        raise InputError(f"An interval needs at least two participants; there are {participants}.")
    if questions < 1 or not 0 <= mean <= questions:
        raise InputError(f"The mean preference {mean} does not lie between 0 and the {questions} questions.")
    if not (math.isfinite(sd) and sd >= 0):
        raise InputError(f"The standard deviation is {sd}; give a number that is not negative.")
    return with_intervals(participants, round(mean * participants) / participants, sd, questions)


def with_intervals(participants: int, mean: float, sd: float, questions: int) -> Preference:
    error = sd / math.sqrt(participants)
    tail = (1 + LEVEL) / 2
    by_normal = float(stats.norm.ppf(tail)) * error
    by_t = float(stats.t.ppf(tail, participants - 1)) * error
    by_both = (_within(mean - half, mean + half, questions) for half in (by_normal, by_t))
    return Preference(participants, questions, mean, sd, *by_both)


def _within(low: float, high: float, questions: int) -> Interval:
    """Clip an interval to the range of possible answers."""
    return max(low, 0.0), min(high, float(questions))


def preference_of(scores: Sequence[float], questions: int = 10) -> Preference:
    """Return the mean, over participants, of the pairs each decided for the concept; sd is the sample's (n - 1)."""
    n = len(scores)
    if n < 2:
        return Preference(n, questions, float(scores[0]) if n else None, None, None, None)
    return with_intervals(n, float(np.mean(scores)), float(np.std(scores, ddof=1)), questions)


def balance(wins: int, losses: int, ties: int = 0) -> Balance:
    """Count wins among wins and losses, with the Wald and the exact interval and the sign test."""
    if min(wins, losses, ties) < 0:
        raise InputError(f"Wins, losses and ties are {wins}, {losses} and {ties}; none can be negative.")
    decided = wins + losses
    if decided == 0:
        return Balance(wins, losses, ties, None, None, None, None, None)
    share = wins / decided
    sd = math.sqrt(share * (1 - share))
    half = float(stats.norm.ppf((1 + LEVEL) / 2)) * sd / math.sqrt(decided)
    test = stats.binomtest(wins, decided, 0.5)
    exact = test.proportion_ci(LEVEL, method="exact")
    return Balance(
        wins,
        losses,
        ties,
        share,
        sd,
        (share - half, share + half),
        (float(exact.low), float(exact.high)),
        float(test.pvalue),
    )


def results(votes: Iterable[Vote], words: Sequence[str]) -> Results:
    """Compute all the figures from the votes.

    A participant is won when more pairs were decided for the concept than for the topic, and tied when equally many.
    """
    cast = list(votes)
    questions = len(words)
    for vote in cast:
        if len(vote.preferred) != questions or vote.attention not in ATTENTION:
            raise InputError(
                f"A vote has {len(vote.preferred)} answers and attention {vote.attention!r}; "
                f"it needs {questions} answers and one of {', '.join(ATTENTION)}."
            )
    preferences, balances = {}, {}
    by_word: dict[str, dict[str, Balance]] = {word: {} for word in words}
    for group, levels in GROUPS.items():
        chosen = [vote.preferred for vote in cast if vote.attention in levels]
        leads = [answers.count("concept") - answers.count("topic") for answers in chosen]
        preferences[group] = preference_of([(questions + lead) / 2 for lead in leads], questions)
        balances[group] = balance(
            sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads), leads.count(0)
        )
        for index, word in enumerate(words):
            counted = Counter(answers[index] for answers in chosen)
            by_word[word][group] = balance(counted["concept"], counted["topic"], counted["neither"])
    return Results(questions, sum(vote.follows for vote in cast), preferences, balances, by_word)


def to_json(found: Results) -> dict[str, Any]:
    return asdict(found)


def to_table(found: Results) -> pd.DataFrame:
    """Return one row per group for the preference, the participants and each word: what the CSV holds."""
    rows: list[dict[str, Any]] = []
    for group, preference in found.preference.items():
        rows.append({"figure": "preference", "word": "", "group": group, **flat(asdict(preference))})
    for group, participants in found.balance.items():
        rows.append({"figure": "participants", "word": "", "group": group, **flat(asdict(participants))})
    for word, groups in found.words.items():
        for group, votes in groups.items():
            rows.append({"figure": "word", "word": word, "group": group, **flat(asdict(votes))})
    table = pd.DataFrame(rows)
    whole = ["participants", "questions", "wins", "losses", "ties"]
    return table.astype({name: "Int64" for name in whole})


def flat(record: Mapping[str, Any]) -> dict[str, Any]:
    """Split intervals into two columns, low and high."""
    flattened: dict[str, Any] = {}
    for name, value in record.items():
        if name.endswith("_interval"):
            kind = name.removesuffix("_interval")
            flattened[f"{kind}_low"], flattened[f"{kind}_high"] = value or (None, None)
        else:
            flattened[name] = value
    return flattened
