"""Features by their names, as `superwords fit --features` and `superwords.fit` take them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from superwords.errors import InputError
from superwords.features.block import WordFeatures, combine
from superwords.features.cooccur import cooccurrence
from superwords.features.language_models import embeddings
from superwords.features.picture import pictures
from superwords.features.seeding import find_seeds, seeds, spread_seeds
from superwords.features.tables import table
from superwords.features.word_vectors import vectors
from superwords.text.corpus import Corpus

AUTO, NONE = "auto", "none"
KINDS = ("cooccurrence", "embeddings", "pictures", "seeds", "table", "vectors")
_NEXT_BLOCK = re.compile(rf",(?=(?:{'|'.join((*KINDS, NONE, AUTO))})(?:[:,]|$))")

Report = Callable[[str], None]


class MadeFeatures(NamedTuple):
    """Hold the features of a corpus's words."""

    values: Any  # (V, F), NaN rows where unknown; None: no features
    standardize: bool  # whether they are still to be standardised; combined blocks are not
    seeds: dict[str, list[str]]  # the seed words of each group, as spelled in the vocabulary


def _by_word(table: pd.DataFrame, vocabulary: list[str]) -> pd.DataFrame:
    """Return a table of features aligned to the vocabulary by its index, NaN for missing words.

    A table with a default index (0, 1, …) and a row per word is returned unchanged.
    """
    if not table.index.isin(vocabulary).any():
        if isinstance(table.index, pd.RangeIndex) and len(table) == len(vocabulary):
            return table
        raise InputError(
            "No row of the features is named by a word of the vocabulary; give a DataFrame whose index is the words."
        )
    twice = table.index[table.index.duplicated()]
    if len(twice):
        raise InputError(f"The features have several rows for the word {twice[0]!r}; give one row per word.")
    return table.reindex(vocabulary)


def make_features(spec: Any, corpus: Corpus, report: Report = lambda line: None) -> MadeFeatures:
    """Return the features named by a string such as "cooccurrence,seeds:seeds.csv".

    Parameters
    ----------
    spec : str, mapping, sequence of these, array or None
        "auto": co-occurrence where the corpus has it. Blocks with commas between: cooccurrence (or
        cooccurrence:log), embeddings:NAME_OR_FOLDER, pictures:FOLDER, seeds:FILE, table:FILE, vectors:FILE.
        A mapping {group: words} is a block of seeds, as in ["cooccurrence", {"sweet": ["sugar", "honey"]}].
        "none" or None: no features. A DataFrame is aligned by its index of words. Anything else is taken for the
        values themselves.
    corpus : Corpus
        Whose words they are.
    report : function
        Called with one line about every block.

    Returns
    -------
    MadeFeatures
        The values, whether they are still to be standardised, and the seed words of each group.

    Examples
    --------
    >>> from superwords import Corpus
    >>> from superwords.features.specs import make_features
    >>> corpus = Corpus.from_counts([[2, 1, 0], [0, 1, 1], [1, 1, 0]], ["tea", "milk", "ink"])
    >>> make_features("none", corpus).values is None
    True
    """
    if isinstance(spec, pd.DataFrame):
        return MadeFeatures(_by_word(spec, corpus.vocabulary), True, {})
    if not is_spec(spec):
        return MadeFeatures(spec, True, {})
    names = split_features(spec)
    if names == [NONE]:
        return MadeFeatures(None, True, {})
    if names == [AUTO]:
        try:
            return MadeFeatures(_make_block("cooccurrence", "", corpus, report), True, {})
        except InputError as error:
            report(f"No word features are used: {error}")
            return MadeFeatures(None, True, {})
    blocks = [(kind, _make_block(kind, source, corpus, report)) for kind, source in map(_parts, names)]
    groups = _seed_words(names, corpus)
    if len(blocks) == 1:
        return MadeFeatures(blocks[0][1], True, groups)
    given = [values for kind, values in blocks if kind == "seeds"]
    others = [values for kind, values in blocks if kind != "seeds"]
    if not given or not others:
        return MadeFeatures(combine(*given, *others), False, groups)
    return MadeFeatures(spread_seeds(_side_by_side(given), combine(*others)), False, groups)


def _side_by_side(given: list[np.ndarray]) -> np.ndarray:
    """Return the seeds of several files as one block, NaN where a word is in none."""
    values = np.hstack([np.nan_to_num(one) for one in given])
    values[~values.any(axis=1)] = np.nan
    return values


def is_spec(features: Any) -> bool:
    """Return whether features are given by name, not as numbers."""
    is_list = isinstance(features, list | tuple) and all(isinstance(one, str | Mapping) for one in features)
    return features is None or isinstance(features, str | Mapping) or is_list


def says_only_the_text(features: Any) -> bool:
    """Return whether features use nothing but the counts; others may bind words that share no document."""
    if not is_spec(features):
        return False
    return all(kind in (NONE, AUTO, "cooccurrence") for kind, _ in map(_parts, split_features(features)))


def check_spec(spec: Any) -> None:
    """Raise InputError for an unknown kind or a missing file, before any text is read."""
    for kind, source in map(_parts, split_features(spec)):
        is_file = kind in ("pictures", "seeds", "table", "vectors") and isinstance(source, str)
        if is_file and not Path(source).exists():
            raise InputError(f"{source}: there is no such file or folder for the features {kind}:{source}.")


def split_features(spec: Any) -> list[Any]:
    """Split "cooccurrence,pictures:FOLDER" into blocks; paths may contain commas, mappings are kept."""
    given = [NONE] if spec is None else [spec] if isinstance(spec, str | Mapping) else list(spec)
    blocks: list[Any] = []
    for part in given:
        blocks += [part] if isinstance(part, Mapping) else _NEXT_BLOCK.split(part)
    for block in blocks:
        kind, source = _parts(block)
        if kind in (NONE, AUTO) and not source:
            if len(blocks) > 1:
                raise InputError(f"The features {block} cannot be joined with other features.")
            continue
        if kind not in KINDS:
            raise InputError(
                f"The features {block!r} are not known; give cooccurrence, embeddings:NAME_OR_FOLDER, "
                "pictures:FOLDER, seeds:FILE, table:FILE, vectors:FILE, several with commas between, auto or none."
            )
        if kind in KINDS[1:] and source == "":
            raise InputError(f"The features {kind} need a file or folder, as in {kind}:PATH.")
    return blocks or [NONE]


def _parts(block: Any) -> tuple[str, Any]:
    if isinstance(block, Mapping):
        return "seeds", block
    kind, _, source = block.partition(":")
    return kind, source


# A function of the source and the corpus that makes a block, and how its line of output names the source.
_BLOCKS: dict[str, tuple[Callable[[Any, Corpus], np.ndarray], str]] = {
    "cooccurrence": (
        lambda source, corpus: cooccurrence(corpus, weighting=source or "ppmi"),
        "co-occurrence",
    ),
    "embeddings": (lambda source, corpus: embeddings(source, corpus.vocabulary), "the embeddings {}"),
    "pictures": (lambda source, corpus: pictures(source, corpus.vocabulary), "pictures"),
    "seeds": (lambda source, corpus: seeds(source, corpus.vocabulary), "{}"),
    "table": (lambda source, corpus: table(source, corpus.vocabulary), "{}"),
    "vectors": (lambda source, corpus: vectors(source, corpus.vocabulary), "{}"),
}


def _make_block(kind: str, source: Any, corpus: Corpus, report: Report) -> np.ndarray:
    """Make one block, and report its warnings and its size."""
    make, label = _BLOCKS[kind]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        block = make(source, corpus)
    for warning in caught:
        report(str(warning.message))
    values = np.asarray(block)
    known = int((~np.isnan(values).any(axis=1)).sum())
    name = label.format(source if isinstance(source, str) else kind)
    line = f"Word features from {name}: {values.shape[1]} columns for {known:,} of {len(values):,} words"
    explained = f", {block.total_explained:.0%} of the variance" if isinstance(block, WordFeatures) else ""
    report(f"{line}{explained}.")
    return values


def _seed_words(blocks: Sequence[Any], corpus: Corpus) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for source in (source for kind, source in map(_parts, blocks) if kind == "seeds"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # reported once, when the block was made
            found = find_seeds(source, corpus.vocabulary)
        for group, members in found.items():
            groups.setdefault(group, []).extend(corpus.vocabulary[i] for i in members)
    return groups
