"""The file under every model: whole after every transaction, and safe to read from a stranger."""

import bz2
import json
import os
import pickle
import shutil
import sqlite3
import subprocess
import sys
import zlib
from contextlib import suppress

import numpy as np
import pytest
from scipy import sparse

from superwords.errors import InputError, StorageError
from superwords.storage import model_file
from superwords.storage.arrays import DamagedError, Packed, pack, unpack
from superwords.storage.model_file import FORMAT, Choice, ModelFile, checksum, translate_corruption

VALUE = {
    "words": np.array([3, 7, 7, 90], np.int32),
    "weights": np.linspace(0, 1, 5),
    "flags": np.array([[True, False]]),
    "counts": sparse.csr_array(np.eye(3, dtype=np.int8)),
    "nothing": np.zeros(0, np.int64),
    "names": ["größe", None, 1.5],
    "inner": {"seed": 2**60, "text": "\ud800 健康", "none": None},
}


def filled(path):
    container = ModelFile.create(path)
    with container.transaction():
        container.put("value", VALUE)
        container.put("other", {"a": np.arange(2000)})
        for sweep in range(3):
            container.add_draw(0, sweep, [sweep / 3, float("-inf")], pack({"w": np.arange(sweep, 900)}))
        container.add_choices([Choice("name", 1, "taxes", "2026"), Choice("name", 2, "", "2027")])
    container.close()
    return path


def plain(array):
    return str(array.dtype), (array.toarray() if sparse.issparse(array) else array).tolist()


def read(path):
    """Everything that is in a file, as one text."""
    container = ModelFile.open(path)
    found = [container.parts(), container.draws(), container.choices()]
    for name in container.parts():
        found.append(json.dumps(container.get(name), default=plain))
    found += [unpack(container.draw(row.chain, row.sweep))["w"].tolist() for row in container.draws()]
    container.close()
    return repr(found)


def test_values_come_back(tmp_path):
    container = ModelFile.open(filled(tmp_path / "a.sw"))
    found = container.get("value")
    for name in ("words", "weights", "flags", "nothing"):
        assert found[name].dtype == VALUE[name].dtype
        assert np.array_equal(found[name], VALUE[name])
    assert (found["counts"] != VALUE["counts"]).nnz == 0
    assert found["names"] == VALUE["names"]
    assert found["inner"] == VALUE["inner"]
    assert container.draws()[1][:3] == (0, 1, [1 / 3, float("-inf")])
    assert container.choices()[0] == Choice("name", 1, "taxes", "2026")
    with pytest.raises(KeyError):
        container.get("nothing")


@pytest.mark.parametrize("name", ["a b.sw", "50%?x=1#y.sw", "größe.sw", "'quoted'.sw"])
def test_any_name_of_a_file_will_do(tmp_path, name):
    filled(tmp_path / name)
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert "taxes" in read(tmp_path / name)


def test_reading_leaves_the_file_and_its_folder_alone(tmp_path):
    path = filled(tmp_path / "a.sw")
    before = path.read_bytes()
    container = ModelFile.open(path)
    with pytest.raises(sqlite3.OperationalError):
        container.put("value", 1)
    container.close()
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_failed_transaction_leaves_nothing(tmp_path):
    path = filled(tmp_path / "a.sw")
    before = read(path)
    container = ModelFile.open(path, write=True)
    with suppress(ZeroDivisionError), container.transaction():
        container.put("value", 1)
        container.remove_draws(0, after=0)
        raise ZeroDivisionError
    container.close()
    assert read(path) == before


def test_the_same_contents_are_the_same_bytes(tmp_path):
    assert filled(tmp_path / "a.sw").read_bytes() == filled(tmp_path / "b.sw").read_bytes()


def test_no_flipped_byte_goes_unseen(tmp_path):
    """It is refused, or it stood where nothing is read and the contents are the same."""
    path = filled(tmp_path / "a.sw")
    whole, contents = path.read_bytes(), read(path)
    places = [*range(0, 100), *np.random.default_rng(0).integers(100, len(whole), size=300).tolist()]
    n_refused = 0
    for at in places:
        broken = bytearray(whole)
        broken[at] ^= 0xFF
        path.write_bytes(broken)
        try:
            assert read(path) == contents, at
        except (InputError, DamagedError, zlib.error, sqlite3.Error):
            n_refused += 1
    assert n_refused > 50


@pytest.mark.parametrize("share", [0.0, 0.001, 0.2, 0.5, 0.9, 0.999])
def test_truncated_files_are_refused(tmp_path, share):
    path = filled(tmp_path / "a.sw")
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises((InputError, DamagedError, sqlite3.Error)):
        read(path)


def changed(path, *statements):
    database = sqlite3.connect(path)
    for statement, *values in statements:
        database.execute(statement, values)
    database.commit()
    database.close()
    return path


def test_a_missing_row_is_noticed(tmp_path):
    for table in ("part WHERE name = 'other'", "draw WHERE sweep = 1", "choice WHERE number = 2", "contents"):
        path = changed(filled(tmp_path / "a.sw"), (f"DELETE FROM {table}",))
        with pytest.raises(InputError, match="parts of it are missing"):
            ModelFile.open(path)


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TRIGGER t AFTER INSERT ON part BEGIN DELETE FROM draw; END",
        "CREATE VIEW v AS SELECT * FROM part",
        "CREATE TABLE more (a)",
        "CREATE INDEX i ON choice (kind)",
        "DROP TABLE choice",
        "ALTER TABLE part RENAME COLUMN data TO bulk",
    ],
)
def test_tables_of_a_stranger_are_refused(tmp_path, statement):
    with pytest.raises(InputError, match="its tables are not those of a model"):
        ModelFile.open(changed(filled(tmp_path / "a.sw"), (statement,)))


def test_an_endless_view_in_the_place_of_a_table_is_not_run(tmp_path):
    endless = "WITH RECURSIVE n(rows) AS (SELECT 1 UNION ALL SELECT rows FROM n) SELECT * FROM n"
    path = changed(filled(tmp_path / "a.sw"), ("DROP TABLE contents",), (f"CREATE VIEW contents AS {endless}",))
    with pytest.raises(InputError, match="its tables are not those of a model"):
        ModelFile.open(path)


def test_other_files_are_told_apart(tmp_path):
    path = tmp_path / "a.sw"
    with pytest.raises(InputError, match="There is no file"):
        ModelFile.open(path)
    with pytest.raises(InputError, match="is not a superwords model: it is not a file"):
        ModelFile.open(tmp_path)
    path.write_text("hello")
    with pytest.raises(InputError, match="is not a superwords model"):
        ModelFile.open(path)
    path.write_bytes(b"PK\x03\x04" + bytes(200))
    with pytest.raises(InputError, match="fit the model again"):
        ModelFile.open(path)
    path.unlink()
    changed(path, ("CREATE TABLE a (b)",))
    with pytest.raises(InputError, match="another program's database"):
        ModelFile.open(path)
    changed(filled(path), (f"PRAGMA user_version = {FORMAT + 1}",))
    with pytest.raises(InputError, match=f"is in format {FORMAT + 1}.*install a newer superwords"):
        ModelFile.open(path)


def declared(packed, *entry, value=None):
    """The same data under another declaration of their one array."""
    header = {"value": value or {"array": 0}, "arrays": [[*entry, len(packed.data)]]}
    return packed._replace(header=json.dumps(header))


def test_a_declared_size_is_checked_before_anything_is_unpacked():
    honest = pack(np.zeros(1000))
    for entry in (["<f8", [2**40], "<f8"], ["|i1", [2**27], "<i8"]):
        with pytest.raises(DamagedError, match=r"larger than its data|no possible shape"):
            unpack(declared(honest, *entry))
    # A bomb: small data that would grow beyond what is declared.
    bomb = pack(np.zeros(10**6))
    with pytest.raises(DamagedError, match="not of the size"):
        unpack(declared(bomb, "<f8", [1000], "<f8"))
    with pytest.raises(DamagedError, match="sizes do not fit together"):
        unpack(honest._replace(data=honest.data + b"x"))


@pytest.mark.parametrize(
    "entry",
    [
        ["|O", [1], "|O"],
        ["<f8", [-1], "<f8"],
        ["<f8", [1.0], "<f8"],
        ["<f8", [True], "<f8"],
        ["<U5", [1], "<U5"],
        ["<f8", [1] * 9, "<f8"],
        [">f8", [1], ">f8"],
        ["<f8", [1], "<i8"],
        ["<u2", [4], "<f8"],
        ["<u2", [2], "text"],
        ["|u1", [2, 2], "text"],
    ],
)
def test_impossible_arrays_are_refused(entry):
    with pytest.raises((DamagedError, KeyError)):
        unpack(declared(pack(np.zeros(1)), *entry))


def test_numbers_beyond_their_type_are_refused():
    packed = pack(np.array([2**31, 1]))
    with pytest.raises(DamagedError, match="do not fit their type"):
        unpack(declared(packed, "<u4", [2], "<i4"))


def test_every_array_comes_back_bit_by_bit():
    rng = np.random.default_rng(1)
    few = np.array([0.0, -0.0, 0.25, np.nan, np.inf, 1 / 3])
    values = {
        "recurring": few[rng.integers(0, 6, 5_000)],
        "in single precision": rng.permutation(300).astype(np.float32),
        "ascending": np.sort(rng.integers(0, 10**9, 5_000)),
        "small": rng.integers(0, 9, 5_000).astype(np.int32),
        "up to 255": rng.integers(0, 256, 5_000),
        "below zero": rng.integers(-200, 100, 5_000).astype(np.int16),
        "largest": np.array([2**63 - 1, -(2**63), 0]),
        "larger": np.array([2**64 - 1], np.uint64),
        "of two dimensions": rng.integers(0, 5_000, (7, 11)),
        "true or not": rng.random(5_000) < 0.5,
        "transposed": rng.standard_normal((7, 11)).T,
        "empty": np.zeros(0, np.int32),
    }
    for name, found in unpack(pack(values)).items():
        given = values[name]
        assert (found.dtype, found.shape, found.tobytes()) == (given.dtype, given.shape, given.tobytes()), name


def test_text_of_another_size_than_declared_is_refused():
    packed = pack(["never a word more"] * 100)
    assert packed.data.startswith(b"BZh")
    assert unpack(packed) == ["never a word more"] * 100
    (entry,) = json.loads(packed.header)["arrays"]
    for data in (packed.data[:-5], packed.data + b"x", bz2.compress(bytes(10**7))):
        with pytest.raises((DamagedError, OSError)):
            unpack(declared(Packed("", data), *entry[:3], value={"json": 0}))


@pytest.mark.parametrize(
    ("data", "indices", "lengths"),
    [
        (3, [0, 1, 2], [2, 1000]),
        (3, [0, 1, 2], [4, -1]),
        (3, [0, 1, 2], [1, 1]),
        (3, [0, 1, 2], [3]),
        (3, [0, 1, 9], [2, 1]),
        (3, [0, 1, -1], [2, 1]),
        (2, [0, 1, 2], [2, 1]),
    ],
)
def test_a_sparse_array_that_points_nowhere_is_refused(data, indices, lengths):
    parts = {"data": np.ones(data), "indices": np.array(indices), "lengths": np.array(lengths)}
    value = pack(parts)
    header = json.loads(value.header)
    header["value"]["sparse"] = [2, 3]
    with pytest.raises((DamagedError, ValueError)):
        unpack(value._replace(header=json.dumps(header)))


def test_a_file_that_another_program_writes_is_not_called_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr("superwords.storage.model_file._WAIT", 0.01)
    path = filled(tmp_path / "a.sw")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    with pytest.raises(InputError, match="Another program is writing"), translate_corruption(str(path)):
        ModelFile.open(path).get("value")
    other.close()


def test_what_a_header_provokes_becomes_one_sentence(tmp_path):
    for header in ("[" * 200_000, "9" * 5_000, '{"arrays": [], "value": {"array": 10000}}', "null"):
        path = filled(tmp_path / "a.sw")
        right = checksum("value", header, b"")
        changed(path, ("UPDATE part SET header=?, data=?, checksum=? WHERE name='value'", header, b"", right))
        container = ModelFile.open(path)
        with pytest.raises((RecursionError, ValueError, TypeError, IndexError, DamagedError)):
            container.get("value")


def test_a_temporary_container_leaves_memory_and_can_be_pickled():
    container = ModelFile.create()
    for sweep in range(4):
        container.add_draw(0, sweep, [1.0], pack({"w": np.arange(sweep)}))
    copy = pickle.loads(pickle.dumps(container))
    assert copy.draws() == container.draws()
    copy.remove_draws(0, after=1)
    assert len(copy.draws()) == 2
    assert len(container.draws()) == 4


WRITER = """
import sys
import zlib
from pathlib import Path
import numpy as np
from superwords.storage.arrays import pack
from superwords.storage.model_file import ModelFile
container = ModelFile.open(Path(sys.argv[1]), write=True)
print("ready", flush=True)
for n in range(10, 100_000):
    with container.transaction():
        container.put("left", {"n": np.full(20_000, n)})
        container.add_draw(0, n, [n], pack({"w": np.random.default_rng(n).random(5_000)}))
        container.put("right", {"n": np.full(20_000, n)})
"""


@pytest.mark.parametrize("delay", [0.0, 0.013, 0.05, 0.11])
def test_killed_at_any_moment_it_holds_the_last_whole_transaction(tmp_path, delay):
    path = filled(tmp_path / "a.sw")
    process = subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(0.2 + delay)
    process.kill()
    process.communicate()
    container = ModelFile.open(path)
    last = max(row.sweep for row in container.draws())
    assert set(container.get("left")["n"]) == set(container.get("right")["n"]) == {last}
    assert np.array_equal(unpack(container.draw(0, last))["w"], np.random.default_rng(last).random(5_000))
    container.close()


def test_a_transaction_that_was_cut_off_is_rolled_back_from_its_journal(tmp_path):
    """The files as a kill in the midst of writing leaves them: some pages new, the old ones in the journal."""
    path = filled(tmp_path / "a.sw")
    before = read(path)
    left = tmp_path / "left"
    left.mkdir()
    container = ModelFile.open(path, write=True)
    # A small cache: pages are written before the transaction ends.
    container._database.execute("PRAGMA cache_size = 5")
    with suppress(ZeroDivisionError), container.transaction():
        container.put("value", {"a": np.random.default_rng(0).random(100_000)})
        container.remove_draws(0, after=0)
        for one in tmp_path.glob("a.sw*"):
            shutil.copy(one, left / one.name)
        raise ZeroDivisionError
    container.close()
    assert sorted(os.listdir(left)) == ["a.sw", "a.sw-journal"]
    assert (left / "a.sw").read_bytes() != path.read_bytes()
    assert read(left / "a.sw") == before
    assert os.listdir(left) == ["a.sw"]


def test_a_cut_off_transaction_is_rolled_back_in_a_copy_where_nothing_can_be_written(tmp_path, monkeypatch):
    path = filled(tmp_path / "a.sw")
    before, left = read(path), tmp_path / "left"
    left.mkdir()
    container = ModelFile.open(path, write=True)
    container._database.execute("PRAGMA cache_size = 5")
    with suppress(ZeroDivisionError), container.transaction():
        container.put("value", {"a": np.random.default_rng(0).random(100_000)})
        for one in tmp_path.glob("a.sw*"):
            shutil.copy(one, left / one.name)
        raise ZeroDivisionError
    container.close()
    real = model_file._roll_back

    def read_only(uri):
        if "left" in uri:  # as on a read-only mount, which a superuser's permissions do not imitate
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return real(uri)

    monkeypatch.setattr(model_file, "_roll_back", read_only)
    found = {one.name: one.read_bytes() for one in left.iterdir()}
    assert read(left / "a.sw") == before
    assert {one.name: one.read_bytes() for one in left.iterdir()} == found
    with pytest.raises(StorageError):
        ModelFile.open(left / "a.sw", write=True)


def test_files_of_earlier_versions_are_refused_by_name(tmp_path):
    path = changed(filled(tmp_path / "a.sw"), ("PRAGMA user_version = 3",))
    with pytest.raises(StorageError, match=r"earlier version of superwords .*7efc570.*fit the model again"):
        ModelFile.open(path)


def test_the_identity_of_a_model_does_not_depend_on_what_was_decided(tmp_path):
    container = ModelFile.open(filled(tmp_path / "a.sw"), write=True)
    before = container.identity()
    container.add_choices([Choice("name", 1, "levies", "2028")])
    assert container.identity() == before
    container.remove_draws(0, after=1)
    assert container.identity() != before
    container.close()
