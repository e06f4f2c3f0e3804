"""Word features: each function returns one block of numbers, (V, F), with NaN rows for unknown words."""

from superwords.features.block import WordFeatures, combine, table
from superwords.features.cooccur import cooccurrence
from superwords.features.picture import pictures
from superwords.features.seeding import seeds
from superwords.features.word_vectors import embeddings, text_vectors, vectors

__all__ = [
    "WordFeatures",
    "combine",
    "cooccurrence",
    "embeddings",
    "pictures",
    "seeds",
    "table",
    "text_vectors",
    "vectors",
]
