"""Counted texts kept between runs, found again by their content: the same texts are not tagged twice."""

from __future__ import annotations

import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from importlib.metadata import version
from itertools import repeat
from pathlib import Path
from typing import Any

from superwords.container import Container, damage_said
from superwords.corpus.building import CountedTexts
from superwords.corpus.recipe import TextOptions
from superwords.errors import InputError
from superwords.packing import QUICK_LEVEL

WORTH_KEEPING = 1_000_000  # characters; less is read in seconds
LARGEST = 2 * 10**9  # bytes of all entries; the least recently used go first
_PART = "counted"


@dataclass(frozen=True)
class CountCache:
    """Counts by the texts and all that was asked of them; `say` is told what is kept and found.

    Entries are files that appear whole or not at all, with checksums; a damaged one counts as none.
    """

    say: Callable[[str], None] = lambda line: None

    def counted(
        self,
        texts: Iterable[str],
        languages: str | Iterable[str],
        options: TextOptions,
        count: Callable[[], CountedTexts],
    ) -> CountedTexts:
        """The counts of these texts, as kept or, where there are none, as counted now and kept."""
        key, n_characters = _fingerprint(texts, languages, options)
        if n_characters < WORTH_KEEPING or (options.method.tagger or "").startswith("spacy:"):
            return count()
        entry = cache_folder() / f"{key}.counts"
        found = _read(entry)
        if found is not None:
            self.say(
                f"Counted before, so read from the cache ({_size(entry)}); --no-cache reads the texts again."
            )
            return found
        counted = count()
        if _write(entry, counted):
            self.say(
                f"Kept in the cache ({_size(entry)}; {said_size(cache_size())} in all), so that the same texts "
                "are not tagged again; 'superwords cache --clear' empties it."
            )
        return counted


def cache_folder() -> Path:
    """Where counted texts are kept: in the user's folder for caches."""
    root = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(root) / "superwords" / "counts"


def cache_size() -> int:
    """Bytes of all that is kept."""
    return sum(size for size, _, _ in _entries())


def clear_cache() -> int:
    """Empties the cache; returns the bytes it had."""
    freed = 0
    for size, _, path in _entries():
        _remove(path)
        freed += size
    return freed


def said_size(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:,.1f} MB"


def _size(entry: Path) -> str:
    try:
        return said_size(entry.stat().st_size)
    except OSError:
        return "gone again"


def _entries() -> list[tuple[int, float, Path]]:
    """Size, time of last use and path of every file of the cache, the least recently used first."""
    found = []
    for path in cache_folder().glob("*.counts*"):
        try:
            status = path.stat()
        except OSError:
            continue
        found.append((status.st_size, status.st_mtime, path))
    return sorted(found, key=lambda entry: (entry[1], entry[2]))


def _fingerprint(
    texts: Iterable[str], languages: str | Iterable[str], options: TextOptions
) -> tuple[str, int]:
    digest = hashlib.sha256(_code_version().encode())
    digest.update(json.dumps(asdict(options), sort_keys=True).encode())
    codes = repeat(languages) if isinstance(languages, str) else languages
    n_characters = 0
    for text, code in zip(texts, codes):
        content = text.encode("utf-8", "surrogatepass")
        digest.update(f"{code}:{len(content)}:".encode())
        digest.update(content)
        n_characters += len(text)
    digest.update(json.dumps(languages if isinstance(languages, str) else None).encode())
    return digest.hexdigest(), n_characters


@cache
def _code_version() -> str:
    """What the counts depend on besides texts and options: this package's code, the tagger and the stop words."""
    digest = hashlib.sha256()
    for source in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(source.read_bytes())
    return f"{digest.hexdigest()} HanTa {version('HanTa')} stopwordsiso {version('stopwordsiso')}"


def _read(entry: Path) -> CountedTexts | None:
    if not entry.exists():
        return None
    try:
        with damage_said(str(entry)), closing(Container.open(entry)) as container:
            counted = CountedTexts(**container.get(_PART))
    except InputError:
        _remove(entry)
        return None
    with suppress(OSError):
        os.utime(entry)
    return counted


def _write(entry: Path, counted: CountedTexts) -> bool:
    """Whether the entry could be kept; a full disk or a folder that cannot be written to is no error here."""
    temporary = entry.with_name(f"{entry.name}.{secrets.token_hex(8)}")
    try:
        with damage_said(str(temporary)):
            entry.parent.mkdir(parents=True, exist_ok=True)
            with closing(Container.create(temporary, safe=False)) as container:
                value: dict[str, Any] = {
                    field.name: getattr(counted, field.name) for field in fields(counted)
                }
                container.put(_PART, value, QUICK_LEVEL)
            os.replace(temporary, entry)
    except InputError:
        return False
    finally:
        _remove(temporary)
    surplus = cache_size() - LARGEST
    for size, _, path in _entries():
        if surplus <= 0 or path == entry:
            break
        _remove(path)
        surplus -= size
    return True


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)
