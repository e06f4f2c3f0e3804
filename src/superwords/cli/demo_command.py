"""`superwords demo`: the paper's recipe example on the data inside the package."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superwords.cli.common import AsJson, Jobs, Quiet, check_output, say
from superwords.cli.printing import print_json, print_line, print_table
from superwords.cli.verdict_lines import Standing
from superwords.tabular import records

if TYPE_CHECKING:
    from superwords.demo.run import DemoResult

app = typer.Typer(add_completion=False)

_CONCEPTS_SHOWN = 8
_WORDS_SHOWN = 5
_TRANSLATIONS_SHOWN = 4
CAVEAT = (
    "The demo's settings were chosen by these very pairs, so it shows what the model does and proves nothing."
)
_WAITING = (
    "84 recipes, half of them English, half German "
    "(about half a minute; up to a minute more on first use, for compiling)"
)


@app.command()
def demo(
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Save the model here.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same concepts.")] = 2012,
    jobs: Jobs = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """See what concepts are: recipes in two languages that share no text, joined by pictures of their words.

    Nothing is downloaded and nothing is written, unless -o asks for the model.

    \b
    superwords demo
    superwords demo -o demo.sw
    """
    from superwords.demo.run import run_demo

    start = perf_counter()
    if output is not None:
        check_output(output)
    say(f"{_WAITING}.", quiet)
    result = run_demo(seed, "auto" if not quiet else False, jobs)
    if output is not None:
        result.model.save(output)
    seconds = perf_counter() - start
    if as_json:
        print_json(as_plain(result, seed, seconds))
    elif not quiet:
        print_result(result, seconds)
        print_next_steps(output)


def print_result(result: DemoResult, seconds: float) -> None:
    corpus = result.demo.corpus
    print_line(
        f"{corpus.n_documents} recipes, half of them English and half German, {corpus.n_words} words. "
        "No recipe is a translation of another,"
    )
    print_line(
        "and no dictionary is used: all that joins the languages is what pictures of the words look like."
    )
    shown, standing = result.bilingual.head(_CONCEPTS_SHOWN), Standing(result.model)
    print_table(
        {"": "right", "English": "words", "German": "words", "translations that met": "words"},
        [
            (
                standing.number(row["concept"]),
                ", ".join(row["english"][:_WORDS_SHOWN]),
                ", ".join(row["german"][:_WORDS_SHOWN]),
                ", ".join(row["translations"][:_TRANSLATIONS_SHOWN]),
            )
            for row in shown.to_dict("records")
        ],
    )
    standing.print_legend(shown["concept"])
    n_concepts, n_joined = len(result.model.result_.shown), len(result.bilingual)
    print_line(f"{n_joined} of the {n_concepts} concepts hold words of both languages.")
    n_pairs, n_pictured = len(result.pictured), int(result.pictured.sum())
    print_table(
        {
            "are translations found by …": "left",
            f"all {n_pairs} pairs": "right",
            f"the {n_pictured} with pictures": "right",
        },
        [
            (name, f"{scores['all_pairs']:.3f}", f"{scores['pictured_pairs']:.3f}")
            for name, scores in accuracies(result).items()
        ],
    )
    print_line(
        "Rank accuracy: the share of all words that a word's translation is ranked above (guessing: 0.5)."
    )
    print_line(f"{conclusion(result)} {CAVEAT}")
    print_line(f"{seconds:.0f} seconds in all.")


def accuracies(result: DemoResult) -> dict[str, dict[str, float]]:
    return {
        name: {
            "all_pairs": found.mean,
            "pictured_pairs": float(found.pairs.loc[result.pictured, "accuracy"].mean()),
        }
        for name, found in result.accuracy.items()
    }


def conclusion(result: DemoResult) -> str:
    together, *others = (scores["all_pairs"] for scores in accuracies(result).values())
    if together > max(others):
        return "Text and pictures together find translations better than either alone."
    return (
        "With this seed, text and pictures together do not find translations better than one of them alone."
    )


def print_next_steps(output: Path | None) -> None:
    steps = {
        "superwords fit my.csv --text COLUMN -o my.sw": "the concepts of your own documents",
        "superwords fit --help": "other files, groups, languages, pictures and vectors of words",
    }
    if output is not None:
        steps = {f"superwords show {output}": "all concepts of this demo", **steps}
    print_line()
    print_line("Next:")
    for command, what in steps.items():
        print_line(f"  {command:<46} {what}")


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
