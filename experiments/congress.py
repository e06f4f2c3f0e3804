"""The paper's experiment on Congress: concepts and HDP's topics of a health care debate.

By whole members, as the paper has it, every concept is in nearly every document. So that is one table, and the figures
are drawn from passages of the members; one passage in five is held out, to judge both models by.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import superwords
from experiments.harness import Lab, fit_topics, read_lines
from superwords.analysis.tables import coherence, presence
from superwords.compare.contest import word_sets
from superwords.compare.judging import Found, Judge, make_judges, peer_coherence, ranked
from superwords.compare.judging import matched as size_matched
from superwords.compare.splitting import Split, as_documents, make_split
from superwords.errors import InputError
from superwords.features import cooccurrence
from superwords.fitting import defaults
from superwords.fitting.estimator import ConceptModel
from superwords.plots import cloud_grid, cloud_pair, histogram
from superwords.plots.model_plots import before_after, concept_label, concept_weights, group_clouds
from superwords.study.pairs import build_study, concept_uses, create_from_concepts, matched, save_study
from superwords.study.pairs import concept_weights as telling_words
from superwords.text.corpus import Corpus

MEMBERS = "congress_health_2017.jsonl.gz"
SHOWN_WORD = "obamacare"
STUDY_WORDS = (
    "costs",
    "repeal",
    "premiums",
    "mandates",
    "insurance",
    "medicare",
    "states",
    "employers",
    "obamacare",
    "coverage",
)
MIN_DF, N_FEATURES, N_CHAINS = 10, 50, 2
MOST_CONCEPTS = 25  # per word: the paper's 99%
PARTIES = ("D", "R")
COLUMNS = ("speaker", "party", "state", "chamber")
_FOCUSED = 3
_TOP = 10
_USED = 0.1  # share of a concept's documents that use a word for it: fewer is chance
_LEAST_WORDS = 4  # that a member uses for an idea, for their wording to be compared
NEEDS, LIBRARIES = (MEMBERS,), ("tomotopy",)
QUICK = {"sweeps": 6, "passage_sweeps": 6, "hdp_iterations": 10}


def load_debate(
    data: Path, min_df: int = MIN_DF, unit: str = "document", most: int | None = None, n_jobs: int | None = None
) -> Corpus:
    """Read noun phrases and names of (at most `most`) members, without the words of procedure."""
    records = read_lines(data / MEMBERS)[:most]
    return Corpus.from_texts(
        [record["text"] for record in records],
        [record["id"] for record in records],
        {name: [record[name] for record in records] for name in COLUMNS},
        words="phrases",
        min_df=min_df,
        drop_procedural=True,
        unit=unit,
        n_jobs=n_jobs,
    )


def split_debate(data: Path, min_df: int = MIN_DF, n_jobs: int | None = None) -> Split:
    """Split the passages of the members, with their columns, into those to fit and those held out."""
    records = read_lines(data / MEMBERS)
    columns = pd.DataFrame([{name: record[name] for name in COLUMNS} for record in records])
    options = {"words": "phrases", "min_df": min_df, "drop_procedural": True, "n_jobs": n_jobs}
    texts, ids = [record["text"] for record in records], [record["id"] for record in records]
    return make_split(texts, ids, "en", options, columns)


def experiment(
    lab: Lab,
    sweeps: int = 1000,
    passage_sweeps: int = defaults.N_SWEEPS,
    hdp_iterations: int = 5000,
    min_df: int = MIN_DF,
    seed: int = 0,
) -> ConceptModel:
    """Fit both models and write every figure and table of the experiment, and the fitted concepts."""
    split = split_debate(lab.data, min_df, lab.jobs)
    lab.say(
        f"{split.documents.n_documents} members, {split.windows.n_documents} passages and "
        f"{split.windows.n_words} words to fit, {split.held_out.n_documents} passages held out"
    )
    model = superwords.fit(split.windows, n_sweeps=passage_sweeps, random_state=seed, n_jobs=lab.jobs, progress=False)
    if model.n_concepts_ == 0:
        raise InputError("The most probable draw has no concepts; give more sweeps.")
    lab.say(f"{model.n_concepts_} concepts. {model.verdict()}")
    _write_concepts(model, lab)
    _write_study(model, split, hdp_iterations, seed, lab)
    _write_protocol(load_debate(lab.data, min_df, n_jobs=lab.jobs), sweeps, seed, lab)
    return model


def _write_protocol(corpus: Corpus, n_sweeps: int, seed: int, lab: Lab) -> None:
    """Write the paper's protocol, one document per member: how many concepts, how common, how sure."""
    model = superwords.fit(
        corpus,
        n_chains=N_CHAINS,
        n_sweeps=n_sweeps,
        random_state=seed,
        features=cooccurrence(corpus, N_FEATURES),
        n_jobs=lab.jobs,
        progress=False,
    )
    per_word = (model.concept_word_ > 0).sum(axis=0)
    row = {
        "members": corpus.n_documents,
        "words": corpus.n_words,
        "tokens": corpus.n_tokens,
        "concepts": model.n_concepts_,
        "median prevalence": float(model.concepts()["prevalence"].median()),
        f"words in {MOST_CONCEPTS} concepts or fewer": float((per_word <= MOST_CONCEPTS).mean()),
        "verdict": str(model.verdict()),
    }
    lab.table("protocol.csv", pd.DataFrame([row]))
    lab.say(
        f"one document per member: {row['concepts']} concepts, the median one in "
        f"{row['median prevalence']:.0%} of the members. {row['verdict']}"
    )


def _write_concepts(model: ConceptModel, lab: Lab) -> None:
    """Write all that needs no topics, so that none of it is lost if HDP is interrupted."""
    model.save(lab.out / "congress.sw")
    table = model.concepts()
    joined = table.assign(**{"top_words": table["top_words"].map(", ".join)}).drop(
        columns=["shares", "stability_by_chain"]
    )
    lab.table("concepts.csv", joined)
    per_word = (model.concept_word_ > 0).sum(axis=0)
    share = float((per_word <= MOST_CONCEPTS).mean())
    title = f"{share:.1%} of the words are in {MOST_CONCEPTS} concepts or fewer"
    lab.figure("concepts_per_word.png", histogram(per_word, "concepts that hold a word", "words", title))
    lab.say(f"{title} (the paper: 99%); median {np.median(per_word):g}")
    chosen = focused_concepts(model)
    clouds, titles = zip(*((concept_weights(model, j), concept_label(model, j)) for j in chosen))
    lab.figure("focused.png", cloud_grid(clouds, titles, columns=3))
    lab.say("most coherent concepts: " + "; ".join(", ".join(model.top_words(j, 6)) for j in chosen))
    lab.figure("start_and_end.png", before_after(model, chosen[0]))
    _write_parties(model, lab)
    _write_wordings(model, lab)


def _best_topics(split: Split, words: list[int], judge: Judge, iterations: int, seed: int, lab: Lab) -> Found:
    """Return the HDP of members or passages, by probability or score, that reads best on held-out passages.

    Of two chains on each the one of the higher likelihood.
    """
    tried = []
    for name, rows in (("members", split.documents), ("passages", split.windows)):
        chains = [fit_topics("HDP", rows.counts, iterations, N_CHAINS * seed + c) for c in range(N_CHAINS)]
        best = max(chains, key=lambda topics: topics.log_likelihood)
        found = Found(best.topic_word, best.topic_word, np.nan)
        for ranking, npmi in peer_coherence(found, words, judge).items():
            tried.append((npmi, f"HDP of {name}, words by {ranking}", ranked(found, ranking)))
    npmi, name, found = max(tried, key=lambda one: one[0])
    lab.say(f"{name}: {len(found.weights)} topics, the best of four by NPMI on held-out passages ({npmi:.3f})")
    return found


def find_label(word: str, vocabulary: list[str]) -> str | None:
    """Return the word as the corpus spells it, or the singular or plural in its place."""
    known = {label.casefold(): label for label in vocabulary}
    spelled = (word, word.removesuffix("s"), f"{word}s")
    return next((known[form] for form in spelled if form in known), None)


def _write_study(model: ConceptModel, split: Split, hdp_iterations: int, seed: int, lab: Lab) -> None:
    """Write the study's pairs with their coherence on held-out passages, and the clouds of the shown word.

    A word that the corpus lacks is reported and left out.
    """
    vocabulary = model.corpus_.vocabulary
    labels = {word: find_label(word, vocabulary) for word in STUDY_WORDS}
    missing = [word for word, label in labels.items() if label is None]
    if missing:
        lab.say(f"not in the vocabulary, so not in the study: {', '.join(missing)}")
    found = list(dict.fromkeys(label for label in labels.values() if label is not None))
    columns = [vocabulary.index(word) for word in found]
    judge = make_judges(split.held_out)["windows"]
    topics = _best_topics(split, columns, judge, hdp_iterations, seed, lab)
    weights, m_ji = word_sets(model)
    _write_coherence(Found(weights, m_ji, np.nan), topics, judge, found, columns, lab)
    uses = concept_uses(model)
    askable = [word for word, i in zip(found, columns) if uses[:, i].any()]
    questions = create_from_concepts(telling_words(model), uses, vocabulary, topics.weights, askable)
    asked = [question for question in questions if all(matched(question))]
    if asked:
        study = build_study(asked, "Words of a debate", "the health care debate in Congress, 2017")
        save_study(study, lab.out / "study.json")
        lab.say(f"study.json: {', '.join(question.word for question in asked)}")
    shown = next((question for question in questions if question.word == labels[SHOWN_WORD]), None)
    if shown is not None:
        concept, topic = matched(shown)
        titles = [f"“{shown.word}”: concept", f"“{shown.word}”: HDP topic"]
        titles += [f"{title}, {len(concept)} words" for title in titles]  # size-matched, without the word itself
        four = [shown.concept, shown.topic, concept, topic]
        lab.figure(f"{SHOWN_WORD}.png", cloud_grid(four, titles, columns=2, width=4.6))
        lab.say(f"{shown.word}: the concept has {len(shown.concept)} words, the topic {len(shown.topic)}")


def _write_coherence(ours: Found, topics: Found, judge: Judge, words: list[str], columns: list[int], lab: Lab) -> None:
    """Write NPMI of both sides' equally many words on held-out passages, word by word."""
    rows = []
    for word, column in zip(words, columns):
        own, theirs = size_matched(ours, topics, column)
        if len(own) > 1:
            rows.append({"word": word, "size": len(own), "concept": judge(own), "topic": judge(theirs)})
    table = pd.DataFrame(rows, columns=pd.Index(["word", "size", "concept", "topic"]))
    lab.table("study_words.csv", table)
    wins = int((table["concept"] > table["topic"]).sum())
    lab.say(f"the concept is more coherent on held-out passages than the topic for {wins} of {len(table)} words")


def _coherence(model: ConceptModel) -> np.ndarray:
    """Return (J) NPMI of each concept's ten top words over the sentences; −1 for too few words."""
    sentences = model.corpus_.sentences
    if sentences is None:
        raise InputError("The corpus has no sentences, so the concepts' coherence is unknown.")
    units = presence(sentences)
    column = {word: i for i, word in enumerate(model.corpus_.vocabulary)}
    tops = [[column[word] for word in model.top_words(j + 1, _TOP)] for j in range(model.n_concepts_)]
    return np.array([coherence(units, words) if len(words) >= _LEAST_WORDS else -1.0 for words in tops])


def focused_concepts(model: ConceptModel) -> list[int]:
    """Return the three concepts (1, 2, …) whose words share the most sentences, leftovers left out."""
    npmi = _coherence(model)
    usual = ~model.concepts()["leftover"].to_numpy(dtype=bool)
    # A draw may consist of leftovers alone; then they are all there is to show.
    allowed = usual if usual.any() else np.ones(len(usual), bool)
    order = np.argsort(-np.where(allowed, npmi, -2.0), kind="stable")
    return [int(j) + 1 for j in order[: min(_FOCUSED, int(allowed.sum()))]]


def _write_parties(model: ConceptModel, lab: Lab) -> None:
    """Write the concept of both parties whose words differ most between them, as two clouds."""
    by_party = model.by_group("party", 0)
    wide = by_party.pivot_table(index="concept", columns="group", values="prevalence")
    if not set(PARTIES) <= set(wide.columns):
        lab.say("the members are not of two parties, so no concept is drawn for both")
        return
    shared = wide[list(PARTIES)].min(axis=1)
    distance = {
        int(j): _word_distance(model.group_words("party", int(j)))
        for j in shared.sort_values(ascending=False).index[: max(_TOP, len(shared) // 2)]
    }
    chosen = max(distance, key=distance.__getitem__)
    lab.figure("parties.png", group_clouds(model, "party", chosen, *PARTIES))
    lab.table("parties.csv", model.group_words("party", chosen))
    lab.say(
        f"worded most differently by the parties: {concept_label(model, chosen)} "
        f"(total variation {distance[chosen]:.2f})"
    )


def _word_distance(words: pd.DataFrame) -> float:
    """Return total variation between the two parties' words for a concept."""
    table = words.pivot_table(index="word", columns="group", values="share", fill_value=0.0)
    table = table.reindex(columns=list(PARTIES), fill_value=0.0)
    total = table.sum(axis=0)
    if (total == 0).any():
        return 0.0
    share = table / total
    return float(0.5 * (share[PARTIES[0]] - share[PARTIES[1]]).abs().sum())


def wordings(model: ConceptModel) -> pd.DataFrame:
    """Return for each concept a Democrat and a Republican who use it most differently: the least shared words.

    Both use at least four of the words that a tenth of the concept's passages use for it. Of equal overlaps,
    the more coherent concept comes first: a bag of words is no idea that could be worded.
    """
    npmi, members = _coherence(model), as_documents(model.corpus_)
    usual = ~model.concepts()["leftover"].to_numpy(dtype=bool)
    rows = []
    for j in np.flatnonzero(usual):
        found = _most_different(model, int(j), members)
        if found is not None:
            name = concept_label(model, int(j) + 1)
            rows.append({"concept": int(j) + 1, "name": name, **found, "coherence": npmi[j]})
    columns = ["concept", "name", "first", "first_words", "second", "second_words", "overlap", "coherence"]
    table = pd.DataFrame(rows, columns=pd.Index(columns))
    return table.sort_values(["overlap", "coherence"], ascending=[True, False]).reset_index(drop=True)


def _most_different(model: ConceptModel, j: int, members: Corpus) -> dict[str, Any] | None:
    uses, corpus = model.result_.summary.uses, model.corpus_
    found = model.result_.summary.alignment.found[j]
    table = model.words_of(j + 1)
    common = set(table.loc[table["share_used"] >= _USED, "word"])
    assert corpus.parent is not None
    _, rows, member = np.unique(corpus.parent, return_index=True, return_inverse=True)
    words_of: dict[int, set[str]] = {}
    for d in range(corpus.n_documents):
        part = slice(uses.ptr[d], uses.ptr[d + 1])
        here = (uses.concept[part] == j) & (uses.share[part] * 2 >= found)
        words = {corpus.vocabulary[i] for i in uses.word[part][here]} & common
        words_of.setdefault(int(member[d]), set()).update(words)
    own = {a: words for a, words in words_of.items() if len(words) >= _LEAST_WORDS}
    party, speaker = corpus.metadata["party"].iloc[rows], corpus.metadata["speaker"].iloc[rows]
    best: tuple[float, int, int] | None = None
    for a in own:
        for b in own:
            if (party.iloc[a], party.iloc[b]) == PARTIES:
                overlap = len(own[a] & own[b]) / len(own[a] | own[b])
                best = min(best or (2.0, a, b), (overlap, a, b))
    if best is None:
        return None
    overlap, a, b = best

    def side(name: str, of: int) -> dict[str, Any]:
        counts = dict(zip(corpus.vocabulary, members.counts[[of]].toarray()[0]))
        shares = {word: float(counts[word] / max(sum(counts.values()), 1)) for word in own[of]}
        return {name: f"{speaker.iloc[of]} ({party.iloc[of]})", f"{name}_words": shares}

    return {**side("first", a), **side("second", b), "overlap": overlap}


def _write_wordings(model: ConceptModel, lab: Lab) -> None:
    table = wordings(model)
    plain = table.copy()
    for name in ("first_words", "second_words"):
        in_order = table[name].map(lambda words: sorted(words, key=words.__getitem__, reverse=True))
        plain[name] = in_order.map(", ".join)
    lab.table("wordings.csv", plain)
    if table.empty:
        lab.say("no idea is worded by members of both parties with enough words to compare")
        return
    row = table.iloc[0]
    titles = [f"{row['name']}: {row['first']}", f"{row['name']}: {row['second']}"]
    lab.figure("wordings.png", cloud_pair(row["first_words"], row["second_words"], titles))
    first = plain.iloc[0]
    lab.say(
        f"the same idea in other words, {row['name']}: {row['first']}: {first['first_words']}; "
        f"{row['second']}: {first['second_words']}"
    )
