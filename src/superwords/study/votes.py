"""Votes in SQLite: one per participant, whole or not at all, on the disk before the person is thanked."""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from superwords.errors import InputError
from superwords.study.pairs import CHOICE_FORMAT, FORMAT
from superwords.study.results import Vote

APPLICATION_ID = 0x53575653  # "SWVS" in the file's header says whose file it is
OWNER_ONLY = 0o600
SCHEMA = Path(__file__).with_name("votes.sql").read_text(encoding="utf-8")


class AlreadyVotedError(Exception):
    """The participant's one vote is stored already."""


class VoteStore:
    """The votes of one study in one file. Every call opens a connection, so threads may share a store."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open the votes of a study that was served before."""
        self.path = Path(path)
        if not self.path.is_file():
            raise InputError(f"There is no file {str(self.path)!r}; give the votes file that `study serve` wrote.")
        try:
            with self._connection() as connection:
                (owner,) = connection.execute("PRAGMA application_id").fetchone()
                (version,) = connection.execute("PRAGMA user_version").fetchone()
                if owner != APPLICATION_ID or version not in (FORMAT, CHOICE_FORMAT):
                    raise InputError(
                        f"The file {str(self.path)!r} holds no votes of this version's format; "
                        "give the votes file that `study serve` wrote."
                    )
                about = connection.execute("SELECT id, title, secret FROM study").fetchone()
                words = connection.execute("SELECT word FROM question ORDER BY number").fetchall()
                asked = "SELECT data FROM task ORDER BY number"
                tasks = connection.execute(asked).fetchall() if version == CHOICE_FORMAT else []
        except sqlite3.Error as error:
            raise InputError(f"The votes file {str(self.path)!r} could not be read: {error}.") from None
        self.study_id, self.title, self.secret = about
        self.words = [word for (word,) in words]
        self.tasks: list[dict[str, Any]] = [json.loads(data) for (data,) in tasks]

    @classmethod
    def for_study(cls, path: str | os.PathLike[str], study: Mapping[str, Any]) -> VoteStore:
        """Return the votes of this study: the file at `path`, created if there is none."""
        target = Path(path)
        _make_file(target, study)
        store = cls(target)
        if store.study_id != study["id"]:
            raise InputError(
                f"The votes in {str(target)!r} belong to another study, {store.title!r}; give another file."
            )
        return store

    def add(self, participant: str, follows: bool, attention: str, answers: Sequence[tuple[Any, ...]]) -> None:
        """Store a whole vote, or raise AlreadyVotedError; it is on the disk when this returns.

        Answers are (question, the side shown first, what was chosen), or (task, option chosen).
        """
        table = "choice VALUES (?, ?, ?)" if self.tasks else "answer VALUES (?, ?, ?, ?)"
        person = "INSERT INTO participant VALUES (?, ?, ?) ON CONFLICT (id) DO NOTHING"
        with self._connection() as connection, _transaction(connection):
            if not connection.execute(person, (participant, follows, attention)).rowcount:
                raise AlreadyVotedError
            connection.executemany(f"INSERT INTO {table}", [(participant, *answer) for answer in answers])

    def choices(self) -> list[tuple[str, str, int, int]]:
        """Return all answers to tasks with right answers: participant, attention, task and option."""
        asked = (
            "SELECT participant.id, attention, task, chosen FROM participant "
            "JOIN choice ON choice.participant = participant.id ORDER BY participant.id, task"
        )
        with self._connection() as connection:
            return connection.execute(asked).fetchall()

    def task_counts(self) -> dict[int, int]:
        """Return how often each task was answered."""
        with self._connection() as connection:
            return dict(connection.execute("SELECT task, COUNT(*) FROM choice GROUP BY task").fetchall())

    def has_voted(self, participant: str) -> bool:
        with self._connection() as connection:
            return bool(connection.execute("SELECT 1 FROM participant WHERE id = ?", [participant]).fetchone())

    def votes(self) -> list[Vote]:
        """Return all votes, without their participants."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT participant.id, follows, attention, CASE WHEN chosen = 'neither' THEN 'neither' "
                "WHEN (first = 'concept') = (chosen = 'first') THEN 'concept' ELSE 'topic' END "
                "FROM participant JOIN answer ON answer.participant = participant.id "
                "ORDER BY participant.id, question"
            ).fetchall()
        answers: dict[tuple[str, bool, str], list[str]] = {}
        for participant, follows, attention, preferred in rows:
            answers.setdefault((participant, bool(follows), attention), []).append(preferred)
        return [Vote(follows, attention, tuple(chosen)) for (_, follows, attention), chosen in answers.items()]

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with _connect(f"{self.path.resolve().as_uri()}?mode=rw") as connection:
            yield connection


@contextmanager
def _connect(uri: str) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(uri, uri=True, timeout=30.0, isolation_level=None)
    try:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        yield connection
    finally:
        connection.close()


def _transaction(connection: sqlite3.Connection) -> sqlite3.Connection:
    # IMMEDIATE takes the write lock at once, so that looking and then inserting is one step for all.
    connection.execute("BEGIN IMMEDIATE")
    return connection  # as a context manager it commits, or rolls back after an exception


def _make_file(target: Path, study: Mapping[str, Any]) -> None:
    """Write the tables into a file that has none, so that a kill between the two steps damages nothing.

    Only its owner may read the file: who knows its secret can sign votes.
    """
    try:
        os.close(os.open(target, os.O_CREAT | os.O_RDWR, OWNER_ONLY))
        with _connect(f"{target.resolve().as_uri()}?mode=rwc") as connection:
            with _transaction(connection):
                if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                    _write_tables(connection, study)
            if connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,):
                os.chmod(target, OWNER_ONLY)
                connection.execute("PRAGMA journal_mode = WAL")
    except (OSError, sqlite3.Error) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"The votes file {str(target)!r} could not be opened: {reason}.") from None


def _write_tables(connection: sqlite3.Connection, study: Mapping[str, Any]) -> None:
    for statement in SCHEMA.split(";")[:-1]:
        connection.execute(statement)
    about = study["id"], study["title"], secrets.token_bytes(32)
    connection.execute("INSERT INTO study VALUES (?, ?, ?)", about)
    words = ([question["word"]] for question in study.get("questions", ()))
    connection.executemany("INSERT INTO question (word) VALUES (?)", words)
    tasks = ([json.dumps(task, ensure_ascii=False)] for task in study.get("tasks", ()))
    connection.executemany("INSERT INTO task (data) VALUES (?)", tasks)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {study['format']}")
