"""The GIST descriptor of a picture (Oliva and Torralba, Modeling the shape of the scene, IJCV 2001).

A grey picture is whitened and its local contrast evened out, then filtered by Gabor-like oriented filters
over several scales; the energy of each filter, averaged over a 4×4 grid, is the descriptor.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps, UnidentifiedImageError
from scipy import fft

from superwords.errors import InputError

SIZE = 128
GRID = 4
ORIENTATIONS = (8, 8, 4)  # of the filters at each scale, from fine to coarse
N_FEATURES = GRID * GRID * sum(ORIENTATIONS)

_MARGIN = 32
_CYCLES_BELOW = 4.0  # per picture: the prefilter removes slower variation, such as shading and exposure


def read_grey(path: Path) -> np.ndarray:
    """Return the central square as SIZE×SIZE grey levels from 0 to 255, transparency on white."""
    try:
        with Image.open(path) as picture:
            upright = ImageOps.exif_transpose(picture)
            return grey_levels(upright)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such picture.") from None
    except (UnidentifiedImageError, Image.DecompressionBombError, OSError, SyntaxError, ValueError):
        raise InputError(
            f"{path}: this picture cannot be read; it is broken or in an unknown format."
        ) from None


def grey_levels(picture: Image.Image) -> np.ndarray:
    if picture.mode.startswith("I;16"):
        # Pillow would clip sixteen-bit levels at 255 rather than scale them.
        picture = Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    coloured = picture.convert("RGBA")
    on_white = Image.alpha_composite(Image.new("RGBA", coloured.size, "white"), coloured).convert("RGB")
    square = ImageOps.fit(on_white, (SIZE, SIZE), Image.Resampling.BICUBIC)
    return np.asarray(square, dtype=float).mean(axis=2)


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
