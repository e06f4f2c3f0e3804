"""Pictures of concepts over time, of effects and of the tree."""

import numpy as np
import pytest

from models_for_tests import edge_model, planted_model
from superwords.errors import InputError
from superwords.plots.figures import figure_bytes
from superwords.plots.relation_plots import concept_tree, effect_intervals, small_multiples

pytestmark = pytest.mark.filterwarnings("ignore:No installed font", "ignore:Glyph")


def test_small_multiples_draw_a_panel_per_concept():
    model = planted_model()
    figure = small_multiples(model, "year")
    drawn = [axes for axes in figure.axes if axes.get_visible()]
    assert len(drawn) == len(model.result_.shown)
    own = model.over_time("year")
    first = model.trends("year")["concept"][0]
    np.testing.assert_allclose(drawn[0].lines[0].get_ydata(), own.loc[own["concept"] == first, "prevalence"])
    assert len([axes for axes in small_multiples(model, "year", concepts=[2]).axes]) == 1
    assert figure_bytes(figure) == figure_bytes(small_multiples(model, "year"))
    with pytest.raises(InputError, match="There is no concept 99"):
        small_multiples(model, "year", concepts=[99])


def test_effects_are_drawn_adjusted_and_alone():
    model = planted_model()
    table = model.effects("party + weight")
    figure = effect_intervals(model, table)
    assert [axes.get_title() for axes in figure.axes] == ["party[T.B]", "weight"]
    adjusted, alone = figure.axes[0].lines[:2]
    own = table[table["term"] == "party[T.B]"]
    assert sorted(adjusted.get_xdata()) == pytest.approx(sorted(100 * own["effect"]))
    assert sorted(alone.get_xdata()) == pytest.approx(sorted(100 * own["unadjusted"]))


def test_a_tree_is_drawn_with_every_concept():
    model = planted_model()
    figure = concept_tree(model)
    assert len(figure.axes[0].get_yticklabels()) == len(model.result_.shown)
    with pytest.raises(InputError, match="fewer than two concepts"):
        concept_tree(edge_model("no concept"))
