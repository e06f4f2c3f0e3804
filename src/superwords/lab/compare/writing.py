"""The comparison as files: five tables as CSV, all of it as JSON, and one page."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from superwords.errors import InputError
from superwords.files import write_whole
from superwords.lab.compare.completion import DRAWS, OTHER_SMOOTHINGS, SMOOTHING
from superwords.lab.compare.contenders import CONTROLS, OURS, UNIGRAM
from superwords.lab.compare.contest import Comparison, clouds_of, described
from superwords.tabular import csv_text, records
from superwords.web.cloud_pictures import cloud_svg
from superwords.web.page import whole_page

CLOUD_PAIRS = 8
TABLES = ("models", "contests", "grid", "runs", "words")
NOTES = (
    "All models count the same words, chosen from the training part alone. One window of five sentences in five "
    "is held out, and coherence (NPMI) is measured there. A pair of words that no held-out window (or sentence) "
    "holds together counts 0; where it says “never = -1”, it counts −1, NPMI's limit.",
    "Two controls that no model found tell whether the measure can be trusted: the most frequent words, whatever "
    "is asked, and words thrown together at random. Where a control wins against topics, the measure judges how "
    "frequent the words are.",
    "For each salient word: the concept that holds it in most documents against the topic that gives it the "
    "highest probability; the word itself is removed and both are cut to the size of the smaller, at most 20. "
    "A topic's words are those with a token in it. "
    "A tie is half a win. The interval is Wilson's over words and seeds, as if these were independent; the test "
    "(Wilcoxon, signed ranks) takes each word once, by its mean over seeds.",
    "The settings of the peers are the best of a grid on the held-out windows, with a seed that is used for "
    "nothing else. That favours them: superwords runs with the defaults of `superwords fit`.",
    "Held-out likelihood: half of each held-out window's tokens, at random, tell a fitted model what the window is "
    "about; the others are predicted. Given is the mean log probability of a token and the perplexity, e to its "
    "negative; “ours ahead” is by how much superwords gives a token the higher one, with a standard error over "
    "windows. "
    f"In every model's prediction a share of {SMOOTHING:g} is the word frequencies of the training part, because a "
    "model may call a word impossible; models.csv also has "
    f"{' and '.join(f'{share:g}' for share in OTHER_SMOOTHINGS)}. superwords is averaged over {DRAWS} draws of all "
    f"chains, a peer over as many fits as superwords has chains, and HDP and LDA over {DRAWS} states of each. "
    "CorEx and BERTopic give words no probability. The word frequencies alone are the control.",
    "Automated coherence is not human judgement: `superwords study` asks people.",
)


def write_all(comparison: Comparison, folder: Path) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = []
        for name in TABLES:
            table: pd.DataFrame = getattr(comparison, name)
            if "setting" in table.columns:
                table = table.assign(setting=table["setting"].map(described))
            written.append(_write(folder / f"{name}.csv", csv_text(table)))
        written.append(_write(folder / "compare.json", json.dumps(as_json(comparison), ensure_ascii=False)))
        written.append(_write(folder / "compare.html", page(comparison)))
    except OSError as error:
        raise InputError(f"{str(folder)!r} cannot be written: {error.strerror or error}.") from None
    return written


def _write(path: Path, content: str) -> Path:
    write_whole(path, content.encode("utf-8"))
    return path


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Everything but the sets word by word, which words.csv holds."""
    tables = {name: records(getattr(comparison, name)) for name in TABLES if name != "words"}
    return {"facts": comparison.facts, "notes": list(NOTES), **tables}


def page(comparison: Comparison, title: str = "Concepts and topics compared") -> str:
    """One self-contained page: who wins, each model's figures, the grid, and clouds side by side."""
    body = [
        f"<h1>{escape(title)}</h1>",
        _facts(comparison),
        *(f"<p>{escape(line)}</p>" for line in comparison.lineup.left_out),
        "<h2>Who wins</h2><p>The share of salient words for which the first is the more coherent, with a 95% "
        "interval; seeds, NPMI, p and pairs (and those left out) are of the first column.</p>",
        _table(contest_rows(comparison.contests)),
        "<h2>Each model for itself</h2><p>Means over the seeds.</p>",
        _table(model_rows(comparison.models)),
        "<h2>How this was judged</h2>",
        *(f"<p>{escape(note)}</p>" for note in NOTES),
        "<h2>Settings tried for the peers</h2>",
        _table(grid_rows(comparison.grid)),
        *(_clouds(comparison, peer) for peer in comparison.lineup.peers),
    ]
    return whole_page(title, "<main>\n" + "\n".join(body) + "\n</main>")


def contest_rows(contests: pd.DataFrame) -> list[dict[str, str]]:
    """One row for each contest, as people read it; all but the win rates is said of the first judge."""
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
                "p": _p_value(main["p_value"]),
                "pairs": f"{main['n']:,}" + (f" (+{main['left_out']:,})" if main["left_out"] else ""),
            }
        )
    return rows


def model_rows(models: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {
            "model": row["model"],
            "concepts": f"{row['n_concepts']:.0f}",
            "NPMI windows": _figure(row["npmi, windows"], ".3f"),
            "sentences": _figure(row["npmi, sentences"], ".3f"),
            "diversity": _figure(row["diversity"], ".2f"),
            "stability": _figure(row["stability"], ".2f"),
            "log likelihood": _figure(row["log_likelihood"], ".3f"),
            "perplexity": _figure(row["perplexity"], ".1f"),
            "ours ahead": "–"
            if pd.isna(row["ours ahead"]) or row["model"] == OURS
            else f"{row['ours ahead']:+.3f} ± {row['ours ahead, error']:.3f}",
            "seconds": "–" if row["model"] in (*CONTROLS, UNIGRAM) else f"{row['seconds']:,.1f}",
            "peak MB": _figure(row["peak_mb"], ",.0f"),
        }
        for row in models.to_dict("records")
    ]


def _figure(value: float, form: str) -> str:
    return "–" if pd.isna(value) else format(value, form)


def grid_rows(grid: pd.DataFrame) -> list[dict[str, str]]:
    return [
        {
            "model": row["model"],
            "setting": described(row["setting"]),
            "topics": f"{row['n_topics']:,}",
            "words by": row["ranking"],
            "NPMI windows": f"{row['npmi']:.3f}",
            "seconds": f"{row['seconds']:,.1f}",
            "": "chosen" if row["chosen"] else "",
        }
        for row in grid.to_dict("records")
    ]


def _p_value(value: float) -> str:
    return "–" if pd.isna(value) else "<0.0001" if value < 1e-4 else f"{value:.4f}"


def _facts(comparison: Comparison) -> str:
    facts = comparison.facts
    rows = [
        ("Documents", f"{facts['training_documents']:,}"),
        ("Windows", f"{facts['training_windows']:,}"),
        ("Held-out windows", f"{facts['held_out_windows']:,}"),
        ("Words", f"{facts['words']:,}"),
        ("Our rows", facts["our_rows"]),
        ("Seeds", ", ".join(map(str, facts["seeds"]))),
        ("Chains", f"{facts['n_chains']:,}"),
        ("Sweeps", f"{facts['n_sweeps']:,}"),
        ("Iterations of the peers", f"{facts['iterations']:,}"),
        ("Tokens to predict", f"{facts['tokens_to_predict']:,}"),
    ]
    inside = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in rows)
    return f'<dl class="facts">{inside}</dl>'


def _table(rows: list[dict[str, str]]) -> str:
    if not rows:
        return "<p>None.</p>"
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in rows[0])
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(value)}</td>" for value in row.values()) + "</tr>" for row in rows
    )
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _clouds(comparison: Comparison, peer: str) -> str:
    sections = [
        f'<h3>{escape(word)}</h3><div class="beside">'
        f"{cloud_svg(ours, f'{word}: the concept')}{cloud_svg(theirs, f'{word}: {peer}')}</div>"
        for word, ours, theirs in clouds_of(comparison, peer, CLOUD_PAIRS)
    ]
    heading = f"<h2>{escape(OURS)} (left) and {escape(peer)} (right)</h2>"
    return heading + "".join(sections or ["<p>No word is held by both.</p>"])
