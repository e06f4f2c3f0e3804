"""The tables say what the draws say, at the borders too."""

import copy
import math

import arviz_base
import numpy as np
import pandas as pd
import pytest

from models_for_tests import (
    EDGES,
    ODD_WORDS,
    PLANTED,
    chain_of,
    edge_model,
    kept,
    passage_model,
    planted_model,
    summary_of,
    with_parts,
)
from superwords import Corpus, load
from superwords.concepts import examples, sets, summary
from superwords.concepts.agreement import convergence_table, verdict
from superwords.concepts.alignment import usage_of
from superwords.concepts.examples import concepts_of_word, telling_passage
from superwords.concepts.intervals import TAILS
from superwords.concepts.ranking import names, ranked_words
from superwords.concepts.result import Result
from superwords.concepts.sets import on_in_concepts, together
from superwords.concepts.summary import USED_BY, WordUse
from superwords.concepts.tables import (
    concept_table,
    document_table,
    draw_weights,
    drawn_weights,
    of_shown,
    one_document,
    source_shares,
    used_words,
)
from superwords.draws import ChainDraws, Draws
from superwords.errors import InputError
from superwords.sampler.model import Prior


def word_use(rows):
    """Rows of (concept, word, used, documents)."""
    columns = np.array(rows, float).T
    shares = [columns[2].astype(np.float32)] * 8
    sure = np.ones(len(rows), np.float32)
    return WordUse(columns[0].astype(int), columns[1].astype(int), sure, *shares[:6], columns[3])


def test_a_word_used_everywhere_tells_less_than_one_of_the_concepts_own():
    words = word_use([(0, 0, 0.9, 9), (0, 1, 0.5, 5), (1, 0, 0.9, 18), (1, 2, 0.2, 4), (2, 0, 0.8, 40)])
    assert words.word[ranked_words(words, 3, 3)[0]].tolist() == [1, 0]


def test_words_that_a_typical_draw_does_not_use_are_left_out():
    words = word_use([(0, 0, 0.3, 3), (0, 1, 0.2, 2), (0, 2, 0.1, 1), (1, 0, 0.1, 1)])
    words = words._replace(probability=np.array([0.49, 0.5, 1, 0.2]))
    assert [words.word[rows].tolist() for rows in ranked_words(words, 2, 3)] == [[1, 2], []]
    assert names(words, 2, ["a", "b", "c"]) == ["b, c", "(no words)"]


def test_names_are_short_unique_and_do_not_repeat_themselves():
    words = word_use(
        [(0, 0, 0.9, 9), (0, 1, 0.8, 8), (0, 2, 0.7, 7), (0, 3, 0.01, 1), (1, 4, 0.5, 5), (2, 4, 0.5, 5)]
    )
    vocabulary = ["health care", "care", "costs", "rare", "tax"]
    assert names(words, 4, vocabulary) == ["health care, costs", "tax", "tax (2)", "(no words)"]


def test_concepts_are_those_of_the_fitted_attributes():
    model = planted_model()
    table = model.concepts()
    held = (model.doc_concept_ > 0).sum(axis=0)
    assert table["concept"].tolist() == list(range(1, model.n_concepts_ + 1))
    assert held.tolist() == sorted(held, reverse=True)
    assert table["name"].is_unique
    assert (table["leftover"] == ~(table["rows"] > 4)).all()
    assert table["documents"].tolist() == pytest.approx(table["rows"].tolist(), nan_ok=True)


def test_stability_is_over_the_chains_that_the_reference_is_not_of():
    model = planted_model()
    table, aligned = model.concepts(), model.result_.summary.alignment
    own = next(c for c, chain in enumerate(model.kept_) if model.best_draw_.score in chain.scores)
    for j in range(model.n_concepts_):
        there = aligned.overlap[:, j] > 0
        halves = [there[:20].mean(), there[20:].mean()]
        assert table["stability_by_chain"][j] == pytest.approx(halves)
        assert table["stability"][j] == pytest.approx(halves[1 - own])
        assert table["found_by"][j] == sum(half >= 0.5 for half in halves)


def test_of_one_chain_stability_is_over_its_own_draws():
    model = edge_model("one chain")
    found = model.result_.summary.alignment.matched.mean(axis=0)
    assert model.concepts()["stability"].tolist() == pytest.approx(found.tolist())


def with_few_draws(model, monkeypatch):
    """The same model, with memberships kept of every tenth draw."""
    monkeypatch.setattr(summary, "_MOST_PAIRS", 1)
    monkeypatch.setattr(summary, "_FEWEST_DRAWS", 4)
    return with_parts(model, summary=summary_of(model))


@pytest.mark.parametrize("spaced", [False, True])
@pytest.mark.parametrize("made", [planted_model, passage_model])
def test_means_are_over_the_draws_of_intervals_and_groups(monkeypatch, made, spaced):
    model = with_few_draws(made(), monkeypatch) if spaced else made()
    table, draws = model.concepts(), model.result_.summary.memberships.draw
    weights = draw_weights(model.result_)
    drawn = np.array([w.toarray() for w in drawn_weights(model.result_)])
    aligned = model.result_.summary.alignment
    for j in range(model.n_concepts_):
        counts = weights[:, j] > 0
        own, weight = drawn[counts, :, j], weights[counts, j]
        assert weight.sum() == pytest.approx(1)
        assert (counts <= aligned.matched[draws, j]).all()
        held = (own > 0).sum(axis=1)
        assert table["rows"][j] == pytest.approx(weight @ held)
        assert table["prevalence"][j] == pytest.approx(weight @ held / 40)
        assert table["strength"][j] == pytest.approx(weight @ [one[one > 0].mean() for one in own])
        bounds = np.quantile(held / 40, TAILS, weights=weight, method="inverted_cdf")
        assert (table["prevalence_low"][j], table["prevalence_high"][j]) == pytest.approx(tuple(bounds))
        if model.corpus_.parent is not None:
            in_sources = (own.reshape(len(own), 10, 4) > 0).any(axis=2).sum(axis=1)
            assert table["documents"][j] == pytest.approx(weight @ in_sources)
    groups = model.by_group("party").groupby("concept")["prevalence"]
    assert (groups.min().to_numpy() <= table["prevalence"] + 1e-9).all()
    assert (table["prevalence"] <= groups.max().to_numpy() + 1e-9).all()


def test_the_number_of_words_is_the_mean_over_the_draws():
    model = planted_model()
    j, weights = 0, draw_weights(model.result_)
    aligned, draws = model.result_.summary.alignment, list(model.draws_)
    counted = []
    for s in model.result_.summary.memberships.draw:
        usage = usage_of(draws[s])
        share = usage.used.toarray() / usage.holders[:, None]
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
    twice = [np.concatenate([column[one], column[one], column[others & ~one]]) for column in words]
    twice[0] = np.concatenate([words.concept[one], words.concept[one] + 1, words.concept[others & ~one]])
    summary_of_twice = model.result_.summary._replace(words=WordUse(*twice))
    table = with_parts(model, summary=summary_of_twice).concepts()
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
    with pytest.raises(InputError, match=r"is not a number of words; give a whole number of at least 0"):
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
    drawn = np.array([w.toarray() for w in drawn_weights(model.result_)])
    weights = draw_weights(model.result_)
    for row in table.sample(30, random_state=0).itertuples():
        d, j = int(row.document.split()[1]), row.concept - 1
        values, weight = drawn[:, d, j], weights[:, j]
        wanted = np.quantile(values, TAILS, weights=weight, method="inverted_cdf")
        assert (row.low, row.high) == pytest.approx(tuple(wanted))
        assert row.weight == pytest.approx(weight @ values)
        assert row.probability == pytest.approx(weight @ (values > 0))
    held = np.einsum("tj,tdj->dj", weights, drawn > 0)
    assert len(table) == (held >= 0.5).sum()


@pytest.mark.parametrize("passages", [True, False])
def test_one_document_with_the_concepts_of_every_draw(passages):
    model = passage_model()
    known = model.documents(passages=passages)
    name = "source 1#3" if passages else "source 1"
    table = one_document(model.result_, 6 if passages else 1, passages).set_index("concept")
    assert set(table["document"]) == {name}
    ours = known[known["document"] == name].set_index("concept")
    pd.testing.assert_frame_equal(table.loc[ours.index], ours)
    assert table.drop(ours.index)["probability"].between(0, 0.5, inclusive="neither").all()
    rows = [6] if passages else range(4, 8)
    weights = draw_weights(model.result_)
    held = [
        w.toarray()[rows].sum(axis=0) * share > 0 for w, share in zip(drawn_weights(model.result_), weights)
    ]
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
    monkeypatch.setattr(sets, "_MOST_ENTRIES", len(whole.word) // 3)
    few = sets.word_sets(draws)
    per_chain = np.bincount(few.chain)
    assert len(whole.chain) == len(draws)
    assert len(draws) / 6 < len(few.chain) < len(draws) / 2
    assert (per_chain == per_chain[0]).all()
    mean = [together(one, 3).mean(axis=0) for one in (whole, few)]
    assert np.abs(mean[1] - mean[0]).max() < 0.2
    every = len(draws) // len(few.chain)
    first = slice(0, few.ptr[few.n_concepts[0]])
    assert few.word[first].tolist() == on_in_concepts(draws.chains[0][every - 1].state).indices.tolist()


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
    known = model.concepts()
    monkeypatch.setattr(examples, "concept_table", lambda *_: known.assign(leftover=False))
    table = concepts_of_word(model.result_, "word20")
    assert table["share_of_uses"].sum() <= 1 + 1e-9
    assert table["share_of_uses"].is_monotonic_decreasing
    for row in table.itertuples():
        own = model.words_of(row.concept).set_index("word").loc["word20"]
        assert (row.share_on, row.share_used) == (own["share_on"], own["share_used"])
    first = table["concept"][0]
    monkeypatch.setattr(
        examples, "concept_table", lambda *_: known.assign(leftover=known["concept"] == first)
    )
    assert concepts_of_word(model.result_, "word20")["concept"].tolist() == [*table["concept"][1:], first]


def test_an_unknown_word_names_words_spelled_like_it():
    with pytest.raises(InputError, match="did you mean 'größe'"):
        planted_model().similar_words("Grösse")
    with pytest.raises(InputError, match="no word is spelled like it"):
        planted_model().similar_words("zzzzzzzz")


def with_trace(**values):
    steady = np.full(next(iter(values.values())).shape, 5.0)
    names = ("log_joint", "n_concepts", "n_memberships", "n_words_on")
    trace = {name: values.get(name, steady) for name in names}
    return with_parts(planted_model(), trace=arviz_base.from_dict({"posterior": trace}))


def test_the_verdict_has_two_parts():
    rng = np.random.default_rng(0)
    good = rng.normal(size=(2, 400))
    told = with_trace(log_joint=good).verdict()
    assert told.startswith("The chains agree as a whole (R-hat at most 1.0")
    n_found = int((planted_model().concepts()["found_by"] == 2).sum())
    n_concepts = planted_model().n_concepts_
    sure = f"{n_found} of {n_concepts} concepts are found by both chains and can be relied on."
    assert told.endswith(sure)
    slow_rows = copy.copy(with_trace(n_memberships=good + np.array([[0.0], [9.0]])))
    assert "most of all in how many concepts documents hold" in slow_rows.verdict()
    by_passages = with_parts(slow_rows, corpus=passage_model().corpus_)
    assert "most of all in how many concepts passages hold" in by_passages.verdict()
    apart = with_trace(n_concepts=good + np.array([[0.0], [0.3]])).verdict()
    assert apart.startswith("The chains differ, most of all in the number of concepts (R-hat 1.0")
    assert apart.endswith(sure)
    slow = np.tile(np.repeat(rng.normal(size=4), 25), (2, 2))
    assert "200 are wanted" in with_trace(log_joint=slow).verdict()
    alone = with_trace(log_joint=good[:1]).verdict()
    assert alone.startswith("Within the chain, the draws are worth")
    assert alone.endswith("cannot be judged from one chain; fit with n_chains=2 or more.")
    assert "cannot be judged" in with_trace(log_joint=good[:1, :10]).verdict()
    assert with_trace(log_joint=good[:1, :1]).verdict().startswith("Sample longer, because 1 draw per chain")


def test_convergence_as_a_table():
    table = planted_model().convergence()
    assert table["quantity"].tolist()[0] == "log_joint"
    assert set(table.columns) == {"quantity", "rhat", "ess", "mcse"}


@pytest.mark.parametrize("name", EDGES)
def test_every_table_works_at_the_borders(name):
    model = edge_model(name)
    n_concepts = model.n_concepts_
    assert (n_concepts == 0) == (name == "no concept")
    assert len(model.concepts()) == n_concepts
    assert len(model.words()) == model.corpus_.n_words
    assert (model.documents()["probability"] >= 0.5).all()
    assert len(model.by_group("party")) == n_concepts * model.corpus_.metadata["party"].nunique()
    if model.corpus_.metadata["party"].nunique() == 2:
        assert len(model.compare_groups("party")) == n_concepts
    for concept in range(1, n_concepts + 1):
        assert isinstance(model.words_of(concept), pd.DataFrame)
        assert isinstance(model.group_words("party", concept), pd.DataFrame)
        assert len(model.representative_documents(concept)) >= 1
    assert len(model.similar_words(model.corpus_.vocabulary[0])) < model.corpus_.n_words
    assert model.verdict().endswith(".")
    assert len(model.convergence()) == 4


def drawn(*draws, counts):
    """A result of one chain whose first draw is the most probable."""
    chain = ChainDraws()
    for sweep, draw in enumerate(draws, 1):
        chain.append(draw._replace(sweep=sweep, score=-float(sweep)))
    return result_of(counts, [chain])


def result_of(counts, chains):
    prior = Prior(1.0, 1.0, 1.0, np.full(counts.shape[1], 0.5), 1.0, 0.5, 2.0, 1.0, 1.0)
    return Result(Corpus.from_counts(counts), np.arange(len(counts)), prior, Draws(chains))


def test_a_concept_that_uses_no_word_is_in_the_table_and_in_no_list():
    """It is a concept of the most probable draw, so columns count it, but there is nothing to say about it."""
    counts = np.array([[4, 2, 0, 0], [3, 3, 0, 0], [0, 0, 4, 1]])
    draw = kept([{0: {0: 4, 1: 2}}, {0: {0: 3, 1: 3}, 2: {3: 0}}, {1: {2: 4, 3: 1}}], 4)
    result = drawn(*[draw] * 5, counts=counts)
    table = concept_table(result)
    assert table["name"].tolist().index("(no words)") == 2
    assert result.n_concepts == len(table) == 3
    assert result.shown == [1, 2]
    assert of_shown(result, table)["concept"].tolist() == [1, 2]
    assert verdict(result).endswith("fit with n_chains=2 or more.")


def test_a_row_without_words_holds_nothing_that_is_known():
    counts = np.array([[4, 2], [0, 0], [3, 3]])
    result = drawn(*[kept([{0: {0: 4, 1: 2}}, {0: {0: 0, 1: 0}}, {0: {0: 3, 1: 3}}], 2)] * 5, counts=counts)
    assert document_table(result)["document"].tolist() == [result.corpus.ids[0], result.corpus.ids[2]]
    assert one_document(result, 1).empty


def test_chains_that_never_move_are_told_without_a_bare_infinity():
    one, other = (kept([{j: {0: 4, 1: 2} for j in range(n)}] * 3, 2) for n in (1, 2))
    result = result_of(np.full((3, 2), 4), [chain_of(draw, 5) for draw in (one, other)])
    assert np.isinf(convergence_table(result)["rhat"].max())
    assert "each chain keeps its own, so R-hat is infinite; at most 1.01 is wanted" in verdict(result)
