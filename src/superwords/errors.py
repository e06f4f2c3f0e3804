"""Errors that a user can act on, shown without a traceback on the command line.

An error has the parameter, its value and a remedy as fields; the message is formatted once for each surface, as
``n_sweeps=0`` in Python and as ``--sweeps 0`` on the command line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from numbers import Integral
from typing import Any

NO_VALUE: Any = object()
_LONGEST = 2_000  # characters of a message
_FIELD = re.compile(r"\{(\w+)(?::(\d+))?\}")
Spelling = Callable[[str, Any], str]  # a parameter and its value (or NO_VALUE) as one surface writes them


def in_python(parameter: str, value: Any = NO_VALUE) -> str:
    """Return a parameter as Python code spells it."""
    return parameter if value is NO_VALUE else f"{parameter}={value!r}"


class InputError(ValueError):
    """An argument, a file or an option cannot be used.

    Parameters
    ----------
    problem : str
        What is wrong; the whole message if nothing else is given. With `parameter`, the rest of a sentence that
        begins with the parameter and its value. With `parameter` or `remedy` it is a template: ``{thin}`` and
        ``{thin:5}`` name parameters.
    parameter : str, optional
        The parameter at fault.
    value : object, optional
        Its value.
    remedy : str
        What to do instead; a template too.

    Examples
    --------
    >>> error = InputError("is not known", "init", "topic", "choose 'rows' or 'topics'")
    >>> str(error)
    "init='topic' is not known; choose 'rows' or 'topics'."
    >>> error.parameter, error.value
    ('init', 'topic')
    """

    def __init__(
        self, problem: object = "", parameter: str | None = None, value: Any = NO_VALUE, remedy: str = ""
    ) -> None:
        self.problem, self.parameter, self.value, self.remedy = str(problem), parameter, value, remedy
        super().__init__(self.worded(in_python))

    def worded(self, spelling: Spelling) -> str:
        """Return the sentence with parameters and their values spelled as one surface does.

        Parameters
        ----------
        spelling : callable
            From a parameter and its value, if it has one, to how the surface writes them.

        Returns
        -------
        str

        Examples
        --------
        >>> from superwords import InputError
        >>> error = InputError("must be at least 1", "n_sweeps", 0)
        >>> error.worded(lambda parameter, value: f"--{parameter.removeprefix('n_')} {value}")
        '--sweeps 0 must be at least 1.'
        """
        if self.parameter is None and not self.remedy:
            return _shortened(self.problem)

        def field(match: re.Match[str]) -> str:
            name, value = match.groups()
            return spelling(name, NO_VALUE if value is None else int(value))

        subject = "" if self.parameter is None else f"{spelling(self.parameter, self.value)} "
        end = f"; {self.remedy}." if self.remedy else "."
        return _shortened(subject + _FIELD.sub(field, self.problem + end))


def _shortened(text: str) -> str:
    """Return a message without its middle if it quotes a very long value."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 600]} … {text[-500:]}"


class ReadingWarning(UserWarning):
    """Warn of a property of the documents that is likely to spoil the concepts."""


class StorageError(InputError):
    """Error of a file that is missing, damaged or locked, or of a full disk."""


class ClusterError(InputError):
    """A cluster cannot be reached, or was lost."""


class InterruptedFitError(InputError):
    """Signal that sampling was stopped early; the message explains how to continue."""


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def whole_number(name: str, value: Any, least: int = 1) -> int:
    """Return a parameter as an int; raise InputError if it is not a number from `least` on."""
    if not is_whole(value) or value < least:
        raise InputError(f"is not a whole number of at least {least}", name, value)
    return int(value)


def import_extra(module: str, what: str, extra: str, instead: str = "") -> Any:
    """Import a library of an extra; raise InputError, which says how to install it, if it is missing."""
    try:
        return import_module(module)
    except ImportError:
        package = {"docx": "python-docx"}.get(module, module.partition(".")[0])
        raise InputError(f"{what} needs {package}; install the extra superwords[{extra}]{instead}.") from None
