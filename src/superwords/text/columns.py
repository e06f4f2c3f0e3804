"""Columns beside the text: dates in other notations, missing groups, and what could be compared."""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from superwords.errors import InputError

MISSING = frozenset({"na", "n/a", "nan", "null", "none", "-", "?", "."})  # groups that are none
MOST_GROUPS = 12  # values of a column that is proposed as groups
LEAST_ROWS = 5  # documents of a group on average
_ISO = re.compile(r"\s*\d{4}(-\d{1,2}(-\d{1,2})?([T ].*)?|/\d{1,2}/\d{1,2})?\s*")
_DATE_NAME = re.compile(
    r"(?:^|_)(date|datum|datetime|fecha|data|day|published|created)(?:$|_)", re.IGNORECASE
)
_OTHER_DATE = re.compile(r"\s*\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b.*|\s*[^\W\d_]{3,12}\.? \d{1,2},? \d{4}\s*")


def parse_dates(metadata: pd.DataFrame, date_format: str) -> pd.DataFrame:
    """Return the metadata with every column whose values all have a date format as dates.

    Raises InputError if there is no such column.
    """
    found, nearest, most = {}, "", 0
    for name in metadata.columns:
        values = metadata[name]
        if values.dtype.kind in "Mfib":
            continue
        texts = values.map(lambda value: None if _is_missing(value) else str(value).strip())
        try:
            dates = pd.to_datetime(texts, format=date_format, errors="coerce")
        except (ValueError, OverflowError) as error:
            raise InputError(f"The date format {date_format!r} cannot be used: {error}.") from None
        bad = texts[texts.notna() & dates.isna()]
        n_good = int(dates.notna().sum())
        if n_good and not len(bad):
            found[name] = dates
        elif n_good > most:
            most, nearest = n_good, f" ({name!r} has {bad.iloc[0]!r} in row {int(bad.index[0]) + 1})"
    if not found:
        raise InputError(
            f"No column has dates in the format {date_format!r}{nearest}; give a format such as %d.%m.%Y."
        )
    return metadata.assign(**found)


def without_missing_groups(
    metadata: pd.DataFrame, groups: Sequence[str]
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Return the metadata with "NA", "N/A", "nan" and the like missing in group columns, and how many were."""
    changed: dict[str, int] = {}
    for name in groups:
        is_none = metadata[name].map(
            lambda value: isinstance(value, str) and _is_missing(value) and value != ""
        )
        if is_none.any():
            changed[name] = int(is_none.sum())
            metadata = metadata.assign(**{name: metadata[name].mask(is_none.astype(bool))})
    return metadata, changed


def proposals(metadata: pd.DataFrame, groups: Sequence[str]) -> list[str]:
    """Return a line about columns to compare, if none was named, and one about columns of dates."""
    lines = []
    by_group = [] if groups else [name for name in metadata.columns if _is_group(metadata[name])]
    if by_group:
        lines.append(f"Columns that could be compared: {', '.join(map(str, by_group[:5]))} (groups NAME).")
    dates = [name for name in metadata.columns if _all_match(metadata[name], _ISO)]
    if dates:
        lines.append(f"Columns of dates, for trends: {', '.join(map(str, dates[:5]))}.")
    return lines


def doubtful_dates(metadata: pd.DataFrame) -> list[str]:
    """Return a sentence about each column of dates that only a date format can tell."""
    out = []
    for name in metadata.columns:
        if _DATE_NAME.search(str(name)) and _all_match(metadata[name], _OTHER_DATE):
            example = next(value for value in metadata[name] if not _is_missing(value))
            out.append(
                f"The column {name!r} has dates such as {example!r}, which trends cannot order; "
                "give the date format (--date-format %d.%m.%Y)."
            )
    return out


def _is_missing(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in MISSING or not value.strip()
    return value is None or value != value


def _is_group(values: pd.Series) -> bool:
    if not all(isinstance(value, str) for value in values.dropna().head(200)):
        return False
    try:
        n_values = values.nunique()
    except TypeError:  # lists and the like
        return False
    return 2 <= n_values <= MOST_GROUPS and len(values) >= LEAST_ROWS * n_values


def _all_match(values: pd.Series, pattern: re.Pattern[str]) -> bool:
    known = [value for value in values if not _is_missing(value)]
    return bool(known) and all(isinstance(value, str) and pattern.fullmatch(value) for value in known)
