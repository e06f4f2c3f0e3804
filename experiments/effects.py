"""Do intervals of effects cover what is true? Corpora generated from the model, with effects that are known.

Documents hold four concepts with probabilities that are linear in two columns, x (0 or 1) and u (a number that goes
with x), and a fifth one always; where they hold one, its weight may depend on x. Everything else is as in the model.
The truth is the effect on use: whether a document has a token of the concept. "use known" regresses the use that was
generated: what no method that only sees the texts can better. Nested data are simulated without a fit.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from statsmodels.api import OLS

from experiments.harness import Lab
from superwords.analysis.effects import effects, fit_prevalence, folded_outcomes, predicted
from superwords.fitting.estimator import ConceptModel
from superwords.text.corpus import Corpus

FORMULA = "x + u"
FIRST = 1000  # seeds below were looked at while the method was chosen
# Of each concept: its prevalence at x = 0 and u = 0, and the effects of x and of u.
PREVALENCE = np.array([[0.3, 0.2, 0.0], [0.4, -0.2, 0.0], [0.3, 0.0, 0.2], [0.5, 0.0, 0.0]])
STRONGER = np.array([1.0, 0.0, 0.0, 0.0, 0.0])  # added to the shape of π's Gamma prior where x = 1
_CORE = 8  # words of a concept
_POPULATION = 400_000
QUICK = {"corpora": 1, "sweeps": 20, "documents": 40}
_LEAST_PURITY = 0.6  # a concept is found if so much of its words is one concept's core


class Generated(NamedTuple):
    counts: np.ndarray  # (D, V)
    columns: pd.DataFrame  # x and u
    holds: np.ndarray  # (D, J)
    used: np.ndarray  # (D, J) whether a token is of the concept


def draw_documents(rng: np.random.Generator, n_documents: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    """Draw columns, memberships and weights."""
    x = (rng.random(n_documents) < 0.5).astype(float)
    u = rng.random(n_documents) + 0.5 * x
    expected = PREVALENCE[:, 0] + np.outer(x, PREVALENCE[:, 1]) + np.outer(u, PREVALENCE[:, 2])
    holds = np.column_stack([rng.random(expected.shape) < expected, np.ones(n_documents, bool)])
    weight = holds * rng.gamma(1 + np.outer(x, STRONGER))
    return pd.DataFrame({"x": x, "u": u}), holds, weight / weight.sum(axis=1, keepdims=True)


def generate(seed: int, n_documents: int, n_tokens: int) -> Generated:
    """Generate a corpus: every document has its own variant of each concept's words."""
    rng = np.random.default_rng([seed, 5])
    columns, holds, weight = draw_documents(rng, n_documents)
    n_concepts = holds.shape[1]
    n_words = n_concepts * _CORE
    open_to = np.full((n_concepts, n_words), 0.01)
    for j in range(n_concepts):
        open_to[j, j * _CORE : (j + 1) * _CORE] = rng.beta(8, 2, _CORE)
    counts, used = np.zeros((n_documents, n_words), int), np.zeros((n_documents, n_concepts), bool)
    for d in range(n_documents):
        n = rng.multinomial(n_tokens, weight[d])
        used[d] = n > 0
        for j in np.flatnonzero(holds[d]).tolist():
            on = rng.random(n_words) < open_to[j]
            on[j * _CORE] |= not on.any()
            counts[d] += rng.multinomial(n[j], on / on.sum())
    return Generated(counts, columns, holds, used)


@lru_cache
def true_effects(n_tokens: int) -> dict[str, np.ndarray]:
    """Return the effects (J, 2) on use, and on the weight where a concept is used, in a very large sample."""
    rng = np.random.default_rng(0)
    columns, _, weight = draw_documents(rng, _POPULATION)
    X = np.column_stack([np.ones(len(columns)), columns])
    used = rng.random(weight.shape) < 1 - (1 - weight) ** n_tokens
    out: dict[str, Any] = {"prevalence": [], "strength": [], "lines": []}
    for j in range(len(PREVALENCE)):
        own = used[:, j]
        out["lines"].append(np.linalg.lstsq(X, own.astype(float), rcond=None)[0])  # intercepts too
        out["prevalence"].append(out["lines"][-1][1:])
        out["strength"].append(np.linalg.lstsq(X[own], weight[own, j], rcond=None)[0][1:])
    return {of: np.array(values) for of, values in out.items()}


def nested_cases(seed: int, n_authors: int, n_concepts: int = 20) -> list[dict[str, Any]]:
    """Return effects with and without clusters where authors differ, x is the author's and memberships are certain.

    Authors have 1 to 30 documents; their prevalences differ by up to 0.2 either way.
    """
    rng = np.random.default_rng([seed, 9])
    author = np.repeat(np.arange(n_authors), rng.integers(1, 31, n_authors))
    x, own = (rng.permutation(np.arange(n_authors) % 2)[author], rng.uniform(-0.2, 0.2, (n_authors, n_concepts)))
    held = rng.random((len(author), n_concepts)) < 0.3 + 0.2 * x[:, None] + own[author]
    outcomes = folded_outcomes(
        pd.DataFrame({"x": x}), sparse.csr_array(held, dtype=float), sparse.csr_array(held, dtype=float)
    )
    X, rows = np.column_stack([np.ones(len(x)), x]), []
    for method, cluster in (("clusters ignored", None), ("clusters", author)):
        pooled = fit_prevalence(outcomes, np.arange(len(x)), X, np.array([[0.0, 1.0]]), cluster)
        for summary in pooled.summaries(range(1, n_concepts + 1))[:, 0]:
            found = dict(zip(("effect", "low", "high"), summary.tolist()))
            rows.append({"seed": seed, "tokens": n_authors, "of": "nested", "true": 0.2, "method": method, **found})
    return rows


def found_concepts(model: ConceptModel) -> dict[int, int]:
    """Return, for each generated concept, the number of the one that has most of its words and little else."""
    share, holders = model.concept_word_, (model.result_.weights > 0).sum(axis=0)
    out = {}
    for j in range(len(PREVALENCE)):
        core = share[:, j * _CORE : (j + 1) * _CORE].sum(axis=1) / np.maximum(share.sum(axis=1), 1e-9)
        best = int(np.argmax(core * np.sqrt(np.asarray(holders).ravel())))
        if core[best] >= _LEAST_PURITY:
            out[j] = best + 1
    return out


def one_corpus(seed: int, n_documents: int, n_tokens: int, sweeps: int) -> list[dict[str, Any]]:
    """Return every effect of one corpus."""
    generated, truth = generate(seed, n_documents, n_tokens), true_effects(n_tokens)
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
            for k, term in enumerate(("x", "u")):
                ours = table.loc[(concept, term), ["effect", "low", "high"]]
                base = {"seed": seed, "tokens": n_tokens, "of": of, "true": float(truth[of][j, k])}
                methods = [("effects", ours)]
                if of == "prevalence":
                    methods.append(("use known", known_use(generated, j)[k]))
                for method, values in methods:
                    rows.append({**base, "method": method, **dict(zip(("effect", "low", "high"), values))})
    return rows + predicted_cases(model, generated, seed, n_tokens)


def known_use(generated: Generated, j: int) -> np.ndarray:
    """Return (2, 3) effects and intervals where it is known which documents use a concept."""
    X = np.column_stack([np.ones(len(generated.columns)), generated.columns])
    one = OLS(generated.used[:, j].astype(float), X).fit(cov_type="HC3")
    return np.column_stack([one.params, one.conf_int()])[1:]


def predicted_cases(model: ConceptModel, generated: Generated, seed: int, n_tokens: int) -> list[dict[str, Any]]:
    """Return predicted prevalences at both values of x; the truth is the population's line at these documents."""
    table, u = predicted(model.result_, FORMULA, by="x"), float(generated.columns["u"].mean())
    rows = []
    for j, concept in found_concepts(model).items():
        for one in table[table["concept"] == concept].to_dict("records"):
            true = float(true_effects(n_tokens)["lines"][j] @ [1.0, one["x"], u])
            base = {"seed": seed, "tokens": n_tokens, "of": "predicted", "true": true, "effect": one["predicted"]}
            rows.append({**base, "method": "effects", "low": one["low"], "high": one["high"]})
    return rows


def summarise(cases: pd.DataFrame) -> pd.DataFrame:
    """Return coverage, nulls found, and how much of the true effects is found, by tokens, outcome and method."""
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


def experiment(
    lab: Lab,
    corpora: int = 50,
    tokens: tuple[int, ...] = (12, 40),
    sweeps: int = 200,
    documents: int = 150,
    first: int = FIRST,
) -> pd.DataFrame:
    """Write cases.csv, a row per effect as it is found, coverage.csv (eight effects per corpus) and nested.csv."""
    cases = lab.growing("cases.csv", sweeps=sweeps, documents=documents)
    for n_tokens in tokens:
        for seed in range(first, first + corpora):
            if not cases.has(tokens=n_tokens, seed=seed):
                cases.add(one_corpus(seed, documents, n_tokens, sweeps))
        lab.say(f"{corpora} corpora of {n_tokens} tokens a document are done.")
    nested = pd.DataFrame([row for n in (10, 20, 50) for seed in range(corpora) for row in nested_cases(seed, n)])
    lab.table("nested.csv", summarise(nested).rename(columns={"tokens": "authors"}), show=True)
    asked = cases.table["tokens"].isin(tokens) & cases.table["seed"].between(first, first + corpora - 1)
    table = summarise(cases.table[asked])
    lab.table("coverage.csv", table, show=True)
    return table
