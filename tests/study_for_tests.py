"""A small study and a scripted participant, shared by the tests of the study."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from html import unescape
from pathlib import Path
from typing import Any

import httpx

from servers_for_tests import serving_app
from superwords.study.pairs import Question, build_study, save_study
from superwords.study.server import StudyPages, create_app
from superwords.study.votes import VoteStore

WORDS = ["costs", "repeal", "<script>alert(1)</script>", "mandates", "\"insurance\" & 'x'"]
WORDS += ["medicare", "states", "employers", "obamacare", "coverage"]


@lru_cache(maxsize=1)
def small_study() -> dict[str, Any]:
    questions = [
        Question(
            word,
            {"care": 0.9, f"mine{i}": 0.5, "<b>bold</b>": 0.2, word: 0.8},
            {"bill": 0.3, f"other{i}": 0.2, "law": 0.1, "extra": 0.05, word: 0.25},
        )
        for i, word in enumerate(WORDS)
    ]
    return build_study(questions, "Clouds & <i>words</i>", "the health care debate")


class Participant:
    """Fills the questionnaire as a browser without JavaScript does, knowing which picture is whose."""

    def __init__(self, client: httpx.Client, study: dict[str, Any]) -> None:
        self.client = client
        self.page = client.get("/").text
        self.token = re.search(r'name="token" value="([0-9a-f]+)"', self.page)[1]
        shown = re.findall(r'src="/cloud/([0-9a-f]+)\.png"', self.page)
        concepts = {question["concept"]["name"] for question in study["questions"]}
        self.concept_first = [name in concepts for name in shown[::2]]

    def fields(self, preferred: Sequence[str], follows: str = "yes", attention: str = "closely") -> dict[str, str]:
        """The form with these preferences: "concept", "topic" or "neither" for each question."""
        answers = {
            f"q{number}": "neither" if one == "neither" else "first" if (one == "concept") == first else "second"
            for number, (one, first) in enumerate(zip(preferred, self.concept_first), 1)
        }
        return {"token": self.token, "follows": follows, "attention": attention, **answers}

    def send(self, fields: dict[str, str], **headers: str | bytes) -> httpx.Response:
        return self.client.post("/vote", data=fields, headers=headers, follow_redirects=False)


@contextmanager
def served(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The study served by its own process on a free port of loopback, votes in `folder`/study.votes."""
    path = save_study(small_study(), folder / "study.json")
    command = [sys.executable, "-c", "from superwords.cli.study import app; app()", "serve", str(path)]
    process = subprocess.Popen([*command, "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        yield process, re.search(r"http://\S+/", line)[0]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@contextmanager
def served_here(store: VoteStore, **settings: Any) -> Iterator[str]:
    """The study served by a thread, for tests that look into the store while it is served."""
    with serving_app(create_app(StudyPages(small_study(), store), **settings)) as address:
        yield address


def unescaped_text(page: str) -> str:
    return unescape(re.sub(r"<[^>]*>", " ", page))
