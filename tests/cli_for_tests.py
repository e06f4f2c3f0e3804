"""Small files and runs that the tests of the command line share."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from superwords import ConceptModel, load
from superwords.cli.main import main

THEMES = {
    "orchard": ["apple", "pear", "cherry", "orchard", "harvest", "basket"],
    "garage": ["engine", "wheel", "brake", "garage", "mechanic", "tyre"],
}
QUICK = ["--chains", "2", "--sweeps", "16", "--burn-in", "4", "--thin", "2", "--seed", "7", "--min-df", "2"]


class Outcome(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


def run(capsys: pytest.CaptureFixture[str], *arguments: Any) -> Outcome:
    """A command in this process."""
    capsys.readouterr()
    code = main([str(argument) for argument in arguments])
    said = capsys.readouterr()
    return Outcome(code, said.out, said.err)


def start(*arguments: Any, **options: Any) -> subprocess.Popen[str]:
    """A command in a process of its own."""
    words = [sys.executable, "-m", "superwords.cli.main", *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def write_documents(folder: Path, n_documents: int = 24) -> Path:
    """A CSV of short documents on two themes, with the columns name, party, speech and year."""
    rng = np.random.default_rng(5)
    path = folder / "speeches.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["name", "party", "speech", "year"])
        for d in range(n_documents):
            theme = list(THEMES)[d % 2]
            sentences = []
            for _ in range(4):
                first, second, third = rng.choice(THEMES[theme], 3, replace=False)
                sentences.append(f"The {first} and the {second} were near the {third}.")
            writer.writerow([f"speaker {d}", "AB"[d % 2], " ".join(sentences), 2000 + d % 3])
    return path


def fit_arguments(source: Path, output: Path, *more: Any) -> list[Any]:
    return ["fit", source, "--text", "speech", "--id", "name", *QUICK, "-o", output, *more]


@cache
def model_file(folder: Path) -> Path:
    """A fitted model of the two themes, made once for a folder."""
    output = folder / "model.sw"
    assert main([str(word) for word in fit_arguments(write_documents(folder), output, "--quiet")]) == 0
    return output


def assert_same_bits(first: ConceptModel, second: ConceptModel) -> None:
    """Two models that were sampled with the same bits throughout."""
    assert first.n_concepts_ == second.n_concepts_
    np.testing.assert_array_equal(first.concept_word_, second.concept_word_)
    np.testing.assert_array_equal(first.doc_concept_, second.doc_concept_)
    for name in ("log_joint", "n_concepts", "n_memberships", "n_words_on"):
        np.testing.assert_array_equal(first.trace_.posterior[name].values, second.trace_.posterior[name].values)
    for one, other in zip(first.chains_, second.chains_, strict=True):
        assert one.sweep == other.sweep
        for mine, theirs in zip(one.state, other.state, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def loaded(path: Path) -> ConceptModel:
    return load(path)
