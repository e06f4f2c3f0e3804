"""Concepts beside topics: the same words, several seeds, judged on text that nobody was trained on."""
