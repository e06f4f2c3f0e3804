"""Functions of a result as methods of `ConceptModel`, with the docstring and the signature that they have."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import pandas as pd

from superwords.fitting.folding import new_outcomes
from superwords.posterior.result import Result
from superwords.storage.model_file import Choice

Given = ParamSpec("Given")
Found = TypeVar("Found")
Model = TypeVar("Model")
_RETURNS = "    Returns\n    -------\n    ConceptModel\n        The model itself.\n\n"


def table(
    function: Callable[Concatenate[Any, Given], Found],
    finish: Callable[[Result, Found], Found] | None = None,
    of: str = "result_",
) -> Callable[Concatenate[Any, Given], Found]:
    """Return the method that calls a function with `result_`; `finish` is applied to what it returns."""

    @wraps(function)
    def method(self: Any, /, *args: Given.args, **options: Given.kwargs) -> Found:
        found = function(getattr(self, of), *args, **options)
        return found if finish is None else finish(self.result_, found)

    return _signed(method, _parameters(function))


def regression(
    function: Callable[..., pd.DataFrame], finish: Callable[[Result, pd.DataFrame], pd.DataFrame] | None = None
) -> Callable[..., pd.DataFrame]:
    """Return the method of a regression that may also be given new documents, in the place of `outcomes`."""

    @wraps(function)
    def method(self: Any, /, *args: Any, X: Any = None, metadata: Any = None, **options: Any) -> pd.DataFrame:
        found = function(self.result_, *args, outcomes=new_outcomes(self, X, metadata), **options)
        return found if finish is None else finish(self.result_, found)

    kept = [one for one in _parameters(function) if one.name != "outcomes"]
    new = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in ("X", "metadata")]
    return _signed(method, [*kept, *new])


def decision(
    function: Callable[Concatenate[Result, Given], list[Choice]],
) -> Callable[Concatenate[Model, Given], Model]:
    """Return the method that adds the choices which a function makes to those of the model, and returns the model."""

    @wraps(function)
    def method(self: Any, /, *args: Given.args, **options: Given.kwargs) -> Any:
        return self.choose([*self.choices_, *function(self.result_, *args, **options)])

    before, mark, after = (function.__doc__ or "").partition("    Examples\n")
    method.__doc__ = before + _RETURNS + mark + after
    return _signed(method, _parameters(function), "ConceptModel")


def _parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    first, *others = inspect.signature(function).parameters.values()
    return [first.replace(name="self", annotation=first.empty), *others]


def _signed(method: Any, parameters: Sequence[inspect.Parameter], returns: str | None = None) -> Any:
    """Return a method with these parameters, for `help` and the documentation."""
    annotation = returns or method.__annotations__.get("return", inspect.Signature.empty)
    method.__signature__ = inspect.Signature(parameters, return_annotation=annotation)
    return method
