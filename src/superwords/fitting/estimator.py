"""`ConceptModel`: its parameters, fit, further sampling, and the tables of what was found."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from threadpoolctl import threadpool_limits

from superwords.analysis import curation, groups, naming, tables
from superwords.analysis import documents as document_tables
from superwords.analysis import effects as regressions
from superwords.analysis import export as exporting
from superwords.analysis import over_time as dated
from superwords.analysis import themes as theming
from superwords.analysis import verdict as agreement
from superwords.analysis import words as word_tables
from superwords.cluster import joined
from superwords.errors import InputError, whole_number
from superwords.fitting import binding as bound
from superwords.fitting import defaults, folding, on_request
from superwords.fitting.fitted_model import FittedModel
from superwords.fitting.forecast import Forecast, check_memory
from superwords.fitting.pilots import NOTE, run_pilots
from superwords.fitting.running import in_threads, on_cluster, run_chains
from superwords.fitting.settings import check_model, make_schedule, make_seed
from superwords.fitting.shards import sample_shards
from superwords.fitting.starting import prepare, start_chains
from superwords.machine import n_workers
from superwords.posterior.draws import ChainDraws, Draws, Schedule
from superwords.progress import Callbacks, Watcher, make_watcher
from superwords.search import discovery
from superwords.search import index as searching
from superwords.storage import model as storage
from superwords.storage.arrays import construct
from superwords.storage.model_file import Choice, translate_corruption
from superwords.tabular import lines_as_html
from superwords.text.corpus import counted_rows

_CONCEPTS, _WORDS = 5, 6  # of a printed model


@dataclass(eq=False, repr=False)
class ConceptModel(FittedModel):
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
    n_chains, n_sweeps, n_burn_in, thin : int
        Chains run side by side; sweeps of each, those before the first kept draw (by default half of them), and of how
        many one draw is kept (by default so that about 100 are kept).
    n_concepts : int, optional
        Roughly how many concepts the chains start with; they seldom change the number by much. If not given, half,
        once and twice the rule's number (0.24 N^0.4 for N tokens, √N / 10 below 6,000) are tried in pilots, and the
        one whose found-again concepts are most informative about the text is taken; without pilots, the rule's.
    n_pilots : int
        Short fits on random 80% samples of the documents, which show in how many of them a concept is found again
        (`pilots_`); 0: none. They take about half as long as the chains. None are run for fewer than 40 rows, for
        starts other than "rows", with `approximate`, and for short chains: eight pilots need `n_chains` times
        `n_sweeps` to be at least 220.
    init : str or sequence of str
        Where chains start: "rows" (clusters of rows that are found in most samples of the documents, whatever the
        seed), "topics" (the tokens of a topic model), "kmeans" (the words' features in clusters), "random", "single"
        (one concept that holds every word) or "prior"; the first four also with a number of concepts ("rows:30"). A
        sequence names one start for each chain.
    start_rows : int, "auto" or None
        On how many rows the start is made before the others join its concepts. "auto": on 8,000 where there are more
        than 20,000; None: on all. Every sweep counted has all rows.
    standardize_features : bool
        False: features are used as given.
    steps : str
        "exact", or "prior": exact too, with the paper's proposals from the prior.
    n_jobs : int, optional
        Cores to use, as in joblib; None is all. It does not change a bit of the result.
    random_state : int, numpy Generator or None
        The same seed gives the same bits.
    progress : bool, "auto", function or list of these
        Whether to show progress; "auto" does in a terminal and in a notebook. A function is called with a `Progress`
        after each sweep.
    cluster : str, optional
        Run on a cluster (docs/cluster.md): "auto" starts one here, "HOST:PORT" joins one. No bit changes either.
    approximate : str, optional
        "shards:8": sample the rows in eight separate shards, for a corpus too large for one chain (docs/cluster.md);
        every result says so. "shards:8x5000": of 5,000 rows each, the other rows folded in. None: the exact chain.

    Attributes
    ----------
    corpus_, order_ : Corpus, array
        What was fitted, and its rows in the order of the chains.
    chains_, seed_ : list of Chain, int
        The chains at their last sweep, and the seed that was used.
    pilots_ : Pilots
        The concepts of the pilots (`superwords.posterior.resampling.found_again` matches others with them).

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

    alpha_omega: float | str | None = None
    lam: Any = None
    theta: Any = None
    alpha_pi: float | None = None
    K: float | None = None
    alpha_sigma: float | None = None
    beta_sigma: float | None = None
    b1: float | str = defaults.B1
    b2: float | str = defaults.B2
    n_chains: int = defaults.N_CHAINS
    n_sweeps: int = defaults.N_SWEEPS
    n_burn_in: int | None = None
    thin: int | None = None
    n_concepts: int | None = None
    n_pilots: int = defaults.N_PILOTS
    init: str | Sequence[str] = defaults.INIT
    start_rows: int | str | None = defaults.START_ROWS
    standardize_features: bool = True
    steps: str = "exact"
    n_jobs: int | None = None
    random_state: Any = None
    progress: Any = defaults.PROGRESS
    cluster: str | None = None
    approximate: str | None = None

    def fit(self, X: Any, y: Any = None, *, features: Any = defaults.FEATURES, row_vectors: Any = None) -> ConceptModel:
        """Sample the concepts of documents.

        Parameters
        ----------
        X : Corpus, list of str, DataFrame, sparse matrix or array
            Texts; or counts (D, V) of words in documents, in a DataFrame with the words as columns.
        y : ignored
            Here because scikit-learn's pipelines give it.
        features : "auto", array, str, mapping, list or None
            What is known of the words: numbers (V, F) with NaN rows for unknown words, or names of features as
            `superwords fit --features` takes them. {group: words} are seed words, next to others in a list:
            ["cooccurrence", {"sweet": ["sugar", "honey"]}]. "auto": co-occurrence, where it is informative.
        row_vectors : array (D, F), "wordllama" or None
            Vectors by which rows are clustered for the start, NaN where unknown. None: the features of the row's
            words. "wordllama": also `features.text_vectors` of its text, for short texts in English.

        Examples
        --------
        >>> from superwords import ConceptModel
        >>> counts = [[2, 1, 0, 0], [1, 2, 0, 0], [0, 0, 1, 2]]
        >>> paper = ConceptModel(b1=1, b2=1, n_sweeps=10, random_state=1, progress=False)
        >>> paper.fit(counts, features=None).doc_concept_.shape[0]
        3
        """
        check_model(self.get_params(), features)
        return self._fit_checked(X, features, row_vectors)

    def _fit_checked(self, X: Any, features: Any, row_vectors: Any = None) -> ConceptModel:
        """Do what `fit` does, for a caller that has checked the parameters and the features."""
        watcher = make_watcher(self.progress)
        with joined(self.cluster, self.n_jobs, watcher.say):
            self.start(X, features, watcher, row_vectors)
            return self._finish(watcher)

    def fit_transform(self, X: Any, y: Any = None, *, features: Any = defaults.FEATURES) -> Any:
        """Fit the model and return `doc_concept_`, the posterior mean weights of these documents.

        Parameters
        ----------
        X, y, features
            As of `fit`.

        Returns
        -------
        array (D, J)

        Examples
        --------
        >>> ConceptModel(n_sweeps=10, random_state=1, progress=False).fit_transform([[2, 1], [1, 2]]).shape[0]
        2
        """
        return self.fit(X, y, features=features).doc_concept_

    def advance(self, n_sweeps: int) -> ConceptModel:
        """Sample on, with the bits that an uninterrupted run of all sweeps would have had.

        Parameters
        ----------
        n_sweeps : int
            Further sweeps of each chain.

        Examples
        --------
        >>> model.advance(10).chains_[0].sweep
        30
        """
        more = whole_number("n_sweeps", n_sweeps, 1)
        self._make_exact()
        schedule = self.schedule_
        if any(schedule.n_kept(one.sweep) != len(kept.kept_sweeps) for one, kept in zip(self.chains_, self.kept_)):
            schedule = schedule._replace(n_burn_in=max(one.sweep for one in self.chains_))
        self.schedule_ = schedule._replace(n_sweeps=schedule.n_sweeps + more)
        return self.resume()

    @contextmanager
    def _changing_states(self, n_sweeps: int | None) -> Iterator[None]:
        """Change the chains' states inside; then drop all draws and sample on. Half of the new sweeps are burn-in."""
        more = whole_number("n_sweeps", self.n_sweeps if n_sweeps is None else n_sweeps, 2)
        self._make_exact()
        before = self.sampled_.consensus.description
        yield
        done = max(one.sweep for one in self.chains_)
        self._drop_draws(self.schedule_._replace(n_sweeps=done + more, n_burn_in=done + more // 2))
        self._finish(make_watcher(self.progress), before)

    def _make_exact(self) -> None:
        """Continue an approximation with the exact chain from its end; its draws are dropped."""
        if self.approximate is not None:
            self.approximate = None
            notes = {name: note for name, note in self.corpus_.notes.items() if name != agreement.APPROXIMATE}
            self.corpus_ = replace(self.corpus_, notes=notes)
            self._drop_draws(self.schedule_._replace(n_burn_in=self.schedule_.n_sweeps))

    def _drop_draws(self, schedule: Schedule) -> None:
        self.kept_, self.schedule_ = [ChainDraws(chain=c) for c in range(len(self.chains_))], schedule
        self._forget()

    def resume(self) -> ConceptModel:
        """Take the chains to the planned number of sweeps, after an interruption or from a file.

        Examples
        --------
        >>> model.resume() is model
        True
        """
        before = self.sampled_.consensus.description if self.choices_ else None
        return self._finish(make_watcher(self.progress), before)

    def _finish(self, watcher: Watcher, before: sparse.csc_array | None = None) -> ConceptModel:
        """Take the chains to their last sweep and summarize; choices follow the concepts described by `before`."""
        try:
            if any(one.sweep < self.schedule_.n_sweeps for one in self.chains_):
                self._run(watcher, self)
        finally:
            if any(map(len, self.kept_)):
                self._forget()
                self._carry_choices(before)
        if self.sampled_.has_concepts:
            self.sampled_.summary  # noqa: B018
        return self

    def save(self, path: str | Path, draws: str = "spaced", texts: bool = True) -> Path:
        """Write the model to one portable file (docs/model.md), which `superwords.load` reads.

        Parameters
        ----------
        path : str or Path
        draws : "spaced" or "all"
            Which draws to keep: those that every table is computed from (with the traces of all), or all.
        texts : bool
            Whether to keep the texts, to quote from.

        Examples
        --------
        >>> import tempfile, superwords
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = superwords.load(model.save(f"{folder}/model.sw"))
        >>> again.n_concepts_ == model.n_concepts_
        True
        """
        if draws not in ("spaced", "all"):
            raise InputError("is not known", "draws", draws, "give 'spaced' or 'all'")
        if draws == "all" and not Draws(self.kept_).has_all:
            raise InputError("The model was loaded without some of its draws; save it with draws='spaced'.")
        kept = self.kept_ if draws == "all" else self.sampled_.spaced.chains
        storage.write(Path(path), self, kept, texts)
        if self.sampled_.has_concepts:
            self.sampled_.cache()
            self.sampled_.is_cached = self.result_.is_cached = True
        return Path(path)

    @threadpool_limits.wrap(limits=1)  # bits must not depend on how many threads there are
    def start(self, X: Any, features: Any, watcher: Watcher | None = None, row_vectors: Any = None) -> None:
        """Check everything that is given, run the pilots, and set the chains at their start."""
        given, tell = self.get_params(), watcher or Watcher()
        prepared = prepare(given, X, features, tell, row_vectors)
        seed, schedule, notes = make_seed(self.random_state), make_schedule(given), dict(prepared.corpus.notes)
        pilots, chosen = run_pilots(given, prepared, features, schedule, tell)
        if chosen.reason is not None:
            notes[NOTE] = chosen.reason
        if self.approximate is None:
            chains = start_chains(given, prepared, seed, tell.say, chosen.n_concepts)
            kept = [ChainDraws(chain=c) for c in range(len(chains))]
        else:
            run = partial(self._run, tell)
            sampled = sample_shards(given, prepared.model, prepared.theta, seed, schedule, run)
            chains, kept, schedule, notes[agreement.APPROXIMATE] = sampled
        self._forget()
        self.corpus_, self.order_, self.seed_ = replace(prepared.corpus, notes=notes), prepared.order, seed
        self.schedule_, self.chains_, self.kept_ = schedule, chains, kept
        self.choices_, self.pilots_ = [], pilots

    def _run(self, watcher: Watcher, of: Any) -> None:
        """Take the chains of `of`, this model or shards, to their last sweep, in threads or on the cluster."""
        chains, schedule = of.chains_, of.schedule_
        with joined(self.cluster, self.n_jobs, watcher.say) as machines:
            n_at_once = n_workers(self.n_jobs) if machines is None else machines.n_cores
            n_at_once = min(len(chains), n_at_once)
            memory = check_memory(chains, schedule, n_at_once) if machines is None else None
            callbacks = Callbacks([watcher, Forecast(watcher.say, n_at_once, memory)])
            runner = in_threads if machines is None else on_cluster(machines, watcher.say)
            with callbacks.watching(of):
                is_watched = type(watcher) is not Watcher
                run_chains(chains, of.kept_, schedule, self.n_jobs, callbacks if is_watched else None, runner)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.positive_only = True
        tags.input_tags.categorical = True  # the nearest there is to "whole numbers"
        tags.input_tags.string = True
        return tags

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return a summary: number of concepts, amount of text, first words, agreement of chains."""
        if not self.__sklearn_is_fitted__():
            return super().__repr__(N_CHAR_MAX)
        corpus = self.corpus_
        rows = counted_rows(corpus)
        if not self.result_.has_concepts:
            done = min(chain.sweep for chain in self.chains_)
            return f"ConceptModel of {rows}: no draw is kept yet, after {done:,} sweeps."
        table = tables.of_shown(self.result_, self.concepts(_WORDS))
        n = len(table)
        kind = "" if self.approximate is None else f", an approximation ({self.approximate})"
        lines = [f"ConceptModel of {rows}{kind}: {n:,} concept{'' if n == 1 else 's'}."]
        first = table.head(_CONCEPTS)
        lines += [f"{j}: {', '.join(words)}" for j, words in zip(first["concept"], first["top_words"])]
        if n > _CONCEPTS:
            lines.append(f"… and {n - _CONCEPTS:,} more; model.concepts() lists all.")
        return "\n".join([*lines, str(self.verdict())])

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {"text/plain": repr(self), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        return lines_as_html(repr(self))

    transform = folding.transform
    split = on_request.split
    condition = on_request.condition
    concepts = bound.table(tables.concept_list)
    other_concepts = bound.table(tables.other_table)
    top_words = bound.table(tables.top_words)
    words_of = bound.table(tables.word_table)
    words = bound.table(tables.vocabulary_table)
    documents = bound.table(document_tables.document_table, tables.marked)
    representative_documents = bound.table(document_tables.representative_documents)
    similar_words = bound.table(word_tables.similar_words)
    by_group = bound.table(groups.by_group, tables.listed)
    compare_groups = bound.table(groups.compare_groups, tables.listed)
    group_words = bound.table(groups.group_words)
    over_time = bound.table(dated.over_time, tables.marked)
    trends = bound.table(dated.trends, tables.marked)
    words_over_time = bound.table(dated.words_over_time)
    effects = bound.regression(regressions.effects, tables.marked)
    predicted = bound.regression(regressions.predicted)
    tree = bound.table(theming.make_tree)
    themes = bound.table(theming.theme_table)
    search = bound.table(searching.search)
    diverse = bound.table(discovery.diverse)
    recommend = bound.table(discovery.recommend)
    tastes = bound.table(discovery.tastes)
    verdict = bound.table(agreement.verdict)
    convergence = bound.table(agreement.convergence_table)
    export = exporting.export
    merge = bound.decision(curation.merge)
    hide = bound.decision(curation.hide)
    restore = bound.decision(curation.restore)
    rename = bound.decision(curation.rename)
    gather = bound.decision(curation.gather)
    accept_names = bound.decision(curation.accept)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : ignored
            Here because scikit-learn's pipelines give it.

        Returns
        -------
        array of str
            Numbered as in every table, without the concepts that people merged into others or hid.

        Examples
        --------
        >>> str(model.get_feature_names_out()[0])
        'concept_1'
        """
        return np.array([f"concept_{j}" for j in self.result_.shown], dtype=object)

    def choose(self, choices: Sequence[Choice]) -> ConceptModel:
        """Replace what people decided about the concepts.

        Parameters
        ----------
        choices : sequence of Choice
            As `choices_` holds them.

        Examples
        --------
        >>> model.choose([]).choices_
        []
        """
        self.result_ = curation.curated(self.sampled_, choices)
        self.choices_ = list(choices)
        return self

    def undo(self) -> ConceptModel:
        """Take the last decision back.

        Examples
        --------
        >>> model.choose([]).rename({1: "tea"}).undo().choices_
        []
        """
        return self.choose(curation.undone(self.choices_))

    def name_prompt(self, concept: int | None = None, language: str = "en") -> str:
        """Return the prompt that asks for a concept's name, or one for all concepts, to paste into a chat.

        Parameters
        ----------
        concept : int, optional
            Its number.
        language : str
            That of the name, as a code.

        Examples
        --------
        >>> model.top_words(1)[0] in model.name_prompt(1)
        True
        """
        if concept is None:
            return naming.prompt_for_all(self.result_, language)
        taken = curation.decisions(self.choices_).taken([concept])
        return naming.name_prompt(self.result_, concept, language, taken)

    def propose_names(
        self, ask: Callable[[str], str] | str, language: str = "en", concepts: int | Sequence[int] | None = None
    ) -> pd.DataFrame:
        """Let a language model propose names, each with a sentence; they are marked as proposed until accepted.

        Parameters
        ----------
        ask : function or str
            A function from prompt to reply (a local model, an API), called for each concept; or the reply to
            `name_prompt()`, pasted.
        language : str
            That of the names, as a code.
        concepts : int or sequence of int, optional
            Their numbers; all without a name if not given.

        Returns
        -------
        DataFrame
            The proposals and the words; `problem` gives the reason where a concept got no name.

        Examples
        --------
        >>> names = iter(["Breakfast", "Sea"] + ["More"] * 20)
        >>> table = model.propose_names(lambda prompt: f"Name: {next(names)}\\nDescription: What it is.")
        >>> table["name"][0], model.concepts()["name"][0]
        ('Breakfast', 'Breakfast (proposed)')
        >>> model.accept_names().names_[1]
        'Breakfast'
        """
        decided = curation.decisions(self.choices_)
        if isinstance(ask, str):
            found = naming.pasted(self.result_, ask, decided.taken())
        elif callable(ask):
            unnamed = [j for j in self.result_.shown if j not in decided.names]
            numbers = curation.shown_numbers(self.result_, unnamed if concepts is None else concepts)
            found = naming.propose(self.result_, ask, language, numbers, decided.taken(numbers))
        else:
            raise InputError(f"{ask!r} cannot be asked; give a function from prompt to text, or the reply itself.")
        self.choose([*self.choices_, *curation.propose(self.result_, found)])
        return naming.proposal_table(self.result_, found)


for _name, _method in list(vars(ConceptModel).items()):
    if inspect.isfunction(_method):  # those of other modules too, for `help`
        _method.__name__, _method.__qualname__ = _name, f"ConceptModel.{_name}"
        bound.with_returns(_method)


def take_choices(model: ConceptModel, earlier: ConceptModel) -> None:
    """Take over people's choices about an earlier state of a model, as far as its concepts are still there."""
    before = earlier.sampled_.consensus.description if earlier.choices_ else None
    model.choices_ = list(earlier.choices_)
    model.__dict__.pop("result_", None)
    model._carry_choices(before)


def load(path: str | Path) -> ConceptModel:
    """Read a model that `save` wrote, or an unfinished run from its checkpoint.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    ConceptModel
        `advance` continues with the same bits.

    Examples
    --------
    >>> import tempfile, superwords
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     again = superwords.load(model.save(f"{folder}/model.sw"))
    >>> again.n_concepts_ == model.n_concepts_
    True
    """
    return restored(storage.read(path), str(path))


def restored(stored: storage.Stored, name: str) -> ConceptModel:
    """Return the model of a file that was read; `name` is the file's name, for errors."""
    with translate_corruption(name):
        model = construct(ConceptModel, stored.settings)
        storage.restore(model, stored)
    return model
