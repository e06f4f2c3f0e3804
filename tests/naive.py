"""Naive twins of the kernels, written from the formulas of docs/algebra.md: slow, dense, and easy to check by eye."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import betaln, gammaln


def unpack(state):
    """[(π, set of words) by concept] for every document."""
    out = []
    for d in range(len(state.doc_ptr) - 1):
        held = {}
        for p in range(state.doc_ptr[d], state.doc_ptr[d + 1]):
            words = {int(w) for w in state.word[state.pair_ptr[p] : state.pair_ptr[p + 1]]}
            held[int(state.concept[p])] = (float(state.weight[p]), words)
        out.append(held)
    return out


def counts_of(documents, n_words):
    """m_j and m_ji as dictionaries."""
    holders, m = {}, {}
    for held in documents:
        for j, (_, words) in held.items():
            holders[j] = holders.get(j, 0) + 1
            row = m.setdefault(j, np.zeros(n_words))
            for w in words:
                row[w] += 1
    return holders, m


def log_concepts(documents, n_words, prior):
    holders, _ = counts_of(documents, n_words)
    D = len(documents)
    none = prior.alpha_omega * sum(prior.b1 / (prior.b1 + d) for d in range(D))
    return sum(math.log(prior.alpha_omega * prior.b1) + betaln(m, D - m + prior.b1) for m in holders.values()) - none


def log_word_sets(documents, n_words, prior):
    holders, m = counts_of(documents, n_words)
    total = 0.0
    for j, row in m.items():
        for i in range(n_words):
            on, off = prior.b2 * prior.lam[i], prior.b2 * (1 - prior.lam[i])
            total += betaln(row[i] + on, holders[j] - row[i] + off) - betaln(on, off)
    return total


def log_weights(documents, prior):
    return sum(
        (prior.alpha_pi - 1) * math.log(pi) - pi - gammaln(prior.alpha_pi)
        for held in documents
        for pi, _ in held.values()
    )


def log_document(held, counts, theta):
    """P(w^(d)) with z summed out."""
    if counts.sum() == 0:
        return 0.0
    if not held:
        return -math.inf
    S = sum(pi for pi, _ in held.values())
    log_p = 0.0
    for i in np.flatnonzero(counts):
        p = sum(theta[i] * pi / sum(theta[w] for w in words) for pi, words in held.values() if i in words)
        if p == 0:
            return -math.inf
        log_p += counts[i] * math.log(p / S)
    return log_p


def log_text(documents, counts, theta):
    return sum(log_document(held, counts[d], theta) for d, held in enumerate(documents))


def phi_of(documents, n_words):
    _, m = counts_of(documents, n_words)
    rows = np.array([row for row in m.values() if row.sum() > 0]).reshape(-1, n_words)
    return rows / np.maximum(rows.sum(axis=0), 1)


def log_features(phi, Y, prior):
    """The paper's last formula, from scratch; phi (J, V), Y (V, F), both of the words with known features."""
    V, F = Y.shape
    J = len(phi)
    gram = phi @ phi.T + prior.K * np.eye(J)
    log_p = 0.5 * F * (J * math.log(prior.K) - np.linalg.slogdet(gram)[1]) - F * V / 2 * math.log(2 * math.pi)
    log_p += F * (gammaln(prior.alpha_sigma + V / 2) - gammaln(prior.alpha_sigma))
    log_p += F * prior.alpha_sigma * math.log(prior.beta_sigma)
    for k in range(F):
        y = Y[:, k]
        beta = 0.5 * (y @ y - y @ phi.T @ np.linalg.solve(gram, phi @ y)) + prior.beta_sigma
        log_p -= (prior.alpha_sigma + V / 2) * math.log(beta)
    return log_p


def log_joint(state, counts, Y, known, prior):
    documents = unpack(state)
    n_words = len(state.theta)
    log_p = (
        log_concepts(documents, n_words, prior)
        + log_word_sets(documents, n_words, prior)
        + log_weights(documents, prior)
        + log_text(documents, counts, state.theta)
    )
    if Y.shape[1]:
        log_p += log_features(phi_of(documents, n_words)[:, known], Y[known], prior)
    return log_p


def bernoulli(f, p):
    """Π_i Bernoulli(f_i; p_i) of a 0/1 vector."""
    return float(np.prod(np.where(f, p, 1 - p)))
