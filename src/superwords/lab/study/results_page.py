"""The results of a study as tables to read, and as a CSV file."""

from __future__ import annotations

import os
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from superwords.errors import InputError
from superwords.files import write_whole
from superwords.lab.study.results import ATTENTION, Balance, Interval, Preference, Results, to_table
from superwords.tabular import csv_text

NONE = "–"
WIDTH = 160


def print_results(found: Results, console: Console | None = None) -> None:
    # Wider than a narrow or piped terminal if need be: a figure cut short is no figure.
    out = console or Console(highlight=False, width=max(WIDTH, Console().width))
    everyone = found.preference["everyone"]
    people = "1 participant" if everyone.participants == 1 else f"{everyone.participants} participants"
    following = "" if found.following is None else f" ({found.following} follow the subject)"
    out.print(
        f"{people}{following}, {found.questions} pairs each. All intervals are 95% intervals; the exact one is "
        "by Clopper and Pearson. The sign test is two-sided."
    )
    out.print()
    out.print(preference_table(found.preference, found.questions))
    out.print()
    out.print(balance_table(found.balance))
    if found.words:
        out.print()
        out.print(word_table(found.words))
        out.print(f"Participants: {', '.join(f'{level} = {text}' for level, text in ATTENTION.items())}.")


def preference_table(groups: dict[str, Preference], questions: int) -> Table:
    table = Table(
        title=f"Pairs, of {questions}, in which a participant preferred the concept (no difference: half)",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    for name in ("participants", "number", "mean", "sd", "normal interval", "t interval"):
        table.add_column(name, justify="left" if name == "participants" else "right")
    for group, row in groups.items():
        table.add_row(
            group,
            str(row.participants),
            number(row.mean),
            number(row.sd),
            interval(row.normal_interval),
            interval(row.t_interval),
        )
    return table


def balance_table(groups: dict[str, Balance]) -> Table:
    table = Table(
        title="Participants who preferred the concept in more pairs than the topic (share: without ties)",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    for name in (
        "participants",
        "concept",
        "topic",
        "tie",
        "share",
        "Wald interval",
        "exact interval",
        "sign test p",
    ):
        table.add_column(name, justify="left" if name == "participants" else "right")
    for group, row in groups.items():
        table.add_row(group, str(row.wins), str(row.losses), str(row.ties), *balance_cells(row))
    return table


def word_table(words: dict[str, dict[str, Balance]]) -> Table:
    """All votes for each word, then the share for the concept at each attention level."""
    table = Table(
        title="Votes by word (share: for the concept, without those who saw no difference)",
        title_justify="left",
        box=SIMPLE_HEAD,
    )
    table.add_column("word", overflow="fold")
    counts = ("concept", "topic", "neither", "share")
    for name in (*counts, "Wald interval", "exact interval", "sign test p", *ATTENTION):
        table.add_column(name, justify="right")
    for word, groups in words.items():
        row = groups["everyone"]
        levels = [number(groups[level].mean, 2) for level in ATTENTION]
        # A word is text: "[red]" is no markup for rich, an escape no order to the terminal.
        table.add_row(
            Text("".join(ch if ch.isprintable() else "�" for ch in word)),
            str(row.wins),
            str(row.losses),
            str(row.ties),
            *balance_cells(row),
            *levels,
        )
    return table


def balance_cells(row: Balance) -> list[str]:
    return [
        number(row.mean),
        interval(row.wald_interval),
        interval(row.exact_interval),
        number(row.sign_test_p),
    ]


def number(value: float | None, digits: int = 3) -> str:
    return NONE if value is None else f"{value:.{digits}f}"


def interval(value: Interval | None) -> str:
    return NONE if value is None else f"{value[0]:.3f}–{value[1]:.3f}"


def write_csv(found: Results, path: str | os.PathLike[str]) -> None:
    target = Path(path)
    try:
        write_whole(target, csv_text(to_table(found)).encode("utf-8"))
    except OSError as error:
        raise InputError(f"The table {str(target)!r} could not be written: {error.strerror}.") from None
