"""Pictures of a fitted model, from Python and from the command line."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from arviz_stats.base import array_stats

from cli_for_tests import run
from models_for_tests import EDGES, PLANTED, edge_model, fit, passage_model, planted_corpus, planted_model
from superwords.errors import InputError
from superwords.fitting.settings import make_theta
from superwords.plots import figure_bytes
from superwords.plots import model_plots as draw
from superwords.plots.model_plots import group_prevalence
from superwords.sampler.init.starts import initial_state

pytestmark = pytest.mark.filterwarnings("ignore:No installed font covers")


def words_in(figure) -> dict[str, float]:
    """The words drawn in each panel's cloud, with their sizes; those a group lacks are left out."""
    return {t.get_text(): t.get_fontsize() for t in figure.axes[-1].texts if t.get_gid() != "absent"}


@pytest.mark.parametrize("concept", [1, 2])
def test_a_cloud_shows_the_words_of_the_table_each_as_large_as_its_score(concept) -> None:
    scores = draw.concept_weights(planted_model(), concept)
    table = planted_model().words_of(concept)
    used = table[table["share_used"] > 0].head(draw.MOST_WORDS)
    assert list(scores.items()) == list(zip(used["word"], used["score"]))
    sizes = words_in(draw.concept_cloud(planted_model(), concept))
    heaviest = next(word for word in scores if word in sizes)  # not all have glyphs in the fonts at hand
    for word, score in scores.items():
        if word in sizes and score > 0.1 * scores[heaviest]:
            assert sizes[word] / sizes[heaviest] == pytest.approx(np.sqrt(score / scores[heaviest]), rel=1e-6)


def test_two_groups_share_one_layout_and_differ_in_size() -> None:
    model = planted_model()
    figure = draw.group_clouds(model, "party", 1, "B", "A")
    left, right = figure.axes
    assert "B" in left.get_title()
    assert "A" in right.get_title()
    assert [t.get_text() for t in left.texts] == [t.get_text() for t in right.texts]
    table = model.group_words("party", 1)
    own = table[table["group"] == "A"].set_index("word")["share"]
    assert set(words_in(figure)) <= {" ".join(word.split()) for word in own.index} | {"□", "□□"}


def test_the_largest_groups_are_compared_if_none_are_named() -> None:
    sizes = planted_corpus().metadata["year"].value_counts()
    assert draw.largest_groups(planted_model(), "year") == tuple(sizes.index[:2])
    with pytest.raises(InputError, match="no column 'state'"):
        draw.largest_groups(planted_model(), "state")
    with pytest.raises(InputError, match="no group 'C'"):
        draw.group_clouds(planted_model(), "party", 1, "A", "C")


def test_the_start_is_that_of_the_chain_and_not_of_the_draw() -> None:
    model = fit(planted_corpus(), features=PLANTED.features, init="kmeans:4", n_chains=1)
    shares = draw.start_scores(model).toarray()
    assert shares.shape == (4, 40)
    # k-means puts each word in one cluster, so that a word's score there is the share of documents that use it;
    # a document that holds a cluster by one of its words need not use all.
    assert ((shares > 0).sum(axis=0) == 1).all()
    holding = PLANTED.counts.toarray() > 0
    for row in shares:
        words = np.flatnonzero(row)
        holders = holding[:, words].any(axis=1).sum()
        assert row[words] == pytest.approx(holding[:, words].sum(axis=0) / holders)
    titles = [axes.get_title() for axes in draw.before_after(model, 1).axes]
    assert "k-means start" in titles[0]
    assert "most probable draw" in titles[1]


def test_start_and_end_are_drawn_each_beside_its_own_heaviest_word() -> None:
    before, after = draw.before_after(planted_model(), 1).axes
    largest = [max(text.get_fontsize() for text in axes.texts) for axes in (before, after)]
    assert largest[0] == pytest.approx(largest[1])


def test_a_word_that_a_start_has_in_several_concepts_tells_less() -> None:
    model = fit(planted_corpus(), features=PLANTED.features, init="prior", n_chains=1, b1=1.0, b2=1.0)
    scores = draw.start_scores(model).toarray()
    data, prior = model.chains_[0].model.data, model.chains_[0].model.prior
    counts = model.corpus_.counts[model.order_]
    state = initial_state("prior", data, prior, make_theta(None, counts), model.seed_, 0)
    users, holders = np.zeros(scores.shape), np.zeros(len(scores))
    for d in range(40):
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            words = state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]
            holders[state.concept[p]] += 1
            users[state.concept[p], words] += counts[[d]].toarray().ravel()[words] > 0
    assert ((users > 0).sum(axis=0) > 1).any()
    expected = users / holders[:, None] * users / np.maximum(users.sum(axis=0), 1)
    np.testing.assert_allclose(scores, expected)


def test_histograms_count_concepts_and_words() -> None:
    on = planted_model().concept_word_ > 0
    for figure, expected in (
        (draw.concepts_per_word(planted_model()), on.sum(axis=0)),
        (draw.words_per_concept(planted_model()), on.sum(axis=1)),
    ):
        heights = [bar.get_height() for bar in figure.axes[0].patches]
        assert sum(heights) == len(expected)


def test_prevalence_lies_inside_its_interval_and_traces_name_r_hat() -> None:
    figure = group_prevalence(planted_model(), "party")
    assert len(figure.axes[0].get_yticklabels()) == planted_model().n_concepts_
    assert "the group's documents" in figure.get_supxlabel()
    assert "the group's passages" in group_prevalence(passage_model(), "party").get_supxlabel()
    titles = [axes.get_title(loc="left") for axes in draw.chain_traces(planted_model()).axes]
    assert len(titles) == 4
    # A number that stands still in each chain, but not at the same place, has none.
    rhats = [
        float(array_stats.rhat(values.astype(float), chain_axis=0, draw_axis=1))
        for values in planted_model().result_.trace_values.values()
    ]
    has_one = np.isfinite(rhats).tolist()
    assert sum(has_one) >= 3
    assert ["R-hat" in title for title in titles] == has_one
    assert all(f"(R-hat {rhat:.3f})" in title for rhat, title in zip(rhats, titles) if np.isfinite(rhat))
    assert rhats[0] == pytest.approx(planted_model().convergence().set_index("quantity").loc["log_joint", "rhat"])


@pytest.mark.parametrize("name", EDGES)
def test_models_at_the_borders_can_be_drawn(name) -> None:
    model = edge_model(name)
    figures = [draw.chain_traces(model)]
    if model.n_concepts_:
        figures += [draw.concept_cloud(model, 1), draw.before_after(model, 1), draw.concepts_per_word(model)]
    for figure in figures:
        assert figure_bytes(figure, "svg").startswith(b"<?xml")


def test_clouds_from_the_command_line(capsys, tmp_path) -> None:
    path = planted_model().save(tmp_path / "model.sw")
    folder = tmp_path / "new" / "folder"
    done = run(capsys, "clouds", path, "-o", folder, "--concept", 1, "--groups", "party", "--format", "svg,pdf")
    assert done.code == 0, done.err
    names = sorted(file.name for file in folder.iterdir())
    drawn = ("concept-001", "groups-party-001", "start-001")
    assert names == [f"{name}.{suffix}" for name in drawn for suffix in ("pdf", "svg")]
    assert (folder / "concept-001.pdf").read_bytes().startswith(b"%PDF")
    wrong = run(capsys, "clouds", path, "-o", tmp_path / "x", "--concept", 99)
    assert wrong.code == 1
    assert "There is no concept 99" in wrong.err
    assert "Traceback" not in wrong.err


def test_all_pictures_have_a_name_of_their_own() -> None:
    from superwords.cli.pages import pictures
    from superwords.files import file_part

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        names = [name for name, _ in pictures(planted_model(), None, ["party"])]
    assert len(names) == len(set(names)) == 6 + 3 * planted_model().n_concepts_
    assert file_part("../a b/ç") == "a-b-ç"
    assert file_part("///") == "column"


def test_traces_speak_of_passages_where_rows_are() -> None:
    titles = [axes.get_title(loc="left") for axes in draw.chain_traces(passage_model()).axes]
    assert any(title.startswith("how many concepts passages hold") for title in titles)
