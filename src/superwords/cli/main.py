"""The command line: `superwords COMMAND`. The module of a command is loaded when it is run."""

from __future__ import annotations

import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
import typer.core
import typer.main

from superwords import __version__
from superwords.errors import InputError
from superwords.machine import check_address_space

FAILED, WRONG_USE = 1, 2
_INTERRUPTED = 130  # typer's own code for Ctrl-C
_TRACEBACK = "--traceback"

# What `superwords --help` shows of each command.
COMMANDS: dict[str, str] = {
    "demo": "See what concepts are, on letters or recipes inside the package. About half a minute.",
    "fit": "Find the concepts of your documents and save them in one file.",
    "show": "Look at a saved model: its concepts, documents, words and groups.",
    "search": "Find documents that speak of something, even in other words.",
    "trends": "See which concepts rise and fall over time.",
    "effects": "See how concepts depend on several columns at once.",
    "themes": "See concepts gathered into themes.",
    "edit": "Name, merge or hide concepts, or gather them into themes.",
    "transform": "Find the concepts of a saved model in new documents.",
    "export": "Write a model's tables for other programs: CSV, Excel, LaTeX, Word, …",
    "write": "Write a methods paragraph, tables, figures and a manifest for a paper.",
    "verify": "Fit a paper's model again from its manifest and compare.",
    "clouds": "Draw word clouds of the concepts, also by group, and charts.",
    "report": "Write one page about a model to mail to a colleague.",
    "explore": "Look at a model in the browser.",
    "compare": "Judge concepts against topic models on held-out text, over several seeds.",
    "study": "Ask people, blindly, which of two word clouds is more coherent.",
}

# Commands that share a module; the others have one of their own name.
_MODULES = {
    **dict.fromkeys(("report", "explore", "clouds"), "pages"),
    **dict.fromkeys(("export", "write", "verify"), "paper"),
    **dict.fromkeys(("trends", "effects", "themes"), "relations"),
}

# typer keeps these classes private: their place has moved between its versions.
_UsageError: Any = typer.BadParameter.__base__
_ClickError: Any = _UsageError.__base__


def load_command(name: str) -> Any:
    """Import the module of a command and return the command: its function, or the app of a module that has one."""
    module = importlib.import_module(f"superwords.cli.{_MODULES.get(name, name)}")
    app = getattr(module, "app", None)
    if app is None:
        app = typer.Typer(add_completion=False)
        app.command()(getattr(module, name))
    return typer.main.get_command(app)


class LazyCommands(typer.core.TyperGroup):
    """Loads a command's module only when that command is run, not to list it in the help."""

    _is_listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        if self._is_listing:
            return typer.core.TyperCommand(name=cmd_name, help=COMMANDS[cmd_name])
        return load_command(cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        self._is_listing = True  # for good: nothing is run after the help
        super().format_help(ctx, formatter)


app = typer.Typer(cls=LazyCommands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)


def _show_version(is_given: bool) -> None:
    if is_given:
        print(f"superwords {__version__}")
        raise typer.Exit()


@app.callback()
def superwords(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    show_traceback: Annotated[
        bool, typer.Option(_TRACEBACK, help="Show where in the code an error came from.")
    ] = False,
) -> None:
    """Turns documents into concepts: sparse sets of words, found again in samples of them.

    \b
    superwords demo                               see it work first
    superwords fit speeches.csv -o model.sw       then with your own documents
    superwords show model.sw                      and look at what was found
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is 0 (fine), 1 (failed) or 2 (wrong use)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    # Anywhere on the line: it is often appended to a command that has just failed.
    is_traced = _TRACEBACK in given or bool(os.environ.get("SUPERWORDS_TRACEBACK"))
    given = [word for word in given if word != _TRACEBACK]
    try:
        if given and given[0] in COMMANDS:
            # Not through the group: typer would load its validation library to parse the group's own options.
            command, *rest = given
            if "--help" not in rest:
                check_address_space()
            code = load_command(command)(rest, prog_name=f"superwords {command}", standalone_mode=False)
        else:
            code = app(args=given, prog_name="superwords", standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:  # while a command is loaded; typer turns later ones into the same code
        code = _INTERRUPTED
    except Exception as error:
        if is_traced:
            traceback.print_exc()
        return _failure(error)
    if code == _INTERRUPTED:
        # A fit says it itself, with the name of its checkpoint.
        goes_on = "; finished runs are kept, and the same command continues from there"
        return _say(f"stopped{goes_on if 'compare' in given[:1] else ''}.", FAILED)
    return code if isinstance(code, int) else 0


def _failure(error: Exception) -> int:
    """Print one sentence about an error, and return the exit code."""
    if isinstance(error, BrokenPipeError):
        # Whoever read the output (as `head` does) has had enough; Python must not complain again at the exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    if isinstance(error, _ClickError):
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return WRONG_USE
        context = getattr(error, "ctx", None)
        hint = f" See '{context.command_path} --help'." if context else ""
        return _say(f"{error.format_message().rstrip('.')}.{hint}", WRONG_USE)
    if isinstance(error, InputError):
        from superwords.cli.options import as_option

        return _say(error.worded(as_option), FAILED)
    if isinstance(error, OSError) and error.strerror:
        where = f" ({error.filename})" if error.filename else ""
        return _say(f"{error.strerror}{where}.", FAILED)
    if isinstance(error, MemoryError) or "failed to map segment" in str(error):  # of a library
        return _say("there is not enough memory for this; use fewer words (--min-df) or chains.", FAILED)
    return _say(
        f"something went wrong inside superwords ({type(error).__name__}: {error}); "
        f"run with {_TRACEBACK} or SUPERWORDS_TRACEBACK=1 to see where.",
        FAILED,
    )


def _say(sentence: str, code: int) -> int:
    print(f"superwords: {' '.join(sentence.split())}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
