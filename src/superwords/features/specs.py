"""Features by their names, as `superwords fit --features` and `superwords.fit` take them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from superwords.corpus.corpus import Corpus
from superwords.errors import InputError
from superwords.features.combining import combine
from superwords.features.cooccur import cooccurrence_components
from superwords.features.language_models import embedding_components
from superwords.features.numbers import table
from superwords.features.picture import picture_components
from superwords.features.seeding import find_seeds, seeds, spread_seeds
from superwords.features.word_vectors import vectors

AUTO, NONE = "auto", "none"
KINDS = ("cooccurrence", "embeddings", "pictures", "seeds", "table", "vectors")
_NEXT_BLOCK = re.compile(rf",(?=(?:{'|'.join((*KINDS, NONE, AUTO))})(?:[:,]|$))")

Say = Callable[[str], None]


class MadeFeatures(NamedTuple):
    """What `make_features` gives."""

    values: Any  # (V, F), NaN rows where unknown; None: no features
    standardize: bool  # whether they are still to be standardised; combined blocks are not
    seeds: dict[str, list[str]]  # the seed words of each group, as they stand in the vocabulary


def make_features(spec: Any, corpus: Corpus, say: Say = lambda line: None) -> MadeFeatures:
    """The features that a text such as "cooccurrence,seeds:seeds.csv" asks for, or numbers as they are given.

    Parameters
    ----------
    spec : str, mapping, sequence of these, array or None
        "auto": co-occurrence where the corpus has it. Blocks with commas between: cooccurrence (or
        cooccurrence:log), embeddings:NAME_OR_FOLDER, pictures:FOLDER, seeds:FILE, table:FILE, vectors:FILE.
        A mapping {group: words} is a block of seeds, as in ["cooccurrence", {"sweet": ["sugar", "honey"]}].
        "none" or None: no features. Anything else is taken for the values themselves.
    corpus : Corpus
        Whose words they are.
    say : function
        Is told one line about every block.

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
    if not is_spec(spec):
        return MadeFeatures(spec, True, {})
    wanted = split_features(spec)
    if wanted == [NONE]:
        return MadeFeatures(None, True, {})
    if wanted == [AUTO]:
        try:
            return MadeFeatures(_cooccurrence("", corpus, say), True, {})
        except InputError as error:
            say(f"No word features are used: {error}")
            return MadeFeatures(None, True, {})
    blocks = [(kind, _BLOCKS[kind](source, corpus, say)) for kind, source in map(_parts, wanted)]
    groups = _seed_words(wanted, corpus)
    if len(blocks) == 1:
        return MadeFeatures(blocks[0][1], True, groups)
    given = [values for kind, values in blocks if kind == "seeds"]
    others = [values for kind, values in blocks if kind != "seeds"]
    if not given or not others:
        return MadeFeatures(combine(*given, *others), False, groups)
    return MadeFeatures(spread_seeds(_side_by_side(given), combine(*others)), False, groups)


def _side_by_side(given: list[np.ndarray]) -> np.ndarray:
    """Seeds of several files as one block: NaN where a word is in none."""
    values = np.hstack([np.nan_to_num(one) for one in given])
    values[~values.any(axis=1)] = np.nan
    return values


def is_spec(features: Any) -> bool:
    """Whether features are asked for by name, and not given as numbers."""
    is_list = isinstance(features, list | tuple) and all(isinstance(one, str | Mapping) for one in features)
    return features is None or isinstance(features, str | Mapping) or is_list


def says_only_the_text(features: Any) -> bool:
    """Whether features are none, or made of the very counts; others may bind words that share no document."""
    if not is_spec(features):
        return False
    return all(kind in (NONE, AUTO, "cooccurrence") for kind, _ in map(_parts, split_features(features)))


def check_spec(spec: Any) -> None:
    """Refuse what cannot be had, before any text is read: an unknown kind, or a file that is not there."""
    for kind, source in map(_parts, split_features(spec)):
        is_file = kind in ("pictures", "seeds", "table", "vectors") and isinstance(source, str)
        if is_file and not Path(source).exists():
            raise InputError(f"{source}: there is no such file or folder for the features {kind}:{source}.")


def split_features(spec: Any) -> list[Any]:
    """The single blocks of "cooccurrence,pictures:FOLDER"; a path may hold a comma. Mappings stay as they are."""
    given = [NONE] if spec is None else [spec] if isinstance(spec, str | Mapping) else list(spec)
    wanted = [
        one for part in given for one in ([part] if isinstance(part, Mapping) else _NEXT_BLOCK.split(part))
    ]
    if not wanted:
        return [NONE]
    for one in wanted:
        kind, source = _parts(one)
        if kind in (NONE, AUTO) and not source:
            if len(wanted) > 1:
                raise InputError(f"The features {one} cannot be joined with other features.")
            continue
        if kind not in KINDS:
            raise InputError(
                f"The features {one!r} are not known; give cooccurrence, embeddings:NAME_OR_FOLDER, "
                "pictures:FOLDER, seeds:FILE, table:FILE, vectors:FILE, several with commas between, auto or none."
            )
        if kind in KINDS[1:] and source == "":
            raise InputError(f"The features {kind} need a file or folder, as in {kind}:PATH.")
    return wanted


def _parts(one: Any) -> tuple[str, Any]:
    if isinstance(one, Mapping):
        return "seeds", one
    kind, _, source = one.partition(":")
    return kind, source


def _cooccurrence(weighting: str, corpus: Corpus, say: Say) -> np.ndarray:
    found = cooccurrence_components(corpus, weighting=weighting or "ppmi")
    _say_known(found.values, "co-occurrence", say, found.total_explained)
    return found.values


def _embeddings(source: str, corpus: Corpus, say: Say) -> np.ndarray:
    found = embedding_components(source, corpus.vocabulary)
    _say_known(found.values, f"the embeddings {source}", say, found.total_explained)
    return found.values


def _pictures(source: str, corpus: Corpus, say: Say) -> np.ndarray:
    found = picture_components(source, corpus.vocabulary)
    _say_known(found.values, "pictures", say, found.total_explained)
    return found.values


def _table(source: str, corpus: Corpus, say: Say) -> np.ndarray:
    values = table(source, corpus.vocabulary)
    _say_known(values, source, say)
    return values


def _vectors(source: str, corpus: Corpus, say: Say) -> np.ndarray:
    values = vectors(source, corpus.vocabulary)
    _say_known(values, source, say)
    return values


def _seeds(source: Any, corpus: Corpus, say: Say) -> np.ndarray:
    with warnings.catch_warnings(record=True) as unknown:
        warnings.simplefilter("always")
        values = seeds(source, corpus.vocabulary)
    for warning in unknown:
        say(str(warning.message))
    _say_known(values, source if isinstance(source, str) else "seeds", say)
    return values


_BLOCKS: dict[str, Callable[[Any, Corpus, Say], np.ndarray]] = {
    "cooccurrence": _cooccurrence,
    "embeddings": _embeddings,
    "pictures": _pictures,
    "seeds": _seeds,
    "table": _table,
    "vectors": _vectors,
}


def _seed_words(wanted: Sequence[Any], corpus: Corpus) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for kind, source in map(_parts, wanted):
        if kind != "seeds":
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said once, when the block was made
            found = find_seeds(source, corpus.vocabulary)
        for group, members in found.items():
            groups.setdefault(group, []).extend(corpus.vocabulary[i] for i in members)
    return groups


def _say_known(values: np.ndarray, source: str, say: Say, explained: float | None = None) -> None:
    known = int((~np.isnan(values).any(axis=1)).sum())
    line = f"Word features from {source}: {values.shape[1]} columns for {known:,} of {len(values):,} words"
    say(line + (f", {explained:.0%} of the variance." if explained is not None else "."))
