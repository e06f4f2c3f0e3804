"""Word clouds as positions and sizes, for pages that render the words as text."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from superwords.plots.clouds import POINTS_PER_INCH, heaviest_words, lay_out, positive, shade

WIDTH, HEIGHT = 5.0 * POINTS_PER_INCH, 3.0 * POINTS_PER_INCH
MOST_WORDS = 30
FAINT = "#767676"  # a word that a group lacks: grey, and still read on white
PALEST = 0.1  # of the heaviest weight: the shade of lighter words would have a contrast below 4.5 to 1 on white
FONT = "DejaVu Sans, Verdana, Geneva, sans-serif"
# matplotlib's settings and Python's warnings are the whole process's, so pictures are drawn one at a time.
drawing = threading.Lock()


def cloud_words(
    clouds: Sequence[Mapping[str, float]],
    most_words: int = MOST_WORDS,
    shares: Sequence[Mapping[str, float]] | None = None,
) -> dict[str, Any]:
    """Return one layout for all clouds: each word at the same place in every one, in that cloud's size and shade.

    Words that a cloud lacks are small and grey in it. Sizes are in points, places from the upper left. `shares` of
    documents label the words; by default they are the weights.
    """
    own = [positive(weights) for weights in clouds]
    words = _shared_words(own, most_words)
    with drawing, warnings.catch_warnings():
        # The reader's browser has fonts of its own for what no font here covers.
        warnings.simplefilter("ignore", UserWarning)
        layout = lay_out(words, WIDTH / POINTS_PER_INCH, HEIGHT / POINTS_PER_INCH)
    drawn: list[list[dict[str, Any]]] = [[] for _ in own]
    found = {"width": WIDTH, "height": HEIGHT, "font": FONT, "clouds": drawn}
    if layout is None:
        return found
    for word, placed in layout.words.items():
        (_, bottom, wide, tall), (x, y) = placed.ink, placed.center
        for weights, labels, cloud in zip(own, own if shares is None else shares, drawn):
            weight = weights.get(word, 0.0)
            size = layout.size_of(weight)
            place = {"x": x, "y": HEIGHT - y + size * (bottom + tall / 2), "size": size, "length": size * wide}
            colour = shade(max(weight / layout.heaviest, PALEST)) if weight > 0 else FAINT
            rounded = {name: round(value, 1) for name, value in place.items()}
            cloud.append({"word": word, "share": labels.get(word, 0.0), **rounded, "colour": colour})
    return found


def _shared_words(clouds: Sequence[Mapping[str, float]], most_words: int) -> dict[str, float]:
    """Return the words to draw with their greatest weights: some of each cloud's heaviest, then the heaviest of all.

    So a cloud of light words stays readable.
    """
    greatest: dict[str, float] = {}
    chosen: set[str] = set()
    for weights in clouds:
        for word, weight in weights.items():
            greatest[word] = max(weight, greatest.get(word, 0.0))
        chosen.update(list(heaviest_words(weights))[: most_words // max(len(clouds), 1)])
    ranked = heaviest_words(greatest)
    chosen.update([word for word in ranked if word not in chosen][: most_words - len(chosen)])
    others = {word: greatest[word] for word in sorted(chosen - ranked.keys())}
    return {word: weight for word, weight in ranked.items() if word in chosen} | others


def cloud_svg(weights: Mapping[str, float], label: str, most_words: int = MOST_WORDS) -> str:
    """Return a cloud as SVG in HTML, its words as text that a page can search and copy."""
    texts = "".join(
        f'<text x="{one["x"]}" y="{one["y"]}" font-size="{one["size"]}" textLength="{one["length"]}" '
        f'fill="{one["colour"]}">{escape(" ".join(one["word"].split()))}</text>'
        for one in cloud_words([weights], most_words)["clouds"][0]
    )
    return (
        f'<svg class="cloud" viewBox="0 0 {WIDTH:g} {HEIGHT:g}" role="img" aria-label="{escape(label)}" '
        f'font-family="{escape(FONT)}" text-anchor="middle">{texts}</svg>'
    )
