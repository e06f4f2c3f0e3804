"""Two thousand hostile inputs from a fixed seed, and past failures: no internal error, no long wait."""

from __future__ import annotations

import random
import time
from contextlib import suppress

import pytest

from superwords import Corpus
from superwords.errors import InputError
from superwords.search.terms import LONGEST_QUERY, find_words
from superwords.text.phrases import Method
from superwords.text.sources import open_documents
from superwords.text.stream import read_chunk

PIECES = [
    "a",
    "A.",
    "@",
    "a@b",
    "-",
    "--",
    "'",
    "’",
    "’s",
    "&",
    "&amp;",
    "&#x41;",
    "&#xD800;",
    "<",
    "<p>",
    "</p",
    "<!--",
]
PIECES += [
    "-->",
    "<script>",
    "http://",
    "www.",
    ".",
    "...",
    "!?",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\0",
    "\x1b",
    "\x85",
    "\u2028",
]
PIECES += [
    "\u0301",
    "\u200d",
    "\u200c",
    "\u200b",
    "\u202e",
    "\ufeff",
    "\ufffd",
    "\ud800",
    "\udfff",
    "ﷺ",
    "ﬁ",
    "İ",
    "ß",
    "ǅ",
]
PIECES += [
    "1",
    "1.",
    "1e999",
    "٣",
    "²",
    "Ⅷ",
    "人",
    "です",
    "ก",
    "اَ",
    "שׁ",
    "हि",
    "한",
    "😀",
    "👩‍👩‍👧",
    "𝒜",
    "\U000e0001",
    "_",
    "#",
]
PIECES += [
    '"',
    ",",
    ";",
    "{",
    "}",
    "[",
    "]",
    "\\",
    "\\ud83d",
    "null",
    "NaN",
    "text",
    "id",
    "The dog",
    "house of",
    "ſ",
    "0" * 60,
]
LANGUAGES = ("en", "de", "nl", "fr", "tr", "el", "ar", "hi", "none")
# Each of these once broke reading or took seconds.
PAST = [
    "a" * 4000,
    "a@" * 2000,
    "-" * 40_000,
    "." * 40_000,
    "<!--" * 5000,
    "Sta\u0308dte",
    "&nbsp;" * 5000,
    "\ud83d dog",
]
PAST += [
    "x\u0301" * 5000,
    "ACGT" * 2500,
    "l'" * 5000,
    "1." * 5000,
    "(" * 5000,
    "&amp;" * 5000,
    "\u0301dog",
    "'s 's",
    "A.B.C." * 900,
]


def hostile(rng, size):
    """A text of about `size` characters: pieces in any order, a piece again and again, or both."""
    few = rng.sample(PIECES, rng.randint(1, 12))
    times = rng.choice([1, 1, 2, 40])
    out = ""
    while len(out) < size:
        out += rng.choice(few) * rng.randint(1, times)
    return out[:size]


def check_time(start, size, what):
    seconds = time.process_time() - start
    assert seconds <= max(0.5, size / 1024), (seconds, what[:80])


@pytest.fixture(scope="module", autouse=True)
def warm():
    read_chunk((["Warm up."] * len(LANGUAGES), LANGUAGES), Method("plain"))
    read_chunk((["Warm up."] * 3, ["en", "de", "nl"]), Method("content"))


@pytest.mark.parametrize("part", range(4))
def test_hostile_texts(part):
    rng = random.Random(part)
    for n in range(350):
        code = LANGUAGES[n % len(LANGUAGES)]
        text = hostile(rng, rng.choice([3, 60, 1024]))
        method = Method("content" if code in ("en", "de", "nl") else rng.choice(["plain", "ngrams"]))
        start = time.process_time()
        stream = read_chunk(([text], [code]), method)
        check_time(start, len(text), text)
        assert stream.n_documents == 1


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.txt", "x.json", "x.tsv", "x.md"])
def test_hostile_files(tmp_path, name):
    rng = random.Random(name)
    for _ in range(75):
        text = hostile(rng, rng.choice([0, 20, 300]))
        content = text.encode("utf-8", rng.choice(["surrogatepass", "replace"]))
        if rng.random() < 0.3:
            content = bytes(rng.randrange(256) for _ in range(50)) + content
        (tmp_path / name).write_bytes(content)
        start = time.process_time()
        with suppress(InputError):
            list(open_documents(tmp_path / name).texts)
        check_time(start, len(content), repr(content))


def test_hostile_queries():
    corpus = Corpus.from_texts(["The dog saw a cat.", "One cat slept near a dog."], min_df=2, n_jobs=1)
    rng = random.Random(5)
    for _ in range(150):
        query = hostile(rng, rng.choice([5, 500]))
        start = time.process_time()
        assert find_words(corpus, query).min() >= 0
        check_time(start, len(query), query)
    with pytest.raises(InputError, match="The query has"):
        find_words(corpus, "a" * (LONGEST_QUERY + 1))


@pytest.mark.parametrize("text", PAST, ids=range(len(PAST)))
def test_past_failures(text):
    for code in ("en", "de", "fr"):
        start = time.process_time()
        corpus = Corpus.from_texts([f"{text} dog Hund chien", "dog Hund chien"], language=code, min_df=2, n_jobs=1)
        check_time(start, len(text), text)
        assert corpus.n_words
