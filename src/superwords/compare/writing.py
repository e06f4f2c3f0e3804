"""The comparison as files: tables as CSV, all of it as JSON, and one page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from string import Template
from typing import Any

import pandas as pd

from superwords.compare.contest import CONTROLS, UNIGRAM, Comparison, described
from superwords.compare.judging import OURS, SMOOTHING, WITH_PEOPLE, matched
from superwords.compare.peers import DRAWS
from superwords.files import write_atomic, writing
from superwords.tabular import csv_text, number, records
from superwords.web.clouds import cloud_svg
from superwords.web.html import Html, facts_list, fill, html_table, join, read_parts, whole_page

Rows = list[dict[str, str]]
CLOUD_PAIRS = 8
# Tables made with --labels that are shown to people, and their headings.
LABEL_TABLES = {
    "labels": "Agreement with labels",
    "reliability": "Reliability",
    "label_effects": "Effects over reseeds",
}
_PARTS = read_parts(Path(__file__).with_name("compare.html"))
# Every value that a text of compare.html names.
_KNOWN = {
    "smoothing": f"{SMOOTHING:g}",
    "draws": DRAWS,
    "correlations": " and ".join(f"{value:.2f} ({corpus})" for corpus, value in WITH_PEOPLE.items()),
}


def _text(name: str) -> str:
    return Template(_PARTS[name]).substitute(_KNOWN)


NOTES = tuple(_text(name) for name in _PARTS if name.startswith("note"))

# Columns of the table of models: heading, column, and format.
_MODEL_COLUMNS = (
    ("concepts", "n_concepts", ".0f"),
    ("NPMI", "npmi, windows", ".3f"),
    ("on sentences", "npmi, sentences", ".3f"),
    ("judge", "judge", "+.2f"),
    ("diversity", "diversity", ".2f"),
    ("stability", "stability", ".2f"),
    ("log likelihood", "log_likelihood", ".3f"),
    ("perplexity", "perplexity", ".1f"),
)
_FACTS = {
    "training_documents": "Documents",
    "training_windows": "Windows",
    "held_out_windows": "Held-out windows",
    "words": "Words",
    "our_rows": "Our rows",
    "seeds": "Seeds",
    "n_chains": "Chains",
    "n_sweeps": "Sweeps",
    "iterations": "Iterations of the peers",
    "tokens_to_predict": "Tokens to predict",
}


def write_all(comparison: Comparison, folder: Path) -> list[Path]:
    """Write every table as CSV, all of them as JSON, and the page."""
    files = {}
    for name, table in comparison.tables.items():
        if "setting" in table.columns:
            table = table.assign(setting=table["setting"].map(described))
        files[f"{name}.csv"] = csv_text(table)
    files["compare.json"] = json.dumps(as_json(comparison), ensure_ascii=False)
    files["compare.html"] = page(comparison)
    with writing("The comparison", folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_atomic(folder / name, content.encode("utf-8"))
    return [folder / name for name in files]


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return everything but the sets word by word, which words.csv holds."""
    tables = {name: records(table) for name, table in comparison.tables.items() if name != "words"}
    return {"facts": comparison.facts, "notes": list(NOTES), **tables}


def page(comparison: Comparison) -> str:
    """Build one self-contained page: contests, each model's figures, the grid, and clouds."""
    tables, title = comparison.tables, "Concepts and topics compared"
    facts = []
    for key, term in _FACTS.items():
        value = comparison.facts[key]
        text = f"{value:,}" if isinstance(value, int) else ", ".join(map(str, value)) if key == "seeds" else value
        facts.append((term, text))
    grid = [
        {"model": row["model"], "setting": described(row["setting"]), "topics": f"{row['n_topics']:,}"}
        | {"words by": row["ranking"], "NPMI": f"{row['npmi']:.3f}"}
        | {"seconds": f"{row['seconds']:,.1f}", "": "chosen" if row["chosen"] else ""}
        for row in tables["grid"].to_dict("records")
    ]
    by_labels = [
        _part("table", heading=heading, table=_table(label_rows(tables[name])))
        for name, heading in LABEL_TABLES.items()
        if name in tables
    ]
    judge = [_text("judge")] if "judge" in tables["models"] else []
    body = _part(
        "page",
        title=title,
        facts=facts_list(*facts),
        left_out=_paragraphs(comparison.lineup.left_out),
        contests=_table(contest_rows(tables["contests"])),
        models=_table(model_rows(tables["models"])),
        by_labels=join([*by_labels, _paragraphs([_text("labels")] if by_labels else [])]),
        notes=_paragraphs([*NOTES, *judge]),
        grid=_table(grid),
        clouds=join(_clouds(comparison, peer) for peer in comparison.lineup.peers),
    )
    return whole_page(title, body)


def _part(name: str, **values: Any) -> Html:
    return fill(_PARTS[name], **values)


def _paragraphs(texts: Iterable[str]) -> Html:
    return join(fill("<p>$text</p>", text=text) for text in texts)


def _table(rows: Rows) -> Html:
    if not rows:
        return Html("<p>None.</p>")
    cells = ("".join(f"<td>{escape(value)}</td>" for value in row.values()) for row in rows)
    return Html(f'<div class="scroll">{html_table(rows[0], "".join(f"<tr>{row}</tr>" for row in cells))}</div>')


def _clouds(comparison: Comparison, peer: str) -> Html:
    """Return the first seed's sets for the most salient words as clouds, equal in size."""
    seed, vocabulary = comparison.facts["seeds"][0], comparison.vocabulary
    ours, theirs = (comparison.found[model, seed] for model in (OURS, peer))
    sections: list[Html] = []
    for word in comparison.facts["salient_words"]:
        i = vocabulary.index(word)
        sets = matched(ours, theirs, i)
        if len(sets[0]) > 1 and len(sections) < CLOUD_PAIRS:
            rows = [found.weights[found.holds[:, i].argmax()] for found in (ours, theirs)]
            clouds = [{vocabulary[k]: float(row[k]) for k in chosen} for row, chosen in zip(rows, sets)]
            pictures = cloud_svg(clouds[0], f"{word}: the concept") + cloud_svg(clouds[1], f"{word}: {peer}")
            sections.append(_part("pair", word=word, clouds=Html(pictures)))
    pairs = join(sections) or Html("<p>No word is held by both.</p>")
    return _part("clouds", ours=OURS, peer=peer, pairs=pairs)


def label_rows(table: pd.DataFrame) -> Rows:
    """Return a table of measures for people: three digits, half an interval beside its mean."""

    def cell(row: Mapping[Any, Any], name: str) -> str:
        if isinstance(row[name], str):
            return str(row[name])
        if name in ("topics", "seeds", "reported"):
            return number(row[name], ".0f")
        half = row.get(f"{name} ±")
        return number(row[name], ".3f") + (f" ± {half:.3f}" if pd.notna(half) else "")

    names = [str(name) for name in table if not str(name).endswith(" ±")]
    return [{name: cell(row, name) for name in names} for row in table.to_dict("records")]


def contest_rows(contests: pd.DataFrame) -> Rows:
    """Return one row for each contest, as people read it; all but the win rates is by the first judge."""
    rows = []
    for (first, second), judged in contests.groupby(["first", "second"], sort=False):
        main, row = judged.iloc[0], {"first": str(first), "against": str(second)}
        for one in judged.to_dict("records"):
            row[f"on {one['judged_on']}"] = f"{one['rate']:.2f} ({one['low']:.2f}–{one['high']:.2f})"
        row |= {"seeds": f"{main['lowest_seed']:.2f}–{main['highest_seed']:.2f}"}
        row |= {"NPMI": f"{main['first_npmi']:.3f} / {main['second_npmi']:.3f}"}
        row |= {"p": "<0.0001" if main["p_value"] < 1e-4 else number(main["p_value"], ".4f")}
        rows.append(row | {"pairs": f"{main['n']:,}" + (f" (+{main['left_out']:,})" if main["left_out"] else "")})
    return rows


def model_rows(models: pd.DataFrame) -> Rows:
    """Return one row for each model, as people read it."""
    rows = []
    for row in models.to_dict("records"):
        out = {name: number(row[key], form) for name, key, form in _MODEL_COLUMNS if key in row}
        is_known = row["model"] != OURS and pd.notna(row["ours ahead"])
        out["ours ahead"] = f"{row['ours ahead']:+.3f} ± {row['ours ahead, error']:.3f}" if is_known else "–"
        out["seconds"] = "–" if row["model"] in (*CONTROLS, UNIGRAM) else number(row["seconds"], ",.1f")
        rows.append({"model": str(row["model"]), **out})
    return rows
