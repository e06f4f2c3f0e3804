"""Recompute src/superwords/demo/pictures.csv: ten picture features of each demo word that can be drawn.

English words are drawn by Noto (Debian package fonts-noto-color-emoji), German words by OpenMoji (npm package
openmoji, unpacked; its SVG files are rasterised by rsvg-convert of Debian's librsvg2-bin):

    python scripts/picture_features.py --openmoji package

Either source may also be a folder of PNG pictures named by code point (1F34E.png). Only numbers are written.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image, ImageDraw, ImageFont

from superwords.errors import InputError
from superwords.features import WordFeatures, pictures

DEMO = Path(__file__).parents[1] / "src" / "superwords" / "demo"
NOTO_FONT = Path("/usr/share/fonts/truetype/noto/NotoColorEmoji.ttf")
NOTO_SIZE = 109
"""The one size at which the bitmap font can be drawn."""


def characters(code_points: str) -> str:
    return "".join(chr(int(point, 16)) for point in code_points.split("-"))


def draw_noto(font_file: Path, code_points: str, target: Path) -> None:
    font = ImageFont.truetype(str(font_file), NOTO_SIZE)
    text = characters(code_points)
    left, top, right, bottom = font.getbbox(text)
    if right <= left:
        raise InputError(f"{font_file}: the font has no picture for {code_points}.")
    side = int(max(right - left, bottom - top))
    picture = Image.new("RGBA", (side, side))
    corner = ((side - right + left) / 2 - left, (side - bottom + top) / 2 - top)
    ImageDraw.Draw(picture).text(corner, text, font=font, embedded_color=True)
    picture.save(target)


def rasterise(svg: Path, target: Path) -> None:
    if shutil.which("rsvg-convert") is None:
        raise InputError("rsvg-convert is not installed; install librsvg2-bin or give a folder of PNG pictures.")
    subprocess.run(["rsvg-convert", "-w", "144", "-h", "144", "-o", str(target), str(svg)], check=True)


def find_picture(source: Path, code_points: str, target: Path) -> Path | None:
    """The picture in a font, in a folder of PNG files or in the openmoji package, rendered where need be."""
    if not source.exists():
        raise InputError(f"{source}: there is no such font or folder.")
    # OpenMoji names some files without the variation selector FE0F.
    names = (code_points, code_points.removesuffix("-FE0F"))
    for name in names:
        if source.is_dir() and (source / f"{name}.png").is_file():
            return source / f"{name}.png"
    for name in names:
        svg = source / "color" / "svg" / f"{name}.svg"
        if svg.is_file():
            rasterise(svg, target)
            return target
    if source.is_file():
        draw_noto(source, code_points, target)
        return target
    return None


def demo_pictures(noto: Path, openmoji: Path) -> tuple[list[str], WordFeatures]:
    """The words that have a picture in the sources, and their features; the others are named on stderr."""
    words = pd.read_csv(DEMO / "words.csv", dtype=str, keep_default_na=False)
    pictured = words[words["picture"] != ""]
    with tempfile.TemporaryDirectory() as folder:
        paths = {}
        for word, lang, code_points in pictured[["word", "lang", "picture"]].itertuples(index=False):
            source = noto if lang == "en" else openmoji
            path = find_picture(source, code_points, Path(folder) / f"{lang}_{word}.png")
            if path is None:
                print(f"{source}: there is no picture for {word} ({code_points}), left out", file=sys.stderr)
            else:
                paths[word] = path
        return list(paths), pictures(paths, list(paths))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--noto", type=Path, default=NOTO_FONT, help="the Noto font, or a folder of PNG files")
    parser.add_argument("--openmoji", type=Path, required=True, help="the openmoji package, or a folder of PNG files")
    parser.add_argument("-o", "--output", type=Path, default=DEMO / "pictures.csv")
    arguments = parser.parse_args()
    try:
        words, features = demo_pictures(arguments.noto, arguments.openmoji)
    except (InputError, OSError, subprocess.CalledProcessError) as error:
        print(error, file=sys.stderr)
        return 1
    table = pd.DataFrame(np.round(features.values, 6), columns=features.names)
    table.insert(0, "word", words)
    table.to_csv(arguments.output, index=False, float_format="%.6f", lineterminator="\n")
    share = features.total_explained
    print(f"{len(words)} words, {len(features.names)} features that explain {share:.0%}: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
