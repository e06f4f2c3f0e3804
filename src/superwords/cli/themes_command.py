"""`superwords themes`: the concepts of a saved model gathered by the words and documents they share."""

from __future__ import annotations

import typer

from superwords.cli.common import AsJson, ModelFile
from superwords.cli.opening import AsCsv, Picture, open_model, save_picture
from superwords.cli.printing import interval as between
from superwords.cli.printing import percent, print_csv, print_json, print_line, print_table
from superwords.corpus.corpus import row_name
from superwords.tabular import records

app = typer.Typer(add_completion=False)


@app.command()
def themes(
    model_file: ModelFile, picture: Picture = None, as_json: AsJson = False, as_csv: AsCsv = False
) -> None:
    """See concepts gathered into themes: your own (`superwords edit --theme`), or else proposed ones.

    \b
    superwords themes model.sw
    superwords themes model.sw --picture tree.png
    """
    model = open_model(model_file, as_json, as_csv)
    table = model.themes()
    save_picture("concept_tree", model, picture=picture)
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
    print_line(
        f"Held by: share of {row_name(model.corpus_)} that hold any concept of the theme, mean over the draws "
        "that find all of them, with a 95% interval."
    )
    if len(table) and table["proposed"].all():
        print_line(
            "These themes are proposed, from the words and documents that concepts share; "
            "`superwords edit --theme` makes your own."
        )
