"""The results of a study as tables to read, and as a CSV file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from superwords.errors import InputError
from superwords.files import write_atomic
from superwords.study.results import ATTENTION, Balance, Interval, Results, to_table
from superwords.tabular import csv_text

WIDTH = 160
_PREFERENCE = ("participants", "number", "mean", "sd", "normal interval", "t interval")
_SHARE = ("share", "Wald interval", "exact interval", "sign test p")


def print_results(found: Results, console: Console | None = None) -> None:
    """Print the preference, the participants won and lost, and the votes by word."""
    # Wider than a narrow or piped terminal if need be: a figure cut short is no figure.
    out = console or Console(highlight=False, width=max(WIDTH, Console().width))
    everyone = found.preference["everyone"]
    people = "1 participant" if everyone.participants == 1 else f"{everyone.participants} participants"
    following = "" if found.following is None else f" ({found.following} follow the subject)"
    out.print(
        f"{people}{following}, {found.questions} pairs each. All intervals are 95% intervals; the exact one is "
        "by Clopper and Pearson. The sign test is two-sided.\n"
    )
    title = f"Pairs, of {found.questions}, in which a participant preferred the concept (no difference: half)"
    rows: Iterable[Sequence[str]] = (
        (group, str(row.participants), number(row.mean), number(row.sd), *map(interval, both))
        for group, row in found.preference.items()
        for both in [(row.normal_interval, row.t_interval)]
    )
    out.print(_table(title, _PREFERENCE, rows), "")
    title = "Participants who preferred the concept in more pairs than the topic (share: without ties)"
    rows = ((group, *_balance(row)) for group, row in found.balance.items())
    out.print(_table(title, ("participants", "concept", "topic", "tie", *_SHARE), rows))
    if found.words:
        title = "Votes by word (share: for the concept, without those who saw no difference)"
        rows = (
            (word, *_balance(groups["everyone"]), *(number(groups[level].mean, 2) for level in ATTENTION))
            for word, groups in found.words.items()
        )
        out.print("", _table(title, ("word", "concept", "topic", "neither", *_SHARE, *ATTENTION), rows))
        out.print(f"Participants: {', '.join(f'{level} = {text}' for level, text in ATTENTION.items())}.")


def _table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    for k, name in enumerate(columns):
        table.add_column(name, justify="right" if k else "left", overflow="fold")
    for first, *others in rows:
        # A word is text: "[red]" is no markup for rich, an escape no order to the terminal.
        table.add_row(Text("".join(ch if ch.isprintable() else "�" for ch in first)), *others)
    return table


def _balance(row: Balance) -> list[str]:
    counts = [str(row.wins), str(row.losses), str(row.ties)]
    intervals = [interval(row.wald_interval), interval(row.exact_interval)]
    return [*counts, number(row.mean), *intervals, number(row.sign_test_p)]


def number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def interval(value: Interval | None) -> str:
    return "–" if value is None else f"{value[0]:.3f}–{value[1]:.3f}"


def write_csv(found: Results, path: str | os.PathLike[str]) -> None:
    """Write every figure to a CSV file."""
    target = Path(path)
    try:
        write_atomic(target, csv_text(to_table(found)).encode("utf-8"))
    except OSError as error:
        raise InputError(f"The table {str(target)!r} could not be written: {error.strerror}.") from None
