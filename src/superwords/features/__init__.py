"""What is known of the words: each function gives one block of numbers, (V, F), NaN rows where unknown."""

from superwords.features.block import WordFeatures
from superwords.features.combining import combine
from superwords.features.cooccur import cooccurrence, cooccurrence_components
from superwords.features.embeddings import vectors
from superwords.features.numbers import table
from superwords.features.picture import picture_components, pictures

__all__ = [
    "WordFeatures",
    "combine",
    "cooccurrence",
    "cooccurrence_components",
    "picture_components",
    "pictures",
    "table",
    "vectors",
]
