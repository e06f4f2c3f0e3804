"""The approximation by shards: draws of all rows that are valid, and that nobody can take for exact ones."""

import json

import numpy as np
import pytest
from scipy import sparse

import superwords
from cli_for_tests import assert_same_bits, fit_arguments, run, write_documents
from superwords import ConceptModel
from superwords.errors import InputError
from superwords.fitting.settings import Plan, parse_approximation
from superwords.fitting.shards import cut_rows, united_concepts
from superwords.posterior.alignment import Usage
from superwords.sampler.state import check_state
from superwords.web.report import write_report

SETTINGS = {"n_chains": 2, "n_sweeps": 16, "n_burn_in": 8, "random_state": 3, "progress": False}


def some_counts(n_documents=120):
    """Three themes of eight words."""
    rng = np.random.default_rng(3)
    rate = np.where((np.arange(n_documents)[:, None] % 3) == (np.arange(24)[None, :] % 3), 2.0, 0.05)
    return sparse.csr_array(rng.poisson(rate))


@pytest.fixture(scope="module")
def model():
    return ConceptModel(approximate="shards:3x30", **SETTINGS).fit(some_counts(), features=None)


@pytest.mark.parametrize("wrong", ["shards", "shards:0", "shards:1", "shards:x5", "shards:4x0", "halves:2", 4])
def test_what_is_no_approximation_is_refused(wrong):
    with pytest.raises(InputError, match=r"approximate=.* is not known; give 'shards:8'"):
        ConceptModel(approximate=wrong).fit([[1, 2]])


def test_rows_are_in_one_shard_each_or_folded_in():
    assert parse_approximation("shards:8") == Plan(8, 8000)
    for plan, n_rest in ((Plan(3, 30), 30), (Plan(4, 8000), 0)):
        shards, rest = cut_rows(120, plan, seed=1)
        assert len(rest) == n_rest
        assert sorted(np.concatenate([*shards, rest])) == list(range(120))
    with pytest.raises(InputError, match="120 rows are too few for 8 shards"):
        cut_rows(120, Plan(8, 100), seed=1)


def test_every_draw_is_one_of_all_rows_and_explains_every_token(model):
    counts = model.corpus_.counts[model.order_]
    assert len(model.draws_) == 2 * 8
    for draw in model.draws_:
        check_state(draw.state, 120, 24)
        row = np.repeat(np.arange(120), np.diff(draw.state.doc_ptr))
        cell = np.repeat(row, np.diff(draw.state.pair_ptr)) * 24 + draw.state.word
        explained = np.bincount(cell, draw.tokens.entry, 120 * 24).reshape(120, 24)
        np.testing.assert_array_equal(explained, counts.toarray())
        np.testing.assert_array_equal(
            np.bincount(np.repeat(np.arange(len(row)), np.diff(draw.state.pair_ptr)), draw.tokens.entry, len(row)),
            draw.tokens.pair,
        )


def test_themes_that_all_shards_hold_are_united(model):
    assert 3 <= model.n_concepts_ <= 5
    for concept in (1, 2, 3):
        themes = {int(word.removeprefix("word")) % 3 for word in model.top_words(concept, 5)}
        assert len(themes) == 1


def test_the_same_seed_gives_the_same_bits_at_any_number_of_jobs(model):
    again = ConceptModel(approximate="shards:3x30", n_jobs=1, **SETTINGS).fit(some_counts(), features=None)
    assert_same_bits(model, again)


def test_nobody_can_take_it_for_exact(model, tmp_path):
    said = "This is an approximation: 3 shards of about 30 rows were sampled separately"
    reread = superwords.load(model.save(tmp_path / "model.sw"))
    for one in (model, reread):
        assert one.approximate == "shards:3x30"
        assert one.verdict().approximate.startswith(said)
        assert str(one.verdict()).startswith(said)
        assert "an approximation (shards:3x30)" in repr(one).splitlines()[0]
    write_report(reread, tmp_path / "report.html")
    assert said in (tmp_path / "report.html").read_text()


def test_sampling_on_is_exact_and_says_no_more_of_it(tmp_path):
    model = ConceptModel(approximate="shards:3", **SETTINGS).fit(some_counts(), features=None)
    model.advance(6)
    assert model.approximate is None
    assert len(model.draws_) == 2 * 6
    assert model.verdict().approximate == ""
    assert "approximation" not in str(model.verdict()) + repr(model)


def test_partners_are_united_and_others_are_not():
    def usage(*sets):
        used = sparse.csr_array(np.array([[5.0 * (i in one) for i in range(6)] for one in sets]))
        return Usage(np.full(len(sets), 5), used)

    first, second, third = united_concepts([usage({0, 1}, {2, 3}), usage({2, 3}, {0, 1}), usage({4, 5}, {0, 1})])
    assert first.tolist() == [0, 1]
    assert second.tolist() == [1, 0]
    assert third.tolist() == [2, 0]


def test_the_command_says_it_too(capsys, tmp_path):
    source, output = write_documents(tmp_path, 60), tmp_path / "model.sw"
    told = run(capsys, *fit_arguments(source, output, "--approximate", "shards:2", "--json"))
    assert told.code == 0
    outcome = json.loads(told.out)
    assert outcome["approximate"] == "shards:2"
    assert outcome["verdict"].startswith("This is an approximation: 2 shards of about 30 rows")
    assert [path.name for path in tmp_path.glob("model*")] == ["model.sw"]
    shown = run(capsys, "show", output)
    assert "This is an approximation" in " ".join(shown.out.split())
    refused = run(capsys, *fit_arguments(source, output, "--approximate", "shards:2", "--resume"))
    assert refused.code == 2
    assert "--approximate leaves no checkpoint" in refused.err
    wrong = run(capsys, *fit_arguments(source, output, "--approximate", "eight"))
    assert wrong.code == 2
    assert "--approximate 'eight' is not known" in wrong.err
