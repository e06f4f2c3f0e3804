"""Stop words of a language, from the package stopwordsiso."""

from __future__ import annotations

from functools import lru_cache

import stopwordsiso

from superwords.text.sentences import elided_words

# Dates, like numbers, say when and not what.
CALENDAR = {
    "en": "january february march april june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday",
    "de": "januar februar märz april mai juni juli august september oktober november dezember "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december "
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
}
# Stop words that name something where they are nouns; only a tagger can tell.
MEANINGFUL_NOUNS = {"en": "state research fire computer home world system"}


@lru_cache
def meaningful_nouns(language: str) -> frozenset[str]:
    """Return base forms of nouns that stay in a tagged text although they are stop words."""
    return frozenset(MEANINGFUL_NOUNS.get(language, "").split())


@lru_cache
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language by its code, such as "en"; a language without a list has none."""
    known = stopwordsiso.stopwords(language) if has_stop_words(language) else ()
    return frozenset(known) | frozenset(CALENDAR.get(language, "").split()) | elided_words(language)


def has_stop_words(language: str) -> bool:
    """Return whether there is a stop-word list for a language."""
    return bool(stopwordsiso.has_lang(language))
