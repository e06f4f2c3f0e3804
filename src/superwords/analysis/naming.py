"""Names that people give to concepts and themes, or that a language model proposes: its prompt and its reply."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pandas as pd

from superwords.analysis.documents import representative_documents
from superwords.analysis.tables import top_words
from superwords.errors import InputError
from superwords.posterior.result import Result

LONGEST_NAME = 100
LONGEST_TEXT = 240  # characters of a description
BLANK = "\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5"  # letters, marks and symbols that leave no ink
_JOINERS = "\u200c\u200d"  # needed between two characters by Persian, Indic scripts and emoji
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


def checked_name(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name trimmed ("": the automatic one); refuse characters that are invisible or reorder the text."""
    if not isinstance(name, str):
        raise InputError(f"{name!r} is not a name; give text.")
    plain = " ".join(name.split())
    if len(plain) > longest:
        raise InputError(f"The name has {len(plain)} characters; give at most {longest}.")
    hidden = next((one for k, one in enumerate(plain) if _is_hidden(plain, k)), None)
    if hidden is not None:
        raise InputError(f"The name has a character that cannot be shown (U+{ord(hidden):04X}); give plain text.")
    if plain and not any(unicodedata.category(one)[0] in "LNPS" for one in plain):
        raise InputError("The name has no character that can be seen; give plain text.")
    return plain


def _is_hidden(text: str, k: int) -> bool:
    """Return whether a character is invisible, a direction control or unassigned."""
    one = text[k]
    if one in _JOINERS:
        beside = (text[k - 1 : k], text[k + 1 : k + 2])
        return any(not each or each.isspace() or each in _JOINERS for each in beside)
    # Cc, Cf: controls, of direction too, and tags; Cs: half a surrogate pair; Co, Cn: private and unassigned.
    is_selector = 0xE0100 <= ord(one) <= 0xE01EF or 0x180B <= ord(one) <= 0x180F
    return unicodedata.category(one)[0] == "C" or one in BLANK or is_selector


def name_prompt(result: Result, concept: int, language: str = "en", taken: Collection[str] = ()) -> str:
    """Return the prompt for one concept: its words, passages, and names in use."""
    texts = result.corpus.texts is not None
    passages = representative_documents(result, concept, _PASSAGES)["passage"] if texts else ()
    parts = [
        "Name a concept that a topic model found in a collection of texts.",
        f"Its words, the most telling first: {', '.join(top_words(result, concept, _WORDS))}.",
        "\n".join(["Passages that use it:", *(f"- {one}" for one in passages)]) if len(passages) else "",
        f"These names are taken by other concepts: {'; '.join(taken)}." if taken else "",
        f"Reply in the language {language!r} with two lines and nothing else:\n"
        "Name: two to five words that no other concept could have\n"
        "Description: one sentence that says what the texts say of it",
    ]
    return "\n\n".join(filter(None, parts))


def prompt_for_all(result: Result, language: str = "en") -> str:
    """Return one prompt for all shown concepts; `pasted` reads the reply."""
    concepts = "\n".join(f"{j}: {', '.join(top_words(result, j, _WORDS))}" for j in result.shown)
    return (
        "Name the concepts that a topic model found in a collection of texts. Each line has a concept's number and "
        f"its words, the most telling first.\n\n{concepts}\n\n"
        f"Reply in the language {language!r} with one line per concept and nothing else, no name twice:\n"
        "NUMBER: two to five words | one sentence that describes it"
    )


def propose(
    result: Result, ask: Callable[[str], str], language: str, concepts: Sequence[int], taken: Sequence[str]
) -> list[Proposal]:
    """Ask for the name of each concept; an empty or repeated one is asked for twice."""
    names, out = list(taken), []
    for concept in concepts:
        found = Proposal(concept)
        for _ in range(2):
            try:
                reply = ask(name_prompt(result, concept, language, names))
            except Exception as error:
                found = found._replace(problem=f"the function failed ({type(error).__name__}: {error})")
                continue
            name, description = read_reply(reply)
            found = Proposal(concept, name, description, "" if name else "the reply had no name")
            if name and name == _distinct(result, found, names).name:
                break
        out.append(_distinct(result, found, names) if found.name else found)
        names += filter(None, [out[-1].name])
    if out and not any(one.name for one in out):
        raise InputError(f"No concept got a name: {out[0].problem}.")
    return out


def pasted(result: Result, reply: str, taken: Sequence[str] = ()) -> list[Proposal]:
    """Parse the reply to `prompt_for_all`: lines of number, name and description."""
    names, out = list(taken), dict[int, Proposal]()
    for line in str(reply).splitlines():
        found = _NUMBERED.match(_shown(line))
        if found is None or int(found[1]) not in result.shown:
            continue
        name, *rest = _BREAK.split(found[2], maxsplit=1)
        one = Proposal(int(found[1]), _clean(name, True), _clean(rest[0] if rest else "", False))
        if one.name and one.concept not in out:
            out[one.concept] = _distinct(result, one, names)
            names.append(out[one.concept].name)
    if not out:
        example = '"3: Insurance markets | What it is"'
        raise InputError(f"The text names no concept; give lines of a number and a name, such as {example}.")
    return list(out.values())


def read_reply(reply: Any) -> tuple[str, str]:
    """Return the name and the description of a reply, cleaned; "" where it has none.

    Examples
    --------
    >>> read_reply('Name: "School meals"\\nDescription: What pupils eat. And more.')
    ('School meals', 'What pupils eat.')
    """
    text = reply if isinstance(reply, str) else ""
    lines, parts = [_shown(line) for line in text.splitlines()], dict[str, str]()
    with suppress(ValueError):
        found = re.search(r"\{.*\}", text, re.S)
        content = json.loads(found.group()) if found else {}
        parts = {str(key).lower(): value for key, value in content.items() if isinstance(value, str)}
    if not parts:
        for labelled in filter(None, map(_LABELLED.match, lines)):
            is_name = labelled[1].lower() in ("name", "title", "titel")
            parts.setdefault("name" if is_name else "description", labelled[2])
    if "name" not in parts:
        parts = dict(zip(("name", "description"), (line for line in lines if line.strip(_QUOTES))))
    return _clean(parts.get("name", ""), True), _clean(parts.get("description", ""), False)


def _shown(text: str) -> str:
    """Return a line without characters that are not shown."""
    return "".join(" " if unicodedata.category(mark) in ("Cc", "Cf", "Cs", "Co") else mark for mark in text)


def _clean(text: str, is_name: bool) -> str:
    """Return a name, or the first sentence of a description, that can be shown; "" if there is none."""
    plain = " ".join(_shown(text).split()).strip(_QUOTES)
    if is_name:
        plain = plain.rstrip(".:;,")
        if len(plain) > _LONGEST:
            plain = plain[: _LONGEST + 1].rpartition(" ")[0].rstrip(".:;, ") or plain[:_LONGEST]
    else:
        plain = re.split(r"(?<=[.!?。！？])\s+", plain, maxsplit=1)[0]
        if len(plain) > LONGEST_TEXT:
            plain = plain[: LONGEST_TEXT - 1].rpartition(" ")[0] + "…"
    with suppress(InputError):
        return checked_name(plain, LONGEST_TEXT)
    return ""


def _distinct(result: Result, found: Proposal, taken: Sequence[str]) -> Proposal:
    """Return the proposal with a word or its number added if the name is taken."""
    words, in_use = top_words(result, found.concept, _WORDS), {one.casefold() for one in taken}
    names = [found.name, *(f"{found.name} ({word})" for word in [*words, found.concept])]
    name = next((one for one in names if one.casefold() not in in_use), "")
    return found._replace(name=name, problem="" if name else "every name was taken")


def proposal_table(result: Result, proposals: Sequence[Proposal]) -> pd.DataFrame:
    """Return the proposals beside the words of their concepts."""
    table = pd.DataFrame(proposals, columns=pd.Index(Proposal._fields))
    table.insert(3, "top_words", [top_words(result, one.concept) for one in proposals])
    return table
