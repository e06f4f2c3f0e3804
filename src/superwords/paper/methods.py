"""A methods paragraph with the figures of one run, and the references it cites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from superwords.analysis.curation import decisions
from superwords.analysis.printed import listed
from superwords.text.corpus import n_sources, row_name

if TYPE_CHECKING:
    from superwords.analysis.export import Export
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
        what = (
            "noun phrases and names" if recipe.get("words") == "phrases" else f"{recipe.get('words')} words"
        )
        least = f" that occur in at least {notes['min_df']} documents" if "min_df" in notes else ""
        out.append(
            f"We kept {what}{least}, without stop words: {corpus.n_words:,} different ones, {tokens:,} in all."
        )
    else:
        out.append(f"They have {corpus.n_words:,} different words, {tokens:,} in all.")
    return out


def _model(model: ConceptModel) -> list[str]:
    from superwords import __version__

    schedule, params = model.schedule_, model.get_params()
    fixed = {name: params[name] for name in _HYPERPARAMETERS if params[name] not in (None, "auto")}
    data = model.chains_[0].model.data
    known = int(data.known.sum())
    features = f"{data.Y.shape[1]} features of {known:,} words" if data.Y.shape[1] else "no features of words"
    settings = ", ".join(f"{name} = {value}" for name, value in fixed.items())
    sampled = "sampled by the exact Markov chain Monte Carlo of"
    if model.approximate is not None:
        sampled = f"sampled by an approximation ({model.approximate}) of"
    return [
        "We fitted the concept model of El-Arini, Fox and Guestrin (2012), a nested beta process in which each "
        f"document uses a few concepts and each concept is a sparse set of words, {sampled} superwords {__version__}, "
        f"with {features}.",
        f"Hyperparameters were {settings}, and otherwise the defaults."
        if fixed
        else "Hyperparameters were the defaults.",
        f"We ran {len(model.chains_)} chains of {schedule.n_sweeps:,} sweeps, discarded the first "
        f"{schedule.n_burn_in:,} and kept every {_ordinal(schedule.thin)} (seed {model.seed_}).",
    ]


def _agreement(model: ConceptModel) -> list[str]:
    verdict = model.verdict()
    many = _plural("concept", verdict.n_listed)
    out = [f"{verdict.n_listed} {many} found."]
    if verdict.n_pilots:
        out.append(
            f"To see which would be found again, the model was fitted to {verdict.n_pilots} samples of the documents: "
            f"{verdict.n_found_again} were found in at least three quarters of them."
        )
    elif verdict.n_chains > 1:
        every = "both" if verdict.n_chains == 2 else f"all {verdict.n_chains}"
        out.append(f"Of these, {verdict.n_found_again} were found by {every} chains.")
    if verdict.n_chains > 1 or verdict.n_pilots:
        out.append(f"They cover {verdict.covered:.0%} of the words.")
    if verdict.rhat == verdict.rhat and verdict.ess == verdict.ess:
        out.append(
            f"Over the prevalence and strength of {verdict.n_reliable or verdict.n_found_again} of these, R-hat is at "
            f"most {verdict.rhat:.2f} and the effective sample size at least {verdict.ess:.0f}."
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
        "left out of all tables": len(decided.hidden),
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
