"""The report's parts on time, effects, themes, what to read first, and concepts of other chains."""

from dataclasses import replace

import numpy as np
import pytest

from models_for_tests import edge_model, passage_model, planted_model, with_parts
from superwords.errors import InputError
from superwords.posterior.alignment import OtherConcepts
from superwords.web.catalog import Catalog
from superwords.web.concepts import others
from superwords.web.html import figure
from superwords.web.report import Report, report_page

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


def test_what_to_read_first_is_what_diverse_chooses():
    model = planted_model()
    part = Report(model).reading()
    chosen = model.diverse(10)
    assert part in report_page(model)
    assert part.count('<th scope="row">') == 10
    assert [part.index(f'<th scope="row">{one}<br>') for one in chosen["document"]] == sorted(
        part.index(f'<th scope="row">{one}<br>') for one in chosen["document"]
    )
    assert f"{figure('share', chosen['covered'].iloc[-1])}</td></tr></tbody>" in part
    assert Report(passage_model()).reading() == ""  # ten documents in all
    assert Report(edge_model("no concept")).reading() == ""


def test_concepts_of_other_chains_are_listed_where_the_verdict_counts_them():
    model = planted_model()
    assert ('id="others"' in report_page(model)) == (len(model.other_concepts()) > 0)
    found = OtherConcepts(np.array([9]), np.array([[False, True, True]]), np.array([0, 2]), np.array([5, 6]))
    told = with_parts(
        model, summary=model.result_.summary._replace(consensus=model.result_.consensus._replace(others=found))
    )
    words = ", ".join(model.corpus_.vocabulary[i] for i in (5, 6))
    assert f'<th scope="row">{words}</th><td>2 of 3</td>' in report_page(told)
    page = others(Catalog(told)).page({})
    assert page["rows"] == [{"words": words, "chains": "2 of 3"}]
