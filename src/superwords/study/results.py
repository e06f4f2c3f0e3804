"""What the votes say: the figures the paper reports, each under its right name.

The paper's "t-test interval" is the normal interval and its "sign test interval" the Wald interval; both are
given, beside the t interval and the exact (Clopper–Pearson) interval.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
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
GROUPS = {"everyone": tuple(ATTENTION), "at least headlines": ("closely", "headlines")}
GROUPS |= {level: (level,) for level in ATTENTION}
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
    sd: float | None = None
    normal_interval: Interval | None = None
    t_interval: Interval | None = None


@dataclass(frozen=True)
class Balance:
    """Wins against losses, ties left out: the share won, its intervals and the two-sided sign test."""

    wins: int
    losses: int
    ties: int
    mean: float | None = None
    sd: float | None = None
    wald_interval: Interval | None = None
    exact_interval: Interval | None = None
    sign_test_p: float | None = None


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
    return _with_intervals(participants, round(mean * participants) / participants, sd, questions)


def preference_of(scores: Sequence[float], questions: int = 10) -> Preference:
    """Return the mean, over participants, of the pairs each decided for the concept; sd is the sample's (n - 1)."""
    if len(scores) < 2:
        return Preference(len(scores), questions, float(scores[0]) if len(scores) else None)
    return _with_intervals(len(scores), float(np.mean(scores)), float(np.std(scores, ddof=1)), questions)


def _with_intervals(participants: int, mean: float, sd: float, questions: int) -> Preference:
    tail, error = (1 + LEVEL) / 2, sd / math.sqrt(participants)
    halves = (float(of.ppf(tail)) * error for of in (stats.norm, stats.t(participants - 1)))
    # No interval leaves the range of possible answers.
    clipped = ((max(mean - half, 0.0), min(mean + half, float(questions))) for half in halves)
    return Preference(participants, questions, mean, sd, *clipped)


def balance(wins: int, losses: int, ties: int = 0) -> Balance:
    """Count wins among wins and losses, with the Wald and the exact interval and the sign test."""
    if min(wins, losses, ties) < 0:
        raise InputError(f"Wins, losses and ties are {wins}, {losses} and {ties}; none can be negative.")
    decided = wins + losses
    if decided == 0:
        return Balance(wins, losses, ties)
    share = wins / decided
    sd = math.sqrt(share * (1 - share))
    half = float(stats.norm.ppf((1 + LEVEL) / 2)) * sd / math.sqrt(decided)
    wald, p = (share - half, share + half), float(stats.binomtest(wins, decided, 0.5).pvalue)
    return Balance(wins, losses, ties, share, sd, wald, exact_interval(wins, decided), p)


def exact_interval(right: int, n: int) -> Interval:
    """Return the 95% interval of a share by Clopper and Pearson."""
    found = stats.binomtest(right, n).proportion_ci(LEVEL, method="exact")
    return float(found.low), float(found.high)


def results(votes: Iterable[Vote], words: Sequence[str]) -> Results:
    """Compute all the figures from the votes.

    A participant is won when more pairs were decided for the concept than for the topic, and tied when equally many.
    """
    cast, questions = list(votes), len(words)
    for vote in cast:
        if len(vote.preferred) != questions or vote.attention not in ATTENTION:
            raise InputError(
                f"A vote has {len(vote.preferred)} answers and attention {vote.attention!r}; "
                f"it needs {questions} answers and one of {', '.join(ATTENTION)}."
            )
    found = Results(questions, sum(vote.follows for vote in cast), {}, {}, {word: {} for word in words})
    for group, levels in GROUPS.items():
        chosen = [vote.preferred for vote in cast if vote.attention in levels]
        leads = [answers.count("concept") - answers.count("topic") for answers in chosen]
        found.preference[group] = preference_of([(questions + lead) / 2 for lead in leads], questions)
        won, lost = sum(lead > 0 for lead in leads), sum(lead < 0 for lead in leads)
        found.balance[group] = balance(won, lost, leads.count(0))
        for index, word in enumerate(words):
            counted = Counter(answers[index] for answers in chosen)
            found.words[word][group] = balance(counted["concept"], counted["topic"], counted["neither"])
    return found


def to_table(found: Results) -> pd.DataFrame:
    """Return one row per group for the preference, the participants and each word: what the CSV holds."""
    figures: list[tuple[str, str, Any]] = [("preference", "", found.preference), ("participants", "", found.balance)]
    figures += [("word", word, groups) for word, groups in found.words.items()]
    rows = [
        {"figure": figure, "word": word, "group": group, **_flat(asdict(one))}
        for figure, word, groups in figures
        for group, one in groups.items()
    ]
    return pd.DataFrame(rows).astype(dict.fromkeys(("participants", "questions", "wins", "losses", "ties"), "Int64"))


def _flat(record: dict[str, Any]) -> dict[str, Any]:
    """Split intervals into two columns, low and high."""
    flat: dict[str, Any] = {}
    for name, value in record.items():
        kind = name.removesuffix("_interval")
        if kind == name:
            flat[name] = value
        else:
            flat[f"{kind}_low"], flat[f"{kind}_high"] = value or (None, None)
    return flat


def interval(value: Interval | None) -> str:
    return "–" if value is None else f"{value[0]:.3f}–{value[1]:.3f}"
