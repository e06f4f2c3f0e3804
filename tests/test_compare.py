"""`superwords compare`: its measures against naive twins, its split, and a whole small comparison."""

from __future__ import annotations

import itertools
import json
import math
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cli_for_tests import run, write_documents
from superwords.analysis import tables as coherences
from superwords.compare import judging, peers
from superwords.compare.contest import Contest, Effort, Runs, caution, make_lineup, shuffled_features
from superwords.compare.judging import Found
from superwords.compare.splitting import make_split, split_windows
from superwords.errors import InputError
from superwords.features import cooccurrence
from superwords.sampler.fold_in import make_halves
from superwords.text.sentences import sentence_spans

WORDS_ONLY = {"words": "plain", "min_df": 1}


def naive_npmi(rows: np.ndarray, words: list[int], never: float) -> float:
    values = []
    for i, l in itertools.combinations(words, 2):
        p_i, p_l = (rows[:, i] > 0).mean(), (rows[:, l] > 0).mean()
        p_il = ((rows[:, i] > 0) & (rows[:, l] > 0)).mean()
        if p_il == 0:
            values.append(never)
        elif p_il == 1:
            values.append(1.0)
        else:
            values.append(math.log(p_il / (p_i * p_l)) / -math.log(p_il))
    return sum(values) / len(values)


def naive_wilson(share: float, n: int) -> list[float]:
    """The shares p for which the observed one lies 1.96 standard errors away: the roots of a quadratic."""
    z2 = 1.959963984540054**2
    return sorted(np.roots([1 + z2 / n, -(2 * share + z2 / n), share**2]).real)


def sets(*lists: list[int]) -> list[np.ndarray]:
    return [np.array(one) for one in lists]


@pytest.mark.parametrize("never", [0.0, -1.0])
def test_npmi_is_its_formula_pair_by_pair(never: float) -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        rows = rng.poisson(rng.uniform(0, 1.5, 8), (12, 8))
        rows[:, 0] = 1
        rows[:, 1] = 2
        rows[:, 7] = 0
        words = rng.permutation(8)[: rng.integers(2, 9)].tolist()
        units = coherences.presence(sparse.csr_array(rows))
        assert coherences.coherence(units, words, never) == pytest.approx(naive_npmi(rows, words, never))
        assert math.isnan(coherences.coherence(units, words[:1], never))


def test_npmi_at_its_ends() -> None:
    units = coherences.presence(sparse.csr_array(np.array([[1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 1, 1], [0, 0, 0, 1]])))
    assert coherences.coherence(units, [0, 1]) == pytest.approx(1.0)
    assert coherences.coherence(units, [0, 3]) == pytest.approx(0.0)
    assert coherences.coherence(units, [0, 2]) == 0.0
    assert coherences.coherence(units, [0, 2], never=-1.0) == -1.0


def test_win_rate_counts_by_hand_and_has_wilson_s_interval() -> None:
    ours, theirs = np.array([0.3, 0.1, 0.2, 0.5]), np.array([0.1, 0.3, 0.2, 0.4])
    found = judging.win_rate(ours, theirs)
    assert list(found.values())[:4] == [4, 2, 1, 0.625]
    for share, n in ((0.625, 4), (0.0, 10), (1.0, 10), (0.16, 44)):
        assert judging.wilson(share, n) == pytest.approx(naive_wilson(share, n), abs=1e-9)
    assert judging.win_rate(ours[:0], theirs[:0])["n"] == 0


def test_paired_test_sees_a_shift_and_no_other() -> None:
    difference = np.random.default_rng(1).normal(size=60)
    assert judging.paired_test(difference + 1) < 1e-4
    assert judging.paired_test(np.concatenate([difference, -difference])) > 0.9
    assert math.isnan(judging.paired_test(np.zeros(5)))


def test_diversity_and_stability_by_hand() -> None:
    assert judging.diversity(sets([0, 1, 2], [2, 3])) == 4 / 5
    assert math.isnan(judging.diversity([]))
    one, other = sets([0, 1, 2], [3, 4]), sets([0, 1], [4, 5])
    assert judging.reliability([one, list(one)])["stability"] == 1.0
    # Of `one` 2/3 and 1/3 with the best of `other`; of `other` 2/3 and 1/3.
    assert judging.reliability([one, other])["stability"] == pytest.approx(1 / 2)
    assert judging.reliability([one, sets([0, 1, 2])])["stability"] == pytest.approx(np.mean([1 / 2, 1]))
    assert math.isnan(judging.reliability([one])["stability"])


def test_top_words_leave_out_what_has_no_weight() -> None:
    weights = np.array([[0.1, 0.5, 0.0, 0.5], [0.0, 0.0, 0.0, 0.0]])
    assert [words.tolist() for words in judging.top_sets(weights)] == [[1, 3, 0]]
    assert [words.tolist() for words in judging.top_sets(weights, 2)] == [[1, 3]]


def test_salient_words_are_frequent_but_not_everywhere() -> None:
    counts = np.array([[5, 3, 0, 1], [4, 2, 0, 0], [6, 0, 1, 0], [5, 0, 0, 0]])
    words = ["everywhere", "telling", "rare", "rarer"]
    assert judging.salient_words(counts, words, 3) == ["telling", "rare", "rarer"]
    assert judging.salient_words(sparse.csr_array(counts), words, 1) == ["telling"]


def test_one_window_in_five_is_held_out_through_all_documents() -> None:
    texts = [" ".join(f"Word{d}x{s} stands here." for s in range(n)) for d, n in enumerate((12, 3, 1, 0, 26, 5))]
    train, held_out = [[] for _ in texts], []
    number = 0
    for d, text in enumerate(texts):
        sentences = [text[a:b].strip() for a, b in sentence_spans(text, "en")]
        while sentences:
            number += 1
            window, sentences = " ".join(sentences[:5]), sentences[5:]
            if number % 5 == 0:
                held_out.append((d, window))
            else:
                train[d].append(window)
    assert split_windows(texts, ["en"] * len(texts)) == (train, held_out)
    assert len(held_out) == 2


def test_the_training_part_alone_makes_the_vocabulary_and_its_windows_come_back() -> None:
    texts = [" ".join(f"Apple{d} {'secret' if s >= 20 else 'pear'} plum." for s in range(25)) for d in range(3)]
    split = make_split(texts, ["a", "b", "c"], "en", WORDS_ONLY)
    assert "secret" not in split.windows.vocabulary
    assert "pear" in split.windows.vocabulary
    assert split.windows.n_documents == 12
    assert split.held_out.n_documents == 3
    assert split.held_out.vocabulary == split.windows.vocabulary
    assert split.documents.ids == ["a", "b", "c"]
    assert split.documents.n_tokens == split.windows.n_tokens
    plum = split.windows.vocabulary.index("plum")
    assert split.windows.counts[:, [plum]].toarray().ravel().tolist() == [5] * 12
    assert split.documents.counts[:, [plum]].toarray().ravel().tolist() == [20] * 3
    assert split.held_out.counts[:, [plum]].toarray().ravel().tolist() == [5] * 3
    assert np.bincount(split.documents.sentence_row).tolist() == [20] * 3


def test_too_little_text_is_said() -> None:
    with pytest.raises(InputError, match="none can be held out"):
        make_split(["One pear. Two pears."], ["a"], "en", WORDS_ONLY)


def test_little_held_out_text_is_cautioned_of() -> None:
    assert caution({"held_out_windows": 50}) is None
    assert caution({"held_out_windows": 49}).startswith("Only 49 windows are held out")
    assert caution({"held_out_windows": 1}).startswith("Only 1 window is held out")


def test_matched_sets_lack_the_word_and_are_equally_many() -> None:
    ours = np.array([[0.9, 0.5, 0.4, 0.0, 0.0], [0.2, 0.0, 0.0, 0.9, 0.8]])
    held = np.array([[2.0, 5, 5, 0, 0], [3.0, 0, 0, 3, 3]])
    theirs = np.array([[0.4, 0.3, 0.1, 0.1, 0.1], [0.1, 0.1, 0.1, 0.3, 0.4]])
    first, second = Found(ours, held, 0), Found(theirs, theirs, 0)
    mine, other = judging.matched(first, second, 0)
    assert mine.tolist() == [3, 4]
    assert other.tolist() == [1, 2]
    nobody = Found(ours, np.zeros_like(held), 0)
    assert [len(words) for words in judging.matched(nobody, second, 0)] == [0, 0]


def test_a_topic_s_words_are_those_with_a_token() -> None:
    counts, eta = np.array([[5.0, 1.0, 0.0, 0.0], [0.0, 0.0, 7.0, 2.0]]), 0.1
    tokens = counts.sum(axis=1)
    smoothed = (counts + eta) / (tokens + 4 * eta)[:, None]
    found = peers.assigned(smoothed, tokens, eta, 4)
    assert (found > 0).tolist() == (counts > 0).tolist()


def test_contests_put_each_word_and_seed_in_once() -> None:
    contests = make_lineup(["without", "shuffled"]).contests
    rows = [
        {"first": first, "second": second, "seed": seed, "word": word, "size": 0 if word == "c" else 2}
        | {"first, windows": 0.2 if word == "a" else 0.1, "second, windows": 0.15}
        for first, second in contests
        for seed in (1, 2)
        for word in "abc"
    ]
    table = judging.contest_table(pd.DataFrame(rows), ["windows"])
    assert len(table) == len(contests)
    row = table.iloc[0]
    assert (row["n"], row["wins"], row["rate"], row["left_out"]) == (4, 2, 0.5, 2)
    assert row["lowest_seed"] == row["highest_seed"] == 0.5


def test_shuffled_features_are_the_same_rows_at_other_words() -> None:
    words = ("apple pear", "cherry grape fig", "apple fig")
    texts = [f"{words[d % 3]} plum{d}." for d in range(30)]
    corpus = make_split(texts, [str(d) for d in range(30)], "en", {"words": "plain", "min_df": 2}).documents
    true = np.asarray(cooccurrence(corpus))
    mixed = shuffled_features(corpus, 1)
    assert mixed is not None
    assert not np.array_equal(true, mixed)
    assert sorted(map(tuple, true.tolist())) == sorted(map(tuple, mixed.tolist()))


FEW = ["--seeds", 2, "--sweeps", 6, "--chains", 1, "--iterations", 20, "--salient", 6]  # min_df as by default


def compare(capsys, source, out, *more):
    found = run(capsys, "compare", source, "--text", "speech", "--id", "name", *FEW, "-o", out, *more)
    assert found.code == 0, found.err
    return found


def test_the_whole_comparison_writes_its_tables_and_page(tmp_path, capsys) -> None:
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    source, out = write_documents(tmp_path, 60), tmp_path / "out"
    lineup = make_lineup()
    found = compare(capsys, source, out, "--json")
    assert found.json == json.loads((out / "compare.json").read_text(encoding="utf-8"))
    assert found.json["facts"]["seeds"] == [1, 2]
    assert [row["model"] for row in found.json["models"]] == list(lineup.models)
    assert sum(row["chosen"] for row in found.json["grid"]) == len(lineup.peers)
    contests = pd.read_csv(out / "contests.csv")
    words = pd.read_csv(out / "words.csv")
    assert len(contests) == 2 * len(lineup.contests)
    assert len(words) == 2 * 6 * len(lineup.contests)
    sizes = words["first_words"].fillna("").map(lambda text: len(text.split(" | ")) if text else 0)
    assert (sizes == words["size"]).all()
    assert not any(row.word in str(row.first_words).split(" | ") for row in words.itertuples())
    page = (out / "compare.html").read_text(encoding="utf-8")
    assert page.count("<svg") > 0
    assert page.count("<svg") % 2 == 0
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "LDA on windows" in page
    assert all(line.split(":")[0] in page and line in found.err for line in lineup.left_out)
    # Two themes that share no word: whoever has seen a few words knows which half of the vocabulary follows.
    models = pd.read_csv(out / "models.csv").set_index("model")
    likelihood = models["log_likelihood"]
    assert likelihood["superwords"] > likelihood["word frequencies"] + 0.1
    assert likelihood["LDA on documents"] > likelihood["word frequencies"] + 0.3
    assert likelihood[["frequent words", "random words"]].isna().all()
    known = likelihood.dropna()
    assert models.loc[known.index, "ours ahead"].to_numpy() == pytest.approx(known["superwords"] - known)
    assert (models["ours ahead"].isna() == likelihood.isna()).all()


def test_an_interrupted_comparison_goes_on_with_the_same_runs(tmp_path, capsys) -> None:
    source, out, other = write_documents(tmp_path, 60), tmp_path / "out", tmp_path / "other"
    compare(capsys, source, out, "--models", "without")
    kept = sorted((out / "runs").iterdir())
    assert len(kept) == 4
    untouched = {path.name: path.stat().st_mtime_ns for path in kept[1:]}
    kept[0].write_bytes(b"")
    compare(capsys, source, out, "--models", "without", "--seeds", 3)
    after = {path.name: path.stat().st_mtime_ns for path in (out / "runs").iterdir()}
    assert len(after) == 6
    assert untouched.items() <= after.items()
    compare(capsys, source, other, "--models", "without", "--seeds", 3)
    assert (out / "words.csv").read_bytes() == (other / "words.csv").read_bytes()
    columns = ["model", "seed", "log_likelihood", "n_concepts"]
    pd.testing.assert_frame_equal(*(pd.read_csv(folder / "runs.csv")[columns] for folder in (out, other)))


def test_one_salient_word_is_enough(tmp_path, capsys) -> None:
    source, out = write_documents(tmp_path, 60), tmp_path / "out"
    found = compare(capsys, source, out, "--models", "without", "--salient", 1, "--seeds", 1)
    assert "windows are held out: so little text decides nothing between models." in found.out
    assert len(pd.read_csv(out / "words.csv")["word"].unique()) == 1


def test_where_co_occurrence_tells_nothing_ours_goes_on_without_features(tmp_path, capsys, monkeypatch) -> None:
    def refuse(corpus, weighting):
        raise InputError("the words never meet.")

    monkeypatch.setattr("superwords.features.specs.cooccurrence", refuse)
    source, out = write_documents(tmp_path, 60), tmp_path / "out"
    found = compare(capsys, source, out, "--models", "without", "--seeds", 1)
    assert "No word features are used: the words never meet." in found.err
    models = pd.read_csv(out / "models.csv").set_index("model")
    assert models.loc["superwords", "perplexity"] == models.loc["without features", "perplexity"]


def test_a_model_nobody_knows_is_said(tmp_path, capsys) -> None:
    source = write_documents(tmp_path)
    found = run(capsys, "compare", source, "--text", "speech", "-o", tmp_path / "out", "--models", "hdp,lsi")
    assert found.code == 1
    assert "'lsi' is not a model" in found.err


def test_without_tomotopy_one_sentence(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "tomotopy", None)
    found = run(capsys, "compare", write_documents(tmp_path), "--text", "speech", "-o", tmp_path / "out")
    assert found.code == 1
    assert found.err.count("\n") == 1
    assert "superwords[compare]" in found.err


def test_tokens_and_a_file_in_the_folder_s_place_are_refused(tmp_path, capsys) -> None:
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    source = write_documents(tmp_path)
    found = run(capsys, "compare", source, "--text", "speech", "-o", source)
    assert found.code == 1
    assert "is a file" in found.err
    tokens = tmp_path / "tokens.jsonl"
    tokens.write_text('{"text": ["apple", "pear"]}\n' * 9)
    found = run(capsys, "compare", tokens, "-o", tmp_path / "out")
    assert found.code == 1
    assert "raw text" in found.err


def test_with_nothing_to_predict_the_peers_still_compare() -> None:
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    texts = [" ".join(f"Apple{d} pear plum." for _ in range(25)) for d in range(3)]
    split = make_split(texts, ["a", "b", "c"], "en", WORDS_ONLY)
    nothing = make_halves(sparse.csr_array((2, split.windows.n_words), dtype=np.int32))
    contest = Contest(split, split.windows, make_lineup(["lda"]), nothing, Runs(Effort(1, 4, 4)))
    found = contest.fit("LDA on windows", 1, {"k": 2})
    assert found.weights.any()
    assert found.predicted is None
