"""How the defaults were chosen: one setting at a time changed around them on four corpora, judged on held-out text.

The 2017 debate takes no part in the choice; how far concepts fill it is measured with the defaults alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfTransformer

import superwords
from experiments.congress import MEMBERS, MIN_DF, load_debate
from experiments.harness import Lab
from experiments.lee import ITEMS
from experiments.recipes import RECIPES
from experiments.salient import asked_words, best_topics
from superwords.compare import contest, judging
from superwords.compare.judging import Found
from superwords.compare.splitting import SENTENCES, Split, as_documents, make_split
from superwords.features import combine, cooccurrence
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.settings import lam_by_use, make_prior
from superwords.posterior.alignment import HANDFUL
from superwords.sampler.model import Prior
from superwords.sampler.state import sizes_of
from superwords.text.corpus import Corpus

SPEECHES = "convention2012.jsonl.gz"
# Name, file and language. Windows are the rows of all four, as their documents have more than 100 words.
CORPORA = (
    ("news", ITEMS, "en"),
    ("conventions", SPEECHES, "en"),
    ("English recipes", RECIPES, "en"),
    ("German recipes", RECIPES, "de"),
)
WINDOWS, DOCUMENTS = "windows", "documents"
PEER = "LDA on windows"
DEFAULT = "default"
NEEDS, LIBRARIES = (*dict.fromkeys(file for _, file, _ in CORPORA), MEMBERS), ("tomotopy",)
QUICK = {"sweeps": 4, "iterations": 10}
QUICK_SETTINGS, QUICK_DOCUMENTS, QUICK_MEMBERS = (DEFAULT, "theta"), 80, 12
MEASURES = ("win", "npmi", "peer_npmi", "own_npmi", "diversity", "concepts", "per_row", "median", "used", "seconds")

Rule = Callable[[Prior, sparse.csr_array], Any]  # from what the defaults give, and the counts


class Variation(NamedTuple):
    """One setting away from the defaults."""

    setting: str
    value: str
    given: Mapping[str, Any | Rule] = {}
    features: str = DEFAULT
    rows: str = WINDOWS


class Bench(NamedTuple):
    """A corpus to try settings on, what judges the word sets, and the peer's topics by seed."""

    name: str
    split: Split
    words: list[int]
    judge: judging.Judge
    topics: dict[int, Found]


def _scaled(name: str, factors: Sequence[float]) -> list[Variation]:
    def rule(factor: float) -> Rule:
        return lambda prior, counts: factor * getattr(prior, name)

    return [Variation(name, f"{factor:g} × rule", {name: rule(factor)}) for factor in factors]


def _fixed(name: str, values: Sequence[Any]) -> list[Variation]:
    return [Variation(name, str(value), {name: value}) for value in values]


def _kept(name: str) -> dict[str, Rule]:
    """Keep a setting at its default where that default depends on the one that is changed."""
    return {name: lambda prior, counts: getattr(prior, name)}


def _b1(factor: float | None) -> Variation:
    rule: Rule = (lambda prior, counts: 1.0) if factor is None else (lambda prior, counts: factor * counts.shape[0])
    given = {"b1": rule, **_kept("alpha_omega")}
    return Variation("b1", "1" if factor is None else f"{factor:g} D", given)


def _lam_kept(one: Variation) -> Variation:
    return one._replace(given={**one.given, **_kept("lam")})


def _lam(words_on: float, is_even: bool = False) -> Variation:
    """Vary λ: in proportion to the rows that use a word, as by default, or the same for every word."""

    def rule(prior: Prior, counts: sparse.csr_array) -> Any:
        return min(0.5, words_on / counts.shape[1]) if is_even else lam_by_use(counts, words_on)

    return Variation("Σλ", f"{words_on:g}" + (", λ even" if is_even else ""), {"lam": rule})


def _start(words_per_cluster: int) -> Variation:
    def rule(prior: Prior, counts: sparse.csr_array) -> str:
        return f"kmeans:{max(2, round(counts.shape[1] / words_per_cluster))}"

    return Variation("start", f"V/{words_per_cluster} clusters", {"init": rule})


def _features(*recipes: str) -> list[Variation]:
    return [Variation("features", recipe, features=recipe) for recipe in recipes]


VARIATIONS = (
    Variation(DEFAULT, ""),
    _b1(None),
    *map(_b1, (0.3, 1.0, 30.0)),
    *map(_lam_kept, _fixed("b2", (1.0, 10.0))),
    *map(_lam_kept, _scaled("b2", (0.25, 2.0, 6.0))),
    *_scaled("alpha_omega", (0.1, 10.0)),
    *_fixed("alpha_omega", (1.0,)),
    *map(_lam, (2, 10, 20)),
    *(_lam(words_on, is_even=True) for words_on in (4, 10)),
    *_fixed("alpha_pi", (0.3, 5.0)),
    *_fixed("theta", ("root", "sample")),
    *_fixed("K", (0.1, 2.0)),
    *_fixed("beta_sigma", (0.1, 10.0)),
    *_features("ppmi 20", "ppmi 100", "ppmi 50 whitened", "ppmi 50 sentences", "log 50", "vectors 50", "none"),
    *map(_start, (5, 11, 40)),
    Variation("rows", DOCUMENTS, rows=DOCUMENTS),
    Variation("b1, b2, alpha_omega", "sampled", dict.fromkeys(("b1", "b2", "alpha_omega"), "sample")),
)


def word_features(rows: Corpus, recipe: str) -> tuple[np.ndarray | None, bool]:
    """Return features by a recipe such as "ppmi 50" or "ppmi 50 whitened", and whether to scale them."""
    if recipe == DEFAULT:
        return cooccurrence(rows), True
    if recipe == "none":
        return None, True
    kind, number, *more = recipe.split()
    if kind == "vectors":
        return combine(passage_vectors(rows, int(number))), False
    values = cooccurrence(rows, int(number), kind, *(more if more in (["sentences"], ["passages"]) else []))
    if more == ["whitened"]:
        return values / np.nanstd(values, axis=0), False
    return values, True


def passage_vectors(rows: Corpus, n_components: int) -> np.ndarray:
    """Return latent semantic vectors of the words: the rows that use them, by TF-IDF, in a few dimensions."""
    weighted = sparse.csr_matrix(TfidfTransformer(sublinear_tf=True).fit_transform(sparse.csr_matrix(rows.counts)))
    n_components = min(n_components, min(weighted.shape) - 1)
    return np.asarray(TruncatedSVD(n_components, random_state=0).fit_transform(weighted.T))


def load_bench(lab: Lab, name: str, seeds: Sequence[int], iterations: int) -> Bench:
    """Split a corpus as `superwords compare` does, and fit the peer with its best setting, once for each seed."""
    most = QUICK_DOCUMENTS if lab.quick else None
    _, file, language = next(corpus for corpus in CORPORA if corpus[0] == name)
    records = [r for r in lab.lines(file) if r.get("lang", language) == language][:most]
    ids = [str(record.get("id", d)) for d, record in enumerate(records)]
    split = make_split([record["text"] for record in records], ids, language, {"n_jobs": lab.jobs})
    rows, judge = split.windows, judging.make_judges(split.held_out)["windows"]
    words = asked_words(rows)
    peer, topics = best_topics(split, words, judge, seeds, iterations)
    lab.say(
        f"{name}: {len(records)} documents, {rows.n_documents} windows and {rows.n_words} words to train on, "
        f"{split.held_out.n_documents} windows held out; {peer}"
    )
    return Bench(name, split, words, judge, topics)


def fit_variation(bench: Bench, variation: Variation, seed: int, n_sweeps: int) -> tuple[ConceptModel, float]:
    """Fit one chain with one setting changed, and return its seconds."""
    rows = bench.split.windows if variation.rows == WINDOWS else bench.split.documents
    given: dict[str, Any] = {}
    prior = make_prior(ConceptModel().get_params(), rows.counts)
    for name, value in variation.given.items():
        given[name] = value(prior, rows.counts) if callable(value) else value
    features, given["standardize_features"] = word_features(rows, variation.features)
    return timed({**given, "n_sweeps": n_sweeps, "random_state": seed}, rows, features)


def timed(settings: Mapping[str, Any], rows: Corpus, features: np.ndarray | None) -> tuple[ConceptModel, float]:
    """Fit one chain and return its seconds."""
    settings = {"init": defaults.INIT, **settings}  # the features are of the text
    start = perf_counter()
    model = superwords.fit(rows, features=features, n_chains=1, n_jobs=1, progress=False, **settings)
    return model, perf_counter() - start


def saturation(model: ConceptModel) -> dict[str, float]:
    """Measure concepts in all and per row, the median concept's prevalence, and the share of on-words used.

    The median is over the concepts that more than a handful of rows hold: newborn ones would hide the others.
    """
    draws = model.draws_
    n_rows = model.corpus_.n_documents
    held = [sizes_of(draw.state).holders for draw in draws]
    return {
        "concepts": float(np.mean([len(one) for one in held])),
        "per_row": float(np.mean([one.sum() for one in held]) / n_rows),
        "median": float(
            np.mean([np.median(one[one > HANDFUL]) if (one > HANDFUL).any() else 0.0 for one in held]) / n_rows
        ),
        "used": float(np.mean([(draw.tokens.entry > 0).mean() for draw in draws])),
    }


def judged(bench: Bench, model: ConceptModel, seed: int) -> dict[str, float]:
    """Judge word sets against the peer's by salient words, and each concept by its ten first words."""
    out: dict[str, float] = {}
    score, used = model.result_.summary.words.score, model.result_.summary.words.used
    ranked = [Found(*contest.word_sets(model, value), 0.0) for value in (score, used)]
    for found, ending in zip(ranked, ("", "_by_share")):
        sets = [judging.matched(found, bench.topics[seed], word) for word in bench.words]
        pairs = [(bench.judge(ours), bench.judge(theirs)) for ours, theirs in sets if len(ours) > 1]
        ours, theirs = np.array(pairs).reshape(-1, 2).T
        out[f"win{ending}"] = judging.win_rate(ours, theirs)["rate"]
        out[f"npmi{ending}"], out[f"peer_npmi{ending}"] = float(ours.mean()), float(theirs.mean())
    tops = judging.top_sets(ranked[0].weights)
    out["own_npmi"] = float(np.mean([bench.judge(words) for words in tops if len(words) > 1]))
    return out | {"diversity": judging.diversity(tops)}


def experiment(lab: Lab, seeds: int = 1, sweeps: int = 60, iterations: int = 1000) -> pd.DataFrame:
    """Write settings_runs.csv (a row per run, as it grows), settings.csv (a row per variation), saturation.csv."""
    chosen = [one for one in VARIATIONS if not lab.quick or one.setting in QUICK_SETTINGS]
    rows: list[dict[str, Any]] = []
    for name, _, _ in CORPORA:
        bench = load_bench(lab, name, range(1, 1 + seeds), iterations)
        contest.warm_up(bench.split.windows)
        for variation in chosen:
            for seed in range(1, 1 + seeds):
                model, seconds = fit_variation(bench, variation, seed, sweeps)
                found = judged(bench, model, seed) | saturation(model) | {"seconds": seconds}
                key = {"corpus": name, "setting": variation.setting, "value": variation.value, "seed": seed}
                rows.append(key | found)
            lab.table("settings_runs.csv", pd.DataFrame(rows))
            own = pd.DataFrame(rows[-seeds:]).mean(numeric_only=True)
            lab.say(f"  {variation.setting} {variation.value}: win rate {own['win']:.2f}, NPMI {own['npmi']:.3f}")
    table = summed_up(pd.DataFrame(rows))
    lab.table("settings.csv", table, show=True)
    lab.say(conclusion(table))
    debate = debate_saturation(lab.data, 2 * sweeps, QUICK_MEMBERS if lab.quick else None, lab.jobs)
    lab.table("saturation.csv", debate, show=True)
    return table


def summed_up(runs: pd.DataFrame) -> pd.DataFrame:
    """Return one row per variation: the win rate on each corpus, and means over corpora and seeds of all measures."""
    rows = []
    for (setting, value), own in runs.groupby(["setting", "value"], sort=False):
        row = {"setting": setting, "value": value}
        row |= {str(name): part["win"].mean() for name, part in own.groupby("corpus", sort=False)}
        rows.append(row | own[list(MEASURES)].mean().to_dict())
    return pd.DataFrame(rows)


def conclusion(table: pd.DataFrame) -> str:
    """Return how far the defaults are from the best of the grid, on each corpus and on the mean."""
    ours = table.iloc[0]
    gaps = []
    for column in (*(name for name, _, _ in CORPORA), "win"):
        best = table.iloc[int(table[column].to_numpy().argmax())]
        where = "on the mean" if column == "win" else f"on {column}"
        gaps.append(
            f"{where} {ours[column]:.2f}, the best {best[column]:.2f} ({best['setting']} {best['value']})".strip()
        )
    return f"Win rate of the defaults against {PEER}: " + "; ".join(gaps) + "."


def debate_saturation(data: Path, n_sweeps: int, most: int | None, n_jobs: int | None) -> pd.DataFrame:
    """Measure the defaults on the 2017 debate, by member and by passage."""
    min_df = MIN_DF if most is None else min(MIN_DF, most // 2)
    passages = load_debate(data, min_df, f"passages:{SENTENCES}", most, n_jobs)
    rows = []
    for unit, corpus in (("document", as_documents(passages)), ("passage", passages)):
        settings = {"n_sweeps": n_sweeps, "random_state": 1}
        model, seconds = timed(settings, corpus, cooccurrence(corpus))
        rows.append({"unit": unit, "rows": corpus.n_documents} | saturation(model) | {"seconds": seconds})
    return pd.DataFrame(rows)
