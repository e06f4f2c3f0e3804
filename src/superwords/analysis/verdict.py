"""Reliability of a fit: concepts found again, and Monte-Carlo error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from superwords.analysis.prevalence import once, reported_draws, settled
from superwords.analysis.tables import concept_names, found_again, leftovers
from superwords.posterior.result import Result
from superwords.posterior.traces import GOOD_RHAT, LEAST_DRAWS, Mixing, mixing
from superwords.storage import cache
from superwords.storage.model_file import checksum

RELIABLE = 0.75  # minimum share of pilots; such concepts are found in new samples (docs/lab)
APPROXIMATE = "approximate"  # key of the corpus's notes, if results are not from the exact chain
LOG_JOINT = "log_joint"
_MOST = 0.5  # minimum share of the concepts found again on which the chains must agree


@dataclass(frozen=True)
class Verdict:
    """Reliability of a fit; `str` gives it in a few sentences. NaN: cannot be judged."""

    converged: bool  # at least half of the concepts found again are reliable
    n_listed: int  # concepts in the list
    n_found_again: int  # of these, found in at least three quarters of the pilot fits; without pilots, by every chain
    n_reliable: int  # of those found again, concepts that are also settled
    n_settled: int  # of those listed: each chain's means of the figures lie in the 95% intervals of the other chains
    n_pilots: int  # fits on samples of the documents
    covered: float  # share of all tokens that is imputed to the concepts found again
    n_chains: int
    n_draws: int  # kept, of each chain
    worst: str  # of those found again, the quantity with the largest R-hat, or else the smallest sample size
    rhat: float  # the largest of the reliable concepts' prevalences and strengths; without any, of those found again
    ess_bulk: float  # the smallest of the same
    ess_tail: float
    rhat_listed: float  # the largest of all listed concepts
    rhat_log_joint: float
    number_kept: bool  # whether every chain kept its number of concepts, which then comes from the start
    n_others: int  # concepts that some chains find but too few for the list
    approximate: str  # what was approximated; empty for the exact chain
    reason: str  # why the chains have not converged; empty if they have

    @property
    def ess(self) -> float:
        """Return the smaller of the two effective sample sizes."""
        return float(np.fmin(self.ess_bulk, self.ess_tail))

    @property
    def is_judged(self) -> bool:
        """Return whether there are chains and draws enough for R-hat."""
        return self.n_chains > 1 and self.n_draws >= LEAST_DRAWS

    def __str__(self) -> str:
        concepts = self._of_concepts() if self.n_listed else "No concept was found."
        kept = self.number_kept and self.n_listed
        start = "The chains kept their number of concepts: it comes from the start." if kept else ""
        return " ".join(filter(None, (self.approximate, concepts, self._of_error(), start)))

    def _of_concepts(self) -> str:
        verb, cover = ("was", "it covers") if self.n_found_again == 1 else ("were", "they cover")
        if self.n_pilots:
            least = int(np.ceil(RELIABLE * self.n_pilots))
            found = f"{verb} found again in at least {least} of {self.n_pilots} fits to samples of the documents"
        elif self.n_chains > 1:
            found = f"{verb} found by {'both' if self.n_chains == 2 else f'all {self.n_chains}'} chains"
        else:
            many = "concept was" if self.n_listed == 1 else "concepts were"
            return f"{self.n_listed} {many} found by one chain; whether other chains would find the same is not known."
        covered = f"; {cover} {self.covered:.0%} of the text" if self.n_found_again else ""
        return f"{self.n_found_again} of {self.n_listed} concepts {found}{covered}."

    def _of_error(self) -> str:
        if not self.is_judged:
            return f"The Monte-Carlo error is not known: {self.reason}." if self.n_listed else ""
        judged = (
            f"The chains agree on the figures of {self.n_settled} of {self.n_listed} (settled: those of each chain lie "
            f"in the 95% intervals of the others). {self.n_reliable} {'is' if self.n_reliable == 1 else 'are'} "
            "reliable (found again and settled)"
        )
        if self.converged:
            judged += f": R-hat at most {self.rhat:.2f}, effective sample size at least {self.ess:.0f}"
            judged += f" (log joint density: R-hat {self.rhat_log_joint:.2f})."
        else:
            judged += f", too few: {self.reason}."
        if not self.converged or self.rhat > GOOD_RHAT or self.n_settled < self.n_listed:
            judged += " The intervals include the differences between the chains."
        return judged


def _diagnostics(traces: np.ndarray, is_cached: bool) -> np.ndarray:
    """Return (traces, 4) as `Mixing` has them, NaN where a trace is constant; cached for a saved model."""

    def compute() -> Mixing:
        return Mixing(*np.array([mixing(one) or (np.nan,) * 4 for one in traces], float).reshape(-1, 4).T)

    key = checksum(b"mixing", f"{traces.shape} {traces.dtype}".encode() + traces.tobytes()).hex()
    return np.column_stack(cache.cached(key, Mixing, compute) if is_cached else compute())


@once
def _concept_mixing(result: Result) -> dict[str, np.ndarray]:
    """Return diagnostics of each concept's prevalence and strength."""
    drawn = {name: np.moveaxis(values, 2, 0) for name, values in reported_draws(result).items()}
    return {name: _diagnostics(traces, result.is_cached) for name, traces in drawn.items()}


def convergence_table(result: Result) -> pd.DataFrame:
    """Return R-hat, effective sample sizes and Monte-Carlo error of reported values.

    Prevalence and strength include the sampling of the documents, as their intervals do.

    Returns
    -------
    DataFrame
        A row for the log joint density (`concept` is 0), and for each concept's prevalence and strength.

    Examples
    --------
    >>> "rhat" in model.convergence()
    True
    """
    (log_joint,) = _diagnostics(result.trace_values[LOG_JOINT][None], result.is_cached)
    names, rows = concept_names(result), [(LOG_JOINT, 0, "the log joint density", *log_joint)]
    for name, found in _concept_mixing(result).items():
        rows += [(f"{name}[{j}]", j, f"the {name} of “{names[j - 1]}”", *found[j - 1]) for j in result.shown]
    return pd.DataFrame(rows, columns=["quantity", "concept", "label", "rhat", "ess", "ess_tail", "mcse"])


def verdict(result: Result) -> Verdict:
    """Judge a fit by the concepts found again and the Monte-Carlo error.

    Returns
    -------
    Verdict
        Fields such as `converged`, `n_listed`, `n_reliable` and `reason`; its `str` is a few sentences to quote.

    Examples
    --------
    >>> model.verdict().n_listed == model.n_concepts_
    True
    """
    n_chains, n_draws = result.trace_values[LOG_JOINT].shape
    shown = np.isin(np.arange(1, result.n_concepts + 1), result.shown)
    again, agreed = shown, settled(result)
    if shown.any():
        by_pilots, by_chains = found_again(result) >= RELIABLE * result.n_pilots, ~result.summary.alignment.is_missed
        again = shown & (by_pilots if result.n_pilots else by_chains) & ~leftovers(result)
    reliable = again & agreed
    table = convergence_table(result)
    chosen = again, reliable if reliable.any() else again
    of_again, judged = (table[table["concept"].isin(np.flatnonzero(some) + 1)] for some in chosen)
    worst = None  # the quantity with the largest R-hat, or else the smallest sample size
    if of_again["ess"].notna().any():
        is_far = of_again["rhat"].max() > GOOD_RHAT
        smallest = of_again[["ess", "ess_tail"]].min(axis=1)
        worst = of_again.iloc[int(np.nanargmax(of_again["rhat"]) if is_far else np.nanargmin(smallest))]
    has_converged = reliable.sum() >= max(1, _MOST * again.sum())
    numbers = result.trace_values["n_concepts"]
    tokens = np.asarray(result.corpus.counts.sum(axis=1)).ravel()
    explained = float(tokens @ result.weights[:, np.flatnonzero(again)].sum(axis=1))
    return Verdict(
        converged=bool(has_converged),
        n_listed=len(result.shown),
        n_found_again=int(again.sum()),
        n_reliable=int(reliable.sum()),
        n_settled=int((shown & agreed).sum()),
        n_pilots=result.n_pilots,
        covered=explained / max(tokens.sum(), 1),
        n_chains=n_chains,
        n_draws=n_draws,
        worst="" if worst is None else str(worst["label"]),
        rhat=float(judged["rhat"].max()),
        ess_bulk=float(judged["ess"].min()),
        ess_tail=float(judged["ess_tail"].min()),
        rhat_listed=float(table["rhat"].iloc[1:].max()),
        rhat_log_joint=float(table["rhat"].iloc[0]),
        number_kept=bool(numbers.size and (np.ptp(numbers, axis=1) == 0).all()),
        n_others=len(result.consensus.others.rows) if result.n_concepts else 0,
        approximate=str(result.corpus.notes.get(APPROXIMATE) or ""),
        reason="" if has_converged else _reason(n_chains, n_draws, worst),
    )


def _reason(n_chains: int, n_draws: int, worst: pd.Series | None) -> str:
    if n_draws < LEAST_DRAWS:
        drawn = f"{n_draws} draw{'' if n_draws == 1 else 's'} per chain"
        return f"{drawn} cannot be judged (at least {LEAST_DRAWS} are needed)"
    if n_chains < 2:
        return "one chain cannot be compared with another (fit at least 2)"
    if worst is None:
        return "no concept was found again often enough to judge its figures"
    if not np.isfinite(worst["rhat"]):
        return f"each chain keeps its own {worst['label']}"
    return f"the chains differ most in {worst['label']} (R-hat {worst['rhat']:.2f})"
