"""`ConceptModel`: fit, the fitted attributes, and going on from there."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import xarray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from superwords.concepts import agreement, curating, discovery, examples, groups, searching, tables
from superwords.concepts.alignment import Usage
from superwords.concepts.result import Result
from superwords.container import Choice
from superwords.corpus.corpus import Corpus
from superwords.draws import ChainDraws, Draws, Kept
from superwords.errors import InputError
from superwords.fitting import folding as foldin
from superwords.fitting.running import Report, Schedule, document_order, run_chains
from superwords.fitting.settings import (
    make_features,
    make_prior,
    make_seed,
    make_steps,
    make_theta,
    whole_number,
)
from superwords.sampler.affinity import make_affinity
from superwords.sampler.chain import Chain
from superwords.sampler.initial import initial_state
from superwords.sampler.model import Model, make_data

_KEPT_PER_CHAIN = 100


class UnfittedError(InputError, NotFittedError):
    """The model has not seen any documents yet."""


class ConceptModel(BaseEstimator):
    """Concepts of a corpus: the nested beta process of El-Arini, Fox and Guestrin (2012), sampled exactly.

    Parameters are the paper's symbols. A number (or, for `lam` and `theta`, one per word) is held fixed at it; None
    lets the package choose. `b1` and `b2` may be "auto", by a rule of the corpus's size (docs/settings.md); they and
    `alpha_omega` may be "sample", drawn with all else under weak priors. `theta` may be "uniform", "frequency", "root"
    (of the frequency) or "sample". `init` is "kmeans", "single", "random" or "prior", the first and third also with a
    number of concepts ("kmeans:60"), or a sequence of them, one per chain. `steps` is "exact", "prior" (exact, with
    the paper's proposals from the prior) or "published" (the paper's inexact steps, for comparison only).
    """

    corpus_: Corpus
    seed_: int
    unknown_words_: foldin.UnknownWords
    chains_: list[Chain]
    kept_: list[ChainDraws]
    schedule_: Schedule
    order_: np.ndarray
    choices_: list[Choice]

    def __init__(
        self,
        alpha_omega: float | str | None = None,
        lam: Any = None,
        theta: Any = None,
        alpha_pi: float | None = None,
        K: float | None = None,
        alpha_sigma: float | None = None,
        beta_sigma: float | None = None,
        b1: float | str = 1.0,
        b2: float | str = 1.0,
        n_chains: int = 2,
        n_sweeps: int = 1000,
        n_burn_in: int | None = None,
        thin: int | None = None,
        init: str | Sequence[str] = "kmeans",
        standardize_features: bool = True,
        steps: str = "exact",
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: Report | None = None,
    ):
        self.alpha_omega = alpha_omega
        self.lam = lam
        self.theta = theta
        self.alpha_pi = alpha_pi
        self.K = K
        self.alpha_sigma = alpha_sigma
        self.beta_sigma = beta_sigma
        self.b1 = b1
        self.b2 = b2
        self.n_chains = n_chains
        self.n_sweeps = n_sweeps
        self.n_burn_in = n_burn_in
        self.thin = thin
        self.init = init
        self.standardize_features = standardize_features
        self.steps = steps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress

    if not TYPE_CHECKING:  # else every name would pass for an attribute

        def __getattr__(self, name: str) -> Any:
            """Only reached for what is not there: what a fit finds, as long as there was none."""
            is_fitted = "chains_" in self.__dict__
            if not is_fitted and (name in ConceptModel.__annotations__ or hasattr(ConceptModel, name)):
                raise UnfittedError("This ConceptModel is not fitted yet; call fit first.")
            return object.__getattribute__(self, name)

    def fit(self, X: Any, y: Any = None, *, features: Any = None) -> ConceptModel:
        """Sample the concepts of X (a Corpus, or counts (D, V)); features (V, F) steer them, NaN rows are unknown."""
        self._forget()
        self.start(X, features)
        run_chains(self.chains_, self.kept_, self.schedule_, self.n_jobs, self.progress)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, features: Any = None) -> Any:
        return self.fit(X, features=features).doc_concept_

    def transform(self, X: Any, *, n_sweeps: int = foldin.SWEEPS, return_inclusion: bool = False) -> Any:
        """(D', J): weights of new documents, each on its own, with the concepts kept (docs/foldin.md).

        X: a Corpus, counts with the model's columns, or a list of texts if the model was fitted to texts. Each text
        is one row, also where the model's rows are passages. Words that the model does not know are left out, see
        `unknown_words_`. A document with no known word has a row of zeros.
        """
        return foldin.transform(self, X, n_sweeps, return_inclusion)

    def advance(self, n_sweeps: int) -> ConceptModel:
        """Go on for further sweeps, with the bits an uninterrupted run would have had.

        A model loaded without its draws then shows the draws it has kept since, once there are any.
        """
        more = whole_number("n_sweeps", n_sweeps, 1)
        self.schedule_ = self.schedule_._replace(n_sweeps=self.schedule_.n_sweeps + more)
        return self.resume()

    def resume(self) -> ConceptModel:
        """Take the chains to the planned number of sweeps, after an interruption or from a file."""
        before = self.sampled_.reference if self.choices_ else None
        try:
            run_chains(self.chains_, self.kept_, self.schedule_, self.n_jobs, self.progress)
        finally:
            if len(self.draws_):
                self._forget()
                self._carry_choices(before)
        return self

    def save(self, path: str | Path, draws: str = "best", texts: bool = True) -> Path:
        """Write the model to one portable file; draws="all" keeps every kept draw in it (docs/model.md)."""
        from superwords.fitting.storage import save

        return save(self, path, draws, texts)

    @threadpool_limits.wrap(limits=1)  # bits must not depend on how many threads there are
    def start(self, X: Any, features: Any) -> None:
        """Check everything that is given and set the chains at their start."""
        n_chains = whole_number("n_chains", self.n_chains, 1)
        self.schedule_ = self._make_schedule()
        steps = make_steps(self.get_params())
        self.corpus_ = X if isinstance(X, Corpus) else Corpus.from_counts(X)
        self.order_ = document_order(self.corpus_.counts, self.corpus_.ids)
        counts = sparse.csr_array(self.corpus_.counts[self.order_])
        n_words = counts.shape[1]
        prior = make_prior(self.get_params(), counts)
        theta = make_theta(self.theta, counts)
        values = make_features(features, n_words, self.standardize_features)
        model = Model(prior, make_data(counts, values), make_affinity(counts, values), steps)
        self.seed_ = make_seed(self.random_state)
        self.chains_ = [
            Chain(model, initial_state(start, model.data, prior, theta, self.seed_, c), self.seed_, c)
            for c, start in enumerate(self.starts(n_chains))
        ]
        self.kept_ = [ChainDraws() for _ in range(n_chains)]
        self.choices_ = []

    def starts(self, n_chains: int) -> Sequence[str]:
        if isinstance(self.init, str):
            return [self.init] * n_chains
        if len(self.init) != n_chains:
            raise InputError(
                f"init names {len(self.init)} starts for {n_chains} chains; give one for each, or one for all."
            )
        return self.init

    def _make_schedule(self) -> Schedule:
        n_sweeps = whole_number("n_sweeps", self.n_sweeps, 1)
        burn_in = n_sweeps // 2 if self.n_burn_in is None else whole_number("n_burn_in", self.n_burn_in, 0)
        if burn_in >= n_sweeps:
            raise InputError(
                f"n_burn_in={burn_in} leaves no draw of n_sweeps={n_sweeps}; give a smaller n_burn_in."
            )
        most = n_sweeps - burn_in
        thin = max(1, most // _KEPT_PER_CHAIN) if self.thin is None else whole_number("thin", self.thin, 1)
        if thin > most:
            raise InputError(
                f"thin={thin} keeps no draw of the {most} sweeps after burn-in; give a smaller thin."
            )
        return Schedule(n_sweeps, burn_in, thin)

    def _forget(self) -> None:
        """Drop what was computed from earlier draws."""
        for name in ("sampled_", "result_", "unknown_words_"):
            self.__dict__.pop(name, None)

    def _carry_choices(self, before: Usage | None) -> None:
        """Hold on to what people decided where its concepts are still there, and say what is lost."""
        if before is not None:
            self.choices_, lost = curating.carried(self.choices_, before, self.sampled_.reference)
            for sentence in lost:
                warnings.warn(sentence, stacklevel=3)

    @cached_property
    def sampled_(self) -> Result:
        """What was found, before anything that people decided about it."""
        alpha_pi = self.chains_[0].model.prior.alpha_pi
        return Result(self.corpus_, self.order_, alpha_pi, Draws(self.kept_))

    @cached_property
    def result_(self) -> Result:
        """What was found, with people's choices, read-only: tables, plots and pages are made of it."""
        return curating.curated(self.sampled_, self.choices_)

    def choose(self, choices: Sequence[Choice]) -> ConceptModel:
        """Take these for what people decided about the concepts, in the place of all earlier choices."""
        result = curating.curated(self.sampled_, choices)
        self.choices_, self.result_ = list(choices), result
        return self

    @property
    def draws_(self) -> Draws:
        """The kept draws of all chains; row r of a draw is document `order_[r]`."""
        return self.result_.draws

    @property
    def best_draw_(self) -> Kept:
        """The most probable draw over all chains."""
        return self.result_.best_draw

    @property
    def consensus_draw_(self) -> Kept:
        """The draw closest to the posterior co-membership."""
        return self.result_.consensus_draw

    @property
    def n_concepts_(self) -> int:
        """Concepts in the most probable draw."""
        return self.result_.n_concepts

    @property
    def concept_word_(self) -> np.ndarray:
        """(J, V): share of the documents holding j that have word i on, m_ji / m_j."""
        return self.result_.concept_word

    @property
    def doc_concept_(self) -> Any:
        """(D, J): normalised weights of the most probable draw, 0 exactly where a concept is off.

        The mean of π given the draw's imputed tokens, (α_π + n_dj)/(J_d α_π + N_d). Sparse above 50 million cells.
        """
        return self.result_.doc_concept

    @property
    def co_membership_(self) -> Any:
        """(V, V): posterior probability that two words are on in the same concept; sparse above 5,000 words."""
        return self.result_.co_membership

    @property
    def trace_(self) -> xarray.DataTree:
        """Traces in ArviZ layout: trace_.posterior["log_joint" | "n_concepts" | "n_memberships" | "n_words_on"]."""
        return self.result_.trace

    @property
    def names_(self) -> dict[int, str]:
        """Names that people gave to concepts, by id; they are kept in the model file."""
        return self.result_.names

    def concepts(self, n_words: int = tables.TOP_WORDS) -> pd.DataFrame:
        """Concepts, most documents first: prevalence, strength where held, top words, stability, leftovers."""
        return tables.of_shown(self.result_, tables.concept_table(self.result_, n_words))

    def top_words(self, concept: int, n: int = tables.TOP_WORDS) -> list[str]:
        """The n words that tell a concept (1, 2, …) apart and are used for it."""
        return tables.top_words(self.result_, concept, n)

    def words_of(self, concept: int) -> pd.DataFrame:
        """The words of a concept and how sure each is."""
        return tables.word_table(self.result_, concept)

    def words(self) -> pd.DataFrame:
        """Every word with the concepts that hold it."""
        return tables.vocabulary_table(self.result_)

    def documents(self, passages: bool = False) -> pd.DataFrame:
        """Concepts of documents with intervals; of passages, those of their sources unless `passages`."""
        return tables.document_table(self.result_, passages)

    def representative_documents(self, concept: int, n: int = 5) -> pd.DataFrame:
        """Documents that show what a concept is, with a passage where texts are at hand."""
        return examples.representative_documents(self.result_, concept, n)

    def similar_words(self, word: str, n: int = 20) -> pd.DataFrame:
        """P(a word shares a concept with `word`), with its Monte-Carlo standard error."""
        return examples.similar_words(self.result_, word, n)

    def by_group(self, column: str, n_words: int = tables.TOP_WORDS) -> pd.DataFrame:
        """Prevalence, strength and words of each concept among each group of a metadata column."""
        return tables.of_shown(self.result_, groups.by_group(self.result_, column, n_words))

    def compare_groups(self, column: str, first: Any = None, second: Any = None) -> pd.DataFrame:
        """Prevalence in one group less that in another, with interval."""
        compared = groups.compare_groups(self.result_, column, first, second)
        return tables.of_shown(self.result_, compared)

    def group_words(self, column: str, concept: int) -> pd.DataFrame:
        """The words each group uses for a concept, with intervals."""
        return groups.group_words(self.result_, column, concept)

    def search(self, query: str, n: int = 10) -> pd.DataFrame:
        """Documents that answer a query, the best first, each with the words and concepts that link it to the query."""
        return searching.search(self.result_, query, n)

    def diverse(self, n: int, among: Any = None) -> pd.DataFrame:
        """n documents that together cover what the collection (or those `among`, by id or as found) speaks of."""
        return discovery.diverse(self.result_, n, among)

    def recommend(self, liked: Sequence[Any] = (), disliked: Sequence[Any] = (), n: int = 10) -> pd.DataFrame:
        """Documents for a reader who liked some (by id) and disliked others, with how sure that is."""
        return discovery.recommend(self.result_, liked, disliked, n)

    def tastes(self, liked: Sequence[Any] = (), disliked: Sequence[Any] = ()) -> pd.DataFrame:
        """What such judgements taught of each concept, the most liked first, with intervals."""
        return discovery.tastes(self.result_, liked, disliked)

    def merge(self, concepts: Sequence[int]) -> ConceptModel:
        """Take concepts together, under the number of the first, in every draw and in all tables and pages."""
        return self.choose([*self.choices_, *curating.merge(self.result_, concepts)])

    def hide(self, concepts: int | Sequence[int]) -> ConceptModel:
        """Leave concepts out of all tables and pages."""
        return self.choose([*self.choices_, *curating.hide(self.result_, concepts)])

    def restore(self, concepts: int | Sequence[int]) -> ConceptModel:
        """Show hidden concepts again, and take merged ones apart."""
        return self.choose([*self.choices_, *curating.restore(self.result_, self.choices_, concepts)])

    def rename(self, names: Mapping[int, str]) -> ConceptModel:
        """Name concepts (number → name); an empty name asks for the automatic one again."""
        return self.choose([*self.choices_, *curating.rename(self.result_, names)])

    def gather(self, theme: str, concepts: int | Sequence[int]) -> ConceptModel:
        """Put concepts under a theme; an empty theme takes them out of theirs."""
        return self.choose([*self.choices_, *curating.gather(self.result_, theme, concepts)])

    def undo(self) -> ConceptModel:
        """Take the last of these decisions back."""
        return self.choose(curating.undone(self.choices_))

    def convergence(self) -> pd.DataFrame:
        """R-hat, effective sample size and Monte-Carlo error of the traced quantities."""
        return agreement.convergence_table(self.result_)

    def verdict(self) -> str:
        """In one sentence: whether the chains agree, or why to sample longer."""
        return agreement.verdict(self.result_)
