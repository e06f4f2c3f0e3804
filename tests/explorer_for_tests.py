"""What the explorer's tests share: a served model, and a model with many documents and concepts."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import cache
from typing import Any

import httpx
import numpy as np
from scipy import sparse

from models_for_tests import ODD_WORDS
from servers_for_tests import serving_app
from superwords import ConceptModel, Corpus
from superwords.posterior.draws import ChainDraws, Kept
from superwords.sampler.state import State, Tokens
from superwords.web.explorer import Explorer, create_app

TABLES = {
    "concepts": {},
    "concept-words": {"concept": 1},
    "concept-documents": {"concept": 1},
    "concept-groups": {"concept": 1, "column": "party"},
    "documents": {},
    "rows": {},
    "row-concepts": {"row": 1},
    "said": {"query": "word7"},
    "said-by": {"query": "speaker"},
    "words": {},
    "word-concepts": {"word": ODD_WORDS[0]},
    "word-neighbours": {"word": ODD_WORDS[0]},
    "group-differences": {"column": "party", "first": "A", "second": "B"},
    "trends": {"column": "year"},
    "word-changes": {"column": "year", "concept": 1},
    "effects": {"formula": "party + year"},
    "themes": {},
    "convergence": {},
    "agreement": {},
    "moves": {},
    "nearest": {},
    "quality": {},
}


@contextlib.contextmanager
def served(explorer: Explorer, **settings: Any) -> Iterator[str]:
    """The address of the explorer, served from a thread of this process."""
    with serving_app(create_app(explorer, **settings)) as address:
        yield f"{address}/"


@cache
def large_model(n_documents: int, n_concepts: int, per_document: int = 8) -> ConceptModel:
    """As if sampled: a document holds a few concepts of six words each; four draws in two chains."""
    rng = np.random.default_rng(1)
    n_words = 6 * n_concepts
    concept = np.sort(np.array([rng.permutation(n_concepts)[:per_document] for _ in range(n_documents)]))
    pair_concept = concept.ravel()
    word = (pair_concept[:, None] * 6 + np.arange(6)).astype(np.int32)
    tokens = rng.integers(0, 3, word.shape).astype(np.int32)
    tokens[:, 0] += 1
    row = np.repeat(np.arange(n_documents), per_document * 6)
    counts = sparse.csr_array((tokens.ravel(), (row, word.ravel())), shape=(n_documents, n_words))
    known = {"party": np.where(rng.random(n_documents) < 0.5, "A", "B")}
    known["year"] = 2000 + np.arange(n_documents) % 5
    corpus = Corpus.from_counts(counts, metadata=known)
    small = Corpus.from_counts(np.ones((2, 2), int))
    model = ConceptModel(n_sweeps=1, n_burn_in=0, random_state=1).fit(small)
    state = State(
        np.arange(n_documents + 1) * per_document,
        pair_concept.astype(np.int32),
        np.ones(len(pair_concept)),
        np.arange(len(pair_concept) + 1) * 6,
        word.ravel(),
        np.ones(n_words),
    )
    imputed = Tokens(tokens.ravel(), tokens.sum(axis=1))
    model.corpus_, model.order_ = corpus, np.arange(n_documents)
    model.kept_ = [ChainDraws(chain=c) for c in range(2)]
    for chain in model.kept_:
        for sweep in (1, 2):
            chain.append(Kept(sweep, state, imputed, float(-sweep), log_joint=float(sweep)))
    model._forget()
    return model


@contextlib.contextmanager
def client_of(explorer: Explorer) -> Iterator[httpx.Client]:
    with served(explorer) as address, httpx.Client(base_url=address, timeout=60) as client:
        yield client


def rows(client: httpx.Client, name: str, **given) -> list[dict]:
    answer = client.get(f"/api/tables/{name}.json", params={**TABLES.get(name, {}), **given})
    assert answer.status_code == 200, answer.text
    return answer.json()["rows"]
