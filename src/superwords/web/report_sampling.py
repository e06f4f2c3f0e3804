"""The report's last part: how the words were chosen, how the model was sampled, and whether the chains agree."""

from __future__ import annotations

from html import escape

import numpy as np
import pandas as pd

from superwords.corpus.corpus import row_name
from superwords.fitting.estimator import ConceptModel
from superwords.plots.model_plots import chain_traces
from superwords.web.catalog import Catalog
from superwords.web.page import html_table
from superwords.web.report_relations import picture

# In the words of `superwords fit --help`.
PRIORS = {
    "alpha_omega": "How readily new concepts appear (α_ω)",
    "b1": "Concentration of concepts in documents (b₁)",
    "b2": "Concentration of words in concepts (b₂)",
    "lam": "Prior share of words in a concept (λ)",
    "theta": "Importance of words (θ)",
    "alpha_pi": "Evenness of a document's weights (α_π)",
    "K": "Precision of concepts' features (K)",
    "alpha_sigma": "Shape of the features' noise (α_σ)",
    "beta_sigma": "Scale of the features' noise (β_σ)",
}


def sampling_part(catalog: Catalog) -> str:
    model = catalog.model
    return (
        f'<h2 id="sampling">How it was sampled</h2>{_convergence(catalog)}{_others(model)}{_settings(model)}'
    )


def facts_list(rows: list[tuple[str, str]]) -> str:
    inside = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in rows)
    return f'<dl class="facts">{inside}</dl>'


def _convergence(catalog: Catalog) -> str:
    table = catalog.convergence().rows
    rows = "".join(
        f'<tr><th scope="row">{escape(row["quantity"])}</th>'
        + "".join(f'<td class="number">{_decimal(row[name])}</td>' for name in ("rhat", "ess", "mcse"))
        + "</tr>"
        for row in table.to_dict("records")
    )
    return (
        "<h3>Do the chains agree?</h3>"
        "<p>Several chains were run from different starts. R-hat compares them: it is 1 if they agree. The effective "
        "sample size says how many independent draws they are worth, and the Monte-Carlo error how far the mean over "
        "the draws may be off.</p>"
        + html_table(("Quantity", "R-hat", "Effective sample size", "Monte-Carlo error"), rows)
        + picture(chain_traces(catalog.model), "Each traced quantity by draw, a line for each chain")
    )


def _others(model: ConceptModel) -> str:
    """Concepts that other chains find; nothing where there are none."""
    table = model.other_concepts()
    rows = "".join(
        f'<tr><th scope="row">{escape(", ".join(one["top_words"]))}</th>'
        f'<td class="number">{one["found_by"]} of {len(one["stability_by_chain"])}</td></tr>'
        for one in table.to_dict("records")
    )
    told = "These are found by at least two chains and are not among the concepts above."
    return rows and (
        f'<h3 id="others">Concepts of other chains</h3><p>{told}</p>'
        + html_table(("Words", "Chains that find it"), rows)
    )


def _decimal(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _settings(model: ConceptModel) -> str:
    schedule = model.schedule_
    starts = [model.init] if isinstance(model.init, str) else list(dict.fromkeys(model.init))
    rows = [
        ("What a row is", _unit(model)),
        *_least_documents(model),
        ("What is known of the words", _features(model)),
        ("Chains", str(len(model.chains_))),
        ("Sweeps of each chain", f"{schedule.n_sweeps:,}"),
        ("Sweeps before the first kept draw", f"{schedule.n_burn_in:,}"),
        ("Sweeps for each kept draw", str(schedule.thin)),
        ("Start of the chains", ", ".join(map(str, starts))),
        ("Steps of the sampler", str(model.steps)),
        ("Seed", str(model.seed_)),
        *((meaning, _prior_value(model, name)) for name, meaning in PRIORS.items()),
    ]
    return f"<h3>Settings</h3>{facts_list(rows)}"


def _least_documents(model: ConceptModel) -> list[tuple[str, str]]:
    """In how many documents a word had to be, and why."""
    notes = model.corpus_.notes
    if "min_df" not in notes:
        return []
    least = f"{notes['min_df']} {notes.get('min_df_counts', 'documents')}"
    why = notes.get("min_df_chosen")
    return [("Every word is in at least", f"{least} ({why})" if why else least)]


def _unit(model: ConceptModel) -> str:
    corpus = model.corpus_
    unit = (corpus.notes.get("recipe") or {}).get("unit")
    return str(unit) if unit else row_name(corpus).removesuffix("s")


def _features(model: ConceptModel) -> str:
    data = model.chains_[0].model.data
    n_features = data.Y.shape[1]
    if n_features == 0:
        return "nothing (no features)"
    return f"{n_features:,} features of {int(data.known.sum()):,} of the {len(data.known):,} words"


def _prior_value(model: ConceptModel, name: str) -> str:
    """The value that the chains used, and who chose it."""
    given, prior = getattr(model, name), model.chains_[0].model.prior
    if isinstance(given, str) and given == "sample":
        return "sampled"
    if name == "theta":
        return "uniform" if given is None else given if isinstance(given, str) else "given"
    low, high = float(np.min(getattr(prior, name))), float(np.max(getattr(prior, name)))
    value = _decimal(low) if low == high else f"{_decimal(low)} to {_decimal(high)}"
    return f"{value} (chosen by the program)" if given is None or isinstance(given, str) else value
