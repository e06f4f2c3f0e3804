"""scikit-learn's own checks of an estimator, each exception with its reason; pipelines, clone and set_output."""

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from superwords import ConceptModel

QUICK = ConceptModel(n_chains=1, n_sweeps=2, random_state=0, n_jobs=1, progress=False)
TEXTS = ["milk sugar coffee", "boat harbour tide", "sugar coffee", "tide boat boat"] * 5

_OWN_SENTENCE = "a ValueError is raised, in a sentence of our own that says what would be right: "
EXPECTED = {
    "check_n_features_in_after_fitting": _OWN_SENTENCE + "'features' are ours of the words, so it says columns",
    "check_positive_only_tag_during_fit": _OWN_SENTENCE + "it names the row and column that is negative",
    "check_complex_data": _OWN_SENTENCE + "counts are whole numbers",
    "check_estimators_empty_data_messages": _OWN_SENTENCE + "it speaks of documents and words",
    "check_estimators_nan_inf": _OWN_SENTENCE + "it names the row and column that is not finite",
    "check_fit2d_predict1d": _OWN_SENTENCE + "a row per document and a column per word",
    "check_dict_unchanged": "transform tells in unknown_words_ which words it had to leave out",
}


@parametrize_with_checks([QUICK], expected_failed_checks=lambda estimator: EXPECTED, xfail_strict=True)
def test_scikit_learn_finds_what_it_expects(estimator, check):
    check(estimator)


def test_a_pipeline_after_a_count_vectorizer():
    pipeline = make_pipeline(CountVectorizer(), clone(QUICK).set_params(n_sweeps=10))
    weights = pipeline.fit_transform(TEXTS)
    model = pipeline[-1]
    assert weights.shape == (20, model.n_concepts_)
    np.testing.assert_array_equal(weights, model.doc_concept_)
    folded = pipeline.transform(TEXTS[:4])
    np.testing.assert_array_equal(folded, model.transform(pipeline[0].transform(TEXTS[:4])))
    np.testing.assert_allclose(folded.sum(axis=1), 1.0)
    # Fold-in is given one draw and the fit averages over them: alike in the main concept, not in the figures.
    np.testing.assert_array_equal(folded.argmax(axis=1), weights[:4].argmax(axis=1))
    assert len(set(folded.argmax(axis=1))) == 2
    assert list(pipeline.get_feature_names_out()) == [f"concept_{j + 1}" for j in range(model.n_concepts_)]


def test_a_clone_has_the_parameters_and_no_fit():
    model = ConceptModel(b1=2.0, n_sweeps=4, random_state=1).fit([[1, 0], [0, 2]])
    again = clone(model)
    assert again.get_params() == model.get_params()
    assert not again.__sklearn_is_fitted__()


def test_names_in_and_out():
    table = pd.DataFrame({"tea": [2, 1, 0, 0], "milk": [1, 2, 0, 0], "ink": [0, 0, 3, 1]}, index=list("abcd"))
    model = clone(QUICK).set_output(transform="pandas").fit(table, features=None)
    assert model.n_features_in_ == 3
    assert list(model.feature_names_in_) == ["tea", "milk", "ink"]
    weights = model.transform(table)
    assert list(weights.columns) == list(model.get_feature_names_out())
    assert list(weights.index) == list("abcd")
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
