"""The comparison as files: five tables as CSV, all of it as JSON, and one page."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.compare.calibrated import WITH_PEOPLE
from superwords.compare.completion import DRAWS, SMOOTHING
from superwords.compare.contenders import CONTROLS, OURS, UNIGRAM
from superwords.compare.contest import Comparison, clouds_of, described
from superwords.errors import InputError
from superwords.files import write_atomic
from superwords.tabular import csv_text, records
from superwords.web.cloud_pictures import cloud_svg
from superwords.web.page import html_table, whole_page

CLOUD_PAIRS = 8
TABLES = ("models", "contests", "grid", "runs", "words")
# Files of the tables made with --labels: attribute and heading.
LABEL_TABLES = {
    "labels": ("alignment", "Agreement with labels"),
    "reliability": ("reliability", "Reliability"),
    "label_effects": ("effects", "Effects over reseeds"),
    "label_runs": ("runs", ""),
}
NOTES = (
    "All models count the same words, chosen from the training part alone. One window of five sentences in five is "
    "held out, and coherence (NPMI) is measured there; a pair of words that is never together counts 0.",
    "Two controls that no model found show whether the measure can be trusted: the most frequent words, and random "
    "words. Where a control wins against topics, the measure judges how frequent the words are.",
    "For each salient word: the concept that has it on in most documents against the topic that gives it the highest "
    "probability; the word itself is removed and both are cut to the size of the smaller, at most 20. A tie is half a "
    "win. The interval is Wilson's over words and seeds, as if these were independent; the test (Wilcoxon, signed "
    "ranks) takes each word once, by its mean over seeds.",
    "The settings of the peers are the best of a grid on the held-out windows, with a seed that is used for nothing "
    "else. That favours them: superwords runs with the defaults of `superwords fit`.",
    "Held-out likelihood: a fitted model sees half of each held-out window's tokens and predicts the others. Given is "
    "the mean log probability of a token and the perplexity, e to its negative; “ours ahead” is by how much superwords "
    f"gives a token the higher one, with a standard error over windows. A share of {SMOOTHING:g} of every prediction "
    f"is the word frequencies of the training part. superwords is averaged over {DRAWS} draws of all chains, a peer "
    "over as many fits as superwords has chains. CorEx and BERTopic give words no probability.",
    "Automated coherence is not human judgement: `superwords study` asks people.",
)
_CORRELATIONS = " and ".join(f"{value:.2f} ({corpus})" for corpus, value in WITH_PEOPLE.items())
JUDGE_NOTE = (
    "The judge is a ridge regression of six measures (NPMI, C_v, cosines of word vectors, rarity) on people's ratings "
    f"of topics, in standard deviations over all concepts compared. Trained on one corpus and tried on the other, its "
    f"rank correlation with people is {_CORRELATIONS}, that of NPMI .43 and .38; these are optimistic, as the measures "
    "were picked on the same corpora. No judge transfers safely to new kinds of model."
)
LABEL_NOTE = (
    "Models are fitted to all documents. P1 (harmonic purity), ARI and NMI compare each document's heaviest concept "
    "with the label; the probe is the cross-validated macro-F1 of a logistic regression on the weights. “own”: the "
    "setting of a peer that agrees best with the labels; “default”: BERTopic's own; “matched”: as many topics as ours "
    "has concepts. ± is half of a 95% interval over seeds. Partners share at least 1/3 (1/2) of ten words, by Jaccard. "
    "Flips: effects with an interval that excludes 0 whose sign differs with another seed."
)


def all_tables(comparison: Comparison) -> dict[str, pd.DataFrame]:
    """Return every table by the name of its file; of those of the labels the ones that have rows."""
    tables = {name: getattr(comparison, name) for name in TABLES}
    if comparison.labels is None:
        return tables
    of_labels = {file: getattr(comparison.labels, name) for file, (name, _) in LABEL_TABLES.items()}
    return tables | {file: table for file, table in of_labels.items() if len(table)}


def write_all(comparison: Comparison, folder: Path) -> list[Path]:
    """Write every table as CSV, all of them as JSON, and the page."""
    files = {}
    for name, table in all_tables(comparison).items():
        if "setting" in table.columns:
            table = table.assign(setting=table["setting"].map(described))
        files[f"{name}.csv"] = csv_text(table)
    files["compare.json"] = json.dumps(as_json(comparison), ensure_ascii=False)
    files["compare.html"] = page(comparison)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            write_atomic(folder / name, content.encode("utf-8"))
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be written: {error.strerror or error}.") from None
    return [folder / name for name in files]


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Return everything but the sets word by word, which words.csv holds."""
    tables = {name: records(table) for name, table in all_tables(comparison).items() if name != "words"}
    return {"facts": comparison.facts, "notes": list(NOTES), **tables}


def label_rows(table: pd.DataFrame) -> list[dict[str, str]]:
    """Return a table of measures for people: two or three digits, half an interval beside its mean."""
    rows = []
    for row in table.to_dict("records"):
        out = {}
        for name, value in row.items():
            if str(name).endswith(" ±"):
                continue
            text = value if isinstance(value, str) else "–" if pd.isna(value) else f"{value:.3f}"
            if name in ("topics", "seeds", "reported") and not pd.isna(value):
                text = f"{value:.0f}"
            half = row.get(f"{name} ±")
            out[str(name)] = text + (f" ± {half:.3f}" if pd.notna(half) and name != "topics" else "")
        rows.append(out)
    return rows


def page(comparison: Comparison, title: str = "Concepts and topics compared") -> str:
    """Build one self-contained page: contests, each model's figures, the grid, and clouds."""
    tables = all_tables(comparison)
    labels = [
        f"<h2>{title}</h2>{_table(label_rows(tables[name]))}"
        for name, (_, title) in LABEL_TABLES.items()
        if title and name in tables
    ]
    body = [
        f"<h1>{escape(title)}</h1>",
        _facts(comparison),
        *(f"<p>{escape(line)}</p>" for line in comparison.lineup.left_out),
        "<h2>Who wins</h2><p>The share of salient words for which the first is the more coherent, with a 95% "
        "interval; seeds, NPMI, p and pairs (and those left out) are of the first column.</p>",
        _table(contest_rows(comparison.contests)),
        "<h2>Each model for itself</h2><p>Means over the seeds.</p>",
        _table(model_rows(comparison.models)),
        *labels,
        *([f"<p>{escape(LABEL_NOTE)}</p>"] if labels else []),
        "<h2>How this was judged</h2>",
        *(f"<p>{escape(note)}</p>" for note in NOTES),
        *([f"<p>{escape(JUDGE_NOTE)}</p>"] if "judge" in comparison.models else []),
        "<h2>Settings tried for the peers</h2>",
        _table(grid_rows(comparison.grid)),
        *(_clouds(comparison, peer) for peer in comparison.lineup.peers),
    ]
    return whole_page(title, "<main>\n" + "\n".join(body) + "\n</main>")


def contest_rows(contests: pd.DataFrame) -> list[dict[str, str]]:
    """Return one row for each contest, as people read it; all but the win rates is by the first judge."""
    rows = []
    for (first, second), judged in contests.groupby(["first", "second"], sort=False):
        main = judged.iloc[0]
        rates = {
            f"on {row['judged_on']}": f"{row['rate']:.2f} ({row['low']:.2f}–{row['high']:.2f})"
            for row in judged.to_dict("records")
        }
        rows.append(
            {"first": str(first), "against": str(second)}
            | rates
            | {
                "seeds": f"{main['lowest_seed']:.2f}–{main['highest_seed']:.2f}",
                "NPMI": f"{main['first_npmi']:.3f} / {main['second_npmi']:.3f}",
                "p": "<0.0001" if main["p_value"] < 1e-4 else _figure(main["p_value"], ".4f"),
                "pairs": f"{main['n']:,}" + (f" (+{main['left_out']:,})" if main["left_out"] else ""),
            }
        )
    return rows


# Columns of the table of models: heading, column, and format.
_MODEL_COLUMNS = (
    ("concepts", "n_concepts", ".0f"),
    ("NPMI windows", "npmi, windows", ".3f"),
    ("sentences", "npmi, sentences", ".3f"),
    ("judge", "judge", "+.2f"),
    ("diversity", "diversity", ".2f"),
    ("stability", "stability", ".2f"),
    ("log likelihood", "log_likelihood", ".3f"),
    ("perplexity", "perplexity", ".1f"),
)


def model_rows(models: pd.DataFrame) -> list[dict[str, str]]:
    """Return one row for each model, as people read it."""
    rows = []
    for row in models.to_dict("records"):
        out = {"model": str(row["model"])}
        out |= {name: _figure(row[key], form) for name, key, form in _MODEL_COLUMNS if key in row}
        ahead = f"{row['ours ahead']:+.3f} ± {row['ours ahead, error']:.3f}"
        out["ours ahead"] = "–" if pd.isna(row["ours ahead"]) or row["model"] == OURS else ahead
        seconds = np.nan if row["model"] in (*CONTROLS, UNIGRAM) else row["seconds"]
        rows.append(out | {"seconds": _figure(seconds, ",.1f")})
    return rows


def _figure(value: float, form: str) -> str:
    return "–" if pd.isna(value) else format(value, form)


def grid_rows(grid: pd.DataFrame) -> list[dict[str, str]]:
    """Return one row for each setting of a peer that was tried."""
    return [
        {"model": row["model"], "setting": described(row["setting"]), "topics": f"{row['n_topics']:,}"}
        | {"words by": row["ranking"], "NPMI windows": f"{row['npmi']:.3f}"}
        | {"seconds": f"{row['seconds']:,.1f}", "": "chosen" if row["chosen"] else ""}
        for row in grid.to_dict("records")
    ]


# Facts on the page, by their key.
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


def _facts(comparison: Comparison) -> str:
    inside = []
    for key, term in _FACTS.items():
        value = comparison.facts[key]
        text = ", ".join(map(str, value)) if isinstance(value, list) else value
        text = f"{text:,}" if isinstance(text, int) else text
        inside.append(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>")
    return f'<dl class="facts">{"".join(inside)}</dl>'


def _table(rows: list[dict[str, str]]) -> str:
    if not rows:
        return "<p>None.</p>"
    cells = ("".join(f"<td>{escape(value)}</td>" for value in row.values()) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f'<div class="scroll">{html_table(rows[0], body)}</div>'


def _clouds(comparison: Comparison, peer: str) -> str:
    sections = [
        f'<h3>{escape(word)}</h3><div class="beside">'
        f"{cloud_svg(ours, f'{word}: the concept')}{cloud_svg(theirs, f'{word}: {peer}')}</div>"
        for word, ours, theirs in clouds_of(comparison, peer, CLOUD_PAIRS)
    ]
    heading = f"<h2>{escape(OURS)} (left) and {escape(peer)} (right)</h2>"
    return heading + "".join(sections or ["<p>No word is held by both.</p>"])
