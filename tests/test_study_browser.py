"""The study in a real browser: filled by clicking, by keyboard alone, and without JavaScript."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from study_for_tests import WORDS, served_here, small_study
from superwords.study.votes import VoteStore

pytestmark = pytest.mark.browser


@pytest.fixture
def store(tmp_path) -> VoteStore:
    return VoteStore.for_study(tmp_path / "study.votes", small_study())


@pytest.fixture
def open_page(browser, store: VoteStore) -> Iterator:
    """Opens the study in a new, forgetful window; fails when the page met an error or left this machine."""
    with served_here(store) as address:
        contexts, troubles = [], []

        def open_one(**options):
            context = browser.new_context(viewport={"width": 1100, "height": 900}, **options)
            contexts.append(context)
            page = context.new_page()
            page.on("console", lambda message: message.type == "error" and troubles.append(message.text))
            page.on("pageerror", lambda error: troubles.append(str(error)))
            page.on("request", lambda r: r.url.startswith(address) or troubles.append(r.url))
            page.goto(address)
            return page

        yield open_one
        for context in contexts:
            context.close()
        # The browser itself reports the 422 that refuses a half-filled form.
        assert [trouble for trouble in troubles if "422" not in trouble] == []


def picture(page, name: str) -> None:
    """Keeps a screenshot where SUPERWORDS_SCREENSHOTS says, for a person to look at."""
    folder = os.environ.get("SUPERWORDS_SCREENSHOTS")
    if folder:
        page.screenshot(path=str(Path(folder) / f"study-{name}.png"), full_page=True)


def expected_choices(page, places: list[str]) -> tuple[str, ...]:
    """What each chosen place, "first" or "second", shows."""
    concepts = {question["concept"]["name"] for question in small_study()["questions"]}
    chosen = []
    for number, place in enumerate(places, 1):
        image = page.locator(f"#q{number} label:has(input[value={place}]) img")
        assert image.evaluate("image => image.complete && image.naturalWidth > 0")
        name = image.get_attribute("src").removeprefix("/cloud/").removesuffix(".png")
        chosen.append("concept" if name in concepts else "topic")
    return tuple(chosen)


def test_filled_by_clicking_with_what_is_missing_said(open_page, store: VoteStore) -> None:
    page = open_page()
    page.get_by_label("Yes").check()
    page.get_by_label("I follow the main headlines.").check()
    places = ["first" if number % 3 else "second" for number in range(1, 11)]
    for number, place in enumerate(places, 1):
        if number != 4:
            page.locator(f"#q{number} label:has(input[value={place}]) img").click()
    page.locator("#q10").get_by_label("No difference").check()
    assert page.locator("#progress").inner_text() == "Still to answer: 1 of 12."
    page.get_by_role("button", name="Send my answers").click()
    assert page.get_by_role("alert").inner_text().split("\n")[-1] == "Question 4"
    assert page.evaluate("document.activeElement.name") == "q4"
    picture(page, "missing")
    assert store.votes() == []
    expected = expected_choices(page, places)
    page.locator(f"#q4 label:has(input[value={places[3]}])").click()
    page.get_by_role("button", name="Send my answers").click()
    page.wait_for_url("**/thanks")
    assert "Your answers are stored" in page.get_by_role("status").inner_text()
    picture(page, "thanks")
    (vote,) = store.votes()
    assert (vote.follows, vote.attention, vote.preferred) == (True, "headlines", (*expected[:9], "neither"))
    page.goto(page.url.replace("thanks", ""))
    assert "each person votes once" in page.get_by_role("status").inner_text()


def test_filled_by_keyboard_alone(open_page, store: VoteStore) -> None:
    page = open_page()
    places = ["first" if number % 2 else "second" for number in range(1, 11)]
    expected = expected_choices(page, places)
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    for key in ("ArrowDown", "ArrowDown"):
        page.keyboard.press(key)
    for place in places:
        page.keyboard.press("Tab")
        page.keyboard.press("Space")
        if place == "second":
            page.keyboard.press("ArrowRight")
    picture(page, "filled")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.tagName") == "BUTTON"
    page.keyboard.press("Enter")
    page.wait_for_url("**/thanks")
    (vote,) = store.votes()
    assert (vote.follows, vote.attention, vote.preferred) == (True, "little", expected)


def test_works_without_javascript(open_page, store: VoteStore) -> None:
    page = open_page(java_script_enabled=False)
    page.get_by_label("No", exact=True).check()
    page.get_by_label("Very little, if at all.").check()
    page.get_by_role("button", name="Send my answers").click()
    # The browser's own check of required fields keeps the form here.
    assert not page.url.endswith("/vote")
    for number in range(1, 11):
        page.locator(f"#q{number} input[value=first]").check()
    page.get_by_role("button", name="Send my answers").click()
    page.wait_for_url("**/thanks")
    assert len(store.votes()) == 1


def test_a_screen_reader_is_told_each_question_and_each_clouds_words(open_page) -> None:
    page = open_page()
    for number, word in enumerate(WORDS, 1):
        group = page.get_by_role("group", name=f"{number}. Which word cloud describes").filter(has_text=word)
        radios = group.get_by_role("radio")
        assert radios.count() == 3
        assert (
            group.get_by_role("radio", name=f"Cloud A care, mine{number - 1}, <b>bold</b>")
            .or_(group.get_by_role("radio", name=f"Cloud B care, mine{number - 1}, <b>bold</b>"))
            .count()
            == 1
        )


def test_a_refused_form_keeps_its_answers_and_takes_the_focus_there(open_page) -> None:
    page = open_page()
    page.get_by_label("Yes").check()
    # As a browser that checks nothing would send it.
    page.evaluate("HTMLFormElement.prototype.submit.call(document.getElementById('study'))")
    page.wait_for_url("**/vote")
    assert page.get_by_label("Yes").is_checked()
    assert page.get_by_role("alert").get_by_role("link").count() == 11
    assert page.evaluate("document.activeElement.name") == "attention"


def test_reads_on_a_narrow_screen(open_page) -> None:
    page = open_page()
    page.set_viewport_size({"width": 360, "height": 740})
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    picture(page, "narrow")
