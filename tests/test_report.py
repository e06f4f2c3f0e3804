"""The report: one file that needs nothing else, in which the corpus's text is text."""

from __future__ import annotations

import copy
import re
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from models_for_tests import (
    EDGES,
    ODD_WORDS,
    PLANTED,
    edge_model,
    fit,
    passage_model,
    planted_corpus,
    planted_model,
    with_parts,
)
from superwords import Corpus
from superwords.errors import InputError
from superwords.web.catalog import Catalog
from superwords.web.report import CLOUD_WORDS, report_page, write_report

pytestmark = pytest.mark.filterwarnings("ignore:No installed font covers")


class Elements(HTMLParser):
    """What a browser would make of the page: elements with attributes, and text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attributes) -> None:
        self.found.append((tag, dict(attributes)))

    def handle_data(self, data) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def page() -> str:
    return report_page(planted_model(), "party", "Reading <party> & more")


def test_words_and_titles_are_text(page) -> None:
    elements = Elements(page)
    assert [tag for tag, _ in elements.found].count("script") == 1
    assert ODD_WORDS[0] in elements.texts
    assert "Reading <party> & more" in elements.texts
    assert "<script>alert" not in page
    assert not any(name.startswith("on") for _, attributes in elements.found for name in attributes)


def test_nothing_is_fetched_from_anywhere(page) -> None:
    addresses = [
        value
        for _, attributes in Elements(page).found
        for name, value in attributes.items()
        if name in ("src", "href") and value is not None
    ]
    assert addresses
    assert all(one.startswith(("#", "data:image/png;base64,")) for one in addresses)
    assert "url(" not in page
    assert "@import" not in page


def test_every_concept_has_its_cloud_words_groups_and_passages(page) -> None:
    model = planted_model()
    sections = re.findall(r'<section class="concept" id="concept-(\d+)".*?</section>', page, re.DOTALL)
    assert sections == [str(j) for j in range(1, model.n_concepts_ + 1)]
    first = page[page.index('id="concept-1"') :].partition("</section>")[0]
    assert first.count("<svg") == 1
    assert first.count("<blockquote>") == 3
    for word in model.top_words(1, 5):
        assert word in "".join(Elements(first).texts)
    for group in ("A", "B"):
        assert f'<th scope="row">{group}</th>' in first


def test_a_cloud_shows_the_telling_words_and_none_that_is_not_used(page) -> None:
    words = planted_model().words_of(1)
    first = page[page.index('id="concept-1"') :].partition("</svg>")[0]
    shown = [text for text in Elements(first[first.index("<svg") :]).texts if text.strip()]
    used = words[words["share_used"] > 0].head(CLOUD_WORDS)["word"]
    assert shown == [" ".join(word.split()) for word in used]


def test_facts_settings_and_convergence_are_said(page) -> None:
    text = " ".join(Elements(page).texts)
    assert str(planted_model().verdict()) in text
    assert str(planted_model().seed_) in text
    assert "Sweeps per stored draw 2" in text


def settings_of(model) -> dict[str, str]:
    texts = [text for text in Elements(report_page(model)).texts if text.strip()]
    start = texts.index("Settings") + 1
    return dict(zip(texts[start::2], texts[start + 1 :: 2]))


def test_settings_are_the_values_really_used() -> None:
    model = fit(planted_corpus(), features=PLANTED.features, b1=1.0, b2=1.0)
    told, prior = settings_of(model), model.chains_[0].model.prior
    assert told["Unit of analysis"] == "document"
    assert told["Word features"].startswith(f"{model.chains_[0].model.data.Y.shape[1]} features of")
    assert told["Concentration of concepts in documents (b₁)"] == "1"
    assert told["Prior share of words in a concept (λ)"] == f"{prior.lam[0]:.3g} (chosen by the program)"
    assert told["Importance of words (θ)"] == "uniform"
    assert told["Precision of concepts' features (K)"] == "0.5 (chosen by the program)"
    assert told["Seed"] == "3"
    lam = np.linspace(0.1, 0.4, 4)
    settings = {"b1": "auto", "b2": "sample", "lam": lam, "theta": "root", "K": 2.0}
    counts = [[3, 0, 1, 2], [0, 2, 2, 0], [1, 1, 0, 4]]
    told = settings_of(fit(Corpus.from_counts(counts), n_chains=1, n_sweeps=4, n_burn_in=1, **settings))
    assert told["Concentration of concepts in documents (b₁)"] == "0.9 (chosen by the program)"
    assert told["Concentration of words in concepts (b₂)"] == "sampled"
    assert told["Prior share of words in a concept (λ)"] == "0.1 to 0.4"
    assert told["Importance of words (θ)"] == "root"
    assert told["Precision of concepts' features (K)"] == "2"
    assert told["Word features"] == "none"


def test_overall_shares_stand_beside_their_intervals(page) -> None:
    page = page.replace('<span class="interval">', "").replace("</span>", "")
    shares = re.findall(r">([\d.]+)% \(([\d.]+)% to ([\d.]+)%\)<", page)
    assert len(shares) > 4 * planted_model().n_concepts_
    assert all(float(low) <= float(high) for _, low, high in shares)
    for concept, row in enumerate(planted_model().concepts().itertuples(), 1):
        line = page[page.index(f'<a href="#concept-{concept}">') :].partition("</tr>")[0]
        assert f">{100 * row.prevalence:.0f}% (" in line
        assert f">{100 * row.strength:.0f}% (" in line


def test_it_is_written_whole_or_not_at_all(tmp_path) -> None:
    out = write_report(planted_model(), tmp_path / "report.html")
    assert out.read_text(encoding="utf-8").endswith("</html>\n")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    with pytest.raises(InputError, match="cannot be written"):
        write_report(planted_model(), tmp_path / "no" / "report.html")


def test_a_column_without_groups_is_refused() -> None:
    with pytest.raises(InputError, match="'party'"):
        report_page(planted_model(), "name")


@pytest.mark.parametrize("name", EDGES)
def test_models_at_the_borders_can_be_reported(name) -> None:
    model = edge_model(name)
    assert report_page(model).count('<section class="concept"') == model.n_concepts_


def test_passages_are_called_so_and_their_documents_counted() -> None:
    page = report_page(passage_model(), "party")
    first = passage_model().concepts().iloc[0]
    assert "<dt>Passages</dt><dd>40</dd>" in page
    assert "<dt>Documents</dt><dd>10</dd>" in page
    assert "Prevalence is the share of all passages" in page
    assert '<th scope="col">Documents</th>' in page
    assert "Passages that use it" in page
    assert f"Used by {first['rows']:.0f} of 40 passages, in {first['documents']:.0f} of 10 documents;" in page


@pytest.mark.parametrize("leftovers", [[2], []])
def test_leftovers_are_marked_and_explained(leftovers) -> None:
    model = copy.copy(planted_model())
    table = planted_model().concepts()
    model.concepts = lambda: table.assign(leftover=table["concept"].isin(leftovers))
    page = report_page(model, "party")
    marked = re.findall(r'<a href="#concept-(\d+)">[^<]*</a> \* <span', page)
    assert marked == [str(j) for j in leftovers]
    legend = "* Do not rely on it: a handful of documents, a single word"
    assert page.count(legend) == len(leftovers)
    second = page[page.index('id="concept-2"') :].partition("</section>")[0]
    assert ("Do not rely on it" in second) == bool(leftovers)
    assert Catalog(model).marks[2]["text"] in second


def test_it_opens_with_concepts_and_groups_and_ends_with_the_sampling() -> None:
    heads = re.findall(r"<h[23][^>]*>([^<]*)<", report_page(planted_model(), ["party", "year"]))
    assert heads[:3] == ["Concepts", "Who speaks of what: party", "Who speaks of what: year"]
    heads = [one for one in heads if one != "Concepts of other chains"]
    assert heads[-3:] == ["How it was sampled", "Do the chains agree?", "Settings"]


def test_missing_groups_are_left_out_and_counted() -> None:
    model = planted_model()
    metadata = model.corpus_.metadata.copy()
    metadata["party"] = metadata["party"].astype(object).where(np.arange(len(metadata)) % 4 > 0, None)
    page = report_page(with_parts(model, corpus=replace(model.corpus_, metadata=metadata)), "party")
    n_missing = int(metadata["party"].isna().sum())
    assert f"{n_missing} documents without a party are left out." in page
    assert ">None<" not in page
    assert ">nan<" not in page


@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 800, 1300])
def test_no_column_is_cut_off(browser, page, tmp_path: Path, width) -> None:
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    context = browser.new_context(viewport={"width": width, "height": 900})
    shown = context.new_page()
    shown.goto(file.as_uri())
    assert shown.evaluate("document.documentElement.scrollWidth") <= width
    context.close()


@pytest.mark.browser
def test_the_table_sorts_and_filters_by_keyboard(browser, page, tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    file.write_text(page, encoding="utf-8")
    context = browser.new_context(viewport={"width": 1100, "height": 900})
    shown = context.new_page()
    troubles: list[str] = []
    shown.on("console", lambda message: message.type == "error" and troubles.append(message.text))
    shown.on("pageerror", lambda error: troubles.append(str(error)))
    shown.goto(file.as_uri())
    n_concepts = planted_model().n_concepts_
    assert shown.get_by_role("status").inner_text() == f"{n_concepts} of {n_concepts} concepts"
    button = shown.get_by_role("button", name="Strength")
    button.focus()
    shown.keyboard.press("Enter")
    head = shown.locator("#concept-table thead th", has_text="Strength")
    assert head.get_attribute("aria-sort") == "descending"
    cells = "cells => cells.map(cell => Number(cell.dataset.value))"
    values = shown.locator("#concept-table tbody td:nth-of-type(2)").evaluate_all(cells)
    assert values == sorted(values, reverse=True)
    shown.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "ascending"
    shown.get_by_label("Filter concepts").fill("no such word at all")
    assert shown.get_by_role("status").inner_text() == f"0 of {n_concepts} concepts"
    assert troubles == []
    context.close()


def test_it_carries_its_corpus_its_date_and_a_table_under_every_figure() -> None:
    page = report_page(planted_model(), "party", "A title", effects="party", corpus="speeches of a town")
    assert "<h1>A title</h1>" in page
    assert "speeches of a town" in page
    assert f"Made on {date.today():%d %B %Y}" in page
    for figure in re.finditer('<img class="chart"', page):
        before, after = page[: figure.start()], page[figure.start() :]
        has_table_below = after.partition("<h")[0].count("<table>")
        has_table_above = before.rpartition("<h")[2].count("<table>")
        assert has_table_below or has_table_above
    assert page.count("The numbers of this figure") >= 2


def test_names_of_any_script_take_their_own_direction(page) -> None:
    assert "unicode-bidi: plaintext" in page
