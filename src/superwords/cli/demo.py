"""`superwords demo`: letters to a town council, or the paper's recipes, on the data inside the package."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli.options import AS_JSON, JOBS, QUIET, check_output, option
from superwords.cli.printing import left, listing, print_json, print_line, print_steps, print_table, right, say, share
from superwords.errors import InputError
from superwords.progress import messages
from superwords.tabular import csv_text, points

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

LETTERS, RECIPES = DEMOS = "letters", "recipes"
_CONCEPTS_SHOWN = 8
_WORDS_SHOWN = 5
_TRANSLATIONS_SHOWN = 4
_WAITING = {
    LETTERS: "360 letters to a town council, by tenants and owners, from 2022 to 2024",
    RECIPES: "84 recipes, half of them English, half German",
}
_TIME = "(about half a minute; up to a minute more on first use, for compiling)"


def demo(
    which: str = typer.Argument(LETTERS, metavar="[letters|recipes]", help="The demo to run."),
    output: Path | None = option(
        "Keep the letters, the model and the report in this folder.",
        None,
        "--output",
        "-o",
        shown="a temporary folder",
        metavar="FOLDER",
    ),
    seed: int | None = option("The same seed gives the same concepts.", shown="2024, 2012"),
    open_report: bool = option("Open the report in the browser, if run in a terminal.", True, "--open/--no-open"),
    jobs: int | None = JOBS,
    quiet: bool = QUIET,
    as_json: bool = AS_JSON,
) -> None:
    """See what concepts are, on data inside the package. Nothing is downloaded.

    letters: letters to a town council, with the default settings: who writes about what, in which words, and when.
    recipes: the paper's example, recipes in two languages that share no text, joined by pictures of their words.

    \b
    superwords demo
    superwords demo -o demo
    superwords demo recipes
    """
    if which not in DEMOS:
        raise typer.BadParameter(f"The demo {which!r} is not known; choose one of {', '.join(DEMOS)}.")
    from superwords.demo.run import DATE, GROUP, load_letters, run_demo, run_letters
    from superwords.web.report import write_report

    start, progress = perf_counter(), False if quiet else "auto"
    if output is not None:
        if output.exists() and not output.is_dir():
            raise InputError(f"{str(output)!r} is not a folder; give the name of a folder.")
        check_output(output / "demo.sw" if output.is_dir() else output)
        output.mkdir(exist_ok=True)
    say(f"{_WAITING[which]} {_TIME}.", quiet)
    folder = Path(tempfile.mkdtemp(prefix="superwords-demo-")) if output is None and which == LETTERS else output
    model, found = (run_demo if which == RECIPES else run_letters)(seed, progress, jobs)
    model_file = None if folder is None else model.save(folder / f"{which}.sw")
    if which == LETTERS and folder is not None:
        (folder / "letters.csv").write_text(csv_text(load_letters()), encoding="utf-8")
        report = write_report(model, folder / "report.html", GROUP, "Letters to a town council", DATE)
        found["report"] = str(report)
    found |= {"seed": model.seed_, "seconds": round(perf_counter() - start, 3)}
    if as_json:
        print_json(found)
    elif not quiet:
        (print_recipes if which == RECIPES else print_letters)(model, found)
        where = f"The report is {found['report']}. " if "report" in found else ""
        print_line(f"{where}{found['seconds']:.0f} seconds in all.")
        print_next_steps(model_file)
        if "report" in found and open_report and messages.is_terminal:
            webbrowser.open(report.resolve().as_uri())


def print_letters(model: ConceptModel, found: dict[str, Any]) -> None:
    from superwords.cli.views import FOUND_BY, Standing

    table = model.concepts(_WORDS_SHOWN)
    standing = Standing(model.result_, table)
    print_line(
        f"{model.corpus_.n_documents} letters, {model.corpus_.n_words} words. The model was given the texts alone: "
        "neither author, household nor date."
    )
    columns = {"": standing.numbers, "concept": listing("top_words"), "used by": share("prevalence")}
    print_table(table.head(_CONCEPTS_SHOWN), columns | {FOUND_BY: standing.chains})
    print_line("Used by: share of the letters. Found by: chains, run from different seeds, that find the concept.")
    print_line("", f"Who. {found['finding']}", "")
    for quote in found["quotes"]:
        print_line(f"  “{quote['passage']}”", f"   {quote['author']}, {quote['household']}, {quote['date']}")
    wording, trend = found["wording"], found["trend"]
    print_line(
        "",
        f"How. In concept {wording['concept']} ({wording['name']}) tenants rather write "
        f"{', '.join(wording['tenant'][:2])}, owners {', '.join(wording['owner'][:2])}.",
        f"When. Concept {trend['concept']} ({trend['name']}) changes by {points(trend['change'])} percentage points "
        f"from {trend['first']} to {trend['last']}, 95% interval {points(trend['low'])} to {points(trend['high'])}.",
    )


def print_recipes(model: ConceptModel, found: dict[str, Any]) -> None:
    from superwords.cli.views import Standing

    print_line(
        f"{found['documents']} recipes, half of them English and half German, {found['words']} words. "
        "No recipe is a translation of another,",
        "and no dictionary is used: all that joins the languages is what pictures of the words look like.",
    )
    joined, standing = found["bilingual_concepts"], Standing(model.result_)
    shown = joined[:_CONCEPTS_SHOWN]

    columns = {"": standing.numbers, "English": listing("english", most=_WORDS_SHOWN)}
    columns["German"] = listing("german", most=_WORDS_SHOWN)
    print_table(shown, columns | {"translations that met": listing("translations", most=_TRANSLATIONS_SHOWN)})
    standing.print_legend(one["concept"] for one in shown)
    print_line(f"{len(joined)} of the {len(model.result_.shown)} concepts hold words of both languages.")
    columns = {"are translations found by …": left("name")}
    columns[f"all {found['n_pairs']} pairs"] = right("all_pairs", text="{:.3f}".format)
    columns[f"the {found['n_pictured']} with pictures"] = right("pictured_pairs", text="{:.3f}".format)
    print_table([{"name": name, **scores} for name, scores in found["rank_accuracy"].items()], columns)
    print_line("Rank accuracy: the share of all words that a word's translation is ranked above (guessing: 0.5).")
    print_line(f"{found['caveat']} {found['conclusion']}")


def print_next_steps(output: Path | None) -> None:
    steps = {
        "superwords fit my.csv --text COLUMN -o my.sw": "the concepts of your own documents",
        "superwords fit --help": "other files, groups, languages, pictures and vectors of words",
    }
    if output is not None:
        looks = {"show": "all concepts of this demo", "explore": "the same in the browser"}
        steps = {f"superwords {name} {output}": what for name, what in looks.items()} | steps
    print_steps(steps)
