"""Clean text, its sentences, and their tokens, by rules for most scripts, by segmenters for those without spaces.

Everything is linear in the text.
"""

from __future__ import annotations

import html
import re
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from functools import cache, partial
from itertools import groupby
from typing import Any

from superwords.errors import InputError, import_extra

# Tags that separate sentences; other HTML tags are inline and leave nothing behind.
_BLOCK = """address article aside blockquote body br caption dd div dl dt fieldset figcaption figure footer form
    h1 h2 h3 h4 h5 h6 head header hr html li main nav ol option p pre section select table tbody td textarea tfoot
    th thead title tr ul"""
_INLINE = """a abbr acronym area audio b base bdi bdo big button canvas center cite code col colgroup data del
    details dfn em embed font i iframe img input ins kbd label legend link map mark meta meter noscript object
    output param picture progress q rp rt ruby s samp script small source span strike strong style sub summary sup
    svg time track tt u var video wbr"""
_TAG = re.compile(rf"</?({'|'.join(f'{_BLOCK} {_INLINE}'.split())})(?:\s[^<>]*)?/?>|<!doctype[^<>]*>", re.IGNORECASE)
_BREAKS = frozenset(_BLOCK.split())
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_HIDDEN = {"<!--": "-->", "<script": "</script>", "<style": "</style>"}  # elements whose content is not text
_UNSEEN = re.compile("[\u00ad\u2060\ufeff]")  # soft hyphen, word joiner, byte order mark
# Ligatures and Arabic glyphs of PDFs.
_PRESENTATION = re.compile("[\ufb00-\ufb06\ufb50-\ufdff\ufe70-\ufefc]+")
_SURROGATE = re.compile("[\ud800-\udfff]")
MOST_LEVELS = 3  # of entities inside entities: "&amp;nbsp;"

ABBREVIATIONS = {
    "en": """mr mrs ms dr prof sen rep reps sens gov gen col lt capt sgt rev hon st jr sr inc corp co ltd no
        vs etc approx dept est fig jan feb aug sept oct nov dec tbsp tsp oz lb lbs min hr hrs""",
    "de": """dr prof hr fr st nr bzw usw ca evtl ggf inkl zzgl vgl bspw sog geb str min std bd abs jh
        el tl pkg pck""",
    "nl": "dhr mevr mw dr prof drs ir mr nr bijv bv enz ca evt incl excl vgl blz jl resp st",
}
_TITLES = "mr mrs ms dr prof sen rep gov gen col lt capt sgt rev hon st hr fr dhr mevr drs"
TITLES = frozenset(_TITLES.split())
# Articles and the like that lose their vowel before a word: l'école, dell'Italia, d'aigua.
ELISIONS = {
    "fr": "l d j m t s n c qu jusqu lorsqu puisqu quoiqu",
    "it": """l un d c n s m t v gl dell nell all dall sull coll quest quell sant senz tutt mezz com dov cos
        nessun ciascun bell""",
    "ca": "l d m t s n",
}
_NOT_ELIDED = "aujourd'hui d'abord d'ailleurs d'accord d'après quelqu'un quelqu'une presqu'île"
WRAPPED_LINE = 60
LONGEST_TOKEN = 100  # characters; longer ones (base64, DNA) are no words
SPACED_CLAUSE = 80  # characters after which a space ends a sentence of a language without marks

_CLOSING = "\"'”’»)]」』）】》"
_MARKS = ".!?…"  # end a sentence before a space only
_FULL_STOPS = "。！？｡．।॥۔؟։።፧፨။៕។᠃᠉꓿"  # end one anywhere
_CLAUSES_BY_SPACE = ("th",)
_WORD_BEFORE = re.compile(r"[\w.]+$")
_LIST_MARK = re.compile(r"[ \t]{0,40}(?:[-*•–]|\d{1,3}[.)])[ \t]")
_ACRONYM = re.compile(r"(?:\w\.)+\w?")
_CLITIC = re.compile(r"(n't|'(?:s|re|ll|ve|d|m))$", re.IGNORECASE)
_CATALAN_CLITIC = re.compile(r"'(?:ls?|ns?|m|t|s)$", re.IGNORECASE)
_TURKISH = str.maketrans("İI", "iı")
_SAME = str.maketrans("’‐‑ʼ", "'--'")
_HEBREW = "[\u05d0-\u05ea]"
_JOINERS = {"ca": "·", "fi": ":", "sv": ":"}  # besides hyphen and apostrophe, inside a word

# Segmenters of the extra `cjk`, for languages written without spaces; and languages that have none.
SEGMENTERS = {"zh": "jieba", "ja": "janome.tokenizer", "th": "pythainlp.tokenize"}
NO_SEGMENTER = {"km": "Khmer", "lo": "Lao", "my": "Burmese", "bo": "Tibetan", "dz": "Dzongkha"}

Tokenizer = Callable[[str], Iterable[str]]


def clean_text(text: str) -> str:
    """Return a text in NFC with entities decoded, HTML tags removed and lone surrogates replaced by U+FFFD.

    Examples
    --------
    >>> clean_text("<p>Tea &amp;amp; milk.</p><p>Sta\\u0308dte</p>").split()
    ['Tea', '&', 'milk.', 'Städte']
    >>> clean_text("x < y, but <b>y</b> > z")
    'x < y, but y > z'
    """
    for _ in range(MOST_LEVELS):
        plain = text
        if "<" in text:
            for start, end in _HIDDEN.items():
                plain = _without_elements(plain, start, end)
            plain = _TAG.sub(lambda tag: "\n\n" if (tag[1] or "p").lower() in _BREAKS else "", plain)
        plain = _ENTITY.sub(lambda found: html.unescape(found.group()), plain) if "&" in plain else plain
        if plain == text:
            break
        text = plain
    if text.isascii():
        return text
    text = without_surrogates(_UNSEEN.sub("", text))
    text = _PRESENTATION.sub(lambda found: unicodedata.normalize("NFKC", found.group()), text)
    return text if unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)


def without_surrogates(value: Any) -> Any:
    """Return a text with U+FFFD for each half of a surrogate pair, which neither a file nor a screen takes."""
    return _SURROGATE.sub("\ufffd", value) if isinstance(value, str) and not value.isascii() else value


def _without_elements(text: str, start: str, end: str) -> str:
    """Remove the text between two marks; leave an element that is never closed."""
    lower = text.lower() if start != "<!--" else text
    if len(lower) != len(text) or start not in lower:
        return text
    kept, at = [], 0
    while (begin := lower.find(start, at)) >= 0 and (close := lower.find(end, begin)) >= 0:
        kept.append(text[at:begin])
        at = close + len(end)
    return "\n\n".join([*kept, text[at:]])


@cache
def combining_marks() -> str:
    """Return Unicode's combining marks, which `\\w` leaves out, as ranges of a character class."""
    marks = enumerate(code for code in range(0x300, 0x1F000) if unicodedata.category(chr(code))[0] == "M")
    runs = ([code for _, code in run] for _, run in groupby(marks, key=lambda mark: mark[1] - mark[0]))
    return "".join(f"{chr(run[0])}-{chr(run[-1])}" for run in runs)


@cache
def _token_pattern(is_ascii: bool, has_address: bool, joiner: str) -> re.Pattern[str]:
    """Return the pattern of a token; simple texts get simple patterns, which are faster."""
    letter, inner = "[^\\W\\d_]", "\\w"
    if not is_ascii:
        inner = f"[\\w\u200c\u200d{combining_marks()}]"
    between = f"(?:[-‐‑'’ʼ&{joiner}]|(?<={_HEBREW})[\"״׳](?={_HEBREW}))"
    kinds = [
        rf"(?P<acronym>(?:{letter}\.){{2,}})",
        rf"(?P<word>{letter}{inner}*(?:{between}{inner}+)*)(?P<dot>\.)?",
        rf"(?P<number>\d+(?:[.,:/]\d+)*{inner}*(?:-{inner}+)*)",
        r"(?P<other>(?P<mark>[^\w\s])(?P=mark){3,}|[^\w\s]|_)",
    ]
    if has_address:
        address = r"(?:https?://|www\.)\S+|[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,9}|(?<!\w)@\w+"
        kinds.insert(0, rf"(?P<url>{address})")
    return re.compile("|".join(kinds))


@cache
def abbreviations(language: str) -> frozenset[str]:
    """Return the abbreviations of a language that end with a dot but no sentence."""
    return TITLES.union(ABBREVIATIONS.get(language, "").split())


@cache
def elided_words(language: str) -> frozenset[str]:
    """Return the elided articles of a language as tokens: "l'", "qu'"."""
    return frozenset(f"{word}'" for word in ELISIONS.get(language, "").split())


@cache
def _end_pattern(language: str) -> re.Pattern[str]:
    marks = _MARKS + (";" if language == "el" else "")
    space = "|(?<=\\w)[ \u200b]" if language in _CLAUSES_BY_SPACE else ""
    return re.compile(rf"[{re.escape(marks + _FULL_STOPS)}]+[{re.escape(_CLOSING)}]*|\n{space}")


def sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """Return start and end of each sentence; list items and paragraphs are sentences, wrapped lines are not."""
    is_lower_case = text.islower()
    spans, start = [], 0
    for mark in _end_pattern(language).finditer(text):
        (at, end), found = mark.span(), mark.group()
        if found == "\n":
            ends = _line_ends_sentence(text, at, end)
        elif found.isspace():
            ends = at - start >= SPACED_CLAUSE
        elif not set(_FULL_STOPS).isdisjoint(found):
            ends = True
        elif end < len(text) and not text[end].isspace():
            continue
        else:  # a mark with a space before it ends one, too, as in "of the wing . the results"
            is_apart = is_lower_case and found.rstrip(_CLOSING) in (".", "!", "?") and text[at - 1 : at].isspace()
            ends = is_apart or _mark_ends_sentence(text, at, end, found, language)
        if ends:
            if text[start:end].strip():
                spans.append((start, end))
            start = end
    if text[start:].strip():
        spans.append((start, len(text)))
    return spans


def _line_ends_sentence(text: str, at: int, after: int) -> bool:
    line_start = text.rfind("\n", 0, at) + 1
    rest = text[after : after + 80]
    if not rest or rest[0] in "\n\r" or not rest.split("\n", 1)[0].strip() or _LIST_MARK.match(rest):
        return True
    if _LIST_MARK.match(text, line_start) and not rest[0].isspace():
        return True
    return at - line_start < WRAPPED_LINE and not rest.lstrip()[0].islower()


def _mark_ends_sentence(text: str, at: int, after: int, mark: str, language: str) -> bool:
    following = text[after : after + 20].lstrip().lstrip("\"'“‘„«([")
    if following and following[0].islower():
        return False
    before = _WORD_BEFORE.search(text, max(0, at - 30), at) if mark == "." else None
    if before is None:
        return True
    word = before.group()
    if word.isdigit():
        return len(word) > 2
    is_initial = len(word) == 1 and word.isupper() and word != "I"
    is_acronym = bool(_ACRONYM.fullmatch(word)) and "." in word
    return not (is_initial or is_acronym or word.lower() in abbreviations(language))


def tokens(sentence: str, language: str, tokenizer: Tokenizer | None = None) -> list[str]:
    """Return words, numbers and punctuation marks in order, without addresses and handles.

    English clitics ("don't", "women's") and elided articles ("l'école") are tokens of their own. A
    `tokenizer` replaces these rules.
    """
    if tokenizer is not None:
        return [token for token in map(str, tokenizer(sentence)) if token.strip()]
    if language in SEGMENTERS:
        return [token for token in segmenter(language)(sentence) if token.strip()]
    if language in ("tr", "az"):  # dotted and dotless i are two letters
        sentence = sentence.translate(_TURKISH)
    has_address = "@" in sentence or "://" in sentence or "www." in sentence
    pattern = _token_pattern(sentence.isascii(), has_address, _JOINERS.get(language, ""))
    known = abbreviations(language)
    found: list[str] = []
    for match in pattern.finditer(sentence):
        kind = match.lastgroup
        if kind in ("word", "dot"):
            word = match.group("word").translate(_SAME).rstrip("\u200c\u200d")
            found += _at_apostrophe(word, language) if "'" in word else [word]
            if kind == "dot" and word.lower() not in known:
                found.append(".")
        elif kind == "other":
            found.append(match.group()[0])
        elif kind != "url":
            found.append(match.group())
    return found


def _at_apostrophe(word: str, language: str) -> list[str]:
    """Cut clitics off the end of a word ("women's") and elided articles off its start ("l'école")."""
    pattern = {"en": _CLITIC, "ca": _CATALAN_CLITIC}.get(language)
    clitic = pattern.search(word) if pattern is not None else None
    if clitic and clitic.start():
        return [word[: clitic.start()], clitic.group()]
    head, _, rest = word.partition("'")
    is_elided = f"{head.lower()}'" in elided_words(language) and word.lower() not in _NOT_ELIDED.split()
    return [f"{head}'", rest] if is_elided and rest else [word]


def check_segmenter(language: str) -> None:
    """Raise InputError if a language needs a segmenter that is not installed or does not exist."""
    if language in NO_SEGMENTER:
        raise InputError(
            f"{NO_SEGMENTER[language]} ({language}) is written without spaces between words, and there is no "
            "segmenter for it here; give tokenizer=, a function from a sentence to its words."
        )
    if language in SEGMENTERS:
        segmenter(language)


@cache
def segmenter(language: str) -> Tokenizer:
    """Return the function that cuts a sentence of one of these languages into words."""
    what = f"The language {language!r} is written without spaces, and cutting it into words"
    with warnings.catch_warnings():  # jieba's own source has deprecated escapes
        warnings.simplefilter("ignore")
        library = import_extra(SEGMENTERS[language], what, "cjk", ", or give tokenizer=")
    if language == "th":
        # "newmm" alone takes exponential time on some strings; the safe variant cuts long ones.
        return partial(library.word_tokenize, engine="newmm-safe", keep_whitespace=False)
    if language == "ja":
        japanese = library.Tokenizer(wakati=True)
        return lambda sentence: list(japanese.tokenize(sentence))
    chinese = library.Tokenizer()
    # Its initialize() would load a marshalled cache from the shared temporary folder.
    chinese.FREQ, chinese.total = chinese.gen_pfdict(chinese.get_dict_file())
    chinese.initialized = True
    cut: Tokenizer = chinese.lcut
    return cut
