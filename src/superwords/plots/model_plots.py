"""Draw a fitted model: its concepts, their words by group, its chains."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import sparse

from superwords.analysis.groups import group_values, named_column
from superwords.analysis.tables import concept_index, concept_names
from superwords.analysis.verdict import plain_quantities
from superwords.errors import InputError
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.settings import make_starts, make_theta
from superwords.plots.charts import histogram, traces
from superwords.plots.clouds import cloud, cloud_pair
from superwords.posterior.traces import mixing
from superwords.sampler.init.starts import initial_state
from superwords.sampler.state import n_concepts as count_concepts

MOST_WORDS = 40  # in a cloud; further words would all have the smallest legible size


def concept_weights(model: ConceptModel, concept: int) -> dict[str, float]:
    """Return the most telling words that are used for a concept, with their scores."""
    table = model.words_of(concept)
    return _heaviest(table["word"], table["score"])


def _heaviest(words: pd.Series, weights: pd.Series) -> dict[str, float]:
    """Return the first words with a positive weight."""
    top = weights[weights > 0].sort_values(ascending=False, kind="stable").index[:MOST_WORDS]
    return dict(zip(words[top], weights[top].astype(float)))


def concept_cloud(model: ConceptModel, concept: int) -> Figure:
    """Draw the cloud of a concept (1, 2, …)."""
    return cloud(concept_weights(model, concept), concept_label(model, concept))


def concept_label(model: ConceptModel, concept: int) -> str:
    """Return a concept's number and name."""
    return f"{concept}. {concept_names(model.result_)[concept_index(model.result_, concept)]}"


def group_clouds(model: ConceptModel, column: str, concept: int, first: Any = None, second: Any = None) -> Figure:
    """Draw a concept's words in two groups of documents, by default the largest two."""
    if first is None and second is None:
        first, second = largest_groups(model, column)
    words = model.group_words(column, concept)
    labels = [str(first), str(second)]
    known = {str(value) for value in group_values(model.corpus_.metadata[column]).dropna()}
    for label in labels:
        if label not in known:
            raise InputError(f"There is no group {label!r} in the column {column!r}.")
    weights = [
        _heaviest(own["word"], own["share"]) for own in (words[words["group"].astype(str) == label] for label in labels)
    ]
    name = concept_label(model, concept)
    return cloud_pair(weights[0], weights[1], [f"{name}: {label}" for label in labels])


def largest_groups(model: ConceptModel, column: str) -> tuple[Any, Any]:
    """Return the two groups of a column with the most documents."""
    sizes = group_values(named_column(model.corpus_.metadata, column)).value_counts()
    if len(sizes) < 2:
        raise InputError(f"The column {column!r} has fewer than two groups, so none can be compared.")
    return sizes.index[0], sizes.index[1]


def before_after(model: ConceptModel, concept: int, start: sparse.csr_array | None = None) -> Figure:
    """Draw a concept beside the most similar one in the initial state of its chain.

    The chain is that of the most probable draw. Sizes are relative to the panel's highest score, since a start has no
    draws to average over. `start` is `start_scores(model)`, to compute it once for many concepts.
    """
    after = concept_weights(model, concept)
    score = start_scores(model) if start is None else start
    before: dict[str, float] = {}
    if score.shape[0]:
        own_words = model.result_.concept_word[concept_index(model.result_, concept)]
        length = np.sqrt(np.asarray(score.multiply(score).sum(axis=1)).ravel())
        nearest = int(np.argmax((score @ own_words) / np.where(length > 0, length, 1.0)))
        row = pd.Series(score[[nearest]].toarray().ravel())
        before = _heaviest(pd.Series(model.corpus_.vocabulary, dtype=object), row)
    name = concept_label(model, concept)
    _, start_name = shown_start(model)
    began = {"kmeans": "k-means start", "topics": "start from topics"}.get(
        start_name.partition(":")[0], f"{start_name!r} start"
    )
    left, right = ({word: one / max(own.values()) for word, one in own.items()} for own in (before, after))
    return cloud_pair(left, right, [f"{name}: {began}", f"{name}: most probable draw"])


def shown_start(model: ConceptModel) -> tuple[int, str]:
    """Return the chain the concepts are shown of, and the name of its start."""
    aligned = model.result_.summary.alignment
    chain = int(aligned.chain[aligned.closest])
    return chain, make_starts(model.get_params())[chain]


def start_scores(model: ConceptModel) -> sparse.csr_array:
    """Return the scores (J, V) of the start, taking words on and present as used."""
    data, prior = model.chains_[0].model.data, model.chains_[0].model.prior
    counts = sparse.csr_array(model.corpus_.counts[model.order_])
    chain, name = shown_start(model)
    theta = make_theta(model.theta, counts)
    state = initial_state(name, data, prior, theta, model.seed_, chain)
    n_concepts = count_concepts(state)
    holders = np.bincount(state.concept, minlength=n_concepts)
    document = np.repeat(np.arange(len(model.order_)), np.diff(state.doc_ptr))
    pair = np.repeat(np.arange(len(state.concept)), np.diff(state.pair_ptr))
    on = sparse.csr_array((np.ones(len(pair)), (pair, state.word)), shape=(len(state.concept), model.corpus_.n_words))
    used = on.multiply(sparse.csr_array(counts[document]) > 0)
    gather = sparse.csr_array(
        (np.ones(len(state.concept)), (state.concept, np.arange(len(state.concept)))),
        shape=(n_concepts, len(state.concept)),
    )
    users = sparse.csr_array(gather @ used)
    everywhere = np.maximum(np.asarray(users.sum(axis=0)).ravel(), 1.0)
    score = users.multiply(users).multiply(1.0 / np.maximum(holders, 1)[:, None]).multiply(1.0 / everywhere)
    return sparse.csr_array(score)


def concepts_per_word(model: ConceptModel) -> Figure:
    """Draw in how many concepts of the most probable draw a word is on."""
    return histogram((model.concept_word_ > 0).sum(axis=0), "concepts that hold a word", "words")


def words_per_concept(model: ConceptModel) -> Figure:
    """Draw how many words the concepts use, in the mean over the draws."""
    return histogram(model.concepts(0)["n_words"].to_numpy().round(), "words that a concept uses", "concepts")


def chain_traces(model: ConceptModel) -> Figure:
    """Draw the traces, a line per chain, with R-hat if there are several chains."""
    plain = plain_quantities(model.result_)
    values = {plain[name].removeprefix("the "): one for name, one in model.result_.trace_values.items()}
    found = {label: mixing(one) for label, one in values.items()}
    return traces(values, {label: one.rhat for label, one in found.items() if one and np.isfinite(one.rhat)})
