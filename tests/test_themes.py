"""The tree of concepts, where it is cut, and themes that people make."""

import json

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import beta
from sklearn.metrics import adjusted_rand_score

from models_for_tests import edge_model, kept, planted_model
from superwords import ConceptModel, Corpus
from superwords.analysis import themes
from superwords.analysis.tables import concept_table
from superwords.analysis.themes import likeness, make_tree, theme_table
from superwords.posterior.draws import ChainDraws, Draws
from superwords.posterior.result import Result
from superwords.sampler.model import Prior

PRIOR = Prior(1.0, 1.0, 1.0, np.full(30, 0.5), 1.0, 0.5, 2.0, 1.0, 1.0)


@pytest.fixture(autouse=True)
def _untouched():
    yield
    planted_model().choose([])


def two_themes(n_draws=3):
    """Six concepts, of which 0-2 and 3-5 share words and documents, the words within changing from draw to draw."""
    rng = np.random.default_rng(4)
    draws = []
    for s in range(n_draws):
        documents = []
        for d in range(30):
            first = 3 * (d % 2)
            held = {}
            for j in range(first, first + 3):
                shared, own = 10 * (first // 3), 20 + j
                words = {shared + int(k): 1 for k in rng.choice(6, 3, replace=False)}
                held[j] = {**words, own: 3}
            documents.append(held)
        draws.append(kept(documents, 30, s + 1))
    chain = ChainDraws()
    for draw in draws:
        chain.append(draw)
    counts = sparse.csr_array(np.ones((30, 30), int))
    return Result(Corpus.from_counts(counts), np.arange(30), PRIOR, Draws([chain]))


def test_concepts_that_share_words_and_documents_are_one_theme():
    tree = make_tree(two_themes())
    assert max(tree.stability, key=tree.stability.get) == 2
    assert tree.stability[2] == pytest.approx(1.0)
    sides = [set(np.array(tree.concepts)[tree.theme == t]) for t in (1, 2)]
    assert sorted(map(len, sides)) == [3, 3]
    neighbours = tree.order
    assert set(neighbours[:3]) in sides


def test_a_cut_that_leaves_most_concepts_in_one_theme_is_not_taken(monkeypatch):
    """However well the draws agree on it: one concept apart from all others is no theme."""
    result = two_themes()
    stable = {2: 0.3, 3: 0.9}
    monkeypatch.setattr(themes, "_stability", lambda *_: stable)
    lopsided = np.array([[0, 1, 0.1, 2], [6, 2, 0.2, 3], [7, 3, 0.3, 4], [4, 5, 0.9, 2], [8, 9, 1.0, 6]])
    monkeypatch.setattr(themes, "_linked", lambda alike: lopsided)
    # 3 themes: 4 + 1 + 1 concepts; 2 themes: 4 + 2. Both are lopsided, so the more stable one stands.
    assert sorted(np.bincount(make_tree(result).theme)[1:]) == [1, 1, 4]
    even = np.array([[0, 1, 0.1, 2], [6, 2, 0.9, 3], [3, 4, 0.1, 2], [8, 5, 0.2, 3], [7, 9, 1.0, 6]])
    monkeypatch.setattr(themes, "_linked", lambda alike: even)
    assert sorted(np.bincount(make_tree(result).theme)[1:]) == [1, 2, 3]
    one_apart = np.array([[0, 1, 0.1, 2], [6, 2, 0.2, 3], [3, 4, 0.3, 2], [7, 8, 0.8, 5], [9, 5, 1.0, 6]])
    monkeypatch.setattr(themes, "_linked", lambda alike: one_apart)
    stable[2], stable[3] = 0.9, 0.3  # the draws agree on 5 + 1, which tells nothing; 3 + 2 + 1 is taken
    assert sorted(np.bincount(make_tree(result).theme)[1:]) == [1, 2, 3]


def test_likeness_is_the_mean_of_two_cosines():
    rng = np.random.default_rng(0)
    words, weights = rng.random((4, 9)), rng.random((12, 4)) * (rng.random((12, 4)) < 0.5)
    found = likeness(sparse.csr_array(words), sparse.csr_array(weights))
    unit = words / np.linalg.norm(words, axis=1, keepdims=True)
    expected = 0.5 * unit @ unit.T + 0.5 * np.clip(np.corrcoef(weights.T), 0, None)
    np.testing.assert_allclose(found, expected)


def test_a_tree_of_a_fit_holds_every_concept_once_and_is_plain_json():
    model = planted_model()
    tree = model.tree()
    assert sorted(tree.order) == model.result_.shown
    assert tree.linkage.shape == (model.n_concepts_ - 1, 4)
    assert json.loads(json.dumps(tree.as_json(), allow_nan=False)) == tree.as_json()
    assert sorted(tree.table["concept"]) == model.result_.shown
    assert adjusted_rand_score(tree.theme, model.tree().theme) == 1.0


@pytest.mark.parametrize("name", ["one document, one word", "no concept", "one draw"])
def test_trees_at_the_borders(name):
    model = edge_model(name)
    tree = model.tree()
    assert sorted(tree.order) == model.result_.shown
    assert len(model.themes()) == len(set(tree.theme.tolist()))


def test_a_theme_is_never_rarer_than_its_concepts_because_other_draws_lack_them():
    """Of the three draws, the last has no concept like the second of the theme."""
    full = [{0: {0: 3, 1: 2}}, {1: {2: 3, 3: 2}}, {2: {4: 5}}, {2: {4: 5}}, {2: {4: 5}}]
    draws = [kept(full, 5, 1), kept(full, 5, 2), kept([full[0], {2: {2: 3, 3: 2}}, *full[2:]], 5, 3)]
    chain = ChainDraws()
    for draw in draws:
        chain.append(draw._replace(score=-float(draw.sweep)))
    prior = PRIOR._replace(lam=np.full(5, 0.5))
    result = Result(Corpus.from_counts(np.full((5, 5), 2)), np.arange(5), prior, Draws([chain]))
    known = concept_table(result).set_index("name")
    first, second = (known.index.get_loc(name) + 1 for name in ("word0, word1", "word2, word3"))
    result.themes.update({int(first): "both", int(second): "both"})
    table = theme_table(result).set_index("theme")
    assert result.summary.alignment.found[second - 1] == pytest.approx(2 / 3)
    assert table.loc["both", "prevalence"] == pytest.approx(2 / 5)
    # Two of five documents in every draw that counts: the interval under Jeffreys' prior.
    bounds = table.loc["both", ["prevalence_low", "prevalence_high"]].tolist()
    assert bounds == pytest.approx(beta(2.5, 3.5).ppf([0.025, 0.975]).tolist(), abs=1e-3)


def test_themes_that_people_make_count_any_of_their_concepts():
    model = planted_model()
    assert model.themes()["proposed"].all()
    model.gather("food", [1, 2]).gather("travel", 3)
    table = model.themes().set_index("theme")
    assert not table["proposed"].any()
    assert table.loc["food", "concepts"] == [1, 2]
    together = ConceptModel.concepts(model.merge([1, 2]))
    assert table.loc["food", "prevalence"] == pytest.approx(together["prevalence"][0])
    for bound in ("prevalence_low", "prevalence_high"):
        assert table.loc["food", bound] == pytest.approx(together[bound][0])
