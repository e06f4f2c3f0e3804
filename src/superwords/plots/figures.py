"""What every picture shares: the palette, an empty figure, and a deterministic, atomic way to a file."""

from __future__ import annotations

import io
import os
from pathlib import Path

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from superwords.errors import InputError
from superwords.files import write_whole
from superwords.plots.fonts import drawable

# Okabe and Ito's colours, told apart by people with any common colour blindness; black and yellow left out
# (black is for text, yellow is too light on white).
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
INK = "#222222"
FAINT = "#BDBDBD"
FORMATS = ("png", "svg")


def new_figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def bare(axes: Axes) -> None:
    """Leaves only the two axes that are read."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK, labelsize=9)


def write_texts(labels: list[Text]) -> None:
    """Draws words and names as they are (two dollar signs make no formula), in a font that covers them."""
    fonts = drawable(label.get_text() for label in labels)
    for label in labels:
        line, font = fonts[label.get_text()]
        size = label.get_fontsize()
        label.set_parse_math(False)
        label.set_text(line)
        label.set_fontproperties(font)
        label.set_fontsize(size)


def figure_bytes(figure: Figure, file_format: str = "png", dpi: int = 150) -> bytes:
    """The picture as PNG or SVG; the same figure gives the same bytes on every run.

    Parameters
    ----------
    figure : Figure
        The picture.
    file_format : "png" or "svg"
        How it is written.
    dpi : int
        Dots per inch of a PNG.

    Returns
    -------
    bytes

    Examples
    --------
    >>> from superwords import plots
    >>> plots.figure_bytes(plots.cloud({"tea": 2, "milk": 1}))[1:4]
    b'PNG'
    """
    if file_format not in FORMATS:
        raise InputError(f"A picture cannot be written as {file_format!r}; give one of {', '.join(FORMATS)}.")
    metadata = {"Date": None} if file_format == "svg" else {"Software": None}
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": "superwords", "svg.fonttype": "path"}):
        figure.savefig(buffer, format=file_format, dpi=dpi, metadata=metadata)
    return buffer.getvalue()


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: int = 150) -> Path:
    """Write a picture to a file, whole or not at all.

    Parameters
    ----------
    figure : Figure
        The picture.
    path : str or Path
        The file, which ends in .png or .svg.
    dpi : int
        Dots per inch of a PNG.

    Returns
    -------
    Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from superwords import plots
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     plots.save_figure(plots.cloud({"tea": 2, "milk": 1}), f"{folder}/tea.svg").name
    'tea.svg'
    """
    target = Path(path)
    file_format = target.suffix.lower().removeprefix(".")
    if file_format not in FORMATS:
        raise InputError(f"The picture {target.name!r} must end in .png or .svg.")
    data = figure_bytes(figure, file_format, dpi)
    try:
        write_whole(target, data)
    except OSError as error:
        raise InputError(f"The picture {str(target)!r} could not be written: {error.strerror}.") from None
    return target
