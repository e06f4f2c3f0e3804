"""Search on the Cranfield collection: concepts and words against BM25, LDA smoothing and LSA.

Settings of every peer are chosen on one half of the queries and judged on the other, both ways, so that every query is
judged once. Search itself has nothing to choose: its weights come from the collection (`concepts.searching`). What is
left of it without concepts is among the peers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from copy import copy
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse, stats
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

from experiments.harness import Lab, fit_topics, read_lines
from superwords import fit
from superwords.fitting.defaults import N_SWEEPS
from superwords.fitting.estimator import ConceptModel
from superwords.posterior.result import Result
from superwords.search.index import NEAR_SHARES, Search, catalog, nearest, search, search_index
from superwords.search.terms import K1, B, Terms, bm25, inverse_document_frequency, query_terms

DOCUMENTS, QUERIES = "cranfield.jsonl.gz", "cranfield_queries.jsonl"
OURS, BM25 = "superwords", "BM25"
DEPTH = 10  # of nDCG
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
K1S, BS = (0.6, 0.9, 1.2, 1.6, 2.0, 2.5), (0.3, 0.5, 0.75, 0.9)
MUS = (100.0, 300.0, 1000.0)
LDA_SIZES, LSA_SIZES = (50, 100, 200), (50, 100, 200, 300)
LDA_CHAINS, SHUFFLES = 3, 20_000
COPIES, N_TIMED = 7, 40
NEEDS, LIBRARIES = (DOCUMENTS, QUERIES), ("tomotopy",)
QUICK = {"seeds": 1, "sweeps": 10}


class Queries(NamedTuple):
    """What is asked, and which documents answer."""

    texts: list[str]
    relevant: np.ndarray  # (Q, D)


class Scores(NamedTuple):
    """The (Q, D) scores of one way of searching at one of its settings."""

    model: str
    setting: str
    values: np.ndarray


def read_queries(data: Path, ids: list[str]) -> Queries:
    """Read the queries and, for each, which documents were judged to answer it."""
    records = read_lines(data / QUERIES)
    number = {one: d for d, one in enumerate(ids)}
    relevant = np.zeros((len(records), len(ids)), bool)
    for q, record in enumerate(records):
        relevant[q, [number[one] for one in record["relevant"] if one in number]] = True
    return Queries([record["text"] for record in records], relevant)


def judge(scores: np.ndarray, relevant: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return nDCG@10 and average precision of each query; documents of one score are in the collection's order."""
    order = np.argsort(-scores, axis=1, kind="stable")
    hits = np.take_along_axis(relevant, order, axis=1)
    discount = 1 / np.log2(np.arange(2, DEPTH + 2))
    n_relevant = relevant.sum(axis=1)
    ideal = np.array([discount[: min(n, DEPTH)].sum() for n in n_relevant])
    gain = hits[:, :DEPTH] @ discount[: hits.shape[1]] / np.maximum(ideal, 1e-12)
    precision = np.cumsum(hits, axis=1) / np.arange(1, hits.shape[1] + 1)
    return gain, (precision * hits).sum(axis=1) / np.maximum(n_relevant, 1)


def query_matrix(texts: list[str], terms: Terms) -> sparse.csr_array:
    """Return (Q, terms) counts of each term in each query."""
    rows, columns = [], []
    for q, text in enumerate(texts):
        known = [terms.columns[term] for _, term in query_terms(text, terms.tokenizer) if term in terms.columns]
        rows += [q] * len(known)
        columns += known
    shape = len(texts), len(terms.columns)
    return sparse.csr_array(sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape))


def bm25_scores(query: sparse.csr_array, counts: sparse.csr_array, k1: float, b: float) -> np.ndarray:
    """Return (Q, D) scores by BM25 with both settings free."""
    return (query @ bm25(counts, inverse_document_frequency(counts), k1=k1, b=b).T).toarray()


def smoothed_scores(
    query: sparse.csr_array, counts: sparse.csr_array, topic: np.ndarray, mu: float, share: float
) -> np.ndarray:
    """Return (Q, D) log probabilities: Dirichlet smoothing mixed with LDA's words (Wei and Croft, 2006)."""
    length = np.asarray(counts.sum(axis=1)).ravel()
    asked = np.unique(query.indices)
    collection = np.asarray(counts.sum(axis=0)).ravel()[asked] / counts.sum()
    own = (counts[:, asked].toarray() + mu * collection) / (length + mu)[:, None]
    log_p = np.log(share * own + (1 - share) * topic[:, asked] + 1e-12)
    return np.asarray(query[:, asked] @ log_p.T)


def scaled(values: np.ndarray) -> np.ndarray:
    """Return each query's scores over their standard deviation, so that two kinds can be mixed."""
    return values / np.maximum(values.std(axis=1, keepdims=True), 1e-12)


def bm25_peers(query: sparse.csr_array, counts: sparse.csr_array, _: int = 0) -> Iterator[Scores]:
    for k1 in K1S:
        for b in BS:
            yield Scores(BM25, f"k1={k1}, b={b}", bm25_scores(query, counts, k1, b))


def lda_peers(query: sparse.csr_array, counts: sparse.csr_array, k: int) -> Iterator[Scores]:
    """Yield words smoothed by LDA's probabilities, alone and mixed with BM25."""
    plain = scaled(bm25_scores(query, counts, K1, B))
    chains = [fit_topics("LDA", counts.astype(np.int64), seed=seed, k=k) for seed in range(LDA_CHAINS)]
    topic = np.mean([one.doc_topic @ one.topic_word for one in chains], axis=0)
    for mu in MUS:
        for share in SHARES:
            values = smoothed_scores(query, counts, topic, mu, share)
            yield Scores("LDA smoothing", f"{k} topics, mu={mu:g}, words {share}", values)
    alone = scaled(smoothed_scores(query, counts, topic, MUS[-1], 0.7))
    for share in SHARES:
        yield Scores("BM25 with LDA", f"{k} topics, BM25 {share}", share * plain + (1 - share) * alone)


def lsa_peers(query: sparse.csr_array, counts: sparse.csr_array, k: int) -> Iterator[Scores]:
    """Yield cosines in the first dimensions of TF-IDF, alone and mixed with BM25."""
    plain = scaled(bm25_scores(query, counts, K1, B))
    transformer = TfidfTransformer(sublinear_tf=True)
    reduced = TruncatedSVD(k, random_state=0)
    documents = reduced.fit_transform(transformer.fit_transform(counts))
    values = _cosine(reduced.transform(transformer.transform(query)), documents)
    yield Scores("LSA", f"{k} dimensions", values)
    for share in SHARES:
        mixed = share * plain + (1 - share) * scaled(values)
        yield Scores("BM25 with LSA", f"{k} dimensions, BM25 {share}", mixed)


def neighbour_peers(query: sparse.csr_array, counts: sparse.csr_array, _: int = 0) -> Iterator[Scores]:
    """Yield what is left of ours without concepts: BM25 mixed with that of documents with the same words."""
    words = bm25(counts, inverse_document_frequency(counts))
    own = (query @ words.T).toarray()
    near = nearest(words, sparse.csr_array(np.ones((counts.shape[0], 1))))
    for share in NEAR_SHARES:
        values = (1 - share) * own + share * np.asarray((near @ own.T).T)
        yield Scores("BM25 with near documents", f"near {share}", values)


PEERS = (
    ("BM25", bm25_peers, (0,)),
    ("BM25 with near documents", neighbour_peers, (0,)),
    ("LSA", lsa_peers, LSA_SIZES),
    ("LDA", lda_peers, LDA_SIZES),
)


def _cosine(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    left = left / np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-12)
    return left @ (right / np.maximum(np.linalg.norm(right, axis=1, keepdims=True), 1e-12)).T


def judged_on_the_other_half(found: pd.DataFrame) -> tuple[np.ndarray, str]:
    """Return (2, Q) nDCG@10 and AP, each query under the setting that is best on the other half."""
    gain = found.pivot(index="query", columns="setting", values="nDCG@10")
    precision = found.pivot(index="query", columns="setting", values="AP")
    half = np.asarray(gain.index) % 2
    out, chosen = np.zeros((2, len(half))), []
    for side in (0, 1):
        best = str(gain[half != side].mean().idxmax())
        out[:, half == side] = gain.loc[half == side, best], precision.loc[half == side, best]
        chosen.append(best)
    return out, " / ".join(dict.fromkeys(chosen))


def paired_p(ours: np.ndarray, theirs: np.ndarray, seed: int = 0) -> float:
    """Return P of a mean difference as large if signs were random (two-sided randomisation test)."""
    difference = ours - theirs
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (SHUFFLES, len(difference)))
    return float((1 + (np.abs(signs @ difference) >= abs(difference.sum()) - 1e-12).sum()) / (SHUFFLES + 1))


def experiment(lab: Lab, seeds: int = 2, sweeps: int = N_SWEEPS) -> pd.DataFrame:
    """Write search.csv: all ways of searching, with paired tests of ours against each."""
    judged = lab.growing("judged.csv", sweeps=sweeps)
    for seed in range(seeds):
        lab.say(f"superwords, seed {seed} …")

        def make(seed: int = seed) -> ConceptModel:
            path = lab.path(DOCUMENTS)
            return fit(path, text="text", id="id", random_state=seed, n_sweeps=sweeps, n_jobs=lab.jobs)

        model = lab.model(f"cranfield-{sweeps}-{seed}.sw", make)
        queries = read_queries(lab.data, catalog(model.result_).ids)
        if not judged.has(step=f"{OURS} {seed}"):
            values = np.array([Search(model.result_, text).score for text in queries.texts])
            judged.add(_judged([Scores(OURS, str(seed), values)], f"{OURS} {seed}", queries.relevant))
    index = search_index(model.result_)
    counts = sparse.csr_array(index.rows @ index.terms.counts)
    asked = query_matrix(queries.texts, index.terms)
    for name, scores_of, sizes in PEERS:
        for size in sizes[:1] if lab.quick else sizes:
            if not judged.has(step=f"{name} {size}"):
                lab.say(f"{name} {size or ''} …")
                judged.add(_judged(scores_of(asked, counts, size), f"{name} {size}", queries.relevant))
    table = compared(judged.table, seeds)
    n_documents, seconds = query_times(model.result_, queries.texts[:N_TIMED])
    took = f"{1000 * np.median(seconds):.1f} ms of CPU in the median, {1000 * seconds.max():.1f} at most"
    lab.say(f"A query of {n_documents:,} documents (the collection {COPIES} times): {took}.")
    lab.table("search.csv", table, show=True)
    return table


def _judged(scores: Iterable[Scores], step: str, relevant: np.ndarray) -> list[Mapping[str, Any]]:
    """Return a row for every way of searching, setting and query."""
    rows: list[Mapping[str, Any]] = []
    for one in scores:
        for q, (gain, precision) in enumerate(zip(*judge(one.values, relevant))):
            key = {"step": step, "search": one.model, "setting": one.setting, "query": q}
            rows.append({**key, "nDCG@10": gain, "AP": precision})
    return rows


def compared(judged: pd.DataFrame, seeds: int) -> pd.DataFrame:
    """Return the table: ours as the mean over the first fits, every other way under settings of the other half."""
    steps = [f"{OURS} {seed}" for seed in range(seeds)]
    mine = judged[judged["step"].isin(steps)].groupby("query")[["nDCG@10", "AP"]].mean()
    ours = mine.to_numpy().T
    rows = [_row(OURS, ours, "by rule", ours)]
    for name, found in judged[judged["search"] != OURS].groupby("search", sort=False):
        rows.append(_row(str(name), *judged_on_the_other_half(found), ours))
    return pd.DataFrame(rows)


def query_times(result: Result, texts: list[str]) -> tuple[int, np.ndarray]:
    """Return documents and CPU seconds of each query, with the collection seven times in the index."""
    index, known = search_index(result), catalog(result)

    def often(rows: Any) -> sparse.csr_array:
        return sparse.csr_array(sparse.vstack([rows] * COPIES))

    documents = known._replace(ids=known.ids * COPIES, titles=known.titles * COPIES, weights=often(known.weights))
    many = copy(index)
    many.__dict__.update(
        rows=often(index.rows),
        words=sparse.csc_array(often(index.words)),
        has=often(index.has),
        likely=sparse.csc_array(often(index.likely)),
        near=sparse.csr_array(sparse.block_diag([index.near] * COPIES)),
    )
    result.computed.update(search_index=many, documents_searched=documents)
    try:
        search(result, texts[0])
        seconds = []
        for text in texts:
            start = process_time()
            search(result, text)
            seconds.append(process_time() - start)
    finally:
        result.computed.update(search_index=index, documents_searched=known)
    return len(documents.ids), np.array(seconds)


def _row(name: str, found: np.ndarray, setting: str, ours: np.ndarray) -> dict[str, Any]:
    row: dict[str, Any] = {"search": name, "nDCG@10": found[0].mean(), "MAP": found[1].mean()}
    if name != OURS:
        for k, measure in enumerate(("nDCG@10", "MAP")):
            row[f"p ({measure})"] = paired_p(ours[k], found[k])
        better, worse = int((ours[0] > found[0]).sum()), int((ours[0] < found[0]).sum())
        row["queries won"], row["lost"] = better, worse
        row["sign test"] = float(stats.binomtest(better, max(better + worse, 1)).pvalue)
    row["settings"] = setting
    return row
