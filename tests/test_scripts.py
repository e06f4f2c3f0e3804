"""Text of every script is cut into the words that its readers see, in linear time."""

from __future__ import annotations

import gzip
import json
import re
import sys
import time
import unicodedata
from collections import Counter, defaultdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest

from superwords import Corpus
from superwords.errors import InputError
from superwords.text.phrases import Method
from superwords.text.sentences import SEGMENTERS, clean_text, segmenter, sentence_spans, tokens
from superwords.text.stream import read_chunk

UDHR = Path(__file__).parents[2] / "shared" / "data" / "udhr.jsonl.gz"
WITHOUT_SPACES = ("ja", "th", "zh")
LANGUAGES = """am ar bn de el en es fa fi fr he hi hu it ja ko mr nl pl pt ru ta th tr uk ur vi zh"""
_INSIDE = re.compile("[-'’:·\u200c\u200d\u02bc]")


@cache
def declarations():
    if not UDHR.exists():
        pytest.skip(f"{UDHR} is not there")
    found = defaultdict(list)
    with gzip.open(UDHR, "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            found[row["language"]].append(clean_text(row["text"]))
    return found


def words_of(text, language):
    """Our words, cut at what other tokenizers cut at too."""
    found = [w for a, b in sentence_spans(text, language) for w in tokens(text[a:b], language)]
    return [part for w in found if w[0].isalnum() for part in _INSIDE.split(w.lower()) if part.strip(".")]


def naive_words(text):
    """Runs of letters, digits and their marks, one character after the other."""
    cut = [c if unicodedata.category(c)[0] in "LMN" else " " for c in text.lower()]
    return "".join(cut).split()


def icu_words(text, language):
    icu = pytest.importorskip("icu", reason="PyICU is not installed")
    breaks, held = icu.BreakIterator.createWordInstance(icu.Locale(language)), icu.UnicodeString(text)
    breaks.setText(held)
    found, start = [], breaks.first()
    for end in breaks:
        if breaks.getRuleStatus() >= 100:
            found.append(str(held[start:end]))
        start = end
    return found


@pytest.mark.parametrize("language", [code for code in LANGUAGES.split() if code not in WITHOUT_SPACES])
@pytest.mark.parametrize("other", ["naive", "icu"])
def test_words_of_the_declaration_of_human_rights(language, other):
    ours, theirs = Counter(), Counter()
    for text in declarations()[language]:
        ours.update(words_of(text.replace("İ", "i"), language))
        native = naive_words(text) if other == "naive" else icu_words(text, language)
        theirs.update(part for word in native for part in _INSIDE.split(word.lower()) if part)
    assert theirs.total() > 900
    assert (ours & theirs).total() >= 0.95 * theirs.total()


def spans_of(words, text):
    at, found = 0, []
    for word in words:
        begin = text.find(word, at)
        if begin >= 0:
            found.append((begin, begin + len(word)))
            at = begin + len(word)
    return found


def is_compatible(word, ours):
    """Whether a word is made of whole words of ours, or is inside of one."""
    over = [span for span in ours if span[0] < word[1] and span[1] > word[0]]
    is_whole = bool(over) and over[0][0] >= word[0] and over[-1][1] <= word[1]
    return is_whole or (len(over) == 1 and over[0][0] <= word[0] and word[1] <= over[0][1])


@pytest.mark.parametrize("language", WITHOUT_SPACES)
def test_words_of_languages_without_spaces(language):
    pytest.importorskip(SEGMENTERS[language])
    n_words = n_characters = n_same = n_theirs = n_right = n_ends = 0
    for text in declarations()[language]:
        cut = [w for a, b in sentence_spans(text, language) for w in tokens(text[a:b], language)]
        assert "".join("".join(cut).split()) == "".join(text.split())
        ours = [word for word in cut if word[0].isalnum()]
        n_words, n_characters = n_words + len(ours), n_characters + sum(map(len, ours))
        if find_spec("icu"):
            theirs = spans_of(icu_words(text, language), text)
            found = spans_of(ours, text)
            n_same += sum(is_compatible(word, found) for word in theirs)
            n_theirs += len(theirs)
            ends, their_ends = ({end for _, end in spans} for spans in (found, theirs))
            n_ends, n_right = n_ends + len(ends), n_right + len(ends & their_ends)
    assert 1.3 < n_characters / n_words < 6
    assert n_same >= 0.95 * n_theirs
    assert n_right >= 0.95 * n_ends


def test_a_segmenter_that_is_not_installed_is_named(monkeypatch):
    segmenter.cache_clear()
    monkeypatch.setitem(sys.modules, "jieba", None)
    with pytest.raises(InputError, match=r"needs jieba; install the extra superwords\[cjk\]"):
        Corpus.from_texts(["人权"], language="zh")
    segmenter.cache_clear()


def test_chinese_texts_become_a_corpus():
    pytest.importorskip("jieba")
    corpus = Corpus.from_texts(["人人有权享有生命。", "人人有生命、自由和人身安全。"], language="zh", min_df=2)
    assert "生命" in corpus.vocabulary


@pytest.mark.parametrize(
    ("language", "text", "n"),
    [
        ("zh", "人人平等。谁都有权！是吗？", 3),
        ("ja", "人は「自由である。」と言う。", 2),
        ("hi", "सब समान हैं। सब स्वतंत्र हैं॥", 2),
        ("ur", "سب برابر ہیں۔ کیوں؟ سب", 3),
        ("am", "ሰው፡ነጻ፡ነው። ሰው፡ነው።", 2),
        ("hy", "Բոլորը ազատ են։ Բոլորը։", 2),
        ("el", "Ποιος είναι; Εγώ.", 2),
        ("en", "Version 1.5 of x.py runs. It ran.", 2),
    ],
)
def test_sentences_end_at_the_marks_of_their_script(language, text, n):
    assert len(sentence_spans(text, language)) == n


@pytest.mark.parametrize(
    ("language", "texts", "words"),
    [
        ("es", ["Los derechos y las libertades.", "El derecho, la libertad."], ["derecho", "libertad"]),
        ("fr", ["Les écoles humaines.", "L'école, humain."], ["humain", "école"]),
        ("ru", ["Права и свободы.", "Право, свобода."], ["право", "свобода"]),
        ("fi", ["Ihmisten oikeuksien.", "Ihminen, oikeus."], ["ihminen", "oikeus"]),
        ("tr", ["İnsanların hakları.", "İnsan, hak."], ["hak", "insan"]),
    ],
)
def test_inflected_words_are_counted_by_their_lemma(language, texts, words):
    corpus = Corpus.from_texts(texts, language=language, min_df=2)
    assert set(words) <= set(corpus.vocabulary)
    as_written = Corpus.from_texts(texts, language=language, min_df=1, lemmas=False)
    assert set(words) != set(as_written.vocabulary)
    again = Corpus.from_texts(texts, recipe=corpus.notes["recipe"])
    assert (again.counts != corpus.counts).nnz == 0
    listed = Corpus.from_texts(texts, language=language, vocabulary=corpus.vocabulary)
    assert (listed.counts != corpus.counts).nnz == 0


def test_a_lemma_that_nobody_wrote_is_no_name():
    texts = ["La souris grise.", "Une souris grise et un chat gris."]
    assert Corpus.from_texts(texts, language="fr", min_df=2).vocabulary == ["grise", "souris"]
    hebrew = Corpus.from_texts(["זכויות האדם.", "האדם."], language="he", min_df=2)
    assert hebrew.vocabulary == ["האדם"]


def test_elided_articles_are_words_of_their_own_and_stop_words():
    assert tokens("Aujourd’hui l’école qu'il", "fr") == ["Aujourd'hui", "l'", "école", "qu'", "il"]
    assert tokens("dell'Italia, d'acqua", "it") == ["dell'", "Italia", ",", "d'", "acqua"]
    assert tokens("col·laborar, dona'm l'aigua", "ca") == ["col·laborar", ",", "dona", "'m", "l'", "aigua"]
    corpus = Corpus.from_texts(["L'école de l'hiver.", "Une école, d'hiver."], language="fr", min_df=2)
    assert corpus.vocabulary == ["hiver", "école"]


def test_spelling_variants_of_other_scripts_are_one_word():
    arabic = Corpus.from_texts(["كِتَابٌ جديد", "كتاب جديد"], language="ar", min_df=2)
    assert len(arabic.vocabulary) == 2
    persian = Corpus.from_texts(["کتاب‌ها", "کتابها"], language="fa", min_df=2)
    assert len(persian.vocabulary) == 1
    turkish = Corpus.from_texts(["İnsan hakları", "insan HAKLARI"], language="tr", min_df=2)
    assert turkish.vocabulary == ["hakları", "insan"]


def test_decomposed_text_entities_and_markup():
    assert tokens(clean_text("Sta\u0308dte"), "de") == ["Städte"]
    dirty = "<p>Fish &amp; chips.</p><p>Tea&nbsp;&amp;nbsp;time<br/>now</p><script>var x;</script><!-- no -->"
    clean = clean_text(dirty)
    assert clean.split() == ["Fish", "&", "chips.", "Tea", "time", "now"]
    assert len(sentence_spans(clean, "en")) == 3
    assert clean_text(clean) == clean
    assert clean_text("a <b and Vector<int> <me@x.org> 1 < 2 > 0") == "a <b and Vector<int> <me@x.org> 1 < 2 > 0"
    corpus = Corpus.from_texts([dirty, dirty], min_df=2)
    assert not {"amp", "nbsp", "p", "var"} & set(corpus.vocabulary)
    assert corpus.texts == [clean, clean]


def test_a_language_without_a_stop_word_list_is_read_with_none():
    corpus = Corpus.from_texts(["ყველა ადამიანი", "ყველა ადამიანი თანასწორია"], language="ka", min_df=2)
    assert corpus.vocabulary == ["ადამიანი", "ყველა"]


def test_a_tokenizer_of_ones_own():
    texts = ["tea|green tea|Milk. A cup", "green tea|milk"]
    corpus = Corpus.from_texts(texts, tokenizer=lambda sentence: sentence.strip().split("|"), min_df=2, n_jobs=1)
    assert corpus.vocabulary == ["green tea", "milk"]
    assert json.loads(json.dumps(corpus.notes["recipe"]))["tokenizer"].endswith("<lambda>")
    with pytest.raises(InputError, match="recipe= and tokenizer="):
        Corpus.from_texts(texts, recipe=corpus.notes["recipe"])
    again = Corpus.from_texts(texts, recipe=corpus.notes["recipe"], tokenizer=lambda s: s.split("|"))
    assert again.n_tokens > 0


def test_tokens_longer_than_words_are_skipped_and_counted():
    corpus = Corpus.from_texts(["A cat " + "x" * 5000, "cat"], min_df=2)
    assert corpus.vocabulary == ["cat"]
    assert corpus.notes["long_tokens"] == 1


HOSTILE = ["a", "a@", "-", ".", "a.b@", "<", "<!--", "&", "a-", "http://", "a'", "\n", "1.", "(a ", "<p ", "&amp"]
HOSTILE += ["x\u0301", "\u0301", "a.\n", "人", "ก", "<script", "@", "www.", "'", "’s", "A.", "0-", "\u200d", "&#"]


@pytest.mark.parametrize("language", ["en", "de"])
def test_reading_takes_linear_time(language):
    read_chunk((["Warm up."], [language]), Method())
    for part in HOSTILE:
        seconds = []
        for size in (5_000, 40_000):
            start = time.process_time()
            read_chunk(([part * (size // len(part))], [language]), Method())
            seconds.append(time.process_time() - start)
        assert seconds[1] < 24 * max(seconds[0], 0.04), (part, seconds)  # quadratic: 64 times
        assert seconds[1] < 20, (part, seconds)
