"""Features from pictures: the GIST descriptors of each word's pictures on principal components."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.features.block import WordFeatures, check_n_components, check_vocabulary, find_word, project
from superwords.features.gist import gist, read_grey
from superwords.features.tables import column, read_table

PICTURE_SUFFIXES = frozenset({".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff"})

_COPY_NUMBER = re.compile(r"(?:[ _-]+\d+|\s*\(\d+\))$")


def pictures(table_or_folder: Any, vocabulary: Sequence[str], n_components: int = 10) -> WordFeatures:
    """Return GIST features of each word's pictures as (V, F) principal components.

    A folder holds pictures named by word (`apple.png`, `apple_1.png`, `ice_cream (2).jpg`) or a folder per
    word (`apple/any.png`). A table is a dict word → path or paths, or a DataFrame or CSV file with the
    columns `word` and `picture`, one row per picture; the paths of a CSV file start at its folder. Several
    pictures of a word are averaged. N words with pictures give at most N − 1 columns.

    Parameters
    ----------
    table_or_folder : path, mapping or DataFrame
        A folder of pictures named by word, a mapping of words to paths, or a table with the columns `word` and
        `picture`.
    vocabulary : sequence of str
        The words of the corpus.
    n_components : int
        The largest number of columns.

    Returns
    -------
    WordFeatures
        An array (V, F), NaN for words without a picture; its `explained` has the share of the variance that each
        column explains.

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
    words, n_components = check_vocabulary(vocabulary), check_n_components(n_components)
    by_name = picture_paths(table_or_folder)
    paths = {i: found for i, word in enumerate(words) if (found := find_word(by_name, word))}
    if len(paths) < 2:
        raise InputError(
            f"{len(paths)} of the {len(words)} words have a picture; principal components need at least two "
            "words with pictures that are named as in the vocabulary."
        )
    descriptors = np.array(
        [np.mean([gist(read_grey(path)) for path in found], axis=0) for found in paths.values()]
    )
    return project(descriptors, list(paths), len(words), n_components, "picture")


def picture_paths(source: Any) -> dict[str, list[Path]]:
    """Return the paths of each word's pictures from any kind of source."""
    if isinstance(source, Mapping):
        return {clean_name(str(word)): as_paths(paths, str(word)) for word, paths in source.items()}
    if isinstance(source, (str, Path)) and Path(source).is_dir():
        return folder_paths(Path(source))
    if isinstance(source, (str, Path)) and not Path(source).is_file():
        raise InputError(f"{source}: there is no such folder or table of pictures.")
    frame = read_table(source, "The table of pictures")
    root = Path(source).parent if isinstance(source, (str, Path)) else Path()
    row_words = column(frame, "word", "The table of pictures")
    row_pictures = column(frame, "picture", "The table of pictures")
    by_name: dict[str, list[Path]] = defaultdict(list)
    for word, picture in zip(row_words, row_pictures, strict=True):
        if not pd.isna(picture):
            by_name[clean_name(str(word))].append(root / str(picture))
    return dict(by_name)


def folder_paths(folder: Path) -> dict[str, list[Path]]:
    """Return pictures by file name, with and without a copy's number, or by the word's folder."""
    by_name: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.suffix.lower() not in PICTURE_SUFFIXES or not path.is_file():
            continue
        if path.parent != folder:
            by_name[clean_name(path.parent.name)].append(path)
            continue
        name = clean_name(path.stem)
        for key in dict.fromkeys((name, _COPY_NUMBER.sub("", name))):
            by_name[key].append(path)
    if not by_name:
        raise InputError(f"{folder}: there is no picture in this folder.")
    return dict(by_name)


def clean_name(name: str) -> str:
    # macOS stores file names decomposed: Käse would not equal Käse.
    return unicodedata.normalize("NFC", name).strip()


def as_paths(paths: Any, word: str) -> list[Path]:
    if isinstance(paths, (str, Path)):
        return [Path(paths)]
    if isinstance(paths, Iterable):
        given = list(paths)
        if all(isinstance(path, (str, Path)) for path in given):
            return [Path(path) for path in given]
    raise InputError(f"The picture of {word!r} is given as {paths!r}; give a path or a list of paths.")
