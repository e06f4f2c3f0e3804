"""Features from pictures: the GIST descriptors of each word's pictures on principal components.

GIST (Oliva and Torralba, Modeling the shape of the scene, IJCV 2001): a grey picture is whitened and its local
contrast evened out, then filtered by Gabor-like oriented filters over several scales; the energy of each filter,
averaged over a 4×4 grid, is the descriptor.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from scipy import fft

from superwords.errors import InputError, whole_number
from superwords.features.block import WordFeatures, find_word, project, read_table
from superwords.text.checks import check_unique_words

PICTURE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"})

_COPY_NUMBER = re.compile(r"(?:[ _-]+\d+|\s*\(\d+\))$")
SIZE = 128
GRID = 4
ORIENTATIONS = (8, 8, 4)  # of the filters at each scale, from fine to coarse
N_FEATURES = GRID * GRID * sum(ORIENTATIONS)

_MARGIN = 32
_CYCLES_BELOW = 4.0  # per picture: the prefilter removes slower variation, such as shading and exposure


def pictures(table_or_folder: Any, vocabulary: Sequence[str], n_components: int = 10) -> WordFeatures:
    """Return GIST features of each word's pictures, averaged, as principal components.

    Parameters
    ----------
    table_or_folder : path, mapping or DataFrame
        A folder of pictures named by word (`apple.png`, `apple_1.png`, `ice_cream (2).jpg`) or of a folder per word
        (`apple/any.png`); a dict word → path or paths; or a DataFrame or CSV file with the columns `word` and
        `picture`, where the paths of a file start at its folder.
    vocabulary : sequence of str
        The words of the corpus.
    n_components : int
        The largest number of columns; N words with pictures give at most N − 1.

    Returns
    -------
    WordFeatures
        (V, F), NaN for words without a picture.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from superwords import features
    >>> folder = Path(tempfile.mkdtemp())
    >>> for word, grey in [("apple", 40), ("pear", 90)]:
    ...     Image.radial_gradient("L").point(lambda level: level % grey).save(folder / f"{word}.png")
    >>> features.pictures(folder, ["apple", "boat", "pear"]).shape
    (3, 1)
    """
    words, n_components = check_unique_words(vocabulary), whole_number("n_components", n_components)
    by_name = picture_paths(table_or_folder)
    paths = {i: found for i, word in enumerate(words) if (found := find_word(by_name, word))}
    if len(paths) < 2:
        raise InputError(
            f"{len(paths)} of the {len(words)} words have a picture; principal components need at least two "
            "words with pictures that are named as in the vocabulary."
        )
    descriptors = np.array([np.mean([gist(read_grey(path)) for path in found], axis=0) for found in paths.values()])
    return project(descriptors, list(paths), len(words), n_components, "picture")


def picture_paths(source: Any) -> dict[str, list[Path]]:
    """Return the paths of each word's pictures from any kind of source."""
    by_name: dict[str, list[Path]] = defaultdict(list)
    for word, path in _named_pictures(source):
        by_name[_clean_name(word)].append(path)
    return by_name


def _named_pictures(source: Any) -> Iterator[tuple[str, Path]]:
    if isinstance(source, Mapping):
        for word, paths in source.items():
            given = [paths] if isinstance(paths, str) or not isinstance(paths, Iterable) else list(paths)
            if not all(isinstance(path, str | Path) for path in given):
                raise InputError(f"The picture of {str(word)!r} is given as {paths!r}; give a path or a list of paths.")
            yield from ((str(word), Path(path)) for path in given)
        return
    root = Path(source) if isinstance(source, str | Path) else None
    if root is not None and root.is_dir():
        paths = [path for path in sorted(root.rglob("*")) if path.suffix.lower() in PICTURE_SUFFIXES and path.is_file()]
        if not paths:
            raise InputError(f"{root}: there is no picture in this folder.")
        for path in paths:
            name = _clean_name(path.stem)
            # In a folder of its own, a picture is named by the folder; else its name may end in a number.
            names = {name, _COPY_NUMBER.sub("", name)} if path.parent == root else {path.parent.name}
            yield from ((word, path) for word in names)
        return
    if root is not None and not root.is_file():
        raise InputError(f"{root}: there is no such folder or table of pictures.")
    frame = read_table(source, "The table of pictures", "word", "picture").dropna(subset=["picture"])
    for word, picture in zip(frame["word"], frame["picture"]):
        yield str(word), (root.parent if root else Path()) / str(picture)


def _clean_name(name: str) -> str:
    # macOS stores file names decomposed: Käse would not equal Käse.
    return unicodedata.normalize("NFC", name).strip()


def read_grey(path: Path) -> np.ndarray:
    """Return the central square as SIZE×SIZE grey levels from 0 to 255, transparency on white."""
    try:
        with Image.open(path) as opened:
            picture = ImageOps.exif_transpose(opened)
            if picture.mode.startswith("I;16"):
                # Pillow would clip sixteen-bit levels at 255 rather than scale them.
                picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
            coloured = picture.convert("RGBA")
            on_white = Image.alpha_composite(Image.new("RGBA", coloured.size, "white"), coloured).convert("RGB")
            square = ImageOps.fit(on_white, (SIZE, SIZE), Image.Resampling.BICUBIC)
            return np.asarray(square, dtype=float).mean(axis=2)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such picture.") from None
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
        raise InputError(f"{path}: this picture cannot be read; it is broken or in an unknown format.") from None


def gist(grey: np.ndarray) -> np.ndarray:
    """Return the N_FEATURES energies of a SIZE×SIZE grey picture, by filter and grid cell."""
    if grey.shape != (SIZE, SIZE):
        raise InputError(f"The picture is {grey.shape}; a GIST descriptor needs {SIZE}×{SIZE} grey levels.")
    padded = np.pad(prefilter(grey), _MARGIN, mode="symmetric")
    spectrum = fft.fft2(padded)
    energy = np.abs(fft.ifft2(spectrum * oriented_filters(), axes=(-2, -1)))
    inner = energy[:, _MARGIN:-_MARGIN, _MARGIN:-_MARGIN]
    cell = SIZE // GRID
    return inner.reshape(-1, GRID, cell, GRID, cell).mean(axis=(2, 4)).ravel()


def prefilter(grey: np.ndarray) -> np.ndarray:
    """Return log levels without their slow variation, divided by the local contrast."""
    width = 5
    levels = np.pad(np.log(grey + 1.0), width, mode="symmetric")
    n = levels.shape[0]
    frequency = fft.fftfreq(n, 1.0 / n)
    squared = frequency[:, None] ** 2 + frequency[None, :] ** 2
    low_pass = np.exp(-squared * np.log(2.0) / _CYCLES_BELOW**2)
    high = levels - fft.ifft2(fft.fft2(levels) * low_pass).real
    contrast = np.sqrt(np.abs(fft.ifft2(fft.fft2(high**2) * low_pass)))
    # 0.2 keeps flat regions flat instead of blowing their noise up.
    return (high / (0.2 + contrast))[width:-width, width:-width]


@lru_cache(maxsize=1)
def oriented_filters() -> np.ndarray:
    """Return transfer functions (filters, n, n), Gaussian in frequency and orientation."""
    n = SIZE + 2 * _MARGIN
    frequency = fft.fftfreq(n, 1.0 / n)
    radius = np.hypot(frequency[:, None], frequency[None, :])
    angle = np.arctan2(frequency[:, None], frequency[None, :])
    filters = []
    for scale, orientations in enumerate(ORIENTATIONS):
        centre = 0.3 / 1.85**scale
        sharpness = 16.0 * orientations**2 / 32.0**2
        for k in range(orientations):
            turned = (angle + np.pi * k / orientations + np.pi) % (2 * np.pi) - np.pi
            radial = -3.5 * (radius / n / centre - 1.0) ** 2
            filters.append(np.exp(radial - 2.0 * np.pi * sharpness * turned**2))
    return np.array(filters)
