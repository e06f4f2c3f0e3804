"""What is exported can be read by the programs it is for."""

import copy
import json
import re

import numpy as np
import pandas as pd
import pytest
import xarray

from models_for_tests import EDGES, ODD_WORDS, edge_model, planted_model
from superwords.analysis.export import Export, Titled, export, latex, pyldavis_input
from superwords.errors import InputError


def test_csv_tables_come_back(tmp_path):
    model = planted_model()
    written = {path.stem: path for path in export(model, tmp_path / "out", "csv", groups="party")}
    assert list(written)[:5] == ["concepts", "words", "documents", "documents_wide", "vocabulary"]
    assert "groups" in written
    concepts, documents, vocabulary = (pd.read_csv(written[name]) for name in ("concepts", "documents", "vocabulary"))
    assert concepts["name"].tolist() == model.concepts()["name"].tolist()
    assert concepts["top_words"][0].split(" | ") == model.top_words(1)
    np.testing.assert_allclose(documents["weight"], model.documents()["weight"])
    shown = ["'=1+1" if word == "=1+1" else word for word in ODD_WORDS]
    assert vocabulary["word"].tolist()[: len(ODD_WORDS)] == shown
    assert vocabulary["concepts"].astype(str)[7].split(" | ") == [str(j) for j in model.words()["concepts"][7]]


def test_words_are_a_row_per_concept_and_word():
    model = planted_model()
    table = Export(model).table("words")
    for concept in model.concepts()["concept"]:
        own = table[table["concept"] == concept]
        assert own["word"].tolist() == model.words_of(concept)["word"].tolist()
    assert list(table.columns[:3]) == ["concept", "name", "word"]


def test_wide_and_long_documents_agree():
    model = planted_model()
    wide, long = (Export(model).table(name) for name in ("documents_wide", "documents"))
    assert wide["document"].tolist() == model.corpus_.ids
    assert set(model.corpus_.metadata.columns) <= set(wide.columns)
    concepts = [f"concept_{j}" for j in model.concepts()["concept"]]
    assert list(wide.columns[-len(concepts) :]) == concepts
    by_document = wide.set_index("document")
    for row in long.to_dict("records"):
        assert by_document.loc[row["document"], f"concept_{row['concept']}"] == row["weight"]
    assert (wide[concepts] > 0).to_numpy().sum() == len(long)


def test_hidden_concepts_are_in_no_table(tmp_path):
    model = copy.deepcopy(planted_model())
    model.choose([]).hide(1)
    source = Export(model, groups="party", formula="party")
    for name in source.makers:
        table = source.table(name)
        assert "concept" not in table or 1 not in table["concept"].tolist(), name
        assert "concept_1" not in table, name


def test_parquet_comes_back(tmp_path):
    model = planted_model()
    (path,) = export(model, tmp_path / "words.parquet", table="words")
    assert pd.read_parquet(path)["word"].tolist() == Export(model).table("words")["word"].tolist()
    for one in export(model, tmp_path / "all", "parquet", groups="party"):
        assert len(pd.read_parquet(one)) == len(Export(model, groups="party").table(one.stem))


def test_excel_has_a_sheet_per_table_and_no_formula(tmp_path):
    model = planted_model()
    (path,) = export(model, tmp_path / "all.xlsx", groups="party")
    sheets = pd.read_excel(path, sheet_name=None)
    assert list(sheets) == list(Export(model, groups="party").makers)
    assert sheets["concepts"]["concept"].tolist() == model.concepts()["concept"].tolist()
    from openpyxl import load_workbook

    kinds = {cell.data_type for row in load_workbook(path)["vocabulary"].rows for cell in row}
    assert "f" not in kinds


def test_latex_is_escaped_and_whole(tmp_path):
    model = copy.deepcopy(planted_model())
    model.choose([]).rename({1: r"50% of R&D_{x} \ ~^#$"})
    (path,) = export(model, tmp_path / "concepts.tex", table="concepts")
    text = path.read_text(encoding="utf-8")
    assert r"50\% of R\&D\_\{x\} \textbackslash{} \textasciitilde{}\textasciicircum{}\#\$" in text
    for part in (r"\toprule", r"\midrule", r"\bottomrule", r"\end{table}", r"\label{tab:concepts}"):
        assert text.count(part) == 1
    rows = [line for line in text.splitlines() if line.endswith(r"\\")]
    assert len({len(re.findall(r"(?<!\\)&", line)) for line in rows}) == 1
    assert len(rows) == 1 + len(model.concepts())
    (long,) = export(model, tmp_path / "words.tex", table="words")
    assert r"\begin{longtable}" in long.read_text(encoding="utf-8")


def test_latex_tables_fit_the_page():
    shares = ["10.1 (9.2–11.3)"] * 30
    narrow = pd.DataFrame({"Prevalence (%)": ["10.1"] * 30, "D (n = 3)": shares, "Words": ["tea"] * 30})
    text = latex(Titled(narrow), "tab:groups")
    assert r"\begin{tabular}{rrl}" in text
    assert r"\shortstack[r]{Prevalence\\(\%)} & D (n = 3) & Words \\" in text
    assert "longtable" not in text
    # 30 rows of several lines each are longer than a page.
    assert r"\begin{longtable}" in latex(Titled(narrow.assign(Words="tea and milk, " * 20)), "tab:words")


def test_word_tables_hold_the_figures(tmp_path):
    from docx import Document

    model = planted_model()
    (path,) = export(model, tmp_path / "groups.docx", table="groups", groups="party")
    document = Document(str(path))
    (table,) = document.tables
    shown = model.by_group("party")
    assert len(table.rows) == shown["concept"].nunique() + 1
    heads = [cell.text for cell in table.rows[0].cells]
    assert heads[:2] == ["No.", "Concept"]
    first = dict(zip(heads, (cell.text for cell in table.rows[1].cells)))
    one = shown.iloc[0]
    interval = f"{100 * one['prevalence_low']:.1f}–{100 * one['prevalence_high']:.1f}"
    assert first[f"A (n = {one['n_rows']})"] == f"{100 * one['prevalence']:.1f} ({interval})"
    assert document.paragraphs[0].text == "Prevalence of the concepts by party."


def test_a_table_that_cannot_be_made_names_what_it_needs(tmp_path):
    model = planted_model()
    for name, needs in (("effects", "--formula"), ("nonsense", "choose one of")):
        with pytest.raises(InputError, match=needs):
            export(model, tmp_path / "x.csv", table=name)
    with pytest.raises(InputError, match="names no format"):
        export(model, tmp_path / "x.odt")


def test_json_holds_the_tables(tmp_path):
    model = planted_model()
    (path,) = export(model, tmp_path / "deep" / "out.json", "json")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["verdict"] == str(model.verdict())
    assert content["concepts"][0]["top_words"] == model.top_words(1)
    assert len(content["documents"]) == len(model.documents())
    assert content["vocabulary"][0]["word"] == ODD_WORDS[0]
    assert content["convergence"][0]["quantity"] == "log_joint"


def test_netcdf_holds_the_traces(tmp_path):
    (path,) = export(planted_model(), tmp_path / "trace.nc", "netcdf")
    with xarray.open_datatree(path, engine="h5netcdf") as trace:
        for name in ("log_joint", "n_concepts"):
            assert trace["posterior"][name].dims == ("chain", "draw")
            wanted = planted_model().trace_["posterior"][name]
            assert np.array_equal(trace["posterior"][name], wanted)


def test_pyldavis_gets_distributions(tmp_path):
    model = planted_model()
    (path,) = export(model, tmp_path / "vis.json", "pyldavis")
    content = json.loads(path.read_text(encoding="utf-8"))
    words, documents = (np.array(content[name]) for name in ("topic_term_dists", "doc_topic_dists"))
    assert words.shape == (model.n_concepts_, 40)
    assert documents.shape == (40, model.n_concepts_)
    np.testing.assert_allclose(words.sum(axis=1), 1)
    np.testing.assert_allclose(documents.sum(axis=1), 1)
    assert (words > 0).all()
    assert content["doc_lengths"] == [60] * 40
    assert sum(content["term_frequency"]) == 2400
    assert content["vocab"] == model.corpus_.vocabulary
    best = np.argmax(words[0])
    assert model.corpus_.vocabulary[best] in model.words_of(1).nlargest(3, "share_used")["word"].tolist()


def test_documents_without_words_are_left_out_of_pyldavis():
    model = edge_model("a document without words")
    content = pyldavis_input(model)
    assert content["doc_lengths"] == [3, 4]
    np.testing.assert_allclose(np.sum(content["doc_topic_dists"], axis=1), 1)


def test_documents_without_a_concept_are_left_out_of_pyldavis():
    model = copy.copy(planted_model()).hide([1, 2, 3])
    assert (model.result_.weights.sum(axis=1) == 0).any()
    shares = np.sum(pyldavis_input(model)["doc_topic_dists"], axis=1)
    assert 0 < len(shares) < 40
    np.testing.assert_allclose(shares, 1)


@pytest.mark.parametrize("name", EDGES)
def test_models_at_the_borders_are_exported(tmp_path, name):
    model = edge_model(name)
    for kind in ("csv", "latex", "xlsx", "docx", "parquet", "json", "netcdf"):
        assert all(path.exists() for path in export(model, tmp_path / kind, kind))
    if model.n_concepts_ == 0:
        with pytest.raises(InputError, match="no concepts"):
            export(model, tmp_path / "vis.json", "pyldavis")


def test_what_cannot_be_written_is_said(tmp_path):
    with pytest.raises(InputError, match="choose one of csv, parquet, xlsx"):
        export(planted_model(), tmp_path / "a", "ods")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        export(planted_model(), tmp_path / "file" / "a.json", "json")
