"""Memory does not grow with the text beyond the counts, and processes leave the result as it is."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from superwords.text import stream
from superwords.text.phrases import Method
from superwords.text.stream import stream_texts

READ = """
import json, resource, sys
from superwords.text.read import read_documents
read_documents(sys.argv[1], words="plain", unit="document", n_jobs=1, keep_texts=False)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
corpus = read_documents(sys.argv[2], words="plain", unit="document", n_jobs=1, keep_texts=False)
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([corpus.n_tokens, (after - before) / 1024]))
"""


def test_a_longer_text_of_the_same_words_takes_no_more_memory(tmp_path):
    """Ten times the text in as many sentences, all of it stop words: 5 MB more text, and no token more."""
    rng = np.random.default_rng(1)
    words = [f"noun{chr(97 + n // 26)}{chr(97 + n % 26)}" for n in range(200)]
    chosen = rng.choice(words, (1000, 8))
    for name, padding in (("short.txt", 20), ("long.txt", 180)):
        filler = "of the and with " * (padding // 4)
        lines = "".join(" ".join(f"{filler}{word}" for word in row) + ".\n" for row in chosen)
        (tmp_path / name).write_text(lines, encoding="utf-8")
    grown = (tmp_path / "long.txt").stat().st_size - (tmp_path / "short.txt").stat().st_size
    assert grown > 5_000_000
    command = [sys.executable, "-c", READ, str(tmp_path / "short.txt"), str(tmp_path / "long.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    n_tokens, megabytes = json.loads(done.stdout)
    assert n_tokens == 8_000
    assert megabytes < 3


def test_any_number_of_processes_gives_the_same_stream_in_the_same_order(monkeypatch):
    monkeypatch.setattr(stream, "CHUNK_CHARACTERS", 20_000)
    rng = np.random.default_rng(2)
    nouns = ["dog", "cat", "house", "river", "tower", "bridge", "farmer", "zorkmid", "frobnicator", "garden"]
    texts = []
    for _ in range(60):
        pairs = rng.choice(nouns, (60, 2))
        texts.append(" ".join(f"The old {a} saw the {b}{n % 7}s." for n, (a, b) in enumerate(pairs)))
    assert sum(map(len, texts)) > 20_000 * stream.CHUNKS_WORTH_WORKERS
    done: list[tuple[int, int]] = []
    one = stream_texts(texts, ["en"] * len(texts), Method(), 1)
    two = stream_texts(texts, ["en"] * len(texts), Method(), 2, lambda *at: done.append(at))
    assert one.types == two.types
    assert list(one.form_count.items()) == list(two.form_count.items())
    for name in ("token_type", "token_flags", "token_sentence", "sentence_document", "sentence_span"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))
    assert done == sorted(done)
    assert done[-1] == (len(texts), len(texts))
