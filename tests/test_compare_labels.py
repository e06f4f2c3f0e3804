"""Agreement with labels: the measures on cases worked out by hand, and the whole stage on planted themes."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cli_for_tests import run, write_documents
from superwords.compare import judging, labels
from superwords.compare.contest import Effort, Runs
from superwords.compare.labels import DEFAULT, MATCHED, OWN, Effects, LabelStage, best_setting, compare_labels
from superwords.errors import InputError
from superwords.text.corpus import Corpus


def test_a_document_belongs_to_its_heaviest_concept_or_to_none():
    weights = np.array([[0.2, 0.8], [0.5, 0.5], [0.0, 0.0]])
    assert judging.alignment(weights, np.array(["b", "a", "none"], object))["ARI"] == 1
    assert judging.alignment(weights, np.array(["b", "a", "a"], object))["ARI"] < 1


def test_harmonic_purity_is_the_best_f1_of_each_label():
    labels = np.array(["a", "a", "a", "b", "b", "b"])
    assert judging.harmonic_purity(np.array([0, 0, 0, 1, 1, 1]), labels) == pytest.approx(1)
    # Label a: cluster 0 has precision 2/3 and recall 2/3; label b likewise.
    assert judging.harmonic_purity(np.array([0, 0, 1, 0, 1, 1]), labels) == pytest.approx(2 / 3)
    # One cluster for all: precision 1/2, recall 1.
    assert judging.harmonic_purity(np.zeros(6), labels) == pytest.approx(2 / 3)


def test_a_probe_finds_labels_that_no_single_concept_has():
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(4), 200)
    labels = np.where(weights[:, 0] + weights[:, 1] > 0.5, "a", "b")
    assert judging.probe(weights, labels) > 0.9
    assert judging.probe(weights, rng.permutation(labels)) < 0.6


def test_documents_without_a_label_are_left_out():
    documents = np.eye(2)[[0, 0, 0, 1, 1, 1, 1] * 4]
    labels = np.array(["a", "a", "a", "b", "b", "b", None] * 4, object)
    found = judging.alignment(documents, labels)
    assert found["P1"] == found["ARI"] == found["NMI"] == pytest.approx(1)
    assert found["probe"] == pytest.approx(1)


def test_partners_share_words_with_another_run():
    weights = np.kron(np.eye(3), np.ones(10))
    other = weights.copy()
    other[2, 20:26], other[2, 0:6] = 0, 0.5  # four words of ten left: a Jaccard index of 4/16
    found = judging.reliability([judging.top_sets(one) for one in (weights, other)])
    assert found["partners 1/3"] == pytest.approx(np.mean([2 / 3, 1]))
    assert found["stability"] == pytest.approx(np.mean([(2 + 1 / 4) / 3, (2 + 6 / 14) / 3]))
    assert judging.reliability([judging.top_sets(weights)] * 2)["partners 1/2"] == 1


def test_effects_of_reseeds_are_compared_between_partners():
    weights = np.kron(np.eye(2), np.ones(10))
    first = Effects(weights, np.array([[0.5], [0.2]]), np.array([[0.3], [-0.1]]), np.array([[0.7], [0.5]]))
    second = Effects(weights[::-1], np.array([[0.3], [-0.1]]), np.array([[0.0], [-0.3]]), np.array([[0.6], [0.1]]))
    found = labels.agreement([first, second])
    # Reported (interval without 0): the first run's 0.5, whose partner is −0.1.
    assert found["flips"] == 1
    assert found["reported"] == 1
    assert found["inside"] == pytest.approx(2 / 4)
    assert found["compared"] == 1


def test_shares_are_regressed_as_by_least_squares():
    rng = np.random.default_rng(1)
    column = pd.Series(rng.choice(["x", "y"], 300))
    documents = rng.dirichlet(np.ones(3), 300) + np.where(column == "y", 0.3, 0)[:, None] * [1, -1, 0]
    found = labels.share_effects(documents, np.eye(3, 12), column)
    means = pd.DataFrame(documents).groupby(column).mean()
    np.testing.assert_allclose(found.effect[:, 0], means.loc["y"] - means.loc["x"])
    assert (found.low < found.effect).all()
    assert found.low[0, 0] > 0 > found.high[1, 0]


def labelled_corpus(n_documents=90):
    """Three themes of eight words; a third of the documents have two of them."""
    rng = np.random.default_rng(3)
    theme = np.arange(n_documents) % 3
    counts = np.zeros((n_documents, 24), int)
    for d in range(n_documents):
        words = rng.integers(0, 8, 14) + 8 * theme[d]
        words[: 5 * (d % 3 == 0)] = rng.integers(0, 24)
        counts[d] = np.bincount(words, minlength=24)
    texts = [" ".join(f"word{i}" for i in np.repeat(np.arange(24), row)) for row in counts]
    metadata = {"theme": [f"theme {k}" for k in theme], "side": list(np.where(theme == 0, "l", "r"))}
    corpus = Corpus.from_counts(sparse.csr_array(counts), [f"word{i}" for i in range(24)], metadata=metadata)
    assert corpus.texts is None
    return corpus, texts


def test_every_model_is_judged_at_its_own_and_at_our_number(tmp_path, monkeypatch):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    monkeypatch.setattr("superwords.compare.labels.DEFAULTS", {"lda": {"k": 5}})
    corpus, _ = labelled_corpus()
    runs = Runs(Effort(n_chains=1, n_sweeps=40, iterations=60, n_jobs=1), tmp_path)
    said = []
    tables = compare_labels(corpus, ["theme", "side"], ["lda"], runs, n_seeds=2, say=said.append)
    found = tables["labels"].set_index(["column", "model", "number"])
    assert set(found.index.get_level_values("number")) == {OWN, DEFAULT, MATCHED}
    assert found.loc["theme", "LDA", DEFAULT]["topics"] == 5
    ours = found.loc["theme", "superwords", OWN]
    assert ours["P1"] > 0.8
    assert found.loc["theme", "LDA", MATCHED]["topics"] == round(ours["topics"])
    assert set(tables["reliability"]["over"]) == {"reseeds", "80% samples"}
    assert tables["reliability"]["partners 1/3"].between(0, 1).all()
    assert set(tables["label_effects"]["column"]) == {"theme", "side"}
    before = sorted(tmp_path.iterdir())
    again = compare_labels(corpus, ["theme", "side"], ["lda"], runs, n_seeds=2)
    pd.testing.assert_frame_equal(tables["labels"], again["labels"])
    assert sorted(tmp_path.iterdir()) == before


def test_the_best_setting_is_the_one_that_agrees_with_the_labels(monkeypatch):
    corpus, _ = labelled_corpus(9)
    stage = LabelStage(corpus, ["theme"], Runs())
    right = np.eye(3)[np.arange(9) % 3]

    def peer(self, name, setting, seed):
        return {"documents": right if setting["k"] == 30 else np.ones((9, 3))}

    monkeypatch.setattr(LabelStage, "peer", peer)
    assert best_setting(stage, "lda", 0) == {"k": 30}


@pytest.mark.parametrize(
    ("columns", "reason"),
    [(["topic"], "no column 'topic'; the columns are 'theme', 'side'"), (["same"], "fewer than two")],
)
def test_columns_that_cannot_judge_are_refused(columns, reason):
    corpus, _ = labelled_corpus(9)
    corpus.metadata["same"] = 1
    if columns == ["topic"]:
        del corpus.metadata["same"]
    with pytest.raises(InputError, match=reason):
        compare_labels(corpus, columns, [])


def judge_vectors(folder):
    """Words of one theme point in one direction; five more for the principal components that are removed."""
    rng = np.random.default_rng(0)
    words = [f"w{i}" for i in range(40)]
    vectors = rng.normal(size=(40, 8)) + 4 * np.eye(8)[np.repeat(np.arange(8), 5)]
    np.savez(folder / "vectors.npz", words=np.array(words), vectors=vectors)
    return folder / "vectors.npz"


def test_words_of_one_direction_have_the_higher_cosine(tmp_path):
    known = judging.read_judge_vectors(judge_vectors(tmp_path))
    together = judging.vector_measures([f"w{i}" for i in range(5)], known)
    apart = judging.vector_measures([f"w{5 * i}" for i in range(5)], known)
    assert together["cosine"] > apart["cosine"] + 0.3
    assert together["weakest"] > apart["weakest"]
    assert judging.vector_measures(["none", "nothing"], known)["cosine"] == 0
    assert known.of("w1 w2")[1] == pytest.approx(np.log1p(2))


def test_glove_s_text_and_numbers_are_the_same_vectors(tmp_path):
    path = judge_vectors(tmp_path)
    with np.load(path) as stored:
        lines = [f"{w} {' '.join(map(repr, v.tolist()))}" for w, v in zip(stored["words"], stored["vectors"])]
    (tmp_path / "vectors.txt").write_text("\n".join(lines), encoding="utf-8")
    first, second = (judging.read_judge_vectors(p) for p in (path, tmp_path / "vectors.txt"))
    np.testing.assert_allclose(first.vectors, second.vectors)
    (tmp_path / "vectors.txt").write_text("a b c\n", encoding="utf-8")
    with pytest.raises(InputError, match="these are not word vectors"):
        judging.read_judge_vectors(tmp_path / "vectors.txt")


def test_c_v_is_one_for_words_always_together_and_low_for_strangers():
    units = sparse.csc_array(np.kron(np.eye(2, dtype=int), np.ones((5, 2), dtype=int)))
    assert judging.c_v(units, [0, 1]) == pytest.approx(1)
    assert judging.c_v(units, [0, 2]) == pytest.approx(1 / np.sqrt(2))


def test_the_judge_is_in_standard_deviations_of_what_is_compared():
    rng = np.random.default_rng(0)
    measures = rng.normal(size=(50, 6)) * [1, 2, 3, 4, 5, 6] + 7
    values = judging.judged(measures)
    assert values.mean() == pytest.approx(0)
    assert values.std() == pytest.approx(1)
    better = measures.copy()
    better[0, 1] += 20
    assert judging.judged(better)[0] > values[0]


def test_the_command_judges_by_labels_and_by_the_judge(tmp_path, capsys):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    source, out = write_documents(tmp_path, 60), tmp_path / "out"
    found = run(
        capsys, "compare", source, "--text", "speech", "--id", "name", "--words", "plain", "--min-df", 2,
        "--models", "lda", "--labels", "party", "--judge", judge_vectors(tmp_path), "--seeds", 2, "--chains", 1,
        "--sweeps", 10, "--iterations", 20, "--salient", 3, "--jobs", 1, "-o", out,
    )  # fmt: skip
    assert found.code == 0, found.err
    assert "Agreement with labels" in found.out
    table = pd.read_csv(out / "labels.csv")
    assert set(table["number"]) == {OWN, MATCHED}
    assert table[["P1", "NMI"]].stack().between(0, 1).all()
    assert pd.read_csv(out / "models.csv")["judge"].notna().any()
    page = (out / "compare.html").read_text(encoding="utf-8")
    assert "Effects over reseeds" in page
    assert "No judge transfers" in page
