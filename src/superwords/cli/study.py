"""`superwords study`: create a study with people, serve it to participants, and summarise it."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from superwords.cli.options import AS_JSON, MODEL_FILE, PUBLIC_HOST, QUIET, option
from superwords.cli.printing import print_json, print_line, print_texts, say
from superwords.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Ask people: paired word clouds, intruding words and documents, labels.")

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel
    from superwords.study.results import Results
    from superwords.study.votes import VoteStore

_SUBJECT = "the subject of these documents"


@app.command()
def create(
    model_file: Path = MODEL_FILE,
    out: Path = option("The study file to write.", ..., "-o", "--output", "--out"),
    words: list[str] | None = option(
        "The words to ask about, with commas between them; words typical of one concept if not given.", None
    ),
    n_words: int = option("Without --words: how many words to ask about.", 10, min=1),
    topics: str = option("The topic model to compare with: hdp, or lda:K with K topics.", "hdp"),
    iterations: int = option("Iterations of the topic model.", 1000, min=1),
    seed: int = option("Seed of the topic model.", 0, min=0),
    test: str | None = option(
        "Instead of paired clouds: tests with right answers for every concept, with commas between: "
        "words (intruding word), documents (intruding document), labels.",
        metavar="TESTS",
    ),
    per_person: int = option("With --test: questions that each person is asked, without controls.", 30, min=1),
    title: str | None = option("The heading of the questionnaire."),
    subject: str = option("What the documents are about; the page asks: do you follow …?", _SUBJECT),
    quiet: bool = QUIET,
) -> None:
    """Create a study: for each word its concept against the topic of another model, or tests with right answers.

    \b
    superwords study create model.sw -o study.json
    superwords study create model.sw --test words,documents,labels -o tests.json
    """
    from superwords.compare.peers import tomotopy_module
    from superwords.fitting.estimator import load
    from superwords.study.pairs import create_study, save_study

    chosen = [word.strip() for part in words or [] for word in part.split(",") if word.strip()]
    model = load(model_file)
    if test is not None:
        kinds, heading = [part.strip() for part in test.split(",")], title or "Words, texts and labels"
        for line in _create_tests(model, kinds, per_person, heading, subject, out):
            say(line, quiet)
        return
    tomotopy_module()  # before any work: without it there are no topics
    say(f"Fitting the topic model {topics} ({iterations} iterations)…", quiet)
    study = create_study(model, chosen or n_words, topics, iterations, seed, title or "Word clouds", subject)
    save_study(study, out)
    asked = ", ".join(question["word"] for question in study["questions"])
    say(f"The study {out} asks about {asked}; serve it with: superwords study serve {out}", quiet)
    if subject == _SUBJECT:
        say(f"Participants read “Do you follow {subject}?”; --subject names the subject, such as “health care”.", quiet)


def _create_tests(
    model: ConceptModel, kinds: list[str], per_person: int, title: str, subject: str, out: Path
) -> list[str]:
    """Write a study of tests with right answers, and return what its answers can show."""
    from collections import Counter

    from superwords.study.choices import CONTROL, answers_needed, build_choice_study, chance, make_tasks, power
    from superwords.study.pairs import save_study

    tasks = make_tasks(model, kinds)
    save_study(build_choice_study(tasks, title, subject, per_person), out)
    counts = Counter(task.kind for task in tasks if task.kind != CONTROL)
    covered = {kind: len({task.concept for task in tasks if task.kind == kind}) for kind in counts}
    lines = [
        f"{kind}: {n} tasks for {covered[kind]} concepts. One answer to each finds 60% right answers above chance "
        f"({chance(kind):.0%}) with probability {power(n, 0.6, chance(kind)):.2f}."
        for kind, n in counts.items()
    ]
    n_answers = answers_needed(0.1)
    lines.append(
        f"To find a difference of 10 points between two models (70% against 60%) with probability 0.8, ask for "
        f"{n_answers} answers to each, {-(-n_answers // per_person)} people for each model."
    )
    return [*lines, f"Serve the study with: superwords study serve {out}"]


def _test_results(store: VoteStore, csv: Path | None, as_json: bool) -> None:
    from superwords.files import write_named
    from superwords.study import choices as figures
    from superwords.tabular import csv_text, records

    answers = figures.answer_table(store.choices(), store.tasks)
    shares, concepts = figures.shares(answers), figures.by_concept(answers)
    if csv is not None:
        write_named(csv, csv_text(figures.result_table(answers, store.tasks)), "table")
        write_named(csv.with_suffix(".record.csv"), csv_text(figures.record_table(store.tasks)), "table")
    if as_json:
        print_json({"tests": records(shares), "concepts": records(concepts)})
    elif len(shares):
        print_line("Share of right answers with exact 95% intervals; alpha is Krippendorff's, p against guessing.")
        print_line(shares.to_string(index=False, float_format=lambda value: f"{value:.3f}"))
        print_line(concepts.to_string(index=False, float_format=lambda value: f"{value:.2f}"))
    else:
        print_line("No answers are stored yet.")


@app.command()
def power(
    difference: float = option("Difference between the shares of right answers.", 0.1, min=0.001, max=1),
    rate: float = option("Share of the better model.", 0.7, min=0.001, max=1),
    per_person: int = option("Answers of each person.", 30, min=1),
) -> None:
    """Compute how many answers and people a comparison of two models needs, before asking anyone."""
    from superwords.study.choices import answers_needed

    for chance_of in (0.8, 0.9):
        n = answers_needed(difference, rate, chance_of)
        print(f"Power {chance_of:.0%}: {n} answers to each model, {-(-n // per_person)} people for each.")


@app.command()
def serve(
    study_file: Path = typer.Argument(metavar="STUDY", help="The study made by `study create`."),
    votes: Path | None = option("The file to keep votes in; STUDY with the ending .votes if not given.", None),
    host: str = option("The address to listen on.", "127.0.0.1"),
    port: int = option("The port to listen on; 0 takes any free one.", 8020),
    public_host: str | None = PUBLIC_HOST,
) -> None:
    """Serve the questionnaire until Ctrl-C; each vote is on the disk before the participant is thanked."""
    from superwords.study.pairs import load_study
    from superwords.study.server import create_app, pages_of
    from superwords.study.votes import VoteStore
    from superwords.web.serving import access, listen, make_server, set_aside

    study = load_study(study_file)
    votes_file = votes or study_file.with_suffix(".votes")
    pages = pages_of(study, VoteStore.for_study(votes_file, study))
    listener = listen(host, port)
    known = access(host, listener.getsockname()[1], public_host)
    lines = [f"The study is at {known.link(pages.token if known.needs_token else None)}"]
    if known.needs_token:
        lines.append("Give participants this whole link; it stays the same when you serve the study again.")
    lines.append(f"Votes are kept in {votes_file}; stop with Ctrl-C.")
    lines.append(f"To summarise them, at any time: superwords study results {votes_file}")
    print(*lines, sep="\n", flush=True)
    set_aside()
    make_server(create_app(pages, known.hosts, known.needs_token)).run(sockets=[listener])


@app.command()
def results(
    votes: Path | None = typer.Argument(None, metavar="VOTES", help="The votes file that `study serve` wrote."),
    as_json: bool = AS_JSON,
    csv: Path | None = option("Also write every figure to this CSV file."),
    participants: int | None = option("Instead of votes: how many people."),
    mean: float | None = option(
        "Instead of votes: the mean number of pairs in which people preferred the concept.", None
    ),
    sd: float | None = option("Instead of votes: its standard deviation."),
    questions: int = option("Instead of votes: how many pairs were asked.", 10),
    wins: int | None = option("Instead of votes: people who preferred the concepts."),
    losses: int | None = option("Instead of votes: people who preferred the topics."),
    ties: int = option("Instead of votes: people without a preference.", 0),
) -> None:
    """Summarise the votes, or an outcome given in numbers, by the figures that the paper reports."""
    from dataclasses import asdict

    from superwords.files import write_named
    from superwords.study import results as figures
    from superwords.study.votes import VoteStore
    from superwords.tabular import csv_text

    numbers = (participants, mean, sd, wins, losses)
    if votes is None:
        if participants is None or mean is None or sd is None or wins is None or losses is None:
            raise InputError("Give the votes file, or all of --participants, --mean, --sd, --wins and --losses.")
        preference = {"everyone": figures.preference_summary(participants, mean, sd, questions)}
        found = figures.Results(questions, None, preference, {"everyone": figures.balance(wins, losses, ties)}, {})
    elif any(number is not None for number in numbers):
        raise InputError("Give the votes file or an outcome in numbers, not both.")
    else:
        store = VoteStore(votes)
        if store.tasks:
            _test_results(store, csv, as_json)
            return
        found = figures.results(store.votes(), store.words)
    if csv is not None:
        write_named(csv, csv_text(figures.to_table(found)), "table")
    if as_json:
        print_json(asdict(found))
    else:
        _print_results(found)


def _print_results(found: Results) -> None:
    """Print the preference, the participants won and lost, and the votes by word."""
    from superwords.study.results import ATTENTION, Balance, interval
    from superwords.tabular import number

    figure, share = (partial(number, form=form) for form in (".3f", ".2f"))

    def balance(row: Balance, neither: str) -> dict[str, str]:
        counts = {"concept": str(row.wins), "topic": str(row.losses), neither: str(row.ties)}
        intervals = {"Wald interval": interval(row.wald_interval), "exact interval": interval(row.exact_interval)}
        return counts | {"share": figure(row.mean)} | intervals | {"sign test p": figure(row.sign_test_p)}

    n_people = found.preference["everyone"].participants
    following = "" if found.following is None else f" ({found.following} follow the subject)"
    print_line(
        f"{n_people} participant{'' if n_people == 1 else 's'}{following}, {found.questions} pairs each. All intervals "
        "are 95% intervals; the exact one is by Clopper and Pearson. The sign test is two-sided.",
        "",
    )
    preferences = [
        {"participants": group, "number": str(row.participants), "mean": figure(row.mean), "sd": figure(row.sd)}
        | {"normal interval": interval(row.normal_interval), "t interval": interval(row.t_interval)}
        for group, row in found.preference.items()
    ]
    title = f"Pairs, of {found.questions}, in which a participant preferred the concept (no difference: half)"
    print_texts(preferences, title)
    title = "Participants who preferred the concept in more pairs than the topic (share: without ties)"
    print_texts([{"participants": group} | balance(row, "tie") for group, row in found.balance.items()], title)
    by_word = [
        {"word": word} | balance(of["everyone"], "neither") | {level: share(of[level].mean) for level in ATTENTION}
        for word, of in found.words.items()
    ]
    if by_word:
        title = "Votes by word (share: for the concept, without those who saw no difference)"
        left_out = print_texts(by_word, title, optional=["Wald interval", *reversed(ATTENTION)])
        if left_out:
            print_line(f"Left out, because the terminal is narrow (--csv has them): {', '.join(left_out)}.")
        print_line(f"Participants: {', '.join(f'{level} = {text}' for level, text in ATTENTION.items())}.")
