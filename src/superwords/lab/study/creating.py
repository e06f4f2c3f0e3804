"""A study from a fitted model: its concepts against the topics of HDP or LDA on the same counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from superwords.concepts.alignment import usage_of
from superwords.concepts.ranking import ranked_words, scores
from superwords.errors import InputError
from superwords.lab.baselines import Topics, hdp, lda
from superwords.lab.study.pairs import build_study, create_from_concepts, salient_words
from superwords.sampler.state import sizes_of

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel


def create_study(
    model: ConceptModel,
    words: int | Sequence[str],
    topics: str,
    iterations: int,
    seed: int,
    title: str,
    subject: str,
) -> dict[str, Any]:
    """The study about these words, or about as many of the most salient words; `topics` is "hdp" or "lda:K"."""
    if model.n_concepts_ == 0:
        raise InputError("The model has no concepts, so there is nothing to ask about.")
    corpus = model.corpus_
    m_ji = sizes_of(model.best_draw_.state).m[model.result_.concept_order]
    weights = concept_weights(model)
    if isinstance(words, int):
        # A question needs another word beside the one it is about.
        concept = m_ji.argmax(axis=0)
        n_told, is_told = (weights > 0).sum(axis=1), weights[concept, np.arange(corpus.n_words)] > 0
        askable = (m_ji > 0).any(axis=0) & (n_told[concept] > is_told)
        chosen = salient_words(corpus.counts, corpus.vocabulary, words, askable.tolist())
        if not chosen:
            raise InputError("No word stands out in these documents; choose the words yourself.")
    else:
        chosen = list(words)
        unknown = [word for word in chosen if word not in set(corpus.vocabulary)]
        if unknown:
            raise InputError(f"The word {unknown[0]!r} is not in the vocabulary; choose words of the corpus.")
    found = find_topics(model, topics, iterations, seed)
    questions = create_from_concepts(weights, m_ji, corpus.vocabulary, found.topic_word, chosen)
    return build_study(questions, title, subject)


def concept_weights(model: ConceptModel) -> np.ndarray:
    """(J, V): scores of a concept's most telling words, as many as its documents use in the most probable draw."""
    words, n_words = model.result_.summary.words, model.corpus_.n_words
    score = scores(words, n_words)
    n_used = np.diff(usage_of(model.best_draw_).used[model.result_.concept_order].indptr)
    weights = np.zeros((model.n_concepts_, n_words))
    for j, rows in enumerate(ranked_words(words, model.n_concepts_, n_words)):
        top = rows[: n_used[j]]
        weights[j, words.word[top]] = score[top]
    return weights


def find_topics(model: ConceptModel, topics: str, iterations: int, seed: int) -> Topics:
    counts, vocabulary = model.corpus_.counts, model.corpus_.vocabulary
    name, _, number = topics.partition(":")
    if name == "hdp" and not number:
        return hdp(counts, vocabulary, iterations, seed)
    if name == "lda" and number.isdecimal():
        return lda(counts, vocabulary, int(number), iterations, seed)
    raise InputError(f"The topics {topics!r} are not known; give hdp, or lda:50 (or another number).")
