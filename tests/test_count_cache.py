"""Counted texts are found again by their content, and by nothing else; a damaged entry counts as none."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from cli_for_tests import run
from superwords.corpus import count_cache, stream
from superwords.corpus.corpus import Corpus
from superwords.corpus.count_cache import cache_folder, cache_size, clear_cache
from superwords.corpus.reading import read_documents

NOUNS = [
    "dog",
    "cat",
    "house",
    "river",
    "tower",
    "bridge",
    "farmer",
    "teacher",
    "garden",
    "market",
    "winter",
    "summer",
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(count_cache, "WORTH_KEEPING", 1000)
    return tmp_path


@pytest.fixture
def texts():
    rng = np.random.default_rng(2)
    return [" ".join(f"The {a} saw a {b}." for a, b in rng.choice(NOUNS, (6, 2))) for _ in range(40)]


@pytest.fixture
def untagged(monkeypatch):
    """Turns every further tagging into an error."""

    def forbid():
        monkeypatch.setattr(stream, "read_chunk", lambda *_: pytest.fail("the texts were tagged again"))

    return forbid


def assert_same(a: Corpus, b: Corpus):
    assert a.vocabulary == b.vocabulary
    assert (a.counts != b.counts).nnz == 0
    assert (a.sentences != b.sentences).nnz == 0
    assert a.counts.dtype == b.counts.dtype
    np.testing.assert_array_equal(a.sentence_row, b.sentence_row)
    assert json.dumps(a.notes) == json.dumps(b.notes)
    assert a.ids == b.ids
    assert a.texts == b.texts
    assert a.metadata.equals(b.metadata)


@pytest.mark.parametrize("unit", ["document", "passages:2"])
def test_the_same_file_is_not_tagged_twice(folder, texts, untagged, unit):
    (folder / "d.txt").write_text("\n".join(texts), encoding="utf-8")
    said: list[str] = []
    first = read_documents(folder / "d.txt", unit=unit, n_jobs=1, say=said.append)
    assert any(line.startswith("Kept in the cache (0.0 MB") for line in said)
    untagged()
    said.clear()
    assert_same(read_documents(folder / "d.txt", unit=unit, n_jobs=1, say=said.append), first)
    assert any("read from the cache" in line and "--no-cache" in line for line in said)
    assert_same(read_documents(folder / "d.txt", unit=unit, n_jobs=2), first)
    in_memory = read_documents(texts, unit=unit)
    assert (in_memory.counts != first.counts).nnz == 0


def test_other_texts_options_or_no_cache_are_counted_anew(folder, texts):
    first = read_documents(texts, n_jobs=1)
    n_entries = len(list(cache_folder().iterdir()))
    assert n_entries == 1
    read_documents([*texts[:-1], texts[-1] + " "], n_jobs=1)
    read_documents(texts, n_jobs=1, min_df=3)
    read_documents(texts, n_jobs=1, drop=["dog"])
    read_documents(texts, n_jobs=1, language=["en"] * len(texts))
    assert len(list(cache_folder().iterdir())) == 5
    assert_same(read_documents(texts, n_jobs=1, cache=False), first)
    assert len(list(cache_folder().iterdir())) == 5
    read_documents(texts[:3], n_jobs=1)
    assert len(list(cache_folder().iterdir())) == 5


def test_a_damaged_entry_is_counted_anew(folder, texts):
    first = read_documents(texts, n_jobs=1)
    (entry,) = cache_folder().iterdir()
    whole = entry.read_bytes()
    rng = np.random.default_rng(3)
    for place in rng.integers(0, len(whole), 12):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        for content in (bytes(damaged), whole[:place]):
            entry.write_bytes(content)
            assert_same(read_documents(texts, n_jobs=1), first)


def test_a_folder_that_cannot_be_written_to_is_no_error(folder, texts, monkeypatch):
    (folder / "file").write_text("x", encoding="utf-8")
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "file"))
    said: list[str] = []
    assert read_documents(texts, n_jobs=1, say=said.append).n_words > 5
    assert not any("cache" in line for line in said)


def test_many_at_once_give_the_same(folder, texts):
    with ThreadPoolExecutor(6) as pool:
        corpora = list(pool.map(lambda _: read_documents(texts, n_jobs=1), range(6)))
    for corpus in corpora:
        assert_same(corpus, corpora[0])
    assert len(list(cache_folder().iterdir())) == 1


def test_the_least_recently_used_go_when_it_is_full(folder, texts, monkeypatch):
    for n in range(3):
        read_documents([*texts, f"The dog {n}."], n_jobs=1)
    size = cache_size()
    monkeypatch.setattr(count_cache, "LARGEST", size)
    read_documents([*texts, "The dog 0."], n_jobs=1)  # used again, so it stays
    read_documents([*texts, "The dog 3."], n_jobs=1)
    assert cache_size() <= size
    said: list[str] = []
    read_documents([*texts, "The dog 0."], n_jobs=1, say=said.append)
    assert any("read from the cache" in line for line in said)


def test_its_size_is_shown_and_it_can_be_cleared(folder, texts, capsys):
    assert clear_cache() == 0
    read_documents(texts, n_jobs=1)
    assert f"MB of counted texts in {cache_folder()}." in run(capsys, "cache").out.replace("\n", "")
    assert "removed from" in run(capsys, "cache", "--clear").out
    assert cache_size() == 0
