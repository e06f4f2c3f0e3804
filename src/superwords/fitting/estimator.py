"""`ConceptModel`: its parameters, fit, and going on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from sklearn.base import TransformerMixin
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from superwords.cluster import joined
from superwords.concepts.agreement import APPROXIMATE
from superwords.concepts.result import Result
from superwords.container import damage_said
from superwords.draws import ChainDraws, Draws
from superwords.errors import InputError
from superwords.fitting import defaults, store
from superwords.fitting import folding as foldin
from superwords.fitting.curation import CuratedConcepts
from superwords.fitting.describing import model_lines
from superwords.fitting.fitted_model import FittedModel
from superwords.fitting.forecast import Forecast
from superwords.fitting.on_cluster import on_cluster
from superwords.fitting.running import Schedule, in_threads, run_chains
from superwords.fitting.saving import parts_of, restore
from superwords.fitting.settings import (
    make_schedule,
    make_seed,
    whole_number,
)
from superwords.fitting.shards import sample_shards
from superwords.fitting.starting import prepare, start_chains
from superwords.jobs import n_workers
from superwords.progress import Watcher, make_watcher
from superwords.sampler.chain import Chain
from superwords.tabular import lines_as_html


class UnfittedError(InputError, NotFittedError):
    """The model has not seen any documents yet."""


class ConceptModel(TransformerMixin, CuratedConcepts):
    """Concepts of a corpus: the nested beta process of El-Arini, Fox and Guestrin (2012), sampled exactly.

    `superwords.fit` reads documents of any kind and then fits this model. It is a scikit-learn transformer:
    `clone`, pipelines and `set_output` work.

    Parameters
    ----------
    alpha_omega, lam, theta, alpha_pi, K, alpha_sigma, beta_sigma : float, optional
        The paper's hyperparameters. A number (or, for `lam` and `theta`, one per word) is held fixed; None lets
        the package choose (docs/lab/settings.md). `alpha_omega` may be "sample": drawn with all else under a weak
        prior. `theta` may be "uniform", "frequency", "root" (of the frequency) or "sample".
    b1, b2 : float, "auto" or "sample"
        Concentrations of concepts in documents and of words in concepts. "auto" is a rule of the corpus's size;
        the paper has 1.
    n_chains : int
        Chains that are run side by side.
    n_sweeps, n_burn_in, thin : int
        Sweeps of each chain, those before the first kept draw (half of them if not given), and of how many
        sweeps one draw is kept (so that about 100 are kept if not given).
    init : str or sequence of str
        Where chains start: "topics" (the tokens of a topic model of the same rows), "kmeans" (the words' features in
        clusters), "random", "single" (one concept that holds every word) or "prior"; the first three also with a
        number of concepts ("topics:30"). With features that bind words which share no document, such as pictures,
        "kmeans" is better. A sequence names one start for each chain.
    approximate : str, optional
        "shards:8": the rows in eight shards that are sampled apart, for a corpus too large for one chain
        (docs/cluster.md). It is an approximation, and every result says so. "shards:8x5000": of 5,000 rows each, the
        other rows folded in. None: the exact chain.
    start_rows : int, "auto" or None
        On how many rows, picked by the seed, a chain arrives before the others join its concepts. "auto": on 8,000
        where there are more than 20,000; None: on all. It is a start only: every sweep counted has all rows.
    standardize_features : bool
        False: features are used as given.
    steps : str
        "exact", "prior" (exact, with the paper's proposals from the prior) or "published" (the paper's inexact
        steps, for comparison only).
    n_jobs : int, optional
        Cores to use: 2 is two, -1 all, -2 all but one; None is all. It does not change a bit of the result.
    cluster : str, optional
        Run on a cluster (docs/cluster.md): "auto" starts one on this machine, "HOST:PORT" joins one. It does not
        change a bit either.
    random_state : int, numpy Generator or None
        The same seed gives the same bits.
    progress : bool, "auto" or function
        Whether to show how far the chains are; "auto" does where a person looks on, in a terminal and in a
        notebook. A function is called with a `Progress` after each sweep.

    Attributes
    ----------
    n_concepts_ : int
        Concepts in the most probable draw.
    concept_word_, doc_concept_, co_membership_ : array
        (J, V) words of concepts, (D, J) weights of documents, (V, V) probability that two words share a concept.
    trace_ : xarray.DataTree
        Traces in ArviZ layout.
    corpus_, chains_, seed_ : Corpus, list of Chain, int
        What was fitted, the chains as they stand, and the seed that was used.
    n_features_in_, feature_names_in_ : int, array
        The vocabulary under scikit-learn's names.

    Examples
    --------
    >>> from superwords import ConceptModel, Corpus
    >>> texts = ["Milk and sugar for the coffee.", "The boat left the harbour at high tide."] * 10
    >>> columns = {"place": ["kitchen", "harbour"] * 10, "year": [2001, 2001, 2002, 2004] * 5}
    >>> corpus = Corpus.from_texts(texts, metadata=columns, min_df=2, n_jobs=1)
    >>> model = ConceptModel(n_chains=2, n_sweeps=20, random_state=1, progress=False).fit(corpus)
    >>> model.n_concepts_ > 0
    True
    """

    def __init__(
        self,
        alpha_omega: float | str | None = None,
        lam: Any = None,
        theta: Any = None,
        alpha_pi: float | None = None,
        K: float | None = None,
        alpha_sigma: float | None = None,
        beta_sigma: float | None = None,
        b1: float | str = defaults.B1,
        b2: float | str = defaults.B2,
        n_chains: int = defaults.N_CHAINS,
        n_sweeps: int = defaults.N_SWEEPS,
        n_burn_in: int | None = None,
        thin: int | None = None,
        init: str | Sequence[str] = defaults.INIT,
        start_rows: int | str | None = defaults.START_ROWS,
        standardize_features: bool = True,
        steps: str = "exact",
        n_jobs: int | None = None,
        random_state: Any = None,
        progress: Any = defaults.PROGRESS,
        cluster: str | None = None,
        approximate: str | None = None,
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
        self.start_rows = start_rows
        self.standardize_features = standardize_features
        self.steps = steps
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.progress = progress
        self.cluster = cluster
        self.approximate = approximate

    if not TYPE_CHECKING:  # else every name would pass for an attribute

        def __getattr__(self, name: str) -> Any:
            """Only reached for what is not there: what a fit finds, as long as there was none."""
            is_known = name in FittedModel.__annotations__ or hasattr(ConceptModel, name)
            if not self.__sklearn_is_fitted__() and is_known:
                raise UnfittedError("This ConceptModel is not fitted yet; call fit first.")
            return object.__getattribute__(self, name)

    def fit(self, X: Any, y: Any = None, *, features: Any = defaults.FEATURES) -> ConceptModel:
        """Sample the concepts of documents.

        Parameters
        ----------
        X : Corpus, list of str, DataFrame, sparse matrix or array
            Texts; or counts (D, V) of words in documents, in a DataFrame with the words as columns.
        y : ignored
            Here because scikit-learn's pipelines give it.
        features : "auto", array, str, mapping, list or None
            What is known of the words: numbers (V, F) with NaN rows for unknown words, or names of features as
            `superwords fit --features` takes them. {group: words} are seed words, beside others in a list:
            ["cooccurrence", {"sweet": ["sugar", "honey"]}]. "auto": co-occurrence, where it tells anything. None:
            nothing.

        Returns
        -------
        ConceptModel
            The model itself, fitted.

        Examples
        --------
        >>> from superwords import ConceptModel
        >>> counts = [[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 2]]
        >>> paper = ConceptModel(b1=1, b2=1, n_sweeps=10, random_state=1, progress=False)
        >>> paper.fit(counts, features=None).doc_concept_.shape[0]
        3
        """
        watcher = make_watcher(self.progress)
        with joined(self.cluster, self.n_jobs, watcher.say):
            self.start(X, features, watcher)
            self._sample(watcher)
        return self

    def transform(self, X: Any, *, n_sweeps: int = foldin.SWEEPS, return_inclusion: bool = False) -> Any:
        """Weights of new documents, each on its own, with the concepts kept (docs/foldin.md).

        Parameters
        ----------
        X : Corpus, list of str, DataFrame, sparse matrix or array
            Texts, if the model was fitted to texts; each is one row, also where the model's rows are passages.
            Or counts: those in a DataFrame or Corpus are matched by their words, others need the model's columns.
            Words that the model does not know are left out, see `unknown_words_`.
        n_sweeps : int
            Sweeps over each document.
        return_inclusion : bool
            Whether to give also P(the document holds the concept).

        Returns
        -------
        array (D', J), or two of them
            Rows sum to 1; that of a document with no known word is 0 throughout.

        Examples
        --------
        >>> model.transform(["More coffee, less sugar."]).shape == (1, model.n_concepts_)
        True
        """
        with joined(self.cluster, self.n_jobs):
            return foldin.transform(self, X, n_sweeps, return_inclusion)

    def advance(self, n_sweeps: int) -> ConceptModel:
        """Sample on, with the bits an uninterrupted run would have had.

        Burn-in and thinning stay as they were, as if all sweeps had been asked for at once. Of a model loaded without
        its draws, all sweeps so far become burn-in: it shows the draws kept since, once there are any.

        Parameters
        ----------
        n_sweeps : int
            Further sweeps of each chain.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> model.advance(10).chains_[0].sweep
        30
        """
        more = whole_number("n_sweeps", n_sweeps, 1)
        if self.approximate is not None:
            self._make_exact()
        schedule = self.schedule_
        if any(schedule.n_kept(one.sweep) != len(kept) for one, kept in zip(self.chains_, self.kept_)):
            schedule = schedule._replace(n_burn_in=max(one.sweep for one in self.chains_))
        self.schedule_ = schedule._replace(n_sweeps=schedule.n_sweeps + more)
        return self.resume()

    def resume(self) -> ConceptModel:
        """Take the chains to the planned number of sweeps, after an interruption or from a file.

        Returns
        -------
        ConceptModel
            The model itself.

        Examples
        --------
        >>> model.resume() is model
        True
        """
        before = self.sampled_.reference if self.choices_ else None
        try:
            self._sample(make_watcher(self.progress))
        finally:
            if any(map(len, self.kept_)):
                self._forget()
                self._carry_choices(before)
        return self

    def save(self, path: str | Path, draws: str = "best", texts: bool = True) -> Path:
        """Write the model to one portable file (docs/model.md), which `superwords.load` reads.

        Parameters
        ----------
        path : str or Path
            The file.
        draws : "best" or "all"
            Whether to keep every kept draw in it, or only the summaries that tables are made of.
        texts : bool
            Whether to keep the texts in it, to quote from.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import tempfile, superwords
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = superwords.load(model.save(f"{folder}/model.sw"))
        >>> again.n_concepts_ == model.n_concepts_
        True
        """
        if draws not in ("best", "all"):
            raise InputError(f"draws={draws!r} is not known; give 'best' or 'all'.")
        if draws == "all" and not any(map(len, self.kept_)) and self.sampled_.has_concepts:
            raise InputError(
                "The model was loaded without its draws, so they cannot be saved; give draws='best'."
            )
        out = Path(path)
        kept = self.kept_ if draws == "all" else ()
        store.write(out, parts_of(self, texts), kept, self.choices_)
        return out

    @threadpool_limits.wrap(limits=1)  # bits must not depend on how many threads there are
    def start(self, X: Any, features: Any, watcher: Watcher | None = None) -> None:
        """Check everything that is given and set the chains at their start."""
        given, tell = self.get_params(), watcher or Watcher()
        corpus, order, model, theta = prepare(given, X, features, tell)
        seed = make_seed(self.random_state)
        schedule = make_schedule(given)
        if self.approximate is None:
            chains = start_chains(given, model, theta, seed, tell.say)
            kept = [ChainDraws(chain=c) for c in range(len(chains))]
        else:
            run = partial(self._run, tell)
            chains, kept, schedule, note = sample_shards(given, model, theta, seed, schedule, run)
            corpus = replace(corpus, notes={**corpus.notes, APPROXIMATE: note})
        self._forget()
        self.corpus_, self.order_, self.seed_ = corpus, order, seed
        self.schedule_, self.chains_, self.kept_ = schedule, chains, kept
        self.choices_ = []

    def _sample(self, watcher: Watcher) -> None:
        if any(one.sweep < self.schedule_.n_sweeps for one in self.chains_):
            self._run(watcher, self.chains_, self.kept_, self.schedule_, self)

    def _run(
        self,
        watcher: Watcher,
        chains: list[Chain],
        kept: list[ChainDraws],
        schedule: Schedule,
        watched: Any = None,
    ) -> None:
        """Take chains to their last sweep, in threads or on the cluster."""
        with joined(self.cluster, self.n_jobs, watcher.say) as machines:
            n_at_once = n_workers(self.n_jobs) if machines is None else machines.n_cores
            forecast = Forecast(watcher, min(len(chains), n_at_once), machines is None)
            told = forecast if type(watcher) is not Watcher else None
            runner = in_threads if machines is None else on_cluster(machines, watcher.say)
            seen = watched or SimpleNamespace(chains_=chains, kept_=kept, schedule_=schedule)
            with forecast.watching(seen):
                run_chains(chains, seen.kept_, schedule, self.n_jobs, told, runner)

    def _make_exact(self) -> None:
        """From here on the exact chain: what was approximated is where it starts, and none of its draws are kept."""
        self.approximate = None
        notes = {name: note for name, note in self.corpus_.notes.items() if name != APPROXIMATE}
        self.corpus_ = replace(self.corpus_, notes=notes)
        self.kept_ = [ChainDraws(chain=c) for c in range(len(self.chains_))]
        self.schedule_ = self.schedule_._replace(n_burn_in=self.schedule_.n_sweeps)
        self._forget()

    def _forget(self) -> None:
        """Drop what was computed from earlier draws."""
        for name in ("sampled_", "result_", "unknown_words_"):
            self.__dict__.pop(name, None)

    @cached_property
    def sampled_(self) -> Result:  # type: ignore[override]
        """What was found, before anything that people decided about it."""
        return Result(self.corpus_, self.order_, self.chains_[0].model.prior, Draws(self.kept_))

    def __sklearn_is_fitted__(self) -> bool:
        return "chains_" in self.__dict__

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # the nearest there is to "whole numbers"
        tags.input_tags.string = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        if not self.__sklearn_is_fitted__():
            return super().__repr__(N_CHAR_MAX)
        return "\n".join(model_lines(self))

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        return lines_as_html(repr(self))


def load(path: str | Path) -> ConceptModel:
    """A model that `save` wrote, or as far as an unfinished run has come: the same attributes and tables.

    Parameters
    ----------
    path : str or Path
        A model file, or the checkpoint of a run.

    Returns
    -------
    ConceptModel
        `advance` goes on with the same bits.

    Examples
    --------
    >>> import tempfile, superwords
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = superwords.load(model.save(f"{folder}/model.sw"))
    >>> again.n_concepts_ == model.n_concepts_
    True
    """
    return restored(store.read(path), str(path))


def restored(stored: store.Stored, name: str) -> ConceptModel:
    """The model of a file that was read; `name` is what the file is called where it is damaged."""
    with damage_said(name):
        model = ConceptModel(**stored.parts.settings)
        restore(model, stored.parts, stored.draws, stored.choices)
    return model
