"""Whether the chains agree, in a table and in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from superwords.concepts.ranking import TYPICAL
from superwords.concepts.tables import found_by_chain
from superwords.corpus.corpus import row_name
from superwords.draws import convergence

if TYPE_CHECKING:
    from superwords.concepts.result import Result

# As is usual: Vehtari, Gelman, Simpson, Carpenter and Bürkner (2021)
GOOD_RHAT = 1.01
GOOD_ESS_PER_CHAIN = 100
LEAST_DRAWS = 4
APPROXIMATE = "approximate"  # a note of the corpus, where what was found is not of the exact chain


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
    """In two parts: what can be said of the whole, and which concepts can be relied on whatever the whole does."""
    approximate = result.corpus.notes.get(APPROXIMATE)
    return f"{approximate} {_verdict(result)}" if approximate else _verdict(result)


def _verdict(result: Result) -> str:
    n_chains, n_draws = result.trace["posterior"]["log_joint"].shape
    if n_draws < LEAST_DRAWS:
        kept = f"{n_draws} draw" + ("s" if n_draws > 1 else "")
        return (
            f"Sample longer, because {kept} per chain cannot be judged (at least {LEAST_DRAWS} are needed)."
        )
    if n_chains == 1:
        return (
            f"{_of_the_whole(result)} Which concepts can be relied on cannot be judged from one chain; "
            "fit with n_chains=2 or more."
        )
    return f"{_of_the_whole(result)} {_of_the_concepts(result)}"


def _of_the_whole(result: Result) -> str:
    table = convergence_table(result).set_index("quantity")
    n_chains, n_draws = result.trace["posterior"]["log_joint"].shape
    plain, wanted = plain_quantities(result), GOOD_ESS_PER_CHAIN * n_chains
    slowest, ess = str(table["ess"].idxmin()), float(table["ess"].min())
    if n_chains > 1:
        worst, rhat = str(table["rhat"].idxmax()), float(table["rhat"].max())
        if rhat > GOOD_RHAT:
            said = (
                f"R-hat {rhat:.2f}" if np.isfinite(rhat) else "each chain keeps its own, so R-hat is infinite"
            )
            return (
                f"The chains differ, most of all in {plain.get(worst, worst)} "
                f"({said}; at most {GOOD_RHAT} is wanted)."
            )
    if ess < wanted:
        return (
            f"Sample longer to judge the whole: the {n_chains * n_draws} draws are worth {ess:.0f} independent "
            f"ones for {plain.get(slowest, slowest)} ({wanted} are wanted)."
        )
    if n_chains == 1:
        return f"Within the chain, the draws are worth {ess:.0f} independent ones."
    return f"The chains agree as a whole (R-hat at most {rhat:.2f}, the draws are worth {ess:.0f} independent ones)."


def _of_the_concepts(result: Result) -> str:
    """How many concepts every chain finds, and how many they find that the reference lacks."""
    aligned = result.summary.alignment
    shown = np.array(result.shown, int) - 1
    n_found = int((found_by_chain(aligned)[:, shown] >= TYPICAL).all(axis=0).sum())
    n_chains = len(np.unique(aligned.chain))
    every = "both chains" if n_chains == 2 else f"all {n_chains} chains"
    if n_found:
        verb = "is" if n_found == 1 else "are"
        told = f"{n_found} of {len(shown)} concepts {verb} found by {every} and can be relied on"
    elif len(shown):
        told = f"None of the {len(shown)} concepts is found by {every}, so none can be relied on"
    else:
        told = "There are no concepts"
    n_others = len(result.summary.others.holders)
    if n_others:
        told += f"; {n_others} more {'is' if n_others == 1 else 'are'} found by at least two chains but not listed here"
    return f"{told}."
