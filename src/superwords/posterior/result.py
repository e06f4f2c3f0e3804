"""What a fit found, read-only: all that tables, plots and pages are made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from superwords.posterior.alignment import Consensus, chain_shares, find_consensus
from superwords.posterior.draws import Draws, Kept
from superwords.posterior.resampling import Pilots
from superwords.posterior.summary import Summary, columns_of, summarize
from superwords.posterior.traces import concept_trace, trace_values
from superwords.posterior.word_sets import WordSets, co_membership, word_sets
from superwords.sampler.model import Prior
from superwords.storage import cache
from superwords.storage.model_file import Choice, checksum, code_digest
from superwords.text.corpus import Corpus

_DENSE_WEIGHTS = 50_000_000


@dataclass
class Result:
    """The kept draws of a corpus and what follows from them, each computed on first use."""

    corpus: Corpus  # the documents, in the order they were given
    order: np.ndarray  # row r of a draw is document order[r] of the corpus
    prior: Prior  # of the fit; the documents' weights need its α_π
    draws: Draws  # the kept draws of all chains
    names: dict[int, str] = field(default_factory=dict)  # that people gave to concepts, by id (1, 2, …)
    # Concepts that people merged into others or hid, and which of the two; their columns are empty.
    excluded: dict[int, str] = field(default_factory=dict)
    themes: dict[int, str] = field(default_factory=dict)  # that people gathered concepts in
    pilots: Pilots | None = None  # short fits on samples of the documents, if there were any
    # The result before people decided anything, if this is one with their choices.
    sampled: Result | None = field(default=None, repr=False)
    is_cached: bool = False  # keep the summary in the user's cache folder, as for a model with a file
    descriptions: dict[int, str] = field(default_factory=dict)  # sentences that were proposed, by id
    choices: Sequence[Choice] = ()  # as a model file has them; names, excluded, themes, descriptions follow
    computed: dict[str, Any] = field(default_factory=dict, init=False, repr=False)  # by functions, each once

    @property
    def has_concepts(self) -> bool:
        """Whether any draw was kept."""
        return len(self.draws) > 0

    @cached_property
    def spaced(self) -> Draws:
        """The evenly spaced draws that everything below but the trace is computed from."""
        return self.draws.spaced()

    @property
    def consensus(self) -> Consensus:
        """The listed concepts and their partners in the spaced draws."""
        return self.summary.consensus

    @cached_property
    def best_draw(self) -> Kept:
        """The spaced draw of the highest density, π integrated out (docs/algebra.md section 1)."""
        best = max((chain for chain in self.spaced.chains if len(chain)), key=lambda one: max(one.scores))
        return best[int(np.argmax(best.scores))]

    @cached_property
    def consensus_draw(self) -> Kept:
        """The spaced draw whose concepts are most like the listed ones."""
        at = self.summary.alignment.closest
        return next(draw for t, draw in enumerate(self.spaced) if t == at)

    @property
    def consensus_column(self) -> np.ndarray:
        """The column (-1: none) that each concept of `consensus_draw` is counted in, before anybody merged any."""
        return columns_of(self.consensus_draw, self.consensus.partner[self.summary.alignment.closest])

    @cached_property
    def n_concepts(self) -> int:
        """Listed concepts, which are those of every table."""
        return self.consensus.partner.shape[1] if self.has_concepts else 0

    @property
    def n_pilots(self) -> int:
        """How many short fits to samples of the documents there were."""
        return 0 if self.pilots is None else self.pilots.n_pilots

    @property
    def shown(self) -> list[int]:
        """Ids of the concepts that lists and pages show: those that people left in place."""
        return [j for j in range(1, self.n_concepts + 1) if j not in self.excluded]

    @cached_property
    def concept_word(self) -> np.ndarray:
        """(J, V): share of the documents holding j that have word i on, m_ji / m_j, in the mean over the draws."""
        return self.summary.share_on.toarray()

    @cached_property
    def doc_concept(self) -> Any:
        """(D, J): posterior mean weights; sparse above 50 million cells."""
        dense = self.weights.shape[0] * self.weights.shape[1] <= _DENSE_WEIGHTS
        return self.weights.toarray() if dense else self.weights

    @cached_property
    def weights(self) -> sparse.csr_array:
        """(D, J): the mean over the draws of n_dj / N_d, 0 where a document never uses a concept.

        A draw without a partner of a concept counts as one that does not use it, so rows may sum to less than 1.
        """
        return sum(share * drawn for share, drawn in zip(self.summary.alignment.weight, self.drawn_weights()))

    @cached_property
    def draw_and_row(self) -> tuple[np.ndarray, np.ndarray]:
        """The draw, and the row of the corpus, of each of `summary.memberships`."""
        kept = self.summary.memberships
        draw, row = np.divmod(np.repeat(np.arange(len(kept.total)), np.diff(kept.ptr)), self.corpus.n_documents)
        return draw, row

    def drawn_weights(self) -> list[sparse.csr_array]:
        """Return (D, J) of each draw: the shares n_dj / N_d of documents' tokens."""
        kept, shape = self.summary.memberships, (self.corpus.n_documents, self.n_concepts)
        values, out = kept.weight.astype(float), []
        for t in range(len(self.summary.alignment.chain)):
            ptr = kept.ptr[t * shape[0] : (t + 1) * shape[0] + 1]
            part = slice(ptr[0], ptr[-1])
            out.append(sparse.csr_array((values[part], kept.concept[part], ptr - ptr[0]), shape=shape))
        return out

    @cached_property
    def co_membership(self) -> Any:
        """(V, V): posterior probability that two words are on in the same concept; sparse above 5,000 words."""
        return co_membership(self.word_sets, chain_shares(self.word_sets.chain))

    @cached_property
    def trace_values(self) -> dict[str, np.ndarray]:
        """(chain, draw) of each traced quantity, over all kept draws."""
        return trace_values(self.draws)

    @cached_property
    def concept_trace(self) -> dict[str, np.ndarray]:
        """(chain, draw, concept) of prevalence and strength of the listed concepts."""
        return concept_trace(self.draws, self.spaced, self.consensus, self.summary.alignment)

    @cached_property
    def word_sets(self) -> WordSets:
        """The words of every concept of every spaced draw."""
        return word_sets(self.spaced)

    @cached_property
    def summary(self) -> Summary:
        """The listed concepts in the spaced draws, which the tables are made of (docs/model.md)."""
        return cache.cached(self._key(), Summary, self._summarize) if self.is_cached else self._summarize()

    def _summarize(self) -> Summary:
        return summarize(self.spaced, find_consensus(self.spaced), self.order, self.prior.alpha_pi)

    def cache(self) -> None:
        """Keep the summary in the user's cache folder, where a saved model looks for it."""
        cache.write(self._key(), self.summary)

    def _key(self) -> str:
        """Return a digest of all that the summary is computed from."""
        counts, alpha_pi = self.corpus.counts, repr(self.prior.alpha_pi)
        arrays = (one.tobytes() for one in (self.order, counts.indptr, counts.indices, counts.data))
        return checksum(code_digest("posterior/*.py"), self.spaced.digest(), alpha_pi, *arrays).hex()
