"""The paper's recipe experiment: English and German recipes, and pictures of their words by two artists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

import superwords
from experiments.harness import Lab, bars, data_path, means, read_lines, t_interval
from superwords.demo.data import (
    Demo,
    WordFinder,
    WordPair,
    picture_similarity,
    rank_accuracy,
    read_csv,
    read_pairs,
    recipe_corpus,
)
from superwords.demo.run import PICTURES, SETTINGS, TEXT, TOGETHER, bilingual_concepts, without_artists
from superwords.errors import InputError
from superwords.features import pictures
from superwords.fitting.estimator import ConceptModel
from superwords.plots import cloud_grid
from superwords.plots.model_plots import concept_weights
from superwords.text.corpus import Corpus, documents_using

RECIPES, FOODS = "recipes_en_de.jsonl.gz", "food_pictures"
ARTISTS = {"en": "noto", "de": "openmoji"}
ENDINGS = {"en": ("", "s", "es"), "de": ("", "n", "en", "e", "s", "er")}
MIN_RECIPES = 5
SHUFFLED = "text and shuffled pictures"
SOURCES = (TOGETHER, PICTURES, TEXT, SHUFFLED)
NEEDS, QUICK = (RECIPES, FOODS), {"seeds": 1, "sweeps": 4}
PART, PART_CHAINS = 28, 2  # recipes in a part, chains of each: chosen on the demo's recipes
_CLOUDS = 6


@dataclass(frozen=True)
class RecipeRun:
    """The rank accuracies of one seed, and its models of text and pictures, one for each part of the recipes."""

    seed: int
    accuracy: dict[str, pd.DataFrame]
    models: list[ConceptModel]


def load_recipes(data: Path) -> Demo:
    """Read the recipes as the demo's kind of data.

    Words are the demo's, and every food of the pictures whose name is one word; a word counts if it is in
    five recipes of its language. Pairs are the demo's dictionary and the foods' names, if spelled differently.
    """
    recipes = read_lines(data / RECIPES)
    foods = read_lines(data_path(data, FOODS) / "words.jsonl")
    words = _word_list(foods)
    finders = {lang: WordFinder(rows) for lang, rows in words.groupby("lang")}
    tokens = [finders[recipe["lang"]].words_in(recipe["text"]) for recipe in recipes]
    spread = pd.Series([word for found in tokens for word in set(found)]).value_counts()
    words = words[words["word"].map(spread).fillna(0) >= MIN_RECIPES].reset_index(drop=True)
    vocabulary = words["word"].tolist()
    known = set(vocabulary)
    tokens = [[word for word in found if word in known] for found in tokens]
    corpus = recipe_corpus(recipes, tokens, vocabulary)
    features = _picture_features(data, words)
    return Demo(corpus, words["lang"].tolist(), features, _pairs(foods, known))


def _word_list(foods: list[dict[str, Any]]) -> pd.DataFrame:
    """Return columns word, lang, forms and picture (a code point, or empty)."""
    listed = read_csv("words.csv")
    taken = set(listed["word"]) | {form for forms in listed["forms"] for form in forms.split("|")}
    rows = []
    for food in foods:
        for lang, endings in ENDINGS.items():
            # German nouns keep their capital, and that is what tells "Olive" from "olive".
            name = food[lang].lower() if lang == "en" else food[lang]
            if " " in name or "-" in name or name in taken:
                continue
            forms = {name + ending for ending in endings}
            if lang == "en" and name.endswith("y"):
                forms.add(f"{name[:-1]}ies")
            rows.append({"word": name, "lang": lang, "forms": "|".join(sorted(forms)), "picture": food["cp"]})
            taken |= forms
    table = pd.concat([listed, pd.DataFrame(rows, columns=listed.columns)], ignore_index=True)
    # A longer form must be tried before the shorter one that it starts with.
    longest = table["forms"].map(lambda forms: max(map(len, forms.split("|"))))
    return table.loc[longest.sort_values(ascending=False, kind="stable").index]


def _picture_features(data: Path, words: pd.DataFrame) -> np.ndarray:
    """Return (V, 10) principal components of GIST; each language has its own artist."""
    folder = data_path(data, FOODS)
    paths = {
        row.word: path
        for row in words.itertuples()
        if row.picture and (path := folder / ARTISTS[str(row.lang)] / (str(row.picture) + ".png")).is_file()
    }
    if len(paths) < 2:
        raise InputError(f"{folder}: the folders {' and '.join(ARTISTS.values())} hold too few pictures.")
    return pictures(paths, words["word"].tolist())


def _pairs(foods: list[dict[str, Any]], known: set[str]) -> list[WordPair]:
    named: list[WordPair] = [(frozenset({food["en"].lower()}), frozenset({food["de"]})) for food in foods]
    pairs = dict.fromkeys([*read_pairs(), *named])
    seen: set[str] = set()
    chosen = []
    for english, german in pairs:
        words = set(english) | set(german)
        differently = {word.casefold() for word in english}.isdisjoint(word.casefold() for word in german)
        if words <= known and differently and not words & seen:
            chosen.append((english, german))
            seen |= words
    return chosen


def run(recipes: Demo, seed: int, n_sweeps: int, n_jobs: int | None = None) -> RecipeRun:
    """Fit every part of the recipes with the demo's settings; similarities are means over parts.

    The demo's settings weigh pictures against the text of at most 84 recipes. Against nine times the text they
    drown, on the demo's own recipes written down nine times as well, and there three parts do better than one.
    """
    features = without_artists(recipes)
    drawn = np.flatnonzero(~np.isnan(features).any(axis=1))
    rng = np.random.default_rng([seed, 1785])
    shuffled = features.copy()
    shuffled[drawn] = features[rng.permutation(drawn)]
    settings = {
        **SETTINGS,
        "n_chains": PART_CHAINS,
        "n_sweeps": n_sweeps,
        "n_burn_in": n_sweeps // 4,
        "random_state": seed,
        "n_jobs": n_jobs,
        "progress": False,
    }
    parts = _parts(recipes, rng)
    models = {
        name: [superwords.fit(part, features=given, **settings) for part in parts]
        for name, given in ((TOGETHER, features), (TEXT, None), (SHUFFLED, shuffled))
    }
    similarity = {name: over_parts([m.co_membership_ for m in fitted], parts) for name, fitted in models.items()}
    similarity[PICTURES] = picture_similarity(features)
    accuracy = {name: rank_accuracy(similarity[name], recipes.vocabulary, recipes.pairs).pairs for name in SOURCES}
    return RecipeRun(seed, accuracy, models[TOGETHER])


def over_parts(similarities: Sequence[np.ndarray], parts: Sequence[Corpus]) -> np.ndarray:
    """Average over the parts that use both words; NaN where none does."""
    total, n_parts = np.zeros_like(similarities[0]), np.zeros_like(similarities[0])
    for similarity, part in zip(similarities, parts):
        uses = documents_using(part.counts) > 0
        both = np.outer(uses, uses)
        total += np.where(both, similarity, 0.0)
        n_parts += both
    return np.where(n_parts > 0, total / np.maximum(n_parts, 1.0), np.nan)


def _parts(recipes: Demo, rng: np.random.Generator) -> list[Corpus]:
    """Deal the recipes out at random, each language evenly, to parts of about PART recipes."""
    n_parts = max(1, round(recipes.corpus.n_documents / PART))
    part = np.zeros(recipes.corpus.n_documents, int)
    languages = recipes.corpus.metadata["lang"].to_numpy()
    for language in np.unique(languages):
        rows = np.flatnonzero(languages == language)
        part[rng.permutation(rows)] = np.arange(len(rows)) % n_parts
    return [
        Corpus.from_counts(sparse.csr_array(recipes.corpus.counts[part == p]), recipes.vocabulary)
        for p in range(n_parts)
    ]


def experiment(lab: Lab, seeds: int = 5, sweeps: int = 200) -> pd.DataFrame:
    """Write recipes_pairs.csv (as it grows), recipes.csv, recipes_concepts.csv and both figures."""
    recipes = load_recipes(lab.data)
    pictured = int((~np.isnan(recipes.picture_features).any(axis=1)).sum())
    lab.say(
        f"{recipes.corpus.n_documents} recipes, {recipes.corpus.n_words} words ({pictured} with pictures), "
        f"{len(recipes.pairs)} pairs of translations"
    )
    runs: list[RecipeRun] = []
    pairs = pd.DataFrame()
    for seed in range(seeds):
        runs.append(run(recipes, seed, sweeps, lab.jobs))
        pairs = _by_pair(runs)
        lab.table("recipes_pairs.csv", pairs)
        shown = (f"{name} {table['accuracy'].mean():.3f}" for name, table in runs[-1].accuracy.items())
        lab.say(f"seed {seed}: {', '.join(shown)}")
    table = _table(pairs)
    lab.table("recipes.csv", table, show=True)
    known = table[table["pairs"] == "pairs with pictures"]
    lab.figure("recipes.png", bars(known, "source", "accuracy", "rank accuracy of translations (chance: 0.5)"))
    _write_concepts(recipes, runs[0].models, lab)
    lab.say(margins(pairs))
    return table


def _by_pair(runs: list[RecipeRun]) -> pd.DataFrame:
    """Return a row per seed, source and pair of translations; a pair is known if both of its words are drawn."""
    pairs = pd.concat(
        [table.assign(seed=one.seed, source=name) for one in runs for name, table in one.accuracy.items()]
    )
    return pairs.assign(known=pairs["pair"].isin(_pictured_pairs(runs[0])))


def margins(pairs: pd.DataFrame) -> str:
    """Return by how much text and pictures beat pictures alone, with the interval of the mean over pairs of words."""
    by_pair = pairs.groupby(["pair", "source"])["accuracy"].mean().unstack()
    gain = by_pair[TOGETHER] - by_pair[PICTURES]
    known = gain[pairs.groupby("pair")["known"].first()]
    parts = []
    for label, values in (("all pairs", gain), ("pairs with pictures", known)):
        low, high = t_interval(values.to_numpy())
        parts.append(f"{label} {values.mean():+.3f} [{low:+.3f}, {high:+.3f}]")
    return f"{TOGETHER} against {PICTURES}, intervals over pairs: {'; '.join(parts)}"


def _pictured_pairs(one: RecipeRun) -> set[str]:
    table = one.accuracy[PICTURES]
    return set(table.loc[table["known"], "pair"])


def _table(pairs: pd.DataFrame) -> pd.DataFrame:
    """Return a row per source and set of pairs: means, and the interval of the mean over seeds."""
    tables = []
    for label, part in (("all pairs", pairs), ("pairs with pictures", pairs[pairs["known"]])):
        by_seed = part.groupby(["source", "seed"], sort=False)["accuracy"].mean().reset_index()
        own = means(by_seed, ["source"], "accuracy", "n_seeds").set_index("source").loc[list(SOURCES)]
        by_source = part.groupby("source")
        more = {"to_german": by_source["forward"].mean(), "to_english": by_source["backward"].mean()}
        tables.append(own.assign(pairs=label, n_pairs=by_source["pair"].nunique(), **more).reset_index())
    return pd.concat(tables, ignore_index=True)


def _write_concepts(recipes: Demo, models: list[ConceptModel], lab: Lab) -> None:
    """Write the concepts of the first seed that join both languages, most translations first."""
    joined = pd.concat([bilingual_concepts(recipes, model).assign(part=p) for p, model in enumerate(models)])
    joined["met"] = joined["translations"].map(len)
    joined = joined.sort_values(["met", "balance"], ascending=False, kind="stable")
    plain = joined.assign(**{name: joined[name].map(", ".join) for name in ("english", "german", "translations")})
    lab.table("recipes_concepts.csv", plain)
    n_concepts = sum(model.n_concepts_ for model in models)
    lab.say(f"{len(joined)} of {n_concepts} concepts of {len(models)} parts hold words of both languages")
    shown = joined.head(_CLOUDS).to_dict("records")
    for row in shown:
        lab.say(f"  {', '.join(row['english'][:6])} | {', '.join(row['german'][:6])}")
    if shown:
        clouds = [concept_weights(models[row["part"]], int(row["concept"])) for row in shown]
        titles = [", ".join(row["translations"][:2]) or f"concept {row['concept']}" for row in shown]
        lab.figure("recipes_concepts.png", cloud_grid(clouds, titles))
