"""Files that people have are read, or refused with one clear message; what is wrong with texts is warned of."""

from __future__ import annotations

import gzip
import json
import lzma
import os
import struct
import threading
import warnings
import zipfile

import pandas as pd
import pytest
from scipy import io, sparse

from superwords.errors import InputError, ReadingWarning
from superwords.text import files
from superwords.text.read import corpus_warnings, read_documents
from superwords.text.sources import open_documents

TEXTS = ["The doughnut hole hurts seniors.", "A senior fell into the doughnut hole."]


def test_excel(tmp_path):
    pytest.importorskip("openpyxl")
    pd.DataFrame({"id": ["a", "b"], "party": ["D", "R"], "text": TEXTS}).to_excel(tmp_path / "x.xlsx", index=False)
    found = open_documents(tmp_path / "x.xlsx")
    assert list(found.texts) == TEXTS
    assert found.metadata["party"].tolist() == ["D", "R"]


def test_word_html_and_markdown_in_a_folder(tmp_path):
    docx = pytest.importorskip("docx")
    document = docx.Document()
    document.add_paragraph(TEXTS[0])
    document.save(str(tmp_path / "a.docx"))
    (tmp_path / "b.html").write_text(f"<html><body><p>{TEXTS[1]}</p><script>x()</script></body></html>")
    (tmp_path / "c.md").write_text("# Title\n\nA **senior** [link](http://x.org/y) `code`\n")
    (tmp_path / "d.bin").write_bytes(b"\0")
    corpus = read_documents(tmp_path, min_df=1, words="plain", n_jobs=1, unit="document")
    assert corpus.ids == ["a", "b", "c"]
    assert corpus.texts[0] == TEXTS[0]
    assert corpus.texts[1].strip() == TEXTS[1]
    assert corpus.texts[2].split() == ["Title", "A", "senior", "link", "code"]


def test_a_single_file_is_one_document(tmp_path):
    (tmp_path / "book.md").write_text("One sentence here. " * 3)
    assert open_documents(tmp_path / "book.md").ids == ["book"]
    (tmp_path / "packed.html.gz").write_bytes(gzip.compress(b"<p>One sentence.</p>"))
    assert list(open_documents(tmp_path / "packed.html.gz").texts) == ["<p>One sentence.</p>"]


def test_pdf_and_damaged_files(tmp_path):
    pypdf = pytest.importorskip("pypdf")
    writer = pypdf.PdfWriter()
    writer.add_blank_page(200, 200)
    writer.write(str(tmp_path / "blank.pdf"))
    with pytest.raises(InputError, match="holds no text, only pictures"):
        open_documents(tmp_path / "blank.pdf")
    for name in ("x.pdf", "x.docx", "x.xlsx", "x.mtx", "x.rds"):
        (tmp_path / name).write_bytes(b"no such thing")
        with pytest.raises(InputError, match="cannot be read"):
            open_documents(tmp_path / name, vocabulary=["a"])


def written_pdf(*lines):
    """A PDF of one page, as the standard describes it: objects, their places, and where to begin."""
    shown = " T* ".join(f"({line}) Tj" for line in lines)
    content = f"BT /F1 12 Tf 14 TL 20 150 Td {shown} ET"
    bodies = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents 4 0 R "
        "/Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    out, places = "%PDF-1.4\n", []
    for n, body in enumerate(bodies, start=1):
        places.append(f"{len(out):010d} 00000 n \n")
        out += f"{n} 0 obj\n{body}\nendobj\n"
    table = f"xref\n0 {len(bodies) + 1}\n0000000000 65535 f \n{''.join(places)}"
    trailer = f"trailer\n<< /Size {len(bodies) + 1} /Root 1 0 R >>\nstartxref\n{len(out)}\n%%EOF\n"
    return (out + table + trailer).encode("latin-1")


def test_the_text_of_a_pdf_without_the_hyphens_at_the_ends_of_lines(tmp_path):
    pytest.importorskip("pypdf")
    (tmp_path / "a.pdf").write_bytes(written_pdf("The caf\xe9 is an exam-", "ple of tea.", "Milk follows."))
    (tmp_path / "b.pdf").write_bytes(written_pdf("Another page."))
    found = open_documents(tmp_path)
    assert found.ids == ["a", "b"]
    text = next(iter(found.texts))
    assert " ".join(text.split()) == "The café is an example of tea. Milk follows."


@pytest.mark.parametrize("value", [[{"text": t} for t in TEXTS], TEXTS, {"data": [{"text": t} for t in TEXTS]}])
def test_json(tmp_path, value):
    (tmp_path / "x.json").write_text(json.dumps(value))
    assert list(open_documents(tmp_path / "x.json").texts) == TEXTS


def test_matrix_market(tmp_path):
    io.mmwrite(tmp_path / "x.mtx", sparse.coo_array([[1, 0], [2, 3]]))
    (tmp_path / "x.txt").write_text("tea\nmilk\n")
    found = open_documents(tmp_path / "x.mtx")
    assert found.vocabulary == ["tea", "milk"]
    assert found.counts.toarray().tolist() == [[1, 0], [2, 3]]


def test_r_data_frames(tmp_path):
    rdata = pytest.importorskip("rdata")
    frame = pd.DataFrame({"text": TEXTS, "party": ["D", "R"]}, dtype=object)
    rdata.write_rds(str(tmp_path / "x.rds"), frame)
    assert list(open_documents(tmp_path / "x.rds").texts) == TEXTS


class Rds:
    """R's serialisation (XDR, version 2), as far as a dfm needs it."""

    def __init__(self, value):
        self.data = b"X\n" + struct.pack(">3i", 2, 0x00040300, 0x00020300) + value

    @staticmethod
    def _item(kind, body, flags=0):
        return struct.pack(">i", kind | flags) + body

    @classmethod
    def string(cls, text):
        return cls._item(9, struct.pack(">i", len(text.encode())) + text.encode(), 8 << 12)

    @classmethod
    def strings(cls, *texts, **attributes):
        body = struct.pack(">i", len(texts)) + b"".join(map(cls.string, texts))
        return cls._item(16, body + cls._attributes(attributes), 0x200 if attributes else 0)

    @classmethod
    def integers(cls, *values):
        return cls._item(13, struct.pack(f">{len(values) + 1}i", len(values), *values))

    @classmethod
    def reals(cls, *values):
        return cls._item(14, struct.pack(f">i{len(values)}d", len(values), *values))

    @classmethod
    def items(cls, *values, **attributes):
        body = struct.pack(">i", len(values)) + b"".join(values)
        flags = (0x200 if attributes else 0) | (0x100 if "class" in attributes else 0)
        return cls._item(19, body + cls._attributes(attributes), flags)

    @classmethod
    def _attributes(cls, named):
        pairs = (cls._item(2, cls._item(1, cls.string(name)) + value, 0x400) for name, value in named.items())
        return b"".join(pairs) + struct.pack(">i", 254) if named else b""

    @classmethod
    def s4(cls, **slots):
        return cls._item(25, cls._attributes(slots), 0x300 | (1 << 4 << 12))


@pytest.mark.parametrize("is_packed", [False, True])
def test_a_dfm_of_quanteda(tmp_path, is_packed):
    pytest.importorskip("rdata")
    dfm = Rds.s4(
        docvars=Rds.items(
            Rds.strings("one", "two"),
            Rds.strings("D", "R"),
            names=Rds.strings("docname_", "party"),
            **{"class": Rds.strings("data.frame"), "row.names": Rds.integers(-(2**31), -2)},
        ),
        meta=Rds.items(),
        i=Rds.integers(0, 1, 1),
        p=Rds.integers(0, 2, 3),
        Dim=Rds.integers(2, 2),
        Dimnames=Rds.items(
            Rds.strings("one", "two"), Rds.strings("tea", "größe"), names=Rds.strings("docs", "features")
        ),
        x=Rds.reals(1, 2, 3),
        factors=Rds.items(),
        **{"class": Rds.strings("dfm", package=Rds.strings("quanteda"))},
    )
    data = Rds(dfm).data
    (tmp_path / "x.rds").write_bytes(gzip.compress(data) if is_packed else data)
    found = open_documents(tmp_path / "x.rds")
    assert (found.ids, found.vocabulary) == (["one", "two"], ["tea", "größe"])
    assert found.counts.toarray().tolist() == [[1, 0], [2, 3]]
    assert read_documents(tmp_path / "x.rds").metadata["party"].tolist() == ["D", "R"]


def test_an_encoding_is_guessed_and_stated(tmp_path):
    pytest.importorskip("charset_normalizer")
    text = "Der Bürgermeister grüßte die Höfe und Häuser über dem Fluß, so schön wie möglich.\n" * 30
    (tmp_path / "x.txt").write_bytes(text.encode("cp1252"))
    found = open_documents(tmp_path / "x.txt")
    assert "Bürgermeister grüßte" in next(iter(found.texts))
    assert "which is a guess" in found.notes[0]
    named = open_documents(tmp_path / "x.txt", encoding="latin-1")
    assert "Höfe" in next(iter(named.texts))
    assert not any("guess" in note for note in named.notes)


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Los niños y las niñas tienen derecho a la educación, y mañana también en España.\n"),
        ("cp1252", "Não há informação sobre as eleições, mas a população já não está à espera.\n"),
        ("cp1252", "Jokaisella on oikeus elämään, vapauteen ja henkilökohtaiseen turvallisuuteen, myös täällä.\n"),
        ("cp1250", "Każdy człowiek ma prawo do życia, wolności i bezpieczeństwa swojej osoby, również później.\n"),
        ("cp1251", "Кожна людина має право на життя, на свободу і на особисту недоторканність.\n"),
        ("cp1256", "لكل فرد الحق في الحياة والحرية وفي الأمان على شخصه.\n"),
        ("cp932", "すべて人は、生命、自由及び身体の安全に対する権利を有する。\n"),
        ("gb18030", "人人有权享有生命、自由和人身安全。\n"),
    ],
)
def test_the_guess_of_an_encoding_is_right(tmp_path, encoding, text):
    pytest.importorskip("charset_normalizer")
    (tmp_path / "x.txt").write_bytes((text * 10).encode(encoding))
    assert next(iter(open_documents(tmp_path / "x.txt").texts)) == text.strip()


def test_damaged_utf8_is_refused_not_guessed(tmp_path):
    (tmp_path / "x.txt").write_bytes("Grüße\n".encode() + b"caf\xe9 \n")
    with pytest.raises(InputError, match="line 2, is not valid utf-8"):
        open_documents(tmp_path / "x.txt")


def test_the_text_column_is_guessed(tmp_path):
    pd.DataFrame({"name": ["a", "b"], "speech": TEXTS, "party": ["D", "R"]}).to_csv(tmp_path / "x.csv", index=False)
    found = open_documents(tmp_path / "x.csv")
    assert list(found.texts) == TEXTS
    assert "'speech' has the longest texts" in found.notes[0]
    frame = open_documents(pd.DataFrame({"name": ["a", "b"], "speech": TEXTS}))
    assert list(frame.texts) == TEXTS


def test_columns_are_proposed_and_dates_checked(tmp_path):
    rows = pd.DataFrame({"text": TEXTS * 10, "party": ["D", "R"] * 10, "date": ["03.04.2017"] * 20})
    said: list[str] = []
    with pytest.warns(ReadingWarning, match=r"dates such as '03.04.2017'"):
        read_documents(rows, say=said.append, n_jobs=1)
    assert "Columns that could be compared: party" in "\n".join(said)
    corpus = read_documents(rows, date_format="%d.%m.%Y", say=said.append, n_jobs=1)
    assert "Columns of dates, for trends: date." in said
    assert corpus.metadata["date"].iloc[0] == pd.Timestamp("2017-04-03")
    with pytest.raises(InputError, match=r"No column has dates in the format '%Y'"):
        read_documents(rows, date_format="%Y", n_jobs=1)


def test_a_fifo_is_read(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("\n".join(TEXTS)))
    writer.start()
    assert list(open_documents(path).texts) == TEXTS
    writer.join()


def test_a_fifo_is_read_by_its_ending_and_not_if_compressed(tmp_path):
    for name, content in (
        ("d.csv", b"speech,party\nTea with milk and sugar.,A\nMilk in the black tea.,B\n"),
        ("d.jsonl.gz", gzip.compress(b'{"text": "Tea"}')),
    ):
        os.mkfifo(tmp_path / name)
        writer = threading.Thread(target=(tmp_path / name).write_bytes, args=(content,))
        writer.start()
        if name == "d.csv":
            found = open_documents(tmp_path / name)
            assert found.texts[1] == "Milk in the black tea."
            assert list(found.metadata["party"]) == ["A", "B"]
        else:
            with pytest.raises(InputError, match="is compressed"):
                open_documents(tmp_path / name)
        writer.join()


def test_half_characters_in_columns_are_replaced(tmp_path):
    (tmp_path / "d.jsonl").write_text('{"text": "Tea.", "\\ud800p": "\\udfffx", "n": 1}\n', encoding="utf-8")
    assert open_documents(tmp_path / "d.jsonl").metadata.to_dict("list") == {"\ufffdp": ["\ufffdx"], "n": [1]}
    frame = pd.DataFrame({"text": ["Tea."], "party": pd.Series(["\ud800"], dtype=object)})
    assert list(open_documents(frame).metadata["party"]) == ["\ufffd"]


def test_decompression_bombs_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_UNPACKED", 1_000_000)
    (tmp_path / "x.txt.gz").write_bytes(gzip.compress(b"a a a a\n" * 500_000))
    with pytest.raises(InputError, match="decompression bomb"):
        open_documents(tmp_path / "x.txt.gz")
    (tmp_path / "x.mtx.gz").write_bytes(gzip.compress(b"%" * 3_000_000))
    (tmp_path / "x.rds").write_bytes(lzma.compress(bytes(3_000_000)))
    with zipfile.ZipFile(tmp_path / "x.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("data.npy", bytes(3_000_000))
    for name in ("x.mtx.gz", "x.rds", "x.npz"):
        with pytest.raises(InputError, match="decompression bomb"):
            open_documents(tmp_path / name, vocabulary=["a"])
    (tmp_path / "y.mtx").write_text("%%MatrixMarket matrix coordinate integer general\n2000000000 1 1\n1 1 1\n")
    with pytest.raises(InputError, match="2,000,000,000 rows in 70 bytes"):
        open_documents(tmp_path / "y.mtx", vocabulary=["a"])


def test_parquet_that_is_not_utf8(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    column = pa.array([b"caf\xe9"], pa.binary()).view(pa.string())
    parquet.write_table(pa.table({"text": column}), tmp_path / "x.parquet")
    with pytest.raises(InputError, match="text that is not UTF-8"):
        open_documents(tmp_path / "x.parquet")


def test_names_and_texts_with_undecodable_parts(tmp_path):
    folder = os.fsencode(tmp_path)
    with open(folder + b"/caf\xe9.txt", "w") as file:
        file.write(TEXTS[0])
    found = open_documents(tmp_path)
    assert found.ids == ["caf\ufffd"]
    with pytest.warns(ReadingWarning, match="half of a character"):
        corpus = read_documents([f"{TEXTS[0]} \ud83d", TEXTS[1]], n_jobs=1)
    assert corpus.texts[0].endswith("\ufffd")


def test_hygiene_is_warned_of_without_progress():
    with pytest.warns(ReadingWarning) as caught:
        corpus = read_documents([*TEXTS * 10, "x" * 200], n_jobs=1, words="plain", min_df=2)
    told = "\n".join(str(warning.message) for warning in caught)
    assert "18 of 21 texts repeat another one" in told
    assert "1 tokens of more than 100 characters" in told
    assert "single short sentence" in told
    corpus.notes["procedural"] = []
    assert "No procedural words were found" in corpus_warnings(corpus, drop_procedural=True)[-1]
    with pytest.warns(ReadingWarning, match="One document has 99% of all text|One document has 100% of all text"):
        read_documents(["One sentence about a dog. " * 400, *(f"Dog {n}." for n in range(5))], n_jobs=1)
    with pytest.warns(ReadingWarning, match="no stop-word list for the language 'ka'"):
        read_documents(["ყველა ადამიანი", "ყველა ადამიანი"], language="ka", n_jobs=1)


def test_missing_groups_and_repeated_ids():
    rows = pd.DataFrame({"id": ["a", "a"], "text": TEXTS, "party": ["D", "N/A"]})
    with pytest.raises(InputError, match='or give "none" for running numbers'):
        read_documents(rows, n_jobs=1)
    with pytest.warns(ReadingWarning, match="'party' has 1 values such as \"NA\""):
        corpus = read_documents(rows, id="none", groups="party", n_jobs=1)
    assert corpus.metadata["party"].isna().tolist() == [False, True]


def test_groups_and_dates_in_columns_named_by_numbers():
    rows = pd.DataFrame({"text": TEXTS, 2017: ["D", "NA"], 2018: ["03.04.2017", "21.04.2017"]})
    with pytest.warns(ReadingWarning, match="2017 has 1 values"):
        corpus = read_documents(rows, groups=2017, date_format="%d.%m.%Y", n_jobs=1)
    assert corpus.metadata[2017].isna().tolist() == [False, True]
    assert corpus.metadata[2018].dt.day.tolist() == [3, 21]
    assert rows[2017].tolist() == ["D", "NA"]


def test_routine_of_a_parliament_is_found():
    topics = ["tax", "debt", "war", "school", "rail", "farm", "water"]
    texts = [
        f"On {topics[n % 7]} number {n} my hon. Friend is right. For {topics[n % 5]}, the hon. Member is not."
        for n in range(30)
    ]
    corpus = read_documents(texts, drop_procedural=True, n_jobs=1, min_df=3)
    assert any("hon" in word.split() for word in corpus.notes["procedural"])
    assert not any("hon" in word.split() for word in corpus.vocabulary)


def test_a_clean_corpus_is_not_warned_of():
    texts = [f"Item {n} tells of tea and milk. The cup of tea number {n} is on the table." for n in range(30)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        corpus = read_documents(texts, n_jobs=1)
    assert all("too few" in str(one.message) for one in caught)
    assert len(corpus_warnings(corpus)) <= 1


def test_other_files_are_plain_text(tmp_path):
    (tmp_path / "x.txt").write_text("raw *text*", encoding="utf-8")
    assert list(open_documents(tmp_path).texts) == ["raw *text*"]
