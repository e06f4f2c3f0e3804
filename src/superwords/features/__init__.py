"""What is known of the words: each function gives one block of numbers, (V, F), NaN rows where unknown."""

from superwords.features.block import WordFeatures
from superwords.features.combining import combine
from superwords.features.cooccur import cooccurrence, cooccurrence_components
from superwords.features.language_models import embedding_components, embeddings
from superwords.features.numbers import table
from superwords.features.picture import picture_components, pictures
from superwords.features.seeding import seeds
from superwords.features.word_vectors import vectors

__all__ = [
    "WordFeatures",
    "combine",
    "cooccurrence",
    "cooccurrence_components",
    "embedding_components",
    "embeddings",
    "picture_components",
    "pictures",
    "seeds",
    "table",
    "vectors",
]
