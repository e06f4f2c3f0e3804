"""Names that people give to concepts and themes."""

from __future__ import annotations

import unicodedata

from superwords.errors import InputError

LONGEST_NAME = 100
BLANK = "\u115f\u1160\u2800\u3164\uffa0"  # letters and symbols that leave no ink


def checked_name(name: str) -> str:
    """A name without spaces around it; "" asks for the automatic name again."""
    if not isinstance(name, str):
        raise InputError(f"{name!r} is not a name; give text.")
    plain = " ".join(name.split())
    if len(plain) > LONGEST_NAME:
        raise InputError(f"The name has {len(plain)} characters; give at most {LONGEST_NAME}.")
    # Cc: control, Cs: half of a surrogate pair, which no file can hold; Bidi overrides would reorder a page.
    if any(unicodedata.category(one) in ("Cc", "Cs") or one in "\u202a\u202b\u202d\u202e" for one in plain):
        raise InputError("The name has characters that cannot be shown; give plain text.")
    if plain and not any(unicodedata.category(one)[0] in "LNPS" and one not in BLANK for one in plain):
        raise InputError("The name has no character that can be seen; give plain text.")
    return plain
