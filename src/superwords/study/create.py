"""A study from a fitted model: its concepts against the topics of HDP or LDA on the same counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from superwords.analysis.ranking import ranked_words, scores
from superwords.compare.peers import live_topics, topic_model
from superwords.errors import InputError
from superwords.study.pairs import build_study, create_from_concepts

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel

COMMON = 0.9  # quantile of the words' documents: words above it are everywhere
FEW_WORDS = 20  # of so few words none is left out as common


def create_study(
    model: ConceptModel,
    words: int | Sequence[str],
    topics: str = "hdp",
    iterations: int = 1000,
    seed: int = 0,
    title: str = "Word clouds",
    subject: str = "the subject of these documents",
) -> dict[str, Any]:
    """Create the study about these words, or about as many words as `question_words` finds.

    `topics` is the model to compare with, "hdp", or "lda:K" with K topics; participants read the title as the heading,
    and that the documents are about the subject.
    """
    if model.n_concepts_ == 0:
        raise InputError("The model has no concepts, so there is nothing to ask about.")
    corpus = model.corpus_
    weights, uses = concept_weights(model), concept_uses(model)
    if isinstance(words, int):
        documents = np.diff(sparse.csc_array(corpus.counts).indptr)
        chosen = [corpus.vocabulary[i] for i in question_words(uses, weights, documents, words)]
        if not chosen:
            raise InputError("No word is typical of one concept; choose the words yourself with --words.")
    else:
        chosen = list(words)
        unknown = [word for word in chosen if word not in set(corpus.vocabulary)]
        if unknown:
            raise InputError(f"The word {unknown[0]!r} is not in the vocabulary; choose words of the corpus.")
    name, _, number = topics.partition(":")
    if topics != "hdp" and not (name == "lda" and number.isdecimal()):
        raise InputError(f"The topic model {topics!r} is not known; give hdp, or lda:50 (or another number).")
    found = topic_model(name.upper(), corpus.counts, iterations, seed, **({"k": int(number)} if number else {}))
    topic_word = live_topics(found, corpus.n_words)[1]
    questions = create_from_concepts(weights, uses, corpus.vocabulary, topic_word, chosen)
    return build_study(questions, title, subject)


def question_words(uses: np.ndarray, weights: np.ndarray, documents: np.ndarray, n_words: int) -> list[int]:
    """Choose words to ask about: typical of their own concept, neither everywhere nor rare.

    A word's score is the share of its uses that are for its own concept, squared, times the logarithm of their
    number. Words of the most common tenth ("people", "percent") are left out. The best word of every concept comes
    before the second best of any.
    """
    own = uses.argmax(axis=0)
    column = np.arange(uses.shape[1])
    best, total = uses[own, column], uses.sum(axis=0)
    score = (best / np.maximum(total, 1e-12)) ** 2 * np.log1p(best)
    n_shown, is_shown = (weights > 0).sum(axis=1), weights[own, column] > 0
    common = np.quantile(documents, COMMON) if len(documents) >= FEW_WORDS else np.inf
    # A question needs another word beside the one it is about.
    askable = (best >= 1) & (n_shown[own] > is_shown) & (documents <= common)
    ranked = [int(i) for i in np.lexsort((column, -score)) if askable[i]]
    turn: Counter[int] = Counter()
    rounds = []
    for i in ranked:
        rounds.append((turn[int(own[i])], -float(score[i]), i))
        turn[int(own[i])] += 1
    return [i for _, _, i in sorted(rounds)[:n_words]]


def concept_uses(model: ConceptModel) -> np.ndarray:
    """Return (J, V) documents in which a word is used for a concept, averaged over draws; 0 for leftovers.

    Concepts that are hidden, or merged into others, are not asked about either.
    """
    words, table = model.result_.summary.words, model.concepts(0)
    is_asked = np.zeros(model.n_concepts_, bool)
    is_asked[table["concept"] - 1] = ~table["leftover"].to_numpy(dtype=bool)
    uses = np.zeros((model.n_concepts_, model.corpus_.n_words))
    uses[words.concept, words.word] = words.documents
    # A draw that does not find the concept does not use the word for it.
    found = model.result_.summary.alignment.found * is_asked
    return uses * (found if found.any() else np.ones(len(found)))[:, None]


def concept_weights(model: ConceptModel) -> np.ndarray:
    """Return (J, V) scores of a concept's most telling words, as many as its documents use.

    That number is the mean over the draws that find the concept.
    """
    summary, n_words = model.result_.summary, model.corpus_.n_words
    score = scores(summary.words, n_words)
    counts = summary.word_counts
    used = np.bincount(counts.concept[counts.used > 0], minlength=model.n_concepts_)
    n_used = (used / np.maximum(summary.alignment.matched.sum(axis=0), 1)).round().astype(int)
    weights = np.zeros((model.n_concepts_, n_words))
    for j, rows in enumerate(ranked_words(summary.words, model.n_concepts_, n_words)):
        top = rows[: n_used[j]]
        weights[j, summary.words.word[top]] = score[top]
    return weights
