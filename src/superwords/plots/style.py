"""Style of all figures: print sizes, colours with markers, fonts by script, wrapped labels, files."""

from __future__ import annotations

import io
import os
import textwrap
import warnings
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties, findSystemFonts
from matplotlib.ft2font import FT2Font
from matplotlib.text import Text

from superwords.errors import InputError
from superwords.files import write_named

COLUMN, PAGE = 85.0, 170.0  # mm: the widths of a journal's column and page
# Okabe and Ito's colours, which are distinct under any common colour blindness, without yellow (too light on
# white); each goes with a marker and a dash, for print without colour. The eighth, grey, is for "other".
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#8C8C8C")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "h")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1, 1, 1)), (0, (1, 1)), (0, (8, 3)))
MOST_GROUPS = len(PALETTE)
OTHER = "other"
INK, FAINT, GRID = "#222222", "#BDBDBD", "#E5E5E5"
TEXT, SMALL = 7.0, 6.0  # points
FORMATS = ("png", "svg", "pdf")
MARK = "†"
NOTE = f"{MARK} not reliable: few documents use it, or other runs seldom find it again"
DEFAULT_FONT = str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
MISSING = "□"
_CHARACTER = 0.21  # mm per point of font size: the mean width of a character
_INCH = 25.4
_LEGEND: dict[str, Any] = {"frameon": False, "fontsize": TEXT, "labelcolor": INK, "markerscale": 1.3}
_LEGEND |= {"handletextpad": 0.4, "columnspacing": 1.2, "borderaxespad": 0.1}


def is_page(width: float) -> bool:
    """Return whether a width in mm is rather a page's than a column's."""
    return width > 120


def new_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in inches."""
    figure = Figure(figsize=(width, height), facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def print_figure(width: float, height: float) -> Figure:
    """Return an empty figure of a size in mm, laid out so that nothing overlaps."""
    figure = new_figure(width / _INCH, height / _INCH)
    figure.set_layout_engine("constrained", w_pad=0.02, h_pad=0.03, wspace=0.02, hspace=0.02)
    return figure


def print_panel(width: float, height: float) -> tuple[Figure, Axes]:
    """Return such a figure with one panel."""
    figure = print_figure(width, height)
    return figure, figure.subplots()


def bare(axes: Axes, size: float = 9, grid: Any = None) -> None:
    """Remove the top and right spines; draw grid lines across one axis, behind everything."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["bottom", "left"]].set_linewidth(0.6)
    axes.tick_params(colors=INK, labelsize=size, width=0.6)
    if grid is not None:
        axes.grid(axis=grid, color=GRID, linewidth=0.5)
        axes.set_axisbelow(True)


def axis_labels(axes: Axes, x: str, y: str = "") -> None:
    axes.set_xlabel(x, color=INK, fontsize=TEXT)
    axes.set_ylabel(y, color=INK, fontsize=TEXT)


def panel_title(axes: Axes, text: str, room: float) -> None:
    """Write a title above a panel of a width in mm."""
    title = axes.set_title(text, fontsize=TEXT, color=INK, loc="left")
    write_texts([title], characters(room * 0.9))


def group_styles(groups: Iterable[Any]) -> dict[str, tuple[str, str, Any]]:
    """Return a colour, a marker and a dash for each group; the last are for "other"."""
    names = list(dict.fromkeys(map(str, groups)))
    if len(names) > MOST_GROUPS:
        raise InputError(
            f"A figure shows at most {MOST_GROUPS} groups that readers can distinguish, not {len(names)}; "
            'pool the smaller ones as "other".'
        )
    styles = list(zip(PALETTE, MARKERS, DASHES))
    return {name: styles[-1] if name == OTHER else styles[k] for k, name in enumerate(names)}


def characters(mm: float, size: float = TEXT) -> int:
    """Return how many characters of a font size fit into a width."""
    return max(8, int(mm / (_CHARACTER * size)))


def n_lines(texts: Iterable[str], width: int) -> int:
    """Return the number of lines of the text that wraps into most."""
    return max(len(textwrap.wrap(text, width)) for text in texts)


def drawable(texts: Iterable[str]) -> dict[str, tuple[str, FontProperties]]:
    """Return the characters to draw for each text, and the font: DejaVu Sans if it covers them, or an installed one.

    Characters that no single installed font covers are drawn as □, with one warning for all of `texts` together.
    """
    chosen: dict[str, tuple[str, FontProperties]] = {}
    uncovered: dict[str, str] = {}
    for text in texts:
        line = " ".join(text.split())
        path = covering_font(frozenset(line))
        if path is None:
            path, known = DEFAULT_FONT, covered_characters(DEFAULT_FONT)
            uncovered[text] = "".join(ch for ch in dict.fromkeys(line) if ch not in known)
            line = "".join(ch if ch in known else MISSING for ch in line)
        chosen[text] = (line, FontProperties(fname=path))
    if uncovered:
        word, missing = next(iter(uncovered.items()))
        warnings.warn(
            f"No installed font covers {len(uncovered)} of the texts to draw (first {word!r}: "
            f"{missing[:20]!r}), so those characters are drawn as {MISSING}; install a font for the "
            "script, for example one of the Noto fonts.",
            UserWarning,
            stacklevel=3,
        )
    return chosen


@lru_cache(maxsize=4096)
def covering_font(needed: frozenset[str]) -> str | None:
    """Return the first font file with all characters: DejaVu Sans, then the system's."""
    if needed <= covered_characters(DEFAULT_FONT):
        return DEFAULT_FONT
    return next((path for path in system_fonts() if needed <= covered_characters(path)), None)


@lru_cache(maxsize=1)
def system_fonts() -> tuple[str, ...]:
    """Return the installed fonts, plain ones first; matplotlib's own cache lacks fonts installed later."""

    def plainness(path: str) -> tuple[bool, bool, str]:
        name = Path(path).stem.lower()
        return ("regular" not in name, "sans" not in name, path)

    return tuple(sorted(findSystemFonts(), key=plainness))


@lru_cache(maxsize=1024)
def covered_characters(path: str) -> frozenset[str]:
    """Return no character for a bitmap font (as of coloured emoji), which has only one size."""
    try:
        font = FT2Font(path)
        return frozenset(map(chr, font.get_charmap())) if font.scalable else frozenset()
    except (OSError, RuntimeError):
        return frozenset()


def write_texts(labels: Sequence[Text], width: int | None = None) -> None:
    """Draw texts literally (no mathtext), wrapped, in fonts that cover them."""
    fonts = drawable(label.get_text() for label in labels)
    for label in labels:
        line, font = fonts[label.get_text()]
        size = label.get_fontsize()
        label.set_parse_math(False)
        label.set_text(line if width is None else "\n".join(textwrap.wrap(line, width)) or line)
        label.set_fontproperties(font)
        label.set_fontsize(size)


def row_labels(axes: Axes, places: Any, names: Sequence[str], width: int, size: float = TEXT) -> None:
    """Label the rows of an axis with wrapped names."""
    axes.set_yticks(places, names, fontsize=size)
    labels = axes.get_yticklabels()
    write_texts(labels, width)
    axes.set_yticks(places, [label.get_text() for label in labels])  # which are drawn


def legend(figure: Figure, width: float, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Put a legend above all panels, in as many columns as fit."""
    longest = min(max(map(len, labels), default=1), 40)
    n_columns = min(len(labels), int(width / (longest * _CHARACTER * TEXT + 9)))
    drawn = figure.legend(handles, labels, loc="outside upper left", ncols=max(1, n_columns), **_LEGEND)
    write_texts(drawn.get_texts(), 40)


def caption(figure: Figure, text: str, width: float, marked: bool = False) -> None:
    """Write the meaning of the horizontal axis, and of a mark, below all panels."""
    size = characters(width - 6)
    lines = textwrap.wrap(text, size) + (textwrap.wrap(NOTE, size) if marked else [])
    figure.supxlabel("\n".join(lines), fontsize=TEXT, color=INK, parse_math=False)


def side_label(figure: Figure, text: str) -> None:
    """Write the label of the vertical axis, shared by all panels."""
    lines = textwrap.wrap(text, characters(figure.get_figheight() * _INCH * 0.9))
    figure.supylabel("\n".join(lines), fontsize=TEXT, color=INK, parse_math=False)


def check_format(file_format: str) -> None:
    if file_format not in FORMATS:
        raise InputError(f"A picture cannot be written as {file_format!r}; give one of {', '.join(FORMATS)}.")


def figure_bytes(figure: Figure, file_format: str = "png", dpi: int = 150) -> bytes:
    """Return the figure as a file, with the same bytes on every run.

    Parameters
    ----------
    figure : Figure
    file_format : "png", "svg" or "pdf"
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
    check_format(file_format)
    dates = {"png": {"Software": None}, "svg": {"Date": None}, "pdf": {"CreationDate": None, "Producer": None}}
    settings: dict[Any, Any] = {"svg.hashsalt": "superwords", "svg.fonttype": "path", "pdf.fonttype": 42}
    buffer = io.BytesIO()
    with matplotlib.rc_context(settings):
        figure.savefig(buffer, format=file_format, dpi=dpi, metadata=dates[file_format])
    return buffer.getvalue()


def save_figure(figure: Figure, path: str | os.PathLike[str], dpi: int = 300) -> Path:
    """Write a figure to a file by an atomic write; return the file.

    Parameters
    ----------
    figure : Figure
    path : str or Path
        The file, which ends in .png, .svg or .pdf.
    dpi : int
        Dots per inch of a PNG.

    Returns
    -------
    Path

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
        raise InputError(f"The picture {target.name!r} must end in .png, .svg or .pdf.")
    return write_named(target, figure_bytes(figure, file_format, dpi), "picture")
