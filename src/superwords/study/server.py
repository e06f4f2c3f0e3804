"""The web application of a study: shows the questionnaire, checks the answers, stores the vote."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from superwords.study import question_page as page
from superwords.study.choices import CONTROL
from superwords.study.pairs import SIDES
from superwords.study.votes import AlreadyVotedError, Answer, VoteStore
from superwords.web import guard
from superwords.web.serving import LOOPBACK

MOST_BYTES = 16_384
MOST_FIELDS = 1_000
COOKIE_SECONDS = 180 * 24 * 3600
KEEP = {"Cache-Control": "max-age=3600"}
NO_TOKEN = "Open the study with the whole link that you were given, and allow cookies."
THANKS = "Thank you! Your answers are stored."
VOTED_BEFORE = "Thank you! Your answers are already stored; each person votes once."


class StudyPages:
    """One study and its votes, as the handlers of the web application."""

    def __init__(self, study: Mapping[str, Any], store: VoteStore) -> None:
        self.study = study
        self.store = store
        self.cookie = f"superwords_study_{study['id']}"
        self.pictures = {
            question[side]["name"]: base64.b64decode(question[side]["picture"])
            for question in study.get("questions", ())
            for side in SIDES
        }
        self.static = guard.static_files(Path(__file__).parent / "static", KEEP)

    def _keyed(self, purpose: str, participant: str) -> str:
        """Return a keyed digest that only the votes file of this study can make."""
        message = f"{purpose}:{participant}".encode()
        return hmac.new(self.store.secret, message, hashlib.sha256).hexdigest()

    @property
    def token(self) -> str:
        """Return the token in the link for participants: the same whenever this study is served with these votes."""
        return self._keyed("link", self.study["id"])[:32]

    def participant(self, request: Request) -> str | None:
        """Return the participant of a cookie with our signature, or None."""
        participant, _, signature = request.cookies.get(self.cookie, "").partition(".")
        genuine = hmac.compare_digest(signature.encode(), self._keyed("cookie", participant).encode())
        return participant if genuine else None

    def concept_first(self, participant: str, number: int) -> bool:
        """Return whether question `number` shows the concept first: random by person, the same at each visit."""
        return int(self._keyed(f"side {number}", participant), 16) % 2 == 0

    def form(self, participant: str, chosen: Mapping[str, str]) -> page.Form:
        pairs = []
        for number, question in enumerate(self.study["questions"], 1):
            clouds = [page.Cloud(question[side]["name"], list(question[side]["words"])) for side in SIDES]
            if not self.concept_first(participant, number):
                clouds.reverse()
            pairs.append(page.pair(number, question["word"], clouds))
        token = self.form_token(participant, "")
        return page.Form(self.study["title"], self.study["subject"], token, pairs, chosen)

    def form_token(self, participant: str, items: str) -> str:
        """Return what a form must send back: it signs the participant and the tasks that were shown."""
        return self._keyed(f"form {items}" if items else "form", participant)

    def show(self, request: Request) -> Response:
        participant = self.participant(request)
        if participant is not None and self.store.has_voted(participant):
            return HTMLResponse(page.notice(self.study["title"], VOTED_BEFORE))
        known = participant or secrets.token_hex(16)
        answer = HTMLResponse(page.questionnaire(self.form(known, {})))
        if participant is None:
            # Lax, not strict: a strict cookie is not sent when a person comes again from a link in a letter.
            answer.set_cookie(
                self.cookie,
                f"{known}.{self._keyed('cookie', known)}",
                max_age=COOKIE_SECONDS,
                httponly=True,
                samesite="lax",
                secure=request.url.scheme == "https",
            )
        return answer

    async def vote(self, request: Request) -> Response:
        guard.refuse_cross_site(request)
        fields = read_fields(request, await guard.bounded_body(request, MOST_BYTES))
        participant = self.participant(request)
        if participant is None:
            raise HTTPException(
                403, "This study needs its cookie to count each person once; allow cookies and open it again."
            )
        token = self.form_token(participant, fields.get("items", ""))
        if not hmac.compare_digest(fields.get("token", "").encode(), token.encode()):
            raise HTTPException(403, "These answers do not belong to this page; open the study again.")
        form = self.form(participant, fields)
        missing = form.unanswered()
        if missing:
            return HTMLResponse(page.questionnaire(form, missing), 422)
        try:
            await run_in_threadpool(self.store_vote, participant, fields)
        except AlreadyVotedError:
            return HTMLResponse(page.notice(self.study["title"], VOTED_BEFORE), 409)
        except sqlite3.Error:
            raise HTTPException(
                503, "Your answers could not be stored just now; go back and send them again."
            ) from None
        return RedirectResponse("/thanks", 303)

    def store_vote(self, participant: str, fields: Mapping[str, str]) -> None:
        answers = [
            Answer(self.concept_first(participant, number), fields[f"q{number}"])
            for number in range(1, len(self.study["questions"]) + 1)
        ]
        self.store.add(participant, fields["follows"] == "yes", fields["attention"], answers)

    def thanks(self, request: Request) -> Response:
        return HTMLResponse(page.notice(self.study["title"], THANKS))

    def picture(self, request: Request) -> Response:
        data = self.pictures.get(request.path_params["name"])
        if data is None:
            raise HTTPException(404)
        return Response(data, media_type="image/png", headers=KEEP)

    def static_file(self, request: Request) -> Response:
        return self.static(request.path_params["name"])


class ChoicePages(StudyPages):
    """A study of tasks with right answers: every person sees the tasks that were answered least so far."""

    def form(self, participant: str, chosen: Mapping[str, str]) -> page.Form:
        items = chosen.get("items") or ",".join(map(str, self.pick(participant)))
        choices = []
        for place, number in enumerate(map(int, items.split(",")), 1):
            task = self.study["tasks"][number - 1]
            values = {self.value(participant, number, k): text for k, text in enumerate(task["options"])}
            # Sorted by a keyed digest: the same order at each visit, and no trace of which is right.
            choices.append(page.task(place, task["question"], task["text"], dict(sorted(values.items()))))
        token = self.form_token(participant, items)
        return page.Form(self.study["title"], self.study["subject"], token, choices, chosen, items)

    def pick(self, participant: str) -> list[int]:
        """Return the numbers of the tasks to show: the least answered, and all controls, in a random order."""
        answered = self.store.task_counts()
        tasks = list(enumerate(self.study["tasks"], 1))
        controls = [number for number, task in tasks if task["kind"] == CONTROL]
        others = [number for number, task in tasks if task["kind"] != CONTROL]

        def key(number: int) -> str:
            return self._keyed(f"order {number}", participant)

        others.sort(key=lambda number: (answered.get(number, 0), key(number)))
        return sorted([*others[: self.study["per_person"]], *controls], key=key)

    def value(self, participant: str, number: int, option: int) -> str:
        """Return the opaque value of an option."""
        return self._keyed(f"option {number} {option}", participant)[:16]

    def store_vote(self, participant: str, fields: Mapping[str, str]) -> None:
        answers = []
        for place, number in enumerate(map(int, fields["items"].split(",")), 1):
            options = range(len(self.study["tasks"][number - 1]["options"]))
            sent = fields[f"q{place}"]
            answers.append((number, next(k for k in options if self.value(participant, number, k) == sent)))
        self.store.add_choices(participant, fields["follows"] == "yes", fields["attention"], answers)


def pages_of(study: Mapping[str, Any], store: VoteStore) -> StudyPages:
    """Return the pages of a study of either kind."""
    return (ChoicePages if "tasks" in study else StudyPages)(study, store)


def read_fields(request: Request, body: bytes) -> dict[str, str]:
    """Return the fields of a plain form, each given once; a field given twice counts as not given."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415, "Answers are taken from this study's form only.")
    try:
        fields = parse_qs(body.decode("ascii"), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise HTTPException(400) from None
    return {name: values[0] for name, values in fields.items() if len(values) == 1}


def create_app(pages: StudyPages, hosts: Sequence[str] = LOOPBACK, with_token: bool = False) -> Starlette:
    """Create the application; it answers for `hosts`, and `with_token` requires the link of the study."""
    return Starlette(
        routes=[
            Route("/", pages.show),
            Route("/vote", pages.vote, methods=["POST"]),
            Route("/thanks", pages.thanks),
            Route("/cloud/{name}.png", pages.picture),
            Route("/static/{name}", pages.static_file),
        ],
        middleware=guard.protections(hosts, (pages.token, NO_TOKEN) if with_token else None),
        exception_handlers={HTTPException: guard.plain_http_error, Exception: guard.plain_failure},
    )
