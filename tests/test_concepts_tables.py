"""The tables say what the draws say, at the borders too."""

import copy
import math

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats

from models_for_tests import EDGES, ODD_WORDS, PLANTED, edge_model, kept, passage_model, planted_model, with_parts
from superwords import Corpus, load
from superwords.analysis import words
from superwords.analysis.documents import document_table, one_document, telling_passage
from superwords.analysis.tables import concept_table, names, ranked_words, source_shares, used_words
from superwords.analysis.words import concepts_of_word
from superwords.errors import InputError
from superwords.posterior import draws as posterior_draws
from superwords.posterior import word_sets as sets
from superwords.posterior.alignment import usage_of
from superwords.posterior.draws import ChainDraws, Draws
from superwords.posterior.intervals import TAILS
from superwords.posterior.result import Result
from superwords.posterior.summary import USED_BY, WordUse
from superwords.posterior.traces import CONCEPT_TRACED
from superwords.posterior.word_sets import on_in_concepts, together
from superwords.sampler.model import Prior


def word_use(rows):
    """Rows of (concept, word, used, documents)."""
    columns = np.array(rows, float).T
    shares = [columns[2].astype(np.float32)] * 8
    sure = np.ones(len(rows), np.float32)
    return WordUse(columns[0].astype(int), columns[1].astype(int), sure, *shares[:6], columns[3])


def test_a_word_used_everywhere_tells_less_than_one_of_the_concepts_own():
    words = word_use([(0, 0, 0.9, 9), (0, 1, 0.5, 5), (1, 0, 0.9, 18), (1, 2, 0.2, 4), (2, 0, 0.8, 40)])
    assert words.word[ranked_words(words, 3)[0]].tolist() == [1, 0]


def test_words_that_a_typical_draw_does_not_use_are_left_out():
    words = word_use([(0, 0, 0.3, 3), (0, 1, 0.2, 2), (0, 2, 0.1, 1), (1, 0, 0.1, 1)])
    words = words._replace(probability=np.array([0.49, 0.5, 1, 0.2]))
    assert [words.word[rows].tolist() for rows in ranked_words(words, 2)] == [[1, 2], []]
    assert names(words, 2, ["a", "b", "c"]) == ["b, c", "(no words)"]


def test_names_are_short_unique_and_do_not_repeat_themselves():
    words = word_use([(0, 0, 0.9, 9), (0, 1, 0.8, 8), (0, 2, 0.7, 7), (0, 3, 0.01, 1), (1, 4, 0.5, 5), (2, 4, 0.5, 5)])
    vocabulary = ["health care", "care", "costs", "rare", "tax"]
    assert names(words, 4, vocabulary) == ["health care, costs", "tax", "tax (2)", "(no words)"]


def test_concepts_are_those_of_the_fitted_attributes():
    model = planted_model()
    table = model.concepts()
    assert table["concept"].tolist() == list(range(1, model.n_concepts_ + 1))
    assert table["rows"].tolist() == sorted(table["rows"], reverse=True)
    assert table["name"].is_unique
    assert (table["leftover"] == ~(table["rows"] > 4)).all()
    assert table["documents"].tolist() == pytest.approx(table["rows"].tolist(), nan_ok=True)


def test_stability_is_the_mean_over_chains():
    model = planted_model()
    table, aligned = model.concepts(), model.result_.summary.alignment
    for j in range(model.n_concepts_):
        there = aligned.overlap[:, j] > 0
        halves = [there[:20].mean(), there[20:].mean()]
        assert table["stability_by_chain"][j] == pytest.approx(halves)
        assert table["stability"][j] == pytest.approx(np.mean(halves))
        assert table["found_by"][j] == sum(half >= 0.5 for half in halves)


def test_of_one_chain_stability_is_over_its_own_draws():
    model = edge_model("one chain")
    found = model.result_.summary.alignment.matched.mean(axis=0)
    assert model.concepts()["stability"].tolist() == pytest.approx(found.tolist())


def with_few_draws(model, monkeypatch):
    """The same model, summarised from four spaced draws."""
    monkeypatch.setattr(posterior_draws, "_MOST_MEMBERSHIPS", 1)
    monkeypatch.setattr(posterior_draws, "FEWEST_SPACED", 4)
    few = copy.copy(model)
    few.__dict__["result_"] = Result(model.corpus_, model.order_, model.result_.prior, model.draws_)
    return few


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("made", [planted_model, passage_model])
def test_means_are_over_the_draws_of_intervals_and_groups(monkeypatch, made, spaced):
    model = with_few_draws(made(), monkeypatch) if spaced else made()
    table = model.concepts()
    weights = model.result_.summary.alignment.weights
    drawn = np.array([w.toarray() for w in model.result_.drawn_weights()])
    aligned, rng = model.result_.summary.alignment, np.random.default_rng(0)
    for j in range(model.n_concepts_):
        counts = weights[:, j] > 0
        own, weight = drawn[counts, :, j], weights[counts, j]
        assert weight.sum() == pytest.approx(1)
        assert (counts <= aligned.matched[:, j]).all()
        held = (own > 0).sum(axis=1)
        assert table["rows"][j] == pytest.approx(weight @ held)
        assert table["prevalence"][j] == pytest.approx(weight @ held / 40)
        assert table["strength"][j] == pytest.approx(weight @ [one[one > 0].mean() for one in own])
        bounds = np.quantile(held, np.array(TAILS) - 1e-9, weights=weight, method="inverted_cdf")
        in_all = table["found_by"][j] == 2  # a chain without the concept says that it is 0
        least = bounds[0] if in_all else 0.0
        assert (table["rows_low"][j], table["rows_high"][j]) == pytest.approx((least, bounds[1]))
        if model.corpus_.parent is None:
            drawn_shares = rng.beta(np.repeat(held, 4000) + 0.5, 40 - np.repeat(held, 4000) + 0.5)
            bounds = np.quantile(drawn_shares, TAILS, weights=np.repeat(weight, 4000), method="inverted_cdf")
            low = bounds[0] if in_all else 0.0
            found = table["prevalence_low"][j], table["prevalence_high"][j]
            assert found == pytest.approx((low, bounds[1]), abs=0.01)
        if model.corpus_.parent is not None:
            in_sources = (own.reshape(len(own), 10, 4) > 0).any(axis=2).sum(axis=1)
            assert table["documents"][j] == pytest.approx(weight @ in_sources)
    groups = model.by_group("party").groupby("concept")["prevalence"]
    assert (groups.min().to_numpy() <= table["prevalence"] + 1e-9).all()
    assert (table["prevalence"] <= groups.max().to_numpy() + 1e-9).all()


def test_the_number_of_words_is_the_mean_over_the_draws():
    model = planted_model()
    j, weights = 0, model.result_.summary.alignment.weights
    aligned, draws = model.result_.summary.alignment, list(model.draws_)
    counted = []
    for s in range(len(draws)):
        usage = usage_of(draws[s])
        share = usage.used.toarray() / np.maximum(usage.holders, 1)[:, None]
        n_used = (share >= USED_BY).sum(axis=1)
        counted.append(aligned.n_words[s, j])
        assert counted[-1] in {0, *n_used}
    assert model.concepts()["n_words"][j] == pytest.approx(weights[:, j] @ counted)


def test_coherence_is_the_npmi_of_the_ten_first_words_in_the_rows():
    model = planted_model()
    there = PLANTED.counts.toarray() > 0
    words = [model.corpus_.vocabulary.index(word) for word in model.top_words(1)]
    values = []
    for n, a in enumerate(words):
        for b in words[n + 1 :]:
            both = (there[:, a] & there[:, b]).mean()
            apart = there[:, a].mean() * there[:, b].mean()
            values.append(0.0 if both == 0 else 1.0 if both == 1 else np.log(both / apart) / -np.log(both))
    assert model.concepts()["coherence"][0] == pytest.approx(np.mean(values))


def test_near_duplicates_are_pointed_out():
    model = planted_model()
    assert model.concepts()["much_like"][1] is None
    words = model.result_.summary.words
    one = words.concept == 0
    others = words.concept != 1
    twice = [np.concatenate([column[one], column[one], column[others & ~one]]) for column in words[:10]]
    twice[0] = np.concatenate([words.concept[one], words.concept[one] + 1, words.concept[others & ~one]])
    summary_of_twice = model.result_.summary._replace(words=WordUse(*twice))
    table = concept_table(with_parts(model, summary=summary_of_twice).result_)
    assert table["much_like"].tolist()[:2] == [2, 1]


def test_top_words_of_a_stable_concept_are_planted_together():
    model = planted_model()
    table = model.concepts()
    steady = table[(table["stability"] > 0.9) & ~table["leftover"]]
    assert len(steady)
    vocabulary = model.corpus_.vocabulary
    for concept in steady["concept"]:
        top = [vocabulary.index(word) for word in model.top_words(int(concept), 3)]
        assert PLANTED.truth[:, top].all(axis=1).any()


def test_words_of_a_concept():
    model = planted_model()
    table = model.words_of(1)
    assert table["word"].tolist()[:10] == model.top_words(1) == model.concepts()["top_words"][0]
    assert table["score"].is_monotonic_decreasing
    assert (table["share_used"] <= table["share_on"] + 1e-6).all()
    assert (table["used_low"] <= table["used_high"]).all()
    assert table["probability"].between(0, 1).all()


@pytest.mark.parametrize("concept", [0, 99, "1", True, None])
def test_an_unknown_concept_is_refused(concept):
    with pytest.raises(InputError, match="There is no concept"):
        planted_model().top_words(concept)


@pytest.mark.parametrize("n", [-1, "x", 2.5, True])
def test_numbers_of_words_that_are_none_are_refused(n):
    with pytest.raises(InputError, match=r"^n=.+ is not a whole number of at least 0\.$"):
        planted_model().top_words(1, n)


def test_every_word_with_its_concepts():
    model = planted_model()
    table = model.words()
    assert table["word"].tolist()[: len(ODD_WORDS)] == ODD_WORDS
    assert table["rows"].tolist() == (PLANTED.counts.toarray() > 0).sum(axis=0).tolist()
    assert table["tokens"].sum() == PLANTED.counts.sum()
    assert table["n_concepts"][7] == len(table["concepts"][7])
    for concept, share in zip(table["concepts"][7], table["shares"][7]):
        assert model.corpus_.vocabulary[7] in model.words_of(concept)["word"].tolist()
        assert 0 < share <= 1
    listed = sum(len(rows) for rows in used_words(model.result_))
    assert table["n_concepts"].sum() == listed
    leftover = model.concepts()["leftover"].to_numpy(dtype=bool)
    for concepts in table["concepts"]:
        last = [bool(leftover[concept - 1]) for concept in concepts]
        assert last == sorted(last)


def test_documents_with_intervals():
    model = planted_model()
    table = model.documents()
    rows = [int(name.split()[1]) for name in table["document"]]
    assert table["metadata_weight"].tolist() == [np.linspace(0, 1, 40)[d] for d in rows]
    assert table["name"].tolist() == [f"speaker {d}" for d in rows]
    drawn = np.array([w.toarray() for w in model.result_.drawn_weights()])
    weights = model.result_.summary.alignment.weights
    for row in table.sample(30, random_state=0).itertuples():
        d, j = int(row.document.split()[1]), row.concept - 1
        values, weight = drawn[:, d, j], weights[:, j]
        assert row.low <= row.weight <= row.high
        assert row.weight == pytest.approx(weight @ values)
        assert row.probability == pytest.approx(weight @ (values > 0))
    held = np.einsum("tj,tdj->dj", weights, drawn > 0)
    for j in range(model.n_concepts_):
        listed = table[table["concept"] == j + 1]["probability"]
        assert len(listed) == max((held[:, j] >= 0.5).sum(), round(held[:, j].sum()))
        assert sorted(listed, reverse=True) == pytest.approx(sorted(held[:, j], reverse=True)[: len(listed)])


@pytest.mark.parametrize("passages", [True, False])
def test_one_document_with_the_concepts_of_every_draw(passages):
    model = passage_model()
    known = model.documents(passages=passages)
    name = "source 1#3" if passages else "source 1"
    table = one_document(model.result_, 6 if passages else 1, passages).set_index("concept")
    assert set(table["document"]) == {name}
    ours = known[known["document"] == name].set_index("concept").drop(columns="leftover")
    pd.testing.assert_frame_equal(table.loc[ours.index], ours)
    assert (table.drop(ours.index)["probability"] < 0.5).all()
    rows = [6] if passages else range(4, 8)
    weights = model.result_.summary.alignment.weights
    held = [w.toarray()[rows].sum(axis=0) * share > 0 for w, share in zip(model.result_.drawn_weights(), weights)]
    assert set(table.index) == set(np.flatnonzero(np.any(held, axis=0)) + 1)


def test_passages_add_up_to_their_documents():
    model = passage_model()
    table = model.documents()
    assert table["document"].drop_duplicates().tolist() == [f"source {d}" for d in range(10)]
    tokens = np.asarray(PLANTED.counts.sum(axis=1)).ravel()
    passages = pd.concat([one_document(model.result_, p, passages=True) for p in range(4)])
    first = table[table["document"] == "source 0"]
    share = tokens[:4] / tokens[:4].sum()
    for row in first.itertuples():
        own = passages[passages["concept"] == row.concept].set_index("document")["weight"]
        wanted = sum(share[p] * own.get(f"source 0#{p + 1}", 0.0) for p in range(4))
        assert row.weight == pytest.approx(wanted)
    np.testing.assert_allclose(source_shares(model.corpus_).sum(axis=1), 1)


def test_representative_documents_show_the_concept():
    model = planted_model()
    table = model.representative_documents(2, n=3)
    assert len(table) == 3
    held = model.doc_concept_[:, 1]
    best = [int(name.split()[1]) for name in table["document"]]
    assert held[best].mean() > np.median(held[held > 0])
    top = model.top_words(2, 5)
    assert all(any(word in passage for word in top) for passage in table["passage"])
    assert (table["tokens"] == 60).all()


def test_the_passage_is_the_telling_stretch():
    text = "nothing here " * 60 + "the tax cut and the <b>budget</b> plan " + "nothing there " * 60
    passage = telling_passage(text, {"tax": 1.0, "<b>budget</b>": 2.0, "nothing": 0.1})
    assert "tax cut and the <b>budget</b>" in passage
    assert passage.startswith("… ")
    assert passage.endswith(" …")
    assert len(passage) < 300
    assert telling_passage("short  text", {}) == "short text"
    assert len(telling_passage("x" * 1000, {"y": 1.0})) < 300


def test_of_many_draws_some_are_kept_for_words_that_share_a_concept(monkeypatch):
    draws = planted_model().draws_
    whole = sets.word_sets(draws)
    monkeypatch.setattr(sets, "_MOST_ENTRIES", sum(one.nnz for one in whole.used) // 3)
    few = sets.word_sets(draws)
    per_chain = np.bincount(few.chain)
    assert len(whole.chain) == len(draws)
    assert len(draws) / 6 < len(few.chain) < len(draws) / 2
    assert (per_chain == per_chain[0]).all()
    mean = [together(one, 3).mean(axis=0) for one in (whole, few)]
    assert np.abs(mean[1] - mean[0]).max() < 0.2
    every = len(draws) // len(few.chain)
    first = on_in_concepts(draws.chains[0][every - 1].state)
    assert few.used[0].indices.tolist() == first.indices.tolist()


def test_similar_words_with_their_error():
    model = planted_model()
    table = model.similar_words("word20", n=8)
    assert len(table) == 8
    assert table["together"].is_monotonic_decreasing
    unsure = model.similar_words("word20", n=40)
    assert (unsure["mcse"] > 0).all()
    assert "word20" not in table["word"].tolist()


def naive_together(model, i):
    """For every word, Σ_j share_ji share_jl of each draw, in the mean over the weighted draws."""
    found = []
    for draw in model.draws_:
        used = usage_of(draw).used.toarray()
        share = used / np.maximum(used.sum(axis=0), 1)
        found.append(share.T @ share[:, i])
    return model.result_.summary.alignment.weight @ np.array(found)


def test_words_are_near_that_are_used_for_the_same_concepts(tmp_path):
    model = planted_model()
    i = model.corpus_.vocabulary.index("word20")
    wanted = dict(zip(model.corpus_.vocabulary, naive_together(model, i)))
    for one in (model, load(model.save(tmp_path / "m.sw"))):
        table = one.similar_words("word20", n=40)
        assert table["together"].tolist() == pytest.approx([wanted[word] for word in table["word"]])
        assert table["together"].between(0, 1).all()
    assert table["together"].nunique() > 10


def naive_excess(seen, expected):
    """Signed root of the Poisson deviance, one number at a time."""
    log = seen * math.log(seen / expected) if seen > 0 else 0.0
    return math.copysign(math.sqrt(max(2 * (log - seen + expected), 0.0)), seen - expected)


def naive_evidence(model, i, k):
    """How far word k is used for the concepts of word i, and in its rows, beyond chance."""
    has = np.asarray((model.corpus_.counts > 0).todense())
    both, expected = (has[:, i] & has[:, k]).sum(), has[:, i].sum() * has[:, k].sum() / len(has)
    by_draw = []
    for draw in model.draws_:
        used = usage_of(draw).used.toarray()
        share = used[:, i] / max(used[:, i].sum(), 1)
        chance = sum(share[j] * used[j].sum() / used.sum() for j in range(len(used)))
        by_draw.append(naive_excess(share @ used[:, k], chance * used[:, k].sum()))
    concepts = model.result_.summary.alignment.weight @ np.array(by_draw)
    return naive_excess(both, expected) + concepts


def test_words_that_belong_with_several_come_by_their_evidence(tmp_path):
    model = planted_model()
    given, vocabulary = ["word20", "word21"], model.corpus_.vocabulary
    for one in (model, load(model.save(tmp_path / "m.sw"))):
        table = one.similar_words(given, n=6)
        wanted = [
            np.mean([naive_evidence(model, vocabulary.index(i), vocabulary.index(word)) for i in given])
            for word in table["word"]
        ]
        assert table["evidence"].tolist() == pytest.approx(wanted)
        assert table["evidence"].is_monotonic_decreasing
        assert not set(given) & set(table["word"])
    each = [model.similar_words(i, n=40).set_index("word")["together"] for i in given]
    at = table["word"].iloc[0]
    assert table["together"].iloc[0] == pytest.approx((each[0][at] + each[1][at]) / 2)
    # In whatever order, and however often they are named.
    again = model.similar_words([*given[::-1], given[0]], n=6)
    assert again["evidence"].tolist() == pytest.approx(table["evidence"].tolist())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "There is no word to look for"),
        (["word20", "wrd21"], "The word 'wrd21' is not"),
        (5, "5 is not a word; give a word of the vocabulary, or a list"),
    ],
)
def test_words_that_cannot_be_looked_for_are_said_in_one_sentence(words, said):
    with pytest.raises(InputError, match=r"^[^\n]*$") as error:
        planted_model().similar_words(words)
    assert said in str(error.value)


def test_the_concepts_of_a_word_have_leftovers_last(monkeypatch):
    model = planted_model()
    number = model.concepts()["concept"].to_numpy()
    monkeypatch.setattr(words, "leftovers", lambda _: number < 0)
    table = concepts_of_word(model.result_, "word20")
    assert table["share_of_uses"].sum() <= 1 + 1e-9
    assert table["share_of_uses"].is_monotonic_decreasing
    for row in table.itertuples():
        own = model.words_of(row.concept).set_index("word").loc["word20"]
        assert (row.share_on, row.share_used) == (own["share_on"], own["share_used"])
    first = table["concept"][0]
    monkeypatch.setattr(words, "leftovers", lambda _: number == first)
    assert concepts_of_word(model.result_, "word20")["concept"].tolist() == [*table["concept"][1:], first]


def test_an_unknown_word_names_words_spelled_like_it():
    with pytest.raises(InputError, match="did you mean 'größe'"):
        planted_model().similar_words("Grösse")
    with pytest.raises(InputError, match="no word is spelled like it"):
        planted_model().similar_words("zzzzzzzz")


def judged(log_joint, prevalence=None, n_concepts=5):
    """The verdict of the planted model, had its chains been traced so."""
    model = planted_model()
    steady = np.full(log_joint.shape, n_concepts)
    trace = {name: steady for name in ("n_concepts", "n_memberships", "n_words_on")}
    shape = (*log_joint.shape, model.n_concepts_)
    rng = np.random.default_rng(1)
    traced = 0.5 + 0.01 * (rng.normal(size=shape) if prevalence is None else prevalence)
    parts = {"trace_values": {"log_joint": log_joint, **trace}}
    concepts = {"prevalence": traced, "strength": 0.5 + 0.01 * rng.normal(size=shape)}
    return with_parts(model, **parts, concept_trace=concepts).verdict()


def test_the_verdict_leads_with_what_can_be_used():
    good = np.random.default_rng(0).normal(size=(2, 400))
    found = judged(good)
    assert found.converged
    assert found.reason == ""
    n = int((planted_model().concepts()["found_by"] == 2).sum())
    assert (found.n_listed, found.n_found_again, found.n_reliable) == (planted_model().n_concepts_, n, n)
    length = PLANTED.counts.sum(axis=1)
    assert found.covered == pytest.approx(length @ planted_model().doc_concept_.sum(axis=1) / length.sum())
    said = str(found)
    assert said.startswith(
        f"{n} of {n} concepts were found by both chains; they cover {found.covered:.0%} of the text."
    )
    assert f"The chains agree on the figures of {n} of {n} (settled: those of each chain lie" in said
    assert f"{n} are reliable (found again and settled): R-hat at most 1.0" in said
    assert said.endswith("The chains kept their number of concepts: it comes from the start.")


def test_the_verdict_names_the_worst_quantity_that_is_reported_and_no_constant():
    good = np.random.default_rng(0).normal(size=(2, 400))
    apart = np.random.default_rng(2).normal(size=(2, 400, planted_model().n_concepts_))
    apart[1, :, 2] += 40
    found = judged(good, prevalence=apart)
    assert found.worst == f"the prevalence of “{planted_model().concepts()['name'][2]}”"
    # One concept of several is not settled: it is not counted among the reliable ones, whose figures hold.
    assert found.converged
    assert found.n_reliable == found.n_found_again - 1
    assert found.rhat < 1.1
    assert found.n_settled == found.n_listed - 1
    assert found.rhat_listed > 1.1
    assert f"The chains agree on the figures of {found.n_settled} of {found.n_listed} (settled" in str(found)
    apart[1] += 40
    found = judged(good, prevalence=apart)
    assert not found.converged
    assert found.n_reliable == 0
    assert f"the chains differ most in {found.worst} (R-hat {found.rhat:.2f})" in str(found)
    # Chains that hold different numbers of concepts and never change them have no R-hat.
    assert judged(good, n_concepts=np.array([[4], [6]])).converged
    # Chains that differ by a row or two of the forty differ by less than another sample of documents would.
    near = np.random.default_rng(2).normal(size=apart.shape)
    near[1, :, 2] += 2
    assert judged(good, prevalence=near).n_reliable == found.n_found_again
    # A chain that lacks a concept does not confirm what the others say of it.
    near[1, :, 2] = np.nan
    assert judged(good, prevalence=near).n_settled == found.n_listed - 1
    assert "one chain cannot be compared" in judged(good[:1]).reason
    assert judged(good[:, :1]).reason == "1 draw per chain cannot be judged (at least 4 are needed)"


def test_convergence_is_of_what_is_reported():
    model = planted_model()
    table = model.convergence()
    assert table["quantity"].tolist()[:2] == ["log_joint", "prevalence[1]"]
    assert len(table) == 1 + 2 * model.n_concepts_
    assert list(table.columns) == ["quantity", "concept", "label", "rhat", "ess", "ess_tail", "mcse"]
    values = model.trace_["posterior"]["log_joint"].values
    wanted = array_stats.rhat(values, chain_axis=0, draw_axis=1)
    assert table.set_index("quantity").loc["log_joint", "rhat"] == pytest.approx(wanted, rel=1e-4)


def test_a_hidden_concept_has_no_mixing():
    model = planted_model()
    hidden = with_parts(model, concept_trace={name: np.full((2, 20, 4), np.nan) for name in CONCEPT_TRACED})
    assert not hidden.concepts()["settled"].any()


@pytest.mark.parametrize("name", EDGES)
def test_every_table_works_at_the_borders(name):
    model = edge_model(name)
    n_concepts = model.n_concepts_
    assert (n_concepts == 0) == (name == "no concept")
    assert len(model.concepts()) == n_concepts
    assert len(model.words()) == model.corpus_.n_words
    assert (model.documents()["probability"] > 0).all()
    assert len(model.by_group("party")) == n_concepts * model.corpus_.metadata["party"].nunique()
    if model.corpus_.metadata["party"].nunique() == 2:
        assert len(model.compare_groups("party")) == n_concepts
    for concept in range(1, n_concepts + 1):
        assert isinstance(model.words_of(concept), pd.DataFrame)
        assert isinstance(model.group_words("party", concept), pd.DataFrame)
        assert len(model.representative_documents(concept)) >= 1
    assert len(model.similar_words(model.corpus_.vocabulary[0])) < model.corpus_.n_words
    assert str(model.verdict()).endswith(".")
    assert len(model.convergence()) == 1 + 2 * n_concepts


def drawn(*draws, counts):
    """A result of one chain whose first draw is the most probable."""
    chain = ChainDraws()
    for sweep, draw in enumerate(draws, 1):
        chain.append(draw._replace(sweep=sweep, score=-float(sweep)))
    return result_of(counts, [chain])


def result_of(counts, chains):
    prior = Prior(1.0, 1.0, 1.0, np.full(counts.shape[1], 0.5), 1.0, 0.5, 2.0, 1.0, 1.0)
    return Result(Corpus.from_counts(counts), np.arange(len(counts)), prior, Draws(chains))


def test_a_concept_that_no_document_uses_is_not_listed():
    counts = np.array([[4, 2, 0, 0], [3, 3, 0, 0], [0, 0, 4, 1]])
    draw = kept([{0: {0: 4, 1: 2}}, {0: {0: 3, 1: 3}, 2: {3: 0}}, {1: {2: 4, 3: 1}}], 4)
    result = drawn(*[draw] * 5, counts=counts)
    assert concept_table(result)["rows"].tolist() == [2, 1]
    assert result.n_concepts == 2
    assert result.shown == [1, 2]


def test_what_the_prior_holds_without_use_is_counted_apart():
    """Three documents hold the concept, two of them use it; one token of another's does not make it used."""
    counts = np.array([[4, 2, 0], [3, 3, 0], [0, 0, 1]])
    draw = kept([{0: {0: 4, 1: 2}}, {0: {0: 3, 1: 3}}, {0: {0: 0, 1: 0}, 1: {2: 1}}], 3)
    table = concept_table(drawn(*[draw] * 5, counts=counts))
    assert table["rows"].tolist() == [2, 1]
    assert table["held"].tolist() == pytest.approx([1, 1 / 3])
    assert document_table(drawn(*[draw] * 5, counts=counts))["concept"].tolist() == [1, 1, 2]


def test_a_row_without_words_holds_nothing_that_is_known():
    counts = np.array([[4, 2], [0, 0], [3, 3]])
    result = drawn(*[kept([{0: {0: 4, 1: 2}}, {0: {0: 0, 1: 0}}, {0: {0: 3, 1: 3}}], 2)] * 5, counts=counts)
    assert document_table(result)["document"].tolist() == [result.corpus.ids[0], result.corpus.ids[2]]
    assert one_document(result, 1).empty
