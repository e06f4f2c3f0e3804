"""The web application of a study: shows the questionnaire, checks the answers, stores the vote.

Every text from a study is escaped: a word may be `<script>`.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from superwords.study.choices import CONTROL
from superwords.study.pairs import SIDES
from superwords.study.votes import AlreadyVotedError, VoteStore
from superwords.web import guard
from superwords.web.html import Html, fill, join, read_parts
from superwords.web.serving import LOOPBACK

HERE = Path(__file__).parent
PARTS = read_parts(HERE / "study.html")
MOST_BYTES = 16_384
MOST_FIELDS = 1_000
COOKIE_SECONDS = 180 * 24 * 3600
KEEP = {"Cache-Control": "max-age=3600"}
NO_TOKEN = "Open the study with the whole link that you were given, and allow cookies."
NOT_A_FORM = "Answers are taken from this study's form only."
THANKS = "Thank you! Your answers are stored."
VOTED_BEFORE = "Thank you! Your answers are already stored; each person votes once."
FOLLOWS = {"yes": "Yes", "no": "No"}
FAMILIARITY = {
    "closely": "I follow it closely.",
    "headlines": "I follow the main headlines.",
    "little": "Very little, if at all.",
}
CLOUDS = {"first": "Cloud A", "second": "Cloud B", "neither": "No difference"}


def part(name: str, /, **values: Any) -> Html:
    """Return a part of study.html with these values."""
    return fill(PARTS[name], **values)


class Question(NamedTuple):
    """A question with its possible answers by their values; the first ones may be clouds."""

    name: str  # in a sentence, such as "question 1"
    legend: str
    answers: Mapping[str, str]
    clouds: Sequence[Mapping[str, Any]] = ()  # the page uses their random name and their words
    text: str = ""  # shown above the answers


class StudyPages:
    """A study of paired clouds and its votes, as the handlers of the web application."""

    introduction = "clouds", "pair"

    def __init__(self, study: Mapping[str, Any], store: VoteStore) -> None:
        self.study = study
        self.store = store
        self.cookie = f"superwords_study_{study['id']}"
        clouds = [question[side] for question in study.get("questions", ()) for side in SIDES]
        self.pictures = {one["name"]: base64.b64decode(one["picture"]) for one in clouds}
        self.static = guard.static_files(HERE / "static", KEEP)

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
        return participant if guard.same(signature, self._keyed("cookie", participant)) else None

    def sides(self, participant: str, number: int) -> tuple[str, ...]:
        """Return what question `number` shows first and second: random by person, the same at each visit."""
        return SIDES if int(self._keyed(f"side {number}", participant), 16) % 2 == 0 else SIDES[::-1]

    def items(self, participant: str) -> str:
        """Return the tasks to show, of a study that shows some of its tasks."""
        return ""

    def asked(self, participant: str, items: str) -> list[Question]:
        """Return the study's questions as a participant sees them."""
        found = []
        for number, question in enumerate(self.study["questions"], 1):
            clouds = [question[side] for side in self.sides(participant, number)]
            legend = part("legend", number=number, word=question["word"])
            found.append(Question(f"question {number}", legend, CLOUDS, clouds))
        return found

    def answers(self, participant: str, fields: Mapping[str, str]) -> list[tuple[Any, ...]]:
        """Return the answers as the votes file has them."""
        numbers = range(1, len(self.study["questions"]) + 1)
        return [(number, self.sides(participant, number)[0], fields[f"q{number}"]) for number in numbers]

    def questions(self, participant: str, items: str) -> dict[str, Question]:
        """Return every question by its field: those about the participant, then the study's own."""
        subject = self.study["subject"]
        follows = Question("whether you follow the subject", f"Do you follow {subject}?", FOLLOWS)
        closely = Question("how closely you follow it", f"How closely do you follow {subject}?", FAMILIARITY)
        asked = {f"q{number}": one for number, one in enumerate(self.asked(participant, items), 1)}
        return {"follows": follows, "attention": closely, **asked}

    def form(self, participant: str, items: str, chosen: Mapping[str, str], missing: Sequence[str] = ()) -> str:
        """Return the questionnaire with what was chosen; `missing` are the fields that a refused answer left out."""
        questions = self.questions(participant, items)
        (introduction, what), n = self.introduction, len(questions) - 2
        count = f"one {what}" if n == 1 else f"{n} {what}s"
        names = {field: questions[field].name for field in missing}
        links = (part("link", field=field, name=name[0].upper() + name[1:]) for field, name in names.items())
        form = part(
            "form",
            introduction=part(introduction, n=count, subject=self.study["subject"]),
            token=self.form_token(participant, items),
            items=items,
            hidden="" if missing else " hidden",
            heading="Your answers have not been sent yet, because some are missing:" if missing else "",
            links=join(links),
            blocks=join(block(field, one, chosen, missing) for field, one in questions.items()),
        )
        return part("page", title=self.study["title"], body=form)

    def form_token(self, participant: str, items: str) -> str:
        """Return what a form must send back: it signs the participant and the tasks that were shown."""
        return self._keyed(f"form {items}" if items else "form", participant)

    def notice(self, sentence: str, status: int = 200) -> Response:
        """Return a page of one sentence."""
        page = part("page", title=self.study["title"], body=part("notice", sentence=sentence))
        return HTMLResponse(page, status)

    def show(self, request: Request) -> Response:
        participant = self.participant(request)
        if participant is not None and self.store.has_voted(participant):
            return self.notice(VOTED_BEFORE)
        known = participant or secrets.token_hex(16)
        answer = HTMLResponse(self.form(known, self.items(known), {}))
        if participant is None:
            guard.set_cookie(answer, request, self.cookie, f"{known}.{self._keyed('cookie', known)}", COOKIE_SECONDS)
        return answer

    async def vote(self, request: Request) -> Response:
        body = await guard.posted(request, "application/x-www-form-urlencoded", NOT_A_FORM, MOST_BYTES)
        fields = read_fields(body)
        participant, items = self.participant(request), fields.get("items", "")
        if participant is None:
            raise HTTPException(
                403, "This study needs its cookie to count each person once; allow cookies and open it again."
            )
        if not guard.same(fields.get("token", ""), self.form_token(participant, items)):
            raise HTTPException(403, "These answers do not belong to this page; open the study again.")
        questions = self.questions(participant, items)
        missing = [field for field, one in questions.items() if fields.get(field) not in one.answers]
        if missing:
            return HTMLResponse(self.form(participant, items, fields, missing), 422)
        vote = participant, fields["follows"] == "yes", fields["attention"], self.answers(participant, fields)
        try:
            await run_in_threadpool(self.store.add, *vote)
        except AlreadyVotedError:
            return self.notice(VOTED_BEFORE, 409)
        except sqlite3.Error:
            raise HTTPException(
                503, "Your answers could not be stored just now; go back and send them again."
            ) from None
        return RedirectResponse("/thanks", 303)

    def thanks(self, request: Request) -> Response:
        return self.notice(THANKS)

    def picture(self, request: Request) -> Response:
        data = self.pictures.get(request.path_params["name"])
        if data is None:
            raise HTTPException(404)
        return Response(data, media_type="image/png", headers=KEEP)


class ChoicePages(StudyPages):
    """A study of tasks with right answers: every person sees the tasks that were answered least so far."""

    introduction = "tasks", "question"

    def items(self, participant: str) -> str:
        """Return the numbers of the tasks to show: the least answered, and all controls, in a random order."""
        answered = self.store.task_counts()
        tasks = list(enumerate(self.study["tasks"], 1))
        controls = [number for number, task in tasks if task["kind"] == CONTROL]
        others = [number for number, task in tasks if task["kind"] != CONTROL]

        def key(number: int) -> str:
            return self._keyed(f"order {number}", participant)

        others.sort(key=lambda number: (answered.get(number, 0), key(number)))
        return ",".join(map(str, sorted([*others[: self.study["per_person"]], *controls], key=key)))

    def values(self, participant: str, number: int) -> dict[str, int]:
        """Return the options of a task by opaque values."""
        n_options = len(self.study["tasks"][number - 1]["options"])
        return {self._keyed(f"option {number} {k}", participant)[:16]: k for k in range(n_options)}

    def asked(self, participant: str, items: str) -> list[Question]:
        found = []
        for place, number in enumerate(map(int, items.split(",")), 1):
            task = self.study["tasks"][number - 1]
            # Sorted by a keyed digest: the same order at each visit, and no trace of which is right.
            values = sorted(self.values(participant, number).items())
            answers = {value: task["options"][k] for value, k in values}
            found.append(Question(f"question {place}", f"{place}. {task['question']}", answers, text=task["text"]))
        return found

    def answers(self, participant: str, fields: Mapping[str, str]) -> list[tuple[Any, ...]]:
        numbers = enumerate(map(int, fields["items"].split(",")), 1)
        return [(number, self.values(participant, number)[fields[f"q{place}"]]) for place, number in numbers]


def pages_of(study: Mapping[str, Any], store: VoteStore) -> StudyPages:
    """Return the pages of a study of either kind."""
    return (ChoicePages if "tasks" in study else StudyPages)(study, store)


def block(field: str, asked: Question, chosen: Mapping[str, str], missing: Sequence[str]) -> Html:
    """Return a question with its radio buttons; the first of the first missing one has the focus."""
    labels = []
    for at, (value, text) in enumerate(asked.answers.items()):
        state = " checked" if chosen.get(field) == value else ""
        state += " autofocus" if at == 0 and missing and field == missing[0] else ""
        radio = part("radio", field=field, value=value, state=state)
        if at < len(asked.clouds):
            name, words = asked.clouds[at]["name"], ", ".join(asked.clouds[at]["words"])
            labels.append(part("cloud", radio=radio, text=text, name=name, words=words))
        else:
            labels.append(part("option", radio=radio, text=text))
    n = len(asked.clouds)
    return part(
        "question",
        field=field,
        name=asked.name,
        mark=Html(' class="missing"' if field in missing else ""),
        legend=asked.legend,
        text=part("text", text=asked.text) if asked.text else "",
        clouds=part("pair", labels=join(labels[:n])) if n else "",
        options=join(labels[n:]),
    )


def read_fields(body: bytes) -> dict[str, str]:
    """Return the fields of a plain form, each given once; a field given twice counts as not given."""
    try:
        fields = parse_qs(body.decode("ascii"), max_num_fields=MOST_FIELDS)
    except ValueError:
        raise HTTPException(400) from None
    return {name: values[0] for name, values in fields.items() if len(values) == 1}


def create_app(pages: StudyPages, hosts: Sequence[str] = LOOPBACK, with_token: bool = False) -> Starlette:
    """Create the application; it answers for `hosts`, and `with_token` requires the link of the study."""
    routes = [
        Route("/", pages.show),
        Route("/vote", pages.vote, methods=["POST"]),
        Route("/thanks", pages.thanks),
        Route("/cloud/{name}.png", pages.picture),
        Route("/static/{name}", pages.static),
    ]
    return guard.application(routes, hosts, (pages.token, NO_TOKEN) if with_token else None)
