"""Names proposed by a language model: the prompt, and parsing of its reply.

Any function from prompt to text can be used. A proposal is a decision like the others, marked until it is accepted.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import pandas as pd

from superwords.analysis.documents import representative_documents
from superwords.analysis.naming import LONGEST_TEXT, checked_name
from superwords.analysis.tables import concept_index, top_words
from superwords.errors import InputError
from superwords.posterior.result import Result

_WORDS = 15
_PASSAGES = 2
_LONGEST = 60  # characters of a proposed name
_QUOTES = "\"'“”„«»‘’`*_# "
_LABELLED = re.compile(r"^\W*(?:\w+\s+)?(name|title|description|beschreibung|titel)\W*[:=]\s*(.*)$", re.I)
_NUMBERED = re.compile(r"^\W*(?:concept\s+)?(\d+)\s*[.:)\-–—|]\s*(.+)$", re.I)
_BREAK = re.compile(r"\s+[–—|-]\s+|:\s+|\t+")


class Proposal(NamedTuple):
    """A name and a sentence for a concept; `problem` is the reason if there is none."""

    concept: int
    name: str = ""
    description: str = ""
    problem: str = ""


def name_prompt(result: Result, concept: int, language: str = "en", taken: Collection[str] = ()) -> str:
    """Return the prompt for one concept: its words, passages, and names in use."""
    concept_index(result, concept)
    lines = [
        "Name a concept that a topic model found in a collection of texts.",
        "",
        f"Its words, the most telling first: {', '.join(top_words(result, concept, _WORDS))}.",
    ]
    passages = _passages(result, concept)
    if passages:
        lines += ["", "Passages that use it:", *(f"- {passage}" for passage in passages)]
    if taken:
        lines += ["", f"These names are taken by other concepts: {'; '.join(taken)}."]
    lines += [
        "",
        f"Reply in the language {language!r} with two lines and nothing else:",
        "Name: two to five words that no other concept could have",
        "Description: one sentence that says what the texts say of it",
    ]
    return "\n".join(lines)


def prompt_for_all(result: Result, language: str = "en") -> str:
    """Return one prompt for all shown concepts; `pasted` reads the reply."""
    words = [f"{j}: {', '.join(top_words(result, j, _WORDS))}" for j in result.shown]
    return "\n".join(
        [
            "Name the concepts that a topic model found in a collection of texts. Each line has a concept's number and "
            "its words, the most telling first.",
            "",
            *words,
            "",
            f"Reply in the language {language!r} with one line per concept and nothing else, no name twice:",
            "NUMBER: two to five words | one sentence that describes it",
        ]
    )


def _passages(result: Result, concept: int) -> list[str]:
    if result.corpus.texts is None:
        return []
    return representative_documents(result, concept, _PASSAGES)["passage"].tolist()


def propose(
    result: Result, ask: Callable[[str], str], language: str, concepts: Sequence[int], taken: Sequence[str]
) -> list[Proposal]:
    """Ask for the name of each concept; an empty or repeated one is asked for twice."""
    names, out = list(taken), []
    for concept in concepts:
        found = _ask(result, ask, language, concept, names)
        if found.name:
            names.append(found.name)
        out.append(found)
    if out and not any(one.name for one in out):
        raise InputError(f"No concept got a name: {out[0].problem}.")
    return out


def _ask(
    result: Result, ask: Callable[[str], str], language: str, concept: int, taken: Sequence[str]
) -> Proposal:
    found = Proposal(concept)
    for _ in range(2):
        try:
            reply = ask(name_prompt(result, concept, language, taken))
        except Exception as error:
            found = found._replace(problem=f"the function failed ({type(error).__name__}: {error})")
            continue
        name, description = read_reply(reply)
        found = Proposal(concept, name, description, "" if name else "the reply had no name")
        if name and not _is_taken(name, taken):
            return found
    return _distinct(result, found, taken) if found.name else found


def pasted(result: Result, reply: str, taken: Sequence[str] = ()) -> list[Proposal]:
    """Parse the reply to `prompt_for_all`: lines of number, name and description."""
    names, out = list(taken), list[Proposal]()
    for line in str(reply).splitlines():
        found = _NUMBERED.match(_shown(line))
        if found is None or int(found.group(1)) not in result.shown:
            continue
        name, *rest = _BREAK.split(found.group(2), maxsplit=1)
        one = Proposal(int(found.group(1)), _clean_name(name), _clean_sentence(rest[0] if rest else ""))
        if one.name and one.concept not in {other.concept for other in out}:
            one = _distinct(result, one, names)
            names.append(one.name)
            out.append(one)
    if not out:
        raise InputError(
            'The text names no concept; give lines of a number and a name, such as "3: Insurance markets | What it is".'
        )
    return out


def read_reply(reply: Any) -> tuple[str, str]:
    """Return the name and the description of a reply, cleaned; "" where it has none.

    Examples
    --------
    >>> read_reply('Name: "School meals"\\nDescription: What pupils eat. And more.')
    ('School meals', 'What pupils eat.')
    """
    text = reply if isinstance(reply, str) else ""
    parts = _json_parts(text) or _labelled_parts(text)
    if "name" not in parts:
        lines = [line for line in map(_shown, text.splitlines()) if line.strip(_QUOTES)]
        parts = dict(zip(("name", "description"), lines))
    return _clean_name(parts.get("name", "")), _clean_sentence(parts.get("description", ""))


def _json_parts(text: str) -> dict[str, str]:
    found = re.search(r"\{.*\}", text, re.S)
    try:
        content = json.loads(found.group()) if found else None
    except ValueError:
        return {}
    if not isinstance(content, dict):
        return {}
    return {str(key).lower(): value for key, value in content.items() if isinstance(value, str)}


def _labelled_parts(text: str) -> dict[str, str]:
    out: dict[str, str] = {}
    for line in map(_shown, text.splitlines()):
        found = _LABELLED.match(line)
        if found:
            key = "name" if found.group(1).lower() in ("name", "title", "titel") else "description"
            out.setdefault(key, found.group(2))
    return out


def _shown(text: str) -> str:
    """Return a line without characters that are not shown."""
    return "".join(" " if unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Co") else mark for mark in text)


def _clean_name(text: str) -> str:
    plain = " ".join(_shown(text).split()).strip(_QUOTES).rstrip(".:;,")
    if len(plain) > _LONGEST:
        plain = plain[: _LONGEST + 1].rpartition(" ")[0].rstrip(".:;, ") or plain[:_LONGEST]
    try:
        return checked_name(plain)
    except InputError:
        return ""


def _clean_sentence(text: str) -> str:
    plain = " ".join(_shown(text).split()).strip(_QUOTES)
    sentence = re.split(r"(?<=[.!?。！？])\s+", plain, maxsplit=1)[0]
    if len(sentence) > LONGEST_TEXT:
        sentence = sentence[: LONGEST_TEXT - 1].rpartition(" ")[0] + "…"
    try:
        return checked_name(sentence, LONGEST_TEXT)
    except InputError:
        return ""


def _is_taken(name: str, taken: Collection[str]) -> bool:
    return name.casefold() in {one.casefold() for one in taken}


def _distinct(result: Result, found: Proposal, taken: Sequence[str]) -> Proposal:
    """Return the proposal with a word or its number added if the name is taken."""
    words = [*top_words(result, found.concept, _WORDS), str(found.concept)]
    for name in [found.name, *(f"{found.name} ({word})" for word in words)]:
        if not _is_taken(name, taken):
            return found._replace(name=name, problem="")
    return found._replace(name="", problem="every name was taken")


def proposal_table(result: Result, proposals: Sequence[Proposal]) -> pd.DataFrame:
    """Return the proposals beside the words of their concepts."""
    return pd.DataFrame(
        {
            "concept": [one.concept for one in proposals],
            "name": [one.name for one in proposals],
            "description": [one.description for one in proposals],
            "top_words": [top_words(result, one.concept) for one in proposals],
            "problem": [one.problem for one in proposals],
        }
    )
