"""Where must features matter? Short texts, few documents, two languages: none, from the text, embeddings, shuffled."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd

import superwords
from experiments.harness import GrowingTable, Lab
from superwords.compare.contest import word_sets
from superwords.compare.judging import alignment, reliability, top_sets
from superwords.compare.labels import with_interval
from superwords.errors import InputError
from superwords.features import cooccurrence, embeddings
from superwords.text.corpus import Corpus

SECTIONS, BILLS, LANGUAGES = "debian_packages.jsonl.gz", "bills.jsonl.gz", "udhr.jsonl.gz"
NEEDS = (SECTIONS, BILLS, LANGUAGES)
N_TITLES, N_SECTIONS, N_BILLS = 1000, 12, 120
WORDLLAMA = "embeddings:wordllama"
PAIRS = (("en", "fr"), ("es", "it"))  # languages whose Declarations have as many paragraphs
VARIANTS = ("none", "co-occurrence", "embeddings", "both", "shuffled embeddings")
QUICK = {"cases": ("few",), "seeds": 2, "sweeps": 10}


def experiment(
    lab: Lab, cases: tuple[str, ...] = ("short", "few", "languages"), seeds: int = 3, chains: int = 2, sweeps: int = 150
) -> pd.DataFrame:
    """Write features.csv: agreement with labels (two languages: rank of the translation) and partners, by features."""
    corpora = {name: corpus for case in cases for name, corpus in read_case(lab, case).items()}
    table = GrowingTable(lab.out / "features_runs.csv", chains=chains, sweeps=sweeps)
    rows = []
    for name, corpus in corpora.items():
        lab.say(f"{name}: {corpus.n_documents:,} rows, {corpus.n_words:,} words, {corpus.n_tokens:,} tokens")
        for variant in VARIANTS:
            words = []
            for seed in range(1, seeds + 1):
                options: dict[str, Any] = {"n_chains": chains, "n_sweeps": sweeps, "random_state": seed}
                given = word_features(corpus, variant, seed)
                model = superwords.fit(corpus, features=given, n_jobs=lab.jobs, progress=False, **options)
                words.append(word_sets(model)[0])
                found = {"case": name, "features": variant, "seed": seed, "concepts": model.n_concepts_}
                table.add([found | measures(corpus, np.asarray(model.doc_concept_))])
            rows.append({"case": name, "features": variant} | reliability([top_sets(one) for one in words]))
    partners = pd.DataFrame(rows).set_index(["case", "features"])
    means = with_interval(table.table.drop(columns=["chains", "sweeps"]), ["case", "features"])
    means = means.join(partners, on=["case", "features"])
    lab.table("features.csv", means, show=True)
    return means


def read_case(lab: Lab, case: str) -> dict[str, Corpus]:
    """Return the corpora of a case, each with the column `label`."""
    if case == "short":
        table = pd.DataFrame(lab.lines(SECTIONS))
        table = table[table["section"].isin(table["section"].value_counts().index[:N_SECTIONS])]
        table = table.sample(N_TITLES, random_state=0)
        return {case: _corpus(table["title"], table["section"], min_df=3)}
    if case == "few":
        table = pd.DataFrame(lab.lines(BILLS)).sample(N_BILLS, random_state=0)
        return {case: _corpus(table["text"], table["topic"], min_df=3)}
    if case == "languages":
        table = pd.DataFrame(lab.lines(LANGUAGES))
        parts = {"-".join(pair): table[table["language"].isin(pair)] for pair in PAIRS}
        options: dict[str, Any] = {"min_df": 2, "words": "plain"}
        return {
            f"{case} {name}": _corpus(
                part["text"], part["id"].str.partition("-")[2], language=part["language"].tolist(), **options
            )
            for name, part in parts.items()
        }
    raise InputError(f"There is no case {case!r}; give short, few or languages.")


def _corpus(texts: pd.Series, labels: pd.Series, **options: Any) -> Corpus:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that most documents are a single sentence is the point
        metadata = pd.DataFrame({"label": labels.to_numpy()})
        return Corpus.from_texts(texts.tolist(), metadata=metadata, unit="document", **options)


def word_features(corpus: Corpus, variant: str, seed: int) -> Any:
    """Return what `superwords.fit` takes as features."""
    if variant == "none":
        return None
    if variant == "co-occurrence":
        return np.asarray(cooccurrence(corpus))
    values = np.asarray(embeddings("wordllama", corpus.vocabulary))
    if variant == "shuffled embeddings":
        return values[np.random.default_rng([seed, len(values)]).permutation(len(values))]
    return values if variant == "embeddings" else ["cooccurrence", WORDLLAMA]


def measures(corpus: Corpus, documents: np.ndarray) -> dict[str, float]:
    """Return the agreement with labels; where every label is that of two rows, the rank of the other row."""
    labels = corpus.metadata["label"].to_numpy(object)
    if pd.Series(labels).value_counts().max() > 2:
        return alignment(documents, labels)
    return {"reciprocal rank": reciprocal_rank(documents, labels)}


def reciprocal_rank(documents: np.ndarray, labels: np.ndarray) -> float:
    """Return the mean of 1 / rank, by cosine, of a row's translation among the rows of the other language."""
    first = ~pd.Series(labels).duplicated().to_numpy()
    unit = documents / np.maximum(np.linalg.norm(documents, axis=1, keepdims=True), 1e-12)
    cosine = unit[first] @ unit[~first].T
    found = []
    for row, label in zip(cosine, labels[first]):
        own = row[labels[~first] == label]
        if len(own):
            found.append(1 / (1 + (row > own[0]).sum() + ((row == own[0]).sum() - 1) / 2))
    return float(np.mean(found))
