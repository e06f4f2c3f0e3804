"""The paper's recipe example: English and German recipes, pictures of words."""

from superwords.demo.data import Demo, RankAccuracy, load_demo, picture_similarity, rank_accuracy

__all__ = ["Demo", "RankAccuracy", "load_demo", "picture_similarity", "rank_accuracy"]
