"""Demo of letters: subjects and words of two kinds of households."""

from __future__ import annotations

from typing import Any

import pandas as pd

from superwords.demo.data import read_csv
from superwords.fitting.estimator import ConceptModel
from superwords.fitting.fit import fit
from superwords.tabular import plain, records

SEED = 2024
GROUP, DATE = "household", "date"
_QUOTES, _WORDS = 3, 4


def load_letters() -> pd.DataFrame:
    """Return the letters: id, author, household, date and text."""
    return read_csv("letters.csv")


def run_letters(seed: int | None = None, progress: Any = False, n_jobs: int | None = None) -> tuple[ConceptModel, Any]:
    """Fit the letters with default settings; return the model and, as plain JSON, the largest differences and trend."""
    how = {"random_state": SEED if seed is None else seed, "progress": progress, "n_jobs": n_jobs}
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
    words = {"tenant": gap.index[::-1][:_WORDS].tolist(), "owner": gap.index[:_WORDS].tolist()}
    return {"concept": -concept, "name": model.concepts(0).set_index("concept").loc[-concept, "name"], **words}
