"""What `min_df="auto"` chooses on short and long, few and many texts in two languages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd

from experiments.harness import Lab
from superwords.text.corpus import Corpus, n_sources
from superwords.text.read import read_documents
from superwords.text.sentences import sentence_spans

SAMPLES = (100, 300)


def experiment(lab: Lab) -> pd.DataFrame:
    """Write vocabularies.csv: a row per corpus and sample."""
    rows = []
    for name, language, texts in _corpora(lab):
        for size in SAMPLES[:1] if lab.quick else (*SAMPLES, len(texts)):
            if size <= len(texts):
                some = texts if size == len(texts) else random.Random(size).sample(texts, size)
                options: dict[str, Any] = {"n_jobs": lab.jobs, "keep_texts": False}
                rows.append(_row(name, read_documents(some, language=language, **options)))
    table = pd.DataFrame(rows)
    lab.table("vocabularies.csv", table, show=True)
    return table


def _corpora(lab: Lab) -> Iterator[tuple[str, str, list[str]]]:
    """Yield name, language and texts of each corpus, the shortest documents first."""

    def texts(file: str, column: str = "text", **only: str) -> list[str]:
        records = lab.lines(f"{file}.jsonl.gz")
        return [r[column] for r in records if all(r[key] == value for key, value in only.items())]

    speeches = texts("convention2012")
    yield "titles (Cranfield)", "en", texts("cranfield", "title")
    yield (
        "sentences (conventions)",
        "en",
        [text[start:end] for text in speeches for start, end in sentence_spans(text, "en")],
    )
    yield "descriptions (Debian)", "en", texts("debian_packages")
    yield "recipes, English", "en", texts("recipes_en_de", lang="en")
    yield "recipes, German", "de", texts("recipes_en_de", lang="de")
    yield "abstracts (Cranfield)", "en", texts("cranfield")
    yield "news (Lee)", "en", texts("lee")
    yield "speeches (conventions)", "en", speeches
    yield "speeches (Congress)", "en", texts("congress_health_2017_speeches")
    yield "members (Congress)", "en", texts("congress_health_2017")


def _row(name: str, corpus: Corpus) -> dict[str, object]:
    per_row = np.diff(corpus.counts.indptr)
    return {
        "texts": name,
        "documents": n_sources(corpus),
        "rows": corpus.n_documents,
        "words read": int(corpus.notes["words_read"]),
        "min_df": int(corpus.notes["min_df"]),
        "words": corpus.n_words,
        "tokens": corpus.n_tokens,
        "words per row": round(float(per_row.mean()), 1),
        "rows with 3 words": f"{np.mean(per_row >= 3):.0%}",
        "empty documents": f"{len(corpus.notes['empty_documents']) / n_sources(corpus):.0%}",
    }
