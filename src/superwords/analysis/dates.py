"""Columns of dates, years or other numbers, and their periods."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.errors import InputError

# Finest first; a decade is counted by years.
PERIODS = {"day": "D", "week": "W", "month": "M", "quarter": "Q", "year": "Y", "decade": "Y"}
_YEARS = ("year", "jahr", "año", "année", "jaar", "anno")  # names of columns of plain years
_MOST_PERIODS = 24  # maximum number of automatic periods
_FULL_DATE = r"\s*\d{4}-\d{1,2}(-\d{1,2})?([T ].*)?\s*|\s*\d{4}/\d{1,2}/\d{1,2}\s*"


class Periods(NamedTuple):
    """Contiguous periods from the first document to the last, and that of each row."""

    labels: list[str]
    middle: np.ndarray  # in years, or in the column's own unit
    of_row: np.ndarray  # -1: the row has no value
    when: np.ndarray  # of each row, in the same unit; NaN: no value


def as_dates(values: pd.Series) -> pd.Series | None:
    """Return the column as dates; None if it holds none (or only plain years)."""
    if isinstance(values.dtype, pd.DatetimeTZDtype):
        return values.dt.tz_localize(None)
    if values.dtype.kind == "M":
        return values
    known = values.dropna()
    if not len(known) or not all(isinstance(one, str) or hasattr(one, "isoformat") for one in known):
        return None
    texts = known.map(lambda one: one if isinstance(one, str) else one.isoformat())
    if not texts.str.fullmatch(_FULL_DATE).all():
        return None
    dates = pd.to_datetime(texts.str.strip().str.replace("/", "-"), format="ISO8601", errors="coerce", utc=True)
    return None if dates.isna().any() else dates.dt.tz_localize(None).reindex(values.index)


def as_years(values: pd.Series, name: Any = "") -> pd.Series | None:
    """Return dates, or the plain years of a column so named, as years with their fraction; None if it holds neither."""
    if values.dtype.kind in "iuf" and str(name).casefold() in _YEARS:
        return values.astype(float) if (values.dropna() % 1 == 0).all() else None
    dates = as_dates(values)
    return None if dates is None else _in_years(dates)


def _in_years(dates: Any) -> pd.Series:
    own = pd.Series(dates).dt
    return own.year + (own.day_of_year - 1) / 365.25


def time_columns(metadata: pd.DataFrame) -> list[Any]:
    """Return time columns: dates, or whole numbers that are years."""
    known = {name: as_years(metadata[name], name) for name in metadata.columns}
    return [name for name, time in known.items() if time is not None and time.nunique() > 1]


class TimeScale(NamedTuple):
    """The unit in which a regression counts dates, and the date it counts from."""

    centre: float  # in years
    unit: str
    years: float  # length of the unit
    is_date: bool  # False: plain years

    def text(self, years: float) -> str:
        """Return a year with its fraction as a date, or as a year."""
        if not self.is_date:
            return f"{years:g}"
        whole = int(np.floor(years))
        return str((pd.Timestamp(whole, 1, 1) + pd.Timedelta(days=round((years - whole) * 365.25))).date())

    def shown(self, value: float) -> Any:
        """Return a scaled value in the format of the user's column."""
        years = self.centre + value * self.years
        return self.text(years) if self.is_date else years


def time_scale(years: Any, is_date: bool) -> TimeScale:
    """Choose the unit by the span: decades from 20 years on, years from 2, months from two months, else days."""
    span = float(years.max() - years.min())
    units = {"decade": 10.0, "year": 1.0} | ({"month": 1 / 12, "day": 1 / 365.25} if is_date else {})
    unit = next((name for name, length in units.items() if span >= 2 * length), list(units)[-1])
    return TimeScale(round(float(years.mean()), 6 if is_date else 0), unit, units[unit], is_date)


def make_periods(values: pd.Series, column: str, by: Any = None) -> Periods:
    """Cut a column into periods by unit (of dates) or width (of numbers); raise InputError without dates or numbers."""
    values = values.reset_index(drop=True)
    if not values.notna().any():
        raise InputError(f"The column {column!r} is empty; choose one that has dates or numbers.")
    dates = as_dates(values)
    if dates is not None:
        return _date_periods(dates, by)
    numbers = pd.to_numeric(values, errors="coerce").astype(float)
    wrong = values[~np.isfinite(numbers) & values.notna()]
    for value in wrong:
        if as_dates(pd.Series([value], dtype=object)) is None:
            reason = "which is not a date such as 2017-03-15, a year or a number"
            raise InputError(f"The column {column!r} has {value!r} in it, {reason}.")
    if len(wrong):
        raise InputError(f"The column {column!r} has dates and numbers in it; give a column of one kind.")
    return _number_periods(numbers, by)


def _date_periods(dates: pd.Series, by: Any) -> Periods:
    if by is not None and (not isinstance(by, str) or by not in PERIODS):
        raise InputError(f"by={by!r} is not a period of dates; give one of {', '.join(map(repr, PERIODS))}.")
    known = dates.dropna()
    # The finest unit that leaves at most two dozen periods.
    days = (known.max() - known.min()).days + 1
    length = {"day": 1, "week": 7, "month": 30.4, "quarter": 91.3, "year": 365.25}
    unit = by or next((unit for unit, n in length.items() if days / n <= _MOST_PERIODS), "decade")
    of_row = np.full(len(dates), -1)
    if unit == "decade":
        decades = np.arange(known.dt.year.min() // 10, known.dt.year.max() // 10 + 1)
        labels, middle = [f"{10 * k}s" for k in decades], decades * 10 + 5.0
        of_row[known.index] = known.dt.year // 10 - decades[0]
    else:
        of_known = known.dt.to_period(PERIODS[unit])
        every = pd.period_range(of_known.min(), of_known.max(), freq=PERIODS[unit])
        labels = [str(one.start_time.date()) if unit == "week" else str(one) for one in every]
        middle = (_in_years(every.start_time) + _in_years(every.end_time)).to_numpy() / 2
        of_row[known.index] = every.get_indexer(of_known)
    return Periods(labels, middle, of_row, _in_years(dates).to_numpy(dtype=float))


def _number_periods(numbers: pd.Series, by: Any) -> Periods:
    is_whole, width = bool((numbers.dropna() % 1 == 0).all()), by
    if by is None:
        span = float(numbers.max() - numbers.min())
        size = 10.0 ** np.floor(np.log10(span / 12)) if span > 0 else 1.0
        round_width = float(next(size * k for k in (1, 2, 5, 10) if size * k >= span / 12))
        width = 1.0 if is_whole and span < _MOST_PERIODS else round_width
    if isinstance(width, bool) or not isinstance(width, int | float | np.number) or not 0 < width < np.inf:
        raise InputError(f"by={by!r} is not a width for a column of numbers; give a positive number, such as 10.")
    place = np.floor(numbers / float(width) + 1e-9)
    first, last = int(place.min()), int(place.max())
    if last - first > 10_000:
        raise InputError(f"by={by!r} cuts the column into {last - first + 1:,} periods; give a greater width.")
    edges = np.arange(first, last + 1) * float(width)
    plain = is_whole and width == 1
    labels = [f"{a:g}" if plain else f"{a:g} to {a + width:g}" for a in edges]
    of_row = (place - first).fillna(-1).to_numpy(dtype=int)
    return Periods(labels, edges if plain else edges + width / 2, of_row, numbers.to_numpy())
