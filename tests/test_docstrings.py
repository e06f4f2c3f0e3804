"""The examples in the docstrings of all that is public run, and none of these is without its sections."""

import copy
import doctest
import inspect
from types import ModuleType

import pytest

import superwords
from superwords import ConceptModel
from superwords.text.read import read_documents

# Between the estimator and those that run it, not for users.
NEED_NO_EXAMPLE = {"start"}


@pytest.fixture(scope="module")
def names():
    """What the class's own example leaves behind; each of the others goes on with a copy of its model."""
    globs: dict[str, object] = {}
    (example,) = [one for one in doctest.DocTestFinder(recurse=False).find(ConceptModel, "ConceptModel", globs=globs)]
    assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
    return example.globs


def is_ours(thing):
    return (getattr(thing, "__module__", None) or "").startswith("superwords")


def public(home, called):
    """Name and thing of all that a module or class has for users, what it inherits from us included."""
    listed = home.__all__ if isinstance(home, ModuleType) else dir(home)
    for name in listed:
        value = inspect.getattr_static(home, name) if isinstance(home, type) else getattr(home, name)
        value = getattr(value, "__func__", value)
        if name.startswith("_") or name in NEED_NO_EXAMPLE:
            continue
        if isinstance(value, ModuleType) or (isinstance(value, type) and is_ours(value)):
            yield f"{called}{name}", value
            yield from public(value, f"{called}{name}.")
        elif is_ours(getattr(value, "fget", None) or getattr(value, "func", None) or value):
            yield f"{called}{name}", value


ALL = dict(public(superwords, ""))
FUNCTIONS = {name: value for name, value in ALL.items() if inspect.isfunction(value)}
FUNCTIONS |= {"read_documents": read_documents}


def test_nothing_public_is_overlooked():
    wanted = {"fit", "load", "ConceptModel.fit", "ConceptModel.concepts", "ConceptModel.effects", "plots.cloud"}
    wanted |= {"ConceptModel.merge", "ConceptModel.save", "Corpus.from_texts", "features.cooccurrence"}
    assert wanted <= set(FUNCTIONS)
    assert {"ConceptModel.trace_", "ConceptModel.result_", "Corpus.n_words"} <= set(ALL) - set(FUNCTIONS)


@pytest.mark.parametrize("name", [name for name in ALL if name not in FUNCTIONS])
def test_what_is_no_function_is_described(name):
    assert inspect.getdoc(ALL[name])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_example_runs(names, name):
    function = FUNCTIONS[name]
    text = inspect.getdoc(function) or ""
    parameters = set(inspect.signature(function).parameters) - {"self", "cls"}
    assert "Returns\n-------" in text
    assert not parameters or "Parameters\n----------" in text
    for parameter in parameters - {"options"}:
        assert parameter in text, f"{parameter} is not explained"
    globs = {**names, "model": copy.deepcopy(names["model"])}
    tests = doctest.DocTestFinder(recurse=False).find(function, name, globs=globs)
    assert sum(len(one.examples) for one in tests) > 0
    for one in tests:
        assert doctest.DocTestRunner().run(one).failed == 0
