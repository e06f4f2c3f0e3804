"""A methods paragraph with the figures of one run, and the references it cites."""

from __future__ import annotations

import numpy as np

from superwords import __version__
from superwords.analysis.curation import decisions
from superwords.analysis.export import Export
from superwords.fitting.estimator import ConceptModel
from superwords.tabular import listed
from superwords.text.corpus import n_sources, row_name

_HYPERPARAMETERS = ("alpha_omega", "lam", "theta", "alpha_pi", "K", "alpha_sigma", "beta_sigma", "b1", "b2")
REFERENCES = """@misc{elarini2012superwords,
  author = {El-Arini, Khalid and Fox, Emily B. and Guestrin, Carlos},
  title = {Concept Modeling with Superwords},
  year = {2012},
  eprint = {1204.2523},
  archivePrefix = {arXiv}
}

@software{superwords,
  author = {{The superwords developers}},
  title = {superwords: concepts of documents by nested beta processes},
  version = {VERSION},
  year = {2026}
}
""".replace("VERSION", __version__)


def methods_paragraph(source: Export) -> str:
    """Return a methods paragraph: corpus, words, model, sampling and curation."""
    model: ConceptModel = source.model
    return " ".join([*_corpus(model), *_model(model), *_agreement(model), *_tables(source)])


def _corpus(model: ConceptModel) -> list[str]:
    corpus, notes = model.corpus_, model.corpus_.notes
    tokens, recipe = int(corpus.counts.sum()), notes.get("recipe", {})
    read = f" ({notes['words_read']:,} words)" if "words_read" in notes else ""
    out = [f"The corpus has {n_sources(corpus):,} documents{read}."]
    if corpus.parent is not None:
        passages = f"{corpus.n_documents:,} passages of {str(recipe.get('unit', '')).partition(':')[2] or 'a few'}"
        out.append(f"They were divided into {passages} sentences, which are the rows of the model.")
    if not recipe:
        return [*out, f"They have {corpus.n_words:,} different words, {tokens:,} in all."]
    what = "noun phrases and names" if recipe.get("words") == "phrases" else f"{recipe.get('words')} words"
    least = f" that occur in at least {notes['min_df']} documents" if "min_df" in notes else ""
    return [*out, f"We kept {what}{least}, without stop words: {corpus.n_words:,} different ones, {tokens:,} in all."]


def _model(model: ConceptModel) -> list[str]:
    schedule, params, prior = model.schedule_, model.get_params(), model.result_.prior
    data = model.chains_[0].model.data
    features = "no features of words"
    if data.Y.shape[1]:
        given = model.corpus_.notes.get("source", {}).get("features")
        kind = "principal components of which words occur together" if given == "auto" else given
        kind = f" ({kind})" if isinstance(kind, str) else ""
        features = f"{data.Y.shape[1]} numeric features of {int(data.known.sum()):,} words{kind}"
    how = "the exact Markov chain Monte Carlo"
    if model.approximate is not None:
        how = f"an approximation ({model.approximate})"
    shown = []
    for name in _HYPERPARAMETERS:
        value = getattr(prior, name, params[name])
        if np.ndim(value):
            shown.append(f"{name} from {np.min(value):.3g} to {np.max(value):.3g} by word")
        elif isinstance(value, float):
            shown.append(f"{name} = {value:,.0f}" if abs(value) >= 1000 else f"{name} = {value:.3g}")
        elif value is not None:
            shown.append(f"{name} = {value}")
    thin = schedule.thin
    ending = {1: "st", 2: "nd", 3: "rd"}.get(thin % 10 if thin % 100 not in (11, 12, 13) else 0, "th")
    every = "draw" if thin == 1 else f"{thin}{ending} draw"
    return [
        "We fitted the concept model of El-Arini, Fox and Guestrin (2012), a nested beta process in which each "
        "document uses a few concepts and each concept is a sparse set of words, "
        f"sampled by {how} of superwords {__version__}, with {features}.",
        f"Hyperparameters were {listed(shown)}.",
        f"We ran {len(model.chains_)} chains of {schedule.n_sweeps:,} sweeps, discarded the first "
        f"{schedule.n_burn_in:,} and kept every {every} (seed {model.seed_}).",
    ]


def _agreement(model: ConceptModel) -> list[str]:
    """Return how many concepts were found, found again and settled, and by which limit."""
    verdict, n_found, excluded = model.verdict(), model.n_concepts_, list(model.result_.excluded.values())
    n_listed, n_again, n_settled = verdict.n_listed, verdict.n_found_again, verdict.n_settled
    counts = {"hidden": excluded.count("is hidden"), "merged into others": len(excluded) - excluded.count("is hidden")}
    parts = [f"{n} {'is' if n == 1 else 'are'} {how}" for how, n in counts.items() if n]
    left = f"; {listed(parts)}, so {n_listed} are listed" if parts else ""
    out = [f"{_plural('concept', n_found)} found{left}."]
    were = "was" if n_again == 1 else "were"
    if verdict.n_pilots:
        out.append(
            f"To see which would be found again, the model was fitted to {verdict.n_pilots} samples of the documents: "
            f"{n_again} of {n_listed} {were} found again in at least three quarters of them."
        )
    elif verdict.n_chains > 1:
        every = "both" if verdict.n_chains == 2 else f"all {verdict.n_chains}"
        out.append(f"Of these, {n_again} {were} found by {every} chains.")
    if n_again and (verdict.n_chains > 1 or verdict.n_pilots):
        out.append(f"{'It covers' if n_again == 1 else 'They cover'} {verdict.covered:.0%} of the counted words.")
    if not verdict.is_judged:
        return [*out, f"Convergence could not be judged: {verdict.reason}."] if n_listed else out
    out.append(
        f"The chains agree on the prevalence and strength of {n_settled} of the {n_listed} listed concepts: the means "
        "of each chain lie in the 95% intervals that the other chains give."
    )
    if n_settled < n_listed:
        others, largest = f"On the other {n_listed - n_settled} they differ", f"{verdict.rhat_listed:.2f}"
        out.append(f"{others}, which their intervals include (the largest R-hat is {largest}).")
    figures = f", with R-hat at most {verdict.rhat:.2f} and effective sample size at least {verdict.ess:.0f}"
    reliable = f"{_plural('concept', verdict.n_reliable)} both found again and settled"
    return [*out, f"{reliable}{figures if verdict.n_reliable else ''}."]


def _tables(source: Export) -> list[str]:
    """Return what the tables show, and what the user decided about the concepts."""
    model: ConceptModel = source.model
    rows, decided = row_name(model.corpus_), decisions(model.choices_)
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
    counts = {
        "named": len(decided.names),
        "merged into others": len(decided.merged),
        "hidden": len(decided.hidden),
        "put under themes": len(decided.themes),
    }
    parts = [f"{_plural('concept', n)} {text}" for text, n in counts.items() if n]
    return [*out, f"By hand, {listed(parts)} (manifest.json lists each decision)."] if parts else out


def _plural(noun: str, n: int) -> str:
    return f"{n} {noun} was" if n == 1 else f"{n} {noun}s were"
