"""The demos: recipes in two languages, with ranks of translations; and letters of two kinds of households."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from superwords.demo.data import Demo, load_demo, picture_similarity, rank_accuracy, read_csv
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.fit import fit
from superwords.tabular import plain, records

TOGETHER, PICTURES, TEXT = "text and pictures", "pictures alone", "text alone"

# A word is in few concepts (lam), the same from recipe to recipe (b2); the noise of pictures is a tenth of their
# variance (beta_sigma / alpha_sigma), since with 16 words per recipe the text would otherwise dominate them.
# docs/cli.md has the figures behind this choice.
SETTINGS: dict[str, Any] = {
    "alpha_omega": 1.0,
    "lam": 0.01,
    "alpha_pi": 3.0,
    "K": 0.5,
    "b1": 3.0,
    "b2": 20.0,
    "alpha_sigma": 10_000.0,
    "beta_sigma": 1_000.0,
    "init": "kmeans:12",
    "n_chains": 8,
    "n_sweeps": 120,
    "n_burn_in": 50,
    "thin": 2,
    "standardize_features": False,
}
SEED, LETTERS_SEED = 2012, 2024
GROUP, DATE = "household", "date"  # of the letters
_QUOTES, _MOST_WORDS = 3, 4
_USED = 0.02  # minimum share of a concept's recipes that use a word for it


def run_demo(seed: int | None = None, progress: Any = False, n_jobs: int | None = None) -> tuple[ConceptModel, Any]:
    """Fit the recipes with and without pictures.

    Return the model of text and pictures and, as plain JSON, rank accuracy by source and the bilingual concepts.
    """
    demo = load_demo()
    pictures = without_artists(demo)
    settings = {**SETTINGS, "random_state": SEED if seed is None else seed, "n_jobs": n_jobs, "progress": progress}
    together = fit(demo.corpus, features=pictures, **settings)
    alone = fit(demo.corpus, features=None, **settings)
    by_text = {TOGETHER: together.co_membership_, TEXT: alone.co_membership_}
    similarities = {**by_text, PICTURES: picture_similarity(pictures)}
    found = {name: rank_accuracy(one, demo.vocabulary, demo.pairs) for name, one in similarities.items()}
    pictured = found[PICTURES].pairs["known"].to_numpy(dtype=bool)  # pairs with pictures of all their words
    accuracy = {
        name: {"all_pairs": one.mean, "pictured_pairs": float(one.pairs.loc[pictured, "accuracy"].mean())}
        for name, one in found.items()
    }
    best, *others = (scores["all_pairs"] for scores in accuracy.values())
    if best > max(others):
        conclusion = "Text and pictures together find translations better than either alone."
    else:
        conclusion = (
            "With this seed, text and pictures together do not find translations better than one of them alone."
        )
    return together, {
        "documents": demo.corpus.n_documents,
        "words": demo.corpus.n_words,
        "n_concepts": together.n_concepts_,
        "n_pairs": len(pictured),
        "n_pictured": int(pictured.sum()),
        "rank_accuracy": accuracy,
        "conclusion": conclusion,
        "caveat": "The settings were chosen on these pairs, so the figures are optimistic.",
        "bilingual_concepts": records(bilingual_concepts(demo, together)),
    }


def without_artists(demo: Demo) -> np.ndarray:
    """Return picture features scaled and centred by language, each by one artist.

    It uses no translations, and the ranking by pictures alone uses the same features.
    """
    features = demo.picture_features.copy()
    languages = np.array(demo.languages)
    for language in np.unique(languages):
        features[languages == language] -= np.nanmean(features[languages == language], axis=0)
    return features / np.nanstd(features)


def bilingual_concepts(demo: Demo, model: ConceptModel) -> pd.DataFrame:
    """Return concepts with words of both languages, by translations, leftovers last."""
    leftover = model.concepts(0)["leftover"].tolist()
    language = dict(zip(demo.vocabulary, demo.languages))
    rows = []
    for concept in range(1, model.n_concepts_ + 1):
        words = model.words_of(concept)
        used = words[words["share_used"] >= _USED]
        of_language = used["word"].map(language)
        found = {code: used["word"][of_language == code].tolist() for code in ("en", "de")}
        weight = [float(used["share_used"][of_language == code].sum()) for code in found]
        if min(weight) > 0:
            together = [
                f"{'/'.join(sorted(english))} = {'/'.join(sorted(german))}"
                for english, german in demo.pairs
                if english <= set(found["en"]) and german <= set(found["de"])
            ]
            balance = min(weight) / max(weight)
            order = leftover[concept - 1], -len(together), -balance
            rows.append((order, (concept, found["en"], found["de"], together, balance)))
    columns = ["concept", "english", "german", "translations", "balance"]
    return pd.DataFrame([row for _, row in sorted(rows)], columns=pd.Index(columns))


def load_letters() -> pd.DataFrame:
    """Return the letters: id, author, household, date and text."""
    return read_csv("letters.csv")


def run_letters(seed: int | None = None, progress: Any = False, n_jobs: int | None = None) -> tuple[ConceptModel, Any]:
    """Fit the letters with default settings; return the model and, as plain JSON, the largest differences and trend."""
    how = {"random_state": LETTERS_SEED if seed is None else seed, "progress": progress, "n_jobs": n_jobs}
    model = fit(load_letters(), "text", "id", [GROUP, "author"], **how)
    concepts = model.concepts(0)
    sure = set(concepts.loc[concepts["found_by"] == concepts["found_by"].max(), "concept"])
    compared, trends = model.compare_groups(GROUP), model.trends(DATE)
    difference = records(compared[compared["concept"].isin(sure)])[0]
    return model, {
        "documents": model.corpus_.n_documents,
        "n_concepts": model.n_concepts_,
        "finding": _finding(difference),
        "difference": difference,
        "quotes": records(model.representative_documents(int(difference["concept"]), _QUOTES)),
        "wording": plain(_differing_words(model, sure)),
        "trend": max(records(trends[trends["concept"].isin(sure)]), key=lambda row: abs(row["change"])),
    }


def _finding(row: dict[str, Any]) -> str:
    """Return a row of `compare_groups` as one sentence with its interval."""
    more, less = ("owner", "tenant") if row["difference"] > 0 else ("tenant", "owner")
    bounds = sorted(abs(round(100 * row[end])) for end in ("low", "high"))
    return (
        f"{row[f'prevalence_{more}']:.0%} of the letters by {more}s and {row[f'prevalence_{less}']:.0%} of those "
        f"by {less}s use concept {row['concept']} ({row['name']}): a difference of "
        f"{abs(round(100 * row['difference']))} percentage points, 95% interval {bounds[0]} to {bounds[1]}."
    )


def _differing_words(model: ConceptModel, concepts: set[int]) -> dict[str, Any]:
    """Return the concept whose words differ most between households, and these."""
    found = []
    for concept in sorted(concepts):
        table = model.group_words(GROUP, concept)
        table = table.pivot(index="word", columns="group", values="share").fillna(0)
        if table.shape[1] == 2:
            gap = (table["tenant"] - table["owner"]).sort_values()
            found.append((gap.nlargest(2).sum() - gap.nsmallest(2).sum(), -concept, gap))
    _, concept, gap = max(found, key=lambda one: one[:2])
    words = {"tenant": gap.index[::-1][:_MOST_WORDS].tolist(), "owner": gap.index[:_MOST_WORDS].tolist()}
    return {"concept": -concept, "name": model.concepts(0).set_index("concept").loc[-concept, "name"], **words}
