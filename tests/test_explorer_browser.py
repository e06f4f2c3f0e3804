"""The explorer in a real browser: every view by clicking and by keyboard, and markup that stays text."""

from __future__ import annotations

import copy
import csv
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from explorer_for_tests import served
from models_for_tests import ODD_WORDS, passage_model, planted_model
from superwords import load
from superwords.analysis.curation import add_choices
from superwords.storage.model_file import Choice
from superwords.web.explorer import Explorer
from superwords.web.html import figure

pytestmark = pytest.mark.browser
VIEWS = {
    "Concepts": "Concepts",
    "Themes": "Themes",
    "Map": "Map of concepts",
    "Search": "Search",
    "Documents": "Documents",
    "Words": "Words",
    "Groups": "Groups",
    "Time": "Over time",
    "Effects": "Effects",
    "Chains": "Chains",
}
MARKUP = '"><img src=x onerror=alert(1)>'
READY = "main:not([aria-busy]) h1"


@pytest.fixture
def path(tmp_path) -> Path:
    path = planted_model().save(tmp_path / "model.sw")
    add_choices(path, [Choice("name", 2, MARKUP)])
    return path


@pytest.fixture
def open_page(browser, path) -> Iterator:
    """Opens the explorer; fails when the page met an error, ran markup, or left this machine."""
    with served(Explorer(load(path), path)) as address:
        troubles: list[str] = []
        context = browser.new_context(viewport={"width": 1200, "height": 900}, accept_downloads=True)

        def open_one(route: str = ""):
            page = context.new_page()
            page.on("console", lambda message: message.type == "error" and troubles.append(message.text))
            page.on("pageerror", lambda error: troubles.append(str(error)))
            page.on("dialog", lambda dialog: troubles.append(f"dialog: {dialog.message}"))
            page.on("request", lambda one: one.url.startswith(address) or troubles.append(one.url))
            page.goto(address + route)
            page.wait_for_selector(READY)
            return page

        yield open_one
        context.close()
        # The browser itself reports the 400 that refuses what is not there, and the 409 that refuses to overwrite.
        assert [one for one in troubles if "400" not in one and "409 (Conflict)" not in one] == []


def picture(page, name: str) -> None:
    """Keeps a screenshot where SUPERWORDS_SCREENSHOTS says, for a person to look at."""
    folder = os.environ.get("SUPERWORDS_SCREENSHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"explorer-{name}.png"), full_page=True)


def heading(page, text: str):
    found = page.get_by_role("heading", level=1, name=text)
    found.wait_for()
    return found


def test_every_view_is_reached_by_clicking(open_page) -> None:
    page = open_page()
    views = page.get_by_role("navigation", name="Views")
    for link, title in VIEWS.items():
        views.get_by_role("link", name=link, exact=True).click()
        heading(page, title)
        page.wait_for_selector(READY)
        assert views.locator("[aria-current=page]").inner_text() == link
        assert page.title() == f"{title} – superwords"
        picture(page, link.lower())
    views.get_by_role("link", name="Concepts", exact=True).click()
    heading(page, VIEWS["Concepts"])  # the view before has a table too
    page.wait_for_selector(READY)
    page.locator("tbody th a", has_text="1. ").click()
    heading(page, "1.")
    page.get_by_role("img", name="Word cloud of concept 1").wait_for()
    picture(page, "concept")
    page.get_by_role("region", name="Words").get_by_role("link").first.click()
    heading(page, "“")
    picture(page, "word")
    page.get_by_role("link", name="1. ").first.click()
    page.get_by_role("region", name="Documents").get_by_role("link").first.click()
    heading(page, "speaker ")
    assert page.locator(".reading mark").count() > 5
    picture(page, "document")


def test_every_view_is_reached_by_keyboard_alone(open_page) -> None:
    page = open_page()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for step, title in enumerate(VIEWS.values()):
        page.evaluate("document.activeElement.blur()")
        page.evaluate("document.querySelector('.skip').focus()")
        for _ in range(step + 1):
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        heading(page, title)
        page.wait_for_selector(READY)
        if step > 0:
            assert page.evaluate("document.activeElement.tagName") == "H1"
    # On the map: one stop, then arrows, then Enter.
    page.goto(page.url.partition("#")[0] + "#/map")
    heading(page, VIEWS["Map"])
    page.wait_for_selector(READY)
    for _ in range(40):
        if page.evaluate("document.activeElement.closest('.map') !== null"):
            break
        page.keyboard.press("Tab")
    before = page.evaluate("document.activeElement.getAttribute('aria-label')")
    for key in ("ArrowRight", "ArrowLeft", "ArrowUp", "ArrowDown"):
        page.keyboard.press(key)
    assert "used by" in page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert "used by" in before
    chosen = page.evaluate("document.activeElement.getAttribute('href')").rsplit("/", 1)[1]
    page.keyboard.press("Enter")
    heading(page, f"{chosen}.")
    assert page.evaluate("document.activeElement.tagName") == "H1"


def test_words_that_belong_with_several_are_shown(open_page, path) -> None:
    page = open_page("#/words")
    page.get_by_label("Words that belong with").fill("word20, word21")
    page.get_by_role("button", name="Show", exact=True).click()
    heading(page, "“word20”, “word21”")
    page.wait_for_selector(READY)
    first = page.locator("tbody tr").first
    assert first.locator("th").inner_text() == load(path).similar_words(["word20", "word21"])["word"].iloc[0]
    picture(page, "words-beside")


def test_markup_in_words_and_names_stays_text(open_page) -> None:
    page = open_page("#/concepts")
    assert page.get_by_role("link", name=f"2. {MARKUP}").count() == 1
    page.goto(page.url.partition("#")[0] + "#/words")
    page.get_by_label("Search words").fill("script")
    page.get_by_role("link", name=ODD_WORDS[0]).click()
    assert heading(page, ODD_WORDS[0]).inner_text() == f"“{ODD_WORDS[0]}”"
    for route in ("#/map", "#/groups?concept=2", "#/chains", "#/concepts/2", "#/documents/1"):
        page.goto(page.url.partition("#")[0] + route)
        page.wait_for_selector(READY)
    page.wait_for_timeout(300)
    assert page.locator("main script, main img:not(.chart)").count() == 0


def test_documents_and_different_words_are_counted(open_page) -> None:
    said = open_page("#/concepts").locator("main p").first.inner_text()
    assert "concepts in 40 documents, 40 different words." in said
    facts = open_page("#/concepts/1").locator("dl.facts").inner_text()
    assert figure("number", planted_model().concepts()["rows"][0]) in facts.split()  # as in the report


def test_sorting_is_told_and_kept_in_the_address(open_page) -> None:
    page = open_page("#/concepts")
    head = page.locator("thead th", has_text="Strength")
    head.get_by_role("button").focus()
    page.keyboard.press("Enter")
    page.locator("th[aria-sort] button[data-key=strength]").wait_for()
    assert head.get_attribute("aria-sort") == "descending"
    assert page.evaluate("document.activeElement.dataset.key") == "strength"
    first = page.locator("tbody th").first.inner_text()
    assert "sort=strength" in page.url
    again = open_page("#" + page.url.partition("#")[2])
    assert again.locator("tbody th").first.inner_text() == first
    strengths = planted_model().concepts()["strength"]
    assert first.startswith(f"{strengths.argmax() + 1}. ")


def test_search_narrows_the_list_and_csv_holds_what_is_on_screen(open_page, tmp_path) -> None:
    page = open_page("#/words")
    page.get_by_label("Search words").fill("größe")
    page.locator(".status", has_text="1–25 of 40").wait_for(state="detached")
    shown = page.locator("tbody th").all_inner_texts()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Save as CSV").click()
    waiting.value.save_as(tmp_path / "words.csv")
    with open(tmp_path / "words.csv", encoding="utf-8-sig", newline="") as file:
        words = [row["word"].removeprefix("'") for row in csv.DictReader(file)]  # a formula is quoted
    assert words == shown


def test_a_concept_is_renamed_for_good(open_page, path) -> None:
    page = open_page("#/concepts/1")
    page.get_by_role("button", name="Rename").press("Enter")
    field = page.get_by_label("Name of this concept")
    assert field.evaluate("element => element === document.activeElement")
    # The old text is chosen, so that typing takes its place.
    page.keyboard.type("Taxes <b>and</b> more")
    field.press("Enter")
    heading(page, "1. Taxes <b>and</b> more")
    assert page.get_by_role("button", name="Rename").evaluate("e => e === document.activeElement")
    assert load(path).names_ == {1: "Taxes <b>and</b> more", 2: MARKUP}
    page.get_by_role("button", name="Rename").click()
    page.get_by_role("button", name="Automatic name").click()
    page.locator("h1", has_text="Taxes").wait_for(state="detached")
    assert load(path).names_ == {2: MARKUP}


def test_words_of_one_concept_alone_can_be_marked(open_page, path) -> None:
    model = load(path)
    held = model.doc_concept_.toarray() if hasattr(model.doc_concept_, "toarray") else model.doc_concept_
    several = int(np.argmax((held > 0).sum(axis=1))) + 1
    page = open_page(f"#/documents/{several}")
    chosen = page.get_by_label("Mark the words of").locator("option").nth(1).get_attribute("value")
    page.get_by_label("Mark the words of").select_option(chosen)
    for mark in page.locator(".reading mark:not(.dim)").all():
        assert f" {chosen} " in mark.get_attribute("data-concepts")
    assert page.locator(".reading mark.dim").count() > 0
    assert f"only={chosen}" in page.url


def test_groups_are_compared_word_by_word(open_page) -> None:
    page = open_page("#/groups?column=party")
    page.get_by_role("button", name="Compare the words of 2.").click()
    page.get_by_role("heading", name="Words side by side: 2.").wait_for()
    assert page.evaluate("document.activeElement.id") == "compared"
    assert page.get_by_role("img", name="Word cloud of party").count() == 2
    page.get_by_label("First group").select_option("B")
    page.locator("thead th:nth-child(2)", has_text="In B").wait_for()
    assert page.get_by_label("Second group").input_value() == "A"


def test_what_is_not_there_is_said(open_page) -> None:
    for route in ("#/concepts/999", "#/nothing", "#/words/%E0%A4", "#/documents/0"):
        page = open_page(route)
        assert heading(page, "This cannot be shown").is_visible()
        assert page.locator(".trouble").inner_text().endswith((".", "?"))


def test_it_can_be_read_on_a_narrow_screen(open_page) -> None:
    routes = ["#/concepts", "#/concepts/1", "#/documents/1", "#/groups", "#/chains", "#/map", f"#/words/{ODD_WORDS[1]}"]
    for route in [*routes, "#/effects?formula=party"]:
        page = open_page(route)
        page.set_viewport_size({"width": 360, "height": 740})
        page.locator(".table tbody th").first.wait_for()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360, route
        # Numbers and labels break, so that none is out of sight.
        wide = "boxes => boxes.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.ariaLabel)"
        assert page.locator(".table > .scroll").evaluate_all(wide) == [], route
        picture(page, f"narrow-{route.strip('#/').replace('/', '-')}")


CONTRAST = """() => {
  const channel = (v) => (v / 255 <= 0.03928 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4);
  const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = (text) => (text.match(/[\\d.]+/g) ?? []).map(Number);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] === 1) return c;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const e of document.querySelectorAll("body *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || e.closest("svg, noscript") || e.getAttribute("aria-disabled")) continue;
    const [a, b] = [light(parse(getComputedStyle(e).color)), light(behind(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) poor.push(`${e.tagName}.${e.className} ${ratio.toFixed(2)}`);
  }
  for (const t of document.querySelectorAll("svg.cloud text")) {
    const hex = t.getAttribute("fill");
    const c = [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
    if (1.05 / (light(c) + 0.05) < 4.5) poor.push(`cloud ${hex}`);
  }
  return poor;
}"""


def test_text_stands_out_from_its_ground(open_page) -> None:
    for route in ("#/concepts", "#/concepts/1", "#/documents/1", "#/words", "#/groups", "#/chains", "#/map"):
        page = open_page(route)
        page.wait_for_timeout(300)
        assert page.evaluate(CONTRAST) == [], route


def test_every_control_has_a_name_and_every_id_is_its_own(open_page) -> None:
    for route in ("#/concepts", "#/concepts/1", "#/documents/1", "#/words", "#/groups", "#/chains", "#/map"):
        page = open_page(route)
        page.wait_for_timeout(300)
        unnamed = page.evaluate(
            """() => [...document.querySelectorAll("button, a[href], input, select, [role=region], img")]
              .filter((e) => !(e.getAttribute("aria-label") || e.textContent.trim() || e.alt || e.labels?.length))
              .map((e) => e.outerHTML)"""
        )
        assert unnamed == []
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((e) => e.id)")
        assert len(ids) == len(set(ids))
        assert page.locator("h1").count() == 1
        assert page.get_by_role("main").count() == 1


def test_search_finds_covers_and_learns_from_marks(open_page) -> None:
    page = open_page("#/search")
    page.get_by_label("Search for").fill("word7 word8")
    page.get_by_role("button", name="Search", exact=True).click()
    page.get_by_role("heading", level=2, name="Documents on “word7 word8”").wait_for()
    hits = page.locator("ol.hits > li")
    assert hits.count() > 1
    assert "word7" in hits.first.inner_text() or "word8" in hits.first.inner_text()
    picture(page, "search")
    page.get_by_role("button", name="Like:", exact=False).nth(0).click()
    page.get_by_text("1 document marked").wait_for()
    page.get_by_role("button", name="Show the next ten for me").click()
    page.get_by_role("heading", level=3, name="What your marks taught").wait_for()
    assert page.locator("ol.hits > li").count() == 10
    picture(page, "recommend")
    page.get_by_role("button", name="Forget the marks").click()
    page.get_by_label("Search for").fill("")
    page.get_by_role("button", name="Cover everything").click()
    page.get_by_role("heading", level=2, name="Documents that cover everything").wait_for()
    assert "is covered" in page.locator("ol.hits > li").first.inner_text()
    page.locator("ol.hits a").first.click()
    heading(page, "speaker ")


def press(page, name: str) -> None:
    page.get_by_role("button", name=name, exact=True).click()


def test_concepts_are_merged_by_mouse_and_the_merge_is_undone(open_page, path) -> None:
    page = open_page("#/concepts")
    for concept in (2, 3):
        page.locator(f"input[data-concept='{concept}']").check()
    page.get_by_text("2 concepts chosen: 2, 3").wait_for()
    press(page, "Merge into 2")
    page.locator("#notice").get_by_text("Concept 3 is merged into concept 2.").wait_for()
    page.locator("input[data-concept='3']").wait_for(state="detached")
    assert load(path).result_.excluded == {3: "is merged into concept 2"}
    picture(page, "merged")
    page.locator("#notice").get_by_role("button", name="Undo").click()
    page.locator("input[data-concept='3']").wait_for()
    assert load(path).result_.excluded == {}


def test_a_concept_is_hidden_from_its_page_and_shown_again(open_page, path) -> None:
    page = open_page("#/concepts/1")
    press(page, "Hide")
    heading(page, "Concepts")
    page.get_by_role("heading", name="Hidden").wait_for()
    assert load(path).result_.excluded == {1: "is hidden"}
    page.get_by_role("button", name="Show again: 1.", exact=False).click()
    page.locator("input[data-concept='1']").wait_for()
    assert load(path).result_.excluded == {}


def test_a_branch_of_the_tree_becomes_a_theme(open_page, path) -> None:
    page = open_page("#/themes")
    page.locator(".tree .knot").first.click()
    chosen = sorted(int(one.get_attribute("data-concept")) for one in page.locator("input[data-concept]:checked").all())
    assert len(chosen) == 2
    page.get_by_label("Theme", exact=True).fill("Money & <b>more</b>")
    press(page, "Put under it")
    page.get_by_text("Made by people.", exact=False).wait_for()
    assert load(path).result_.themes == dict.fromkeys(chosen, "Money & <b>more</b>")
    picture(page, "theme")
    press(page, "Undo the last")
    page.get_by_text("Nobody has made themes yet", exact=False).wait_for()
    press(page, "Keep these themes")
    page.get_by_text("Made by people.", exact=False).wait_for()
    assert set(load(path).result_.themes) == set(planted_model().result_.shown)


def test_what_cannot_be_kept_is_said(open_page, path) -> None:
    page = open_page("#/concepts/2")
    add_choices(path, [Choice("name", 1, "by another program")])
    press(page, "Hide")
    page.get_by_text("The model file has changed", exact=False).wait_for()
    heading(page, "2. ")


def test_trends_are_drawn_and_words_early_and_late_are_told(open_page) -> None:
    page = open_page("#/time")
    panels = page.locator(".panels figure")
    assert panels.count() == planted_model().n_concepts_
    page.get_by_role("button", name="Draw 1.", exact=False).click()
    panels.nth(1).wait_for(state="detached")
    assert "concepts=1" in page.url
    page.get_by_role("button", name="Words of 2.", exact=False).click()
    page.get_by_role("heading", level=2, name="Words, early and late: 2.").wait_for()
    picture(page, "time")


def test_effects_follow_the_typed_formula(open_page) -> None:
    page = open_page("#/effects")
    page.get_by_label("Formula").fill("party + year")
    press(page, "Show the effects")
    page.get_by_role("heading", level=2, name="party B compared with A").wait_for()
    assert page.locator(".effects").count() == 2
    picture(page, "effects")
    page.get_by_label("Formula").fill("party + nosuch")
    press(page, "Show the effects")
    page.get_by_text("There is no column 'nosuch'", exact=False).wait_for()


def test_every_dot_of_the_map_tells_its_whole_name(open_page) -> None:
    page = open_page("#/map")
    for link in page.locator(".map[role=group] a").all():
        link.locator("circle").last.hover(force=True)
        told = page.locator(".map[role=group] .pointed text").first
        assert told.text_content() in link.get_attribute("aria-label")
        assert told.is_visible()
    boxes = [one.bounding_box() for one in page.locator(".map[role=group] > text").all()]
    for at, one in enumerate(boxes):
        for other in boxes[at + 1 :]:
            apart = one["x"] + one["width"] <= other["x"] or other["x"] + other["width"] <= one["x"]
            assert apart or one["y"] + one["height"] <= other["y"] + 4 or other["y"] + other["height"] <= one["y"] + 4


def test_passages_lead_to_their_neighbours_and_their_document(browser, tmp_path) -> None:
    path = passage_model().save(tmp_path / "model.sw")
    with served(Explorer(load(path), path)) as address:
        page = browser.new_page()
        page.goto(f"{address}#/documents")
        page.get_by_role("link", name="speaker 8").click()
        heading(page, "speaker 8")
        page.locator(".passage-link a", has_text="2").first.click()
        heading(page, "speaker 8, passage 2 of 4")
        page.get_by_role("link", name="Next passage").click()
        heading(page, "speaker 8, passage 3 of 4")
        page.get_by_role("link", name="The whole document").click()
        heading(page, "speaker 8")
        page.get_by_role("link", name="Next document").click()
        heading(page, "speaker 12")
        page.close()


def test_names_are_pasted_and_accepted(open_page, path) -> None:
    page = open_page("#/concepts")
    with page.expect_response("**/api/names.json*"):
        page.get_by_text("Names by a language model").click()
    prompt = page.get_by_label("Copy this prompt")
    page.wait_for_function("(box) => box.value.includes('\\n1: ')", arg=prompt.element_handle())
    page.get_by_label("Paste the reply here").fill("1: Fruit <b> | What grows.")
    page.get_by_role("button", name="Propose these names").click()
    page.get_by_role("button", name="Accept 1 proposed name").wait_for()
    assert load(path).concepts()["name"][0] == "Fruit <b> (proposed)"
    picture(page, "names")
    page.get_by_role("button", name="Accept 1 proposed name").click()
    page.get_by_role("button", name="Accept 1 proposed name").wait_for(state="detached")
    assert load(path).names_[1] == "Fruit <b>"


def test_a_concept_that_cannot_be_relied_on_is_marked_wherever_it_is_named(browser) -> None:
    model = copy.copy(planted_model())
    table = planted_model().concepts()
    model.concepts = lambda: table.assign(leftover=table["concept"] == 2)
    held = int(np.argmax(np.asarray(model.doc_concept_)[:, 1])) + 1
    with served(Explorer(model)) as address:
        page = browser.new_page()
        for route, place in (
            ("#/concepts/2", "h1"),
            ("#/concepts", "tbody tr:has(a[href$='/2'])"),
            ("#/themes", ".tree a[href$='/2'] text"),
            ("#/groups?concept=2", "#compared"),
            ("#/time?concepts=2", ".panels figcaption"),
            ("#/map", ".quality a[href$='/2'] title"),
            (f"#/documents/{held}", ".legend li >> nth=0"),
        ):
            page.goto(address + route)
            page.wait_for_selector(READY)
            page.locator(place, has_text="unsure").wait_for(state="attached")
        page.close()
