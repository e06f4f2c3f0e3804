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


def table(
    function: Callable[Concatenate[Any, Given], Found], finish: Callable[[Result, Found], Found] | None = None
) -> Callable[Concatenate[Any, Given], Found]:
    """Return the method that calls a function with `result_`; `finish` is applied to what it returns."""

    @wraps(function)
    def method(self: Any, /, *args: Given.args, **options: Given.kwargs) -> Found:
        found = function(self.result_, *args, **options)
        return found if finish is None else finish(self.result_, found)

    return _signed(method, function)


def regression(
    function: Callable[..., pd.DataFrame], finish: Callable[[Result, pd.DataFrame], pd.DataFrame] | None = None
) -> Callable[..., pd.DataFrame]:
    """Return the method of a regression that may also be given new documents, in the place of `outcomes`."""

    @wraps(function)
    def method(self: Any, /, *args: Any, X: Any = None, metadata: Any = None, **options: Any) -> pd.DataFrame:
        found = function(self.result_, *args, outcomes=new_outcomes(self, X, metadata), **options)
        return found if finish is None else finish(self.result_, found)

    return _signed(method, function, without="outcomes", and_also=("X", "metadata"))


def decision(
    function: Callable[Concatenate[Result, Given], list[Choice]],
) -> Callable[Concatenate[Model, Given], Model]:
    """Return the method that adds the choices which a function makes to those of the model, and returns the model."""

    @wraps(function)
    def method(self: Any, /, *args: Given.args, **options: Given.kwargs) -> Any:
        return self.choose([*self.choices_, *function(self.result_, *args, **options)])

    return _signed(method, function, returns="ConceptModel")


def _signed(
    method: Any, function: Callable[..., Any], without: str = "", and_also: Sequence[str] = (), returns: Any = None
) -> Any:
    """Give a method the signature of the function that it calls, and say what it returns."""
    signature = inspect.signature(function)
    first, *others = (one for one in signature.parameters.values() if one.name != without)
    new = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in and_also]
    parameters = [first.replace(name="self", annotation=first.empty), *others, *new]
    annotation = returns or signature.return_annotation
    method.__signature__ = inspect.Signature(parameters, return_annotation=annotation)
    return with_returns(method)


def with_returns(method: Any) -> Any:
    """Add to a method's docstring what it returns, as its signature has it, where it does not say more."""
    before, mark, after = (inspect.getdoc(method) or "").partition("Examples\n")
    if mark and "Returns\n" not in before:
        kind = str(inspect.signature(method).return_annotation).removeprefix("pd.")
        more = "\n    The model itself." if kind == "ConceptModel" else ""
        method.__doc__ = f"{before}Returns\n-------\n{kind}{more}\n\n{mark}{after}"
    return method
