"""The pages of a study as HTML. Every text from a study is escaped: a word may be `<script>`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

FOLLOWS = {"yes": "Yes", "no": "No"}
ATTENTION = {
    "closely": "I follow it closely.",
    "headlines": "I follow the main headlines.",
    "little": "Very little, if at all.",
}
PLACES = {"first": "Cloud A", "second": "Cloud B"}
CHOICES = {**PLACES, "neither": "No difference"}


@dataclass(frozen=True)
class Cloud:
    """What the page may know of a cloud: a random name and its words."""

    name: str
    words: Sequence[str]


@dataclass(frozen=True)
class Pair:
    word: str
    first: Cloud
    second: Cloud


@dataclass(frozen=True)
class Choice:
    """A question with a right answer: options by their opaque values."""

    question: str
    text: str
    options: Mapping[str, str]


@dataclass(frozen=True)
class Form:
    """The questionnaire as one participant sees it, with what was chosen so far."""

    title: str
    subject: str
    token: str
    pairs: Sequence[Pair | Choice]
    chosen: Mapping[str, str]
    items: str = ""  # the tasks shown, of a study that shows some of its tasks

    def fields(self) -> dict[str, str]:
        """Return every field that must be answered, and its name on the page."""
        names = {"follows": "whether you follow the subject", "attention": "how closely you follow it"}
        return names | {f"q{number}": f"question {number}" for number in range(1, len(self.pairs) + 1)}


def questionnaire(form: Form, missing: Sequence[str] = ()) -> str:
    """Return the whole form; `missing` are the fields that a refused answer left out."""
    subject = escape(form.subject)
    blocks = [
        choice_block(form, "follows", f"Do you follow {subject}?", FOLLOWS, missing),
        choice_block(form, "attention", f"How closely do you follow {subject}?", ATTENTION, missing),
    ]
    for number, pair in enumerate(form.pairs, 1):
        make = pair_block if isinstance(pair, Pair) else task_block
        blocks.append(make(form, number, pair, missing))  # type: ignore[arg-type]
    return document(
        form.title,
        f"""<p>{introduction(form)} Only your answers are stored, nothing else about you; a cookie in your browser
makes sure that you are counted once.</p>
<form id="study" method="post" action="/vote">
<input type="hidden" name="token" value="{escape(form.token)}">
<input type="hidden" name="items" value="{escape(form.items)}">
{missing_summary(form, missing)}
{"".join(blocks)}
<p id="progress" hidden></p>
<p><button type="submit">Send my answers</button></p>
</form>""",
    )


def introduction(form: Form) -> str:
    subject, n = escape(form.subject), len(form.pairs)
    if not all(isinstance(pair, Pair) for pair in form.pairs):
        asked = "one question" if n == 1 else f"{n} questions"
        return f"You will see {asked} about {subject}. Choose one answer to each, the best one if you are not sure."
    pairs = "one pair" if n == 1 else f"{n} pairs"
    return (
        f"You will see {pairs} of word clouds about {subject}. In each pair, choose the cloud whose words belong "
        "together better and say more about the word in the question. Larger words matter more. Each pair takes "
        "about half a minute."
    )


def task_block(form: Form, number: int, task: Choice, missing: Sequence[str]) -> str:
    field = f"q{number}"
    rows = "".join(
        f"<label>{radio(form, field, value, missing, k == 0)} {escape(text)}</label>"
        for k, (value, text) in enumerate(task.options.items())
    )
    text = f"<blockquote>{escape(task.text)}</blockquote>" if task.text else ""
    body = f'{text}<div class="options">{rows}</div>'
    return block(form, field, f"{number}. {escape(task.question)}", body, missing)


def missing_summary(form: Form, missing: Sequence[str]) -> str:
    names = form.fields()
    links = "".join(
        f'<li><a href="#{field}">{escape(names[field][0].upper() + names[field][1:])}</a></li>'
        for field in missing
    )
    heading = "Your answers have not been sent yet, because some are missing:" if missing else ""
    hidden = "" if missing else " hidden"
    return f'<div id="missing" role="alert"{hidden}><p>{heading}</p><ul>{links}</ul></div>'


def choice_block(
    form: Form, field: str, question: str, options: Mapping[str, str], missing: Sequence[str]
) -> str:
    rows = "".join(
        f"<label>{radio(form, field, value, missing)} {escape(text)}</label>"
        for value, text in options.items()
    )
    return block(form, field, question, f'<div class="options">{rows}</div>', missing)


def pair_block(form: Form, number: int, pair: Pair, missing: Sequence[str]) -> str:
    field = f"q{number}"
    question = f"{number}. Which word cloud describes <strong>{escape(pair.word)}</strong> more coherently?"
    panels = []
    for (place, label), cloud in zip(PLACES.items(), (pair.first, pair.second)):
        words = escape(", ".join(cloud.words))
        panels.append(
            f"<label>{radio(form, field, place, missing)} <span>{label}</span>"
            f'<img src="/cloud/{escape(cloud.name)}.png" alt="{words}" width="710" height="486"></label>'
        )
    neither = f"<label>{radio(form, field, 'neither', missing)} {CHOICES['neither']}</label>"
    body = f'<div class="pair">{"".join(panels)}</div><div class="options">{neither}</div>'
    return block(form, field, question, body, missing)


def radio(form: Form, field: str, value: str, missing: Sequence[str], is_first: bool = False) -> str:
    checked = " checked" if form.chosen.get(field) == value else ""
    first = is_first or value in (next(iter(FOLLOWS)), next(iter(ATTENTION)), next(iter(PLACES)))
    focused = " autofocus" if first and missing and field == missing[0] else ""
    return f'<input type="radio" name="{field}" value="{value}" required{checked}{focused}>'


def block(form: Form, field: str, question: str, body: str, missing: Sequence[str]) -> str:
    name = escape(form.fields()[field])
    mark = ' class="missing"' if field in missing else ""
    return f'<fieldset id="{field}" data-name="{name}"{mark}><legend>{question}</legend>{body}</fieldset>\n'


def notice(title: str, sentence: str) -> str:
    return document(title, f'<p role="status">{escape(sentence)}</p>')


def document(title: str, body: str) -> str:
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
