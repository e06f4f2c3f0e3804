"""`superwords transform` where the model's rows are passages: new documents are cut as its own were."""

import csv
import io
from functools import cache

import numpy as np
import pytest

from cli_for_tests import THEMES, loaded, run, write_documents
from models_for_tests import fit
from superwords import Corpus

SENTENCE = "The {} and the {} were near the {}."


def long_text(*themes):
    """Six sentences of each theme in turn."""
    sentences = []
    for theme in themes:
        words = THEMES[theme]
        sentences += [SENTENCE.format(words[n], words[n - 1], words[n - 2]) for n in range(6)]
    return " ".join(sentences)


@cache
def passage_file(folder):
    texts = [long_text(*np.roll(list(THEMES), d).tolist()) for d in range(12)]
    corpus = Corpus.from_texts(texts, min_df=2, unit="passages:3")
    return fit(corpus, n_chains=1).save(folder / "passages.sw")


@pytest.fixture
def model(tmp_path_factory):
    return passage_file(tmp_path_factory.getbasetemp())


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "new.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        writer.writerows([["both", long_text("orchard", "garage")], ["a#1", long_text("garage")]])
        writer.writerow(["thanks", "Thank you. Thank you so much."])
    return path


def weights_in(text):
    rows = list(csv.reader(io.StringIO(text)))
    return [row[0] for row in rows[1:]], np.array([[float(value) for value in row[1:]] for row in rows[1:]])


def test_documents_are_cut_as_the_models_were_and_summed_from_their_passages(capsys, model, source):
    found = run(capsys, "transform", model, source)
    assert found.code == 0, found.err
    assert "Read as 7 passages of 3 documents (--unit document reads documents whole)." in found.err
    ids, weights = weights_in(found.out)
    assert ids == ["both", "a#1", "thanks"]
    kept = loaded(model)
    texts = [long_text("orchard", "garage"), long_text("garage")]
    passages = Corpus.from_texts(texts, unit="passages:3", recipe=kept.corpus_.notes["recipe"])
    tokens = passages.counts.sum(axis=1)
    rows = kept.transform(passages) * tokens[:, None]
    expected = [rows[passages.parent == d].sum(axis=0) / tokens[passages.parent == d].sum() for d in range(2)]
    np.testing.assert_allclose(weights[:2], expected)
    assert not weights[2].any()
    assert "(all weights 0): 1." in found.err


def test_a_document_of_the_model_is_weighed_as_it_shows_it(capsys, model, source):
    _, weights = weights_in(run(capsys, "transform", model, source).out)
    shown = run(capsys, "show", model, "--document", "0", "--json").json
    own = np.zeros(weights.shape[1])
    own[[row["concept"] - 1 for row in shown]] = [row["weight"] for row in shown]
    assert np.abs(weights[0] - own).sum() / 2 < 0.15


def test_the_unit_may_be_another(capsys, model, source):
    whole = run(capsys, "transform", model, source, "--unit", "document")
    assert "passages" not in whole.err
    expected = loaded(model).transform([long_text("orchard", "garage")])
    np.testing.assert_allclose(weights_in(whole.out)[1][:1], expected)
    assert "Read as 20 passages" in run(capsys, "transform", model, source, "--unit", "passages:1").err
    wrong = run(capsys, "transform", model, source, "--unit", "pages:2")
    assert wrong.code == 2
    assert "pages:2" in wrong.err


def test_the_unit_of_a_corpus():
    texts = [long_text("orchard", "garage"), long_text("garage")]
    assert Corpus.from_texts(texts, min_df=1).unit == "document"
    assert Corpus.from_texts(texts, min_df=1, unit="passages:4").unit == "passages:4"


def test_text_without_any_word_has_no_weights(capsys, model, tmp_path):
    source = tmp_path / "ty.csv"
    source.write_text("text\nThank you. Thank you so much.\n")
    found = run(capsys, "transform", model, source)
    assert found.code == 0, found.err
    assert not weights_in(found.out)[1].any()


def test_what_is_wrong_with_new_documents_is_printed(capsys, model, tmp_path):
    source = tmp_path / "again.csv"
    german = "Der Hund und die Katze sind nicht in dem Haus, das wir von der Straße aus sehen."
    source.write_text("text\n" + f'"{german}"\n' * 20, encoding="utf-8")
    found = run(capsys, "transform", model, source)
    assert found.code == 0
    assert "Warning: 19 of 20 texts repeat another one word for word" in found.err
    assert "Warning: The texts look like German (de), not English (en)" in found.err
    assert "Warning" not in run(capsys, "transform", model, source, "--quiet").err


def test_documents_that_are_whole_are_read_whole(capsys, tmp_path):
    corpus = Corpus.from_texts([long_text(theme) for theme in THEMES] * 3, min_df=2)
    path = fit(corpus, n_chains=1, n_sweeps=6, n_burn_in=1).save(tmp_path / "whole.sw")
    found = run(capsys, "transform", path, write_documents(tmp_path, 4), "--text", "speech", "--id", "name")
    assert found.code == 0, found.err
    assert "passages" not in found.err
