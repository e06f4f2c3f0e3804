"""Features of words against naive twins: co-occurrence, vectors, tables, and their combination."""

from __future__ import annotations

import gzip
import re
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from superwords import features
from superwords.errors import InputError
from superwords.features import block as blocks
from superwords.features import cooccur
from superwords.text.corpus import Corpus


def random_corpus(n_sentences: int, n_words: int, seed: int = 0) -> Corpus:
    rng = np.random.default_rng(seed)
    popularity = rng.beta(0.6, 6.0, size=n_words)
    presence = rng.random((n_sentences, n_words)) < popularity
    presence[np.arange(n_words) % n_sentences, np.arange(n_words)] = True
    return Corpus.from_counts(presence.astype(int))


def naive_weights(presence: np.ndarray, weighting: str) -> np.ndarray:
    n_sentences, n_words = presence.shape
    weights = np.zeros((n_words, n_words))
    for i in range(n_words):
        for l in range(n_words):
            together = sum(presence[s, i] and presence[s, l] for s in range(n_sentences))
            expected = presence[:, i].sum() * presence[:, l].sum() / n_sentences
            if i != l and weighting == "log":
                weights[i, l] = np.log(1 + together)
            elif i != l:
                weights[i, l] = max(0.0, np.log((together + 1) / (expected + 1)))
    return weights


def naive_scores(rows: np.ndarray, n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """Principal components by the eigenvectors of the covariance."""
    centred = rows - rows.mean(axis=0)
    values, directions = np.linalg.eigh(centred.T @ centred)
    order = np.argsort(values)[::-1][:n_components]
    return centred @ directions[:, order], values[order] / values.sum()


@pytest.mark.parametrize("weighting", ["log", "ppmi"])
def test_cooccurrence_is_the_pca_of_the_naive_weights(weighting):
    corpus = random_corpus(40, 12)
    weights = naive_weights(corpus.counts.toarray() > 0, weighting)
    assert np.allclose(cooccur.weigh(cooccur.presence_matrix(corpus), weighting).toarray(), weights)
    result = features.cooccurrence(corpus, 4, weighting)
    scores, explained = naive_scores(weights, 4)
    assert np.allclose(np.abs(result.values), np.abs(scores))
    assert np.allclose(result.explained, explained)
    assert np.array_equal(features.cooccurrence(corpus, 4, weighting), result.values)
    assert result.names == [f"cooccurrence_{k}" for k in (1, 2, 3, 4)]
    assert result.total_explained == pytest.approx(explained.sum())


def test_sparse_components_equal_the_dense_ones(monkeypatch):
    corpus = random_corpus(200, 60, seed=3)
    dense = features.cooccurrence(corpus, 6)
    monkeypatch.setattr(blocks, "_DENSE_ROWS", 0)
    thin = features.cooccurrence(corpus, 6)
    assert np.allclose(thin.values, dense.values, atol=1e-8)
    assert np.allclose(thin.explained, dense.explained)
    assert np.array_equal(thin.values, features.cooccurrence(corpus, 6).values)


def test_large_vocabulary_stays_sparse(monkeypatch):
    n_words, n_sentences = 20_000, 30_000
    rng = np.random.default_rng(1)
    columns = (rng.pareto(1.0, size=n_sentences * 4) * 50).astype(int) % n_words
    rows = np.repeat(np.arange(n_sentences), 4)
    counts = sparse.csr_array((np.ones(len(rows), int), (rows, columns)), shape=(n_sentences, n_words))
    monkeypatch.setattr(sparse.csr_array, "toarray", lambda *_: pytest.fail("the matrix was made dense"))
    values = features.cooccurrence(Corpus.from_counts(counts), 5)
    used = np.asarray(counts.sum(axis=0)).ravel() > 0
    assert values.shape == (n_words, 5)
    assert np.array_equal(~np.isnan(values).any(axis=1), used)
    assert np.allclose(values[used].mean(axis=0), 0, atol=1e-8)


def test_sentences_count_rather_than_documents_where_they_are_known():
    counts = np.array([[1, 1, 1, 0], [1, 1, 1, 0]])
    sentences = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 1, 0]]))
    corpus = replace(Corpus.from_counts(counts), sentences=sentences)
    assert np.isnan(features.cooccurrence(corpus)).all(axis=1).tolist() == [False, False, False, True]
    together = cooccur.weigh(cooccur.presence_matrix(corpus), "log").toarray()
    assert together[0, 1] == pytest.approx(np.log(3))
    assert together[0, 2] == 0
    by_document = cooccur.weigh(cooccur.presence_matrix(Corpus.from_counts(counts)), "log").toarray()
    assert by_document[0, 2] == pytest.approx(np.log(3))


def test_passages_are_the_context_where_they_are_the_rows():
    counts = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 2]])
    sentences = sparse.csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1]]))
    documents = replace(Corpus.from_counts(counts), sentences=sentences)
    passages = replace(documents, parent=np.array([0, 0, 1]))

    def together(corpus, context=None):
        return int(cooccur.weigh(cooccur.presence_matrix(corpus, context), "log").toarray()[0, 2] > 0)

    assert [together(documents), together(passages), together(passages, "sentences")] == [0, 1, 0]
    with pytest.raises(InputError, match="are not passages"):
        features.cooccurrence(documents, context="passages")
    with pytest.raises(InputError, match="paragraphs"):
        features.cooccurrence(documents, context="paragraphs")


def test_cooccurrence_gives_no_more_columns_than_there_are():
    corpus = random_corpus(30, 6)
    assert features.cooccurrence(corpus).shape[1] <= 5
    assert not np.isnan(features.cooccurrence(corpus)).any()


@pytest.mark.parametrize(
    ("counts", "arguments", "said"),
    [
        (np.eye(3, dtype=int), {}, "No two words"),
        (np.array([[2, 0]]), {}, "at least two words"),
        (np.ones((3, 3), int), {"weighting": "tfidf"}, "tfidf"),
        (np.ones((3, 3), int), {"n_components": 0}, "n_components"),
        (np.ones((3, 3), int), {"n_components": 2.5}, "n_components"),
    ],
)
def test_cooccurrence_says_what_is_wrong(counts, arguments, said):
    with pytest.raises(InputError, match=said):
        features.cooccurrence(Corpus.from_counts(counts), **arguments)


WORDS = ["apple", "Butter", "ice cream", "New York", "quux", "at home"]
LINES = ["butter 1 2", "Apple 3 4", "ice 5 6", "cream 7 8", "new_york 9 10", "york 0 0", "at home 1 1", "butter 0 0"]
EXPECTED = np.array([[3, 4], [1, 2], [6, 7], [9, 10], [np.nan, np.nan], [1, 1]])


@pytest.mark.parametrize("header", ["", "8 2\n"])
@pytest.mark.parametrize("suffix", ["txt", "vec.gz"])
def test_vectors_from_a_text_file(tmp_path, header, suffix):
    path = tmp_path / f"vectors.{suffix}"
    opener = gzip.open if suffix.endswith("gz") else open
    with opener(path, "wt", encoding="utf-8") as file:
        file.write(header + " \n".join(LINES) + "\n")
    assert np.array_equal(features.vectors(path, WORDS), EXPECTED, equal_nan=True)
    assert np.array_equal(features.vectors(str(path), WORDS), EXPECTED, equal_nan=True)


def test_vectors_from_a_matrix_a_dict_a_frame_and_a_function():
    keys = [line.rsplit(" ", 2)[0] for line in LINES[:-1]]
    matrix = np.array([line.rsplit(" ", 2)[1:] for line in LINES[:-1]], dtype=float)
    sources = [(matrix, keys), dict(zip(keys, matrix, strict=True)), pd.DataFrame(matrix, index=keys)]
    for source in sources:
        assert np.array_equal(features.vectors(source, WORDS), EXPECTED, equal_nan=True)
    lengths = features.vectors(lambda words: [[len(word), 1.0] for word in words], WORDS)
    assert lengths[:, 0].tolist() == [len(word) for word in WORDS]
    partly = features.vectors(np.array([[1, np.nan], [2, 3], [4, 5], [6, 7], [8, 9]]), WORDS[:5])
    assert np.isnan(partly[0]).all()
    assert partly[1:].tolist() == [[2, 3], [4, 5], [6, 7], [8, 9]]


def test_vectors_from_a_spacy_pipeline(monkeypatch):
    known = {"apple": [1.0, 2.0], "ice": [3.0, 4.0], "cream": [5.0, 8.0]}
    vocab = SimpleNamespace(vectors_length=2, has_vector=known.__contains__, get_vector=known.__getitem__)

    def load(name):
        if name != "xx_core_md":
            raise OSError
        return SimpleNamespace(vocab=vocab)

    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))
    values = features.vectors("xx_core_md", ["Apple", "ice cream", "tea"])
    assert np.array_equal(values, [[1, 2], [4, 6], [np.nan, np.nan]], equal_nan=True)
    with pytest.raises(InputError, match="no spaCy pipeline"):
        features.vectors("elsewhere", ["tea"])
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(InputError, match="spaCy is not installed"):
        features.vectors("xx_core_md", ["tea"])
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=load))
    vocab.vectors_length = 0
    with pytest.raises(InputError, match="no word vectors"):
        features.vectors("xx_core_md", ["tea"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("2 3\napple 1 2 3\nbutter 1 2\n", "line 3"),
        ("pear 1 2\napple 1 x\n", "line 2"),
        ("pear 1 2\napple 1 inf\n", "line 2"),
        ("pear 1 2\n", "None of the 6 words"),
        ("apple\n", "line 1"),
        ("", "None of the 6 words"),
    ],
)
def test_a_bad_file_of_vectors_is_named(tmp_path, text, said):
    path = tmp_path / "bad.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=said) as error:
        features.vectors(path, WORDS)
    assert "bad.txt" in str(error.value)


def test_a_damaged_archive_and_odd_sources_are_refused(tmp_path):
    path = tmp_path / "vectors.gz"
    path.write_bytes(gzip.compress(b"apple 1 2\n" * 5000)[:-20])
    with pytest.raises(InputError, match="damaged"):
        features.vectors(path, WORDS)
    with pytest.raises(InputError, match="int"):
        features.vectors(3, WORDS)
    with pytest.raises(InputError, match="one row for each of the 6 words"):
        features.vectors(lambda words: [[1.0]], WORDS)
    with pytest.raises(InputError, match="infinite"):
        features.vectors(np.full((6, 1), np.inf), WORDS)
    with pytest.raises(InputError, match="one string"):
        features.vectors(lambda words: [[1.0]], "apple")


def test_table_aligns_averages_and_fills(tmp_path):
    frame = pd.DataFrame(
        {"word": ["pear", "apple", "apple", "null"], "sweet": [4.0, 1.0, 3.0, np.nan], "sour": [0, 2, 4, 9]}
    )
    expected = [[2, 3], [np.nan, np.nan], [4, 0], [3, 9]]
    words = ["Apple", "fig", "pear", "null"]
    assert np.array_equal(features.table(frame, words), expected, equal_nan=True)
    for name, separator in (("f.csv", ","), ("f.tsv", "\t")):
        frame.rename(columns={"word": "term"}).to_csv(tmp_path / name, sep=separator, index=False)
        values = features.table(tmp_path / name, words, word="term")
        assert np.array_equal(values, expected, equal_nan=True)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"term": ["a"], "x": [1]}, "no column 'word'"),
        ({"word": ["a"]}, "no column but"),
        ({"word": ["a", "b"], "x": ["1", "two"]}, "'two' in column 'x', row 2"),
        ({"word": ["a"], "x": [np.inf]}, "inf"),
        ({"word": ["z"], "x": [1]}, "None of the 2 words"),
        ({"word": ["a"], "x": [1, 2]}, "do not fit"),
    ],
)
def test_table_says_what_is_wrong(columns, said):
    with pytest.raises(InputError, match=said):
        features.table(columns, ["a", "b"])


def test_table_names_a_missing_or_unreadable_file(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv"):
        features.table(tmp_path / "none.csv", ["a"])
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match=r"empty\.csv"):
        features.table(tmp_path / "empty.csv", ["a"])


def test_combine_gives_each_block_the_same_variance():
    rng = np.random.default_rng(5)
    loud, wide = 1e6 * rng.normal(size=(40, 2)) + 7, 1e-3 * rng.normal(size=(40, 6))
    loud[3] = np.nan
    wide[:2] = np.nan
    loud[0] = np.nan
    values = features.combine(loud, wide)
    assert values.shape == (40, 8)
    assert np.isnan(values[0]).all()
    assert not np.isnan(values[1:]).any()
    assert (values[3, :2] == 0).all()
    assert (values[1, 2:] == 0).all()
    for block, known in ((values[:, :2], ~np.isnan(loud[:, 0])), (values[:, 2:], ~np.isnan(wide[:, 0]))):
        assert np.allclose(block[known].mean(axis=0), 0)
        assert block[known].var(axis=0).sum() == pytest.approx(4.0)
    ratio = np.nanstd(loud, axis=0)
    assert np.allclose(values[4:, 0].std() / values[4:, 1].std(), np.divide(*ratio), rtol=0.2)


def test_combine_takes_named_features_and_a_constant_block():
    corpus = random_corpus(30, 8)
    block = features.cooccurrence(corpus, 3)
    values = features.combine(block, np.full((8, 1), 0.1))
    assert np.allclose(values[:, :3] / block.values, values[0, 0] / block.values[0, 0])
    assert (values[:, 3] == 0).all()


@pytest.mark.parametrize(
    ("blocks", "said"),
    [
        ((), "nothing to combine"),
        ((np.ones((3, 1)), np.ones((4, 1))), "Block 2 has 4 rows"),
        ((np.ones(3),), "shape"),
        ((np.full((3, 1), np.inf),), "infinite in row 0"),
        ((np.full((3, 1), np.nan),), "None of the 3 words"),
        (([["a"]],), "numbers"),
    ],
)
def test_combine_says_what_is_wrong(blocks, said):
    with pytest.raises(InputError, match=said):
        features.combine(*blocks)


def test_the_page_of_features_runs(capsys):
    page = (Path(__file__).parents[1] / "docs" / "features.md").read_text(encoding="utf-8")
    names: dict[str, object] = {}
    for block in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
        exec(block, names)
    assert "[0. 2.]" in capsys.readouterr().out
