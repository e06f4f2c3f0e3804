"""Counter-based random numbers: Philox4x64-10 with named streams.

A stream is named by seed, chain, sweep, move and document (or word). The draws of a document in a sweep depend on these
five numbers only, not on the number of threads, the order of documents or the machines used.
(Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from superwords.sampler.jit import helper, kernel

# Purpose of a stream: the fourth word of the counter.
INITIAL, SEMANTICS, MEMBERSHIP, RELABEL, TOKENS, WORDS, IMPORTANCE = range(7)
DATA, STRUCTURE, FOLD_IN, CONCENTRATION, SPLIT_MERGE, WORD_MOVES = range(7, 13)

# Indices into a stream
COUNTER, IDENT, SWEEP, MOVE = 0, 1, 2, 3
SEED, CHAIN = 4, 5
BLOCK, USED = 6, 10  # four random words, and how many of them are used up

_M0, _M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_W0, _W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
_SHIFT = np.uint64(11)
_ONE, _FOUR = np.uint64(1), np.uint64(4)
_TO_UNIT = 2.0**-53
_SMALLEST = 1e-300
_FEW = 8.0  # integer shapes up to this are faster as sums of exponentials than by rejection


def _multiply_high(typingctx, a, b):
    """Return the upper 64 bits of a 64 × 64 bit product."""
    signature = types.uint64(types.uint64, types.uint64)

    def codegen(context, builder, signature, args):
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(args[0], wide), builder.zext(args[1], wide))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return signature, codegen


_mulhi: Any = intrinsic(_multiply_high)


def new_stream(seed: int, chain: int) -> np.ndarray:
    """Return a generator for one chain: [counter (4), key (2), block (4), used]."""
    stream = np.zeros(11, np.uint64)
    stream[SEED] = np.uint64(seed % 2**64)
    stream[CHAIN] = np.uint64(chain)
    stream[USED] = _FOUR
    return stream


@helper
def open_stream(stream, move, sweep, ident):
    """Set the stream to the start for `ident` (a document or a word) in a move."""
    stream[COUNTER] = np.uint64(0)
    stream[IDENT] = np.uint64(ident)
    stream[SWEEP] = np.uint64(sweep)
    stream[MOVE] = np.uint64(move)
    stream[USED] = _FOUR


@helper
def _fill_block(stream):
    c0, c1, c2, c3 = stream[COUNTER], stream[IDENT], stream[SWEEP], stream[MOVE]
    k0, k1 = stream[SEED], stream[CHAIN]
    for _ in range(10):
        h0, l0 = _mulhi(_M0, c0), _M0 * c0
        h1, l1 = _mulhi(_M1, c2), _M1 * c2
        c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
        k0 += _W0
        k1 += _W1
    stream[BLOCK], stream[BLOCK + 1], stream[BLOCK + 2], stream[BLOCK + 3] = c0, c1, c2, c3
    stream[COUNTER] += _ONE
    stream[USED] = np.uint64(0)


@helper
def uniform(stream):
    """Return a uniform number in (0, 1), never 0 or 1."""
    if stream[USED] == _FOUR:
        _fill_block(stream)
    used = np.int64(stream[USED])
    bits = stream[BLOCK + used]
    stream[USED] += _ONE
    return (np.float64(bits >> _SHIFT) + 0.5) * _TO_UNIT


@helper
def accepts(log_ratio, stream):
    """Return whether Metropolis–Hastings accepts a proposal of this log ratio."""
    return math.log(uniform(stream)) < log_ratio


@helper
def below(stream, n):
    """Return a uniform whole number in 0..n−1."""
    return min(int(uniform(stream) * n), n - 1)


@helper
def normal(stream):
    radius = math.sqrt(-2.0 * math.log(uniform(stream)))
    return radius * math.cos(2.0 * math.pi * uniform(stream))


@helper
def gamma(stream, shape):
    """Draw Gamma(shape, 1), by exponentials or by Marsaglia and Tsang (2000)."""
    if shape <= _FEW and shape == math.floor(shape):
        product = 1.0
        for _ in range(int(shape)):
            product *= uniform(stream)
        return -math.log(product)
    if shape < 1.0:
        boost = math.log(uniform(stream)) / shape
        return max(gamma_above_one(stream, shape + 1.0) * math.exp(boost), _SMALLEST)
    return gamma_above_one(stream, shape)


@helper
def gamma_above_one(stream, shape):
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = normal(stream)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v, u = v * v * v, uniform(stream)
        # The first test implies the second, and needs no logarithm.
        if u < 1.0 - 0.0331 * x**4 or math.log(u) < 0.5 * x * x + d - d * v + d * math.log(v):
            return d * v


@helper
def poisson(stream, mean):
    """Draw Poisson(mean) for small means, by counting exponential gaps."""
    count, at = 0, -math.log(uniform(stream))
    while at < mean:
        count += 1
        at -= math.log(uniform(stream))
    return count


@helper
def skip(stream, p):
    """Draw the number of failures before a success of probability p (2^62: never)."""
    if p >= 1.0:
        return 0
    if p <= 0.0:
        return 1 << 62
    return skip_by_log(stream, math.log1p(-p))


@helper
def skip_by_log(stream, log_miss):
    """Draw the same, given log(1 − p) < 0."""
    gap = math.log(uniform(stream)) / log_miss
    return int(gap) if gap < 4e18 else 1 << 62


# Versions for Python. Kernels use the helpers above, whose machine code must not depend on the cache.
open_stream_from_python = open_stream.py_func
uniform_from_python = kernel(uniform.py_func)


def accepts_from_python(log_ratio: float, stream: np.ndarray) -> bool:
    return math.log(uniform_from_python(stream)) < log_ratio


def below_from_python(stream: np.ndarray, n: int) -> int:
    return min(int(uniform_from_python(stream) * n), n - 1)
