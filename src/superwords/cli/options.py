"""How words are found in documents: the options that `fit` and `compare` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from superwords.cli.inputs import number, number_or_auto

WORDS = "Words"

TextColumn = Annotated[str | None, typer.Option(help="The column with the text.", show_default="text")]
IdColumn = Annotated[str | None, typer.Option(help="The column that names a document.", show_default="id")]
Language = Annotated[
    str, typer.Option(help="Language of the text (en, de, nl, fr, …), or column:NAME.", rich_help_panel=WORDS)
]
Words = Annotated[
    str | None,
    typer.Option(
        help="phrases (noun phrases and names), plain, or ngrams:2.",
        rich_help_panel=WORDS,
        show_default="phrases where the language can be tagged",
    ),
]
MinDf = Annotated[
    Any,
    typer.Option(
        help="Leave out words in fewer documents than this: a number (10), a share of the documents (0.1) or auto.",
        parser=number_or_auto,
        metavar="N",
        rich_help_panel=WORDS,
        show_default="auto",
    ),
]
MaxDf = Annotated[
    Any,
    typer.Option(
        help="Leave out words in more documents than this.", parser=number, metavar="N", rich_help_panel=WORDS
    ),
]
Drop = Annotated[
    Path | None, typer.Option(help="A file of words to leave out, one per line.", rich_help_panel=WORDS)
]
DropProcedural = Annotated[
    bool,
    typer.Option(
        "--drop-procedural", help="Leave out words of routine, such as mr president.", rich_help_panel=WORDS
    ),
]
Lemmas = Annotated[
    bool | None,
    typer.Option(
        "--lemmas/--no-lemmas",
        help="Reduce words to their base form.",
        rich_help_panel=WORDS,
        show_default="for German and Dutch",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        help="Run on a cluster: auto starts one on this machine, HOST:PORT joins one. "
        "The results are the same, bit for bit.",
        metavar="auto|HOST:PORT",
    ),
]
Tagger = Annotated[
    str | None, typer.Option(help="An installed spaCy pipeline to tag with.", rich_help_panel=WORDS)
]
