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
from superwords.features.block import WordFeatures, combine, table
from superwords.features.cooccur import cooccurrence
from superwords.features.picture import pictures
from superwords.features.seeding import find_seeds, seeds, spread_seeds
from superwords.features.word_vectors import embeddings, vectors
from superwords.text.corpus import Corpus

AUTO, NONE = "auto", "none"
KINDS = ("cooccurrence", "embeddings", "pictures", "seeds", "table", "vectors")
_NEXT_BLOCK = re.compile(rf",(?=(?:{'|'.join((*KINDS, NONE, AUTO))})(?:[:,]|$))")

Report = Callable[[str], None]


class MadeFeatures(NamedTuple):
    values: Any  # (V, F), NaN rows where unknown; None: no features
    standardize: bool  # whether they are still to be standardised; combined blocks are not
    seeds: dict[str, list[str]]  # the seed words of each group, as spelled in the vocabulary


def make_features(spec: Any, corpus: Corpus, report: Report = lambda line: None) -> MadeFeatures:
    """Return the features named by a string such as "cooccurrence,seeds:seeds.csv"; report a line about each block.

    Blocks have commas between: cooccurrence (or cooccurrence:log), embeddings:NAME_OR_FOLDER, pictures:FOLDER,
    seeds:FILE, table:FILE, vectors:FILE; a mapping {group: words} is a block of seeds, as in ["cooccurrence",
    {"sweet": ["sugar", "honey"]}]. "auto" is co-occurrence where the corpus has it, "none" or None no features.
    A DataFrame is aligned by its index of words. Anything else is taken for the values themselves.
    """
    if isinstance(spec, pd.DataFrame) and not spec.index.isin(corpus.vocabulary).any():
        if not isinstance(spec.index, pd.RangeIndex) or len(spec) != corpus.n_words:
            raise InputError(
                "No row of the features is named by a word of the vocabulary; "
                "give a DataFrame whose index is the words."
            )
    elif isinstance(spec, pd.DataFrame):
        if len(twice := spec.index[spec.index.duplicated()]):
            raise InputError(f"The features have several rows for the word {twice[0]!r}; give one row per word.")
        spec = spec.reindex(corpus.vocabulary)
    if not is_spec(spec):
        return MadeFeatures(spec, True, {})
    parts = split_features(spec)
    if parts[0][0] == NONE:
        return MadeFeatures(None, True, {})
    if parts[0][0] == AUTO:
        try:
            return MadeFeatures(_make_block("cooccurrence", "", corpus, report), True, {})
        except InputError as error:
            report(f"No word features are used: {error}")
            return MadeFeatures(None, True, {})
    given: list[np.ndarray] = []  # by seeds
    others: list[np.ndarray] = []
    groups: dict[str, list[str]] = {}
    for kind, source in parts:
        (given if kind == "seeds" else others).append(_make_block(kind, source, corpus, report))
        for group, members in find_seeds(source, corpus.vocabulary)[0].items() if kind == "seeds" else ():
            groups.setdefault(group, []).extend(corpus.vocabulary[i] for i in members)
    if len(parts) == 1:
        return MadeFeatures((given or others)[0], True, groups)
    if not given or not others:
        return MadeFeatures(combine(*given, *others), False, groups)
    joined = np.nan_to_num(np.hstack(given))  # the seeds of several files are one block
    joined[~joined.any(axis=1)] = np.nan
    return MadeFeatures(spread_seeds(joined, combine(*others)), False, groups)


def is_spec(features: Any) -> bool:
    """Return whether features are given by name, not as numbers."""
    is_list = isinstance(features, list | tuple) and all(isinstance(one, str | Mapping) for one in features)
    return features is None or isinstance(features, str | Mapping) or is_list


def says_only_the_text(features: Any) -> bool:
    """Return whether features use nothing but the counts; others may bind words that share no document."""
    kinds = (NONE, AUTO, "cooccurrence")
    return is_spec(features) and all(kind in kinds for kind, _ in split_features(features))


def check_spec(spec: Any) -> None:
    """Raise InputError for an unknown kind or a missing file, before any text is read."""
    for kind, source in split_features(spec):
        is_file = kind in ("pictures", "seeds", "table", "vectors") and isinstance(source, str)
        if is_file and not Path(source).exists():
            raise InputError(f"{source}: there is no such file or folder for the features {kind}:{source}.")


def split_features(spec: Any) -> list[tuple[str, Any]]:
    """Return the kind and the source of each block of "cooccurrence,pictures:FOLDER"; paths may contain commas."""
    given = [NONE] if spec is None else [spec] if isinstance(spec, str | Mapping) else list(spec)
    blocks = [block for part in given for block in ([part] if isinstance(part, Mapping) else _NEXT_BLOCK.split(part))]
    parts: list[tuple[str, Any]] = []
    for block in blocks or [NONE]:
        kind, _, source = ("seeds", "", block) if isinstance(block, Mapping) else block.partition(":")
        parts.append((kind, source))
        if kind in (NONE, AUTO) and not source:
            if len(blocks) > 1:
                raise InputError(f"The features {block} cannot be joined with other features.")
        elif kind not in KINDS:
            raise InputError(
                f"The features {block!r} are not known; give cooccurrence, embeddings:NAME_OR_FOLDER, "
                "pictures:FOLDER, seeds:FILE, table:FILE, vectors:FILE, several with commas between, auto or none."
            )
        elif kind != "cooccurrence" and source == "":
            raise InputError(f"The features {kind} need a file or folder, as in {kind}:PATH.")
    return parts


_MAKERS: dict[str, Callable[[Any, Sequence[str]], np.ndarray]] = {
    **{"embeddings": embeddings, "pictures": pictures, "seeds": seeds, "table": table, "vectors": vectors}
}


def _make_block(kind: str, source: Any, corpus: Corpus, report: Report) -> np.ndarray:
    """Make one block, and report its warnings and its size."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if kind == "cooccurrence":
            block: np.ndarray = cooccurrence(corpus, weighting=source or "ppmi")
        else:
            block = _MAKERS[kind](source, corpus.vocabulary)
    for warning in caught:
        report(str(warning.message))
    values = np.asarray(block)
    known = int((~np.isnan(values).any(axis=1)).sum())
    names = {"cooccurrence": "co-occurrence", "pictures": kind, "embeddings": f"the embeddings {source}"}
    name = names.get(kind, source if isinstance(source, str) else kind)
    line = f"Word features from {name}: {values.shape[1]} columns for {known:,} of {len(values):,} words"
    explained = f", {block.total_explained:.0%} of the variance" if isinstance(block, WordFeatures) else ""
    report(f"{line}{explained}.")
    return values
