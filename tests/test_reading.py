"""Documents from every kind of source, and one clear sentence for each way a source can be wrong."""

from __future__ import annotations

import gzip
import io
import json
import sys
import time

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from superwords.errors import InputError
from superwords.text import files
from superwords.text.files import TextStream
from superwords.text.sources import open_documents

TEXTS = ["Cats chase mice.", "Dogs, too,\nchase cats.", "Mice hide."]
PARTIES = ["R", "D", "D"]
YEARS = [2001, 2002, 2003]
IDS = ["a", "b", "c"]


def write_csv(path, delimiter=","):
    frame = pd.DataFrame({"id": IDS, "speech": TEXTS, "party": PARTIES, "year": YEARS})
    frame.to_csv(path, sep=delimiter, index=False)


def write_jsonl(path, opener=open):
    with opener(path, "wt", encoding="utf-8") as file:
        for identity, text, party, year in zip(IDS, TEXTS, PARTIES, YEARS, strict=True):
            file.write(json.dumps({"id": identity, "speech": text, "party": party, "year": year}) + "\n")


def assert_read(documents):
    assert list(documents.texts) == TEXTS
    assert documents.ids == IDS
    assert documents.metadata["party"].tolist() == PARTIES
    assert documents.metadata["year"].tolist() == YEARS
    assert list(documents.metadata.columns) == ["party", "year"]
    assert not documents.are_tokens


@pytest.mark.parametrize("name", ["d.csv", "d.csv.gz", "d.tsv", "semicolons.csv"])
def test_delimited_files(tmp_path, name):
    delimiter = "\t" if "tsv" in name else ";" if "semicolons" in name else ","
    write_csv(tmp_path / name, delimiter)
    assert_read(open_documents(tmp_path / name, text="speech"))


@pytest.mark.parametrize(("name", "opener"), [("d.jsonl", open), ("d.jsonl.gz", gzip.open)])
def test_jsonl_files(tmp_path, name, opener):
    write_jsonl(tmp_path / name, opener)
    assert_read(open_documents(str(tmp_path / name), text="speech"))


def test_parquet_file(tmp_path):
    pytest.importorskip("pyarrow", reason="the extra superwords[parquet] is not installed")
    frame = pd.DataFrame({"id": IDS, "speech": TEXTS, "party": PARTIES, "year": YEARS})
    frame.to_parquet(tmp_path / "d.parquet")
    assert_read(open_documents(tmp_path / "d.parquet", text="speech"))


def test_frame_keeps_its_metadata_whatever_its_index():
    frame = pd.DataFrame({"id": IDS, "speech": TEXTS, "party": PARTIES, "year": YEARS}, index=[7, 5, 6])
    assert_read(open_documents(frame, text="speech"))


def test_files_are_streams_that_can_be_read_twice(tmp_path):
    write_jsonl(tmp_path / "d.jsonl")
    texts = open_documents(tmp_path / "d.jsonl", text="speech").texts
    assert isinstance(texts, TextStream)
    assert len(texts) == 3
    assert list(texts) == list(texts) == TEXTS


def test_lists_of_strings_and_of_tokens():
    assert open_documents(TEXTS).texts == TEXTS
    tokens = [["cats", "chase"], [], ["mice"]]
    documents = open_documents(tokens)
    assert documents.texts == tokens
    assert documents.are_tokens
    assert documents.ids == ["0", "1", "2"]


def test_missing_texts_are_empty_documents(tmp_path):
    frame = pd.DataFrame({"text": ["one", None, float("nan")], "group": ["x", "y", "z"]})
    documents = open_documents(frame)
    assert documents.texts == ["one", "", ""]
    assert documents.metadata["group"].tolist() == ["x", "y", "z"]


def test_folder_gives_file_and_subfolder(tmp_path):
    (tmp_path / "left").mkdir()
    (tmp_path / "left" / "one.txt").write_text("Erste.", encoding="utf-8")
    (tmp_path / "two.txt").write_text("Zweite.\nZeile.", encoding="utf-8")
    (tmp_path / "ignored.log").write_text("nothing", encoding="utf-8")
    documents = open_documents(tmp_path)
    assert list(documents.texts) == ["Erste.", "Zweite.\nZeile."]
    assert documents.ids == ["left/one", "two"]
    assert documents.metadata.to_dict("list") == {"file": ["one.txt", "two.txt"], "folder": ["left", ""]}


@pytest.mark.parametrize(
    ("given", "metadata"),
    [
        ('{"text": "Eins.", "g": 1}\n\n{"text": "Zwei.", "g": 2}\n', {"g": [1, 2]}),
        ("Eins.\n\nZwei.\n", {}),
        ('g,text\n1,Eins.\n2,"Zwei."\n', {"g": [1, 2]}),
        ("\ufefftext,g\nEins.,1\nZwei.,2\n", {"g": [1, 2]}),
    ],
)
def test_standard_input(monkeypatch, given, metadata):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given.encode())))
    documents = open_documents("-")
    assert list(documents.texts) == ["Eins.", "Zwei."]
    assert documents.metadata.to_dict("list") == metadata


def test_standard_input_in_an_unknown_encoding(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Eins.\n")))
    with pytest.raises(InputError, match="encoding 'klingon' is not known"):
        open_documents("-", encoding="klingon")


def test_counts_with_vocabulary(tmp_path):
    counts = sparse.csr_array(np.array([[1, 0], [2, 3]]))
    assert open_documents(counts, vocabulary=["a", "b"]).vocabulary == ["a", "b"]
    sparse.save_npz(tmp_path / "c.npz", counts)
    (tmp_path / "c.txt").write_text("a\nb\n", encoding="utf-8")
    documents = open_documents(tmp_path / "c.npz")
    assert documents.vocabulary == ["a", "b"]
    assert (documents.counts != counts).nnz == 0


def test_csv_numbers_are_numbers_but_codes_stay_text(tmp_path):
    (tmp_path / "d.csv").write_text("text,zip,score\none,01234,1.5\ntwo,94305,\n", encoding="utf-8")
    metadata = open_documents(tmp_path / "d.csv").metadata
    assert metadata["zip"].tolist() == ["01234", "94305"]
    assert metadata["score"].tolist()[0] == 1.5
    assert np.isnan(metadata["score"].tolist()[1])


def test_a_field_longer_than_the_csv_module_likes(tmp_path):
    (tmp_path / "d.csv").write_text("text,g\n" + "word " * 50_000 + ",1\n", encoding="utf-8")
    assert len(next(iter(open_documents(tmp_path / "d.csv").texts))) == 250_000


def test_named_encoding_and_byte_order_mark(tmp_path):
    (tmp_path / "d.txt").write_bytes("Köln\n".encode("latin-1"))
    assert list(open_documents(tmp_path / "d.txt", encoding="latin-1").texts) == ["Köln"]
    (tmp_path / "bom.csv").write_bytes("text\nKöln\n".encode("utf-8-sig"))
    assert list(open_documents(tmp_path / "bom.csv").texts) == ["Köln"]


BAD_FILES = [
    ("d.jsonl", b'{"text": "a"}\n{"text": "b"\n', r"d\.jsonl, line 2, is not valid JSON .*column 13"),
    ("d.jsonl", b'{"text": "a"}\n[1]\n', r"d\.jsonl, line 2, is JSON but not an object"),
    ("d.jsonl", b'{"text": "a"}\n{"txt": "b"}\n', r"d\.jsonl, line 2, has no 'text'"),
    ("d.jsonl", b'{"text": "a"}\n{"text": 5}\n', r"line 2, holds int '5' in 'text'"),
    ("d.jsonl", b'{"text": "a"}\n{"text": ["b"]}\n', r"line 2, differs in kind"),
    ("d.jsonl", b'{"body": "a", "n": 1}\n', r"line 1, has no column 'text' but 'body', 'n'"),
    ("d.jsonl", b'{"text": "a"}\n{"text": "K\xf6ln"}\n', r"line 2, is not valid utf-8: byte 0xf6 at column 12"),
    ("d.jsonl", b'{"id": 1, "text": "a"}\n{"id": 1, "text": "b"}\n', r"line 2, has the id '1' that .*line 1"),
    ("d.jsonl", b'{"id": 1, "text": "a"}\n{"text": "b"}\n', r"line 2, has no 'id'"),
    ("d.jsonl", b"", r"d\.jsonl is empty"),
    ("d.csv", b"", r"d\.csv is empty"),
    ("d.csv", b"text,party\n", r"d\.csv is empty"),
    ("d.csv", b"text,g\na,1\nb\n", r"d\.csv, line 3, has 1 fields but the header has 2"),
    ("d.csv", b'text,g\n"a\nb",1\nc\n', r"d\.csv, line 4, has 1 fields"),
    ("d.csv", b'text,g\n"a,1\n', r"d\.csv, line 2, is malformed"),
    ("d.csv", b"text,text\na,1\n", r"two columns named 'text'"),
    ("d.csv", b"a,b\n1,2\n", r"line 2, has no column 'text' but 'a', 'b'"),
    ("d.csv.gz", gzip.compress(b"text\n" + b"word " * 1000, mtime=0)[:-12], r"not a complete gzip file"),
    ("d.csv.gz", b"text\nplain\n", r"not a complete gzip file"),
    ("d.parquet", b"no parquet", r"d\.parquet cannot be read \(ArrowInvalid"),
    ("d.npz", b"no archive", r"cannot be read .*scipy\.sparse\.save_npz"),
    ("d.npz", b"", r"cannot be read .*scipy\.sparse\.save_npz"),
    ("d.npz", b"PK\x05\x06" + bytes(18), r"cannot be read .*scipy\.sparse\.save_npz"),
    ("d.jsonl", b'{"text": "a"}\n' + b"[" * 200_000, r"line 2, is JSON nested too deeply"),
    ("d.jsonl", b'{"text": "a", "n": ' + b"9" * 5000 + b"}\n", r"line 1, holds a number of more digits"),
    ("d.xyz", b"", r"of an unknown kind; give \.csv"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD_FILES)
def test_bad_files_are_told_in_one_sentence(tmp_path, name, content, message):
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow", reason="the extra superwords[parquet] is not installed")
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=message) as caught:
        open_documents(path)
    assert str(caught.value).endswith(".")
    assert "\n" not in str(caught.value)


def test_missing_columns_name_those_there_are(tmp_path):
    write_csv(tmp_path / "d.csv")
    with pytest.raises(InputError, match=r"no text column 'txt'; the columns are 'id', 'speech', 'party', 'year'"):
        open_documents(tmp_path / "d.csv", text="txt")
    with pytest.raises(InputError, match="no id column 'key'"):
        open_documents(tmp_path / "d.csv", text="speech", id="key")


def test_other_wrong_sources(tmp_path):
    with pytest.raises(InputError, match="does not exist"):
        open_documents(tmp_path / "absent.csv")
    with pytest.raises(InputError, match=r"no file of the kinds .txt"):
        open_documents(tmp_path)
    with pytest.raises(InputError, match="empty"):
        open_documents([])
    with pytest.raises(InputError, match="without words"):
        open_documents(sparse.csr_array(np.eye(2)))
    with pytest.raises(InputError, match=r"3 words but .* 2 columns"):
        open_documents(sparse.csr_array(np.eye(2)), vocabulary=["a", "b", "c"])
    (tmp_path / "d.txt").write_text("x", encoding="utf-8")
    with pytest.raises(InputError, match="encoding 'klingon' is not known"):
        open_documents(tmp_path / "d.txt", encoding="klingon")


def test_parquet_without_pyarrow_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    (tmp_path / "d.parquet").touch()
    with pytest.raises(InputError, match=r"install the extra superwords\[parquet\]"):
        open_documents(tmp_path / "d.parquet")


def test_a_damaged_npz_is_told_wherever_the_damage_is(tmp_path):
    sparse.save_npz(tmp_path / "whole.npz", sparse.random_array((30, 9), density=0.5, rng=1, format="csr"))
    whole = (tmp_path / "whole.npz").read_bytes()
    rng = np.random.default_rng(5)
    refused: list[str] = []
    for n, place in enumerate(rng.integers(0, len(whole), 60)):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        path = tmp_path / "damaged.npz"
        path.write_bytes(bytes(damaged) if n % 2 else whole[:place])
        try:
            open_documents(path, vocabulary=list("abcdefghi"))
        except InputError as error:
            refused.append(str(error))
    assert len(refused) > 40
    assert not any("\n" in sentence for sentence in refused)


def test_counts_that_point_outside_their_columns_are_refused(tmp_path):
    good = sparse.csr_array(np.eye(3))
    good.indices[1] = 1_000_000
    sparse.save_npz(tmp_path / "d.npz", good)
    with pytest.raises(InputError, match=r"cannot be read .*scipy\.sparse\.save_npz"):
        open_documents(tmp_path / "d.npz", vocabulary=["a", "b", "c"])


@pytest.mark.parametrize("name", ["d.txt", "d.jsonl", "d.csv", "d.txt.gz", "folder"])
def test_a_line_without_an_end_is_refused_before_it_is_read(tmp_path, monkeypatch, name):
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
        (path / "one.txt").write_text("word\n" * 300, encoding="utf-8")
    else:
        opener = gzip.open if name.endswith(".gz") else open
        with opener(path, "wt", encoding="utf-8") as file:
            file.write("text\nshort\n" if "csv" in name else "")
            file.write("word " * 300)
    with pytest.raises(InputError, match="longer than 1,000 characters") as caught:
        open_documents(path)
    assert "\n" not in str(caught.value)


def test_a_quote_that_is_never_closed_does_not_swallow_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LONGEST_LINE", 1000)
    (tmp_path / "d.csv").write_text('text\n"open\n' + "word\n" * 300, encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2, has a field longer than 1,000 characters"):
        open_documents(tmp_path / "d.csv")


def test_many_columns_cost_as_many_steps(tmp_path):
    names = [f"c{n}" for n in range(20_000)]
    lines = [",".join(["text", *names]), ",".join(["a cat", *["1"] * 20_000])]
    (tmp_path / "d.csv").write_text("\n".join(lines), encoding="utf-8")
    before = time.process_time()
    assert open_documents(tmp_path / "d.csv").metadata.shape == (1, 20_000)
    assert time.process_time() - before < 6  # of this process; each name beside each other takes three times as long
    with pytest.raises(InputError, match="and 19,981 more") as caught:
        open_documents(tmp_path / "d.csv", text="speech")
    assert len(str(caught.value)) < 1000


def test_what_is_left_out_is_said(tmp_path):
    (tmp_path / "d.txt").write_text("one\n\ntwo\n \n", encoding="utf-8")
    assert open_documents(tmp_path / "d.txt").notes == ("2 empty lines were skipped.",)
    (tmp_path / "d.jsonl").write_text('{"text": "a"}\n\n', encoding="utf-8")
    assert open_documents(tmp_path / "d.jsonl").notes == ("1 empty line was skipped.",)
    assert open_documents(tmp_path).notes == ("1 file of other kinds was left out.",)
    assert open_documents(["one", ""]).notes == ()


def test_csv_numbers_of_every_kind(tmp_path):
    rows = ["text,a,b,c,d", "x,1,1e3,,9" + "9" * 5000, "y,-2,.5,,1"]
    (tmp_path / "d.csv").write_text("\n".join(rows), encoding="utf-8")
    metadata = open_documents(tmp_path / "d.csv").metadata
    assert metadata["a"].tolist() == [1, -2]
    assert metadata["b"].tolist() == [1000.0, 0.5]
    assert metadata["c"].tolist() == ["", ""]
    assert metadata["d"].tolist()[0] == float("inf")
