"""`superwords study`: the paper's blind study, made, served to participants and summarised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from superwords.cli.common import ModelFile, PublicHost, Quiet, say
from superwords.errors import InputError

app = typer.Typer(
    no_args_is_help=True, help="Ask people, blindly, which of two word clouds is more coherent."
)

_SUBJECT = "the subject of these documents"


@app.command()
def create(
    model_file: ModelFile,
    out: Annotated[Path, typer.Option("-o", "--output", "--out", help="The study file to write.")],
    words: Annotated[
        list[str] | None,
        typer.Option(
            help="The words to ask about, with commas between them; words typical of one concept if not given."
        ),
    ] = None,
    n_words: Annotated[int, typer.Option(min=1, help="Without --words: how many words to ask about.")] = 10,
    topics: Annotated[
        str, typer.Option(help="The topic model to compare with: hdp, or lda:K with K topics.")
    ] = "hdp",
    iterations: Annotated[int, typer.Option(min=1, help="Iterations of the topic model.")] = 1000,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the topic model.")] = 0,
    title: Annotated[str, typer.Option(help="The heading of the questionnaire.")] = "Word clouds",
    subject: Annotated[
        str, typer.Option(help="What the documents are about; the page asks: do you follow …?")
    ] = _SUBJECT,
    quiet: Quiet = False,
) -> None:
    """Make the study: for each word its concept against the topic of another model that fits the word best."""
    from superwords.fitting.estimator import load
    from superwords.lab.baselines import tomotopy_module
    from superwords.lab.study.creating import TopicModel, Wording, create_study
    from superwords.lab.study.pairs import save_study

    chosen = [word.strip() for part in words or [] for word in part.split(",") if word.strip()]
    model = load(model_file)
    tomotopy_module()  # before any work: without it there are no topics
    say(f"Fitting the topic model {topics} ({iterations} iterations)…", quiet)
    compared = TopicModel(topics, iterations, seed)
    study = create_study(model, chosen or n_words, compared, Wording(title, subject))
    save_study(study, out)
    asked = ", ".join(question["word"] for question in study["questions"])
    say(f"The study {out} asks about {asked}; serve it with: superwords study serve {out}", quiet)
    if subject == _SUBJECT:
        say(
            f"Participants read “Do you follow {subject}?”; --subject names the subject, such as “health care”.",
            quiet,
        )


@app.command()
def serve(
    study_file: Annotated[Path, typer.Argument(metavar="STUDY", help="The study made by `study create`.")],
    votes: Annotated[
        Path | None,
        typer.Option(help="The file to keep votes in; STUDY with the ending .votes if not given."),
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen on; 0 takes any free one.")] = 8020,
    public_host: PublicHost = None,
) -> None:
    """Serve the questionnaire until Ctrl-C; each vote is on the disk before the participant is thanked."""
    from superwords.lab.study.pairs import load_study
    from superwords.lab.study.study_server import StudyPages, create_app
    from superwords.lab.study.votes import VoteStore
    from superwords.web.serving import access, listen, make_server

    study = load_study(study_file)
    votes_file = votes or study_file.with_suffix(".votes")
    pages = StudyPages(study, VoteStore.for_study(votes_file, study))
    listener = listen(host, port)
    known = access(host, listener.getsockname()[1], public_host)
    print(f"The study is at {known.link(pages.token if known.needs_token else None)}", flush=True)
    if known.needs_token:
        print(
            "Give participants this whole link; it stays the same when you serve the study again.", flush=True
        )
    print(f"Votes are kept in {votes_file}; stop with Ctrl-C.", flush=True)
    print(f"To summarise them, at any time: superwords study results {votes_file}", flush=True)
    make_server(create_app(pages, known.hosts, known.needs_token)).run(sockets=[listener])


@app.command()
def results(
    votes: Annotated[
        Path | None, typer.Argument(metavar="VOTES", help="The votes file that `study serve` wrote.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
    csv: Annotated[Path | None, typer.Option(help="Also write every figure to this CSV file.")] = None,
    participants: Annotated[int | None, typer.Option(help="Instead of votes: how many people.")] = None,
    mean: Annotated[
        float | None,
        typer.Option(
            help="Instead of votes: the mean number of pairs in which people preferred the concept."
        ),
    ] = None,
    sd: Annotated[float | None, typer.Option(help="Instead of votes: its standard deviation.")] = None,
    questions: Annotated[int, typer.Option(help="Instead of votes: how many pairs were asked.")] = 10,
    wins: Annotated[
        int | None, typer.Option(help="Instead of votes: people who preferred the concepts.")
    ] = None,
    losses: Annotated[
        int | None, typer.Option(help="Instead of votes: people who preferred the topics.")
    ] = None,
    ties: Annotated[int, typer.Option(help="Instead of votes: people without a preference.")] = 0,
) -> None:
    """Summarise the votes, or an outcome given in numbers, by the figures that the paper reports."""
    from superwords.lab.study import results as figures
    from superwords.lab.study import results_page as report
    from superwords.lab.study.votes import VoteStore

    numbers = (participants, mean, sd, wins, losses)
    if votes is None:
        if participants is None or mean is None or sd is None or wins is None or losses is None:
            raise InputError(
                "Give the votes file, or all of --participants, --mean, --sd, --wins and --losses."
            )
        preference = figures.preference_summary(participants, mean, sd, questions)
        found = figures.Results(
            questions, None, {"everyone": preference}, {"everyone": figures.balance(wins, losses, ties)}, {}
        )
    elif any(number is not None for number in numbers):
        raise InputError("Give the votes file or an outcome in numbers, not both.")
    else:
        store = VoteStore(votes)
        found = figures.results(store.votes(), store.words)
    if csv is not None:
        report.write_csv(found, csv)
    if as_json:
        print(json.dumps(figures.to_json(found), ensure_ascii=False, indent=1))
    else:
        report.print_results(found)
