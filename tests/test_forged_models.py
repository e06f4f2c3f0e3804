"""Model files that are damaged, truncated or forged with right checksums: one sentence, and nothing is changed."""

import bz2
import json
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from pandas.testing import assert_frame_equal

from cli_for_tests import run
from models_for_tests import planted_model
from superwords import InputError, load
from superwords.sampler.model import Steps
from superwords.storage.arrays import Packed, compress, pack, unpack
from superwords.storage.model import plain_parts
from superwords.storage.model_file import FORMAT, ModelFile, checksum

# Numbers that are amounts, not places: any that is not negative is a possible one.
AMOUNTS = ("/tokens/entry", "/tokens/pair", "counts/data")
ANY_WIDTH = ("counts/indices", "counts/lengths")  # scipy makes them what they should be
EMPTY = ("pilots/",)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return planted_model().save(tmp_path_factory.mktemp("models") / "whole.sw", draws="all")


@pytest.fixture
def path(whole, tmp_path):
    copy = tmp_path / "m.sw"
    copy.write_bytes(whole.read_bytes())
    return copy


def arrays_in(value, place=""):
    """(place, array) of every array of a value, those of sparse arrays too."""
    if isinstance(value, np.ndarray):
        yield place, value
    elif hasattr(value, "indptr"):
        yield f"{place}/data", value.data
        yield f"{place}/indices", value.indices
        yield f"{place}/lengths", np.diff(value.indptr)
    elif isinstance(value, dict):
        for name, one in value.items():
            yield from arrays_in(one, f"{place}/{name}")


def places():
    parts = plain_parts(planted_model())
    return [place for name, value in parts.items() for place, _ in arrays_in(value, name)]


def part_of(place, names):
    return next(name for name in names if place.startswith(f"{name}/") or place == name)


def forge(path, place, change):
    """Put a changed array in its place, with all checksums right."""
    container = ModelFile.open(path, write=True)
    name = part_of(place, sorted(container.parts(), key=len, reverse=True))
    value = container.get(name)
    packed = Packed(*container._rows("SELECT header, data FROM part WHERE name = ?", (name,))[0])
    header = json.loads(packed.header)
    found = dict(arrays_in(value, name))
    number = list(found).index(place)
    arrays = list(found.values())
    arrays[number] = change(arrays[number].copy())
    # By hand: no sparse array can be made of wrong parts.
    pieces, start = [], 0
    for entry in header["arrays"]:
        pieces.append(packed.data[start : start + entry[3]])
        start += entry[3]
    at = _numbers(header["value"])[number]
    changed = np.ascontiguousarray(arrays[number])
    kind, pieces[at] = changed.dtype.newbyteorder("<").str, compress(changed)
    header["arrays"][at] = [kind, list(changed.shape), kind, len(pieces[at])]
    container.put(name, Packed(json.dumps(header), b"".join(pieces)))
    container.close()


def _numbers(node):
    """Numbers of the arrays in the order of `arrays_in`."""
    if "array" in node:
        return [node["array"]]
    return [number for one in node.get("fields", {}).values() for number in _numbers(one)]


def refused(path):
    before = path.read_bytes()
    with pytest.raises(InputError) as error:
        load(path)
    assert str(path) in str(error.value) or "The state" in str(error.value)
    assert "\n" not in str(error.value)
    assert path.read_bytes() == before


def wanted_whole(array):
    return np.issubdtype(array.dtype, np.signedinteger) and array.size > 0


def test_an_unchanged_array_is_taken(path):
    """The forger itself does not break a file."""
    for place in ("chain/0/state/of_word", "chain/1/tokens/entry", "corpus/counts/lengths", "order"):
        forge(path, place, lambda array: array)
    assert_frame_equal(load(path).concepts(), planted_model().concepts(), check_exact=True)


@pytest.mark.parametrize("place", places())
def test_forged_arrays_are_refused(whole, path, place):
    array = dict(found for name, value in plain_parts(planted_model()).items() for found in arrays_in(value, name))[
        place
    ]
    forged = [lambda a: a[:-1], lambda a: a.reshape(1, *a.shape)]
    if not place.endswith(ANY_WIDTH):
        forged.append(lambda a: np.nan_to_num(a).astype(np.int16))
    if wanted_whole(array) and not place.endswith(AMOUNTS):
        forged += [_with(10**6), _with(len(array) * 1000)]
    if wanted_whole(array):
        forged.append(_with(-1))
    if array.dtype == np.uint8:
        forged.append(_with(254))
    for change in forged:
        if array.size:
            path.write_bytes(whole.read_bytes())
            forge(path, place, change)
            refused(path)


def _with(value):
    def change(array):
        array.flat[array.size // 2] = value
        return array

    return change


def forge_draw(path, part, name, change):
    container = ModelFile.open(path, write=True)
    chain, sweep, figures, _ = container.draws()[3]
    draw = unpack(container.draw(chain, sweep))
    draw[part][name] = change(draw[part][name])
    container.add_draw(chain, sweep, figures, pack(draw))
    with container.transaction():
        pass
    container.close()


@pytest.mark.parametrize("value", [10**6, -1, 2**62])
@pytest.mark.parametrize("name", ["n_held", "concept", "of_word", "n_holders"])
def test_forged_draws_are_refused_when_they_are_read(path, name, value):
    forge_draw(path, "state", name, _with(value if name != "concept" else min(value, 10**6)))
    model = load(path)
    with pytest.raises(InputError):
        list(model.draws_)


def test_forged_tokens_are_refused_when_they_are_read(path):
    forge_draw(path, "tokens", "entry", _with(-1))
    with pytest.raises(InputError):
        list(load(path).draws_)


def test_show_of_a_forged_file_ends_in_one_sentence(path, capsys):
    forge_draw(path, "state", "n_holders", _with(10**6))
    found = run(capsys, "show", path)
    assert found.code == 1
    assert found.err.count("\n") == 1
    assert "is not a superwords model, or it is damaged" in found.err


@pytest.mark.parametrize(
    "notes",
    [
        [],
        {"recipe": []},
        {"recipe": {"units": ["a"]}},
        {"recipe": {"units": {"a": 1}}},
        {"recipe": {"words": 1}},
        {"recipe": {"max_length": "x"}},
        {"seeds": {"a": 3}},
        {"seeds": ["a"]},
        {"source": 3},
        {"pruned": {"dropped": 0.5}},
        {"words_read": "many"},
        {"min_df": [2]},
        {"number_of_concepts": [3]},
        {"empty_documents": 1},
        {"other_words": [1]},
        {"recipe": {"lemmas": "yes"}},
        {"groups": "party"},
        {"groups": [1]},
    ],
)
def test_forged_notes_are_refused(path, notes):
    container = ModelFile.open(path, write=True)
    container.put("corpus", {**container.get("corpus"), "notes": [notes]})
    container.close()
    refused(path)


def test_a_recipe_that_lacks_fields_reads_no_new_texts(path, capsys):
    container = ModelFile.open(path, write=True)
    corpus = container.get("corpus")
    container.put("corpus", {**corpus, "notes": [{"recipe": {"format": 2, "words": "plain", "language": "en"}}]})
    container.close()
    with pytest.raises(InputError, match="recipe"):
        load(path).transform(["some new words"])
    assert "inside superwords" not in run(capsys, "search", path, "word").err


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 0.99, 0.9999])
def test_truncated_files_are_refused(whole, path, share):
    content = whole.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    refused(path)


def test_no_flipped_byte_goes_unseen(tmp_path):
    """It is refused, or it stood where nothing is read and the model is the same."""
    path = planted_model().save(tmp_path / "m.sw")
    content = path.read_bytes()
    n_refused = 0
    for at in np.random.default_rng(0).integers(len(content), size=60):
        broken = bytearray(content)
        broken[at] ^= 0xFF
        path.write_bytes(broken)
        try:
            loaded = load(path)
            list(loaded.draws_)
        except InputError:
            n_refused += 1
        else:
            assert_frame_equal(loaded.concepts(), planted_model().concepts(), check_exact=True)
    assert n_refused > 30


def put_raw(path, name, header, data):
    database = sqlite3.connect(path)
    row = (header, data, checksum(name, header, data), name)
    database.execute("UPDATE part SET header=?, data=?, checksum=? WHERE name=?", row)
    database.commit()
    database.close()


HUGE = """
import resource, sys
from superwords import InputError, load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load(sys.argv[1])
except InputError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def test_a_member_of_two_gigabytes_is_refused_before_it_is_unpacked(path):
    pytest.importorskip("resource")  # Windows has none
    data = bz2.compress(bytes(2**24)) + bytes(16)
    for kind, node in (("text", "json"), ("|u1", "array")):
        header = json.dumps({"value": {node: 0}, "arrays": [["|u1", [2**31], kind, len(data)]]})
        put_raw(path, "order", header, data)
        _refused_cheaply(path)


def _refused_cheaply(path):
    said = subprocess.run([sys.executable, "-c", HUGE, path], capture_output=True, text=True, check=True).stdout
    sentence, megabytes = said.splitlines()
    assert "it declares to be larger than its data can be" in sentence
    assert int(megabytes) < 500  # with all that the package imports


@pytest.mark.parametrize("header", ["[" * 200_000, "9" * 5_000, "null", "{}", '{"arrays": [], "value": {"array": 9}}'])
def test_headers_that_are_none(path, header):
    put_raw(path, "schedule", header, b"")
    refused(path)


def test_deep_json_in_the_data(path):
    text = b"[" * 200_000
    data = bz2.compress(text)
    header = json.dumps({"value": {"json": 0}, "arrays": [["|u1", [len(text)], "text", len(data)]]})
    put_raw(path, "corpus", header, data)
    refused(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("schedule", {"n_sweeps": 60, "n_burn_in": 20, "thin": 0}),
        ("schedule", {"n_sweeps": 1e300, "n_burn_in": 20, "thin": 1}),
        ("seed", -1),
        ("seed", "three"),
        ("settings", {"no_such": 1}),
        ("steps", {"split_merges": 2**40}),
        ("pilots", {}),
        ("chain/0", {"sweep": -1}),
        ("chain/1", None),
        ("features", np.zeros((3, 2))),
    ],
)
def test_values_that_no_model_has(path, name, value):
    container = ModelFile.open(path, write=True)
    container.put(name, value)
    container.close()
    refused(path)


@pytest.mark.parametrize("name", ["corpus", "order", "chain/1", "pilots", "steps"])
def test_missing_parts(path, name):
    container = ModelFile.open(path, write=True)
    with container.transaction():
        container._database.execute("DELETE FROM part WHERE name = ?", (name,))
    container.close()
    refused(path)


def test_a_later_format_asks_for_a_newer_version(path, capsys):
    database = sqlite3.connect(path)
    database.execute(f"PRAGMA user_version = {FORMAT + 1}")
    database.close()
    before = path.read_bytes()
    with pytest.raises(InputError, match=f"in format {FORMAT + 1}.*install a newer superwords"):
        load(path)
    assert run(capsys, "fit", "--more", 5, path).code == 1
    assert path.read_bytes() == before


def test_an_earlier_format_is_refused_by_name(path):
    """Files of format 3 were written up to commit 7efc570."""
    database = sqlite3.connect(path)
    database.execute("PRAGMA user_version = 3")
    database.close()
    with pytest.raises(InputError, match=r"earlier version of superwords \(file format 3; .*7efc570.*fit the model"):
        load(path)


def changed_part(path, name, change):
    container = ModelFile.open(path, write=True)
    container.put(name, change(container.get(name)))
    container.close()


def test_a_step_that_is_not_stored_takes_its_default(path):
    changed_part(path, "steps", lambda steps: {key: one for key, one in steps.items() if key != "swaps"})
    assert load(path).chains_[0].model.steps.swaps == Steps().swaps


@pytest.mark.parametrize(
    ("part", "change", "found"),
    [
        ("steps", {"jumps": 3}, "its Steps has jumps"),
        ("schedule", {"stride": 3}, "its Schedule has stride"),
        ("settings", {"n_jumps": 3}, "its ConceptModel has n_jumps"),
        ("corpus", {"shelf": 3}, "its Corpus has shelf"),
    ],
)
def test_a_field_of_another_version_is_refused_by_name(path, part, change, found):
    changed_part(path, part, lambda fields: fields | change)
    with pytest.raises(InputError, match=rf"another version of superwords \({found}\); open it with that version"):
        load(path)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="There is no file"):
        load(tmp_path / "none.sw")
    with pytest.raises(InputError, match="is not a superwords model"):
        load(tmp_path)
    text = tmp_path / "a.txt"
    text.write_text("hello")
    with pytest.raises(InputError, match="is not a superwords model"):
        load(text)
