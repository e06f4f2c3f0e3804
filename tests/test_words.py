"""Words: sentences, tokens, tags, noun phrases, their folding and back-off, procedural words."""

from __future__ import annotations

import sys
from functools import partial
from itertools import pairwise
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from HanTa.HanoverTagger import HanoverTagger

from superwords.errors import InputError
from superwords.text.corpus import Corpus
from superwords.text.phrases import CAN_END, CAN_START, NEW_RUN, STOP, WEAK_START, Method
from superwords.text.sentences import sentence_spans, tokens
from superwords.text.stream import TokenStream, read_chunk
from superwords.text.tagging import HANTA_MODELS, FastHanTa, make_tagger
from superwords.text.vocabulary import apply_words, can_be_word

CARE = [
    "The health care reform helps seniors in the doughnut hole. Premiums fell.",
    "Senators wrote the Affordable Care Act. The health care reform lowers every premium.",
    "The Affordable Care Act closes the doughnut hole for a senior. Women's health improves.",
    "Critics of the Affordable Care Act fear a higher premium. The health care reform hurts women's health.",
]


def sentences_of(text, language="en"):
    return [text[start:end].strip() for start, end in sentence_spans(text, language)]


def counts_of(corpus, word):
    return corpus.counts[:, [corpus.vocabulary.index(word)]].toarray()[:, 0].tolist()


def test_sentences_end_at_marks_but_not_at_abbreviations_or_wrapped_lines():
    assert sentences_of('Mr. Smith met Sen. J. Doe at 3 p.m. on Monday! Did he? "Yes." Fine.') == [
        "Mr. Smith met Sen. J. Doe at 3 p.m. on Monday!",
        "Did he?",
        '"Yes."',
        "Fine.",
    ]
    assert sentences_of("Am 3. Oktober kam z.B. Dr. Müller. Er ging.", "de") == [
        "Am 3. Oktober kam z.B. Dr. Müller.",
        "Er ging.",
    ]
    wrapped = "A line that is wrapped where a mail programme wraps, with about seventy\nCharacters each. Next."
    assert len(sentences_of(wrapped)) == 2
    assert sentences_of("Zutaten\n- Mehl\n- Zucker\n\nTeig kneten", "de") == [
        "Zutaten",
        "- Mehl",
        "- Zucker",
        "Teig kneten",
    ]
    assert sentences_of("") == sentences_of(" \n ") == []


def test_sentences_of_lower_case_texts_end_at_marks_that_stand_alone():
    assert sentences_of("the lift of a wing . it grows with e.g. speed ? (it does .) we saw ... it .") == [
        "the lift of a wing .",
        "it grows with e.g. speed ?",
        "(it does .)",
        "we saw ... it .",
    ]
    assert sentences_of("Names that hold | or . characters.") == ["Names that hold | or . characters."]
    wings = Corpus.from_texts(
        ["a wing met a wing . the wing fell . a jet ."], min_df=1, unit="passages:1", words="phrases"
    )
    assert wings.counts.toarray().tolist() == [[0, 2], [0, 1], [1, 0]]


def test_tokens_split_clitics_and_leave_addresses_out():
    assert tokens("Don't the women’s U.S. clinics (www.x.org) help Mr. O'Neil?", "en") == [
        *("Do", "n't", "the", "women", "'s", "U.S.", "clinics", "("),
        *("help", "Mr", "O'Neil", "?"),
    ]


@pytest.mark.parametrize(
    ("language", "sentence"),
    [
        ("en", "Mr President , the so-called Zorkmid reforms did n't help Oregon 's seniors in 2017 !"),
        ("de", "Die gerührten Eier mit den Zwiebelwürfeln in der heißen Quarktaschenpfanne schwenken ."),
    ],
)
def test_fast_tagging_is_hanta_tagging(language, sentence):
    slow, fast = HanoverTagger(HANTA_MODELS[language]), FastHanTa(HANTA_MODELS[language])
    for n in range(1, len(sentence.split()) + 1):
        part = sentence.split()[-n:]
        assert fast.tag_sent(part, taglevel=0) == slow.tag_sent(part, taglevel=0)


def test_odd_strings_are_tagged_without_an_error():
    rng = np.random.default_rng(0)
    letters = list("abXY äß.,!?'\"-–()0123\n’“&@#中ع\u00ad\u200b…")
    for language in ("en", "de"):
        texts = ["".join(rng.choice(letters, size=60)) for _ in range(100)]
        stream = read_chunk((texts, [language] * len(texts)), Method())
        assert stream.n_documents == 100


def test_noun_phrases_and_names_are_words():
    corpus = Corpus.from_texts(CARE, min_df=2)
    assert {"health care reform", "affordable care act", "doughnut hole", "women's health"} <= set(corpus.vocabulary)
    assert corpus.vocabulary == sorted(corpus.vocabulary)
    assert not {"helps", "the", "lowers", "wrote", "act", "hole"} & set(corpus.vocabulary)
    assert counts_of(corpus, "health care reform") == [1, 1, 0, 1]


def test_verbs_and_adjectives_are_words_behind_noun_phrases():
    texts = ["They repealed the bad law.", "Repealing a bad law is bad.", "Bad: they repealed it."]
    corpus = Corpus.from_texts(texts, min_df=2)
    assert corpus.vocabulary == ["bad", "bad law", "repealed"]
    assert corpus.counts.toarray().tolist() == [[0, 1, 1], [1, 1, 1], [1, 0, 1]]
    assert corpus.notes["other_words"] == ["bad", "repealed"]
    assert Corpus.from_texts(texts, min_df=2, words="phrases").vocabulary == ["bad law"]
    again = Corpus.from_texts(texts, vocabulary=corpus.vocabulary)
    assert again.counts.toarray().tolist() == corpus.counts.toarray().tolist()


def test_plurals_fold_into_the_most_frequent_form():
    corpus = Corpus.from_texts(CARE, min_df=2)
    assert "premium" in corpus.vocabulary
    assert "premiums" not in corpus.vocabulary
    assert counts_of(corpus, "premium")[:2] == [1, 1]
    lemmas = Corpus.from_texts(["Two dogs ran.", "Many dogs slept.", "A dog ate."], min_df=3, lemmas=True)
    assert lemmas.vocabulary == ["dog"]
    surfaces = Corpus.from_texts(["Two dogs ran.", "Many dogs slept.", "A dog ate."], min_df=3)
    assert surfaces.vocabulary == ["dogs"]


@pytest.mark.parametrize(
    ("language", "forms"),
    [
        ("en", "businesses business aides aide families family crises crisis lives life taxes tax women woman"),
        ("en", "news news politics politics texas texas congress congress diabetes diabetes people people"),
        ("de", "zwiebeln zwiebel eiern ei häuser haus deutschlands deutschland paris paris texas texas"),
        ("nl", "bedrijven bedrijf huizen huis katten kat kinderen kind problemen probleem steden stad"),
    ],
)
def test_base_forms(language, forms):
    tagger = make_tagger(language)
    given, expected = forms.split()[::2], forms.split()[1::2]
    assert [tagger.base(form, "noun") for form in given] == expected


def test_spelling_variants_are_one_word():
    texts = ["The health care failed.", "Our health care fell.", "Her health care grew."]
    texts += ["The healthcare failed.", "Her health-care grew."]
    assert counts_of(Corpus.from_texts(texts, min_df=3), "health care") == [1, 1, 1, 1, 1]
    variants = [f"Her {word} conditions worsened." for word in ("preexisting", "pre-existing", "preexisting")]
    assert "preexisting conditions" in Corpus.from_texts(variants, min_df=3).vocabulary


def test_a_rare_phrase_gives_way_to_its_frequent_parts():
    texts = ["The tax reform passed."] * 3 + ["The tax credit expired."] * 3 + ["A bold tax reform credit came."]
    corpus = Corpus.from_texts(texts, min_df=3, words="phrases")
    assert corpus.vocabulary == ["tax credit", "tax reform"]
    assert counts_of(corpus, "tax reform") == [1, 1, 1, 0, 0, 0, 1]


def test_a_piece_of_a_longer_phrase_is_no_word():
    acts = [f"The Affordable Care Act {verb} millions." for verb in ("helped", "reached", "covered", "saved")]
    care = ["Good care helps.", "The act passed.", "Our care failed.", "An act came."]
    words = Corpus.from_texts(acts + care, min_df=2).vocabulary
    assert "affordable care act" in words
    assert not {"affordable care", "care act"} & set(words)
    states = [f"They left the State of New {name}." for name in ("York", "Jersey", "Mexico", "York", "Jersey")]
    states += ["The State of Texas grew.", "Ohio is a State of farmers.", "New Jersey won."]
    words = Corpus.from_texts(states, min_df=2).vocabulary
    assert not [word for word in words if word.endswith("of new")]
    assert any(word.endswith("new jersey") for word in words)


def test_a_name_begins_at_its_first_capital():
    texts = [f"The nonpartisan Congressional Budget Office {verb} it." for verb in ("scored", "read", "saw")]
    corpus = Corpus.from_texts([*texts, "The Congressional Budget Office wrote."], min_df=3)
    assert "congressional budget office" in corpus.vocabulary
    assert not any("nonpartisan congressional" in word for word in corpus.vocabulary)
    older = [f"Many older Americans {verb}." for verb in ("voted", "worked", "moved")]
    assert "older americans" in Corpus.from_texts(older, min_df=3).vocabulary


def test_an_ordinal_belongs_to_a_close_phrase_only():
    filler = [f"The {noun} of the town {verb}." for noun in ("mayor", "bridge") for verb in ("fell", "rose")]
    texts = [f"The first lady {verb} last week." for verb in ("spoke", "sang", "left")]
    texts += [f"The week {verb}." for verb in ("began", "ended", "passed")]
    words = Corpus.from_texts(texts + filler, min_df=3).vocabulary
    assert "first lady" in words
    assert "lady" not in words
    assert "last week" not in words


def test_every_word_is_in_min_df_documents_as_counted():
    texts = ["The school board met.", "The school board voted.", "The school opened.", "A board broke."]
    corpus = Corpus.from_texts(texts, min_df=2)
    document_frequency = (corpus.counts > 0).sum(axis=0)
    assert (document_frequency >= 2).all()
    assert "school board" in corpus.vocabulary
    share = Corpus.from_texts(texts, min_df=0.5)
    assert share.vocabulary == corpus.vocabulary
    assert share.notes["min_df"] == 2


def naive_cut(keys, flags, known):
    """Run by run: take the longest known word, of equals the first listed, of one word the last, then do the
    same left and right.
    """

    def split(start, end):
        for length in range(end - start, 0, -1):
            for word in known:
                for begin in range(end - length, start - 1, -1):
                    joined = "".join(keys[begin : begin + length])
                    if joined == word and can_be_word(flags, np.array([begin]), length)[0]:
                        return [*split(start, begin), (begin, length, joined), *split(begin + length, end)]
        return []

    starts = [*np.flatnonzero(flags & NEW_RUN), len(keys)]
    return [word for a, b in pairwise(starts) for word in split(int(a), int(b))]


def test_cutting_agrees_with_a_naive_twin():
    rng = np.random.default_rng(3)
    known = ["a", "b", "dd", "bc", "ab", "cab", "abcd", "aa"]
    for _ in range(200):
        size = int(rng.integers(1, 25))
        keys = rng.choice(list("abcd"), size=size).tolist()
        flags = np.where(rng.random(size) < 0.8, CAN_START | CAN_END, rng.choice([CAN_START, STOP, WEAK_START]))
        flags = (flags | np.where(rng.random(size) < 0.2, NEW_RUN, 0)).astype(np.uint8)
        flags[0] |= NEW_RUN
        names = sorted(set(keys))
        stream = TokenStream(
            [(k, k, k) for k in names],
            np.array([names.index(k) for k in keys], np.int32),
            flags,
            *(np.zeros(1, np.int32),) * 5,
            {},
        )
        cut = apply_words(stream, known, 5)
        found = sorted((int(s), int(n), known[u]) for s, n, u in zip(cut.start, cut.length, cut.unit, strict=True))
        assert found == sorted(naive_cut(keys, flags, known))


def test_german_and_dutch_nouns():
    german = ["Die roten Zwiebeln schälen.", "Eine rote Zwiebel würfeln.", "Zwiebel und Butter in die Pfanne geben."]
    corpus = Corpus.from_texts([*german, "Butter in der Pfanne schmelzen."], language="de", min_df=2)
    assert corpus.vocabulary == ["Butter", "Pfanne", "rote Zwiebel"]
    assert counts_of(corpus, "rote Zwiebel") == [1, 1, 0, 0]
    dutch = ["Kleine bedrijven betalen belasting.", "De regering verhoogt de belasting voor kleine bedrijven."]
    assert Corpus.from_texts(dutch, language="nl", min_df=2).vocabulary == ["belasting", "kleine bedrijf"]


CITIES = [
    "Die Städte Deutschlands brauchen Geld. In den Städten wohnen Familien.",
    "Deutschland hat große Städte. Die Familie in der großen Stadt.",
    "Große Städte in Deutschland. Die EU-Staaten und die SPD helfen.",
    "Die EU-Staaten zahlen. Die SPD fragt eine Familie.",
]


def test_german_words_are_base_forms_with_the_capitals_of_the_text():
    options = {"language": "de", "min_df": 2, "n_jobs": 1}
    corpus = Corpus.from_texts(CITIES, **options)
    assert corpus.vocabulary == ["Deutschland", "EU-Staat", "Familie", "SPD", "große Stadt"]
    assert counts_of(corpus, "Deutschland") == [1, 1, 1, 0]
    as_written = Corpus.from_texts(CITIES, **options, lemmas=False).vocabulary
    assert as_written == ["Deutschland", "EU-Staaten", "Familie", "SPD", "große Städte"]
    plain = Corpus.from_texts(CITIES, **options, words="plain")
    assert {"Deutschland", "EU-Staat", "SPD", "Stadt"} <= set(plain.vocabulary)
    assert counts_of(plain, "Stadt") == [2, 2, 1, 0]
    assert Corpus.from_texts(CITIES, **options, drop=["deutschlands", "STADT"]).vocabulary == [
        *("EU-Staat", "Familie", "SPD", "große Stadt")
    ]
    again = Corpus.from_texts(CITIES, recipe=corpus.notes["recipe"], n_jobs=1)
    assert (again.counts != corpus.counts).nnz == 0


def test_documents_of_several_languages():
    texts = ["Chop the onions.", "Fry the onions.", "Zwiebeln hacken.", "Die Zwiebeln braten."]
    corpus = Corpus.from_texts(texts, language=["en", "en-US", "de", "de"], min_df=2)
    assert corpus.vocabulary == ["Zwiebel", "onions"]


def test_plain_words_and_ngrams_of_any_language():
    texts = ["Le chat mange la souris grise.", "La souris grise voit le chat.", "Un chien voit le chat noir."]
    as_written = Corpus.from_texts(texts, language="fr", min_df=2, lemmas=False)
    assert as_written.vocabulary == ["chat", "grise", "souris", "voit"]
    pairs = Corpus.from_texts(texts, language="fr", min_df=2, words="ngrams:2")
    assert pairs.vocabulary == ["chat", "souris grise", "voit"]
    everything = Corpus.from_texts(texts, language="none", min_df=3, words="plain")
    assert everything.vocabulary == ["chat", "le"]


def test_max_df_and_dropped_words(tmp_path):
    texts = ["The dog saw a cat.", "The dog saw a cow.", "The dog met a cat and a cow."]
    assert Corpus.from_texts(texts, min_df=2, max_df=2).vocabulary == ["cat", "cow"]
    assert Corpus.from_texts(texts, min_df=2, max_df=0.7).vocabulary == ["cat", "cow"]
    assert Corpus.from_texts(texts, min_df=2, drop=["DOG"]).notes["pruned"]["dropped"] == ["dog"]
    (tmp_path / "drop.txt").write_text("cat\n\ncow\n", encoding="utf-8")
    assert Corpus.from_texts(texts, min_df=2, drop=tmp_path / "drop.txt").vocabulary == ["dog"]


def procedural_speeches():
    subjects = ["farms", "schools", "roads", "rivers", "taxes", "banks", "ports", "forests", "trains", "clinics"]
    verbs = ["help", "need", "hurt", "shape", "feed"]
    speeches = []
    for n, subject in enumerate(subjects):
        other = subjects[(n + 1) % len(subjects)]
        body = " ".join(f"Number {k}: {subject} {verb} {other} in town." for k, verb in enumerate(verbs))
        speeches.append(f"Mr. Speaker, I rise today on {subject}. {body} I yield back the remainder of my time.")
    return speeches


def test_procedural_words_are_reported_and_dropped_on_request():
    speeches = procedural_speeches()
    corpus = Corpus.from_texts(speeches, min_df=2)
    assert {"mr speaker", "remainder"} <= set(corpus.notes["procedural"])
    assert "mr speaker" in corpus.vocabulary
    assert not {"farms", "schools", "banks"} & set(corpus.notes["procedural"])
    without = Corpus.from_texts(speeches, min_df=2, drop_procedural=True)
    assert set(without.vocabulary) == set(corpus.vocabulary) - set(corpus.notes["procedural"])
    assert "speaker" not in without.vocabulary


def test_an_error_names_the_option_that_dropped_every_word():
    read = partial(Corpus.from_texts, ["Mr. Speaker, the gentleman yields."] * 20, min_df=2, n_jobs=1)
    with pytest.raises(InputError, match=r"^All 2 words found were dropped; leave out drop_procedural\.$"):
        read(words="phrases", drop_procedural=True)
    with pytest.raises(InputError, match=r"dropped; give a shorter list of words to drop\.$"):
        read(drop=read().vocabulary)


def test_no_words_are_procedural_where_nothing_is_ritual():
    own_words = [
        s.replace("Mr. Speaker, I rise today on", f"Case {n} tells of") for n, s in enumerate(procedural_speeches())
    ]
    own_words = [s.replace("I yield back the remainder of my time.", "") for s in own_words]
    assert Corpus.from_texts(own_words, min_df=2).notes["procedural"] == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"language": "english"}, "The language 'english' is not a code"),
        ({"words": "verbs"}, "words='verbs' is not known"),
        ({"words": "ngrams:0"}, "words='ngrams:0' is not known"),
        ({"unit": "pages"}, "unit='pages' is not known"),
        ({"min_df": 0}, "min_df=0 is not possible"),
        ({"min_df": 9}, "min_df=9 is more than the 4 documents"),
        ({"max_df": -0.5}, "max_df=-0.5 is not possible"),
        ({"tagger": "treetagger"}, "no tagger 'treetagger'"),
        ({"language": "fr", "words": "phrases"}, "HanTa tags de, en, nl but not 'fr'"),
        ({"language": "bn", "lemmas": True}, "HanTa tags de, en, nl but not 'bn'"),
        ({"tokenizer": "jieba"}, "tokenizer='jieba' cannot be called"),
        ({"language": "km"}, r"Khmer \(km\) is written without spaces"),
        ({"drop": "/no/such/file"}, "cannot be read"),
        ({"min_df": 2, "max_df": 1}, r"words found were dropped; give a higher max_df\.$"),
        ({"recipe": {"format": 99}}, "format 99"),
        ({"language": ["en"]}, "1 languages for 4 documents"),
    ],
)
def test_wrong_options_are_told_in_one_sentence(options, message):
    with pytest.raises(InputError, match=message) as caught:
        Corpus.from_texts(CARE, **options)
    assert "\n" not in str(caught.value)


def test_nobody_to_read_is_told_in_one_sentence():
    with pytest.raises(InputError, match="n_jobs=0 is not a number of cores"):
        Corpus.from_texts(CARE, n_jobs=0)


def test_texts_without_a_common_word_are_told_in_one_sentence():
    with pytest.raises(InputError, match="No word is in at least 2 of the 2 documents"):
        Corpus.from_texts(["A dog ran.", "The cat slept."])


@pytest.mark.parametrize("texts", [["Thank you. Thank you so much."] * 2, ["", ""]])
@pytest.mark.parametrize(
    ("words", "said"), [("phrases", "There is no noun or name in the 2 documents"), ("plain", "but stop words")]
)
def test_texts_without_any_word_are_told_in_one_sentence(texts, words, said):
    with pytest.raises(InputError, match=said):
        Corpus.from_texts(texts, words=words)


@pytest.mark.parametrize("unit", ["document", "passages:5"])
@pytest.mark.parametrize("texts", [["Thank you. Thank you so much."], ["", ""]])
def test_texts_without_any_word_are_empty_rows_where_words_are_known(texts, unit):
    known = Corpus.from_texts(CARE, min_df=1)
    for how in ({"recipe": known.notes["recipe"]}, {"vocabulary": known.vocabulary}):
        corpus = Corpus.from_texts(texts, unit=unit, **how)
        assert corpus.counts.shape == (len(texts), known.n_words)
        assert corpus.n_tokens == 0
        assert corpus.texts == texts


def test_spacy_that_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(InputError, match=r"install the extra superwords\[spacy\]"):
        Corpus.from_texts(CARE, tagger="spacy:en_absent")


def test_a_spacy_pipeline_is_used_when_named(monkeypatch):
    parts = {"cats": ("NOUN", "cat"), "cat": ("NOUN", "cat"), "grey": ("ADJ", "grey"), "Rome": ("PROPN", "Rome")}

    def tag(words):
        return [
            SimpleNamespace(text=w, pos_=parts.get(w, ("X", w))[0], tag_="", lemma_=parts.get(w, ("X", w))[1])
            for w in words
        ]

    class Pipeline:
        vocab = None

        def __call__(self, document):
            return document

    spacy, spacy_tokens = ModuleType("spacy"), ModuleType("spacy.tokens")
    spacy.load = lambda name: Pipeline()
    spacy_tokens.Doc = lambda vocab, words: tag(words)
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    monkeypatch.setitem(sys.modules, "spacy.tokens", spacy_tokens)
    make_tagger.cache_clear()
    texts = ["Some grey cats in Rome sit.", "One grey cat in Rome sits."]
    corpus = Corpus.from_texts(texts, min_df=2, tagger="spacy:fake", n_jobs=1)
    make_tagger.cache_clear()
    assert corpus.vocabulary == ["grey cat", "rome"]


def test_nouns_with_a_meaning_stay_although_they_are_stop_words():
    texts = [
        "The states decide about Medicaid. He states the fact.",
        "My state pays for Medicaid. They state the fact.",
    ]
    words = Corpus.from_texts(texts, min_df=1).vocabulary
    assert "states" in words or "state" in words
    assert not {"fact", "facts"} & set(words)
    plain = Corpus.from_texts(texts, min_df=1, words="plain").vocabulary
    assert not {"state", "states"} & set(plain)


def test_a_german_noun_is_called_as_written_where_its_base_form_is_a_guess():
    """HanTa takes "Knoblauchzehe" for a plural of "Knoblauchzeh"; both spellings are still one word."""
    texts = ["Die Alufolie und zwei Knoblauchzehen.", "Eine Knoblauchzehe, Alufolie und Kürbiskerne."] * 2
    corpus = Corpus.from_texts([*texts, "Drei Knoblauchzehen und Kürbiskerne."], language="de", min_df=2)
    assert sorted(corpus.vocabulary) == ["Alufolie", "Knoblauchzehen", "Kürbiskern"]
    assert corpus.counts[:, corpus.vocabulary.index("Knoblauchzehen")].sum() == 5
    new = Corpus.from_texts(["Eine Knoblauchzehe."], recipe=corpus.notes["recipe"])
    assert new.counts.sum() == 1
