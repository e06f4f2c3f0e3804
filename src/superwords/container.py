"""One SQLite file of named parts, draws and choices, every row with a checksum: what model files are made of.

It is written in transactions, so that a kill at any moment leaves the last whole one, and read as if it came from a
stranger: the tables must be exactly these, every row must match its checksum, and no row may be missing.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from superwords.errors import InputError
from superwords.packing import LEVEL, QUICK_LEVEL, DamagedError, Packed, pack, unpack

APPLICATION = 0x53575244  # "SWRD", where SQLite has a place for it
FORMAT = 3  # 1 was a zip, 2 had numbers in one form only
_SCHEMA = (
    "CREATE TABLE contents (one INTEGER PRIMARY KEY CHECK (one = 1), rows TEXT NOT NULL, checksum BLOB NOT NULL)",
    "CREATE TABLE part (name TEXT PRIMARY KEY, header TEXT NOT NULL, size INTEGER NOT NULL, "
    "checksum BLOB NOT NULL, data BLOB NOT NULL)",
    "CREATE TABLE draw (chain INTEGER NOT NULL, sweep INTEGER NOT NULL, figures TEXT NOT NULL, "
    "checksum BLOB NOT NULL, header TEXT NOT NULL, size INTEGER NOT NULL, data_checksum BLOB NOT NULL, "
    "data BLOB NOT NULL, PRIMARY KEY (chain, sweep))",
    "CREATE TABLE choice (number INTEGER PRIMARY KEY, kind TEXT NOT NULL, concept INTEGER NOT NULL, "
    "value TEXT NOT NULL, made TEXT NOT NULL, checksum BLOB NOT NULL)",
)
_WAIT = 60.0  # seconds for another process to end its transaction
_MOST_WAITING = 16 * 2**20  # bytes of draws that wait in memory for the next transaction
_TEMPORARY_CACHE = 16 * 1024  # KiB of a temporary container held in memory; the rest is on disk


class Choice(NamedTuple):
    """Something a person decided about a concept (0: about none); of one kind and concept, the last one counts."""

    kind: str
    concept: int
    value: str
    made: str = ""


class Container:
    """Parts by name, draws by chain and sweep, and choices in the order they were made.

    Make one with `create`, `temporary` or `open`. Threads may share it. Draws wait for the next transaction (of their
    own, if they are many): so a chain that keeps a draw does not wait for the disk.
    """

    def __init__(self, database: sqlite3.Connection, name: str, is_readonly: bool = False):
        self.name = name
        self.is_readonly = is_readonly
        self._database = database
        self._lock = threading.RLock()
        self._waiting: list[tuple[Any, ...]] = []
        self._waiting_bytes = 0
        self._waiting_lock = threading.Lock()

    @classmethod
    def create(cls, path: Path, safe: bool = True) -> Container:
        """A new file, in the place of an earlier one; `safe=False` where it is not looked at before it is whole."""
        path.unlink(missing_ok=True)
        made = cls(_connect(f"{path.absolute().as_uri()}?mode=rwc"), str(path))
        # FULL: a transaction is on the disk before the next begins, whatever happens to the machine.
        made._prepare("DELETE", "FULL" if safe else "OFF")
        return made

    @classmethod
    def temporary(cls) -> Container:
        """One without a name: SQLite keeps it in memory as long as it is small, and deletes it when it is closed."""
        made = cls(_connect("file:?mode=rwc"), "a temporary file")
        made._prepare("OFF", "OFF")
        made._database.execute(f"PRAGMA cache_size = -{_TEMPORARY_CACHE}")
        return made

    @classmethod
    def open(cls, path: Path, write: bool = False) -> Container:
        """An existing file; an `InputError` says in one sentence why it cannot be one of ours."""
        name = str(path)
        _check_first_bytes(path)
        size = path.stat().st_size
        with damage_said(name):
            database = _recovered(path, write)
            opened = cls(database, name, not write)
            try:
                opened._distrust(size, write)
                with opened.reading():
                    opened._check_length(path)
                    opened._check_contents()
            except BaseException:
                database.close()
                raise
        return opened

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def __del__(self) -> None:
        self._database.close()

    def __reduce__(self) -> Any:
        with self._lock:
            self._end_waiting()
            return _from_bytes, (self._database.serialize(), self.name)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All that is written inside is kept, or nothing of it. One inside another belongs to the outer."""
        with self._lock:
            if self._database.in_transaction:
                yield
                return
            self._database.execute("BEGIN IMMEDIATE")
            written: list[tuple[Any, ...]] = []
            try:
                self._write_waiting(written)
                yield
                self._write_waiting(written)
                self._write_contents()
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                with self._waiting_lock:
                    self._waiting[:0] = written
                raise

    @contextmanager
    def reading(self) -> Iterator[None]:
        """What is read inside is of one moment, also while another process writes."""
        with self._lock:
            self._database.execute("BEGIN")
            try:
                yield
            finally:
                self._database.execute("ROLLBACK")

    def put(self, name: str, value: Any, level: int = LEVEL) -> None:
        """Keep a value (see `packing.pack`) under a name, in the place of an earlier one."""
        self.put_packed(name, pack(value, level))

    def put_packed(self, name: str, packed: Packed) -> None:
        row = (name, packed.header, packed.size, checksum(name, *packed), packed.data)
        with self.transaction():
            self._database.execute("REPLACE INTO part VALUES (?, ?, ?, ?, ?)", row)

    def get(self, name: str) -> Any:
        """A part's value; KeyError if there is none of the name."""
        return unpack(self.get_packed(name))

    def get_packed(self, name: str) -> Packed:
        rows = self._rows("SELECT header, size, data, checksum FROM part WHERE name = ?", (name,))
        if not rows:
            raise KeyError(name)
        return _verified(name, rows[0])

    def parts(self) -> list[str]:
        return [name for (name,) in self._rows("SELECT name FROM part ORDER BY name")]

    def remove(self, name: str) -> None:
        with self.transaction():
            self._database.execute("DELETE FROM part WHERE name = ?", (name,))

    def add_draw(self, chain: int, sweep: int, figures: Sequence[float], value: Any) -> None:
        """Append a draw: some numbers that stay in memory when the file is read, and a value that does not."""
        self.add_packed_draw(chain, sweep, figures, pack(value, QUICK_LEVEL))

    def add_packed_draw(self, chain: int, sweep: int, figures: Sequence[float], packed: Packed) -> None:
        text = json.dumps([float(one) for one in figures])
        row = (chain, sweep, text, checksum(chain, sweep, text), packed.header, packed.size)
        with self._waiting_lock:
            self._waiting.append((*row, checksum(chain, sweep, *packed), packed.data))
            self._waiting_bytes += len(packed.data)
        if self._waiting_bytes > _MOST_WAITING:
            # A full disk is said by whoever wants the draws to be there; until then they stay in memory.
            with suppress(sqlite3.OperationalError):
                self._end_waiting()

    def _write_waiting(self, written: list[tuple[Any, ...]]) -> None:
        with self._waiting_lock:
            rows, self._waiting, self._waiting_bytes = self._waiting, [], 0
        written += rows
        if rows:
            self._database.executemany("REPLACE INTO draw VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)

    def _end_waiting(self) -> None:
        if self._waiting:
            with self.transaction():
                pass

    def draws(self) -> list[tuple[int, int, list[float]]]:
        """(chain, sweep, figures) of every draw, chain by chain."""
        self._end_waiting()
        out = []
        for chain, sweep, text, found in self._rows(
            "SELECT chain, sweep, figures, checksum FROM draw ORDER BY chain, sweep"
        ):
            if found != checksum(chain, sweep, text):
                raise DamagedError("a draw's checksum is wrong")
            out.append((int(chain), int(sweep), [float(one) for one in json.loads(text)]))
        return out

    def draw(self, chain: int, sweep: int) -> Any:
        return unpack(self.packed_draw(chain, sweep))

    def packed_draw(self, chain: int, sweep: int) -> Packed:
        self._end_waiting()
        query = "SELECT header, size, data, data_checksum FROM draw WHERE chain = ? AND sweep = ?"
        rows = self._rows(query, (chain, sweep))
        if not rows:
            raise KeyError((chain, sweep))
        header, size, data, found = rows[0]
        if found != checksum(chain, sweep, header, size, data):
            raise DamagedError("a draw's checksum is wrong")
        return Packed(header, size, data)

    def remove_draws(self, chain: int, after: int) -> None:
        """Forget a chain's draws of later sweeps."""
        self._end_waiting()
        where = "FROM draw WHERE chain = ? AND sweep > ?"
        if self._rows(f"SELECT 1 {where} LIMIT 1", (chain, after)):
            with self.transaction():
                self._database.execute(f"DELETE {where}", (chain, after))

    def choices(self) -> list[Choice]:
        out = []
        for number, *values, found in self._rows("SELECT * FROM choice ORDER BY number"):
            if found != checksum(number, *values):
                raise DamagedError("a choice's checksum is wrong")
            out.append(Choice(*values))
        return out

    def add_choices(self, choices: Sequence[Choice]) -> None:
        with self.transaction():
            ((last,),) = self._rows("SELECT coalesce(max(number), 0) FROM choice")
            for number, one in enumerate(choices, last + 1):
                row = (number, *one, checksum(number, *one))
                self._database.execute("INSERT INTO choice VALUES (?, ?, ?, ?, ?, ?)", row)

    def remove_last_choices(self) -> list[Choice]:
        """Those that were made at the same time as the last one."""
        with self.transaction():
            choices = self.choices()
            last = [one for one in choices if one.made == choices[-1].made]
            self._database.execute(
                "DELETE FROM choice WHERE made = ?", [one.made for one in last[:1]] or [""]
            )
        return last

    def _rows(self, query: str, values: Sequence[Any] = ()) -> list[Any]:
        with self._lock:
            return self._database.execute(query, values).fetchall()

    def _prepare(self, journal: str, synchronous: str) -> None:
        run = self._database.execute
        run(f"PRAGMA journal_mode = {journal}")
        run(f"PRAGMA synchronous = {synchronous}")
        run(f"PRAGMA application_id = {APPLICATION}")
        run(f"PRAGMA user_version = {FORMAT}")
        with self.transaction():
            for statement in _SCHEMA:
                run(statement)

    def _distrust(self, size: int, write: bool) -> None:
        """No view, trigger or table of a stranger's runs, and no row is larger than the file."""
        run = self._database.execute
        self._database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 2**30 if write else max(size, 10_000))
        run("PRAGMA trusted_schema = OFF")
        run("PRAGMA cell_size_check = ON")
        run(f"PRAGMA query_only = {'OFF' if write else 'ON'}")
        run("PRAGMA synchronous = FULL")
        found = {sql for (sql,) in run("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()}
        if found != set(_SCHEMA):
            raise DamagedError("its tables are not those of a model")

    def _contents(self) -> str:
        """What rows there are, so that none goes missing unseen."""
        draws = self._rows("SELECT chain, count(*) FROM draw GROUP BY chain ORDER BY chain")
        ((n_choices,),) = self._rows("SELECT count(*) FROM choice")
        return json.dumps({"parts": self.parts(), "draws": draws, "choices": n_choices})

    def _write_contents(self) -> None:
        rows = self._contents()
        self._database.execute("REPLACE INTO contents VALUES (1, ?, ?)", (rows, checksum(rows)))

    def _check_length(self, path: Path) -> None:
        """SQLite takes a last page that is cut off for one of zeros."""
        ((n_pages,),), ((page,),) = self._rows("PRAGMA page_count"), self._rows("PRAGMA page_size")
        if path.stat().st_size < n_pages * page:
            raise DamagedError("its end is missing")

    def _check_contents(self) -> None:
        if self._rows("SELECT rows, checksum FROM contents") != [(rows := self._contents(), checksum(rows))]:
            raise DamagedError("parts of it are missing")


def is_ours(path: Path) -> bool:
    """Whether a file says of itself to be a container, of whatever format."""
    with path.open("rb") as file:
        first = file.read(100)
    return first.startswith(b"SQLite format 3\0") and first[68:72] == APPLICATION.to_bytes(4, "big")


def checksum(*values: Any) -> bytes:
    """Of texts, numbers and bytes in their order."""
    out = hashlib.blake2b(digest_size=16)
    for value in values:
        content = value if isinstance(value, bytes) else f"{type(value).__name__} {value}".encode()
        out.update(f"{len(content)} ".encode())
        out.update(content)
    return out.digest()


@contextmanager
def damage_said(name: str) -> Iterator[None]:
    """Whatever a damaged or forged file provokes becomes one sentence that names the file."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise InputError(f"Another program is writing {name!r}; try again when it has ended.") from None
        told = "too large for this machine's memory" if isinstance(error, MemoryError) else str(error)
        raise InputError(
            f"{name!r} is not a superwords model, or it is damaged: {told.rstrip('.')}."
        ) from error


def _connect(uri: str) -> sqlite3.Connection:
    return sqlite3.connect(uri, uri=True, isolation_level=None, check_same_thread=False, timeout=_WAIT)


def _from_bytes(content: bytes, name: str) -> Container:
    database = _connect(":memory:")
    database.deserialize(content)
    return Container(database, name)


def _check_first_bytes(path: Path) -> None:
    """Tell other files from ours before SQLite looks at them."""
    name = str(path)
    if not path.exists():
        raise InputError(f"There is no file {name!r}.")
    if not path.is_file():
        raise InputError(f"{name!r} is not a superwords model: it is not a file.")
    try:
        with path.open("rb") as file:
            first = file.read(100)
    except OSError as error:
        raise InputError(f"{name!r} cannot be read: {error.strerror or error}.") from None
    if first.startswith(b"PK\x03\x04"):
        raise InputError(
            f"{name!r} is not a superwords model of this version: files of the first versions were zips, "
            "which it does not read; fit the model again."
        )
    if len(first) < 100 or not first.startswith(b"SQLite format 3\0"):
        raise InputError(f"{name!r} is not a superwords model, or it is damaged.")
    if int.from_bytes(first[68:72], "big") != APPLICATION:
        raise InputError(f"{name!r} is not a superwords model but another program's database.")
    number = int.from_bytes(first[60:64], "big")
    if number > FORMAT:
        raise InputError(
            f"{name!r} is in format {number}, and this version of superwords reads formats up to {FORMAT}; "
            "install a newer superwords."
        )
    if number < FORMAT:
        raise InputError(
            f"{name!r} is not a superwords model of this version: it is in the earlier format {number}, "
            "which it does not read; fit the model again."
        )


def _recovered(path: Path, write: bool) -> sqlite3.Connection:
    """A connection that sees whole transactions only, also after a process was killed within one."""
    uri = path.absolute().as_uri()
    journal = path.with_name(f"{path.name}-journal")
    if journal.exists() and journal.stat().st_size:
        # What the killed process had begun is rolled back by the first that may write.
        database = _connect(f"{uri}?mode=rw")
        database.execute("SELECT count(*) FROM sqlite_master").fetchall()
        database.close()
    return _connect(f"{uri}?mode={'rw' if write else 'ro'}")


def _verified(name: str, row: tuple[Any, ...]) -> Packed:
    header, size, data, found = row
    if found != checksum(name, header, size, data):
        raise DamagedError(f"the checksum of its {name} is wrong")
    return Packed(header, size, data)
