"""The comparison as files: tables as CSV, all of it as JSON, and one page."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd

from superwords.compare.contest import CONTROLS, UNIGRAM, Comparison, described
from superwords.compare.judging import OURS, SMOOTHING, WITH_PEOPLE, matched
from superwords.compare.peers import DRAWS
from superwords.files import write_atomic, writing
from superwords.tabular import csv_text, number, records
from superwords.web.clouds import cloud_svg
from superwords.web.html import facts_list, html_table, whole_page

Rows = list[dict[str, str]]
CLOUD_PAIRS = 8
# Tables made with --labels that are shown to people, and their headings.
LABEL_TABLES = {
    "labels": "Agreement with labels",
    "reliability": "Reliability",
    "label_effects": "Effects over reseeds",
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
        f"<h2>{heading}</h2>{_table(label_rows(tables[name]))}"
        for name, heading in LABEL_TABLES.items()
        if name in tables
    ]
    body = [
        f"<h1>{escape(title)}</h1>\n{facts_list(*facts)}",
        *_paragraphs(comparison.lineup.left_out),
        "<h2>Who wins</h2><p>The share of salient words for which the first is the more coherent, with a 95% "
        "interval; seeds, NPMI, p and pairs (and those left out) are of the first column.</p>",
        _table(contest_rows(tables["contests"])),
        "<h2>Each model for itself</h2><p>Means over the seeds; NPMI on windows.</p>",
        _table(model_rows(tables["models"])),
        *by_labels,
        *_paragraphs([LABEL_NOTE] if by_labels else []),
        "<h2>How this was judged</h2>",
        *_paragraphs(NOTES + ((JUDGE_NOTE,) if "judge" in tables["models"] else ())),
        f"<h2>Settings tried for the peers</h2>\n{_table(grid)}",
        *(_clouds(comparison, peer) for peer in comparison.lineup.peers),
    ]
    return whole_page(title, "<main>\n" + "\n".join(body) + "\n</main>")


def _paragraphs(texts: Iterable[str]) -> list[str]:
    return [f"<p>{escape(text)}</p>" for text in texts]


def _table(rows: Rows) -> str:
    if not rows:
        return "<p>None.</p>"
    cells = ("".join(f"<td>{escape(value)}</td>" for value in row.values()) for row in rows)
    return f'<div class="scroll">{html_table(rows[0], "".join(f"<tr>{row}</tr>" for row in cells))}</div>'


def _clouds(comparison: Comparison, peer: str) -> str:
    """Return the first seed's sets for the most salient words as clouds, equal in size."""
    seed, vocabulary = comparison.facts["seeds"][0], comparison.vocabulary
    ours, theirs = (comparison.found[model, seed] for model in (OURS, peer))
    sections: list[str] = []
    for word in comparison.facts["salient_words"]:
        i = vocabulary.index(word)
        sets = matched(ours, theirs, i)
        if len(sets[0]) > 1 and len(sections) < CLOUD_PAIRS:
            rows = [found.weights[found.holds[:, i].argmax()] for found in (ours, theirs)]
            clouds = [{vocabulary[k]: float(row[k]) for k in chosen} for row, chosen in zip(rows, sets)]
            pictures = cloud_svg(clouds[0], f"{word}: the concept") + cloud_svg(clouds[1], f"{word}: {peer}")
            sections.append(f'<h3>{escape(word)}</h3><div class="beside">{pictures}</div>')
    heading = f"<h2>{escape(OURS)} (left) and {escape(peer)} (right)</h2>"
    return heading + "".join(sections or ["<p>No word is held by both.</p>"])


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
