"""A start for large corpora: a chain of its own arrives on a part of the rows, then the others join its concepts.

The other rows are folded in beside the concepts found, each with the words it uses and weights of its own. All of it is
only a start: from the first sweep on the chain has all rows, and its target is what it would be from any other start.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from superwords.sampler.chain import Chain
from superwords.sampler.compiling import await_kernels
from superwords.sampler.document import clear, drop_pair, new_document
from superwords.sampler.feature_draw import RegressionDraw, no_features
from superwords.sampler.fold_in import begin_document, flip_unused, redraw_words, sweep_concepts
from superwords.sampler.init.grow import start_of
from superwords.sampler.init.starts import counts_of
from superwords.sampler.jit import helper, ref_kernel
from superwords.sampler.leave_one_out import LeaveOneOutCounts, leave_one_out_counts
from superwords.sampler.model import Data, Model, make_data, n_documents
from superwords.sampler.moves.documents import new_work
from superwords.sampler.new_state import (
    append_document,
    concatenated,
    finish_state,
    grow_for,
    new_state,
    take_rows,
)
from superwords.sampler.random import INITIAL, gamma, new_stream
from superwords.sampler.state import State, sizes_of
from superwords.sampler.threads import map_blocks

LARGE, ROWS, SWEEPS = (
    20_000,
    8_000,
    60,
)  # above so many rows; on so many of them; sweeps before the others join
_JOINING = 5  # sweeps over each of the others
_BEFORE = 1 << 40  # sweeps of the part have random numbers of their own
_ROWS_STREAM = 2


def pick_rows(n_rows: int, n_picked: int, seed: int, chain: int) -> np.ndarray:
    """Rows by the seed, in ascending order; every chain has its own."""
    rng = np.random.default_rng([seed, chain, INITIAL, _ROWS_STREAM])
    return np.sort(rng.choice(n_rows, n_picked, replace=False))


def arrive(
    init: str, few_rows: Model, rows: np.ndarray, data: Data, theta: np.ndarray, seed: int, chain: int
) -> State:
    """A start for all rows of `data`: `few_rows` is the model of the rows picked."""
    start = start_of(init, few_rows, theta, seed, chain)
    await_kernels()
    few = Chain(few_rows, start, seed, chain, _BEFORE)
    for _ in range(SWEEPS):
        few.step()
    rest = np.setdiff1d(np.arange(n_documents(data)), rows)
    joined = join_rows(few, counts_of(data)[rest], new_stream(seed, chain))
    both = concatenated([few.state, joined], theta)
    return take_rows(both, np.argsort(np.concatenate([rows, rest]), kind="stable"))


def join_rows(chain: Chain, counts: sparse.csr_array, stream: np.ndarray, n_threads: int = 1) -> State:
    """Further rows beside a chain's concepts, each as if it were the only one."""
    state = chain.state
    concepts = leave_one_out_counts(
        sizes_of(state), n_documents(chain.model.data), state.theta, chain.model.prior
    )
    regression = no_features(*concepts.m.shape[::-1])

    def join(first: int, last: int) -> State:
        return _join_block(counts[first:last], concepts, regression, stream.copy(), state)

    return concatenated(map_blocks(join, counts.shape[0], n_threads), state.theta)


def _join_block(
    counts: sparse.csr_array,
    concepts: LeaveOneOutCounts,
    regression: RegressionDraw,
    stream: np.ndarray,
    like: State,
) -> State:
    data = make_data(counts, None)
    doc = new_document(counts.shape[1], int(np.diff(data.doc_ptr).max(initial=0)), len(concepts.holders))
    new = new_state(like, len(data.length))
    work, unused = new_work(), np.zeros((1, 1))
    while not _join_documents(work, data, concepts, doc, regression, stream, new, unused):
        new = grow_for(new, int(work.document), doc)
    return finish_state(new, like.theta)


@ref_kernel
def _join_documents(work, data, concepts, doc, regression, stream, new, unused):
    """Documents work.document and on; False where the new state is short."""
    while work.document < len(data.length):
        d = work.document
        if data.length[d] == 0:
            new.doc_ptr[d + 1] = new.doc_ptr[d]
            work.document += 1
            continue
        if work.is_loaded == 0:
            key = begin_document(d, data, concepts, doc, stream)
            for sweep in range(1, _JOINING):
                sweep_concepts(sweep, key, doc, concepts, regression, stream)
                flip_unused(d, False, doc, concepts, stream, unused, unused)
                redraw_words(doc, concepts, stream)
            sweep_concepts(_JOINING, key, doc, concepts, regression, stream)
            _keep_used(doc, concepts, stream)
            work.is_loaded = 1
        if not append_document(new, doc, d):
            return False
        clear(doc)
        work.is_loaded = 0
        work.document += 1
    return True


@helper
def _keep_used(doc, concepts, stream):
    """Only concepts and words with tokens, and π given them; words without any come in the sweeps."""
    for k in range(doc.n_pairs - 1, -1, -1):
        if doc.tokens[k] == 0:
            drop_pair(doc, k)
    n_pairs, total = doc.n_pairs, 0.0
    doc.used = 0
    for k in range(n_pairs):
        start, doc.size[k] = doc.used, 0
        for a in range(doc.n_words):
            if doc.on[k, a] == 2:
                doc.arena[start + doc.size[k]] = doc.word[a]
                doc.size[k] += 1
        doc.start[k], doc.used = start, start + doc.size[k]
        doc.weight[k] = gamma(stream, concepts.alpha_pi + doc.tokens[k])
        total += doc.weight[k]
    scale = gamma(stream, n_pairs * concepts.alpha_pi) / total
    for k in range(n_pairs):
        doc.weight[k] = max(doc.weight[k] * scale, 1e-300)
