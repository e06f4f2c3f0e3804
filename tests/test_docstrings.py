"""The examples in the docstrings of the public functions run, and none of these is without its sections."""

import doctest
import inspect

import pytest

import superwords
from superwords import ConceptModel, Corpus, features
from superwords.corpus import reading
from superwords.features import specs
from superwords.fitting import curation, found, relations

# Between the estimator and the store, not for users.
NEED_NO_EXAMPLE = {"start", "to_parts", "from_parts", "keep_in"}


@pytest.fixture(scope="module")
def names():
    """What the class's own example leaves behind; those of its methods go on with it."""
    globs: dict[str, object] = {}
    (example,) = [
        one for one in doctest.DocTestFinder(recurse=False).find(ConceptModel, "ConceptModel", globs=globs)
    ]
    assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
    return example.globs


def methods(cls):
    for name, value in vars(cls).items():
        value = getattr(value, "__func__", value)
        if inspect.isfunction(value) and not name.startswith(("_", "set_")) and name not in NEED_NO_EXAMPLE:
            yield pytest.param(cls, name, id=f"{cls.__name__}.{name}")


PUBLIC = [
    pytest.param(superwords, "fit", id="fit"),
    *methods(ConceptModel),
    *methods(found.FoundConcepts),
    *methods(relations.RelatedConcepts),
    *methods(curation.CuratedConcepts),
    pytest.param(Corpus, "from_counts", id="Corpus.from_counts"),
    pytest.param(Corpus, "from_texts", id="Corpus.from_texts"),
    pytest.param(Corpus, "from_tokens", id="Corpus.from_tokens"),
    pytest.param(reading, "read_documents", id="read_documents"),
    pytest.param(specs, "make_features", id="make_features"),
    *(pytest.param(features, name, id=name) for name in features.__all__ if name != "WordFeatures"),
]


@pytest.mark.parametrize(("home", "name"), PUBLIC)
def test_an_example_runs(names, home, name):
    function = getattr(home, name)
    text = inspect.getdoc(function) or ""
    parameters = set(inspect.signature(function).parameters) - {"self", "cls"}
    assert "Returns\n-------" in text
    assert not parameters or "Parameters\n----------" in text
    for parameter in parameters - {"options"}:
        assert parameter in text, f"{parameter} is not explained"
    globs = dict(names)
    tests = doctest.DocTestFinder(recurse=False).find(function, name, globs=globs)
    assert sum(len(one.examples) for one in tests) > 0
    for one in tests:
        assert doctest.DocTestRunner().run(one).failed == 0
