"""`superwords clouds`: pictures of a model in a folder."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from superwords.cli.common import ModelFile, Quiet, say
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

app = typer.Typer(add_completion=False)


@app.command()
def clouds(
    model_file: ModelFile,
    out: Annotated[Path, typer.Option("-o", "--output", "--out", help="The folder for the pictures.")],
    concept: Annotated[
        list[int] | None, typer.Option(help="Only this concept (can be given again); all if not given.")
    ] = None,
    groups: Annotated[
        list[str] | None,
        typer.Option(help="A column: also draw the clouds of its two largest groups. Can be given again."),
    ] = None,
    file_format: Annotated[str, typer.Option("--format", help="png or svg.")] = "png",
    quiet: Quiet = False,
) -> None:
    """Draw word clouds of concepts, by group and at the start of the chain, and charts of the whole model."""
    from superwords.fitting.estimator import load
    from superwords.plots.figures import FORMATS, save_figure

    if file_format not in FORMATS:
        raise InputError(f"A picture cannot be written as {file_format!r}; give one of {', '.join(FORMATS)}.")
    model = load(model_file)
    make_folder(out)
    n_pictures = 0
    for name, draw in pictures(model, concept, groups or []):
        # A script without a font is drawn all the same; that is said once.
        with warnings.catch_warnings():
            warnings.simplefilter("once" if n_pictures == 0 else "ignore", UserWarning)
            save_figure(draw(), out / f"{name}.{file_format}")
        n_pictures += 1
    say(f"{n_pictures} pictures are in {out}.", quiet)


def make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"The folder {str(out)!r} cannot be made: {error.strerror}.") from None


def pictures(
    model: ConceptModel, only: list[int] | None, columns: list[str]
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of each picture and the function that draws it; what was asked for is checked first."""
    from functools import partial

    from superwords.concepts.tables import concept_index
    from superwords.plots import model_plots as draw

    if model.n_concepts_ == 0:
        raise InputError("The model has no concepts, so there is nothing to draw.")
    chosen = only or model.result_.shown
    for concept in chosen:
        concept_index(model.result_, concept)
    pairs = {column: draw.largest_groups(model, column) for column in columns}
    if only is None:
        yield "concepts-per-word", partial(draw.concepts_per_word, model)
        yield "words-per-concept", partial(draw.words_per_concept, model)
        yield "traces", partial(draw.chain_traces, model)
        for column in pairs:
            yield f"prevalence-{file_part(column)}", partial(draw.group_prevalence, model, column)
    start = draw.start_scores(model)
    for concept in chosen:
        yield f"concept-{concept:03d}", partial(draw.concept_cloud, model, concept)
        yield f"start-{concept:03d}", partial(draw.before_after, model, concept, start)
        for column, pair in pairs.items():
            name = f"groups-{file_part(column)}-{concept:03d}"
            yield name, partial(draw.group_clouds, model, column, concept, *pair)


def file_part(name: str) -> str:
    """What a column's name leaves for a file's name on any system."""
    return re.sub(r"[^\w-]+", "-", str(name)).strip("-")[:60] or "column"
