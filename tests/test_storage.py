"""A model saved and loaded is the same and goes on with the same bits; damage is said in one sentence."""

import io
import json
import os
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import sparse

import superwords
from models_for_tests import EDGES, PLANTED, edge_model, fit, passage_model, planted_corpus, planted_model
from superwords import ConceptModel, Corpus, InputError, load
from superwords.fitting import storage

TABLES = {
    "concepts": lambda m: m.concepts(),
    "documents": lambda m: m.documents(),
    "words": lambda m: m.words(),
    "words_of": lambda m: m.words_of(1),
    "representative": lambda m: m.representative_documents(1),
    "similar": lambda m: m.similar_words("word20"),
    "by_group": lambda m: m.by_group("party"),
    "compare": lambda m: m.compare_groups("party", "A", "B"),
    "group_words": lambda m: m.group_words("party", 1),
    "convergence": lambda m: m.convergence(),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return {draws: planted_model().save(folder / f"{draws}.sw", draws=draws) for draws in ("best", "all")}


def same_state(one, other):
    for name, a, b in zip(one._fields, one, other, strict=True):
        assert a.dtype == b.dtype, name
        assert np.array_equal(a, b), name


@pytest.mark.parametrize("draws", ["best", "all"])
@pytest.mark.parametrize("table", TABLES)
def test_tables_are_the_same_after_loading(files, draws, table):
    assert_frame_equal(TABLES[table](load(files[draws])), TABLES[table](planted_model()), check_exact=True)


def test_tables_of_passages_are_the_same_after_loading(tmp_path):
    model = load(passage_model().save(tmp_path / "m.sw"))
    for table in ("documents", "by_group"):
        assert_frame_equal(TABLES[table](model), TABLES[table](passage_model()), check_exact=True)
    rows = model.documents(passages=True)
    assert_frame_equal(rows, passage_model().documents(passages=True), check_exact=True)


@pytest.mark.parametrize("draws", ["best", "all"])
def test_attributes_are_the_same_after_loading(files, draws):
    model, loaded = planted_model(), load(files[draws])
    assert loaded.n_concepts_ == model.n_concepts_
    assert np.array_equal(loaded.concept_word_, model.concept_word_)
    assert np.array_equal(loaded.doc_concept_, model.doc_concept_)
    assert np.array_equal(loaded.co_membership_, model.co_membership_)
    for name in ("log_joint", "n_concepts", "n_memberships", "n_words_on"):
        wanted = model.trace_["posterior"][name]
        assert loaded.trace_["posterior"][name].dtype == wanted.dtype
        assert np.array_equal(loaded.trace_["posterior"][name], wanted)
    assert loaded.verdict() == model.verdict()
    assert loaded.get_params() == model.get_params()
    same_state(loaded.best_draw_.state, model.best_draw_.state)
    same_state(loaded.consensus_draw_.state, model.consensus_draw_.state)


def test_the_corpus_is_the_same_after_loading(files):
    corpus, loaded = planted_model().corpus_, load(files["best"]).corpus_
    assert_frame_equal(loaded.metadata, corpus.metadata)
    assert (loaded.counts != corpus.counts).nnz == 0
    assert loaded.counts.dtype == corpus.counts.dtype
    assert loaded.vocabulary == corpus.vocabulary
    assert loaded.ids == corpus.ids
    assert loaded.texts == corpus.texts


@pytest.mark.parametrize("draws", ["best", "all"])
def test_sampling_goes_on_bit_by_bit(files, draws):
    straight = fit(planted_corpus(), features=PLANTED.features, n_sweeps=80)
    loaded = load(files[draws]).advance(20)
    for one, other in zip(loaded.chains_, straight.chains_, strict=True):
        assert one.sweep == other.sweep == 80
        same_state(one.state, other.state)
        same_state(one.tokens, other.tokens)
    if draws == "all":
        assert len(loaded.draws_) == len(straight.draws_)
        assert_frame_equal(loaded.concepts(), straight.concepts(), check_exact=True)
    else:
        assert [draw.sweep for draw in loaded.draws_] == list(range(62, 81, 2)) * 2
        assert len(loaded.concepts()) == loaded.n_concepts_


def test_too_few_sweeps_to_keep_a_draw_leave_the_results(files):
    loaded = load(files["best"]).advance(1)
    assert_frame_equal(loaded.concepts(), planted_model().concepts(), check_exact=True)


@pytest.mark.parametrize(
    "settings", [{"theta": "sample"}, {"steps": "published"}, {"theta": np.arange(1.0, 41.0)}]
)
def test_other_ways_of_sampling_go_on_too(tmp_path, settings):
    short = {"n_burn_in": 2, "thin": 1, "n_chains": 1, **settings}
    saved = fit(planted_corpus(), n_sweeps=8, **short).save(tmp_path / "m.sw")
    loaded = load(saved).advance(4)
    same_state(loaded.chains_[0].state, fit(planted_corpus(), n_sweeps=12, **short).chains_[0].state)


def test_an_interrupted_fit_is_taken_up_before_the_first_kept_draw(tmp_path):
    model = fit(planted_corpus(), n_sweeps=12, n_burn_in=6, thin=1, n_chains=1)
    stopped = ConceptModel(n_sweeps=12, n_burn_in=6, thin=1, n_chains=1, random_state=3)
    stopped.start(planted_corpus(), None)
    for _ in stopped.chains_[0].advance(4):
        pass
    loaded = load(stopped.save(tmp_path / "m.sw", draws="all")).resume()
    same_state(loaded.chains_[0].state, model.chains_[0].state)
    assert_frame_equal(loaded.concepts(), model.concepts(), check_exact=True)


@pytest.mark.parametrize("name", EDGES)
@pytest.mark.parametrize("draws", ["best", "all"])
def test_models_at_the_borders_are_kept(tmp_path, name, draws):
    model = edge_model(name)
    loaded = load(model.save(tmp_path / "m.sw", draws=draws))
    for table in ("concepts", "documents", "words", "by_group"):
        assert_frame_equal(TABLES[table](loaded), TABLES[table](model), check_exact=True)
    assert loaded.advance(2).n_concepts_ >= 0


def test_every_kind_of_metadata_comes_back(tmp_path):
    times = pd.to_datetime(["2012-09-04", None, "2017-01-01"])
    table = pd.DataFrame(
        {
            "text": ["a", None, "ü"],
            "object": pd.Series(["a", 1, None], dtype=object),
            "whole": [1, 2, 2**60],
            "real": [0.1, np.nan, np.inf],
            "flag": [True, False, True],
            "maybe": pd.array([1, None, 3], dtype="Int64"),
            "category": pd.Categorical(["x", "y", None], categories=["y", "x", "z"], ordered=True),
            "time": times,
            "zoned": times.tz_localize("Europe/Berlin"),
            7: ["a", "b", "c"],
        }
    )
    sentences = sparse.csr_array(np.eye(2, dtype=np.int8))
    corpus = replace(
        Corpus.from_counts(np.ones((3, 2), int), metadata=table),
        sentences=sentences,
        sentence_row=np.array([0, 2]),
        notes={"recipe": {"min_df": np.int64(2), "drop": {"b", "a"}}, "empty_documents": []},
    )
    loaded = load(fit(corpus).save(tmp_path / "m.sw")).corpus_
    assert_frame_equal(loaded.metadata, table)
    assert (loaded.sentences != sentences).nnz == 0
    assert loaded.sentence_row.tolist() == [0, 2]
    assert loaded.notes == {"recipe": {"min_df": 2, "drop": ["a", "b"]}, "empty_documents": []}


def test_the_same_model_gives_the_same_file(files, tmp_path):
    again = planted_model().save(tmp_path / "again.sw")
    assert again.read_bytes() == files["best"].read_bytes()
    assert load(files["best"]).save(tmp_path / "twice.sw").read_bytes() == again.read_bytes()


def test_texts_can_be_left_out(files, tmp_path):
    bare = planted_model().save(tmp_path / "bare.sw", texts=False)
    assert load(bare).corpus_.texts is None
    assert "passage" not in load(bare).representative_documents(1)
    assert b"speaker 3" not in bare.read_bytes()
    assert planted_model().corpus_.texts is not None


def test_there_is_no_pickle_in_the_file(files):
    with zipfile.ZipFile(files["all"]) as archive:
        for name in archive.namelist():
            assert name.endswith((".npy", ".json"))
            if name.endswith(".npy"):
                np.load(io.BytesIO(archive.read(name)), allow_pickle=False)
        head = json.loads(archive.read("superwords.json"))
    assert head["format"] == storage.FORMAT
    assert head["version"] == superwords.__version__


def test_a_failed_save_leaves_the_old_file_alone(files, tmp_path, monkeypatch):
    path = tmp_path / "m.sw"
    path.write_bytes(files["best"].read_bytes())

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="No space left on device"):
        planted_model().save(path)
    assert path.read_bytes() == files["best"].read_bytes()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 0.9999])
def test_truncated_files_are_refused(files, tmp_path, share):
    whole = files["best"].read_bytes()
    path = tmp_path / "m.sw"
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(InputError, match="is not a superwords model, or it is damaged"):
        load(path)


def test_no_flipped_byte_goes_unseen(files, tmp_path):
    """It is refused, or it stood where nothing is read (a date, say) and the model is the same."""
    whole = files["best"].read_bytes()
    path = tmp_path / "m.sw"
    n_refused = 0
    for at in np.random.default_rng(0).integers(len(whole), size=60):
        broken = bytearray(whole)
        broken[at] ^= 0xFF
        path.write_bytes(broken)
        try:
            loaded = load(path)
        except InputError:
            n_refused += 1
        else:
            assert_frame_equal(loaded.concepts(), planted_model().concepts(), check_exact=True)
            same_state(loaded.chains_[0].state, planted_model().chains_[0].state)
    assert n_refused > 30


def rewritten(source, path, change):
    """The file with its head changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            new.writestr(name, change(json.loads(content)) if name == "superwords.json" else content)
    return path


def test_a_later_format_asks_for_a_newer_version(files, tmp_path):
    later = rewritten(files["best"], tmp_path / "m.sw", lambda head: json.dumps({**head, "format": 2}))
    with pytest.raises(InputError, match="in format 2, and this version reads formats up to 1"):
        load(later)


def test_an_older_format_is_migrated(files, tmp_path, monkeypatch):
    def rename_seed(head):
        head["model"]["old_seed"] = head["model"].pop("seed")
        return json.dumps({**head, "format": 0})

    def migrate(head):
        head["model"]["seed"] = head["model"].pop("old_seed")
        return head

    old = rewritten(files["best"], tmp_path / "m.sw", rename_seed)
    with pytest.raises(InputError, match="damaged"):
        load(old)
    monkeypatch.setitem(storage.MIGRATIONS, 0, migrate)
    assert load(old).seed_ == planted_model().seed_


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        load(tmp_path / "none.sw")
    with pytest.raises(InputError, match="is not a superwords model"):
        load(tmp_path)
    text = tmp_path / "a.txt"
    text.write_text("hello")
    with pytest.raises(InputError, match="is not a superwords model"):
        load(text)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.txt", "hello")
    with pytest.raises(InputError, match="is not a superwords model"):
        load(tmp_path / "a.zip")


def test_a_state_that_points_nowhere_never_reaches_the_sampler(files, tmp_path):
    path = tmp_path / "m.sw"
    with zipfile.ZipFile(files["best"]) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "chains/0/state/word.npy":
                words = np.load(io.BytesIO(content))
                words[0] = -1
                buffer = io.BytesIO()
                np.save(buffer, words)
                content = buffer.getvalue()
            new.writestr(name, content)
    with pytest.raises(InputError, match="words that the vocabulary does not"):
        load(path)


def test_wrong_use_of_save(tmp_path, files):
    with pytest.raises(InputError, match="give 'best' or 'all'"):
        planted_model().save(tmp_path / "m.sw", draws="some")
    with pytest.raises(InputError, match="not fitted"):
        ConceptModel().save(tmp_path / "m.sw")
    with pytest.raises(InputError, match="There is no folder"):
        planted_model().save(tmp_path / "nowhere" / "m.sw")
    with pytest.raises(InputError, match="loaded without its draws"):
        load(files["best"]).save(tmp_path / "m.sw", draws="all")
