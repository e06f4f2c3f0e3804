"""Stop words of a language, from the package stopwordsiso."""

from __future__ import annotations

from functools import lru_cache

import stopwordsiso

from superwords.errors import InputError

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
    """Base forms of nouns that stay in a tagged text although the list of stop words has them."""
    return frozenset(MEANINGFUL_NOUNS.get(language, "").split())


@lru_cache
def stop_words(language: str) -> frozenset[str]:
    """The stop words of a language by its two-letter code, such as "en"; "none" has no stop words."""
    if language == "none":
        return frozenset()
    if not stopwordsiso.has_lang(language):
        known = ", ".join(sorted(stopwordsiso.langs()))
        raise InputError(
            f"There is no stop-word list for the language {language!r}; give one of {known}, "
            'or language="none" for plain words with no stop words.'
        )
    return frozenset(stopwordsiso.stopwords(language)) | frozenset(CALENDAR.get(language, "").split())
