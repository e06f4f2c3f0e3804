"""A study from a fitted model: its concepts against the topics of HDP or LDA on the same counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from superwords.baselines import Topics, hdp, lda
from superwords.errors import InputError
from superwords.sampler.state import sizes_of
from superwords.study.pairs import build_study, create_from_concepts, salient_words

if TYPE_CHECKING:
    from superwords.estimator import ConceptModel


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
    m_ji = sizes_of(model.best_draw_.state).m[model._concept_order]
    if isinstance(words, int):
        # A question needs another word beside the one it is about.
        askable = (m_ji[(m_ji > 0).sum(axis=1) > 1] > 0).any(axis=0)
        chosen = salient_words(corpus.counts, corpus.vocabulary, words, askable.tolist())
        if not chosen:
            raise InputError("No word stands out in these documents; choose the words yourself.")
    else:
        chosen = list(words)
        unknown = [word for word in chosen if word not in set(corpus.vocabulary)]
        if unknown:
            raise InputError(f"The word {unknown[0]!r} is not in the vocabulary; choose words of the corpus.")
    found = find_topics(model, topics, iterations, seed)
    questions = create_from_concepts(model.concept_word_, m_ji, corpus.vocabulary, found.topic_word, chosen)
    return build_study(questions, title, subject)


def find_topics(model: ConceptModel, topics: str, iterations: int, seed: int) -> Topics:
    counts, vocabulary = model.corpus_.counts, model.corpus_.vocabulary
    name, _, number = topics.partition(":")
    if name == "hdp" and not number:
        return hdp(counts, vocabulary, iterations, seed)
    if name == "lda" and number.isdecimal():
        return lda(counts, vocabulary, int(number), iterations, seed)
    raise InputError(f"The topics {topics!r} are not known; give hdp, or lda:50 (or another number).")
