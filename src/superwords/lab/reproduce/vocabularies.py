"""What `min_df="auto"` chooses on short and long, few and many texts in two languages."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd

from superwords.corpus.corpus import Corpus, n_sources
from superwords.corpus.reading import read_documents
from superwords.corpus.sentences import sentence_spans
from superwords.files import write_whole
from superwords.lab.reproduce.corpora import data_path, read_lines
from superwords.tabular import csv_text

SAMPLES = (100, 300)


def reproduce(data: Path, out: Path, n_jobs: int | None, say: Callable[[str], None]) -> pd.DataFrame:
    """One row per corpus and sample, said as a table in Markdown and written as vocabularies.csv."""
    rows = []
    for name, language, texts in _corpora(data):
        for size in (*SAMPLES, len(texts)):
            if size <= len(texts):
                some = texts if size == len(texts) else random.Random(size).sample(texts, size)
                corpus = read_documents(some, language=language, n_jobs=n_jobs, keep_texts=False, cache=False)
                rows.append(_row(name, corpus))
                if len(rows) == 1:
                    say("| " + " | ".join(rows[0]) + " |\n|---" + "|---:" * (len(rows[0]) - 1) + "|")
                say("| " + " | ".join(map(_said, rows[-1].values())) + " |")
    table = pd.DataFrame(rows)
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / "vocabularies.csv", csv_text(table).encode())
    return table


def _corpora(data: Path) -> Iterator[tuple[str, str, list[str]]]:
    """Name, language and texts of each corpus, the shortest documents first."""

    def texts(file: str, column: str = "text", **only: str) -> list[str]:
        records = read_lines(data_path(data, f"{file}.jsonl.gz"))
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


def _said(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)
