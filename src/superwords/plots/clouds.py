"""Word clouds: area by weight, the heaviest words darkest, all horizontal."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.textpath import text_to_path

from superwords.errors import InputError
from superwords.plots import style

MAX_WORDS = 100
SMALLEST = 0.25  # share of the heaviest word's size; smaller is not legible
SHADES = colormaps["viridis"]
LIGHTEST = 0.45  # position in viridis; lighter is too pale on white
GAP = 2.5  # points of free space around a word
POINTS_PER_INCH = 72.0


class Placed(NamedTuple):
    """A word in a cloud.

    `ink` is the ink's left, bottom, width and height at a font size of one point, from the pen's start.
    """

    text: str
    font: FontProperties
    ink: tuple[float, float, float, float]
    center: tuple[float, float]  # of the ink, in points from the lower left


class Layout(NamedTuple):
    words: dict[str, Placed]
    font_size: float
    heaviest: float

    def size_of(self, weight: float) -> float:
        """Return the font size: by the square root of the weight, so area by weight."""
        return self.font_size * max(math.sqrt(min(1.0, weight / self.heaviest)), SMALLEST)


def cloud(weights: Mapping[str, float], title: str | None = None, width: float = 3.1, height: float = 2.0) -> Figure:
    """Draw one word cloud of at most a hundred words.

    Parameters
    ----------
    weights : mapping of str to float
        Words and their weights; a word's area is its weight.
    title : str, optional
    width, height : float, in inches

    Returns
    -------
    Figure

    Examples
    --------
    >>> from superwords import plots
    >>> words = model.words_of(1)
    >>> figure = plots.cloud(dict(zip(words["word"], words["share_used"])))
    >>> {text.get_text() for text in figure.axes[0].texts} <= set(words["word"])
    True
    """
    return cloud_grid([weights], None if title is None else [title], columns=1, width=width, height=height)


def cloud_grid(
    clouds: Sequence[Mapping[str, float]],
    titles: Sequence[str] | None = None,
    columns: int = 3,
    width: float = 2.07,
    height: float = 1.5,
) -> Figure:
    """Draw several clouds, each laid out for itself.

    Parameters
    ----------
    clouds : sequence of mappings of str to float
    titles : sequence of str, optional
    columns : int
        How many are side by side.
    width, height : float, in inches
        Of each cloud.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from superwords import plots
    >>> len(plots.cloud_grid([{"tea": 2, "milk": 1}, {"tide": 1}], ["kitchen", "harbour"]).axes)
    2
    """
    if not clouds:
        raise InputError("There is no cloud to draw; give at least one dictionary of words and weights.")
    if columns < 1:
        raise InputError(f"The grid has {columns} columns; give at least one.")
    checked = [heaviest_words(weights) for weights in clouds]
    figure, panels = _panel_grid(len(checked), min(columns, len(checked)), titles, width, height)
    for axes, weights in zip(panels, checked):
        _draw(axes, lay_out(weights, width, height), weights)
    return figure


def cloud_pair(
    weights_a: Mapping[str, float],
    weights_b: Mapping[str, float],
    titles: Sequence[str] | None = None,
    width: float = 3.16,
    height: float = 2.2,
) -> Figure:
    """Draw a concept in two groups or at two times, each word at the same place.

    A word's size is by its weight in the group, on one scale for both; a word that a group lacks is small and grey.

    Parameters
    ----------
    weights_a, weights_b : mapping of str to float
    titles : sequence of str, optional
    width, height : float, in inches
        Of each cloud.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from superwords import plots
    >>> left, right = plots.cloud_pair({"tea": 2, "milk": 1}, {"tea": 1}).axes
    >>> [len(panel.texts) for panel in (left, right)]
    [2, 2]
    """
    clouds = [positive(weights) for weights in (weights_a, weights_b)]
    shared = heaviest_words({word: max(own.get(word, 0.0) for own in clouds) for own in clouds for word in own})
    layout = lay_out(shared, width, height)
    figure, panels = _panel_grid(2, 2, titles, width, height)
    for axes, own in zip(panels, clouds):
        _draw(axes, layout, {word: own.get(word, 0.0) for word in shared})
    return figure


def positive(weights: Mapping[str, float]) -> dict[str, float]:
    for word, weight in weights.items():
        if not math.isfinite(weight):
            raise InputError(f"The weight of the word {word!r} is {weight}; weights must be finite numbers.")
    return {str(word): float(weight) for word, weight in weights.items() if weight > 0}


def heaviest_words(weights: Mapping[str, float]) -> dict[str, float]:
    """Return the hundred heaviest words in descending order, ties alphabetical."""
    ordered = sorted(positive(weights).items(), key=lambda item: (-item[1], item[0]))
    return dict(ordered[:MAX_WORDS])


def _panel_grid(
    n_panels: int, columns: int, titles: Sequence[str] | None, width: float, height: float
) -> tuple[Figure, list[Axes]]:
    """Return panels of exactly `width` by `height` inches, for absolute font sizes."""
    if titles is not None and len(titles) != n_panels:
        raise InputError(f"There are {len(titles)} titles for {n_panels} clouds; give one per cloud.")
    rows, margin, head = -(-n_panels // columns), 0.12, 0.12 if titles is None else 0.36
    wide, high = columns * (width + margin) + margin, rows * (height + head) + margin
    figure = style.new_figure(wide, high)
    places = {"left": margin / wide, "right": 1 - margin / wide, "bottom": margin / high, "top": 1 - head / high}
    gaps = {"wspace": margin / width, "hspace": head / height}
    grid = figure.subplots(rows, columns, squeeze=False, gridspec_kw=places | gaps).ravel().tolist()
    for axes in grid[n_panels:]:
        axes.remove()
    for axes in grid[:n_panels]:
        axes.set(xlim=(0, width * POINTS_PER_INCH), ylim=(0, height * POINTS_PER_INCH), xticks=[], yticks=[])
        axes.spines[:].set_color("#DDDDDD" if n_panels > 1 else "none")
    for axes, title in zip(grid, titles or ()):
        axes.set_title(title, fontsize=style.TEXT + 1, color=style.INK, pad=3)
    if titles is not None:
        style.write_texts([axes.title for axes in grid[:n_panels]], style.characters(width * 25.4, style.TEXT + 1))
    return figure, grid[:n_panels]


def lay_out(weights: Mapping[str, float], width: float, height: float) -> Layout | None:
    """Place all words at the largest size at which they fit; None without words."""
    if not weights:
        return None
    heaviest = max(weights.values())
    measured = {word: (text, font, ink_box(text, font)) for word, (text, font) in style.drawable(weights).items()}
    wide, high = width * POINTS_PER_INCH, height * POINTS_PER_INCH
    relative = {word: max(math.sqrt(weight / heaviest), SMALLEST) for word, weight in weights.items()}
    boxes = {word: (measured[word][2][2] * r, measured[word][2][3] * r) for word, r in relative.items()}
    area, widest = sum(w * h for w, h in boxes.values()), max(w for w, _ in boxes.values())
    # Initially, no word is wider than the panel, the heaviest has at most a quarter of its height, and three quarters
    # of the panel are covered.
    font_size = min(0.94 * wide / widest, high / 4, math.sqrt(0.75 * wide * high / area))
    while (centers := _centers(boxes, font_size, wide, high)) is None:
        font_size *= 0.93
    return Layout({word: Placed(*measured[word], center=centers[word]) for word in weights}, font_size, heaviest)


def ink_box(text: str, font: FontProperties) -> tuple[float, float, float, float]:
    """Return the left, bottom, width and height of a text's ink at a font size of one point."""
    vertices, _ = text_to_path.get_text_path(font, text, ismath=False)
    points = np.asarray(vertices, dtype=float).reshape(-1, 2)
    if len(points) == 0:
        return (0.0, 0.0, 1.0, 1.0)
    left, bottom = points.min(axis=0) / text_to_path.FONT_SCALE
    right, top = points.max(axis=0) / text_to_path.FONT_SCALE
    return (float(left), float(bottom), float(right - left), float(top - bottom))


def _centers(
    boxes: Mapping[str, tuple[float, float]], font_size: float, wide: float, high: float
) -> dict[str, tuple[float, float]] | None:
    """Return the centre of each word's box at a font size; None if they do not fit.

    Each box goes to the free place nearest to the middle of a grid of points.
    """
    rows, columns = int(high), int(wide)
    taken = np.zeros((rows, columns), dtype=np.int32)
    before = np.zeros((rows + 1, columns + 1), dtype=np.int32)  # taken points above and to the left
    centers = {}
    for word, (box_width, box_height) in boxes.items():
        tall, across = (math.ceil(size * font_size + 2 * GAP) for size in (box_height, box_width))
        if tall >= rows or across >= columns:
            return None
        np.cumsum(np.cumsum(taken, axis=0), axis=1, out=before[1:, 1:])
        inside = before[tall:, across:] - before[:-tall, across:] - before[tall:, :-across] + before[:-tall, :-across]
        down = ((np.arange(inside.shape[0]) + tall / 2) / rows - 0.5) ** 2
        right = ((np.arange(inside.shape[1]) + across / 2) / columns - 0.5) ** 2
        distance = np.where(inside == 0, down[:, None] + right, np.inf)
        row, column = divmod(int(distance.argmin()), inside.shape[1])
        if inside[row, column]:
            return None
        taken[row : row + tall, column : column + across] = 1
        centers[word] = (column + across / 2, high - (row + tall / 2))
    in_rows, in_columns = np.flatnonzero(taken.any(axis=1)), np.flatnonzero(taken.any(axis=0))
    x_free, y_free = wide - (in_columns[0] + in_columns[-1] + 1), high - (in_rows[0] + in_rows[-1] + 1)
    return {word: (x + x_free / 2, y - y_free / 2) for word, (x, y) in centers.items()}


def _draw(axes: Axes, layout: Layout | None, weights: Mapping[str, float]) -> None:
    """Write each placed word in the size and shade of its own weight."""
    if layout is None:
        axes.text(0.5, 0.5, "no words", transform=axes.transAxes, ha="center", va="center", color=style.INK)
        return
    for word, placed in layout.words.items():
        weight, (left, bottom, wide, tall), (x, y) = weights[word], placed.ink, placed.center
        size = layout.size_of(weight)
        axes.text(
            x - size * (left + wide / 2),
            y - size * (bottom + tall / 2),
            placed.text,
            fontproperties=placed.font,
            fontsize=size,
            color=shade(weight / layout.heaviest) if weight > 0 else style.FAINT,
            parse_math=False,
            gid="absent" if weight <= 0 else None,
        )


def shade(relative: float) -> str:
    """Return the colour of a word by its weight, as a share of the heaviest."""
    return to_hex(SHADES(LIGHTEST * (1.0 - min(1.0, relative))))
