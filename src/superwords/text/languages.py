"""Whether texts look like the language they are read as, by the stop words they use."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import stopwordsiso

JUDGED = 25  # words from which a text shows its language; shorter ones are put together
SHOWN = 200  # words that all texts must have together
SHARE = 0.25  # of the words: what the stop words of a language make up in it at least,
LEAD = 1.5  # and how many times those of the language named
MOST = 0.75
SOME = 0.1  # share of the words in texts of another language that is worth saying
NAMES = {
    **{"ar": "Arabic", "bg": "Bulgarian", "ca": "Catalan", "cs": "Czech", "da": "Danish", "de": "German"},
    **{"el": "Greek", "en": "English", "es": "Spanish", "et": "Estonian", "eu": "Basque", "fa": "Persian"},
    **{"fi": "Finnish", "fr": "French", "ga": "Irish", "gl": "Galician", "he": "Hebrew", "hi": "Hindi"},
    **{"hr": "Croatian", "hu": "Hungarian", "id": "Indonesian", "it": "Italian", "lt": "Lithuanian"},
    **{"lv": "Latvian", "nl": "Dutch", "no": "Norwegian", "pl": "Polish", "pt": "Portuguese"},
    **{"ro": "Romanian", "ru": "Russian", "sk": "Slovak", "sl": "Slovenian", "sv": "Swedish"},
    **{"tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese"},
}
_WORD = re.compile(r"[^\W\d_]+")


@lru_cache
def _languages_of() -> dict[str, tuple[str, ...]]:
    """Return the languages that have a word in their list of stop words."""
    found: dict[str, list[str]] = {}
    for code in sorted(stopwordsiso.langs()):
        for word in stopwordsiso.stopwords(code):
            found.setdefault(word, []).append(code)
    return {word: tuple(codes) for word, codes in found.items()}


def doubtful_language(texts: Iterable[str], languages: str | Sequence[str]) -> str | None:
    """Return a sentence if many of the texts look like another language than the one they are read as, else None.

    Parameters
    ----------
    texts : iterable of str
        A sample of the texts.
    languages : str or sequence of str
        The code of the language of all texts, or of each; "none" is not judged.

    Returns
    -------
    str or None

    Examples
    --------
    >>> doubtful_language(["Der Hund und die Katze sind nicht in dem Haus, das wir sehen."] * 20, "en")[:42]
    'The texts look like German (de), not Engli'
    >>> doubtful_language(["The dog and the cat are not in the house that we see."] * 20, "en")
    """
    n_read = 0
    seen: Counter[tuple[str, str]] = Counter()  # words in texts of a language that look like another
    for code, words in _judged(texts, languages):
        n_read += len(words)
        look = _look(words, code)
        if look != code:
            seen[code, look] += len(words)
    if n_read < SHOWN or not seen:
        return None
    (code, look), n_words = seen.most_common(1)[0]
    share = n_words / n_read
    if share < SOME:
        return None
    named = f"{_named(look)}, not {_named(code)}"
    if share > MOST:
        return f"The texts look like {named}: give the language {look} (--language {look})."
    return (
        f"Part of the texts ({share:.0%} of the words) look like {named}: "
        "give each document its language, by a column (--language column:NAME)."
    )


def _judged(texts: Iterable[str], languages: str | Sequence[str]) -> Iterable[tuple[str, list[str]]]:
    """Lists of words, each of one language as named and long enough to be judged."""
    pending: dict[str, list[str]] = {}
    for n, text in enumerate(texts):
        code = languages if isinstance(languages, str) else languages[n]
        if code == "none":
            continue
        words = pending.setdefault(code, [])
        words += _WORD.findall(text[:5000].lower())
        if len(words) >= JUDGED:
            yield code, pending.pop(code)


def _look(words: list[str], code: str) -> str:
    """The language whose stop words are clearly more frequent than those of the language named, or that one."""
    languages_of = _languages_of()
    counts = Counter(code for word in words for code in languages_of.get(word, ()))
    best, n_best = max(counts.items(), key=lambda item: (item[1], item[0]), default=(code, 0))
    is_clear = n_best >= SHARE * len(words) and n_best > LEAD * counts[code]
    return best if is_clear else code


def _named(code: str) -> str:
    return f"{NAMES[code]} ({code})" if code in NAMES else f'the language "{code}"'
