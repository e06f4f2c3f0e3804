"""A text that is read in the wrong language is noticed, and no other."""

from __future__ import annotations

import gzip
import json
import random
import re
import unicodedata
from pathlib import Path

import pytest

from superwords import Corpus
from superwords.errors import ReadingWarning
from superwords.text.languages import doubtful_language
from superwords.text.read import read_documents

DATA = Path(__file__).parents[2] / "shared" / "data"
GERMAN = ["Der Hund und die Katze sind nicht in dem Haus, das wir hinter dem Garten sehen."] * 20
FUNCTION_WORDS = frozenset(re.split(" ", "на або не кожна має کو کے میں کا ہے اور سے έχει ή είναι επίσης"))
ENGLISH = ["The dog and the cat are not in the house that we see behind the garden."] * 20


def test_german_read_as_english_is_warned_of_with_the_option_that_is_right():
    message = r"The texts look like German \(de\), not English \(en\): give the language de \(--language de\)\."
    with pytest.warns(ReadingWarning, match=message) as told:
        read_documents(GERMAN, n_jobs=1)
    assert {warning.filename for warning in told} == {__file__}
    with pytest.warns(ReadingWarning) as caught:
        read_documents(GERMAN, language="de", n_jobs=1)
    assert not any("texts look like" in str(one.message) for one in caught)


def test_each_document_is_judged_by_its_own_language():
    assert doubtful_language(GERMAN + ENGLISH, ["de"] * 20 + ["en"] * 20) is None
    mixed = doubtful_language(GERMAN + ENGLISH, "en")
    assert "of the words) look like German (de), not English (en)" in mixed
    assert "column:NAME" in mixed
    assert "look like German" in doubtful_language(GERMAN, ["en"] * 20)


def test_too_little_text_and_no_language_are_not_judged():
    assert doubtful_language(GERMAN[:3], "en") is None
    assert doubtful_language(GERMAN, "none") is None
    assert doubtful_language([""] * 100, "en") is None
    assert doubtful_language(["Bonn Berlin Ulm Köln Trier Kiel"] * 100, "en") is None


def test_decomposed_unicode_is_judged_as_it_is_read():
    text = "Mọi người đều có quyền sống, tự do và an toàn cá nhân, và không ai bị bắt làm nô lệ cả."
    assert doubtful_language([unicodedata.normalize("NFD", text)] * 20, "vi") is None


@pytest.mark.parametrize(
    ("language", "text", "words"),
    [
        ("uk", "Кожна людина має право на свободу, або на захист, і не боїться.", {"свободу", "захист"}),
        ("ur", "ہر شخص کو اس کے حقوق میں آزادی کا حق ہے اور یہ سے", {"شخص", "حقوق", "آزادی", "حق"}),
        ("el", "Ο άνθρωπος έχει δικαίωμα ή είναι ελεύθερος επίσης.", {"άνθρωπος", "δικαίωμα", "ελεύθερος"}),
    ],
)
def test_function_words_are_stop_words(language, text, words):
    found = set(Corpus.from_texts([text] * 2, language=language, min_df=1, n_jobs=1).vocabulary)
    assert words <= found
    assert not found & FUNCTION_WORDS


FILES = {"cranfield": "text", "cranfield ": "title", "convention2012": "text", "lee": "text"}
FILES |= {"congress_health_2017": "text", "congress_health_2017_speeches": "title"}
FILES |= {"debian_packages": "text", "debian_packages ": "title", "recipes_en_de": "text"}


@pytest.mark.parametrize("name", FILES)
def test_no_shared_corpus_is_doubted_in_its_own_language(name):
    path = DATA / f"{name.strip()}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is not there")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    column = FILES[name]
    for n in (5, 30, 200):
        some = random.Random(n).sample(rows, min(n, len(rows)))
        texts = [row[column] for row in some]
        assert doubtful_language(texts, [row.get("lang", "en") for row in some]) is None
        if n == 200:
            wrong = doubtful_language(texts, "fr")
            assert wrong is not None
            assert "not French (fr)" in wrong
