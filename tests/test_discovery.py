"""Discovery: covering a collection, and learning what a reader likes."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse

from cli_for_tests import model_file, run
from models_for_tests import passage_model, planted_model
from superwords.analysis.documents import mean_weights
from superwords.errors import InputError
from superwords.search import discovery


def worth_of(weights, chosen):
    """A naive twin: what a reader of three places in each of the documents meets, from the definition."""
    shares = weights.mean(axis=0) / weights.mean(axis=0).sum()
    return float(sum(shares[j] * (1 - np.prod((1 - weights[chosen, j]) ** 3)) for j in range(weights.shape[1])))


def test_each_choice_adds_most_and_the_shares_are_those_of_the_definition():
    model = planted_model()
    weights = mean_weights(model.result_).toarray()
    table = model.diverse(4)
    chosen = [model.corpus_.ids.index(one) for one in table["document"]]
    for k in range(4):
        others = [d for d in range(len(weights)) if d not in chosen[:k]]
        best = max(worth_of(weights, [*chosen[:k], d]) for d in others)
        assert worth_of(weights, chosen[: k + 1]) == pytest.approx(best)
        assert table["covered"].iloc[k] == pytest.approx(best)
    assert table["adds"].sum() == pytest.approx(table["covered"].iloc[-1])


def test_greedy_choice_is_near_the_best_of_all_sets():
    model = planted_model()
    weights = mean_weights(model.result_).toarray()
    best = max(worth_of(weights, list(pair)) for pair in combinations(range(len(weights)), 2))
    assert model.diverse(2)["covered"].iloc[-1] >= (1 - 1 / np.e) * best


def test_documents_are_chosen_among_those_named_only():
    model = planted_model()
    some = model.corpus_.ids[3:9]
    assert set(model.diverse(20, among=some)["document"]) == set(some)
    found = model.search("word7 word8", n=4)
    assert set(model.diverse(2, among=found)["document"]) <= set(found["document"])


def test_of_passages_the_source_documents_are_chosen():
    assert all(one.startswith("source ") and "#" not in one for one in passage_model().diverse(3)["document"])


@cache
def two_kinds():
    """60 documents in two views: the first 30 are mostly about columns 0 and 1, the others about 2 and 3."""
    rng = np.random.default_rng(2)
    values = rng.dirichlet([4, 4, 0.5, 0.5], 60)
    values[30:] = values[30:, ::-1]
    words = rng.random((60, 6)) * (rng.random((60, 6)) < 0.5)
    shares = discovery._CONCEPTS, 1 - discovery._CONCEPTS
    return tuple(discovery.make_view(sparse.csr_array(one), share) for one, share in zip((values, words), shares))


def naive_posterior(views, judged, says):
    """Means and standard deviations of f by the linear model written out: weights of every centred, scaled column."""
    columns = [
        np.sqrt(one.share / one.scale) * (one.values.toarray() - one.values.toarray().mean(axis=0)) for one in views
    ]
    x = np.hstack([*columns, np.full((60, 1), np.sqrt(discovery._CONSTANT))])
    precision = np.eye(x.shape[1]) + x[judged].T @ x[judged] / discovery._NOISE
    covariance = np.linalg.inv(precision)
    mean = covariance @ x[judged].T @ says / discovery._NOISE
    return x @ mean, np.sqrt(np.einsum("ij,jk,ik->i", x, covariance, x))


def test_a_taste_is_the_posterior_of_the_linear_model():
    judged, says = np.array([0, 1, 2, 40, 41]), np.array([1.0, 1, 1, -1, -1])
    found = discovery.Taste(two_kinds(), judged[:3], judged[3:]).of_documents()
    np.testing.assert_allclose(found, naive_posterior(two_kinds(), judged, says), rtol=1e-8)


def test_what_is_liked_comes_first_and_more_judgements_make_it_surer():
    kinds = np.arange(60) < 30
    found = []
    for judged in ((np.array([0]), np.array([31])), (np.arange(8), np.arange(31, 39))):
        found.append(discovery.Taste(two_kinds(), *judged).of_documents())
    assert all(mean[kinds].mean() > mean[~kinds].mean() for mean, _ in found)
    assert (found[1][1] <= found[0][1] + 1e-9)[39:].all()


def test_recommendations_leave_out_what_was_judged_and_say_how_sure_they_are():
    model = planted_model()
    holds = model.corpus_.metadata["party"] == "A"
    ids = np.array(model.corpus_.ids)
    liked, disliked = ids[holds][:4].tolist(), ids[~holds][:4].tolist()
    table = model.recommend(liked, disliked, n=10)
    assert list(table.columns) == discovery.RECOMMENDED_COLUMNS
    assert not set(table["document"]) & {*liked, *disliked}
    assert ((table["low"] <= table["taste"]) & (table["taste"] <= table["high"])).all()
    assert table["score"].between(0, 1).all()
    party = model.corpus_.metadata["party"].set_axis(ids)
    assert (party[table["document"].iloc[:5]] == "A").mean() > holds.mean()
    taste = model.tastes(liked, disliked)
    assert taste["taste"].is_monotonic_decreasing
    assert len(taste) == model.n_concepts_
    assert taste["sure"].between(0.5, 1).all()
    try:
        assert set(model.merge([1, 2]).hide(3).tastes(liked, disliked)["concept"]) == set(model.result_.shown)
    finally:
        model.choose([])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda model: model.diverse(0), "is not a whole number"),
        (lambda model: model.diverse(2, among=["nobody"]), "there is no document 'nobody'"),
        (lambda model: model.diverse(2, among="doc 1"), "give their ids in a list"),
        (lambda model: model.diverse(2, among=[]), "names no document"),
        (lambda model: model.diverse(2, among=model.words()), "no column 'document'"),
        (lambda model: model.recommend(), "No judgement is given"),
        (lambda model: model.recommend(["doc 1"], ["doc 1"]), "both liked and disliked"),
        (lambda model: model.recommend(["doc 1"], n=-1), "is not a whole number"),
    ],
)
def test_what_cannot_be_asked_is_said_in_one_sentence(call, message):
    with pytest.raises(InputError, match=message):
        call(planted_model())


def test_the_command_covers_and_recommends(tmp_path, capsys):
    path = model_file(tmp_path)
    said = run(capsys, "search", path, "--diverse", "-n", "3", "--json")
    assert len(said.json["documents"]) == 3
    liked = said.json["documents"][0]["document"]
    said = run(capsys, "search", path, "--like", liked, "-n", "4", "--json")
    assert liked not in [one["document"] for one in said.json["documents"]]
    assert run(capsys, "search", path, "--diverse", "apple").code == 0
    assert run(capsys, "search", path, "--like", liked).code == 0
    said = run(capsys, "search", path, "--like", liked, "apple")
    assert (said.code, said.err.count("\n")) == (1, 1)
    said = run(capsys, "search", path, "--diverse", "zzzz")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "No document answers the query 'zzzz'" in said.err
