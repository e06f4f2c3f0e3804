"""The paper's experiments on real data, in small: skipped where the data are not at hand."""

import gzip
import json
import re
import shutil
from contextlib import redirect_stdout
from io import StringIO
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from experiments import congress, harness, lee, mixing, recipes, settings
from experiments.__main__ import main
from experiments.harness import Lab, read_lines, t_interval
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel, load
from superwords.study.pairs import load_study
from superwords.text.corpus import Corpus

DATA = harness.DATA


def needs(name):
    return pytest.mark.skipif(not (DATA / name).exists(), reason=f"{DATA / name} is missing; set SUPERWORDS_DATA")


def run(*arguments):
    printed = StringIO()
    with redirect_stdout(printed):
        main([str(argument) for argument in arguments])
    return printed.getvalue()


def write_lines(path, records):
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, records)).encode()))


@pytest.mark.parametrize(
    ("command", "missing"),
    [
        ("recipes", recipes.RECIPES),
        ("lee", lee.ITEMS),
        ("congress", congress.MEMBERS),
        ("settings", settings.CORPORA[0][1]),
        ("mixing", congress.MEMBERS),
    ],
)
def test_missing_data_are_named(tmp_path, command, missing):
    with pytest.raises(InputError, match=rf"{re.escape(missing)}.*--data"):
        run(command, "--data", tmp_path, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "broken.jsonl.gz").write_bytes(b"not gzip")
    with pytest.raises(InputError, match=r"broken\.jsonl\.gz"):
        read_lines(tmp_path / "broken.jsonl.gz")


def test_the_interval_of_a_mean_is_students():
    low, high = t_interval(np.array([1.0, 2.0, 3.0]))
    assert high - 2.0 == pytest.approx(4.302653 / np.sqrt(3))
    assert low + high == pytest.approx(4.0)
    assert np.isnan(t_interval(np.array([1.0]))).all()


def test_agreement_looks_at_pairs_of_different_items():
    human = np.array([[1, 0.2, 0.4], [0, 1, 0.9], [0, 0, 1]])
    similarity = np.array([[9, 2, 4], [0, 9, 9], [0, 0, 9]])
    assert lee.agreement(similarity, human) == pytest.approx(1.0)


def test_a_half_is_right_where_its_other_half_is_nearest():
    similarity = np.array([[1, 0, 0.9, 0.1], [0, 1, 0.5, 0.5], [0.9, 0.5, 1, 0], [0.1, 0.5, 0, 1]])
    assert lee.half_accuracy(similarity) == pytest.approx((1 + 0.5 + 1 + 1) / 4)


def test_expected_words_are_those_of_the_concepts_a_document_holds():
    counts = np.array([[3, 2, 0, 0], [0, 0, 4, 1], [2, 2, 0, 0], [0, 0, 1, 3]])
    model = ConceptModel(n_chains=1, n_sweeps=6, random_state=0).fit(counts)
    draws = model.draws_
    expected = lee.expected_words(model, draws)
    assert ((expected > 0) >= (counts > 0)).all()
    naive = np.zeros(counts.shape)
    for draw in draws:
        state, start = draw.state, draw.state.doc_ptr
        for d in range(4):
            pairs = range(start[d], start[d + 1])
            total = sum(draw.tokens.pair[p] + 1.0 for p in pairs)
            for p in pairs:
                words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
                for word in words:
                    naive[model.order_[d], word] += (draw.tokens.pair[p] + 1.0) / total / len(words)
    np.testing.assert_allclose(expected, naive / len(draws))


def test_a_word_is_found_under_its_singular_or_plural():
    vocabulary = ["employer", "costs", "ObamaCare"]
    found = [congress.find_label(word, vocabulary) for word in ("employers", "costs", "obamacare", "states")]
    assert found == ["employer", "costs", "ObamaCare", None]


@needs(lee.ITEMS)
def test_lee_on_the_judged_items_alone(tmp_path):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    records = [record for record in read_lines(DATA / lee.ITEMS) if record["group"] == "eval"]
    write_lines(tmp_path / lee.ITEMS, records)
    shutil.copy(DATA / lee.JUDGEMENTS, tmp_path / lee.JUDGEMENTS)
    out = tmp_path / "out"
    printed = run(
        "lee", "--data", tmp_path, "-o", out, "--seeds", 2, "--sweeps", 4, "--iterations", 5, "--chains", 2, "--jobs", 1
    )
    assert "the best of the others is" in printed
    table = pd.read_csv(out / "lee.csv").set_index("method")
    assert table["pearson"].is_monotonic_decreasing
    assert {"concepts", "TF-IDF", "HDP", "LSA 20", "LDA 100"} <= set(table.index)
    assert (table.loc["HDP", "low"] <= table.loc["HDP", "pearson"]).all()
    assert {"concepts, weights", "HDP, weights", "LDA 50, weights, one chain"} <= set(table.index)
    assert len(pd.read_csv(out / "lee_seeds.csv")) == 1 + 2 * (3 + 4 * 3 + 2 + 2)
    assert (out / "lee.png").stat().st_size > 5000


@needs(lee.ITEMS)
def test_halves_of_items_are_matched_without_judgements(tmp_path):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    records = [record for record in read_lines(DATA / lee.ITEMS) if record["group"] != "eval"]
    write_lines(tmp_path / lee.ITEMS, records[:40])
    options = ("--sweeps", 4, "--iterations", 5, "--chains", 1, "--jobs", 1)
    printed = run("lee", "--data", tmp_path, "-o", tmp_path / "out", "--halves", *options)
    accuracy = pd.read_csv(tmp_path / "out" / "halves.csv").set_index("method")["accuracy"]
    assert 0.7 < accuracy["TF-IDF"] <= 1
    assert {"concepts", "concepts, weights", "LDA 20", "HDP, weights"} <= set(accuracy.index)
    assert accuracy.is_monotonic_decreasing
    assert f"{accuracy['TF-IDF']:.3f}" in printed


@needs(lee.ITEMS)
def test_judgements_of_another_number_of_items_are_refused(tmp_path):
    shutil.copy(DATA / lee.ITEMS, tmp_path / lee.ITEMS)
    (tmp_path / lee.JUDGEMENTS).write_text("1 2\n3 4\n")
    with pytest.raises(InputError, match="50 judged items"):
        lee.load_items(tmp_path)


def test_a_part_says_nothing_of_words_it_does_not_use():
    parts = [Corpus.from_counts(np.array(rows)) for rows in ([[1, 1, 0]], [[2, 0, 0]], [[1, 3, 0]])]
    similarities = [np.full((3, 3), value) for value in (0.2, 0.9, 0.4)]
    expected = [[0.5, 0.3, np.nan], [0.3, 0.3, np.nan], [np.nan] * 3]
    np.testing.assert_allclose(recipes.over_parts(similarities, parts), expected)


@needs(recipes.RECIPES)
def test_recipes_have_translations_drawn_by_two_artists():
    found = recipes.load_recipes(DATA)
    assert found.corpus.n_documents == 743
    assert len(found.pairs) >= 36
    language = dict(zip(found.vocabulary, found.languages))
    for english, german in found.pairs:
        assert {language[word] for word in english} == {"en"}
        assert {language[word] for word in german} == {"de"}
        assert {word.casefold() for word in english}.isdisjoint(word.casefold() for word in german)
    assert ((found.corpus.counts > 0).sum(axis=0) >= recipes.MIN_RECIPES).all()
    unknown = np.isnan(found.picture_features).any(axis=1)
    assert {"flour", "sugar", "Mehl"} <= {word for word, is_unknown in zip(found.vocabulary, unknown) if is_unknown}


def test_the_margin_over_pictures_is_a_mean_over_pairs_with_its_interval():
    rows = [
        {"pair": pair, "source": source, "accuracy": accuracy, "known": pair != "c"}
        for source, own in ((recipes.TOGETHER, (0.9, 0.7, 0.5)), (recipes.PICTURES, (0.8, 0.5, 0.5)))
        for pair, accuracy in zip("abc", own)
    ]
    printed = recipes.margins(pd.DataFrame(rows))
    assert "all pairs +0.100 [-0.148, +0.348]" in printed
    assert "pairs with pictures +0.150" in printed


def copy_some_pictures(folder):
    """Of tomato, lemon, bread, carrot, potato, egg, salt, garlic and onion: GIST takes most of the time."""
    for artist in recipes.ARTISTS.values():
        (folder / artist).mkdir(parents=True)
        for point in ("1F345", "1F34B", "1F35E", "1F955", "1F954", "1F95A", "1F9C2", "1F9C4", "1F9C5"):
            shutil.copy(DATA / recipes.FOODS / artist / f"{point}.png", folder / artist)
    shutil.copy(DATA / recipes.FOODS / "words.jsonl", folder)


@needs(recipes.RECIPES)
def test_recipes_in_small(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    copy_some_pictures(data / recipes.FOODS)
    write_lines(data / recipes.RECIPES, read_lines(DATA / recipes.RECIPES)[::9])
    printed = run("recipes", "--data", data, "-o", out, "--seeds", 2, "--sweeps", 4, "--jobs", 1)
    assert "concepts" in printed
    table = pd.read_csv(out / "recipes.csv")
    assert len(table) == 2 * len(recipes.SOURCES)
    assert table["accuracy"].between(0, 1).all()
    np.testing.assert_allclose(table["accuracy"], (table["to_german"] + table["to_english"]) / 2)
    pictures = table[table["source"] == recipes.PICTURES]
    np.testing.assert_allclose(pictures["low"], pictures["high"])
    assert (out / "recipes.png").stat().st_size > 5000
    assert (out / "recipes_pairs.csv").is_file()
    assert (out / "recipes_concepts.csv").is_file()


def write_some_members(folder, most=16, length=15000):
    folder.mkdir()
    members = read_lines(DATA / congress.MEMBERS)[:most]
    write_lines(folder / congress.MEMBERS, [{**one, "text": one["text"][:length]} for one in members])


@needs(congress.MEMBERS)
def test_congress_in_small(tmp_path):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    data, out = tmp_path / "data", tmp_path / "out"
    write_some_members(data)
    options = ("--sweeps", 6, "--passage-sweeps", 6, "--hdp-iterations", 10, "--min-df", 8, "--jobs", 1)
    printed = run("congress", "--data", data, "-o", out, *options)
    assert "16 members" in printed
    assert "25 concepts or fewer" in printed
    drawn = ("obamacare", "concepts_per_word", "focused", "start_and_end", "parties")
    for name in drawn:
        assert (out / f"{name}.png").stat().st_size > 5000, name
    study = load_study(out / "study.json")
    assert {question["word"] for question in study["questions"]} <= {
        congress.find_label(word, [question["word"] for question in study["questions"]])
        for word in congress.STUDY_WORDS
    }
    judged = pd.read_csv(out / "study_words.csv")
    assert 0 < len(judged) <= len(congress.STUDY_WORDS)
    assert judged[["concept", "topic"]].abs().max().max() <= 1
    assert pd.read_csv(out / "protocol.csv")["members"].tolist() == [16]
    wordings = pd.read_csv(out / "wordings.csv")
    assert wordings["overlap"].is_monotonic_increasing
    assert (out / "concepts.csv").is_file()
    model = load(out / "congress.sw")
    tables = [model.words_of(j + 1).set_index("word")["score"].to_dict() for j in range(model.n_concepts_)]
    for question in study["questions"]:
        shown = question["concept"]["words"]
        assert min(shown.values()) > 0
        assert any(all(table.get(w) == pytest.approx(v) for w, v in shown.items()) for table in tables)


@needs(congress.MEMBERS)
def test_the_concepts_are_kept_where_hdp_is_interrupted(tmp_path, monkeypatch):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    data, out = tmp_path / "data", tmp_path / "out"
    write_some_members(data)

    def interrupted(*_):
        raise KeyboardInterrupt

    out.mkdir()
    monkeypatch.setattr(congress, "fit_topics", interrupted)
    with pytest.raises(KeyboardInterrupt):
        congress.experiment(Lab(out, data, jobs=1), sweeps=4, min_df=8, passage_sweeps=4)
    assert load(out / "congress.sw").n_concepts_ > 0
    assert (out / "concepts.csv").is_file()


def test_a_library_that_is_not_installed_is_named_before_the_work(tmp_path, monkeypatch):
    write_lines(tmp_path / congress.MEMBERS, [])
    monkeypatch.setattr(harness, "find_spec", lambda library: None)
    with pytest.raises(InputError, match="needs tomotopy; run: pip install"):
        run("congress", "--data", tmp_path, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_coherence_is_that_of_the_comparison_also_for_words_of_every_sentence():
    sentences = sparse.csr_array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 0], [1, 1, 0, 0, 1]])
    words = list("abcde")
    model = SimpleNamespace(
        corpus_=SimpleNamespace(sentences=sentences, vocabulary=words),
        n_concepts_=2,
        top_words=lambda j, most: words if j == 1 else words[:2],
    )
    # a and b are in every sentence: 1; each says nothing of c, d, e; and these are never together: 0
    np.testing.assert_allclose(congress._coherence(model), [1 / 10, -1.0])


def made_up_chains(*shares):
    """(chains, draws, pairs): a chain has a pair together in this share of each ten of its 40 draws."""
    turns = np.arange(40)[:, None] % 10 < 10 * np.array(shares)[:, None, :]
    return turns, [(f"a{i}", f"b{i}") for i in range(len(shares[0]))]


def test_chains_with_as_many_but_other_pairs_together_do_not_agree():
    together, names = made_up_chains((0.9, 0.9, 0.1, 0.1), (0.1, 0.1, 0.9, 0.9))
    counts = together.sum(axis=2)
    assert counts[0].mean() == counts[1].mean()
    pairs = mixing.agree_on_pairs(together, names)
    assert (pairs["R-hat"] > 1.5).all()
    np.testing.assert_allclose(pairs["difference"], 0.8)
    assert "at most 1.1 for 0%" in mixing.pairs_summary(pairs)


def test_chains_with_the_same_pairs_together_agree():
    pairs = mixing.agree_on_pairs(*made_up_chains((0.5, 0.2, 0.7), (0.5, 0.2, 0.7)))
    assert (pairs["R-hat"] <= 1.01).all()
    told = mixing.pairs_summary(pairs)
    assert "at most 1.1 for 100%; P(together) 0.467 on average, mean difference between chains 0.000" in told


def test_a_pair_that_no_chain_moves_agrees_nowhere_or_is_left_out():
    pairs = mixing.agree_on_pairs(*made_up_chains((0, 1, 0, 0.5), (1, 1, 0, 0.5)))
    assert pairs["R-hat"].tolist()[0] > 1e6
    assert pairs["R-hat"].isna().tolist() == [False, True, True, False]
    told = mixing.pairs_summary(pairs)
    assert "4 pairs of frequent words, 2 of them not the same in all draws" in told
    assert "at most 1.1 for 50%" in told
    assert mixing.pairs_summary(pairs[1:3]) == "2 pairs of frequent words, 0 of them not the same in all draws"


def test_words_are_together_as_far_as_rows_use_them_for_the_same_concepts():
    counts = np.random.default_rng(5).integers(0, 4, (12, 5))
    model = ConceptModel(n_chains=2, n_sweeps=12, init="random:3", random_state=0).fit(counts)
    together, names = mixing.pairs_together(model)
    assert len(names) == 10
    chain, last = model.draws_.chains[1], -1
    state, entry = chain[last].state, chain[last].tokens.entry
    uses = {word: [] for word in model.corpus_.vocabulary}
    for p, j in enumerate(state.concept):
        for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
            if entry[e] > 0:
                uses[f"word{state.word[e]}"].append(j)
    naive = [np.mean([j == k for j in uses[a] for k in uses[b]]) for a, b in names]
    np.testing.assert_allclose(together[1, last], naive)
    assert 0 < min(naive) < max(naive) < 1


@needs(congress.MEMBERS)
def test_mixing_in_small(tmp_path):
    data, out = tmp_path / "data", tmp_path / "out"
    write_some_members(data, 12, 20000)
    printed = run("mixing", "--data", data, "-o", out, "--sweeps", 10, "--jobs", 1)
    assert "with a partner of Jaccard 0.5" in printed
    chains = pd.read_csv(out / "mixing.csv")
    assert chains["start"].tolist() == list(mixing.STARTS)
    assert (chains["concepts"] > 0).all()
    at_first = chains.set_index("start")["concepts at first"]
    assert at_first["single"] == 1
    assert at_first["kmeans:20"] == 20
    traced = pd.read_csv(out / "traces.csv", index_col="sweep")
    assert traced.iloc[0].tolist() == chains["concepts at first"].tolist()
    assert len(traced) == 11
    assert {"concepts", "log joint"} <= set(pd.read_csv(out / "agreement.csv")["quantity"])
    pairs = pd.read_csv(out / "pairs.csv")
    assert pairs[list(mixing.STARTS)].stack().between(0, 1).all()
    assert len(pairs) == pairs.groupby(["first", "second"]).ngroups > 100
    assert "healthcare" in set(pairs["first"]) | set(pairs["second"])
    assert f"{len(pairs)} pairs of frequent words, {pairs['R-hat'].notna().sum()} of them not the same" in printed
    assert pd.read_csv(out / "partners.csv", index_col=0).shape == (6, 6)
    assert (out / "traces.png").stat().st_size > 5000


def test_a_variation_changes_one_setting():
    changed = [(one.setting, one.value) for one in settings.VARIATIONS]
    assert changed[0] == (settings.DEFAULT, "")
    assert len(set(changed)) == len(changed)
    for one in settings.VARIATIONS[1:]:
        assert bool(one.given) + (one.features != settings.DEFAULT) + (one.rows != settings.WINDOWS) == 1


def test_the_best_of_the_grid_is_set_beside_the_defaults():
    values = {"setting": ["default", "b2"], "value": ["", "1"], "win": [0.5, 0.6]}
    table = pd.DataFrame(values | {name: [0.5, 0.4] for name, _, _ in settings.CORPORA})
    assert "on the mean 0.50, the best 0.60 (b2 1)" in settings.conclusion(table)


@needs(settings.SPEECHES)
@needs(congress.MEMBERS)
def test_settings_in_small(tmp_path):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    for name in {file for _, file, _ in settings.CORPORA} - {recipes.RECIPES}:
        write_lines(tmp_path / name, read_lines(DATA / name)[:40])
    write_lines(tmp_path / recipes.RECIPES, read_lines(DATA / recipes.RECIPES)[::8])
    write_lines(
        tmp_path / congress.MEMBERS,
        [{**record, "text": record["text"][:6000]} for record in read_lines(DATA / congress.MEMBERS)[:12]],
    )
    options = ("--quick", "--sweeps", 4, "--iterations", 10, "--jobs", 1)
    printed = run("settings", "--data", tmp_path, "-o", tmp_path / "out", *options)
    assert "Win rate of the defaults" in printed
    table = pd.read_csv(tmp_path / "out" / "settings.csv")
    assert table["setting"].tolist()[0] == settings.DEFAULT
    assert table["win"].between(0, 1).all()
    assert table["used"].between(0, 1).all()
    runs = pd.read_csv(tmp_path / "out" / "settings_runs.csv")
    assert len(runs) == len(table) * len(settings.CORPORA)
    assert pd.read_csv(tmp_path / "out" / "saturation.csv")["unit"].tolist() == ["document", "passage"]


@needs(congress.MEMBERS)
def test_arrival_in_small(tmp_path):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    data, out = tmp_path / "data", tmp_path / "out"
    write_some_members(data, 12, 20000)
    arguments = ("--data", data, "-o", out, "--sweeps", 12, "--jobs", 1)
    printed = run("arrival", *arguments, "--level", -1e9)
    assert "At the level after 0 sweeps" in printed
    printed = run("arrival", *arguments, "--level", 0, "--init", "kmeans:20")
    table = pd.read_csv(out / "arrival.csv")
    assert table["sweep"].tolist() == [0, 10, 12]
    assert table["seconds"].is_monotonic_increasing
    assert "iterations of LDA with 50 topics" in printed
    assert f"Not at the level after 12 sweeps and {table['seconds'].iloc[-1]:.0f} s" in printed


@needs(congress.MEMBERS)
def test_arrival_looks_at_every_sweep_of_the_second_half(tmp_path):
    pytest.importorskip("tomotopy", reason="needs the extra `compare`")
    data, out = tmp_path / "data", tmp_path / "out"
    write_some_members(data, 12, 20000)
    arguments = ("--data", data, "-o", out, "--sweeps", 20, "--jobs", 1, "--init", "kmeans:20", "--then")
    printed = run("arrival", *arguments)
    assert pd.read_csv(out / "arrival.csv")["sweep"].tolist() == [0, *range(10, 21)]
    assert "Effective samples per second of CPU in the second half: log joint" in printed


def test_targets_of_agreement_are_told():
    chains = [pd.DataFrame({"concepts": [n, n], "log joint": [n - 1.0, n + 1.0]}) for n in (20, 21, 30)]
    told = mixing.targets_summary(chains, 0.25)
    assert "2 of 3 chains have a number of concepts within 15% of the median, 21" in told
    assert "differ by 10 nats, one chain varies by 1" in told
    assert "25% of concepts have a partner (target: 60%)" in told
