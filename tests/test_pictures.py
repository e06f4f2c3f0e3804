"""Pictures of words: the GIST descriptor, and the folders and tables that pictures come in."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import fft

from superwords.errors import InputError
from superwords.features import picture as module
from superwords.features import pictures
from superwords.features.picture import GRID, N_FEATURES, ORIENTATIONS, SIZE, gist, oriented_filters, read_grey


def grating(angle: float, cycles: float) -> np.ndarray:
    y, x = np.mgrid[:SIZE, :SIZE] / SIZE
    return 127.5 + 100 * np.sin(2 * np.pi * cycles * (np.cos(angle) * x + np.sin(angle) * y))


def energies(grey: np.ndarray) -> list[np.ndarray]:
    """The descriptor by scale: an array (orientations, 4, 4) for each."""
    blocks = gist(grey).reshape(-1, GRID, GRID)
    return np.split(blocks, np.cumsum(ORIENTATIONS)[:-1])


def naive_gist(grey: np.ndarray) -> np.ndarray:
    """Filter by filter and cell by cell."""
    padded = np.pad(module.prefilter(grey), 32, mode="symmetric")
    values = []
    for transfer in oriented_filters():
        energy = np.abs(np.fft.ifft2(np.fft.fft2(padded) * transfer))[32 : 32 + SIZE, 32 : 32 + SIZE]
        for row in range(4):
            for col in range(4):
                values.append(energy[32 * row : 32 * (row + 1), 32 * col : 32 * (col + 1)].mean())
    return np.array(values)


def save(path: Path, grey: np.ndarray) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(grey.astype(np.uint8)).save(path)
    return path


@pytest.mark.parametrize("orientation", range(8))
def test_the_filter_of_the_gratings_orientation_answers_most(orientation):
    fine = energies(grating(-np.pi * orientation / 8, 0.3 * SIZE))[0]
    assert np.argmax(fine.mean(axis=(1, 2))) == orientation


def test_a_coarse_grating_moves_the_energy_to_a_coarse_scale():
    fine, coarse = (energies(grating(0.0, cycles)) for cycles in (38, 11))
    assert fine[0].max() > fine[2].max()
    assert coarse[2].max() > coarse[0].max()


def test_energy_stays_where_it_is_on_the_grid():
    grey = np.full((SIZE, SIZE), 127.5)
    grey[:32, 96:] = grating(0.0, 38)[:32, 96:]
    by_cell = gist(grey).reshape(-1, GRID, GRID).mean(axis=0)
    assert np.unravel_index(np.argmax(by_cell), by_cell.shape) == (0, 3)


def test_gist_equals_its_naive_twin_and_ignores_exposure():
    grey = np.random.default_rng(0).uniform(20, 200, size=(SIZE, SIZE))
    assert gist(grey).shape == (N_FEATURES,)
    assert np.allclose(gist(grey), naive_gist(grey))
    darker = np.exp(np.log(grey + 1) - 0.5) - 1
    assert np.allclose(gist(darker), gist(grey), rtol=1e-6)
    assert np.allclose(gist(np.full((SIZE, SIZE), 90.0)), 0, atol=1e-6)
    with pytest.raises(InputError, match="128"):
        gist(grey[:64])


def test_filters_are_real_bumps_at_their_frequency():
    n = SIZE + 64
    frequency = fft.fftfreq(n, 1 / n)
    for scale, first in enumerate(np.cumsum((0, *ORIENTATIONS))[:-1]):
        row, col = np.unravel_index(np.argmax(oriented_filters()[first]), (n, n))
        assert frequency[row] == 0
        assert frequency[col] / n == pytest.approx(0.3 / 1.85**scale, abs=1 / n)


def test_transparency_becomes_white(tmp_path):
    clear = Image.new("RGBA", (64, 64), (0, 0, 0, 0))
    clear.save(tmp_path / "clear.png")
    clear.convert("P").save(tmp_path / "palette.png", transparency=0)
    Image.fromarray(np.full((64, 64), 65535, np.uint16)).save(tmp_path / "deep.png")
    Image.fromarray(np.full((64, 64), 32768, np.uint16)).save(tmp_path / "middle.png")
    for name in ("clear", "palette", "deep"):
        assert (read_grey(tmp_path / f"{name}.png") == 255).all()
    assert (read_grey(tmp_path / "middle.png") == 128).all()


@pytest.fixture
def folder(tmp_path):
    for k, name in enumerate(["apple.png", "pear_1.png", "pear_2.jpg", "ice_cream (3).png", "fig/a.png"]):
        save(tmp_path / name, grating(0.4 * k, 8 + 5 * k))
    save(tmp_path / unicodedata.normalize("NFD", "Käse.png"), grating(2.0, 20))
    (tmp_path / "notes.txt").write_text("no picture")
    return tmp_path


def test_a_folder_is_read_by_word(folder):
    words = ["Apple", "pear", "ice cream", "fig", "käse", "kiwi"]
    values = pictures(folder, words)
    assert values.shape == (6, 4)
    assert np.isnan(values).all(axis=1).tolist() == [False] * 5 + [True]
    by_hand = {"apple": folder / "apple.png", "pear": [folder / "pear_1.png", str(folder / "pear_2.jpg")]}
    assert np.array_equal(
        pictures(str(folder), ["apple", "pear"]), pictures(by_hand, ["apple", "pear"]), equal_nan=True
    )
    only_first = pictures({**by_hand, "pear": folder / "pear_1.png"}, ["apple", "pear"])
    assert not np.allclose(only_first, pictures(by_hand, ["apple", "pear"]))


def test_a_table_is_read_by_word(folder):
    frame = pd.DataFrame({"word": ["pear", "pear", "apple"], "picture": ["pear_1.png", "pear_2.jpg", "apple.png"]})
    frame.to_csv(folder / "table.csv", index=False)
    words = ["apple", "pear", "kiwi"]
    from_folder = pictures(folder, words)
    assert np.array_equal(pictures(folder / "table.csv", words), from_folder, equal_nan=True)
    frame["picture"] = [str(folder / name) for name in frame["picture"]]
    assert np.array_equal(pictures(frame, words), from_folder, equal_nan=True)


def test_components_are_those_of_the_averaged_descriptors(folder):
    words = ["apple", "pear", "fig", "Käse"]
    result = pictures(folder, words, n_components=2)
    rows = [
        gist(read_grey(folder / "apple.png")),
        (gist(read_grey(folder / "pear_1.png")) + gist(read_grey(folder / "pear_2.jpg"))) / 2,
        gist(read_grey(folder / "fig" / "a.png")),
        gist(read_grey(next(path for path in folder.glob("K*")))),
    ]
    centred = np.array(rows) - np.mean(rows, axis=0)
    values, directions = np.linalg.eigh(centred @ centred.T)
    assert np.allclose(np.abs(result.values), np.abs(directions[:, [3, 2]] * np.sqrt(values[[3, 2]])))
    assert np.allclose(result.explained, values[[3, 2]] / values.sum())
    assert result.names == ["picture_1", "picture_2"]


def test_missing_and_broken_pictures_are_named(folder):
    with pytest.raises(InputError, match=r"gone\.png"):
        pictures({"apple": folder / "gone.png", "pear": folder / "apple.png"}, ["apple", "pear"])
    whole = (folder / "apple.png").read_bytes()
    (folder / "apple.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"apple\.png"):
        pictures(folder, ["apple", "pear"])
    (folder / "apple.png").write_text("not a picture")
    with pytest.raises(InputError, match=r"apple\.png"):
        pictures(folder, ["apple", "pear"])


def test_what_is_no_source_of_pictures_is_refused(folder, tmp_path_factory):
    empty = tmp_path_factory.mktemp("empty")
    with pytest.raises(InputError, match="no picture in this folder"):
        pictures(empty, ["apple"])
    with pytest.raises(InputError, match="no such folder"):
        pictures(empty / "none", ["apple"])
    with pytest.raises(InputError, match="1 of the 2 words"):
        pictures(folder, ["apple", "kiwi"])
    with pytest.raises(InputError, match="no column 'picture'"):
        pictures(pd.DataFrame({"word": ["apple"]}), ["apple"])
    with pytest.raises(InputError, match="path or a list"):
        pictures({"apple": 3}, ["apple"])
    with pytest.raises(InputError, match="n_components"):
        pictures(folder, ["apple", "pear"], n_components=-1)
