"""`superwords write` and `verify`: what a paper holds, and that it can be computed again from its manifest."""

import copy
import json

import pandas as pd
import pytest

from cli_for_tests import QUICK, run, write_documents
from models_for_tests import edge_model, planted_model
from superwords import fit, load
from superwords.errors import InputError
from superwords.paper.manifest import data_facts, make_manifest, read_manifest, verify
from superwords.paper.methods import methods_paragraph
from superwords.paper.write import write_paper


@pytest.fixture(scope="module")
def paper(tmp_path_factory):
    """A paper written by the command line, with a concept that was named."""
    from superwords.cli.main import main

    folder = tmp_path_factory.mktemp("paper")
    source, model = write_documents(folder), folder / "model.sw"
    columns = ["--text", "speech", "--id", "name", "--groups", "party"]
    assert main(["fit", str(source), *columns, *QUICK, "-o", str(model), "--quiet"]) == 0
    assert main(["edit", str(model), "--name", "1", "Fruit & veg", "--quiet"]) == 0
    asked = ["--formula", "party + year", "--quiet"]
    assert main(["write", str(model), "-o", str(folder / "paper"), *asked]) == 0
    return folder, source, load(model)


def test_the_folder_holds_all_a_paper_needs(paper):
    folder, _, _ = paper
    out = folder / "paper"
    for name in ("methods.md", "methods.tex", "references.bib", "paper.docx", "manifest.json"):
        assert (out / name).stat().st_size > 0, name
    tables = {path.name for path in (out / "tables").iterdir()}
    for name in ("concepts", "groups", "trends", "effects", "quotes"):
        assert {f"{name}.tex", f"{name}.csv"} <= tables
    figures = sorted(path.name for path in (out / "figures").iterdir())
    assert figures == ["effects.pdf", "prevalence_party.pdf", "trends_year.pdf"]
    assert all((out / "figures" / name).read_bytes().startswith(b"%PDF") for name in figures)
    assert pd.read_csv(out / "tables" / "concepts.csv")["name"][0] == "Fruit & veg"
    assert r"Fruit \& veg" in (out / "tables" / "concepts.tex").read_text(encoding="utf-8")


def test_the_methods_have_the_figures_of_the_run(paper):
    folder, _, model = paper
    text = (folder / "paper" / "methods.md").read_text(encoding="utf-8")
    corpus = model.corpus_
    assert f"{corpus.n_documents} documents" in text
    assert f"{corpus.n_words} different ones, {int(corpus.counts.sum())} in all" in text
    assert "2 chains of 16 sweeps, discarded the first 4 and kept every 2nd draw (seed 7)" in text
    assert f"{len(model.concepts())} concepts were found" in text
    assert "party + year" in text
    assert "1 concept was named" in text
    tex = (folder / "paper" / "methods.tex").read_text(encoding="utf-8")
    assert r"\cite{elarini2012superwords}" in tex
    assert "95\\%" in tex
    assert "{elarini2012superwords," in (folder / "paper" / "references.bib").read_text(encoding="utf-8")


def test_word_has_methods_tables_and_figures(paper):
    from docx import Document

    folder, _, model = paper
    document = Document(str(folder / "paper" / "paper.docx"))
    assert document.paragraphs[1].text == (folder / "paper" / "methods.md").read_text(encoding="utf-8").strip()
    assert len(document.tables) == 5
    assert len(document.tables[0].rows) == len(model.concepts()) + 1
    assert len(document.inline_shapes) == 3


def test_the_same_data_and_versions_give_the_same_bits(paper, capsys):
    folder, source, _ = paper
    shown = run(capsys, "verify", folder / "paper" / "manifest.json", source, "--json", "--quiet")
    assert shown.code == 0, shown.err
    assert shown.json["same_data"]
    assert shown.json["same_bits"]
    assert shown.json["versions"] == {}
    told = run(capsys, "verify", folder / "paper" / "manifest.json", source)
    assert "same bits" in told.out


def test_changed_data_are_seen(paper, capsys, tmp_path):
    folder, source, _ = paper
    table = pd.read_csv(source)
    table.loc[0, "speech"] = "The wheel and the brake were near the engine."
    table.to_csv(tmp_path / "changed.csv", index=False)
    shown = run(capsys, "verify", folder / "paper" / "manifest.json", tmp_path / "changed.csv")
    assert shown.code == 1
    assert "The data differ" in shown.out
    assert "The new fit differs" in shown.out
    assert "could not be confirmed" in shown.err


def test_another_version_is_named_and_concepts_are_compared(paper, tmp_path):
    folder, source, _ = paper
    content = json.loads((folder / "paper" / "manifest.json").read_text(encoding="utf-8"))
    content["versions"]["numpy"] = "1.0"
    content["results"]["digest"] = "0"
    (tmp_path / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
    found = verify(tmp_path / "manifest.json", source)
    assert not found.same_bits
    assert found.versions["numpy"][0] == "1.0"
    assert found.n_found_again == found.n_concepts[0]
    assert found.largest_change == 0
    assert found.passed
    content["results"]["concepts"][0]["words"] = ["nothing", "of", "the", "kind"]
    (tmp_path / "manifest.json").write_text(json.dumps(content), encoding="utf-8")
    found = verify(tmp_path / "manifest.json", source)
    assert found.n_found_again == found.n_concepts[0] - 1
    assert not found.passed


def test_a_corpus_fitted_in_python_is_verified_by_the_same_corpus(tmp_path):
    model = planted_model()
    write_paper(model, tmp_path / "paper", groups="party")
    with pytest.raises(InputError, match="give the same Corpus"):
        verify(tmp_path / "paper" / "manifest.json", ["a text"])
    other = fit(["Milk and sugar for the coffee.", "The boat left the harbour."] * 6, min_df=2, n_sweeps=4)
    assert data_facts(other.corpus_)["fingerprint"] != data_facts(model.corpus_)["fingerprint"]


def test_the_manifest_records_what_was_decided(tmp_path):
    model = copy.deepcopy(planted_model())
    model.choose([]).hide(2).rename({1: "First"})
    manifest = make_manifest(model)
    assert [(one["kind"], one["concept"]) for one in manifest["decisions"]] == [("hide", 2), ("name", 1)]
    assert manifest["results"]["concepts"][0]["name"] == "First"
    assert manifest["seed"] == model.seed_
    assert json.loads(json.dumps(manifest)) == manifest


def test_the_methods_count_hidden_concepts_and_say_where_the_chains_disagree():
    from superwords.analysis.export import Export

    model = copy.deepcopy(planted_model())
    n = model.n_concepts_
    model.choose([]).hide([2])
    text, found = methods_paragraph(Export(model)), model.verdict()
    assert f"{n} concepts were found; 1 is hidden, so {n - 1} are listed." in text
    agreed = f"strength of {found.n_settled} of the {n - 1} listed concepts: the means"
    assert agreed in text
    assert (f"On the other {n - 1 - found.n_settled} they differ" in text) == (found.n_settled < n - 1)
    assert "Hyperparameters were alpha_omega = " in text
    assert "the defaults" not in text


@pytest.mark.parametrize("content", ["{", "[]", '{"manifest": 99}', '{"manifest": 1}'])
def test_what_is_no_manifest_gets_one_sentence(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(InputError, match="manifest"):
        read_manifest(tmp_path / "manifest.json")
    with pytest.raises(InputError, match="cannot be read"):
        read_manifest(tmp_path / "none.json")


def test_a_model_without_concepts_has_no_paper(tmp_path):
    with pytest.raises(InputError, match="no concepts"):
        write_paper(edge_model("no concept"), tmp_path)


def test_passages_are_described(tmp_path):
    from superwords.analysis.export import Export

    texts = [f"The boat left. The tide rose. The harbour slept. Number {n} of the boats sank." for n in range(12)]
    model = fit(texts, unit="passages:2", min_df=2, n_sweeps=6, random_state=1, progress=False)
    text = methods_paragraph(Export(model))
    assert f"divided into {model.corpus_.n_documents} passages of 2 sentences" in text
    assert "The corpus has 12 documents" in text
