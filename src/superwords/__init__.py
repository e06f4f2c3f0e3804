"""superwords: documents as concepts, sparse sets of words."""

from superwords.corpus import Corpus
from superwords.errors import InputError
from superwords.estimator import ConceptModel
from superwords.storage import load

__version__ = "0.1.0"
__all__ = ["ConceptModel", "Corpus", "InputError", "load"]
