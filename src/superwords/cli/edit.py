"""`superwords edit`: name, merge, hide and gather the concepts of a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer
import typer.core

from superwords.cli.options import AS_JSON, MODEL_FILE, QUIET, load_model, option
from superwords.cli.printing import left, print_json, print_line, print_table, say
from superwords.errors import InputError

app = typer.Typer(add_completion=False)


class EditCommand(typer.core.TyperCommand):
    """Declares the options of two values that can be given again, which typer cannot."""

    def __init__(self, *args: Any, **named: Any):
        super().__init__(*args, **named)
        for one in self.params:
            if one.name in ("name", "theme", "pin", "ban"):
                one.nargs = 2


def _several(metavar: str, text: str) -> Any:
    return option(f"{text} Can be given again.", metavar=metavar)


@app.command(cls=EditCommand)
def edit(
    model_file: Path = MODEL_FILE,
    merge: list[str] | None = _several("3,25", "Take concepts together, under the number of the first."),
    hide: list[str] | None = _several("51", "Leave concepts out of all tables and pages."),
    restore: list[str] | None = _several("51", "Show hidden concepts again, and take merged ones apart."),
    name: list[Any] | None = _several('3 "NAME"', 'Name a concept; "" asks for the automatic name again.'),
    theme: list[Any] | None = _several('3,7 "THEME"', 'Put concepts under a theme; "" takes them out.'),
    accept: str | None = option("Accept proposed names: all, or those of these concepts.", metavar="3,7"),
    propose: Path | None = option("Take names from a file: the reply to --prompt.", metavar="FILE"),
    prompt: str | None = option(
        "Print the prompt that asks a language model for names in a language.", metavar="LANGUAGE"
    ),
    split: int | None = option("Split a concept in two and sample on from there.", metavar="8"),
    pin: list[Any] | None = _several('3 "coal,gas"', "Pin words to a concept and sample on under that condition."),
    ban: list[Any] | None = _several('3 "tax"', "Ban words from a concept and sample on under that condition."),
    sweeps: int | None = option("Sweeps after --split, --pin or --ban; as many as the fit had if not given.", min=2),
    undo: bool = option("Take back the last edit.", False, "--undo"),
    as_json: bool = AS_JSON,
    quiet: bool = QUIET,
) -> None:
    """Decide about concepts: names, merges, hidden ones, themes. The model file keeps every decision.

    Only --split, --pin and --ban sample on, and replace the draws; a merged concept is counted in every draw. With no
    option, what was decided is listed.

    \b
    superwords edit model.sw --merge 3,25 --hide 51 --name 3 "Insurance markets"
    superwords edit model.sw --theme 3,7 "Money"
    superwords edit model.sw --restore 51
    superwords edit model.sw --prompt en
    superwords edit model.sw --propose reply.txt
    superwords edit model.sw --accept all
    superwords edit model.sw --split 8
    superwords edit model.sw --pin 3 "coal,gas" --ban 3 "tax" --sweeps 400
    superwords edit model.sw --undo
    """
    from superwords.analysis.curation import add_choices, decisions_page, held, history, undo_choices

    model = load_model(model_file)
    if prompt is not None:
        print_line(model.name_prompt(language=prompt))
        return
    are_decisions = any((merge, hide, restore, name, theme, accept, propose))
    if split is not None or pin or ban:
        if are_decisions or undo or (split is not None and (pin or ban)):
            raise typer.BadParameter("--split, or --pin and --ban, cannot be used together with other edits.")
        pinned, banned = _words("--pin", pin), _words("--ban", ban)
        model.set_params(progress=not (quiet or as_json))
        with held(model_file):
            table = model.condition(pinned, banned, sweeps) if split is None else model.split(split, sweeps)
            model.save(model_file)
        if as_json:
            print_json(table.to_dict("records"))
        elif not quiet:
            print_table(table, {name: left(name, text=_cell) for name in table.columns})
            say(f"Saved in {model_file}; earlier draws are replaced.", quiet)
        return
    if sweeps is not None:
        raise typer.BadParameter("--sweeps goes with --split, --pin or --ban; use `superwords fit --more` otherwise.")
    if undo:
        if are_decisions:
            raise typer.BadParameter("--undo cannot be used together with other edits; run it alone.")
        model.undo()
        undo_choices(model_file, model.identity_)
        say("The last edit is undone.", quiet)
    before = len(model.choices_)
    # Concepts are restored first and named last, so that one call can do both to a concept.
    for decide, values in ((model.restore, restore), (model.merge, merge), (model.hide, hide)):
        for value in values or []:
            decide(_numbers(f"--{decide.__name__}", value))
    for concepts, text in name or []:
        model.rename(dict.fromkeys(_numbers("--name", concepts), text))
    for concepts, text in theme or []:
        model.gather(text, _numbers("--theme", concepts))
    if propose is not None:
        model.propose_names(_reply(propose))
    if accept is not None:
        model.accept_names(None if accept == "all" else _numbers("--accept", accept))
    if made := model.choices_[before:]:
        # One call is one decision, which is undone as a whole.
        add_choices(model_file, [one._replace(made=made[0].made) for one in made], model.identity_)
        say(f"Kept in {model_file}; `superwords edit {model_file} --undo` takes it back.", quiet)
    if as_json:
        print_json(decisions_page(model.result_, model.choices_))
    elif not quiet:
        decided = [one["said"] for one in reversed(history(model.choices_))]
        shown = f"{len(model.result_.shown)} of {model.n_concepts_} concepts are shown."
        print_line(*[*decided, shown] if decided else ["Nothing has been decided about the concepts."])


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _words(option: str, values: list[Any] | None) -> dict[int, list[str]]:
    """Return words by concept."""
    found: dict[int, list[str]] = {}
    for concepts, text in values or []:
        given = [word.strip() for word in text.split(",") if word.strip()]
        if not given:
            raise typer.BadParameter(f'{option} {concepts} names no word; give {option} {concepts} "coal,gas".')
        for concept in _numbers(option, concepts):
            found.setdefault(concept, []).extend(given)
    return found


def _numbers(option: str, value: str) -> list[int]:
    try:
        return [int(part) for part in value.replace(" ", ",").split(",") if part]
    except ValueError:
        raise typer.BadParameter(
            f"{option} {value!r} does not name concepts; give their numbers with commas, such as 3,25."
        ) from None


def _reply(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The names cannot be read from {str(path)!r}: {error}.") from None
