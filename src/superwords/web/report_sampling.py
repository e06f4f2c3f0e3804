"""The report's section on sampling: vocabulary, settings, and agreement of the chains."""

from __future__ import annotations

from html import escape

import numpy as np

from superwords.fitting.estimator import ConceptModel
from superwords.plots.model_plots import chain_traces
from superwords.text.corpus import row_name
from superwords.web.catalog import Catalog
from superwords.web.explorer_chains import ChainPages
from superwords.web.page import decimal, table_html
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
    return f'<h2 id="sampling">How it was sampled</h2>{_convergence(catalog)}{_others(catalog)}{_settings(model)}'


def facts_list(rows: list[tuple[str, str]]) -> str:
    inside = "".join(f"<div><dt>{escape(term)}</dt><dd>{escape(text)}</dd></div>" for term, text in rows)
    return f'<dl class="facts">{inside}</dl>'


def _convergence(catalog: Catalog) -> str:
    return (
        "<h3>Do the chains agree?</h3>"
        "<p>Several chains were run from different starts. R-hat compares them: it is 1 if they agree. The effective "
        "sample size is the number of independent draws that would be as precise, and the Monte-Carlo error is the "
        "standard error of the mean over the draws.</p>"
        + table_html(catalog.convergence(), "quantity", "rhat", "ess", "mcse")
        + picture(chain_traces(catalog.model), "Each traced quantity by draw, a line for each chain")
    )


def _others(catalog: Catalog) -> str:
    """Return concepts that other chains find; nothing where there are none."""
    table = ChainPages(catalog).others()
    told = "These are found by at least two chains and are not among the concepts above."
    if table.rows.empty:
        return ""
    return f'<h3 id="others">Concepts of other chains</h3><p>{told}</p>{table_html(table, "words", "chains")}'


def _settings(model: ConceptModel) -> str:
    schedule = model.schedule_
    starts = [model.init] if isinstance(model.init, str) else list(dict.fromkeys(model.init))
    rows = [
        ("Unit of analysis", _unit(model)),
        *_least_documents(model),
        ("Word features", _features(model)),
        ("Chains", str(len(model.chains_))),
        ("Sweeps of each chain", f"{schedule.n_sweeps:,}"),
        ("Burn-in sweeps", f"{schedule.n_burn_in:,}"),
        ("Sweeps per stored draw", str(schedule.thin)),
        ("Start of the chains", ", ".join(map(str, starts))),
        ("Steps of the sampler", str(model.steps)),
        ("Seed", str(model.seed_)),
        *((meaning, _prior_value(model, name)) for name, meaning in PRIORS.items()),
    ]
    return f"<h3>Settings</h3>{facts_list(rows)}"


def _least_documents(model: ConceptModel) -> list[tuple[str, str]]:
    """Return the minimum document frequency, and why it was chosen."""
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
        return "none"
    return f"{n_features:,} features of {int(data.known.sum()):,} of the {len(data.known):,} words"


def _prior_value(model: ConceptModel, name: str) -> str:
    """Return the value that the chains used, and who chose it."""
    given, prior = getattr(model, name), model.chains_[0].model.prior
    if isinstance(given, str) and given == "sample":
        return "sampled"
    if name == "theta":
        return "uniform" if given is None else given if isinstance(given, str) else "given"
    low, high = float(np.min(getattr(prior, name))), float(np.max(getattr(prior, name)))
    value = decimal(low) if low == high else f"{decimal(low)} to {decimal(high)}"
    return f"{value} (chosen by the program)" if given is None or isinstance(given, str) else value
