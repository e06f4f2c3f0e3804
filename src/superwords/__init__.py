"""superwords: documents as concepts, sparse sets of words."""

from superwords.corpus import Corpus
from superwords.errors import InputError
from superwords.estimator import ConceptModel

__version__ = "0.1.0"
__all__ = ["ConceptModel", "Corpus", "InputError"]
