"""Names that people give to concepts and themes."""

from __future__ import annotations

import unicodedata

from superwords.errors import InputError

LONGEST_NAME = 100
LONGEST_TEXT = 240  # characters of a description
BLANK = "\u115f\u1160\u2800\u3164\uffa0\u034f\u17b4\u17b5"  # letters, marks and symbols that leave no ink
_JOINERS = "\u200c\u200d"  # needed between two characters by Persian, Indic scripts and emoji


def checked_name(name: str, longest: int = LONGEST_NAME) -> str:
    """Return a name without spaces around it; "" asks for the automatic name again.

    Refuses characters that cannot be seen, or that reorder the text around them.
    """
    if not isinstance(name, str):
        raise InputError(f"{name!r} is not a name; give text.")
    plain = " ".join(name.split())
    if len(plain) > longest:
        raise InputError(f"The name has {len(plain)} characters; give at most {longest}.")
    hidden = next((one for k, one in enumerate(plain) if _is_hidden(plain, k)), None)
    if hidden is not None:
        raise InputError(
            f"The name has a character that cannot be shown (U+{ord(hidden):04X}); give plain text."
        )
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
