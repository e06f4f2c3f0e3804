"""The command line: `superwords COMMAND`. Each command lives in a module of its own and is loaded when asked for."""

from __future__ import annotations

import importlib
import sys

import click
import typer
import typer.main

from superwords.errors import InputError

COMMANDS: dict[str, str] = {}


class LazyCommands(typer.core.TyperGroup):
    """Loads `superwords.cli.COMMAND` only when that command is run or its help is shown."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"superwords.cli.{name}")
        return typer.main.get_command(module.app)


app = typer.Typer(cls=LazyCommands, no_args_is_help=True, add_completion=False)


@app.callback()
def superwords() -> None:
    """Turns documents into concepts: sparse sets of words, as many as the data ask for."""


def main() -> None:
    try:
        app(standalone_mode=False)
    except InputError as error:
        sys.exit(f"superwords: {error}")
