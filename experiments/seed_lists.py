"""Word lists made by people, and the texts whose words they are: what the study of seeds completes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from experiments.harness import data_path, read_lines
from superwords.text.corpus import Corpus
from superwords.text.read import read_documents

LEAST_WORDS = 6  # of a list: three are given and three are to be found
LEAST_RECIPES = 4
N_PACKAGES, N_TYPICAL = 1500, 16
SPEECHES_PART = 4
# What a person may say of a debate on health care before reading it.
DEBATE = {
    "money": "tax, cut, budget, deficit, dollar, spending, cost, revenue, tax break, billionaire, debt, subsidy",
    "insurance": "premium, deductible, insurer, insurance, coverage, plan, policy, market, exchange, mandate",
    "illness": "cancer, disease, heart disease, diabetes, asthma, treatment, surgery, patient, diagnosis, condition",
    "women": "woman, planned parenthood, pregnancy, birth control, maternity care, newborn, mammogram, abortion, baby",
    "addiction": "opioid, addiction, overdose, drug, substance, treatment, epidemic, heroin, crisis, recovery",
    "old age": "senior, medicare, nursing home, age tax, aarp, retirement, older american, elder, social security",
    "the poor": "medicaid, low-income, poverty, working family, child, disability, expansion, safety net",
    "making law": "vote, amendment, hearing, committee, bill, process, senator, colleague, majority, reconciliation",
    "providers": "hospital, doctor, nurse, physician, clinic, rural hospital, emergency room, provider, health center",
    "veterans": "veteran, va, military, service, soldier, department, choice program, benefit",
}


class WordLists(NamedTuple):
    """A corpus, and groups of its words that people put together."""

    name: str
    corpus: Corpus
    lists: dict[str, list[str]]


def read_task(name: str, data: Path, seed: int, jobs: int | None) -> WordLists:
    """Read one of `TASKS`; `seed` draws the packages."""
    corpus, lists = _READERS[name](data, seed, jobs)
    known = _forms(corpus)
    found = {
        group: list(dict.fromkeys(known[_form(word)] for word in words if _form(word) in known))
        for group, words in lists.items()
    }
    return WordLists(name, corpus, {group: words for group, words in found.items() if len(words) >= LEAST_WORDS})


def _forms(corpus: Corpus) -> dict[str, str]:
    """Return the vocabulary by words without plural and case; the most frequent word of each."""
    order = np.argsort(np.asarray(corpus.counts.sum(axis=0)).ravel(), kind="stable")
    return {_form(corpus.vocabulary[i]): corpus.vocabulary[i] for i in order}


def _form(word: str) -> str:
    plain = word.casefold()
    return re.sub(r"(?<=\w\w)(ies|y|s)$", "", plain)


def _foods(data: Path, seed: int, jobs: int | None, language: str) -> tuple[Corpus, dict[str, list[str]]]:
    """Read recipes, and foods that share a keyword of Unicode's CLDR."""
    texts = [one["text"] for one in read_lines(data_path(data, FILES["recipes"])) if one["lang"] == language]
    options: dict[str, Any] = {"words": "plain", "min_df": LEAST_RECIPES, "unit": "document"}
    corpus = read_documents(texts, language=language, n_jobs=jobs, **options)
    known = _forms(corpus)
    lists: dict[str, list[str]] = {}
    for food in read_lines(data_path(data / "food_pictures", "words.jsonl")):
        name, keywords = food[language], food[f"{language}_kw"]
        parts = [one for one in keywords if one.casefold()[:4] in name.casefold()]
        word = next((known[_form(one)] for one in (name, *parts) if _form(one) in known), None)
        for keyword in keywords:
            if word is not None and _form(word) != _form(keyword):
                lists.setdefault(keyword, []).append(word)
    return corpus, lists


def _packages(data: Path, seed: int, jobs: int | None) -> tuple[Corpus, dict[str, list[str]]]:
    """Read a sample of one half of Debian's packages, and typical words of each large section of the other."""
    records = read_lines(data_path(data, FILES["packages"]))
    order = np.random.default_rng(seed).permutation(len(records))
    first, second = order[:N_PACKAGES], order[len(records) // 2 :]
    corpus = read_documents([records[i]["text"] for i in first], n_jobs=jobs)
    others = [records[i] for i in second[: 4 * N_PACKAGES]]
    read = Corpus.from_texts(
        [one["text"] for one in others],
        vocabulary=corpus.vocabulary,
        recipe=corpus.notes["recipe"],
        keep_texts=False,
        n_jobs=jobs,
    )
    return corpus, typical_words(read, [one["section"] for one in others])


def typical_words(corpus: Corpus, sections: Sequence[str]) -> dict[str, list[str]]:
    """Return for each section of at least 1% of the rows the words that its rows have most in excess of chance.

    Excess is (n − e)/√e of the n rows that have the word and the e to expect.
    """
    has = sparse.csr_array(corpus.counts > 0, dtype=float)
    names, of_row = np.unique(np.array(sections), return_inverse=True)
    size = np.bincount(of_row)
    member = sparse.csr_array((np.ones(len(of_row)), (of_row, np.arange(len(of_row)))))
    seen = np.asarray((member @ has).todense())
    expected = np.outer(size / len(of_row), np.asarray(has.sum(axis=0)).ravel())
    excess = (seen - expected) / np.sqrt(np.maximum(expected, 1.0))
    large = [k for k in range(len(names)) if size[k] >= len(of_row) / 100]
    return {
        str(names[k]): [corpus.vocabulary[i] for i in np.argsort(-excess[k])[:N_TYPICAL] if excess[k, i] > 3]
        for k in large
    }


def _debate(data: Path, seed: int, jobs: int | None) -> tuple[Corpus, dict[str, list[str]]]:
    """Read every fourth speech of 2017 by passages, and our own lists."""
    texts = [one["text"] for one in read_lines(data_path(data, FILES["debate"]))]
    corpus = read_documents(texts[::SPEECHES_PART], unit="passages:5", n_jobs=jobs)
    return corpus, {group: words.split(", ") for group, words in DEBATE.items()}


FILES = {
    "recipes": "recipes_en_de.jsonl.gz",
    "Rezepte": "recipes_en_de.jsonl.gz",
    "packages": "debian_packages.jsonl.gz",
    "debate": "congress_health_2017_speeches.jsonl.gz",
}
Read = Callable[[Path, int, int | None], tuple[Corpus, dict[str, list[str]]]]
_READERS: dict[str, Read] = {
    "recipes": partial(_foods, language="en"),
    "Rezepte": partial(_foods, language="de"),
    "packages": _packages,
    "debate": _debate,
}
TASKS = tuple(_READERS)
