"""Embeddings by model2vec: a small model made here, on disk as any other."""

from importlib.util import find_spec

import numpy as np
import pytest

from cli_for_tests import run, write_documents
from superwords import ConceptModel, Corpus, features
from superwords.errors import InputError
from superwords.features.word_vectors import encode_with

model2vec = pytest.importorskip("model2vec", reason="model2vec is not installed (extra embeddings)")
VECTORS = {
    "[UNK]": [0.0, 0.0, 0.0],
    "apple": [1.0, 0.1, 0.0],
    "pear": [0.9, 0.2, 0.1],
    "wheel": [0.0, 1.0, 0.3],
    "brake": [0.1, 0.8, 0.5],
    "ice": [0.0, 0.2, 1.0],
    "cream": [0.4, 0.0, 0.8],
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace

    tokenizer = Tokenizer(WordLevel({word: i for i, word in enumerate(VECTORS)}, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    place = tmp_path_factory.mktemp("models") / "small"
    vectors = np.array(list(VECTORS.values()), np.float32)
    model2vec.StaticModel(vectors, tokenizer, normalize=False).save_pretrained(str(place))
    return place


def test_a_word_has_the_models_vector_and_a_phrase_that_of_all_its_words(folder):
    found = encode_with(str(folder), ["apple", "ice cream", "Pear"])
    np.testing.assert_allclose(found[0], VECTORS["apple"], atol=1e-6)
    np.testing.assert_allclose(found[1], np.mean([VECTORS["ice"], VECTORS["cream"]], axis=0), atol=1e-6)
    np.testing.assert_allclose(found[2], VECTORS["pear"], atol=1e-6)


def test_components_keep_who_is_near_whom_and_unknown_words_are_missing(folder):
    words = ["apple", "pear", "wheel", "brake", "ice cream", "xylophone"]
    block = features.embeddings(folder, words)
    assert np.isnan(block.values[5]).all()
    known = block.values[:5]
    assert not np.isnan(known).any()
    distance = np.linalg.norm(known[:, None] - known[None], axis=2)
    unit = np.array([VECTORS[w] for w in words[:4]] + [np.mean([VECTORS["ice"], VECTORS["cream"]], axis=0)])
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    np.testing.assert_allclose(distance, np.linalg.norm(unit[:, None] - unit[None], axis=2), atol=1e-5)
    assert block.total_explained == pytest.approx(1.0)


def test_embeddings_and_co_occurrence_stand_side_by_side_in_a_fit(folder):
    counts = np.array([[2, 1, 0, 0, 0], [1, 2, 0, 0, 1], [0, 0, 2, 1, 0], [0, 0, 1, 2, 0]] * 4)
    corpus = Corpus.from_counts(counts, ["apple", "pear", "wheel", "brake", "ice cream"])
    said = []
    made = features.specs.make_features(f"cooccurrence,embeddings:{folder}", corpus, said.append)
    assert made.values.shape[0] == 5
    assert not made.standardize
    assert any("5 of 5 words" in line and "embeddings" in line for line in said)
    model = ConceptModel(n_chains=1, n_sweeps=20, random_state=0, n_jobs=1)
    model.fit(corpus, features=f"cooccurrence,embeddings:{folder}")
    assert model.n_concepts_ >= 1


def test_the_command_takes_a_folder(capsys, tmp_path, folder):
    source = write_documents(tmp_path)
    model = tmp_path / "model.sw"
    done = run(
        capsys, "fit", source, "--text", "speech", "--features", f"cooccurrence,embeddings:{folder}",
        "--words", "plain", "--min-df", 2, "--chains", 1, "--sweeps", 10, "--jobs", 1, "--seed", 1, "-o", model,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert model.exists()
    assert f"Word features from the embeddings {folder}" in done.out + done.err


needs_wordllama = pytest.mark.skipif(
    find_spec("wordllama") is None, reason="wordllama is not installed (extra embeddings)"
)


@needs_wordllama
def test_wordllama_needs_no_folder_and_knows_phrases():
    words = ["tea", "coffee", "iced tea", "parliament", "senate"]
    found = encode_with("wordllama", words)
    cosine = found @ found.T
    np.testing.assert_allclose(np.diag(cosine), 1, atol=1e-3)
    assert cosine[0, 2] > 0.5 > cosine[0, 3]
    assert cosine[3, 4] > max(cosine[3, :3])
    block = features.embeddings("wordllama", words)
    assert block.values.shape[0] == 5
    assert not np.isnan(block.values).any()


@needs_wordllama
def test_whole_texts_have_vectors_and_empty_ones_none():
    texts = ["The bill cuts taxes.", "A tax cut was passed.", "Whisk the eggs with sugar.", ""]
    found = features.text_vectors(texts)
    assert found.shape == (4, 256)
    assert np.isnan(found[3]).all()
    cosine = found[:3] @ found[:3].T
    assert cosine[0, 1] > max(cosine[0, 2], cosine[1, 2]) + 0.2
    np.testing.assert_array_equal(features.text_vectors(texts[1:2])[0], found[1])
    with pytest.raises(InputError, match="give 'wordllama'"):
        features.text_vectors(texts, "potion")


@needs_wordllama
def test_the_command_takes_wordllama(capsys, tmp_path):
    source, model = write_documents(tmp_path), tmp_path / "model.sw"
    done = run(
        capsys, "fit", source, "--text", "speech", "--features", "embeddings:wordllama", "--words", "plain",
        "--min-df", 2, "--chains", 1, "--sweeps", 10, "--jobs", 1, "--seed", 1, "-o", model,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "Word features from the embeddings wordllama" in done.out + done.err


def test_a_folder_that_holds_no_model_is_said_in_one_sentence(tmp_path):
    with pytest.raises(InputError, match=r"no library could load this model") as error:
        features.embeddings(tmp_path, ["apple"])
    assert "\n" not in str(error.value)


def test_words_that_no_model_knows_are_said(folder):
    with pytest.raises(InputError, match="None of the 1 words is known"):
        features.embeddings(folder, ["xylophone"])


def test_one_string_is_not_a_list_of_texts():
    with pytest.raises(InputError, match="The texts are one string"):
        features.text_vectors("tea")
