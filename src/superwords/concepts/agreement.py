"""Whether the chains agree, in a table and in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from superwords.corpus.corpus import row_name
from superwords.draws import convergence

if TYPE_CHECKING:
    from superwords.concepts.result import Result

GOOD_RHAT = 1.1
GOOD_ESS_PER_CHAIN = 25
LEAST_DRAWS = 4


def plain_quantities(result: Result) -> dict[str, str]:
    """What the traced quantities are, in words."""
    return {
        "log_joint": "the log joint density",
        "n_concepts": "the number of concepts",
        "n_memberships": f"how many concepts {row_name(result.corpus)} hold",
        "n_words_on": "how many words are on",
    }


def convergence_table(result: Result) -> pd.DataFrame:
    """R-hat, effective sample size and Monte-Carlo standard error of each traced quantity.

    NaN where there are fewer than four draws per chain; R-hat also of one chain that moves.
    """
    rows = convergence(result.trace)
    table = pd.DataFrame([{"quantity": name, **row} for name, row in rows.items()])
    if result.trace["posterior"]["log_joint"].shape[1] < LEAST_DRAWS:
        table[["rhat", "ess", "mcse"]] = np.nan
    return table


def verdict(result: Result) -> str:
    """One sentence: the chains agree, or sample longer and why, or that one chain cannot tell."""
    table = convergence_table(result).set_index("quantity")
    n_chains, n_draws = result.trace["posterior"]["log_joint"].shape
    if n_draws < LEAST_DRAWS:
        kept = f"{n_draws} draw" + ("s" if n_draws > 1 else "")
        return (
            f"Sample longer, because {kept} per chain cannot be judged (at least {LEAST_DRAWS} are needed)."
        )
    wanted = GOOD_ESS_PER_CHAIN * n_chains
    slowest, ess = str(table["ess"].idxmin()), float(table["ess"].min())
    plain = plain_quantities(result)
    what = plain.get(slowest, slowest)
    few = f"the {n_chains * n_draws} draws are worth only {ess:.0f} independent ones for {what}"
    if n_chains == 1:
        alone = "whether chains agree cannot be judged from one chain; fit with n_chains=2 or more"
        if ess < wanted:
            return f"Sample longer, because {few} ({wanted} are wanted), and {alone}."
        return f"W{alone[1:]} (within the chain, the draws are worth {ess:.0f} independent ones)."
    worst, rhat = str(table["rhat"].idxmax()), float(table["rhat"].max())
    if rhat > GOOD_RHAT:
        return (
            f"Sample longer, because the chains differ in {plain.get(worst, worst)} "
            f"(R-hat {rhat:.2f}; at most {GOOD_RHAT} is wanted); {_found_by_all(result)}."
        )
    if ess < wanted:
        return f"Sample longer, because {few} ({wanted} are wanted); {_found_by_all(result)}."
    return (
        f"The chains agree (R-hat at most {rhat:.2f}, the draws are worth at least {ess:.0f} "
        f"independent ones); {_found_by_all(result)}."
    )


def _found_by_all(result: Result) -> str:
    """How many concepts every chain holds in at least half of its draws."""
    aligned = result.summary.alignment
    shares = np.array([aligned.matched[aligned.chain == c].mean(axis=0) for c in np.unique(aligned.chain)])
    shown = [j - 1 for j in result.shown]
    n_found = int((shares[:, shown] >= 0.5).all(axis=0).sum())
    return f"{n_found} of {len(shown)} concepts are found by every chain"
