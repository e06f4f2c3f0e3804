"""Tables as printed in a paper: few columns, rounded, with caption and note."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pandas as pd

from superwords.analysis.effects import outcome
from superwords.analysis.table_files import Titled
from superwords.tabular import short

_INTERVAL = "95% interval"
_MOST_BESIDE = 4  # maximum number of groups printed side by side
# Printed columns and their headings; columns that a table lacks are left out.
_COLUMNS: dict[str, dict[str, str]] = {
    "concepts": {
        "concept": "No.",
        "name": "Concept",
        "top_words": "Words",
        "prevalence": "Prevalence (%)",
        "strength": "Strength (%)",
        "found_again": "Found again",
        "found_by": "Chains",
    },
    "words": {"concept": "No.", "name": "Concept", "word": "Word", "share_used": "Used by (%)"},
    "documents": {
        "document": "Document",
        "concept": "No.",
        "concept_name": "Concept",
        "weight": "Weight (%)",
    },
    "groups": {
        "concept": "No.",
        "name": "Concept",
        "group": "Group",
        "n_rows": "n",
        "prevalence": "Prevalence (%)",
        "strength": "Strength (%)",
    },
    "trends": {
        "concept": "No.",
        "name": "Concept",
        "first": "From",
        "last": "To",
        "change": "Change",
        "probability_rises": "P(rises)",
    },
    "periods": {
        "concept": "No.",
        "name": "Concept",
        "period": "Period",
        "n_rows": "n",
        "prevalence": "Prevalence (%)",
    },
    "effects": {
        "concept": "No.",
        "name": "Concept",
        "label": "Term",
        "effect": "Effect",
        "probability_positive": "P(positive)",
    },
    "quotes": {"concept": "No.", "name": "Concept", "document": "Document", "passage": "Passage"},
}
_SHARES = ("prevalence", "strength", "share_used", "weight")
_POINTS = ("effect", "change")
_BOUNDS = {
    "share_used": ("used_low", "used_high"),
    "weight": ("low", "high"),
    "effect": ("low", "high"),
    "change": ("low", "high"),
}
_PREVALENCE = "Prevalence: share of the {rows} that use the concept."
_STRENGTH = "Strength: its mean weight in those."
_ABOUT: dict[str, tuple[str, str]] = {
    "concepts": (
        "Concepts",
        f"{_PREVALENCE} {_STRENGTH} Chains: how many of the {{chains}} chains find it.{{again}}",
    ),
    "words": (
        "Words of the concepts",
        "Used by: of the {rows} that use the concept, the share that use the word for it.",
    ),
    "documents": ("Concepts of the documents", "Weight: share of the document's words."),
    "groups": ("Prevalence of the concepts by {groups}", f"{_PREVALENCE} {_STRENGTH}"),
    "trends": (
        "Change in prevalence over time ({time})",
        "Change: of a line through the prevalences, from the first period to the last, in percentage points.",
    ),
    "periods": ("Prevalence by period of {time}", _PREVALENCE),
    "effects": (
        "Effects on prevalence",
        "Effect: change of {outcome}, in percentage points, the other terms held fixed. {notes}",
    ),
    "quotes": ("Passages that show the concepts", "The documents with the most evidence for each concept."),
}


def printed(name: str, table: pd.DataFrame, **facts: Any) -> Titled:
    """Return one of the model's tables for print.

    `facts` are the values in captions and notes: `rows`, `chains`, `pilots`, `groups`, `time` and `notes`; and whether
    the user has `named` any concept.
    """
    columns = {one: head for one, head in _COLUMNS.get(name, {}).items() if one in table}
    if "found_again" in columns and table["found_again"].isna().all():
        del columns["found_again"]
    if "top_words" in columns and not facts.get("named"):
        del columns["name"]  # the automatic names only repeat the first words
    if name == "groups" and table.groupby("concept", sort=False).size().max() <= _MOST_BESIDE:
        return _groups_beside(table, facts)
    if not columns:
        return Titled(table.map(short), name.replace("_", " ").capitalize())
    out: dict[str, list[str]] = {}
    for column, heading in columns.items():
        out[heading] = [_cell(column, value) for value in table[column]]
        low, high = _BOUNDS.get(column, (f"{column}_low", f"{column}_high"))
        if low in table and high in table and column != "strength":
            out[_INTERVAL] = [_interval(column, a, b) for a, b in zip(table[low], table[high])]
    facts = {"again": "", "outcome": outcome(facts.get("rows", "documents")), **facts}
    if "found_again" in columns:
        facts["again"] = " Found again: by how many of the {pilots} fits to samples of the documents.".format(
            **facts
        )
    caption, note = _ABOUT[name]
    return Titled(pd.DataFrame(out), f"{caption.format(**facts)}.", note.format(**facts).strip())


def listed(names: Sequence[Any]) -> str:
    """Return names as a sentence lists them: "party, state and year"."""
    *first, last = [str(name) for name in names] or [""]
    return f"{', '.join(first)} and {last}" if first else last


def _groups_beside(table: pd.DataFrame, facts: dict[str, Any]) -> Titled:
    """Return a row per concept, with the prevalences of the groups side by side."""
    several = table["column"].nunique() > 1
    out: dict[str, list[str]] = {
        "No.": [str(one) for one in table["concept"].unique()],
        "Concept": table.drop_duplicates("concept")["name"].tolist(),
    }
    for (column, group), own in table.groupby(["column", "group"], sort=False):
        heading = f"{column} {group}" if several else str(group)
        bounds = zip(own["prevalence"], own["prevalence_low"], own["prevalence_high"])
        out[f"{heading} (n = {own['n_rows'].iloc[0]:,})"] = [
            f"{_cell('prevalence', share)} ({_interval('prevalence', low, high)})"
            for share, low, high in bounds
        ]
    caption = _ABOUT["groups"][0].format(**facts)
    note = f"{_PREVALENCE.format(**facts)[:-1]}, in %, with 95% intervals."
    return Titled(pd.DataFrame(out), f"{caption}.", note)


def _cell(column: str, value: Any) -> str:
    if isinstance(value, float) and value != value:
        return "–"
    if column in _SHARES:
        return f"{100 * value:.1f}"
    if column in _POINTS:
        return _signed(value)
    if column == "found_again":
        return f"{value:.0f}"
    if column.startswith("probability"):
        return "<0.01" if value < 0.005 else ">0.99" if value > 0.995 else f"{value:.2f}"
    if isinstance(value, list | tuple):
        return ", ".join(map(short, value))
    return str(value)


def _interval(column: str, low: float, high: float) -> str:
    if low != low or high != high:
        return "–"
    if column in _POINTS:
        return f"{_signed(low)} to {_signed(high)}"
    return f"{100 * low:.1f}–{100 * high:.1f}"


def _signed(share: float) -> str:
    return f"{100 * share:+.1f}".replace("-", "−")
