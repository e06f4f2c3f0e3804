"""The store: one whole vote per participant, kept through kill -9, and no person in it."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import httpx
import pytest

from study_for_tests import WORDS, Participant, served, small_study
from superwords.errors import InputError
from superwords.study.results import Vote
from superwords.study.votes import AlreadyVotedError, VoteStore

ANSWERS = [(n + 1, ("concept", "topic")[n % 2], ("first", "second", "neither")[n % 3]) for n in range(10)]

PREFERRED = ("concept",) * 6 + ("topic",) * 3 + ("neither",)


@pytest.fixture
def store(tmp_path) -> VoteStore:
    return VoteStore.for_study(tmp_path / "study.votes", small_study())


def test_votes_come_back_as_what_was_preferred(store: VoteStore) -> None:
    store.add("someone", True, "headlines", ANSWERS)
    first, second, neither = "concept", "topic", "neither"
    chosen = (first, first, neither, second, second, neither, first, first, neither, second)
    again = VoteStore(store.path)
    assert again.votes() == [Vote(True, "headlines", chosen)]
    assert again.words == WORDS
    assert again.secret == store.secret


def test_a_second_vote_is_refused_and_changes_nothing(store: VoteStore) -> None:
    store.add("someone", True, "closely", ANSWERS)
    with pytest.raises(AlreadyVotedError):
        store.add("someone", False, "little", ANSWERS[::-1])
    assert store.has_voted("someone")
    assert not store.has_voted("someone else")
    assert [(vote.follows, vote.attention) for vote in store.votes()] == [(True, "closely")]


def test_the_same_participant_from_many_threads_counts_once(store: VoteStore) -> None:
    def vote(_: int) -> bool:
        try:
            store.add("someone", True, "closely", ANSWERS)
        except AlreadyVotedError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(vote, range(16))) == 1
    assert len(store.votes()) == 1


def test_a_vote_that_fails_midway_leaves_nothing(store: VoteStore) -> None:
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute(
            "CREATE TRIGGER full BEFORE INSERT ON answer WHEN new.question = 7 "
            "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
        )
    with pytest.raises(sqlite3.Error, match="disk full"):
        store.add("someone", True, "closely", ANSWERS)
    assert store.votes() == []
    assert not store.has_voted("someone")


def test_votes_of_another_study_are_not_mixed_in(store: VoteStore) -> None:
    with pytest.raises(InputError, match="belong to another study"):
        VoteStore.for_study(store.path, {**small_study(), "id": "0" * 16})


@pytest.mark.parametrize("content", [b"", b"no database at all, only some text" * 100])
def test_a_file_without_votes_is_one_sentence(tmp_path, content: bytes) -> None:
    path = tmp_path / "x.votes"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"x\.votes"):
        VoteStore(path)
    with pytest.raises(InputError, match="There is no file"):
        VoteStore(tmp_path / "missing")


def test_somebody_elses_database_is_left_as_it_was(tmp_path) -> None:
    path = tmp_path / "other.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    with pytest.raises(InputError, match="holds no votes"):
        VoteStore.for_study(path, small_study())
    assert path.read_bytes() == before


def test_a_file_left_empty_by_a_kill_is_used(tmp_path) -> None:
    path = tmp_path / "study.votes"
    path.touch()
    VoteStore.for_study(path, small_study()).add("someone", True, "closely", ANSWERS)
    assert len(VoteStore(path).votes()) == 1


def test_a_vote_outlives_the_process_that_was_killed_after_its_answer(tmp_path) -> None:
    with served(tmp_path) as (process, address), httpx.Client(base_url=address, timeout=60) as client:
        participant = Participant(client, small_study())
        answer = participant.send(participant.fields(PREFERRED))
        process.kill()
        assert answer.status_code == 303
        process.wait()
    assert VoteStore(tmp_path / "study.votes").votes() == [Vote(True, "closely", PREFERRED)]


def test_only_answers_are_stored(store: VoteStore) -> None:
    with closing(sqlite3.connect(store.path)) as connection:
        columns = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in ("participant", "answer")
        }
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert columns == {
        "participant": ["id", "follows", "attention"],
        "answer": ["participant", "question", "first", "chosen"],
    }


def test_only_the_owner_may_read_the_votes_and_their_secret(tmp_path) -> None:
    path = tmp_path / "study.votes"
    store = VoteStore.for_study(path, small_study())
    store.add("someone", True, "closely", ANSWERS)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("SELECT * FROM study").fetchall()  # keeps the files of the journal open
        assert {file.name: file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == dict.fromkeys(
            [file.name for file in tmp_path.iterdir()], 0o600
        )
    path.chmod(0o644)
    VoteStore.for_study(path, small_study())
    assert path.stat().st_mode & 0o777 == 0o600
