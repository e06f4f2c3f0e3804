"""Experiments and comparisons: imported by nobody but the command line."""
