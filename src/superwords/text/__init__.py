"""Documents in, counts out."""

from superwords.text.corpus import Corpus

__all__ = ["Corpus"]
