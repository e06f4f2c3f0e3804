"""Names, merges, hidden concepts and themes: a result with choices applied, against counting by hand."""

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from models_for_tests import fit, passage_model, planted_corpus, planted_model
from superwords import load
from superwords.analysis import curation as curating
from superwords.analysis.themes import concept_quality
from superwords.errors import InputError
from superwords.posterior.summary import USED_BY
from superwords.storage.model_file import Choice


@pytest.fixture
def model():
    """A copy of the planted model that may be changed."""
    return planted_model().choose([])


@pytest.fixture(autouse=True)
def _untouched():
    yield
    planted_model().choose([])
    passage_model().choose([])


def by_hand(model, members):
    """Per draw: the documents that hold any member, their weights, and the documents of each word, on and used."""
    result = model.sampled_
    out = []
    for draw, weight, partner in zip(result.draws, result.summary.alignment.weight, result.consensus.partner):
        partners = partner[[j - 1 for j in members]]
        labels = set(partners[partners >= 0].tolist())
        if not labels:
            continue
        length = result.corpus.counts.sum(axis=1)
        on, used, held = {}, {}, {}
        state, n = draw.state, draw.tokens.pair
        for row, document in enumerate(result.order):
            pairs = [p for p in range(*state.doc_ptr[row : row + 2]) if state.concept[p] in labels]
            for p in pairs if n[pairs].any() else []:
                held[document] = held.get(document, 0.0) + draw.tokens.pair[p] / length[document]
                for e in range(state.pair_ptr[p], state.pair_ptr[p + 1]):
                    on.setdefault(int(state.word[e]), set()).add(document)
                    if draw.tokens.entry[e] > 0:
                        used.setdefault(int(state.word[e]), set()).add(document)
        out.append((held, on, used, weight))
    return out


def quantile(values, weights, q):
    return np.quantile(values, np.array(q) - 1e-9, weights=weights, method="inverted_cdf")


@pytest.mark.parametrize("members", [[1, 2], [3, 1, 4]])
def test_a_merged_concept_is_counted_in_every_draw(model, members):
    expected = by_hand(model, members)
    vocabulary = model.corpus_.vocabulary
    model.merge(members)
    row = model.concepts().set_index("concept").loc[members[0]]
    n_documents = model.corpus_.n_documents
    weights = np.array([weight for *_, weight in expected])
    weights = weights / weights.sum()
    prevalence = [len(held) / n_documents for held, *_ in expected]
    assert row["prevalence"] == pytest.approx(weights @ prevalence, rel=1e-6)
    rows = [len(held) for held, *_ in expected]
    assert [row["rows_low"], row["rows_high"]] == pytest.approx(quantile(rows, weights, [0.025, 0.975]))
    strength = [sum(held.values()) / len(held) for held, *_ in expected]
    assert row["strength"] == pytest.approx(weights @ strength, rel=1e-5)
    words = model.words_of(members[0]).set_index("word")
    n_words = np.zeros(len(expected))
    for i, word in enumerate(vocabulary):
        on = [len(one.get(i, ())) / len(held) for held, one, *_ in expected]
        used = [len(one.get(i, ())) / len(held) for held, _, one, _ in expected]
        is_used = np.array(used) >= USED_BY
        n_words += is_used
        assert (weights @ is_used >= 0.5) == (word in words.index)
        if word in words.index:
            assert words.loc[word, "share_on"] == pytest.approx(weights @ on, rel=1e-5)
            assert words.loc[word, "share_used"] == pytest.approx(weights @ used, rel=1e-5)
            assert words.loc[word, "used_low"] == pytest.approx(quantile(used, weights, 0.025), abs=1e-6)
            assert words.loc[word, "on_high"] == pytest.approx(quantile(on, weights, 0.975), abs=1e-6)
            assert words.loc[word, "probability"] == pytest.approx(weights @ is_used)
    assert row["n_words"] == pytest.approx(weights @ n_words)


def test_uses_by_document_of_a_merged_concept_count_a_draw_once(model):
    expected = by_hand(model, [1, 2])
    model.merge([1, 2])
    uses = model.result_.summary.uses
    for d in range(0, model.corpus_.n_documents, 7):
        part = slice(uses.ptr[d], uses.ptr[d + 1])
        ours = {int(i): float(n) for j, i, n in zip(uses.concept[part], uses.word[part], uses.share[part]) if j == 0}
        wanted = {i: sum(w for *_, used, w in expected if d in used.get(i, ())) for i in ours}
        assert ours == pytest.approx(wanted, rel=1e-5)
        assert set(ours) == {i for *_, used, _ in expected for i, those in used.items() if d in those}


def test_other_concepts_and_the_sampled_result_stay_as_they_were(model):
    before = model.concepts(0).set_index("concept")
    numbers = before.select_dtypes("number").columns
    model.merge([1, 3])
    after = model.concepts(0).set_index("concept")
    assert list(after.index) == [j for j in before.index if j != 3]
    others = [j for j in after.index if j != 1]
    np.testing.assert_array_equal(after.loc[others, numbers], before.loc[others, numbers])
    assert model.sampled_.n_concepts == len(before)
    assert 3 in model.sampled_.shown


def test_weights_add_and_words_are_those_of_any_member(model):
    weights, shares = model.doc_concept_.copy(), model.concept_word_.copy()
    model.merge([2, 4])
    np.testing.assert_allclose(model.doc_concept_[:, 1], weights[:, 1] + weights[:, 3])
    assert model.doc_concept_.shape[1] == len(model.get_feature_names_out()) == weights.shape[1] - 1
    assert "concept_4" not in model.get_feature_names_out()
    np.testing.assert_array_equal(model.doc_concept_[:, 2], weights[:, 2])
    assert (model.concept_word_[1] > 0).tolist() == ((shares[1] > 0) | (shares[3] > 0)).tolist()
    result, shares = model.sampled_, []
    for draw, partner in zip(result.spaced, result.consensus.partner, strict=True):
        state, labels = draw.state, partner[[1, 3]]
        on, holders = np.zeros(model.corpus_.n_words), 0
        for row in range(len(result.order)):
            held = range(state.doc_ptr[row], state.doc_ptr[row + 1])
            pairs = [p for p in held if state.concept[p] in labels]
            holders += bool(pairs)
            words = {int(i) for p in pairs for i in state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]}
            on[list(words)] += 1
        shares.append(on / holders)
    np.testing.assert_allclose(model.concept_word_[1], np.mean(shares, axis=0))


def test_every_table_follows_the_choices(model):
    model.merge([1, 2]).hide(3)
    shown = model.result_.shown
    assert 2 not in shown
    assert 3 not in shown
    assert set(model.by_group("party")["concept"]) == set(shown)
    assert set(model.compare_groups("party")["concept"]) == set(shown)
    assert set(model.documents()["concept"]) <= set(shown)
    assert {j for held in model.words()["concepts"] for j in held} <= set(shown)
    assert {j for held in model.search("word10")["concepts"] for j in held} <= set(shown)
    assert model.verdict().n_listed == len(shown)
    for weights in model.result_.drawn_weights():
        assert not weights[:, [1, 2]].nnz


@pytest.mark.parametrize("decide", [lambda m: m.hide([2, 3]), lambda m: m.merge([2, 3]).hide(2)])
def test_several_hidden_concepts_leave_the_others_as_they_are(model, decide):
    before, words = model.concepts().set_index("concept"), model.words_of(1).set_index("word")
    decide(model)
    after = model.concepts().set_index("concept")
    assert set(after.index) == set(before.index) - {2, 3}
    assert after["prevalence"].tolist() == before.loc[after.index, "prevalence"].tolist()
    assert model.words_of(1).set_index("word")["share_used"].to_dict() == words["share_used"].to_dict()
    assert len(model.concept_word_) == len(after)
    assert (model.result_.summary.words.concept >= 0).all()
    assert (model.result_.summary.uses.share >= 0).all()


def test_hidden_and_merged_concepts_are_named_in_one_sentence(model):
    model.merge([1, 2]).hide([3])
    with pytest.raises(InputError, match=r"Concept 2 is merged into concept 1; restore it"):
        model.words_of(2)
    with pytest.raises(InputError, match=r"Concept 3 is hidden; restore it"):
        model.top_words(3)
    with pytest.raises(InputError, match=r"Concept 3 is hidden"):
        model.merge([1, 3])
    with pytest.raises(InputError, match=r"There is no concept 99"):
        model.hide(99)
    with pytest.raises(InputError, match="fewer than two"):
        model.merge([1, 1])
    with pytest.raises(InputError, match="neither hidden nor merged"):
        model.restore(4)
    with pytest.raises(InputError, match="There is no concept 99"):
        model.restore(99)
    with pytest.raises(InputError, match="No concept would be left to show"):
        model.restore([2, 3]).hide(model.result_.shown)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda model: model.merge("1,2"), "'1,2' is not a list of concepts"),
        (lambda model: model.merge(None), "None is not a list of concepts"),
        (lambda model: model.merge([True, 2]), "is not a list of concepts"),
        (lambda model: model.hide(2.5), "2.5 is not a list of concepts"),
        (lambda model: model.rename([1]), "does not name concepts; give numbers and names"),
        (lambda model: model.rename({1: 5}), "5 is not a name; give text"),
        (lambda model: model.gather(5, [1]), "5 is not a name; give text"),
    ],
)
def test_wrong_types_are_said_in_one_sentence(model, call, said):
    with pytest.raises(InputError, match=said):
        call(model)
    assert model.choices_ == []


def test_restore_takes_apart_and_undo_takes_back(model):
    before = model.concepts()
    model.merge([1, 2, 3]).restore(2)
    assert model.result_.excluded == {3: "is merged into concept 1"}
    model.undo()
    assert set(model.result_.excluded) == {2, 3}
    model.restore(1)
    assert model.concepts()["prevalence"].tolist() == before["prevalence"].tolist()
    model.choose([]).merge([2, 3]).merge([1, 2])
    assert model.result_.excluded == {2: "is merged into concept 1", 3: "is merged into concept 1"}
    model.restore(2)  # with what was merged into it
    assert model.result_.excluded == {3: "is merged into concept 2"}
    model.undo().undo().undo()
    assert model.choices_ == []
    assert model.result_ is model.sampled_
    with pytest.raises(InputError, match="nothing to undo"):
        model.undo()


def test_names_and_themes(model):
    model.rename({1: " fruit  trees "}).gather("nature", [1, 2])
    assert model.concepts()["name"][0] == "fruit trees"
    assert model.result_.themes == {1: "nature", 2: "nature"}
    model.rename({1: ""}).gather("", [2])
    assert model.concepts()["name"][0] != "fruit trees"
    assert model.result_.themes == {1: "nature"}


def test_choices_that_no_model_can_have_are_refused(model):
    with pytest.raises(InputError, match="concept 77, which the model does not have"):
        model.choose([Choice("hide", 77, "yes")])
    with pytest.raises(InputError, match="into itself"):
        model.choose([Choice("merge", 1, "2"), Choice("merge", 2, "1")])


def test_passages_merge_as_well():
    model = passage_model()
    before = model.concepts().set_index("concept")
    after = model.merge([1, 2]).concepts().set_index("concept")
    assert after.loc[1, "documents"] >= before.loc[[1, 2], "documents"].max()
    assert after.loc[1, "rows"] <= before.loc[[1, 2], "rows"].sum()


def test_new_documents_are_weighed_on_the_concepts_shown(model):
    counts = model.corpus_.counts[:4]
    before = model.transform(counts, n_sweeps=20)
    _, inclusion = model.transform(counts, n_sweeps=20, return_inclusion=True)
    model.merge([1, 2]).hide(3)
    after, merged = model.transform(counts, n_sweeps=20, return_inclusion=True)
    assert list(model.get_feature_names_out()) == ["concept_1", "concept_4"]
    assert after.shape == merged.shape == (4, 2)
    np.testing.assert_allclose(after[:, 0], before[:, 0] + before[:, 1])
    np.testing.assert_array_equal(after[:, 1], before[:, 3])
    np.testing.assert_array_equal(merged, np.column_stack([inclusion[:, :2].max(axis=1), inclusion[:, 3]]))


def test_what_was_not_touched_does_not_change_by_a_digit(model):
    def tables():
        return [
            model.concepts(),
            model.documents(),
            model.by_group("party"),
            model.compare_groups("party"),
            model.over_time("year"),
            model.trends("year"),
            model.effects("party + year"),
            model.effects("party", "strength"),
            model.predicted("party + year", by="party"),
            concept_quality(model.result_),
        ]

    before = tables()
    model.merge([1, 2]).hide(3)
    for old, new in zip(before, tables()):
        kept = [table[table["concept"] == 4].reset_index(drop=True) for table in (old, new)]
        assert len(kept[0])
        assert_frame_equal(kept[1], kept[0], check_exact=True)
        assert not set(new["concept"]) & {2, 3}


def test_choices_survive_further_sampling_where_their_concepts_do():
    model = fit(planted_corpus(), n_chains=1, n_sweeps=30, n_burn_in=10)
    words = {j: set(model.top_words(j, 5)) for j in (1, 2)}
    model.rename({1: "first", 2: "second"})
    before = model.sampled_.consensus.description
    model.advance(20)
    for j in model.result_.shown:
        name = model.concepts()["name"][j - 1]
        if name in ("first", "second"):
            old = 1 if name == "first" else 2
            assert len(words[old] & set(model.top_words(j, 5))) >= 2
    named = [one.value for one in model.choices_]
    assert named
    # Nothing of a concept whose words are gone is kept, and that is said.
    empty = before * 0
    kept, lost = curating.carried([Choice("name", 1, "first"), Choice("hide", 2, "yes")], before, empty)
    assert kept == []
    assert lost[0] == "After further sampling there is no concept like 1: the name 'first' of concept 1 is lost."
    assert len(lost) == 2


def test_a_loaded_model_merges_alike(model, tmp_path):
    again = load(model.save(tmp_path / "model.sw"))
    assert_frame_equal(again.merge([1, 2]).concepts(), model.merge([1, 2]).concepts())
    assert_frame_equal(again.words_of(1), model.words_of(1))
