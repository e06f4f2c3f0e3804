"""Stop words of each language (package stopwordsiso), and whether texts look like the language they are read as."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

import stopwordsiso

from superwords.text.sentences import clean_text, elided_words

# Dates, like numbers, say when and not what.
CALENDAR = {
    "en": "january february march april june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday",
    "de": "januar februar märz april mai juni juli august september oktober november dezember "
    "montag dienstag mittwoch donnerstag freitag samstag sonntag",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december "
    "maandag dinsdag woensdag donderdag vrijdag zaterdag zondag",
}
# Where the package's list is short (Ukrainian) or in a broken encoding (Urdu).
MORE = {
    "uk": """і й та або чи але що як на не ні у в з із зі до від для за про по при над під між через без після перед
        коли де хто це цей ця ці цього цієї цьому той те ті того тих тому який яка яке які якого якої яких якій його
        її їх їм їхній він вона воно вони я ти ми ви мій твій свій наш ваш своє свої свого своєї своїх свою бо якщо
        щоб так також тільки лише ще вже же ж би був була було були бути є буде будуть має мають може можуть
        повинен повинна повинні весь вся все всі всіх кожен кожний кожна кожне кожному ніхто ніщо жодний жодна""",
    "ur": """کا کی کے کو نے میں سے پر اور یا اس ان یہ وہ ہے ہیں تھا تھی تھے ہو ہوں ہوا ہوئی ہوئے گا گی گے کہ جو
        جس جن جسے کسی کوئی کچھ بھی ہی تک لیے لئے ساتھ اپنا اپنی اپنے نہ نہیں کر کرے کریں کرنا کرنی
        کرنے کیا کیے کئے جائے جایٔے جائیں جاتا جاتی جاتے جا گیا گئی گئے دیا دی دیے لیا لی ہر تمام
        ایک دو بعد پہلے مگر لیکن اگر تو ہم تم آپ میرا میری میرے ہمارا ہماری ہمارے مجھے انہیں انھیں
        اسے جب تب جہاں یہاں وہاں کیوں کیسے اب پھر بہت زیادہ نیز والا والی والے رہا رہی رہے سکتا سکتی
        سکتے ہونا ہونے ہوتا ہوتی ہوتے چاہیے چاہئے چونکہ بلکہ جیسے ایسا ایسی ایسے بغیر دوران""",
}
# Stop words that name something where they are nouns; only a tagger can tell.
MEANINGFUL_NOUNS = {"en": "state research fire computer home world system"}
_NAMES = """ar Arabic bg Bulgarian ca Catalan cs Czech da Danish de German el Greek en English es Spanish et Estonian
    eu Basque fa Persian fi Finnish fr French ga Irish gl Galician he Hebrew hi Hindi hr Croatian hu Hungarian
    id Indonesian it Italian lt Lithuanian lv Latvian nl Dutch no Norwegian pl Polish pt Portuguese ro Romanian
    ru Russian sk Slovak sl Slovenian sv Swedish tr Turkish uk Ukrainian vi Vietnamese"""
NAMES = dict(re.findall(r"(\w+) (\w+)", _NAMES))
JUDGED = 25  # words from which a text shows its language; shorter ones are put together
SHOWN = 200  # words that all texts must have together
SHARE = 0.25  # of the words: what the stop words of a language make up in it at least,
LEAD = 1.5  # and how many times those of the language named
MOST = 0.75
SOME = 0.1  # share of the words in texts of another language that is worth a warning
_WORD = re.compile(r"[^\W\d_]+")


@lru_cache
def meaningful_nouns(language: str) -> frozenset[str]:
    """Return base forms of nouns that stay in a tagged text although they are stop words."""
    return frozenset(MEANINGFUL_NOUNS.get(language, "").split())


@lru_cache
def stop_words(language: str) -> frozenset[str]:
    """Return the stop words of a language by its code, such as "en"; a language without a list has none."""
    known = stopwordsiso.stopwords(language) if has_stop_words(language) else ()
    more = f"{CALENDAR.get(language, '')} {MORE.get(language, '')}".split()
    return frozenset(unicodedata.normalize("NFC", word) for word in (*known, *more)) | elided_words(language)


def has_stop_words(language: str) -> bool:
    """Return whether there is a stop-word list for a language."""
    return bool(stopwordsiso.has_lang(language))


def doubtful_language(texts: Iterable[str], languages: str | Sequence[str]) -> str | None:
    """Return a sentence if many of the texts look like another language than the one they are read as, else None.

    `languages` is the code of the language of all texts, or of each; "none" is not judged.
    """
    n_read = 0
    seen: Counter[tuple[str, str]] = Counter()  # words in texts of a language that look like another
    pending: dict[str, list[str]] = {}
    for n, text in enumerate(texts):
        code = languages if isinstance(languages, str) else languages[n]
        words = pending.setdefault(code, [])
        words += _WORD.findall(clean_text(text[:5000]).lower())
        if code != "none" and len(words) >= JUDGED:
            n_read += len(words)
            seen[code, _look(words, code)] += len(pending.pop(code))
    others = Counter({pair: n_words for pair, n_words in seen.items() if pair[0] != pair[1]})
    if n_read < SHOWN or not others:
        return None
    (code, look), n_words = others.most_common(1)[0]
    share = n_words / n_read
    named = ", not ".join(f"{NAMES[c]} ({c})" if c in NAMES else f'the language "{c}"' for c in (look, code))
    if share > MOST:
        return f"The texts look like {named}: give the language {look} (--language {look})."
    if share < SOME:
        return None
    return (
        f"Part of the texts ({share:.0%} of the words) look like {named}: "
        "give each document its language, by a column (--language column:NAME)."
    )


@lru_cache
def _languages_of() -> dict[str, list[str]]:
    """Return the languages that have a word in their list of stop words."""
    found: dict[str, list[str]] = {}
    for code in sorted(stopwordsiso.langs()):
        for word in stop_words(code):
            found.setdefault(word, []).append(code)
    return found


def _look(words: list[str], code: str) -> str:
    """Return the language whose stop words are clearly more frequent than those of the language named, or that one."""
    languages_of = _languages_of()
    counts = Counter(code for word in words for code in languages_of.get(word, ()))
    best, n_best = max(counts.items(), key=lambda item: (item[1], item[0]), default=(code, 0))
    is_clear = n_best >= SHARE * len(words) and n_best > LEAD * counts[code]
    return best if is_clear else code
