"""Documents in, counts out."""

from superwords.corpus.corpus import Corpus

__all__ = ["Corpus"]
