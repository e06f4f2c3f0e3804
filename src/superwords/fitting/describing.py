"""A fitted model in a few lines, as `print(model)` and a notebook show it."""

from __future__ import annotations

from superwords.analysis.tables import of_shown
from superwords.fitting.found import FoundConcepts
from superwords.text.corpus import n_sources, row_name

_CONCEPTS, _WORDS = 5, 6


def model_lines(model: FoundConcepts) -> list[str]:
    """Return a summary: number of concepts, amount of text, first words, agreement of chains."""
    corpus = model.corpus_
    rows = f"{corpus.n_documents:,} {row_name(corpus)}"
    if corpus.parent is not None:
        rows += f" of {n_sources(corpus):,} documents"
    if not model.result_.has_concepts:
        done = min(chain.sweep for chain in model.chains_)
        return [f"ConceptModel of {rows}: no draw is kept yet, after {done:,} sweeps."]
    table = of_shown(model.result_, model.concepts(_WORDS))
    n = len(table)
    kind = "" if model.approximate is None else f", an approximation ({model.approximate})"
    lines = [f"ConceptModel of {rows}{kind}: {n:,} concept{'' if n == 1 else 's'}."]
    first = table.head(_CONCEPTS)
    lines += [f"{j}: {', '.join(words)}" for j, words in zip(first["concept"], first["top_words"])]
    if n > _CONCEPTS:
        lines.append(f"… and {n - _CONCEPTS:,} more; model.concepts() lists all.")
    return [*lines, str(model.verdict())]
