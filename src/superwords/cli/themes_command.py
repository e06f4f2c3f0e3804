"""`superwords themes`: the concepts of a saved model gathered by the words and documents they share."""

from __future__ import annotations

import typer

from superwords.cli.common import (
    AsJson,
    ModelFile,
    only_one,
    percent,
    print_csv,
    print_json,
    print_line,
    print_table,
    say,
)
from superwords.cli.common import interval as between
from superwords.cli.show_command import load_model
from superwords.cli.trends_command import AsCsv, Picture
from superwords.corpus.corpus import row_name
from superwords.tabular import records

app = typer.Typer(add_completion=False)


@app.command()
def themes(
    model_file: ModelFile, picture: Picture = None, as_json: AsJson = False, as_csv: AsCsv = False
) -> None:
    """Themes of concepts: those you made (`superwords edit --theme`), else a proposal by a tree.

    \b
    superwords themes model.sw
    superwords themes model.sw --picture tree.png
    """
    only_one({"--json": as_json, "--csv": as_csv})
    model = load_model(model_file)
    table = model.themes()
    if picture is not None:
        from superwords.plots.figures import save_figure
        from superwords.plots.relation_plots import concept_tree

        say(f"The picture is {save_figure(concept_tree(model), picture)}.")
    if as_json:
        print_json({"themes": records(table), **model.tree().as_json()})
        return
    if as_csv:
        print_csv(table)
        return
    lines = []
    for one in table.to_dict("records"):
        concepts = "; ".join(f"{j} {name}" for j, name in zip(one["concepts"], one["names"]))
        held = between(one["prevalence_low"], one["prevalence_high"])
        lines.append((one["theme"], percent(one["prevalence"]), held, concepts))
    print_table({"theme": "name", "held by": "right", "interval": "right", "concepts": "words"}, lines)
    print_line(f"Held by: share of {row_name(model.corpus_)} that hold any concept of the theme.")
    if len(table) and table["proposed"].all():
        print_line("Proposed by shared words and documents; `superwords edit --theme` makes your own.")
