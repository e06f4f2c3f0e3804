"""What is exported can be read by the programs it is for."""

import json

import numpy as np
import pandas as pd
import pytest
import xarray

from models_for_tests import EDGES, ODD_WORDS, edge_model, planted_model
from superwords.concepts.exporting import export, pyldavis_input
from superwords.errors import InputError


def test_csv_tables_come_back(tmp_path):
    model = planted_model()
    written = export(model, tmp_path / "out", "csv")
    assert [path.name for path in written] == ["concepts.csv", "documents.csv", "words.csv"]
    concepts, documents, words = (pd.read_csv(path) for path in written)
    assert concepts["name"].tolist() == model.concepts()["name"].tolist()
    assert concepts["top_words"][0].split(" | ") == model.top_words(1)
    np.testing.assert_allclose(documents["weight"], model.documents()["weight"])
    shown = ["'=1+1" if word == "=1+1" else word for word in ODD_WORDS]
    assert words["word"].tolist()[: len(ODD_WORDS)] == shown
    assert words["concepts"].astype(str)[7].split(" | ") == [str(j) for j in model.words()["concepts"][7]]


def test_json_holds_the_tables(tmp_path):
    model = planted_model()
    (path,) = export(model, tmp_path / "deep" / "out.json", "json")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["verdict"] == model.verdict()
    assert content["concepts"][0]["top_words"] == model.top_words(1)
    assert len(content["documents"]) == len(model.documents())
    assert content["words"][0]["word"] == ODD_WORDS[0]
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


@pytest.mark.parametrize("name", EDGES)
def test_models_at_the_borders_are_exported(tmp_path, name):
    model = edge_model(name)
    for kind in ("csv", "json", "netcdf"):
        assert all(path.exists() for path in export(model, tmp_path / kind, kind))
    if model.n_concepts_ == 0:
        with pytest.raises(InputError, match="no concepts"):
            export(model, tmp_path / "vis.json", "pyldavis")


def test_what_cannot_be_written_is_said(tmp_path):
    with pytest.raises(InputError, match="choose one of csv, json, netcdf, pyldavis"):
        export(planted_model(), tmp_path / "a", "xlsx")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        export(planted_model(), tmp_path / "file" / "a.json", "json")
