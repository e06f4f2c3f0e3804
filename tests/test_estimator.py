"""ConceptModel: names that must hold, same bits, edge cases, and one clear sentence for bad input."""

import copy

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from experiments.generators import plant_corpus
from superwords import ConceptModel, Corpus
from superwords.fitting.fitted_model import FittedModel
from superwords.fitting.settings import scale_features
from superwords.sampler.init.starts import initial_state
from superwords.sampler.model import Prior, make_data
from superwords.sampler.simulate import draw_documents
from superwords.sampler.state import sizes_of

CORPUS = plant_corpus(40, 30, 5, 2, 25, 4, seed=1)


def fitted(**options):
    options = {"n_sweeps": 30, "random_state": 5, "n_chains": 2, **options}
    X, features = options.pop("X", CORPUS.counts), options.pop("features", CORPUS.features)
    return ConceptModel(**options).fit(X, features=features)


@pytest.fixture(scope="module")
def model():
    return ConceptModel(n_chains=2, n_sweeps=60, n_burn_in=20, thin=2, random_state=5).fit(
        CORPUS.counts, features=CORPUS.features
    )


def test_fitted_attributes(model):
    J, V, D = model.n_concepts_, 30, 40
    assert model.concept_word_.shape == (J, V)
    assert model.doc_concept_.shape == (D, J)
    assert (model.doc_concept_.sum(axis=1) <= 1 + 1e-6).all()
    assert model.co_membership_.shape == (V, V)
    np.testing.assert_array_equal(model.co_membership_, model.co_membership_.T)
    assert ((model.co_membership_ >= 0) & (model.co_membership_ <= 1)).all()
    for name in ("log_joint", "n_concepts", "n_memberships", "n_words_on"):
        assert model.trace_.posterior[name].dims == ("chain", "draw")
        assert model.trace_.posterior[name].shape == (2, 20)


def test_attributes_are_means_over_the_draws_by_hand(model):
    """Of each listed concept, over the draws that have its partner; weights count in the others as 0."""
    assert model.best_draw_.score == max(draw.score for draw in model.draws_)
    found = model.result_.consensus
    weights, shares = (np.zeros(model.doc_concept_.shape), np.zeros((len(model.draws_), *model.concept_word_.shape)))
    for t, (draw, partner) in enumerate(zip(model.draws_, found.partner, strict=True)):
        state, n = draw.state, draw.tokens.pair
        sizes = sizes_of(state)
        for row, document in enumerate(model.order_):
            held = range(state.doc_ptr[row], state.doc_ptr[row + 1])
            for p in held:
                for j in np.flatnonzero(partner == state.concept[p]):
                    weights[document, j] += n[p] / sum(n[p] for p in held) / len(model.draws_)
        for j, k in enumerate(partner):
            shares[t, j] = sizes.m[k] / sizes.holders[k] if k >= 0 else np.nan
    np.testing.assert_allclose(model.doc_concept_, weights, rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(model.concept_word_, np.nanmean(shares, axis=0), rtol=1e-5)
    rows = model.concepts()["rows"].tolist()
    assert rows == sorted(rows, reverse=True)


def test_trace_and_co_membership_are_recomputed_from_the_draws(model):
    for c, chain in enumerate(model.draws_.chains):
        for s, draw in enumerate(chain):
            assert model.trace_.posterior["n_memberships"].values[c, s] == len(draw.state.concept)
            assert model.trace_.posterior["n_words_on"].values[c, s] == len(draw.state.word)
    together = np.zeros((30, 30))
    for chain in model.draws_.chains:
        for draw in chain:
            on = sizes_of(draw.state).m > 0
            together += 1 / len(model.draws_) * np.einsum("ji,jk->ik", on, on).astype(bool)
    np.testing.assert_allclose(model.co_membership_, together)


def same(a, b):
    np.testing.assert_array_equal(a.doc_concept_, b.doc_concept_)
    np.testing.assert_array_equal(a.concept_word_, b.concept_word_)
    np.testing.assert_array_equal(a.trace_.posterior["log_joint"], b.trace_.posterior["log_joint"])


def test_same_seed_same_bits_at_any_number_of_jobs():
    same(fitted(n_jobs=1), fitted(n_jobs=2))
    assert (
        fitted(random_state=6).trace_.posterior["log_joint"].values[0, 0]
        != fitted().trace_.posterior["log_joint"].values[0, 0]
    )


def test_each_chain_may_have_its_own_start():
    model = fitted(init=["kmeans:3", "single"], n_sweeps=2)
    one = fitted(init="single", n_sweeps=2)
    values, other = (m.trace_.posterior["log_joint"].values for m in (model, one))
    assert (values[1] == other[1]).all()
    assert (values[0] != other[0]).all()


def test_chains_differ():
    values = fitted().trace_.posterior["log_joint"].values
    assert (values[0] != values[1]).all()


def test_document_order_does_not_change_a_bit():
    order = np.random.default_rng(0).permutation(40)
    a, b = fitted(), fitted(X=sparse.csr_array(CORPUS.counts[order]))
    np.testing.assert_array_equal(a.doc_concept_[order], b.doc_concept_)
    np.testing.assert_array_equal(a.concept_word_, b.concept_word_)


def test_dense_sparse_and_corpus_give_the_same():
    words = [f"w{i}" for i in range(30)]
    same(fitted(), fitted(X=CORPUS.counts.toarray()))
    same(fitted(), fitted(X=Corpus.from_counts(sparse.coo_array(CORPUS.counts), words)))


def test_advancing_equals_an_uninterrupted_run():
    options = {"n_burn_in": 5, "thin": 1}
    same(fitted(n_sweeps=12, **options).advance(18), fitted(n_sweeps=30, **options))


def test_plain_chain_keeps_every_sweep():
    model = fitted(init="single", n_burn_in=0, thin=1, n_sweeps=7)
    assert model.trace_.posterior["log_joint"].shape == (2, 7)


def test_a_start_from_the_prior_is_not_the_truth_that_the_same_seed_simulated():
    prior = Prior(3.0, 1.0, 1.0, np.full(8, 0.4), 1.0, 0.7, 3.0, 2.0, 1.0)
    made = draw_documents(prior, np.full(6, 5), 0, np.ones(8), seed=4)
    data = make_data(made.counts, made.features)
    start = initial_state("prior", data, prior, np.ones(8), 4, 0)
    assert not np.isin(start.weight, made.state.weight).any()


@pytest.mark.parametrize("init", ["topics", "topics:3", "kmeans", "kmeans:3", "single", "random", "random:4", "prior"])
@pytest.mark.parametrize("features", [None, CORPUS.features])
def test_every_start_explains_every_word(init, features):
    model = fitted(init=init, features=features, n_sweeps=2, n_burn_in=0)
    assert np.isfinite(model.trace_.posterior["log_joint"].values).all()


@pytest.mark.parametrize("theta", [None, 2.0, "uniform", "frequency", "root", "sample", np.linspace(1, 2, 30)])
def test_every_theta(theta):
    assert np.isfinite(fitted(theta=theta, n_sweeps=4).trace_.posterior["log_joint"].values).all()


@pytest.mark.parametrize(
    "counts",
    [
        np.zeros((3, 4), int),
        np.array([[3]]),
        np.array([[0]]),
        np.array([[0, 2, 0]]),
        np.array([[1], [0], [2]]),
        np.array([[0, 0, 5], [0, 0, 0], [1, 0, 1]]),
    ],
    ids=["no tokens", "one cell", "one empty cell", "D = 1", "V = 1", "empty document and unused word"],
)
@pytest.mark.parametrize("n_features", [0, 2])
def test_edges_of_the_corpus(counts, n_features):
    features = np.random.default_rng(0).normal(size=(counts.shape[1], n_features)) if n_features else None
    model = ConceptModel(n_sweeps=20, random_state=1).fit(counts, features=features)
    assert model.doc_concept_.shape == (len(counts), model.n_concepts_)
    held = model.doc_concept_.sum(axis=1)
    # Draws in which a concept has no partner count as 0.
    assert ((held[counts.sum(axis=1) > 0] > 0.3) & (held[counts.sum(axis=1) > 0] < 1.001)).all()


def test_all_features_unknown_is_no_features():
    same(fitted(features=np.full((30, 3), np.nan)), fitted(features=None))


def test_sampled_concentrations_belong_to_their_draw():
    model = fitted(b1="sample", b2="sample", alpha_omega="sample", n_burn_in=0, thin=1, n_sweeps=6)
    draws = model.draws_
    assert len({draw.b1 for draw in draws}) == len({draw.b2 for draw in draws}) == len(draws)
    assert [chain[-1].b1 for chain in model.draws_.chains] == [c.model.prior.b1 for c in model.chains_]
    same(model, fitted(b1="sample", b2="sample", alpha_omega="sample", n_burn_in=0, thin=1, n_sweeps=3).advance(3))


def test_rules_scale_with_the_corpus():
    prior = fitted(b1="auto", b2="auto", n_sweeps=2).chains_[0].model.prior
    assert (prior.b1, prior.alpha_omega) == (12.0, 0.025)
    assert prior.b2 == pytest.approx(5 + 40 / 60)
    using = (CORPUS.counts > 0).sum(axis=0) + 0.5
    np.testing.assert_allclose(prior.lam, 4.0 * using / using.sum())
    prior = fitted(b1=1, b2=1, n_sweeps=2).chains_[0].model.prior
    assert (prior.b1, prior.b2, prior.alpha_omega) == (1.0, 1.0, 1.0)
    assert prior.lam.sum() == pytest.approx(10.0)


def test_principal_components_keep_their_proportions():
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((30, 3))
    components = np.linalg.qr(numbers - numbers.mean(axis=0))[0] * [9.0, 3.0, 1.0] + 5.0
    components = np.vstack([components, np.full(3, np.nan)])
    spread = np.nanstd(scale_features(components, 31, True), axis=0)
    np.testing.assert_allclose(spread / spread[2], [9.0, 3.0, 1.0])
    assert np.mean(spread**2) == pytest.approx(1.0)
    mixed = components @ [[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(np.nanstd(scale_features(mixed, 31, True), axis=0), 1.0)


def test_prior_steps_run():
    assert np.isfinite(fitted(steps="prior", n_sweeps=10).trace_.posterior["n_concepts"].values).all()


NAN_COUNTS = np.ones((3, 30))
NAN_COUNTS[1, 2] = np.nan
INFINITE = CORPUS.features.copy()
INFINITE[4, 1] = np.inf


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"X": -np.eye(3)}, "row 0, column 0 is -1.0, which is negative"),
        ({"X": np.eye(3) / 2}, "row 0, column 0 is 0.5, which is not a whole number"),
        ({"X": NAN_COUNTS}, "row 1, column 2 is nan, which is not a finite number"),
        ({"X": np.ones(3)}, "1 dimension"),
        ({"X": np.zeros((0, 3))}, "zero documents"),
        ({"X": np.zeros((3, 0))}, "zero words"),
        ({"X": [["a", "b"]]}, "not numbers"),
        ({"X": "The tax bill."}, "X is one string"),
        ({"lam": 1.5}, "strictly between 0 and 1"),
        ({"lam": 0}, "strictly between 0 and 1"),
        ({"lam": [0.1, 0.2]}, "one per word"),
        ({"theta": -1}, "positive"),
        ({"theta": "often"}, "'uniform'"),
        ({"features": INFINITE}, "features is infinite in row 4, column 1"),
        ({"features": np.ones((7, 2))}, r"\(30, F\)"),
        ({"features": np.ones(30)}, r"\(30, F\)"),
        ({"alpha_omega": 0}, "alpha_omega=0 is not a positive number"),
        ({"b1": -2.0}, "b1=-2.0"),
        ({"K": "x"}, "K='x'"),
        ({"n_chains": 0}, "n_chains=0"),
        ({"n_sweeps": 2.5}, "n_sweeps=2.5"),
        ({"n_burn_in": 30}, "n_burn_in=30 leaves no draw"),
        ({"thin": 50}, "thin=50"),
        ({"init": "best"}, "init='best'"),
        ({"init": "single:3"}, "init='single:3'"),
        ({"init": ["single"]}, "init names 1 starts for 2 chains"),
        ({"random_state": -1}, "random_state=-1"),
        ({"steps": "fast"}, "steps='fast'"),
    ],
)
def test_bad_input_gets_one_sentence(options, sentence):
    with pytest.raises(ValueError, match=sentence) as error:
        fitted(**options)
    message = str(error.value)
    assert "\n" not in message
    assert message.endswith(".")


CALLS = {
    "advance": [1],
    "save": ["model.sw"],
    "transform": [[[1]]],
    "top_words": [1],
    "words_of": [1],
    "representative_documents": [1],
    "similar_words": ["tax"],
    "by_group": ["party"],
    "compare_groups": ["party"],
    "group_words": ["party", 1],
    "search": ["tax"],
    "diverse": [2],
    "over_time": ["year"],
    "trends": ["year"],
    "words_over_time": ["year", 1],
    "effects": ["party"],
    "predicted": ["party", "party"],
    "export": ["model.csv"],
    "propose_names": [str],
    "split": [1],
    "choose": [[]],
    "merge": [[1, 2]],
    "hide": [1],
    "restore": [1],
    "rename": [{1: "tax"}],
    "gather": ["money", 1],
}
NEED_NO_FIT = ("fit", "fit_transform", "set_output", "start")


def test_what_only_a_fitted_model_has_says_so():
    own = {name for of in (ConceptModel, FittedModel) for name in vars(of) if not name.startswith("_")}
    own -= {*NEED_NO_FIT, *ConceptModel().get_params()}
    fitted_names = [name for name in FittedModel.__annotations__ if name.endswith("_")]
    for name in {*own, *fitted_names} - {"set_fit_request", "set_transform_request", "set_split_request"}:
        with pytest.raises(NotFittedError, match="This ConceptModel is not fitted yet; call fit first"):
            getattr(ConceptModel(), name)(*CALLS.get(name, []))


def test_other_names_are_missing_as_usual(model):
    for one in (model, ConceptModel()):
        with pytest.raises(AttributeError, match="has no attribute 'topics_'"):
            _ = one.topics_
    assert not hasattr(ConceptModel(), "doc_concept_")
    assert clone(model).n_sweeps == model.n_sweeps


def test_an_error_inside_an_attribute_is_not_hidden(model, monkeypatch):
    again = copy.copy(model)
    again._forget()
    monkeypatch.setattr("superwords.posterior.result.word_sets", lambda draws: draws.nothing)
    with pytest.raises(AttributeError, match="nothing"):
        _ = again.co_membership_


def test_a_vocabulary_of_another_length_or_with_doubles():
    with pytest.raises(ValueError, match="2 words but the counts have 30 columns"):
        Corpus.from_counts(CORPUS.counts, ["a", "b"])
    with pytest.raises(ValueError, match="'w' twice"):
        Corpus.from_counts(CORPUS.counts, ["w"] * 30)
