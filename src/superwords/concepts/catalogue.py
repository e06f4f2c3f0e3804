"""The documents as search and discovery name them: ids, titles, weights, and the names of their concepts."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from scipy import sparse

from superwords.concepts.labels import names_of
from superwords.concepts.means import mean_weights, titles
from superwords.concepts.ranking import automatic_names

if TYPE_CHECKING:
    from superwords.concepts.result import Result


class Catalogue(NamedTuple):
    """The documents and their weights; made once for a result."""

    ids: list[str]
    titles: list[str]
    weights: sparse.csr_array  # (documents, J)
    names: list[str]  # of the concepts, where people have given none


def catalogue(result: Result) -> Catalogue:
    """Made on first use and kept with the result; where no concept was merged or hidden, it is that of the draws."""
    if result.sampled is not None and not result.away:
        return catalogue(result.sampled)
    if "catalogue" not in result.__dict__:
        ids, called = names_of(result.corpus)[0], titles(result)
        result.remember(catalogue=Catalogue(ids, called, mean_weights(result), automatic_names(result)))
    return result.__dict__["catalogue"]
