"""Pages of concepts and words, of groups, of what people decided, and of how far the chains agree."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from superwords.analysis.curation import decisions, history
from superwords.analysis.documents import telling_passage
from superwords.analysis.tables import automatic_names, concept_index, objects
from superwords.analysis.words import concepts_of_word, named_words, word_index
from superwords.errors import InputError
from superwords.plots.model_plots import chain_traces, concept_weights
from superwords.plots.style import figure_bytes
from superwords.posterior.traces import GOOD_ESS, GOOD_RHAT
from superwords.tabular import plain
from superwords.text.corpus import n_sources
from superwords.web.catalog import Catalog
from superwords.web.clouds import cloud_words, drawing
from superwords.web.tables import Column, Table, page

MOST_HISTORY = 200
MARKER_WORDS = 10
NEIGHBOURS = 50


@page("model")
def model(catalog: Catalog) -> dict[str, Any]:
    """Return what the page must know before it shows anything."""
    corpus, model = catalog.corpus, catalog.model
    decided = decisions(model.choices_)
    members = _merged(catalog)
    return {
        "rows": corpus.n_documents,
        "documents": n_sources(corpus),
        "words": corpus.n_words,
        "tokens": corpus.n_tokens,
        "concepts": len(model.result_.shown),
        "passages": corpus.parent is not None,
        "texts": corpus.texts is not None,
        "groups": [{"column": name, "labels": labels} for name, labels in catalog.group_columns.items()],
        "times": catalog.time_columns,
        "columns": [str(name) for name in corpus.metadata.columns],
        "verdict": str(model.verdict()),
        "limits": {"rhat": GOOD_RHAT, "ess": GOOD_ESS},
        "marks": catalog.marks,
        "decided": {
            "hidden": _as_sampled(catalog, decided.hidden),
            "merged": [
                {"concept": j, "name": catalog.names[j - 1], "members": _as_sampled(catalog, members[j])}
                for j in sorted(members)
            ],
            "themes": sorted(set(model.result_.themes.values())),
            "proposed": len(decided.proposed),
            "history": history(model.choices_)[:MOST_HISTORY],
        },
        "decides": catalog.decides,
    }


def _as_sampled(catalog: Catalog, concepts: Collection[int]) -> list[dict[str, Any]]:
    """Return concepts that are merged or hidden, by their own words."""
    names = automatic_names(catalog.model.sampled_) if concepts else []
    return [{"concept": j, "name": catalog.model.names_.get(j, names[j - 1])} for j in sorted(concepts)]


def _merged(catalog: Catalog) -> dict[int, list[int]]:
    """Return the concepts that are merged into each one that is shown."""
    decided, members = decisions(catalog.model.choices_), dict[int, list[int]]()
    for one, into in decided.merged.items():
        if into not in decided.excluded:
            members.setdefault(into, []).append(one)
    return members


@page("names")
def names(catalog: Catalog) -> dict[str, str]:
    return {"prompt": catalog.model.name_prompt()}


@page("tables/concepts")
def concepts(catalog: Catalog) -> Table:
    themes, rows = catalog.model.result_.themes, catalog.concept_rows
    columns = ["concept", "top words", *(["theme"] if themes else []), "prevalence", "strength", "mean words"]
    columns += ["coherence", "found by", "found again" if catalog.n_pilots else "stability"]
    columns += ["much like"] if rows["much_like"].notna().any() else []
    rows = rows.assign(
        name=catalog.names_of(rows["concept"]),
        theme=objects(themes.get(j) for j in rows["concept"]),
        n_pilots=catalog.n_pilots,
        much_like=pd.to_numeric(rows["much_like"]),
    )
    rows = rows.sort_values("prevalence", ascending=False, kind="stable", na_position="last")
    return catalog.table(rows.sort_values("leftover", kind="stable"), *columns)


@page("concept")
def concept(catalog: Catalog, concept: int) -> dict[str, Any]:
    names, result = catalog.names, catalog.model.result_
    concept_index(result, concept)
    row = catalog.concept_rows.set_index("concept", drop=False).loc[concept]
    known = {str(key): plain(value) for key, value in row.items()}
    like = known["much_like"]
    return {
        **known,
        "name": names[concept - 1],
        "automatic_name": catalog.automatic_names[concept - 1],
        "theme": result.themes.get(concept),
        "much_like_name": None if like is None else names[like - 1],
        "members": _as_sampled(catalog, _merged(catalog).get(concept, [])),
        "others": [[j, names[j - 1]] for j in result.shown if j != concept],
    }


@page("tables/concept-words")
def concept_words(catalog: Catalog, concept: int) -> Table:
    return catalog.table(catalog.called("words_of", concept), "word", "draws", "share used", "share on")


@page("cloud")
def cloud(
    catalog: Catalog, concept: int, column: str | None = None, first: str = "", second: str = ""
) -> dict[str, Any]:
    """Return the cloud of a concept by its scores, or those of two groups by the shares of their documents."""
    if column is None:
        words = catalog.called("words_of", concept)
        shares = dict(zip(words["word"], words["share_used"].astype(float)))
        return cloud_words([concept_weights(catalog.model, concept)], shares=[shares])
    words, clouds = catalog.called("group_words", catalog.column(column), concept), []
    for label in (first, second):
        if label not in catalog.group_columns[column]:
            raise InputError("There is no such group.")
        own = words[words["group"].map(str) == label]
        clouds.append(dict(zip(own["word"], own["share"].astype(float))))
    return cloud_words(clouds, shares=clouds)


@page("tables/concept-documents")
def concept_documents(catalog: Catalog, concept: int) -> Table:
    columns = [*catalog.row_columns, "weight", "P(uses)", "tokens"]
    if catalog.corpus.texts is None:
        return catalog.table(catalog.holders(concept), *columns)
    complete = partial(with_passages, catalog, concept)
    return catalog.table(catalog.holders(concept), *columns, "telling passage", complete=complete)


def with_passages(catalog: Catalog, concept: int, rows: pd.DataFrame) -> pd.DataFrame:
    """Return rows with the stretch of each one's text that shows a concept best."""
    words = catalog.called("words_of", concept).head(MARKER_WORDS)
    marks = {str(word): float(score) for word, score in zip(words["word"], words["score"]) if score > 0}
    texts = catalog.corpus.texts or []
    return rows.assign(passage=[telling_passage(texts[d], marks) for d in rows["row"]])


@page("tables/concept-groups")
def concept_groups(catalog: Catalog, concept: int, column: str) -> Table:
    concept_index(catalog.model.result_, concept)
    key = catalog.column(column)
    rows = catalog.called("by_group", key, 0)
    rows = rows[rows["concept"] == concept].reset_index(drop=True)
    words = catalog.called("group_words", key, concept)
    top = [words[words["group"] == group]["word"].head(10).tolist() for group in rows["group"]]
    rows = rows.assign(group=rows["group"].map(str).astype(object), top_words=objects(top))
    columns = ("size of group", "prevalence", "strength", "words of group")
    return catalog.table(rows, Column("group", column), *columns)


@page("tables/group-differences")
def group_differences(catalog: Catalog, column: str, first: str, second: str) -> Table:
    """Return prevalence in one group less that in another, the largest differences first."""
    key, labels = catalog.column(column), catalog.group_columns[column]
    if first not in labels or second not in labels or first == second:
        raise InputError("Two different groups of the column are needed.")
    rows = catalog.called("compare_groups", key, first, second)
    rows = rows.set_axis(["concept", "name", "one", "other", *rows.columns[4:]], axis=1)
    return catalog.table(
        catalog.reliable_first(rows),
        "concept",
        Column("one", f"In {first}", "share", beside="other"),
        Column("other", f"In {second}", "share", beside="one"),
        "group difference",
        Column("probability_greater", f"P(more in {first})", "share"),
    )


@page("tables/words")
def words(catalog: Catalog) -> Table:
    rows = catalog.words.assign(name=catalog.names_of(catalog.words["strongest"]))
    rows = rows.sort_values("tokens", ascending=False, kind="stable")
    return catalog.table(rows, "word", "rows", "tokens", "number of concepts", "most used for", sort="tokens")


@page("word")
def word(catalog: Catalog, word: str) -> dict[str, Any]:
    """Return one word, or several with commas between."""
    words = named_words(catalog.model.result_, word)
    row, *_ = [catalog.words.iloc[word_index(catalog.model.result_, one)] for one in words]
    return {"words": words, **{key: plain(row[key]) for key in ("word", "rows", "tokens", "n_concepts")}}


@page("tables/word-concepts")
def word_concepts(catalog: Catalog, word: str) -> Table:
    """Return concepts that a word is a used word of, those that use it most first and leftovers last."""
    rows = catalog.reliable_first(concepts_of_word(catalog.model.result_, word))
    return catalog.table(rows, "concept", "share of uses", "share of rows", "draws")


@page("tables/word-neighbours")
def word_neighbours(catalog: Catalog, word: str) -> Table:
    """Return words that belong with one, or with several named with commas between."""
    words = named_words(catalog.model.result_, word)
    evidence = ["evidence"] if len(words) > 1 else []
    rows = catalog.called("similar_words", tuple(words) if evidence else words[0], NEIGHBOURS)
    return catalog.table(rows, "word", *evidence, "together", "mcse", sort=[*evidence, "together"][0])


@page("tables/convergence")
def convergence(catalog: Catalog) -> Table:
    rows = catalog.model.convergence()
    rows = rows.assign(quantity=objects(name[0].upper() + name[1:] for name in rows["label"]))
    return catalog.table(rows, "quantity", "rhat", "ess", "ess in tails", "mcse")


@page("traces")
def traces(catalog: Catalog) -> bytes:
    with drawing:
        return figure_bytes(chain_traces(catalog.model), "svg")


@page("tables/moves")
def moves(catalog: Catalog) -> Table:
    """Return what every move of a sweep tried, what was accepted, and the time it took, over all chains."""
    columns = ("move", "proposal", "tried", "accepted", "acceptance", "seconds", "share of time")
    return catalog.table(catalog.model.moves(), *columns)


@page("tables/others")
def others(catalog: Catalog) -> Table:
    """Return concepts that at least two chains find and the list lacks."""
    found = catalog.model.other_concepts()
    chains = (f"{n} of {len(each)}" for n, each in zip(found["found_by"], found["stability_by_chain"]))
    rows = pd.DataFrame({"words": objects(map(", ".join, found["top_words"])), "chains": objects(chains)})
    return catalog.table(rows, "words of other", "chains of other")


@page("tables/agreement")
def agreement(catalog: Catalog) -> Table:
    """Return concepts by the share of each chain's draws in which they are found, the least agreed first."""
    known = catalog.concept_rows
    shares = np.array(known["stability_by_chain"].tolist(), float)
    by_chain = {f"chain {c + 1}": shares[:, c] for c in range(shares.shape[1] if shares.ndim == 2 else 0)}
    rows = catalog.reliable_first(known[["concept", "stability"]].assign(**by_chain))
    columns = (Column(name, f"Found by {name}", "share") for name in by_chain)
    rows = rows.sort_values("stability", kind="stable")
    return catalog.table(rows, "concept", *columns, "stability", sort="stability", descending=False)
