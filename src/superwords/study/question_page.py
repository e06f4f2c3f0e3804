"""The pages of a study as HTML. Every text from a study is escaped: a word may be `<script>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

FOLLOWS = {"yes": "Yes", "no": "No"}
ATTENTION = {
    "closely": "I follow it closely.",
    "headlines": "I follow the main headlines.",
    "little": "Very little, if at all.",
}
SIDES = {"first": "Cloud A", "second": "Cloud B", "neither": "No difference"}


class Cloud(NamedTuple):
    """What the page may know of a cloud: a random name and its words."""

    name: str
    words: Sequence[str]


@dataclass(frozen=True)
class Question:
    """A question with its possible answers by their values; the first ones may be clouds."""

    name: str  # in a sentence, such as "question 1"
    legend: str  # HTML
    answers: Mapping[str, str]
    clouds: Sequence[Cloud] = ()
    text: str = ""  # shown above the answers


@dataclass(frozen=True)
class Form:
    """The questionnaire as one participant sees it, with what was chosen so far."""

    title: str
    subject: str
    token: str
    asked: Sequence[Question]
    chosen: Mapping[str, str]
    items: str = ""  # the tasks shown, of a study that shows some of its tasks

    def questions(self) -> dict[str, Question]:
        """Return every question by its field: those about the participant, then the study's own."""
        subject = escape(self.subject)
        follow = Question("whether you follow the subject", f"Do you follow {subject}?", FOLLOWS)
        attention = f"How closely do you follow {subject}?"
        asked = {f"q{number}": one for number, one in enumerate(self.asked, 1)}
        closely = Question("how closely you follow it", attention, ATTENTION)
        return {"follows": follow, "attention": closely, **asked}

    def unanswered(self) -> list[str]:
        """Return the fields without one of the answers that the page offers."""
        return [field for field, one in self.questions().items() if self.chosen.get(field) not in one.answers]


def pair(number: int, word: str, clouds: Sequence[Cloud]) -> Question:
    """Return the question which of two clouds describes a word better."""
    legend = f"{number}. Which word cloud describes <strong>{escape(word)}</strong> more coherently?"
    return Question(f"question {number}", legend, SIDES, clouds)


def task(number: int, question: str, text: str, options: Mapping[str, str]) -> Question:
    """Return a question with a right answer: options by their opaque values."""
    return Question(f"question {number}", f"{number}. {escape(question)}", options, text=text)


def questionnaire(form: Form, missing: Sequence[str] = ()) -> str:
    """Return the whole form; `missing` are the fields that a refused answer left out."""
    questions = form.questions()
    names = {field: one.name[0].upper() + one.name[1:] for field, one in questions.items()}
    links = "".join(f'<li><a href="#{field}">{escape(names[field])}</a></li>' for field in missing)
    heading = "Your answers have not been sent yet, because some are missing:" if missing else ""
    blocks = "".join(_block(field, one, form.chosen, missing) for field, one in questions.items())
    return _document(
        form.title,
        f"""<p>{_introduction(form)} Only your answers are stored, nothing else about you; a cookie in your browser
makes sure that you are counted once.</p>
<form id="study" method="post" action="/vote">
<input type="hidden" name="token" value="{escape(form.token)}">
<input type="hidden" name="items" value="{escape(form.items)}">
<div id="missing" role="alert"{"" if missing else " hidden"}><p>{heading}</p><ul>{links}</ul></div>
{blocks}
<p id="progress" hidden></p>
<p><button type="submit">Send my answers</button></p>
</form>""",
    )


def _introduction(form: Form) -> str:
    subject, n = escape(form.subject), len(form.asked)
    if not all(one.clouds for one in form.asked):
        asked = "one question" if n == 1 else f"{n} questions"
        return f"You will see {asked} about {subject}. Choose one answer to each, the best one if you are not sure."
    pairs = "one pair" if n == 1 else f"{n} pairs"
    return (
        f"You will see {pairs} of word clouds about {subject}. In each pair, choose the cloud whose words belong "
        "together better and say more about the word in the question. Larger words matter more. Each pair takes "
        "about half a minute."
    )


def _block(field: str, asked: Question, chosen: Mapping[str, str], missing: Sequence[str]) -> str:
    """Return a question with its radio buttons; the first of the first missing one has the focus."""
    labels = []
    for at, (value, text) in enumerate(asked.answers.items()):
        checked = " checked" if chosen.get(field) == value else ""
        focused = " autofocus" if at == 0 and missing and field == missing[0] else ""
        radio = f'<input type="radio" name="{field}" value="{value}" required{checked}{focused}>'
        if at < len(asked.clouds):
            name, words = asked.clouds[at]
            labels.append(
                f'<label>{radio} <span>{escape(text)}</span><img src="/cloud/{escape(name)}.png" '
                f'alt="{escape(", ".join(words))}" width="710" height="486"></label>'
            )
        else:
            labels.append(f"<label>{radio} {escape(text)}</label>")
    n_clouds = len(asked.clouds)
    clouds = f'<div class="pair">{"".join(labels[:n_clouds])}</div>' if n_clouds else ""
    text = f"<blockquote>{escape(asked.text)}</blockquote>" if asked.text else ""
    mark = ' class="missing"' if field in missing else ""
    return (
        f'<fieldset id="{field}" data-name="{escape(asked.name)}"{mark}><legend>{asked.legend}</legend>{text}{clouds}'
        f'<div class="options">{"".join(labels[n_clouds:])}</div></fieldset>\n'
    )


def notice(title: str, sentence: str) -> str:
    """Return a page of one sentence."""
    return _document(title, f'<p role="status">{escape(sentence)}</p>')


def _document(title: str, body: str) -> str:
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="/static/icon.svg">
<link rel="stylesheet" href="/static/study.css">
<script src="/static/study.js" defer></script>
</head>
<body>
<main>
<h1>{escape(title)}</h1>
{body}
</main>
</body>
</html>
"""
