"""Tests with right answers: the tasks, serving them, and what the answers say."""

from __future__ import annotations

import re
from dataclasses import replace

import httpx
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from cli_for_tests import run
from models_for_tests import fit, planted_corpus, planted_model
from servers_for_tests import serving_app
from superwords.errors import InputError
from superwords.study import choices
from superwords.study.pairs import load_study, save_study
from superwords.study.server import create_app, pages_of
from superwords.study.votes import VoteStore

KINDS = ["words", "documents", "labels"]


def texts():
    corpus = planted_corpus()
    return [f"Text {d}: " + " ".join(np.array(corpus.vocabulary)[row.indices]) for d, row in enumerate(corpus.counts)]


def tasks(kinds=KINDS):
    return choices.make_tasks(planted_model(), kinds, texts=texts())


def study(per_person=6):
    return choices.build_choice_study(tasks(), "Which does not belong?", "planted words", per_person)


def test_every_listed_concept_has_an_intruder_that_it_does_not_use():
    model = planted_model()
    found = [task for task in tasks(["words"]) if task.kind == choices.WORDS]
    table = model.concepts()
    assert [task.concept for task in found] == table.loc[~table["leftover"], "concept"].tolist()
    for task in found:
        intruder, *own = task.options
        words = set(model.words_of(task.concept)["word"])
        assert set(own) <= words
        assert set(own) == set(model.top_words(task.concept, len(own)))
        assert len(set(task.options)) == len(task.options)
        weights = choices.concept_weights(model)[task.concept - 1]
        assert weights[model.corpus_.vocabulary.index(intruder)] == 0


def test_an_intruding_document_does_not_use_the_concept_and_a_label_is_the_heaviest():
    model = planted_model()
    weights, known = np.asarray(model.doc_concept_), texts()
    found = tasks(["documents", "labels"])
    assert {task.kind for task in found} >= {choices.LABELS}
    for task in found:
        if task.kind == choices.DOCUMENTS:
            rows = [known.index(option) for option in task.options]
            assert weights[rows[0], task.concept - 1] == 0
            assert (weights[rows[1:], task.concept - 1] > 0).all()
        if task.kind == choices.LABELS:
            d = known.index(task.text)
            assert weights[d].argmax() == task.concept - 1
            names = dict(zip(model.concepts()["concept"], model.concepts()["name"]))
            assert task.options[0] == names[task.concept]


def test_texts_that_are_not_kept_and_unknown_tests_are_refused():
    with pytest.raises(InputError, match="only `--test words`"):
        choices.make_tasks(fit(replace(planted_corpus(), texts=None)), ["documents"])
    with pytest.raises(InputError, match="'topics' is not a test; give some of words, documents, labels"):
        choices.make_tasks(planted_model(), ["topics"])


def test_people_answer_the_least_answered_tasks_once_and_see_no_right_answer(tmp_path):
    made = study(per_person=4)
    path = save_study(made, tmp_path / "tests.json")
    store = VoteStore.for_study(tmp_path / "tests.votes", load_study(path))
    n_tasks = sum(task["kind"] != choices.CONTROL for task in made["tasks"])
    with serving_app(create_app(pages_of(made, store))) as address:
        for _ in range(-(-n_tasks // 4)):
            with httpx.Client(base_url=address, timeout=30) as client:
                html = client.get("/").text
                token, items = (re.search(rf'name="{n}" value="([^"]*)"', html)[1] for n in ("token", "items"))
                fields = {"token": token, "items": items, "follows": "yes", "attention": "closely"}
                for place in range(1, len(items.split(",")) + 1):
                    values = re.findall(rf'name="q{place}" value="([0-9a-f]+)"', html)
                    assert values == sorted(values)
                    fields[f"q{place}"] = values[0]
                incomplete = client.post("/vote", data={**fields, "q1": "0"})
                assert incomplete.status_code == 422
                forged = client.post("/vote", data={**fields, "items": "1"})
                assert forged.status_code == 403
                assert client.post("/vote", data=fields).status_code == 303
                assert client.post("/vote", data=fields).status_code == 409
    answered = store.task_counts()
    assert set(answered) == set(range(1, len(made["tasks"]) + 1))
    counts = [n for task, n in answered.items() if made["tasks"][task - 1]["kind"] != choices.CONTROL]
    assert max(counts) - min(counts) <= 1


def answers(share, n_people=12, fails=("p0",)):
    """People who answer this share of 20 word tasks right; task 21 is a control, which some fail."""
    rng = np.random.default_rng(0)
    asked = [{"kind": choices.WORDS, "concept": 1 + t % 4, "options": list("abcdef"), "text": ""} for t in range(20)]
    asked.append({"kind": choices.CONTROL, "concept": 0, "options": list("abcd"), "text": ""})
    given = []
    for person in range(n_people):
        name = f"p{person}"
        for t in range(1, 21):
            given.append((name, "closely", t, 0 if rng.random() < share else int(rng.integers(1, 6))))
        given.append((name, "closely", 21, int(name in fails)))
    return choices.answer_table(given, asked), asked


def test_shares_have_exact_intervals_and_leave_out_who_failed_a_control():
    table, _ = answers(0.8)
    found = choices.shares(table).set_index("group")
    kept = table[(table["participant"] != "p0") & (table["kind"] == choices.WORDS)]
    row = found.loc["everyone"]
    assert row["answers"] == 11 * 20
    assert row["right"] == pytest.approx(kept["correct"].mean())
    right = int(kept["correct"].sum())
    assert row["low"] == pytest.approx(stats.beta.ppf(0.025, right, 221 - right))
    assert row["p"] < 1e-6
    assert found.loc["everyone, also who failed a control", "answers"] == 240
    assert len(choices.by_concept(table)) == 4


def test_krippendorffs_alpha_is_that_of_the_textbook():
    """Krippendorff's example of two observers and nominal data: ten units, α = 0.095 for 0 and 1."""
    first, second = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]
    rows = [(t, chosen) for values in (first, second) for t, chosen in enumerate(values, 1)]
    table = pd.DataFrame(rows, columns=["task", "chosen"])
    assert choices.krippendorff_alpha(table) == pytest.approx(0.095, abs=0.001)
    assert np.isnan(choices.krippendorff_alpha(table[:10]))


def test_power_and_the_answers_needed_are_those_of_the_formulas():
    # 10 answers at chance 1/6: five or more right are needed (P = 0.015), six would be too many.
    assert choices.power(10, 0.6, 1 / 6) == pytest.approx(stats.binom.sf(4, 10, 0.6))
    assert choices.answers_needed(0.1) == 356  # 70% against 60%, as in every table of sample sizes
    with pytest.raises(InputError, match="must lie between"):
        choices.answers_needed(0.8, 0.7)


def test_the_tables_are_those_of_validateit():
    table, asked = answers(0.5)
    record, result = choices.record_table(asked), choices.result_table(table, asked)
    assert list(record.columns)[-1] == "optcrt"
    assert (record["optcrt"] == "a").all()
    merged = result.merge(record, on="local_task_id")
    assert ((merged["result"] == merged["optcrt"]) == (merged["correct"] == 1)).all()
    assert result["worker_id"].nunique() == 12


def test_the_commands_create_and_summarise(tmp_path, capsys):
    corpus = replace(planted_corpus(), texts=texts())
    fit(corpus).save(tmp_path / "model.sw")
    made = run(capsys, "study", "create", tmp_path / "model.sw", "--test", "words,labels", "-o", tmp_path / "t.json")
    assert made.code == 0, made.err
    assert "ask for 356 answers to each" in made.out + made.err
    store = VoteStore.for_study(tmp_path / "t.votes", load_study(tmp_path / "t.json"))
    for person in range(3):
        store.add(f"p{person}", True, "little", [(t, 0) for t in range(1, len(store.tasks) + 1)])
    found = run(capsys, "study", "results", tmp_path / "t.votes", "--csv", tmp_path / "answers.csv")
    assert found.code == 0, found.err
    assert "word intrusion" in found.out
    assert pd.read_csv(tmp_path / "answers.csv")["correct"].all()
    assert "optcrt" in pd.read_csv(tmp_path / "answers.record.csv")
    as_json = run(capsys, "study", "results", tmp_path / "t.votes", "--json").json
    assert as_json["tests"][0]["right"] == 1
    assert "356 answers" in run(capsys, "study", "power").out
