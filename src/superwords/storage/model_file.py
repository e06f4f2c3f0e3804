"""One SQLite file of named parts, draws and choices, every row with a checksum: what model files are made of.

It is written in transactions, so that a kill at any moment leaves the last complete one, and read as if it came from a
stranger: the tables must be exactly these, every row must match its checksum, and no row may be missing.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from superwords.errors import InputError, StorageError
from superwords.storage.arrays import OtherVersionError, Packed, pack, require, unpack

_MAGIC = b"SQLite format 3\0"
APPLICATION = 0x53575244  # "SWRD", where SQLite has a place for it
FORMAT = 4  # 1 was a zip; 2 and 3 held summaries in the place of draws
_SCHEMA = (
    "CREATE TABLE contents (one INTEGER PRIMARY KEY CHECK (one = 1), rows TEXT NOT NULL, checksum BLOB NOT NULL)",
    "CREATE TABLE part (name TEXT PRIMARY KEY, checksum BLOB NOT NULL, header TEXT NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE draw (chain INTEGER NOT NULL, sweep INTEGER NOT NULL, figures TEXT NOT NULL, "
    "checksum BLOB NOT NULL, content BLOB NOT NULL, header TEXT NOT NULL, data BLOB NOT NULL, "
    "PRIMARY KEY (chain, sweep))",
    "CREATE TABLE choice (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, concept INTEGER NOT NULL, "
    "value TEXT NOT NULL, made TEXT NOT NULL, checksum BLOB NOT NULL)",
)
_WAIT = 60.0  # seconds for another process to end its transaction
_MOST_WAITING = 16 * 2**20  # bytes of draws that wait in memory for the next transaction
_TEMPORARY_CACHE = 16 * 1024  # KiB of a temporary file held in memory; the rest is on disk


class Choice(NamedTuple):
    """Something a person decided about a concept (0: about none); of one kind and concept, the last one counts."""

    kind: str
    concept: int
    value: str
    made: str = ""


class StoredRow(NamedTuple):
    """A draw without its value."""

    chain: int
    sweep: int
    figures: list[float]
    content: bytes  # the value's checksum; empty where the value is not stored


class ModelFile:
    """Parts by name, draws by chain and sweep, and choices in the order they were made.

    Make one with `create` or `open`. Threads may share it. Draws wait for the next transaction (of their own, if they
    are many), so that a chain that keeps a draw does not wait for the disk.
    """

    def __init__(self, database: sqlite3.Connection, name: str, is_readonly: bool = False):
        self.name = name
        self.is_readonly = is_readonly
        self._database = database
        self._lock = threading.RLock()
        self._waiting: dict[tuple[int, int], tuple[Any, ...]] = {}  # rows of draws by chain and sweep
        self._waiting_bytes = 0

    @classmethod
    def create(cls, path: Path | None = None) -> ModelFile:
        """Create a file, replacing an earlier one, that nobody opens before it is complete and closed.

        Without a path it is a temporary one: SQLite keeps it in memory while it is small, and deletes it when it is
        closed.
        """
        if path is not None:
            path.unlink(missing_ok=True)
        uri, name = ("file:", "a temporary file") if path is None else (path.absolute().as_uri(), str(path))
        made = cls(_connect(f"{uri}?mode=rwc"), name)
        run = made._database.execute
        run(f"PRAGMA journal_mode = {'OFF' if path is None else 'DELETE'}")
        run("PRAGMA synchronous = OFF")
        run(f"PRAGMA application_id = {APPLICATION}")
        run(f"PRAGMA user_version = {FORMAT}")
        with made.transaction():
            for statement in _SCHEMA:
                run(statement)
        if path is None:
            run(f"PRAGMA cache_size = -{_TEMPORARY_CACHE}")
        return made

    @classmethod
    def open(cls, path: Path, write: bool = False) -> ModelFile:
        """Open an existing file; a `StorageError` says why it cannot be a model file."""
        _check_first_bytes(path)
        size = path.stat().st_size
        with translate_corruption(str(path)):
            database, is_copy = _recovered(path, write)
            opened = cls(database, str(path), not write)
            try:
                # Run no view, trigger or table of a stranger's, and read no row larger than the file. FULL: a
                # transaction is on the disk before the next begins, whatever happens to the machine.
                database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**30 if write else max(size, 10_000))
                for pragma in ("trusted_schema = OFF", "cell_size_check = ON", "synchronous = FULL"):
                    database.execute(f"PRAGMA {pragma}")
                database.execute(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
                schema = {sql for (sql,) in opened._rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")}
                require(schema == set(_SCHEMA), "its tables are not those of a model")
                with opened.reading():
                    # SQLite would fill a last page that is cut off with zeros.
                    ((whole,),) = opened._rows("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
                    require(is_copy or path.stat().st_size >= whole, "its end is missing")
                    rows, stored = opened._contents(), opened._rows("SELECT rows, checksum FROM contents")
                    require(stored == [(rows, checksum(rows))], "parts of it are missing")
            except BaseException:
                database.close()
                raise
        return opened

    def close(self) -> None:
        """Close the file; draws that still wait are dropped."""
        with self._lock:
            self._database.close()

    def __del__(self) -> None:
        self._database.close()

    def __reduce__(self) -> Any:
        with self._lock:
            self._write_waiting()
            return _in_memory, (self._database.serialize(), self.name)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Keep all that is written inside, or nothing of it. One inside another belongs to the outer."""
        with self._lock:
            if self._database.in_transaction:
                yield
                return
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                written = dict(self._waiting)  # other threads may add some meanwhile
                self._database.executemany("REPLACE INTO draw VALUES (?, ?, ?, ?, ?, ?, ?)", written.values())
                rows = self._contents()
                self._database.execute("REPLACE INTO contents VALUES (1, ?, ?)", (rows, checksum(rows)))
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise
            self._waiting_bytes = 0
            for place in written:
                del self._waiting[place]

    @contextmanager
    def reading(self, alone: bool = False) -> Iterator[None]:
        """Read the state of one moment inside, also while another process writes; `alone`: while none can."""
        with self._lock:
            self._database.execute("BEGIN IMMEDIATE" if alone else "BEGIN")
            try:
                yield
            finally:
                self._database.execute("ROLLBACK")

    def put(self, name: str, value: Any) -> None:
        """Keep a value (see `arrays.pack`; it may be packed already) under a name, replacing an earlier one."""
        packed = value if isinstance(value, Packed) else pack(value)
        with self.transaction():
            row = (name, checksum(name, *packed), *packed)
            self._database.execute("REPLACE INTO part VALUES (?, ?, ?, ?)", row)

    def get(self, name: str) -> Any:
        """Return a part's value; raise KeyError if there is none of the name."""
        rows = self._rows("SELECT checksum, header, data FROM part WHERE name = ?", (name,))
        if not rows:
            raise KeyError(name)
        found, *packed = rows[0]
        require(found == checksum(name, *packed), f"the checksum of its {name} is wrong")
        return unpack(Packed(*packed))

    def parts(self) -> list[str]:
        """Return the names of the parts."""
        return [name for (name,) in self._rows("SELECT name FROM part ORDER BY name")]

    def add_draw(self, chain: int, sweep: int, figures: Sequence[float], packed: Packed | None) -> None:
        """Append a draw: some numbers, and its packed value; None keeps the numbers alone."""
        text, value = json.dumps([float(one) for one in figures]), packed or Packed("", b"")
        content = checksum(*value) if packed else b""
        self._waiting[chain, sweep] = (chain, sweep, text, checksum(chain, sweep, text, content), content, *value)
        self._waiting_bytes += len(value.data)
        if self._waiting_bytes > _MOST_WAITING:
            # Ignore a full disk here; the error surfaces when the draws are next written.
            with suppress(sqlite3.OperationalError):
                self._write_waiting()

    def _write_waiting(self) -> None:
        if self._waiting:
            with self.transaction():
                pass

    def draws(self) -> list[StoredRow]:
        """Return what is known of every draw without reading it, chain by chain."""
        self._write_waiting()
        rows = self._rows("SELECT chain, sweep, figures, content, checksum FROM draw ORDER BY chain, sweep")
        require(all(found == checksum(*values) for *values, found in rows), "a draw's checksum is wrong")
        return [
            StoredRow(int(c), int(sweep), list(map(float, json.loads(text))), one) for c, sweep, text, one, _ in rows
        ]

    def draw(self, chain: int, sweep: int) -> Packed:
        """Return the packed value of a draw, once its checksum is found right."""
        with suppress(sqlite3.OperationalError):  # on a full disk a draw that waits is read where it waits
            self._write_waiting()
        query = "SELECT content, header, data FROM draw WHERE chain = ? AND sweep = ?"
        waiting = self._waiting.get((chain, sweep))
        rows = [waiting[4:]] if waiting else self._rows(query, (chain, sweep))
        if not rows or not rows[0][0]:
            raise KeyError((chain, sweep))
        content, *packed = rows[0]
        require(content == checksum(*packed), "a draw's checksum is wrong")
        return Packed(*packed)

    def remove_draws(self, chain: int, after: int) -> None:
        """Remove a chain's draws of later sweeps."""
        self._write_waiting()
        where = "FROM draw WHERE chain = ? AND sweep > ?"
        if self._rows(f"SELECT 1 {where} LIMIT 1", (chain, after)):
            with self.transaction():
                self._database.execute(f"DELETE {where}", (chain, after))

    def choices(self) -> list[Choice]:
        """Return all choices in the order they were made."""
        rows = self._rows("SELECT * FROM choice ORDER BY number")
        require(all(found == checksum(*values) for *values, found in rows), "a choice's checksum is wrong")
        return [Choice(*values) for _, *values, _ in rows]

    def add_choices(self, choices: Sequence[Choice]) -> None:
        """Append choices."""
        with self.transaction():
            ((last,),) = self._rows("SELECT coalesce(max(number), 0) FROM choice")
            rows = [(number, *one, checksum(number, *one)) for number, one in enumerate(choices, last + 1)]
            self._database.executemany("INSERT INTO choice VALUES (?, ?, ?, ?, ?, ?)", rows)

    def remove_last_choices(self) -> list[Choice]:
        """Remove the choices made at the same time as the last one, and return them."""
        with self.transaction():
            choices = self.choices()
            last = [one for one in choices if one.made == choices[-1].made]
            self._database.executemany("DELETE FROM choice WHERE made = ?", {(one.made,) for one in last})
        return last

    def identity(self) -> str:
        """Return a digest of everything but the choices: it changes when the model does."""
        parts = self._rows("SELECT name, checksum FROM part ORDER BY name")
        draws = self._rows("SELECT chain, sweep, checksum FROM draw ORDER BY chain, sweep")
        return checksum(*(value for row in (*parts, *draws) for value in row)).hex()

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def _contents(self) -> str:
        """Return what rows there are, so that none goes missing unseen."""
        draws = self._rows("SELECT chain, count(*) FROM draw GROUP BY chain ORDER BY chain")
        ((n_choices,),) = self._rows("SELECT count(*) FROM choice")
        return json.dumps({"parts": self.parts(), "draws": draws, "choices": n_choices})


def is_model_file(path: Path) -> bool:
    """Return whether a file declares itself a model file, of whatever format."""
    with path.open("rb") as file:
        first = file.read(100)
    return first.startswith(_MAGIC) and first[68:72] == APPLICATION.to_bytes(4, "big")


def checksum(*values: Any) -> bytes:
    """Return the checksum of texts, numbers and bytes in their order."""
    out = hashlib.blake2b(digest_size=16)
    for value in values:
        content = value if isinstance(value, bytes) else f"{type(value).__name__} {value}".encode()
        out.update(f"{len(content)} ".encode())
        out.update(content)
    return out.digest()


@cache
def code_digest(pattern: str = "**/*.py") -> str:
    """Return a digest of this package's code, or of a part of it: other code could give other bits."""
    return checksum(*(path.read_bytes() for path in sorted(Path(__file__).parents[1].glob(pattern)))).hex()


@contextmanager
def translate_corruption(name: str) -> Iterator[None]:
    """Turn whatever a damaged or forged file provokes into one `StorageError` that names the file."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise StorageError(f"Another program is writing {name!r}; try again when it has finished.") from None
        if isinstance(error, OtherVersionError):
            raise StorageError(
                f"{name!r} was written by another version of superwords ({error}); open it with that version, "
                "or fit the model again."
            ) from error
        reason = "too large for this machine's memory" if isinstance(error, MemoryError) else str(error)
        raise StorageError(f"{name!r} is not a superwords model, or it is damaged: {reason.rstrip('.')}.") from error


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=_WAIT)


def _in_memory(content: bytes, name: str) -> ModelFile:
    """Return a file in memory, as it was pickled."""
    return ModelFile(_deserialized(content), name)


def _deserialized(content: bytes) -> sqlite3.Connection:
    database = _connect(":memory:")
    database.deserialize(content)
    return database


def _check_first_bytes(path: Path) -> None:
    """Refuse other files before SQLite looks at them."""
    name = str(path)
    if not path.exists():
        raise StorageError(f"There is no file {name!r}.")
    if not path.is_file():
        raise StorageError(f"{name!r} is not a superwords model: it is not a file.")
    try:
        with path.open("rb") as file:
            first = file.read(100)
    except OSError as error:
        raise StorageError(f"{name!r} cannot be read: {error.strerror or error}.") from None
    problem, number = "", int.from_bytes(first[60:64], "big")
    if first.startswith(b"PK\x03\x04"):
        problem = "is not a superwords model of this version but one of the first, a zip; fit the model again"
    elif len(first) < 100 or not first.startswith(_MAGIC):
        problem = "is not a superwords model, or it is damaged"
    elif int.from_bytes(first[68:72], "big") != APPLICATION:
        problem = "is not a superwords model but another program's database"
    elif number > FORMAT:
        problem = f"is in format {number}, and this superwords reads formats up to {FORMAT}; install a newer superwords"
    elif number < FORMAT:
        problem = f"is a model of an earlier version of superwords (file format {number}; format 3 was written up to "
        problem += f"commit 7efc570). This version reads format {FORMAT} only; fit the model again"
    if problem:
        raise StorageError(f"{name!r} {problem}.")


def _recovered(path: Path, write: bool) -> tuple[sqlite3.Connection, bool]:
    """Return a connection that sees complete transactions only, and whether it is one to a copy.

    What a killed process had begun is in the file's journal, and is rolled back by the first process that opens the
    file. Where the file or its folder is read-only, this happens in a copy.
    """
    uri = path.absolute().as_uri()
    journal = path.with_name(f"{path.name}-journal")
    if journal.exists() and journal.stat().st_size:
        try:
            _roll_back(uri).close()
        except sqlite3.OperationalError as error:
            if write or "locked" in str(error):
                raise
            with tempfile.TemporaryDirectory() as folder:
                copy = Path(folder) / path.name
                shutil.copyfile(path, copy)
                shutil.copyfile(journal, copy.with_name(journal.name))
                with closing(_roll_back(copy.absolute().as_uri())) as database:
                    return _deserialized(database.serialize()), True
    return _connect(f"{uri}?mode={'rw' if write else 'ro'}"), False


def _roll_back(uri: str) -> sqlite3.Connection:
    database = _connect(f"{uri}?mode=rw")
    try:
        database.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except BaseException:
        database.close()
        raise
    return database
