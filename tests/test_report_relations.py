"""The report's parts on time, effects and themes."""

from dataclasses import replace

import pytest

from models_for_tests import edge_model, planted_model, with_parts
from superwords.errors import InputError
from superwords.web.report import report_page

pytestmark = pytest.mark.filterwarnings("ignore:No installed font", "ignore:Glyph")


def test_time_themes_and_effects_have_their_places():
    model = planted_model()
    page = report_page(model, effects="party + weight")
    assert '<h2 id="time">Over time: year</h2>' in page
    assert '<h2 id="themes">Themes</h2>' in page
    assert "Effects: party + weight" in page
    assert "proposed, by a tree" in page
    assert "Effects:" not in report_page(model)
    with pytest.raises(InputError, match="There is no column 'seniority'"):
        report_page(model, effects="seniority")
    with pytest.raises(InputError, match="There is no column 'when'"):
        report_page(model, over_time="when")


def test_a_corpus_without_time_has_no_part_on_it():
    model = planted_model()
    metadata = model.corpus_.metadata.drop(columns="year")
    assert 'id="time"' not in report_page(with_parts(model, corpus=replace(model.corpus_, metadata=metadata)))
    assert 'id="themes"' not in report_page(edge_model("no concept"))
