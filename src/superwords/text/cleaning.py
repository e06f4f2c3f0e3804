"""Clean raw text: Unicode NFC, entities decoded, HTML markup removed. Everything is linear in the text."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Any

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
