"""Small fitted models that several tests look at; each is fitted once per process."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd

from experiments.generators import plant_corpus
from superwords import ConceptModel, Corpus
from superwords.posterior.draws import ChainDraws, Kept
from superwords.sampler.state import State, Tokens

ODD_WORDS = ["<script>alert(1)</script>", "größe", "健康", 'a "quoted", word', "=1+1", "🙂"]
EDGES = ["one document, one word", "no concept", "a document without words", "one chain", "one draw"]
PLANTED = plant_corpus(40, 40, 4, 2, 60, 3)


def planted_corpus() -> Corpus:
    """40 documents; those of party A are the ones that hold the first planted concept."""
    vocabulary = [*ODD_WORDS, *(f"word{i}" for i in range(len(ODD_WORDS), 40))]
    metadata = pd.DataFrame(
        {
            "party": np.where(PLANTED.holds[:, 0], "A", "B"),
            "year": np.arange(40) % 3 + 2010,
            "name": [f"speaker {d}" for d in range(40)],
            "weight": np.linspace(0, 1, 40),
        }
    )
    corpus = Corpus.from_counts(PLANTED.counts, vocabulary, metadata, [f"doc {d}" for d in range(40)])
    return replace(corpus, texts=[_text(corpus, d) for d in range(40)])


def _text(corpus: Corpus, d: int) -> str:
    row = corpus.counts[[d]].toarray().ravel()
    return " ".join(word for word, n in zip(corpus.vocabulary, row) for _ in range(n))


@cache
def planted_model() -> ConceptModel:
    return fit(planted_corpus(), features=PLANTED.features)


@cache
def passage_model() -> ConceptModel:
    """The same rows as passages: four of each of ten documents."""
    corpus = planted_corpus()
    parent = np.arange(40) // 4
    table = corpus.metadata.iloc[parent * 4].reset_index(drop=True)
    ids = [f"source {d // 4}#{d % 4 + 1}" for d in range(40)]
    return fit(replace(corpus, parent=parent, metadata=table, ids=ids), features=PLANTED.features)


def fit(corpus: Corpus, features: np.ndarray | None = None, **settings: object) -> ConceptModel:
    given = {"n_chains": 2, "n_sweeps": 60, "n_burn_in": 20, "thin": 2, "random_state": 3, **settings}
    return ConceptModel(**given).fit(corpus, features=features)


@cache
def edge_model(name: str) -> ConceptModel:
    """A model at the border of what there can be."""
    groups = {"party": ["A", "B", "A"]}
    few = Corpus.from_counts([[3, 0, 1, 2], [0, 2, 2, 0], [1, 1, 0, 4]], ODD_WORDS[:4], groups)
    if name == "one document, one word":
        return fit(Corpus.from_counts([[5]], ["<b>"], {"party": ["A"]}))
    if name == "no concept":
        return fit(Corpus.from_counts(np.zeros((3, 2), int), metadata=groups), alpha_omega=1e-9, init="prior")
    if name == "a document without words":
        return fit(Corpus.from_counts([[2, 1], [0, 0], [1, 3]], metadata=groups))
    if name == "one chain":
        return fit(few, n_chains=1)
    return fit(few, n_chains=1, n_sweeps=1, n_burn_in=0, thin=1)


def kept(documents: list[dict[int, dict[int, int]]], n_words: int, sweep: int = 1) -> Kept:
    """A draw written out by hand: for each document, concept → {word: tokens}."""
    pairs = [(d, j, words) for d, held in enumerate(documents) for j, words in held.items()]
    per_document = [len(held) for held in documents]
    entries = [(i, n) for _, _, words in pairs for i, n in sorted(words.items())]
    state = State(
        np.cumsum([0, *per_document]),
        np.array([j for _, j, _ in pairs], np.int32),
        np.ones(len(pairs)),
        np.cumsum([0, *(len(words) for _, _, words in pairs)]),
        np.array([i for i, _ in entries], np.int32),
        np.ones(n_words),
    )
    tokens = Tokens(
        np.array([n for _, n in entries], np.int32), np.array([sum(words.values()) for _, _, words in pairs], np.int64)
    )
    return Kept(sweep, state, tokens, 0.0)


def chain_of(draw: Kept, n_draws: int) -> ChainDraws:
    """A chain that keeps one draw again and again."""
    chain = ChainDraws()
    for sweep in range(1, n_draws + 1):
        chain.append(draw._replace(sweep=sweep))
    return chain


def with_parts(model, **parts):
    """The same model with other parts of its result."""
    changed = copy.copy(model)
    changed.__dict__["result_"] = copy.copy(model.result_)
    changed.result_.computed = {}
    for name, part in parts.items():
        setattr(changed.result_, name, part)
    changed.corpus_ = changed.result_.corpus
    return changed
