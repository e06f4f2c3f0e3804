"""A model saved and loaded is the same and goes on with the same bits."""

import gc
import os
import pickle
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from pandas.testing import assert_frame_equal
from scipy import sparse

from experiments.generators import plant_corpus
from models_for_tests import EDGES, PLANTED, edge_model, fit, passage_model, planted_corpus, planted_model
from superwords import ConceptModel, Corpus, InputError, load
from superwords.posterior import draws
from superwords.storage import cache
from superwords.storage.draws import Kept
from superwords.storage.model_file import ModelFile

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
    return {draws: planted_model().save(folder / f"{draws}.sw", draws=draws) for draws in ("spaced", "all")}


def same_state(one, other):
    for name, a, b in zip(one._fields, one, other, strict=True):
        assert a.dtype == b.dtype, name
        assert np.array_equal(a, b), name


@pytest.mark.parametrize("draws", ["spaced", "all"])
@pytest.mark.parametrize("table", TABLES)
def test_tables_are_the_same_after_loading(files, draws, table):
    assert_frame_equal(TABLES[table](load(files[draws])), TABLES[table](planted_model()), check_exact=True)


def test_tables_of_passages_are_the_same_after_loading(tmp_path):
    model = load(passage_model().save(tmp_path / "m.sw"))
    for table in ("documents", "by_group"):
        assert_frame_equal(TABLES[table](model), TABLES[table](passage_model()), check_exact=True)
    rows = model.documents(passages=True)
    assert_frame_equal(rows, passage_model().documents(passages=True), check_exact=True)


@pytest.mark.parametrize("draws", ["spaced", "all"])
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
    corpus, loaded = planted_model().corpus_, load(files["spaced"]).corpus_
    assert_frame_equal(loaded.metadata, corpus.metadata)
    assert (loaded.counts != corpus.counts).nnz == 0
    assert loaded.counts.dtype == corpus.counts.dtype
    assert loaded.vocabulary == corpus.vocabulary
    assert loaded.ids == corpus.ids
    assert loaded.texts == corpus.texts


def same_draws(one, other):
    assert [draw.sweep for draw in one] == [draw.sweep for draw in other]
    for mine, theirs in zip(one, other, strict=True):
        same_state(mine.state, theirs.state)
        same_state(mine.tokens, theirs.tokens)
        assert mine._replace(state=0, tokens=0) == theirs._replace(state=0, tokens=0)


def same_everything(one, other):
    assert one.schedule_ == other.schedule_
    for mine, theirs in zip(one.chains_, other.chains_, strict=True):
        assert mine.sweep == theirs.sweep
        same_state(mine.state, theirs.state)
        same_state(mine.tokens, theirs.tokens)
        assert (mine.tried, mine.accepted) == (theirs.tried, theirs.accepted)
    same_draws(one.draws_, other.draws_)
    for table in ("concepts", "documents", "convergence"):
        assert_frame_equal(TABLES[table](one), TABLES[table](other), check_exact=True)


@pytest.fixture(scope="module")
def straight():
    """80 sweeps at once, of which the file has the first 60."""
    return fit(planted_corpus(), features=PLANTED.features, n_sweeps=80)


@pytest.mark.parametrize("steps", [[20], [1, 2, 17], [7, 13]])
def test_sampling_goes_on_bit_by_bit(files, straight, tmp_path, steps):
    """However the further sweeps are split, and saved in between: as if all had been asked for at once."""
    model = load(files["all"])
    for number, more in enumerate(steps):
        model = load(model.advance(more).save(tmp_path / f"{number}.sw", draws="all"))
    same_everything(model, straight)


@pytest.fixture(scope="module")
def summarized_from_six():
    with pytest.MonkeyPatch.context() as patch:
        spaced_by_six(patch)
        model = fit(planted_corpus(), features=PLANTED.features)
        assert len(model.draws_.spaced()) == 6
        return model


@pytest.fixture
def few_spaced(summarized_from_six, monkeypatch):
    """Draws so large that summaries are computed from six of them."""
    spaced_by_six(monkeypatch)
    return summarized_from_six


def spaced_by_six(patch):
    patch.setattr(draws, "_MOST_MEMBERSHIPS", 1)
    patch.setattr(draws, "FEWEST_SPACED", 6)


@pytest.mark.parametrize("table", TABLES)
def test_a_file_of_few_draws_has_the_same_tables(few_spaced, tmp_path, table):
    path = few_spaced.save(tmp_path / "few.sw")
    loaded = load(path)
    assert len(loaded.draws_) == 6
    assert loaded.draws_.n_kept == len(few_spaced.draws_) == 40
    assert_frame_equal(TABLES[table](loaded), TABLES[table](few_spaced), check_exact=True)
    assert load(path).save(tmp_path / "again.sw").read_bytes() == path.read_bytes()
    with pytest.raises(InputError, match="without some of its draws"):
        loaded.save(tmp_path / "m.sw", draws="all")


def test_a_file_of_few_draws_goes_on_with_the_same_chains(few_spaced, straight, tmp_path):
    model = load(few_spaced.save(tmp_path / "few.sw")).advance(20)
    for name in ("log_joint", "n_concepts"):
        assert np.array_equal(model.trace_["posterior"][name], straight.trace_["posterior"][name])
    same_state(model.chains_[1].state, straight.chains_[1].state)
    assert len(model.draws_) == 6 + 2 * 10
    assert model.draws_.n_kept == len(straight.draws_)
    assert len(model.draws_.spaced()) == 6
    assert len(load(model.save(tmp_path / "more.sw")).concepts())


def test_the_summary_is_read_from_the_cache(files, monkeypatch):
    monkeypatch.setattr("superwords.posterior.result.summarize", None)
    assert_frame_equal(load(files["spaced"]).concepts(), planted_model().concepts(), check_exact=True)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 and no more"])
def test_a_damaged_or_missing_cache_is_as_good_as_none(files, own_cache, content):
    for entry in own_cache.iterdir():
        entry.write_bytes(content)
    assert_frame_equal(load(files["spaced"]).concepts(), planted_model().concepts(), check_exact=True)


def test_a_cache_that_cannot_be_written_does_no_harm(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr("superwords.storage.cache.cache_folder", lambda: tmp_path / "file" / "summaries")
    loaded = load(planted_model().save(tmp_path / "m.sw"))
    assert_frame_equal(loaded.concepts(), planted_model().concepts(), check_exact=True)


def test_the_cache_stays_within_its_size(tmp_path, monkeypatch):
    monkeypatch.setattr("superwords.storage.cache.cache_folder", lambda: tmp_path)
    monkeypatch.setattr("superwords.storage.cache.LARGEST", 35_000)
    for key in "abcde":
        cache.write(key, (Kept(0, 0, 0, np.zeros(1_000))))  # type: ignore[arg-type]
        os.utime(tmp_path / f"{key}.npz", (ord(key), ord(key)))
    assert sorted(path.stem for path in tmp_path.iterdir()) == ["c", "d", "e"]


def test_a_model_that_was_never_saved_goes_on_too(straight):
    same_everything(fit(planted_corpus(), features=PLANTED.features).advance(13).advance(7), straight)


def test_too_few_sweeps_to_keep_a_draw_leave_the_results(files):
    loaded = load(files["spaced"]).advance(1)
    assert_frame_equal(loaded.concepts(), planted_model().concepts(), check_exact=True)


@pytest.mark.parametrize("settings", [{"theta": "sample"}, {"steps": "prior"}, {"theta": np.arange(1.0, 41.0)}])
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
@pytest.mark.parametrize("draws", ["spaced", "all"])
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
    assert again.read_bytes() == files["spaced"].read_bytes()
    assert load(files["spaced"]).save(tmp_path / "twice.sw").read_bytes() == again.read_bytes()


def test_texts_can_be_left_out(files, tmp_path):
    bare = planted_model().save(tmp_path / "bare.sw", texts=False)
    assert load(bare).corpus_.texts is None
    assert "passage" not in load(bare).representative_documents(1)
    assert b"speaker 3" not in bare.read_bytes()
    assert planted_model().corpus_.texts is not None


def test_a_failed_save_leaves_the_old_file_alone(files, tmp_path, monkeypatch):
    path = tmp_path / "m.sw"
    path.write_bytes(files["spaced"].read_bytes())

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(InputError, match="No space left on device"):
        planted_model().save(path)
    assert path.read_bytes() == files["spaced"].read_bytes()
    assert list(tmp_path.iterdir()) == [path]


def test_a_pickled_model_has_its_draws(straight):
    model = pickle.loads(pickle.dumps(straight))
    same_everything(model, straight)


def test_the_file_of_the_draws_may_go_while_they_are_read(files, straight, tmp_path):
    """As when another model is saved in its place."""
    path = tmp_path / "m.sw"
    path.write_bytes(files["all"].read_bytes())
    model = load(path)
    load(files["spaced"]).save(path)
    same_draws(model.draws_, planted_model().draws_)
    same_everything(model.advance(20), straight)


def test_saving_all_draws_holds_few_of_them(files, tmp_path, monkeypatch):
    """Draws wait in memory for a transaction only while they are few, also when a whole file is written."""
    add_draw, waiting = ModelFile.add_draw, []

    def counted(file, *row):
        add_draw(file, *row)
        waiting.append(len(file._waiting))

    monkeypatch.setattr("superwords.storage.model_file._MOST_WAITING", 0)  # as when those that wait are many
    monkeypatch.setattr(ModelFile, "add_draw", counted)
    again = load(load(files["all"]).save(tmp_path / "again.sw", draws="all"))
    assert waiting == [0] * len(planted_model().draws_)
    same_draws(again.draws_, planted_model().draws_)


def n_draws_in_memory():
    gc.collect()
    return sum(isinstance(one, Kept) for one in gc.get_objects())


def test_memory_does_not_grow_with_the_draws(monkeypatch):
    """A long run holds no draw; tables read them one by one."""
    monkeypatch.setattr("superwords.storage.model_file._MOST_WAITING", 0)  # as when those that wait are many
    others = n_draws_in_memory()
    # Large draws: numba keeps some bytes of each kernel's call, which are not to be taken for them.
    corpus = Corpus.from_counts(plant_corpus(160, 40, 4, 2, 60, 3).counts)
    model = fit(corpus, n_chains=1, n_sweeps=30, n_burn_in=10, thin=1)
    tracemalloc.start()
    try:
        model.advance(20).result_.__dict__.pop("summary")  # its size is that of the tables
        gc.collect()
        few = tracemalloc.get_traced_memory()[0]
        model.advance(100).result_.__dict__.pop("summary")
        gc.collect()
        many = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert len(model.draws_) == 140
    assert n_draws_in_memory() == others
    size = sum(array.nbytes for array in (*model.best_draw_.state, *model.best_draw_.tokens))
    assert many - few < 100 * size / 8  # a few numbers of each
    for place, _ in enumerate(model.draws_):
        if place % 50 == 49:
            assert n_draws_in_memory() - others <= 3  # the best draw, the present one, and the one before


def test_wrong_use_of_save(tmp_path):
    with pytest.raises(InputError, match="give 'spaced' or 'all'"):
        planted_model().save(tmp_path / "m.sw", draws="some")
    with pytest.raises(InputError, match="not fitted"):
        ConceptModel().save(tmp_path / "m.sw")
    with pytest.raises(InputError, match="There is no folder"):
        planted_model().save(tmp_path / "nowhere" / "m.sw")
