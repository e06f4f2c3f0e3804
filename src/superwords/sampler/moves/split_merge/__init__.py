"""Splits and merges of whole concepts across all the documents that hold them."""
