"""Nearest words of each word, for data-driven proposals of new concepts."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.preprocessing import normalize

from superwords.sampler.model import Affinity, with_absent

_NEAR = 24
_LEAST, _MOST = 0.02, 0.9
_BLOCK = 256


def make_affinity(counts: sparse.csr_array, features: np.ndarray | None) -> Affinity:
    """Return each word's nearest words, by features or else by shared documents."""
    n_words = counts.shape[1]
    n_near = min(n_words, _NEAR)
    known = np.zeros(n_words, bool) if features is None else ~np.isnan(features).any(axis=1)
    known &= bool(features is not None and features.shape[1])
    near = np.zeros((n_words, n_near), np.int32)
    cosine = np.zeros((n_words, n_near))
    profile = normalize(sparse.csr_array((counts > 0).astype(float).T))
    vectors = None
    if features is not None and known.any():
        vectors = normalize(np.where(known[:, None], features, 0.0))
    for start in range(0, n_words, _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, n_words))
        angle = (profile[rows] @ profile.T).toarray()
        if vectors is not None:
            both = np.ix_(known[rows], known)
            angle[both] = (vectors[rows] @ vectors.T)[both]
        angle[np.arange(len(rows)), rows] = np.inf
        best = np.argsort(-angle, axis=1, kind="stable")[:, :n_near]
        near[rows] = best
        cosine[rows] = np.take_along_axis(angle, best, axis=1)
    return with_absent(near, np.clip(np.square(np.clip(cosine, 0.0, 1.0)), _LEAST, _MOST))
