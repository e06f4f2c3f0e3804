"""`superwords demo`: letters to a town council, or the paper's recipes, on the data inside the package."""

from __future__ import annotations

import tempfile
import webbrowser
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import typer

from superwords.cli.options import AS_JSON, JOBS, QUIET, check_output, option
from superwords.cli.printing import Column, print_json, print_line, print_steps, print_table, say, share
from superwords.errors import InputError
from superwords.progress import messages
from superwords.tabular import csv_text, plain, points, records

if TYPE_CHECKING:
    from superwords.demo.letters import LettersResult
    from superwords.demo.run import DemoResult

app = typer.Typer(add_completion=False)

LETTERS, RECIPES = DEMOS = "letters", "recipes"
_CONCEPTS_SHOWN = 8
_WORDS_SHOWN = 5
_TRANSLATIONS_SHOWN = 4
CAVEAT = "The settings were chosen on these pairs, so the figures are optimistic."
_SEEDS = {LETTERS: 2024, RECIPES: 2012}
_WAITING = {
    LETTERS: "360 letters to a town council, by tenants and owners, from 2022 to 2024",
    RECIPES: "84 recipes, half of them English, half German",
}
_TIME = "(about half a minute; up to a minute more on first use, for compiling)"


@app.command()
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
    from superwords.demo.letters import DATE, GROUP, load_letters, run_letters
    from superwords.demo.run import run_demo
    from superwords.web.report import write_report

    start, progress = perf_counter(), False if quiet else "auto"
    if output is not None:
        if output.exists() and not output.is_dir():
            raise InputError(f"{str(output)!r} is not a folder; give the name of a folder.")
        check_output(output / "demo.sw" if output.is_dir() else output)
        output.mkdir(exist_ok=True)
    say(f"{_WAITING[which]} {_TIME}.", quiet)
    used = _SEEDS[which] if seed is None else seed
    if which == RECIPES:
        found = run_demo(used, progress, jobs)
        saved = None if output is None else found.model.save(output / "recipes.sw")
        seconds = perf_counter() - start
        if as_json:
            print_json(as_plain(found, used, seconds))
        elif not quiet:
            print_result(found, seconds)
            print_next_steps(saved)
        return
    folder = output or Path(tempfile.mkdtemp(prefix="superwords-demo-"))
    result = run_letters(used, progress, jobs)
    (folder / "letters.csv").write_text(csv_text(load_letters()), encoding="utf-8")
    model_file = result.model.save(folder / "letters.sw")
    report = write_report(result.model, folder / "report.html", GROUP, "Letters to a town council", DATE)
    seconds = perf_counter() - start
    if as_json:
        print_json(letters_as_plain(result, used, seconds, report))
    elif not quiet:
        print_letters(result)
        print_line(f"The report is {report} ({seconds:.0f} seconds in all).")
        print_next_steps(model_file)
        if open_report and messages.is_terminal:
            webbrowser.open(report.resolve().as_uri())


def print_letters(result: LettersResult) -> None:
    from superwords.cli.views import FOUND_BY, Standing

    model, table = result.model, result.model.concepts(_WORDS_SHOWN)
    standing = Standing(model.result_, table)
    print_line(
        f"{model.corpus_.n_documents} letters, {model.corpus_.n_words} words. The model was given the texts alone: "
        "neither author, household nor date."
    )
    print_table(
        table.head(_CONCEPTS_SHOWN),
        {
            "": standing.numbers,
            "concept": ("words", lambda one: ", ".join(one["top_words"])),
            "used by": share("prevalence"),
            FOUND_BY: standing.chains,
        },
    )
    print_line("Used by: share of the letters. Found by: chains, run from different seeds, that find the concept.")
    print_line()
    print_line(f"Who. {result.finding}")
    print_line()
    for quote in result.quotes.to_dict("records"):
        print_line(f"  “{quote['passage']}”")
        print_line(f"   {quote['author']}, {quote['household']}, {quote['date']}")
    print_line()
    wording, trend = result.wording, result.trend
    print_line(
        f"How. In concept {wording['concept']} ({wording['name']}) tenants rather write "
        f"{', '.join(wording['tenant'][:2])}, owners {', '.join(wording['owner'][:2])}."
    )
    print_line(
        f"When. Concept {trend['concept']} ({trend['name']}) changes by {points(trend['change'])} percentage points "
        f"from {trend['first']} to {trend['last']}, 95% interval {points(trend['low'])} to {points(trend['high'])}."
    )


def letters_as_plain(result: LettersResult, seed: int, seconds: float, report: Path) -> dict[str, Any]:
    return {
        "seed": seed,
        "seconds": round(seconds, 3),
        "documents": result.model.corpus_.n_documents,
        "n_concepts": result.model.n_concepts_,
        "finding": result.finding,
        "difference": plain(result.difference),
        "quotes": records(result.quotes),
        "wording": plain(result.wording),
        "trend": plain(result.trend),
        "report": str(report),
    }


def print_result(result: DemoResult, seconds: float) -> None:
    from superwords.cli.views import Standing

    corpus = result.demo.corpus
    print_line(
        f"{corpus.n_documents} recipes, half of them English and half German, {corpus.n_words} words. "
        "No recipe is a translation of another,"
    )
    print_line("and no dictionary is used: all that joins the languages is what pictures of the words look like.")
    shown, standing = result.bilingual.head(_CONCEPTS_SHOWN), Standing(result.model.result_)

    def first(field: str, n: int = _WORDS_SHOWN) -> Column:
        return "words", lambda one: ", ".join(one[field][:n])

    print_table(
        shown,
        {
            "": standing.numbers,
            "English": first("english"),
            "German": first("german"),
            "translations that met": first("translations", _TRANSLATIONS_SHOWN),
        },
    )
    standing.print_legend(shown["concept"])
    n_concepts, n_joined = len(result.model.result_.shown), len(result.bilingual)
    print_line(f"{n_joined} of the {n_concepts} concepts hold words of both languages.")
    n_pairs, n_pictured = len(result.pictured), int(result.pictured.sum())
    print_table(
        [{"name": name, **scores} for name, scores in accuracies(result).items()],
        {
            "are translations found by …": ("left", "name"),
            f"all {n_pairs} pairs": ("right", lambda one: f"{one['all_pairs']:.3f}"),
            f"the {n_pictured} with pictures": ("right", lambda one: f"{one['pictured_pairs']:.3f}"),
        },
    )
    print_line("Rank accuracy: the share of all words that a word's translation is ranked above (guessing: 0.5).")
    print_line(f"{CAVEAT} {conclusion(result)}")
    print_line(f"{seconds:.0f} seconds in all.")


def accuracies(result: DemoResult) -> dict[str, dict[str, float]]:
    return {
        name: {"all_pairs": found.mean, "pictured_pairs": float(found.pairs.loc[result.pictured, "accuracy"].mean())}
        for name, found in result.accuracy.items()
    }


def conclusion(result: DemoResult) -> str:
    together, *others = (scores["all_pairs"] for scores in accuracies(result).values())
    if together > max(others):
        return "Text and pictures together find translations better than either alone."
    return "With this seed, text and pictures together do not find translations better than one of them alone."


def print_next_steps(output: Path | None) -> None:
    steps = {
        "superwords fit my.csv --text COLUMN -o my.sw": "the concepts of your own documents",
        "superwords fit --help": "other files, groups, languages, pictures and vectors of words",
    }
    if output is not None:
        looks = {"show": "all concepts of this demo", "explore": "the same in the browser"}
        steps = {f"superwords {name} {output}": what for name, what in looks.items()} | steps
    print_steps(steps)


def as_plain(result: DemoResult, seed: int, seconds: float) -> dict[str, Any]:
    return {
        "seed": seed,
        "seconds": round(seconds, 3),
        "documents": result.demo.corpus.n_documents,
        "words": result.demo.corpus.n_words,
        "n_concepts": result.model.n_concepts_,
        "rank_accuracy": accuracies(result),
        "conclusion": conclusion(result),
        "caveat": CAVEAT,
        "bilingual_concepts": records(result.bilingual),
    }
