"""Groups of documents: planted differences are found, and intervals hold what they say they hold."""

from dataclasses import replace

import numpy as np
import pytest

from models_for_tests import PLANTED, passage_model, planted_model, with_parts
from superwords.analysis.groups import make_groups
from superwords.errors import InputError


def with_metadata(**columns):
    """The planted model with other groups."""
    corpus = planted_model().corpus_
    return with_parts(planted_model(), corpus=replace(corpus, metadata=corpus.metadata.assign(**columns)))


def planted_partner(model):
    """The concept that is held where the first planted one is."""
    agree = [np.mean((model.doc_concept_[:, j] > 0) == PLANTED.holds[:, 0]) for j in range(model.n_concepts_)]
    return int(np.argmax(agree)) + 1


def test_a_planted_difference_is_found():
    model = planted_model()
    table = model.compare_groups("party", "A", "B").set_index("concept")
    row = table.loc[planted_partner(model)]
    assert row["low"] > 0
    assert row["probability_greater"] > 0.99
    assert row["difference"] == pytest.approx(row["prevalence_A"] - row["prevalence_B"])
    swapped = model.compare_groups("party", "B", "A").set_index("concept").loc[planted_partner(model)]
    assert swapped["difference"] == pytest.approx(-row["difference"])
    assert model.compare_groups("party")["difference"].abs().is_monotonic_decreasing


def test_groups_drawn_by_lot_hardly_differ():
    lots = np.random.default_rng(5).permutation(np.repeat(["A", "B"], 20))
    table = with_metadata(lot=lots).compare_groups("lot")
    surely = (table["low"] > 0) | (table["high"] < 0)
    assert surely.mean() < 0.3


def test_prevalence_and_strength_of_a_group_are_those_of_its_documents():
    model = planted_model()
    table = model.by_group("year")
    drawn = np.array([w.toarray() for w in model.result_.drawn_weights()])
    weights = model.result_.summary.alignment.weights
    for row in table.itertuples():
        here = drawn[:, model.corpus_.metadata["year"] == row.group, row.concept - 1]
        weight = weights[:, row.concept - 1]
        assert row.n_rows == here.shape[1]
        assert row.prevalence == pytest.approx(weight @ (here > 0).mean(axis=1))
        assert row.prevalence_low <= row.prevalence <= row.prevalence_high
        assert row.rows == pytest.approx(row.prevalence * row.n_rows)
        holding = (here > 0).any(axis=1) & (weight > 0)
        held = [one[one > 0].mean() for one in here[holding]]
        wanted = np.average(held, weights=weight[holding]) if len(held) else np.nan
        assert row.strength == pytest.approx(wanted, nan_ok=True)
    assert table["group"].tolist()[:3] == [2010, 2011, 2012]


def test_the_interval_holds_the_sampling_of_documents():
    """A concept held by all documents in all draws may still be absent from another one of the group."""
    model = planted_model()
    groups = make_groups(model.result_, "party")
    row = model.by_group("party").set_index(["concept", "group"]).loc[(planted_partner(model), "A")]
    n = len(groups.rows[0])
    assert row["prevalence_high"] - row["prevalence_low"] > 1 / n


def test_passages_of_one_document_count_for_less():
    model = passage_model()
    effect = make_groups(model.result_, "year").effect
    assert effect.shape == (3, model.n_concepts_)
    assert (effect >= 1).all()
    metadata = model.corpus_.metadata.assign(all="x")
    alike = with_parts(model, corpus=replace(model.corpus_, metadata=metadata))
    j = 0
    held = np.array([w.toarray()[:, j] > 0 for w in alike.result_.drawn_weights()])
    ratio = []
    for one in held:
        share = one.mean()
        between = sum((one[d * 4 : d * 4 + 4] - share).sum() ** 2 for d in range(10)) * 10 / 9
        within = 40 * share * (1 - share)
        ratio.append(between / within if within else 4.0)
    assert make_groups(alike.result_, "all").effect[0, j] == pytest.approx(
        max(1, alike.result_.summary.alignment.weights[:, j] @ ratio)
    )


def test_words_of_a_group():
    model = planted_model()
    concept = planted_partner(model)
    table = model.group_words("party", concept)
    assert set(table["group"]) == {"A", "B"}
    assert (table["low"] <= table["share"] + 1e-9).all()
    assert (table["share"] <= table["high"] + 1e-9).all()
    first = model.by_group("party").set_index(["concept", "group"]).loc[(concept, "A")]
    ours = table[table["group"] == "A"]
    assert first["top_words"] == ours["word"].tolist()[:10]
    uses = model.result_.summary.uses
    word = model.corpus_.vocabulary.index(ours["word"].iloc[0])
    inside = np.repeat(PLANTED.holds[:, 0], np.diff(uses.ptr))
    rows = inside & (uses.concept == concept - 1) & (uses.word == word)
    wanted = uses.share[rows].sum() / model.result_.summary.alignment.found[concept - 1] / first["rows"]
    assert ours["share"].iloc[0] == pytest.approx(wanted)


def test_missing_groups_are_left_out_and_odd_ones_work():
    half = [None, "<b>", " ", "<b>"] * 10
    table = with_metadata(half=half).by_group("half")
    assert set(table["group"]) == {"<b>"}
    assert set(table["n_rows"]) == {20}
    assert set(with_metadata(alone=np.arange(40)).by_group("alone")["n_rows"]) == {1}


def test_wrong_groups_are_named():
    model = planted_model()
    with pytest.raises(InputError, match="no column 'patry'; the columns are 'party', 'year'"):
        model.by_group("patry")
    with pytest.raises(InputError, match="no group 'C' to compare; the groups of 'party' are 'A', 'B'"):
        model.compare_groups("party", "A", "C")
    with pytest.raises(InputError, match="Two groups are needed"):
        model.compare_groups("year")
    assert len(model.compare_groups("year", "2010", 2012)) == model.n_concepts_
    with pytest.raises(InputError, match="is empty"):
        with_metadata(nothing=None).by_group("nothing")
