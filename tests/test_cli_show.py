"""`superwords show`, `export` and `transform`: a saved model for people and for scripts."""

import ast
import csv
import io
import json
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cli_for_tests import THEMES, loaded, model_file, run, write_documents
from models_for_tests import EDGES, edge_model, passage_model, planted_model
from superwords import ConceptModel
from superwords.analysis import tables


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return model_file(tmp_path_factory.mktemp("show"))


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    return planted_model().save(tmp_path_factory.mktemp("planted") / "planted.sw")


def said_in(text):
    return " ".join(text.split())


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text)))


def test_all_concepts(capsys, model):
    shown = run(capsys, "show", model)
    assert shown.code == 0
    assert shown.err == ""
    fitted = loaded(model)
    assert f"{fitted.n_concepts_} concepts in 24 documents, 12 different words." in shown.out
    assert re.search(r"The listed concepts use \d+% of the counted words[;.]", " ".join(shown.out.split()))
    assert run(capsys, "show", model, "--json").json["n_concepts"] == fitted.n_concepts_
    assert len(rows_of(run(capsys, "show", model, "--csv").out)) == fitted.n_concepts_


def test_one_concept(capsys, model):
    shown = run(capsys, "show", model, "--concept", 1)
    assert shown.code == 0
    told = run(capsys, "show", model, "--concept", 1, "--json").json
    assert told["concept"] == 1
    assert told["word_table"][0]["word"] in shown.out
    assert told["documents_shown"][0]["document"] in shown.out
    assert "The " in told["documents_shown"][0]["passage"]
    words = [row["word"] for row in rows_of(run(capsys, "show", model, "--concept", 1, "--csv").out)]
    assert words == [row["word"] for row in told["word_table"]]


def test_one_document(capsys, model):
    told = run(capsys, "show", model, "--document", "speaker 3", "--json").json
    assert {row["document"] for row in told} == {"speaker 3"}
    assert run(capsys, "show", model, "--document", "speaker 3").code == 0


def test_one_word(capsys, model):
    word = loaded(model).corpus_.vocabulary[0]
    told = run(capsys, "show", model, "--word", word, "--json").json
    assert told["word"] == word
    assert told["similar_words"]
    theme = next(words for words in THEMES.values() if word in words)
    assert told["similar_words"][0]["word"] in theme
    assert word in run(capsys, "show", model, "--word", word).out


def test_several_words_and_those_that_belong_with_them(capsys, model):
    words = next(iter(THEMES.values()))
    known = [word for word in words if word in loaded(model).corpus_.vocabulary]
    told = run(capsys, "show", model, "--word", f"{known[0]}, {known[1]}", "--json").json
    assert told["words"] == known[:2]
    assert told["similar_words"][0]["word"] in known[2:]
    shown = run(capsys, "show", model, "--word", f"{known[0]},{known[1]}")
    assert f"Words that belong with {known[0]}, {known[1]}:" in shown.out
    bad = run(capsys, "show", model, "--word", f"{known[0]},nowhere")
    assert (bad.code, bad.err.count("\n")) == (1, 1), bad.err
    assert "The word 'nowhere' is not in the vocabulary" in bad.err


def test_groups_of_two(capsys, model):
    told = run(capsys, "show", model, "--groups", "party", "--json").json
    assert {row["group"] for row in told["groups"]} == {"A", "B"}
    assert told["differences"]
    assert "A − B" in run(capsys, "show", model, "--groups", "party").out


def test_groups_of_three(capsys, model):
    assert run(capsys, "show", model, "--groups", "year", "--json").json["differences"] is None
    assert run(capsys, "show", model, "--groups", "year").code == 0


def test_convergence(capsys, model):
    told = run(capsys, "show", model, "--convergence", "--json").json
    assert told["quantities"][0]["quantity"] == "log_joint"
    assert told["verdict"] in run(capsys, "show", model, "--convergence").out.replace("\n", " ")


@pytest.mark.parametrize(
    ("view", "said"),
    [
        (["--concept", "99"], "There is no concept 99"),
        (["--concept", "0"], "There is no concept 0"),
        (["--document", "nobody"], "There is no document 'nobody'"),
        (["--word", "aple"], "did you mean 'apple'"),
        (["--groups", "colour"], "There is no column 'colour'"),
    ],
)
def test_what_is_not_there(capsys, model, view, said):
    found = run(capsys, "show", model, *view)
    assert (found.code, found.out) == (1, "")
    assert said in found.err
    assert found.err.count("\n") == 1


def test_a_file_that_is_no_model(capsys, tmp_path):
    (tmp_path / "x.sw").write_text("hello")
    assert "is not a superwords model" in run(capsys, "show", tmp_path / "x.sw").err


LEGEND = "* Leftover, not to be relied on: a handful of documents, a single word, or seldom found again in fits"
VIEWS = [[], ["--concept", "1"], ["--groups", "party"], ["--convergence"]]


@pytest.mark.parametrize("view", VIEWS)
def test_words_are_shown_as_they_are(capsys, planted, view):
    """Words that look like markup or HTML, and other scripts, come through."""
    shown = run(capsys, "show", planted, *view)
    assert shown.code == 0
    told = run(capsys, "show", planted, *view, "--json")
    assert told.code == 0
    json.loads(told.out)


def test_markup_in_a_word_is_not_taken_for_markup(capsys, tmp_path):
    from superwords import Corpus

    corpus = Corpus.from_counts(np.full((6, 2), 3), ["[red]alert[/red]", "[/]"])
    fitted = ConceptModel(n_sweeps=8, random_state=1).fit(corpus)
    path = fitted.save(tmp_path / "odd.sw")
    assert "[red]alert[/red]" in run(capsys, "show", path, "--concept", 1).out
    assert "[/]" in run(capsys, "show", path, "--word", "[/]").out


@pytest.mark.parametrize("name", EDGES)
def test_models_at_the_borders(capsys, tmp_path, name):
    path = edge_model(name).save(tmp_path / "edge.sw")
    corpus = edge_model(name).corpus_
    one = ["--document", corpus.ids[0]], ["--word", corpus.vocabulary[0]], ["--concept", "1"]
    for view in ([], ["--groups", "party"], ["--convergence"], *one):
        for more in ([], ["--json"], ["--csv"]):
            found = run(capsys, "show", path, *view, *more)
            if found.code:
                assert found.err.count("\n") == 1
                assert "something went wrong" not in found.err


@pytest.mark.parametrize("view", ["", "--concept 2", "--document", "--word", "--groups party"])
@pytest.mark.parametrize("is_leftover", [True, False])
def test_every_concept_with_its_mark_and_the_chains_that_find_it(capsys, monkeypatch, view, is_leftover):
    """The planted model, as if its second concept were found by 7 of 9 chains, and were a leftover or not."""
    fitted, concept_table = planted_model(), tables.concept_table

    def as_if(result, n_words=10):
        table = concept_table(result, n_words)
        second = table["concept"] == 2
        by_chain = pd.Series([[1.0] * 9] * len(table), dtype=object)
        found_by = table["found_by"].mask(second, 7)
        rows = table["rows"].mask(second & is_leftover, 3)
        return table.assign(leftover=second & is_leftover, found_by=found_by, stability_by_chain=by_chain, rows=rows)

    monkeypatch.setattr(tables, "concept_table", as_if)
    monkeypatch.setattr("superwords.storage.model.read_result", lambda path: fitted.result_)
    holder = f"doc {np.flatnonzero(fitted.doc_concept_[:, 1])[0]}"
    more = {"--document": [holder], "--word": planted_model().top_words(2, 1)}.get(view, [])
    shown = run(capsys, "show", "planted.sw", *view.split(), *more).out
    if view == "--concept 2":
        assert "found by 7 of 9 chains" in said_in(shown)
        assert (LEGEND in said_in(shown)) == is_leftover
        return
    rows = [words for line in shown.splitlines() if (words := line.split())]
    second = next(words for words in rows if words[0] in ("2", "*2"))
    assert second[0] == ("*2" if is_leftover else "2")
    assert "7 of 9" in " ".join(second)
    assert (LEGEND in said_in(shown)) == is_leftover
    assert "*1" not in shown


def test_passages_are_called_so_and_their_documents_counted(capsys, tmp_path):
    path = passage_model().save(tmp_path / "passages.sw")
    table = passage_model().concepts()
    shown = run(capsys, "show", path).out
    assert f"{len(table)} concepts in 40 passages of 10 documents, 40 different words." in shown
    head = next(line for line in shown.splitlines() if line.split()[:1] == ["concept"])
    assert head.split()[:3] == ["concept", "passages", "documents"]
    first = next(line.split() for line in shown.splitlines() if line.split()[:1] == ["1"])
    numbers = [word for word in first[1:] if word.isdecimal()]
    means = [table[name][0] for name in ("rows", "documents")]
    assert numbers[:2] == [f"{mean:.0f}" for mean in means]
    one = run(capsys, "show", path, "--concept", 1).out
    assert f"Used by {numbers[0]} passages" in one
    assert f", in {numbers[1]} of the documents;" in one
    assert "Passages that show what it is:" in one
    assert "share of the passages using the concept that use the word" in said_in(one)
    assert " passages." in run(capsys, "show", path, "--word", "word20").out
    told = run(capsys, "show", path, "--json").json
    assert (told["rows"], told["documents"]) == (40, 10)


def said(shown):
    return said_in(shown.out)


def test_counts_and_shares_are_means_over_the_draws(capsys, planted):
    table = planted_model().concepts()
    shown = run(capsys, "show", planted)
    assert "are means over the draws that find the concept." in said(shown)
    for row in table.itertuples():
        line = next(
            line
            for line in shown.out.splitlines()
            if line.split()[:1] in ([f"*{row.concept}"], [str(row.concept)]) and " of 2 " in line
        )
        if row.concept < 6:
            assert f" {row.rows:.0f} ({row.prevalence:.0%}) " in line
            assert f" {row.found_by} of 2 " in line


def test_a_concept_counts_and_lists_the_words_that_are_used(capsys, planted):
    words, known = planted_model().words_of(1), planted_model().concepts().iloc[0]
    assert len(words) < 40
    shown = said(run(capsys, "show", planted, "--concept", 1))
    assert f"On average a draw uses {known['n_words']:.0f} words for it." in shown
    assert f"found by {known['found_by']} of 2 chains; coherence {known['coherence']:.2f}." in shown
    assert ("more words." in shown) == (len(words) > 25)


def test_a_document_is_told_by_how_sure_its_concepts_are(capsys, planted):
    told = run(capsys, "show", planted, "--document", "doc 3", "--json").json
    held = [one["probability"] for one in told]
    shown = run(capsys, "show", planted, "--document", "doc 3")
    n_sure = sum(h >= 0.5 for h in held)
    assert f"doc 3 uses {n_sure} concept" in shown.out
    assert "in at least half of the draws that find each." in said(shown)
    assert "Probability that the document uses the concept; found by: how many chains" in said(shown)
    weights = [one["weight"] for one in told[:n_sure]]
    assert weights == sorted(weights, reverse=True)
    assert held[n_sure:] == sorted(held[n_sure:], reverse=True)
    listed = [line for line in shown.out.splitlines() if line.strip("* ")[:1].isdecimal()]
    assert len(listed) == max(1, sum(h >= 0.1 for h in held))


def test_a_word_stands_beside_others_with_a_graded_figure(capsys, planted):
    told = run(capsys, "show", planted, "--word", "word20", "--json").json
    first = told["similar_words"][0]
    shown = run(capsys, "show", planted, "--word", "word20")
    line = next(line.split() for line in shown.out.splitlines() if line.split()[:1] == [first["word"]])
    assert line[1] == f"{first['together']:.0%}"
    assert "one that uses the other; this is the probability that both use them for the same concept" in said(shown)
    own = told["concept_table"][0]
    line = next(line for line in shown.out.splitlines() if line.split()[:1] == [str(own["concept"])])
    assert f" {own['share_used']:.0%} " in line
    words = planted_model().words_of(own["concept"]).set_index("word")
    assert own["share_used"] == pytest.approx(words["share_used"]["word20"])


def test_groups_say_what_their_shares_are_of_and_whether_chains_agree(capsys, tmp_path):
    path = passage_model().save(tmp_path / "passages.sw")
    shown = said(run(capsys, "show", path, "--groups", "party"))
    assert "Used by: share of the group's passages that use the concept" in shown
    assert "Difference: A − B in percentage points, with a 95% interval." in shown
    assert shown.endswith(str(passage_model().verdict()))


@pytest.mark.parametrize(
    ("name", "why"), [("one draw", "1 draw per chain cannot be judged"), ("one chain", "one chain")]
)
def test_what_convergence_cannot_tell_is_said(capsys, tmp_path, name, why):
    path = edge_model(name).save(tmp_path / "edge.sw")
    shown = run(capsys, "show", path, "--convergence").out
    assert why in shown
    assert "nan" not in shown


def test_no_word_is_cut_off_on_a_narrow_terminal(capsys, monkeypatch, tmp_path):
    path = passage_model().save(tmp_path / "passages.sw")
    monkeypatch.setattr("superwords.cli.printing._UNSEEN", 80)
    shown = run(capsys, "show", path).out.replace(",", " ").replace(":", " ").split()
    for words in passage_model().concepts(8)["top_words"]:
        assert {word for word in words if word.startswith("word")} <= set(shown)


def test_passages_and_their_sources(capsys, tmp_path):
    path = passage_model().save(tmp_path / "passages.sw")
    source = run(capsys, "show", path, "--document", "source 2", "--json").json
    passage = run(capsys, "show", path, "--document", "source 2#1", "--json").json
    assert {row["document"] for row in source} == {"source 2"}
    assert {row["document"] for row in passage} == {"source 2#1"}


@pytest.mark.parametrize("kind", ["csv", "json", "netcdf", "pyldavis"])
def test_export(capsys, model, tmp_path, kind):
    told = run(capsys, "export", model, "--format", kind, "-o", tmp_path / "out", "--json").json
    tables = ["concepts", "words", "documents", "documents_wide", "vocabulary", "trends", "periods", "quotes"]
    names = [f"out/{table}.csv" for table in tables] if kind == "csv" else ["out"]
    assert told["files"] == [str(tmp_path / name) for name in names]
    assert all((tmp_path / name).is_file() for name in names)
    assert "Wrote" in run(capsys, "export", model, "-f", kind, "-o", tmp_path / "again").out
    assert run(capsys, "export", model, "-f", kind, "-o", tmp_path / "quiet", "-q").out == ""


def test_export_formats_are_those_of_the_package():
    from superwords.analysis.export import FORMATS as PACKAGE_FORMATS
    from superwords.cli.paper import FORMATS

    assert FORMATS == PACKAGE_FORMATS


def test_transform_finds_words_as_the_model_did_and_says_which_are_unknown(capsys, model, tmp_path):
    first = loaded(model).corpus_.vocabulary[0]
    source = tmp_path / "new.csv"
    source.write_text(f'text\n"The {first} met the zeppelin."\nNothing at all.\n')
    shown = run(capsys, "transform", model, source)
    assert shown.code == 0, shown.err
    assert "Words unknown to the model, not counted: 2 (met, zeppelin, …)." in shown.err
    assert "Documents without any word that the model knows (all weights 0): 1." in shown.err
    rows = rows_of(shown.out)
    assert [row["document"] for row in rows] == ["0", "1"]
    assert {float(value) for name, value in rows[1].items() if name != "document"} == {0.0}


def test_transform_of_counts_with_other_words(capsys, planted, tmp_path):
    vocabulary = planted_model().corpus_.vocabulary
    words = [*vocabulary[10:], "zeppelin"]
    sparse.save_npz(tmp_path / "new.npz", sparse.csr_array(np.full((3, len(words)), 2)))
    (tmp_path / "new.txt").write_text("\n".join(words) + "\n")
    found = run(capsys, "transform", planted, tmp_path / "new.npz", "--json")
    assert found.code == 0, found.err
    assert found.json["unknown_words"] == 6
    assert found.err == "Words unknown to the model, not counted: 6 (zeppelin, …).\n"
    texts = run(capsys, "transform", planted, write_documents(tmp_path), "--text", "speech")
    assert texts.code == 1
    assert "not fitted to raw texts" in texts.err


def test_transform_new_documents(capsys, model, tmp_path):
    source = write_documents(tmp_path, 6)
    with source.open("a") as file:
        file.write("stranger,A,The zeppelin and the apple were near the pear.,2001\n")
    output = tmp_path / "weights.csv"
    options = ["--text", "speech", "--id", "name"]
    found = run(capsys, "transform", model, source, *options, "-o", output)
    assert found.code == 0, found.err
    assert "Words unknown to the model" in found.err
    assert "zeppelin" in found.err
    rows = rows_of(output.read_text())
    assert [row["document"] for row in rows] == [f"speaker {d}" for d in range(6)] + ["stranger"]
    n_concepts = loaded(model).n_concepts_
    weights = np.array([[float(row[f"concept_{j + 1}"]) for j in range(n_concepts)] for row in rows])
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert run(capsys, "transform", model, source, *options).out == output.read_text()
    told = run(capsys, "transform", model, source, *options, "--json", "-q")
    assert told.err == ""
    assert told.json["unknown_words"] >= 1
    first = {one["concept"]: one["weight"] for one in told.json["documents"][0]["concepts"]}
    assert first == {j + 1: w for j, w in enumerate(weights[0]) if w > 0}


def test_transform_says_what_it_cannot_use(capsys, model, tmp_path):
    source = write_documents(tmp_path, 6)
    assert "no text column" in run(capsys, "transform", model, source, "--text", "x").err
    missing = run(capsys, "transform", model, source, "--text", "speech", "-o", tmp_path / "no" / "w.csv")
    assert missing.code == 1
    assert "There is no folder" in missing.err


def test_two_columns_of_groups_are_both_shown(capsys, model):
    shown = said_in(run(capsys, "show", model, "--groups", "party", "--groups", "year").out)
    assert "Documents by party: A 12, B 12." in shown
    assert "Documents by year: 2000 8, 2001 8, 2002 8." in shown
    told = run(capsys, "show", model, "--groups", "party", "--groups", "year", "--json").json
    assert {row["group"] for row in told["party"]["groups"]} == {"A", "B"}
    assert len({row["group"] for row in told["year"]["groups"]}) == 3
    rows = rows_of(run(capsys, "show", model, "--groups", "party", "--groups", "year", "--csv").out)
    assert {row["column"] for row in rows} == {"party", "year"}


def test_the_largest_difference_between_groups_comes_first(capsys, planted):
    largest = planted_model().compare_groups("party").iloc[0]
    shown = run(capsys, "show", planted, "--groups", "party").out
    first = next(line.split() for line in shown.splitlines() if line.strip("* ")[:1].isdecimal())
    assert first[0].strip("*") == str(largest["concept"])


@pytest.mark.parametrize("width", [30, 60, 80, 140, 300])
def test_nothing_in_a_table_is_cut_off_at_any_width(capsys, monkeypatch, width):
    from superwords.cli import printing

    monkeypatch.setattr(printing, "_UNSEEN", width)
    monkeypatch.delenv("COLUMNS", raising=False)  # an earlier test, or a terminal, may have set it
    words = "insurance companies, health care, Donaudampfschifffahrtsgesellschaft"
    names = ("", "concept", "document", "share", "documents")
    columns = {name: printing.left(name) for name in names}
    record = dict(zip(columns, (1, words, "speech of May", "12%", "1,234")))
    left_out = printing.print_table([record], columns, optional=["documents"])
    shown = capsys.readouterr().out
    assert all(len(line) <= width for line in shown.splitlines())
    letters = "".join(shown.split())
    assert "…" not in letters
    assert left_out == (["documents"] if width < 80 else [])
    for word in ("speech", "12%", *([] if left_out else ["1,234"])):
        assert word in letters
    assert len([c for c in letters if c == "D"]) == 1
    if width >= 140:
        assert words in shown


def test_show_of_a_known_model_imports_no_sampler(model, monkeypatch, tmp_path):
    """The summary and the figures of convergence are cached; what samples or judges is not imported again."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    code = f"import sys; from superwords.cli.main import main; main(['show', {str(model)!r}])\n"
    code += "print(sorted({name.partition('.')[0] for name in sys.modules}))"
    for _ in range(2):
        shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(ast.literal_eval(shown.stdout.splitlines()[-1]))
    assert not {"numba", "sklearn", "arviz_stats", "xarray", "matplotlib"} & imported
