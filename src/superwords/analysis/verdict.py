"""Reliability of a fit: concepts found again, and Monte-Carlo error."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

from superwords.analysis.prevalence import found_by_chain, once_per_trace, reported_draws, settled
from superwords.analysis.tables import concept_names, found_again, leftovers
from superwords.posterior.consensus import TYPICAL
from superwords.posterior.result import Result
from superwords.posterior.traces import GOOD_RHAT, LEAST_DRAWS, Mixing, mixing
from superwords.storage import cache
from superwords.storage.model_file import checksum
from superwords.text.corpus import row_name

RELIABLE = 0.75  # minimum share of pilots; such concepts are found in new samples (docs/lab)
APPROXIMATE = "approximate"  # key of the corpus's notes, if results are not from the exact chain
LOG_JOINT = "log_joint"
_MOST = 0.5  # minimum share of the concepts found again on which the chains must agree


@dataclass(frozen=True)
class Verdict:
    """Reliability of a fit; `str` gives it in a few sentences.

    Attributes
    ----------
    converged : bool
        Whether the chains agree on the figures of most concepts that were found again: at least half are reliable.
    n_listed : int
        Concepts in the list.
    n_found_again : int
        Of these, concepts found again in at least three quarters of the pilot fits; without pilots, by every chain.
    n_reliable : int
        Of those found again, concepts that are also settled.
    n_settled : int
        Of the listed concepts, those on whose prevalence and strength the chains agree (`settled` in `concepts()`):
        each chain's means lie in the 95% intervals that the other chains give.
    n_pilots : int
        Fits on samples of the documents; 0 if there were none.
    covered : float
        Share of all tokens that is imputed to the concepts found again.
    n_chains, n_draws : int
        Chains, and kept draws of each.
    worst : str
        Of the concepts found again, the quantity with the largest R-hat (where R-hat is good, the smallest effective
        sample size).
    rhat, ess_bulk, ess_tail : float
        The largest R-hat and the smallest effective sample sizes of the prevalences and strengths of the reliable
        concepts; without any, of those found again. NaN where they cannot be judged.
    rhat_listed : float
        The largest R-hat of the prevalences and strengths of all listed concepts.
    rhat_log_joint : float
        R-hat of the log joint density.
    number_kept : bool
        Whether every chain kept its number of concepts, which then comes from the start.
    n_others : int
        Concepts that some chains find but too few for the list.
    approximate : str
        What was approximated; empty for the exact chain.
    reason : str
        Why the chains have not converged; empty if they have.
    """

    converged: bool
    n_listed: int
    n_found_again: int
    n_reliable: int
    n_settled: int
    n_pilots: int
    covered: float
    n_chains: int
    n_draws: int
    worst: str
    rhat: float
    ess_bulk: float
    ess_tail: float
    rhat_listed: float
    rhat_log_joint: float
    number_kept: bool
    n_others: int
    approximate: str
    reason: str

    @property
    def ess(self) -> float:
        """Return the smaller of the two effective sample sizes."""
        return float(np.fmin(self.ess_bulk, self.ess_tail))

    def __str__(self) -> str:
        parts = [self.approximate, self._of_concepts(), self._of_error()]
        if self.number_kept and self.n_listed:
            parts.append("The chains kept their number of concepts: it comes from the start.")
        return " ".join(part for part in parts if part)

    def _of_concepts(self) -> str:
        if not self.n_listed:
            return "No concept was found."
        count = f"{self.n_found_again} of {self.n_listed} concepts"
        verb = "was" if self.n_found_again == 1 else "were"
        if self.n_pilots:
            least = int(np.ceil(RELIABLE * self.n_pilots))
            found = f"{verb} found again in at least {least} of {self.n_pilots} fits to samples of the documents"
        elif self.n_chains > 1:
            found = f"{verb} found by {'both' if self.n_chains == 2 else f'all {self.n_chains}'} chains"
        else:
            many = "concept was" if self.n_listed == 1 else "concepts were"
            return f"{self.n_listed} {many} found by one chain; whether other chains would find the same is not known."
        if not self.n_found_again:
            return f"{count} {found}."
        cover = "it covers" if self.n_found_again == 1 else "they cover"
        return f"{count} {found}; {cover} {self.covered:.0%} of the text."

    def _of_error(self) -> str:
        if not self.is_judged:
            return f"The Monte-Carlo error is not known: {self.reason}." if self.n_listed else ""
        agree = (
            f"The chains agree on the figures of {self.n_settled} of {self.n_listed} (settled: those of each chain lie "
            "in the 95% intervals of the others)."
        )
        count = f"{self.n_reliable} {'is' if self.n_reliable == 1 else 'are'} reliable (found again and settled)"
        if not self.converged:
            return f"{agree} {count}, too few: {self.reason}. The intervals include the differences between the chains."
        joint = f" (log joint density: R-hat {self.rhat_log_joint:.2f})"
        figures = f"R-hat at most {self.rhat:.2f}, effective sample size at least {self.ess:.0f}"
        parts = [f"{agree} {count}: {figures}{joint}."]
        if self.rhat > GOOD_RHAT:
            parts.append(f"Where R-hat exceeds {GOOD_RHAT}, intervals are partly differences between the chains.")
        if self.n_settled < self.n_listed:
            parts.append("The intervals of the others include the differences between the chains.")
        return " ".join(parts)

    @property
    def is_judged(self) -> bool:
        """Return whether there are chains and draws enough for R-hat."""
        return self.n_chains > 1 and self.n_draws >= LEAST_DRAWS


class _Figures(NamedTuple):
    values: np.ndarray  # (traces, 4) as `Mixing` has them, NaN where unknown


def _diagnostics(traces: np.ndarray, is_cached: bool) -> list[Mixing | None]:
    """Return those of each trace, None if constant; those of a saved model are kept in the cache."""

    def compute() -> _Figures:
        found = [mixing(one) or (np.nan,) * 4 for one in traces]
        return _Figures(np.array(found).reshape(len(traces), 4))

    key = checksum(b"mixing", f"{traces.shape} {traces.dtype}".encode() + traces.tobytes()).hex()
    figures = cache.cached(key, _Figures, compute) if is_cached else compute()
    return [Mixing(*one) if np.isfinite(one[1]) else None for one in figures.values.tolist()]


@once_per_trace
def _concept_mixing(result: Result) -> dict[str, list[Mixing | None]]:
    """Return diagnostics of each concept's prevalence and strength."""
    drawn = {name: np.moveaxis(values, 2, 0) for name, values in reported_draws(result).items()}
    return {name: _diagnostics(traces, result.is_cached) for name, traces in drawn.items()}


def convergence_table(result: Result) -> pd.DataFrame:
    """Return R-hat, effective sample sizes and Monte-Carlo error of reported values.

    Prevalence and strength include the sampling of the documents, as their intervals do, so that chains which differ by
    a row in a thousand do not count as different.

    Returns
    -------
    DataFrame
        A row for the log joint density (`concept` is 0), and for the prevalence and the strength of each concept. The
        values of a constant quantity are missing.

    Examples
    --------
    >>> "rhat" in model.convergence()
    True
    """
    (log_joint,) = _diagnostics(result.trace_values[LOG_JOINT][None], result.is_cached)
    names, missing = concept_names(result), (np.nan,) * 4
    rows = [(LOG_JOINT, 0, "the log joint density", *(log_joint or missing))]
    for name, found in _concept_mixing(result).items():
        for j in result.shown:
            label = f"the {name} of “{names[j - 1]}”"
            rows.append((f"{name}[{j}]", j, label, *(found[j - 1] or missing)))
    columns = ["quantity", "concept", "label", "rhat", "ess", "ess_tail", "mcse"]
    return pd.DataFrame(rows, columns=pd.Index(columns))


def verdict(result: Result) -> Verdict:
    """Judge a fit by the concepts found again and the Monte-Carlo error.

    Returns
    -------
    Verdict
        Fields such as `converged`, `n_listed`, `n_reliable`, `covered`, `worst` and `reason`; its `str` is a few
        sentences to quote.

    Examples
    --------
    >>> model.verdict().n_listed == model.n_concepts_
    True
    """
    n_chains, n_draws = result.trace_values[LOG_JOINT].shape
    n_pilots = 0 if result.pilots is None else result.pilots.n_pilots
    shown = np.isin(np.arange(1, result.n_concepts + 1), result.shown)
    again, agreed = shown, settled(result)
    if shown.any():
        by_pilots = found_again(result) >= RELIABLE * n_pilots
        by_chains = (found_by_chain(result.summary.alignment) >= TYPICAL).all(axis=0)
        again = shown & (by_pilots if n_pilots else by_chains) & ~leftovers(result)
    reliable = again & agreed
    table = convergence_table(result)
    worst, reason = _worst(_figures_of(table, again)), ""
    if reliable.sum() < max(1, _MOST * again.sum()):
        reason = _reason(n_chains, n_draws, worst)
    judged = _figures_of(table, reliable if reliable.any() else again)
    numbers = result.trace_values["n_concepts"]
    tokens = np.asarray(result.corpus.counts.sum(axis=1)).ravel()
    explained = float(tokens @ result.weights[:, np.flatnonzero(again)].sum(axis=1))
    return Verdict(
        converged=not reason,
        n_listed=len(result.shown),
        n_found_again=int(again.sum()),
        n_reliable=int(reliable.sum()),
        n_settled=int((shown & agreed).sum()),
        n_pilots=n_pilots,
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
        reason=reason,
    )


def _figures_of(table: pd.DataFrame, concepts: np.ndarray) -> pd.DataFrame:
    return table[table["concept"].isin(np.flatnonzero(concepts) + 1)]


def _worst(judged: pd.DataFrame) -> pd.Series | None:
    """Return the quantity with the largest R-hat, or else the smallest sample size."""
    if judged["ess"].isna().all():
        return None
    if judged["rhat"].max() > GOOD_RHAT:
        return judged.iloc[int(np.nanargmax(judged["rhat"]))]
    return judged.iloc[int(np.nanargmin(judged[["ess", "ess_tail"]].min(axis=1)))]


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


def plain_quantities(result: Result) -> dict[str, str]:
    """Return descriptions of the traced quantities."""
    return {
        "log_joint": "the log joint density",
        "n_concepts": "the number of concepts",
        "n_memberships": f"how many concepts {row_name(result.corpus)} hold",
        "n_words_on": "how many words are on",
    }
