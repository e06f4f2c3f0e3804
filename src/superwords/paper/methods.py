"""A methods paragraph with the figures of one run, and the references it cites."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from superwords.analysis.curation import decisions
from superwords.tabular import listed
from superwords.text.corpus import n_sources, row_name

if TYPE_CHECKING:
    from superwords.analysis.export import Export
    from superwords.analysis.verdict import Verdict
    from superwords.fitting.estimator import ConceptModel

_HYPERPARAMETERS = ("alpha_omega", "lam", "theta", "alpha_pi", "K", "alpha_sigma", "beta_sigma", "b1", "b2")


def methods_paragraph(source: Export) -> str:
    """Return a methods paragraph: corpus, words, model, sampling and curation."""
    model: ConceptModel = source.model
    sentences = [*_corpus(model), *_model(model), *_agreement(model), *_tables(source), *_curation(model)]
    return " ".join(sentences)


def _corpus(model: ConceptModel) -> list[str]:
    corpus, notes = model.corpus_, model.corpus_.notes
    tokens = int(corpus.counts.sum())
    read = f" ({notes['words_read']:,} words)" if "words_read" in notes else ""
    out = [f"The corpus has {n_sources(corpus):,} documents{read}."]
    if corpus.parent is not None:
        unit = str(notes.get("recipe", {}).get("unit", "")).partition(":")[2] or "a few"
        out.append(
            f"They were divided into {corpus.n_documents:,} passages of {unit} sentences, which are the rows of the "
            "model."
        )
    recipe = notes.get("recipe", {})
    if recipe:
        what = "noun phrases and names" if recipe.get("words") == "phrases" else f"{recipe.get('words')} words"
        least = f" that occur in at least {notes['min_df']} documents" if "min_df" in notes else ""
        out.append(f"We kept {what}{least}, without stop words: {corpus.n_words:,} different ones, {tokens:,} in all.")
    else:
        out.append(f"They have {corpus.n_words:,} different words, {tokens:,} in all.")
    return out


def _model(model: ConceptModel) -> list[str]:
    from superwords import __version__

    schedule, params = model.schedule_, model.get_params()
    data = model.chains_[0].model.data
    known = int(data.known.sum())
    features = "no features of words"
    if data.Y.shape[1]:
        features = f"{data.Y.shape[1]} numeric features of {known:,} words{_kind(model)}"
    sampled = "sampled by the exact Markov chain Monte Carlo of"
    if model.approximate is not None:
        sampled = f"sampled by an approximation ({model.approximate}) of"
    return [
        "We fitted the concept model of El-Arini, Fox and Guestrin (2012), a nested beta process in which each "
        f"document uses a few concepts and each concept is a sparse set of words, {sampled} superwords {__version__}, "
        f"with {features}.",
        f"Hyperparameters were {listed(_hyperparameters(model, params))}.",
        f"We ran {len(model.chains_)} chains of {schedule.n_sweeps:,} sweeps, discarded the first "
        f"{schedule.n_burn_in:,} and kept every {_ordinal(schedule.thin)} (seed {model.seed_}).",
    ]


def _kind(model: ConceptModel) -> str:
    """Return what the features are, where the model file records it."""
    given = model.corpus_.notes.get("source", {}).get("features")
    if given == "auto":
        return " (principal components of which words occur together)"
    return f" ({given})" if isinstance(given, str) else ""


def _hyperparameters(model: ConceptModel, params: dict[str, Any]) -> list[str]:
    """Return each hyperparameter with its value, or the range if it differs by word."""
    prior, out = model.result_.prior, []
    for name in _HYPERPARAMETERS:
        value = getattr(prior, name, params[name])
        if value is None:
            continue
        if np.ndim(value):
            out.append(f"{name} from {np.min(value):.3g} to {np.max(value):.3g} by word")
        elif isinstance(value, float):
            out.append(f"{name} = {value:,.0f}" if abs(value) >= 1000 else f"{name} = {value:.3g}")
        else:
            out.append(f"{name} = {value}")
    return out


def _agreement(model: ConceptModel) -> list[str]:
    verdict, n_found, n_again = model.verdict(), model.n_concepts_, model.verdict().n_found_again
    away = list(model.result_.away.values())
    n_hidden = away.count("is hidden")
    counts = {"hidden": n_hidden, "merged into others": len(away) - n_hidden}
    parts = [f"{n} {'is' if n == 1 else 'are'} {how}" for how, n in counts.items() if n]
    left = f"; {listed(parts)}, so {verdict.n_listed} are listed" if parts else ""
    out = [f"{n_found} {_plural('concept', n_found)} found{left}."]
    were = "was" if n_again == 1 else "were"
    if verdict.n_pilots:
        out.append(
            f"To see which would be found again, the model was fitted to {verdict.n_pilots} samples of the documents: "
            f"{n_again} of {verdict.n_listed} {were} found again in at least three quarters of them."
        )
    elif verdict.n_chains > 1:
        every = "both" if verdict.n_chains == 2 else f"all {verdict.n_chains}"
        out.append(f"Of these, {n_again} {were} found by {every} chains.")
    if n_again and (verdict.n_chains > 1 or verdict.n_pilots):
        out.append(f"{'It covers' if n_again == 1 else 'They cover'} {verdict.covered:.0%} of the counted words.")
    return [*out, *_convergence(verdict)]


def _convergence(verdict: Verdict) -> list[str]:
    """Return on how many concepts the chains agree, by which limit, and whether it is met."""
    if not verdict.is_judged:
        return [f"Convergence could not be judged: {verdict.reason}."] if verdict.n_listed else []
    n_settled, n_listed, n_reliable = verdict.n_settled, verdict.n_listed, verdict.n_reliable
    out = [
        f"The chains agree on the prevalence and strength of {n_settled} of the {n_listed} listed concepts: the means "
        "of each chain lie in the 95% intervals that the other chains give."
    ]
    if n_settled < n_listed:
        out.append(
            f"On the other {n_listed - n_settled} they differ, which their intervals include (the largest R-hat is "
            f"{verdict.rhat_listed:.2f})."
        )
    figures = f", with R-hat at most {verdict.rhat:.2f} and effective sample size at least {verdict.ess:.0f}"
    out.append(
        f"{n_reliable} {_plural('concept', n_reliable)} both found again and settled{figures if n_reliable else ''}."
    )
    return out


def _tables(source: Export) -> list[str]:
    rows = row_name(source.model.corpus_)
    out = [f"Prevalence is the share of {rows} that use a concept; strength is its mean weight in those."]
    if source.groups:
        out.append(
            f"Intervals by {listed(source.compared)} are 95% credible intervals; they include which "
            f"{rows} use a concept and that the {rows} are a sample."
        )
    if source.formula:
        clustered = f", clustered by {source.cluster}" if source.cluster else ""
        out.append(
            f"Effects are coefficients of a linear regression of the use of a concept on {source.formula}, pooled over "
            f"the draws of the posterior, with robust standard errors{clustered}."
        )
    return out


def _curation(model: ConceptModel) -> list[str]:
    """Return the user's decisions in one sentence."""
    decided = decisions(model.choices_)
    counts = {
        "named": len(decided.names),
        "merged into others": len(decided.merged),
        "hidden": len(decided.hidden),
        "put under themes": len(decided.themes),
    }
    parts = [f"{n} {_plural('concept', n)} {text}" for text, n in counts.items() if n]
    return [f"By hand, {listed(parts)} (manifest.json lists each decision)."] if parts else []


def _plural(noun: str, n: int) -> str:
    return f"{noun} was" if n == 1 else f"{noun}s were"


def _ordinal(n: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(n % 10 if n % 100 not in (11, 12, 13) else 0, "th")
    return "draw" if n == 1 else f"{n}{ending} draw"


def bibtex() -> str:
    """Return the references of the methods paragraph."""
    from superwords import __version__

    return f"""@misc{{elarini2012superwords,
  author = {{El-Arini, Khalid and Fox, Emily B. and Guestrin, Carlos}},
  title = {{Concept Modeling with Superwords}},
  year = {{2012}},
  eprint = {{1204.2523}},
  archivePrefix = {{arXiv}}
}}

@software{{superwords,
  author = {{{{The superwords developers}}}},
  title = {{superwords: concepts of documents by nested beta processes}},
  version = {{{__version__}}},
  year = {{2026}}
}}
"""
