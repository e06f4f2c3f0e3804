"""`superwords report`, `explore` and `clouds`: pages and pictures of a model."""

from __future__ import annotations

import contextlib
import secrets
import threading
import warnings
import webbrowser
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from superwords.cli.options import MODEL_FILE, PUBLIC_HOST, QUIET, WIDTH, option
from superwords.cli.printing import say
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel


def report(
    model_file: Path = MODEL_FILE,
    out: Path = option("The HTML file to write.", ..., "-o", "--output", "--out"),
    groups: list[str] | None = option(
        "A column to compare, such as party. Can be given again.",
        shown="those given to `fit`, or else the first with a few groups",
    ),
    over_time: str | None = option("A column of dates, years or numbers.", shown="the first of dates or years"),
    effects: str | None = option('Effects of columns, such as "party + date".', None),
    title: str | None = option("The heading of the page.", shown="Concepts of the model file"),
    quiet: bool = QUIET,
) -> None:
    """Write one HTML page to mail to a colleague: the concepts, who speaks of them, and how they were found.

    The page needs no other file and no network.

    \b
    superwords report model.sw -o report.html
    superwords report model.sw --groups party --groups chamber -o report.html
    """
    from superwords.fitting.estimator import load
    from superwords.web.report import write_report

    name = Path(model_file).stem
    written = write_report(load(model_file), out, groups, title or f"Concepts of {name}", over_time, effects, name)
    say(f"The report is {written} ({written.stat().st_size / 1e6:.1f} MB).", quiet)


def explore(
    model_file: Path = MODEL_FILE,
    host: str = option("The address to listen on.", "127.0.0.1"),
    port: int = option("The port to listen on; 0 takes any free one.", 0),
    public_host: str | None = PUBLIC_HOST,
    browser: bool = option("Open the page.", True, "--browser/--no-browser"),
    read_only: bool = option("Let nobody decide about concepts: for several readers.", False, "--read-only"),
) -> None:
    """Show concepts, documents, words, groups, time and effects on a local page until Ctrl-C, and decide about them."""
    from superwords.fitting.estimator import load
    from superwords.web.explorer import Explorer, create_app
    from superwords.web.serving import access, listen, make_server, set_aside

    explorer = Explorer(load(model_file), model_file, read_only)
    listener = listen(host, port)
    known = access(host, listener.getsockname()[1], public_host)
    token = secrets.token_urlsafe(18) if known.needs_token else None
    address, may = known.link(token), "" if read_only else " and decide about its concepts"
    whoever = [] if token is None else [f"Whoever has this address can look at the model{may}."]
    print(f"The model is at {address}", *whoever, "Stop with Ctrl-C.", sep="\n", flush=True)
    set_aside()
    threading.Thread(target=explorer.warm_up, daemon=True).start()
    if browser:
        listener.listen()  # a browser that is quicker than the server waits
        threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):  # how it is meant to end
        make_server(create_app(explorer, known.hosts, token)).run(sockets=[listener])


def clouds(
    model_file: Path = MODEL_FILE,
    out: Path = option("The folder for the pictures.", ..., "-o", "--output", "--out"),
    concept: list[int] | None = option("Only this concept (can be given again); all if not given."),
    groups: list[str] | None = option(
        "A column: also draw the clouds of its two largest groups. Can be given again.", None
    ),
    file_format: str = option("png, svg or pdf; several with commas, as in png,pdf.", "png", "--format"),
    width: float = WIDTH,
    quiet: bool = QUIET,
) -> None:
    """Draw word clouds of concepts and, without --concept, figures of the whole model for a paper.

    The figures: prevalence by group, a map of the documents, coherence by exclusivity, histograms and traces.
    """
    from superwords.files import writing
    from superwords.fitting.estimator import load
    from superwords.plots.style import check_format, save_figure

    formats = [one.strip() for one in file_format.split(",")]
    for one in formats:
        check_format(one)
    model = load(model_file)
    with writing("Pictures", out):
        out.mkdir(parents=True, exist_ok=True)
    n_pictures = 0
    for name, draw in pictures(model, concept, groups or [], width):
        # A script without a font is drawn anyway, with one warning.
        with warnings.catch_warnings():
            warnings.simplefilter("once" if n_pictures == 0 else "ignore", UserWarning)
            figure = draw()
            for one in formats:
                save_figure(figure, out / f"{name}.{one}")
        n_pictures += 1
    say(f"{n_pictures} pictures are in {out}.", quiet)


def pictures(
    model: ConceptModel, only: list[int] | None, columns: list[str], width: float = 170
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield the name of each picture and the function that draws it; check what was asked for first."""
    from superwords.analysis.tables import concept_index
    from superwords.files import file_part
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
        yield "document-map", partial(draw.document_map, model, width)
        yield "coherence-exclusivity", partial(draw.quality_map, model, width)
        for column in pairs:
            yield f"prevalence-{file_part(column)}", partial(draw.group_prevalence, model, column, width=width)
    start = draw.start_scores(model)
    for concept in chosen:
        yield f"concept-{concept:03d}", partial(draw.concept_cloud, model, concept)
        yield f"start-{concept:03d}", partial(draw.before_after, model, concept, start)
        for column, pair in pairs.items():
            of_pair = partial(draw.group_clouds, model, column, concept, *pair)
            yield f"groups-{file_part(column)}-{concept:03d}", of_pair
