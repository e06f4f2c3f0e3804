"""Fonts by script: DejaVu Sans where it covers a word, else an installed one."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

import matplotlib
from matplotlib.font_manager import FontProperties, findSystemFonts
from matplotlib.ft2font import FT2Font

DEFAULT_FONT = str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
MISSING = "□"


def drawable(texts: Iterable[str]) -> dict[str, tuple[str, FontProperties]]:
    """Return the characters to draw for each text, and the font.

    Characters that no single installed font covers are drawn as □, with one warning for all
    of `texts` together.
    """
    chosen: dict[str, tuple[str, FontProperties]] = {}
    uncovered: dict[str, str] = {}
    for text in texts:
        line = " ".join(text.split())
        path = covering_font(frozenset(line))
        if path is None:
            path = DEFAULT_FONT
            known = covered_characters(path)
            uncovered[text] = "".join(ch for ch in dict.fromkeys(line) if ch not in known)
            line = "".join(ch if ch in known else MISSING for ch in line)
        chosen[text] = (line, FontProperties(fname=path))
    if uncovered:
        word, characters = next(iter(uncovered.items()))
        warnings.warn(
            f"No installed font covers {len(uncovered)} of the texts to draw (first {word!r}: "
            f"{characters[:20]!r}), so those characters are drawn as {MISSING}; install a font for the "
            "script, for example one of the Noto fonts.",
            UserWarning,
            stacklevel=3,
        )
    return chosen


@lru_cache(maxsize=4096)
def covering_font(characters: frozenset[str]) -> str | None:
    """Return the first font file with all characters: DejaVu Sans, then the system's."""
    if characters <= covered_characters(DEFAULT_FONT):
        return DEFAULT_FONT
    return next((path for path in system_fonts() if characters <= covered_characters(path)), None)


@lru_cache(maxsize=1)
def system_fonts() -> tuple[str, ...]:
    # Search the disk, since matplotlib's font cache lacks fonts installed later.
    def plainness(path: str) -> tuple[bool, bool, str]:
        name = Path(path).stem.lower()
        return ("regular" not in name, "sans" not in name, path)

    return tuple(sorted(findSystemFonts(), key=plainness))


@lru_cache(maxsize=1024)
def covered_characters(path: str) -> frozenset[str]:
    """Return None for a bitmap font (as of coloured emoji), which has only one size."""
    try:
        font = FT2Font(path)
        return frozenset(map(chr, font.get_charmap())) if font.scalable else frozenset()
    except (OSError, RuntimeError):
        return frozenset()
