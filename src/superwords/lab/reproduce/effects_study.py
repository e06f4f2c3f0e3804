"""Do intervals of effects cover what is true? Corpora generated from the model, with effects that are known.

Documents hold four concepts with probabilities that are linear in two columns, x (0 or 1) and u (a number that goes
with x), and a fifth one always; where they hold one, its weight may depend on x. Everything else is as in the model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

from superwords.concepts.design import make_design
from superwords.concepts.effects import effects, ols
from superwords.concepts.outcomes import outcomes_of
from superwords.corpus.corpus import Corpus
from superwords.fitting.estimator import ConceptModel
from superwords.lab.reproduce.folder import GrowingTable, make_folder, write_table

FORMULA = "x + u"
FIRST = 1000  # seeds below were looked at while the method was chosen
# Of each concept: its prevalence at x = 0 and u = 0, and the effects of x and of u.
PREVALENCE = np.array([[0.3, 0.2, 0.0], [0.4, -0.2, 0.0], [0.3, 0.0, 0.2], [0.5, 0.0, 0.0]])
STRONGER = np.array([1.0, 0.0, 0.0, 0.0, 0.0])  # added to the shape of π's Gamma prior where x = 1
_CORE = 8  # words of a concept
_POPULATION = 400_000
_LEAST_PURITY = 0.6  # a concept is found if so much of its words is one concept's core


class Generated(NamedTuple):
    counts: np.ndarray  # (D, V)
    columns: pd.DataFrame  # x and u
    holds: np.ndarray  # (D, J)
    weight: np.ndarray  # (D, J)


def draw_documents(rng: np.random.Generator, n_documents: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Columns, who holds what, and with what weight."""
    x = (rng.random(n_documents) < 0.5).astype(float)
    u = rng.random(n_documents) + 0.5 * x
    expected = PREVALENCE[:, 0] + np.outer(x, PREVALENCE[:, 1]) + np.outer(u, PREVALENCE[:, 2])
    holds = np.column_stack([rng.random(expected.shape) < expected, np.ones(n_documents, bool)])
    weight = holds * rng.gamma(1 + np.outer(x, STRONGER))
    return pd.DataFrame({"x": x, "u": u}), holds, weight / weight.sum(axis=1, keepdims=True)


def generate(seed: int, n_documents: int, n_tokens: int) -> Generated:
    """A corpus: every document has its own variant of each concept's words."""
    rng = np.random.default_rng([seed, 5])
    columns, holds, weight = draw_documents(rng, n_documents)
    n_concepts = holds.shape[1]
    n_words = n_concepts * _CORE
    open_to = np.full((n_concepts, n_words), 0.01)
    for j in range(n_concepts):
        open_to[j, j * _CORE : (j + 1) * _CORE] = rng.beta(8, 2, _CORE)
    counts = np.zeros((n_documents, n_words), int)
    for d in range(n_documents):
        chance = np.zeros(n_words)
        for j in np.flatnonzero(holds[d]).tolist():
            on = rng.random(n_words) < open_to[j]
            on[j * _CORE] |= not on.any()
            chance += weight[d, j] * on / on.sum()
        counts[d] = rng.multinomial(n_tokens, chance)
    return Generated(counts, columns, holds, weight)


def true_effects() -> dict[str, np.ndarray]:
    """(J, 2) of prevalence, and of strength from a very large sample."""
    columns, holds, weight = draw_documents(np.random.default_rng(0), _POPULATION)
    X = np.column_stack([np.ones(len(columns)), columns])
    strength = []
    for j in range(len(PREVALENCE)):
        held = holds[:, j]
        strength.append(np.linalg.lstsq(X[held], weight[held, j], rcond=None)[0][1:])
    return {"prevalence": PREVALENCE[:, 1:], "strength": np.array(strength)}


def found_concepts(model: ConceptModel) -> dict[int, int]:
    """For each concept that was generated the number of the one that has most of its words, if it has little else."""
    share, holders = model.concept_word_, (model.result_.reference_weights > 0).sum(axis=0)
    out = {}
    for j in range(len(PREVALENCE)):
        core = share[:, j * _CORE : (j + 1) * _CORE].sum(axis=1) / np.maximum(share.sum(axis=1), 1e-9)
        best = int(np.argmax(core * np.sqrt(np.asarray(holders).ravel())))
        if core[best] >= _LEAST_PURITY:
            out[j] = best + 1
    return out


def plain_composition(model: ConceptModel, concept: int, of: str) -> np.ndarray:
    """(2, 3): mean and interval as of stm: a regression on every draw of the memberships as it is, all pooled."""
    outcomes = outcomes_of(model.result_)
    X = make_design(outcomes.metadata, FORMULA).matrix
    rng, drawn = np.random.default_rng(0), []
    for weights, found in zip(outcomes.weights, outcomes.found):
        own = weights[:, [concept - 1]].toarray()
        rows = np.full(len(own), True) if of == "prevalence" else own.ravel() > 0
        if found[concept - 1] and rows.sum() > X.shape[1] * 3:
            value = (own > 0).astype(float) if of == "prevalence" else own
            one = ols(value[rows, 0], X[rows])
            drawn.append(rng.multivariate_normal(one.params, one.cov_HC3, 10)[:, 1:])
    every = np.concatenate(drawn)
    return np.column_stack([every.mean(axis=0), *np.quantile(every, [0.025, 0.975], axis=0)])


def one_corpus(seed: int, n_documents: int, n_tokens: int, sweeps: int) -> list[dict[str, Any]]:
    """Every effect of one corpus by both methods."""
    generated, truth = generate(seed, n_documents, n_tokens), true_effects()
    corpus = Corpus.from_counts(sparse.csr_array(generated.counts), metadata=generated.columns)
    model = ConceptModel(
        alpha_pi=1.0,
        b1=1.0,
        b2=1.0,
        n_chains=1,
        n_sweeps=sweeps,
        n_burn_in=sweeps // 4,
        thin=2,
        init="kmeans:5",
        n_jobs=1,
        random_state=seed,
        progress=False,
    ).fit(corpus, features=None)
    rows = []
    for of in ("prevalence", "strength"):
        table = effects(model.result_, FORMULA, of).set_index(["concept", "term"])
        for j, concept in found_concepts(model).items():
            plain = plain_composition(model, concept, of)
            for k, term in enumerate(("x", "u")):
                told = table.loc[(concept, term), ["effect", "low", "high"]]
                base = {"seed": seed, "tokens": n_tokens, "of": of, "true": float(truth[of][j, k])}
                for method, values in (("given the columns", told), ("plain composition", plain[k])):
                    rows.append({**base, "method": method, **dict(zip(("effect", "low", "high"), values))})
    return rows


def summarise(cases: pd.DataFrame) -> pd.DataFrame:
    """Coverage, nulls found, and how much of the true effects is found, by tokens, outcome and method."""
    covered = (cases["low"] <= cases["true"]) & (cases["true"] <= cases["high"])
    is_null = cases["true"].abs() < 0.005
    rows = []
    keys = ["tokens", "of", "method"]
    for key, part in cases.assign(covered=covered, is_null=is_null).groupby(keys):
        real = part[~part["is_null"]]
        sign = np.sign(real["true"])
        rows.append(
            {
                **dict(zip(keys, key)),
                "cases": len(part),
                "covered": part["covered"].mean(),
                "nulls": int(part["is_null"].sum()),
                "null_found": 1 - part.loc[part["is_null"], "covered"].mean(),
                "effect_found": (real["effect"] * sign).sum() / real["true"].abs().sum(),
                "width": (part["high"] - part["low"]).mean(),
            }
        )
    return pd.DataFrame(rows)


def reproduce(
    out: Path,
    corpora: int,
    tokens: tuple[int, ...],
    sweeps: int,
    say: Callable[[str], Any],
    documents: int = 150,
    first: int = FIRST,
) -> pd.DataFrame:
    """Write every case as it is found, and the table of coverage."""
    make_folder(out)
    cases = GrowingTable(out / "cases.csv", sweeps=sweeps, documents=documents)
    for n_tokens in tokens:
        for seed in range(first, first + corpora):
            if not cases.has(tokens=n_tokens, seed=seed):
                cases.add(one_corpus(seed, documents, n_tokens, sweeps))
        say(f"{corpora} corpora of {n_tokens} tokens a document are done.")
    asked = cases.table["tokens"].isin(tokens) & cases.table["seed"].between(first, first + corpora - 1)
    table = summarise(cases.table[asked])
    write_table(table, out / "coverage.csv")
    say(table.round(3).to_string(index=False))
    return table
