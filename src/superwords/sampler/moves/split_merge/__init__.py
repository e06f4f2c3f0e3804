"""Splits and merges of concepts across all the documents that hold them."""
