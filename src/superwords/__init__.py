"""superwords: documents as concepts, sparse sets of words.

`superwords.fit(documents)` does everything; `ConceptModel`, `Corpus` and `superwords.features` are its parts.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords import features, plots
    from superwords.fitting.estimator import ConceptModel, load
    from superwords.fitting.fit import fit
    from superwords.sampler.simulate import simulate
    from superwords.text.corpus import Corpus

__version__ = "0.1.0"
__all__ = ["ConceptModel", "Corpus", "InputError", "features", "fit", "load", "plots", "simulate"]

_HOMES = {
    "ConceptModel": "superwords.fitting.estimator",
    "Corpus": "superwords.text.corpus",
    "fit": "superwords.fitting.fit",
    "load": "superwords.fitting.estimator",
    "simulate": "superwords.sampler.simulate",
}


def __getattr__(name: str) -> Any:
    """Import heavy modules on first access, so that --help and errors are fast."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in __all__:
        return import_module(f"superwords.{name}")
    raise AttributeError(f"module 'superwords' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
