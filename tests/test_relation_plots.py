"""Figures of groups, time, effects, predictions, the tree and the maps: what they show, and that it can be read."""

import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from models_for_tests import edge_model, passage_model, planted_model, with_parts
from superwords.analysis.themes import concept_quality, document_map
from superwords.errors import InputError
from superwords.plots import model_plots
from superwords.plots.model_plots import (
    Labels,
    concept_tree,
    effect_intervals,
    group_prevalence,
    predicted_values,
    small_multiples,
)
from superwords.plots.style import MARKERS, PALETTE, figure_bytes, group_styles

pytestmark = pytest.mark.filterwarnings("ignore:No installed font", "ignore:Glyph")
WIDTHS = (85, 170)


def with_columns(model, **columns):
    metadata = model.corpus_.metadata.assign(**columns)
    return with_parts(model, corpus=replace(model.corpus_, metadata=metadata))


def many_groups():
    """Twelve groups of unequal size, and names that take several lines."""
    group = [f"committee of {'a very long name ' * 2}{k % 12 if k < 24 else k % 3}" for k in range(40)]
    model = with_columns(planted_model(), group=group, date=[f"201{k % 7}-0{k % 9 + 1}-10" for k in range(40)])
    return with_parts(model, names={1: "a name that is much longer than what a row of a figure has room for, by far"})


def check_readable(figure, width):
    """Nothing is cut off by the figure's edge, no legend lies over a panel, and no page is too short for it."""
    assert figure.get_figwidth() * 25.4 == pytest.approx(width)
    assert figure.get_figheight() * 25.4 <= 240
    figure.canvas.draw()
    page = figure.bbox
    texts = [*figure.texts, *(t for one in figure.legends for t in one.get_texts())]
    for axes in figure.axes:
        if axes.get_visible():
            texts += [axes.title, axes._left_title]
            for axis, (low, high) in ((axes.xaxis, sorted(axes.get_xlim())), (axes.yaxis, sorted(axes.get_ylim()))):
                drawn = [one.label1 for one in axis.get_major_ticks() if low <= one.get_loc() <= high]
                texts += [label for label in drawn if label.get_visible()]
    for text in texts:
        if text.get_text().strip():
            box = text.get_window_extent()
            assert box.x0 >= page.x0 - 2, text.get_text()
            assert box.x1 <= page.x1 + 2, text.get_text()
            assert box.y0 >= page.y0 - 2, text.get_text()
            assert box.y1 <= page.y1 + 2, text.get_text()
            assert text.get_fontsize() >= 6
    panels = [axes.get_window_extent() for axes in figure.axes if axes.get_visible()]
    for one in figure.legends:
        assert not any(one.get_window_extent().overlaps(panel) for panel in panels)
    for one, other in combinations(panels, 2):
        assert not one.overlaps(other)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", ["groups", "time", "effects", "predicted", "curves", "tree", "documents", "quality"])
def test_every_figure_can_be_read_at_the_widths_of_a_journal(name, width):
    model = many_groups()
    draw = {
        "groups": lambda: group_prevalence(model, "group", width=width),
        "time": lambda: small_multiples(model, "date", width=width),
        "effects": lambda: effect_intervals(model, model.effects("group + date", min_group=3), width=width),
        "predicted": lambda: predicted_values(model, model.predicted("party + date", "party"), width=width),
        "curves": lambda: predicted_values(model, model.predicted("party*date", ["date", "party"]), width=width),
        "tree": lambda: concept_tree(model, width=width),
        "documents": lambda: model_plots.document_map(model, width=width),
        "quality": lambda: model_plots.quality_map(model, width=width),
    }
    assert figure_bytes(draw[name](), "pdf") == figure_bytes(draw[name](), "pdf")
    check_readable(draw[name](), width)


def test_groups_differ_in_colour_and_marker_and_the_small_ones_are_pooled():
    styles = group_styles([*"abcdefg", "other"])
    assert len({color for color, _, _ in styles.values()}) == len(PALETTE) == 8
    assert len({marker for _, marker, _ in styles.values()}) == len(MARKERS) == 8
    labels = [text.get_text() for text in group_prevalence(many_groups(), "group").legends[0].get_texts()]
    assert len(labels) == 8
    assert labels[-1].startswith("other")


def test_unreliable_concepts_come_last_and_are_marked():
    model = planted_model()
    label = Labels(model)
    label.doubtful = {1}
    scores = model.effects("party").set_index("concept")["effect"].abs()
    assert label.first(scores, 99)[-1] == 1
    assert label(1).endswith("†")
    assert not label(2).endswith("†")
    assert label.marked([1, 2])
    assert not label.marked([2])


def test_small_multiples_draw_a_panel_per_concept_on_one_scale():
    model = planted_model()
    figure = small_multiples(model, "year")
    drawn = [axes for axes in figure.axes if axes.get_visible()]
    assert len(drawn) == len(model.result_.shown)
    assert len({axes.get_ylim() for axes in drawn}) == 1
    assert len(small_multiples(model, "year", concepts=[2]).axes) == 1
    with pytest.raises(InputError, match="There is no concept 99"):
        small_multiples(model, "year", concepts=[99])


def test_a_figure_of_passages_says_so():
    assert "document's passages" in small_multiples(passage_model(), "weight").get_supylabel()


def test_effects_are_drawn_adjusted_and_alone_on_one_scale():
    model = planted_model()
    table = model.effects("party + weight")
    figure = effect_intervals(model, table)
    assert [axes.get_title(loc="left").replace("\n", " ") for axes in figure.axes] == [
        "party B compared with A",
        "weight",
    ]
    assert len({axes.get_xlim() for axes in figure.axes}) == 1
    figure = effect_intervals(many_groups(), many_groups().effects("group + weight", min_group=1))
    drawn = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.xaxis.get_tick_params()["labelbottom"] for axes in drawn[-3:]] == [True] * 3
    figure = effect_intervals(model, table)
    adjusted, alone = figure.axes[0].lines[:2]
    own = table[table["term"] == "party[T.B]"]
    assert sorted(adjusted.get_xdata()) == pytest.approx(sorted(100 * own["effect"]))
    assert sorted(alone.get_xdata()) == pytest.approx(sorted(100 * own["unadjusted"]))
    with pytest.raises(InputError, match="draw predicted values"):
        effect_intervals(model, model.effects("poly(weight, 2)"))


def test_a_tree_is_drawn_with_every_concept():
    model = planted_model()
    figure = concept_tree(model)
    assert len(figure.axes[0].get_yticklabels()) == len(model.result_.shown)
    with pytest.raises(InputError, match="fewer than two concepts"):
        concept_tree(edge_model("no concept"))


def test_the_map_of_documents_is_plain_json_and_the_same_each_time():
    model = planted_model()
    data = document_map(model.result_)
    assert json.loads(json.dumps(data, allow_nan=False)) == data
    assert data == document_map(model.result_)
    assert len(data["points"]) == 40
    assert {one["concept"] for one in data["points"]} - {0} == {one["concept"] for one in data["regions"]}
    assert len(document_map(passage_model().result_)["points"]) == 10
    places = np.array([[one["x"], one["y"]] for one in data["points"]])
    main = np.array([one["concept"] for one in data["points"]])
    near = np.array([np.linalg.norm(places - one, axis=1).argsort()[1] for one in places])
    assert (main[near] == main).mean() > 0.6  # neighbours share their main concept
    with pytest.raises(InputError, match="no map to draw"):
        model_plots.document_map(edge_model("no concept"))


def test_quality_is_of_the_words_shown():
    model = planted_model()
    table = concept_quality(model.result_)
    assert table["concept"].tolist() == model.result_.shown
    known = model.concepts().set_index("concept").loc[table["concept"]]
    np.testing.assert_allclose(table["coherence"], known["coherence"])
    assert table["exclusivity"].between(0, 1).all()


def test_every_point_of_the_quality_map_has_a_name_or_a_number(monkeypatch):
    model = planted_model()
    shown = {str(j) for j in model.result_.shown}
    for fits in (model_plots._settled, lambda *_: False):  # with space beside the points, and without
        monkeypatch.setattr(model_plots, "_settled", fits)
        texts = [text.get_text() for text in model_plots.quality_map(model).axes[0].texts]
        assert {text.partition(".")[0] for text in texts} == shown
    assert "share of passages" in model_plots.quality_map(passage_model()).get_supxlabel()
