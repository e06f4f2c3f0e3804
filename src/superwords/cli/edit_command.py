"""`superwords edit`: name, merge, hide and gather the concepts of a saved model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from superwords.cli.common import AsJson, ModelFile, Quiet, say
from superwords.cli.opening import load_model
from superwords.cli.printing import print_json, print_line, print_table

if TYPE_CHECKING:
    from superwords.container import Choice
    from superwords.fitting.estimator import ConceptModel

app = typer.Typer(add_completion=False)

_PAIRS = ("--name", "--theme")
_JOINT = "\t"  # between the concepts and the name of an option of two values: no name has one


class EditCommand(typer.core.TyperCommand):
    """Joins the two values of an option that can be given again, which typer cannot take apart."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        joined: list[str] = []
        rest = list(args)
        while rest:
            word = rest.pop(0)
            option, is_joined, value = word.partition("=")
            if is_joined and option in _PAIRS:
                word = option
                rest.insert(0, value)
            joined.append(word)
            if word in _PAIRS:
                if len(rest) < 2:
                    raise typer.BadParameter(f'{word} needs a concept and a name: {word} 3 "Some name".')
                joined.append(_JOINT.join((rest.pop(0), rest.pop(0).replace(_JOINT, " "))))
        return super().parse_args(ctx, joined)


def _several(metavar: str, text: str) -> Any:
    return typer.Option(metavar=metavar, help=f"{text} Can be given again.")


@app.command(cls=EditCommand)
def edit(
    model_file: ModelFile,
    merge: Annotated[
        list[str] | None,
        _several("3,25", "Take concepts together, under the number of the first."),
    ] = None,
    hide: Annotated[list[str] | None, _several("51", "Leave concepts out of all tables and pages.")] = None,
    restore: Annotated[
        list[str] | None, _several("51", "Show hidden concepts again, and take merged ones apart.")
    ] = None,
    name: Annotated[
        list[str] | None, _several('3 "NAME"', 'Name a concept; "" asks for the automatic name again.')
    ] = None,
    theme: Annotated[
        list[str] | None, _several('3,7 "THEME"', 'Put concepts under a theme; "" takes them out.')
    ] = None,
    undo: Annotated[bool, typer.Option("--undo", help="Take back the last edit.")] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Decide about concepts: names, merges, hidden ones, themes. The model file keeps every decision.

    Nothing is sampled again: a merged concept is counted in every draw. With no option, what was decided is listed.

    \b
    superwords edit model.sw --merge 3,25 --hide 51 --name 3 "Insurance markets"
    superwords edit model.sw --theme 3,7 "Money"
    superwords edit model.sw --restore 51
    superwords edit model.sw --undo
    """
    from superwords.concepts.choices import add_choices, undo_choices

    model = load_model(model_file)
    if undo:
        if any((merge, hide, restore, name, theme)):
            raise typer.BadParameter("--undo cannot be used together with other edits; run it alone.")
        model.undo()
        undo_choices(model_file)
        say("The last edit is undone.", quiet)
    else:
        before = len(model.choices_)
        _decide(model, restore, merge, hide, name, theme)
        made = _as_one(model.choices_[before:])
        if made:
            add_choices(model_file, made)
            say(f"Kept in {model_file}; `superwords edit {model_file} --undo` takes it back.", quiet)
    if as_json:
        from superwords.concepts.curating import decisions_page

        print_json(decisions_page(model.result_, model.choices_))
    elif not quiet:
        _print(model)


def _decide(
    model: ConceptModel,
    restore: list[str] | None,
    merge: list[str] | None,
    hide: list[str] | None,
    name: list[str] | None,
    theme: list[str] | None,
) -> None:
    """Concepts are restored first and named last, so that one call can do both to the same concept."""
    for value in restore or []:
        model.restore(_numbers("--restore", value))
    for value in merge or []:
        model.merge(_numbers("--merge", value))
    for value in hide or []:
        model.hide(_numbers("--hide", value))
    for value in name or []:
        concepts, text = value.split(_JOINT)
        model.rename(dict.fromkeys(_numbers("--name", concepts), text))
    for value in theme or []:
        concepts, text = value.split(_JOINT)
        model.gather(text, _numbers("--theme", concepts))


def _numbers(option: str, value: str) -> list[int]:
    try:
        return [int(part) for part in value.replace(" ", ",").split(",") if part]
    except ValueError:
        raise typer.BadParameter(
            f"{option} {value!r} does not name concepts; give their numbers with commas, such as 3,25."
        ) from None


def _as_one(choices: list[Choice]) -> list[Choice]:
    """One call is one decision, which is undone as a whole."""
    return [one._replace(made=choices[0].made) for one in choices]


def _print(model: ConceptModel) -> None:
    from superwords.concepts.curating import decisions
    from superwords.concepts.tables import concept_names

    decided, names = decisions(model.choices_), concept_names(model.result_)
    if not any(decided):
        print_line("Nothing has been decided about the concepts.")
        return
    rows = []
    for concept in sorted({*decided.names, *decided.merged, *decided.hidden, *decided.themes}):
        away = model.result_.away.get(concept, "")
        members = [str(one) for one, into in decided.merged.items() if into == concept]
        notes = [away, f"merged from {', '.join([str(concept), *members])}" if members else ""]
        notes.append(f"theme: {decided.themes[concept]}" if concept in decided.themes else "")
        rows.append((concept, "" if away else names[concept - 1], "; ".join(note for note in notes if note)))
    targets = {into for into in decided.merged.values()} - {row[0] for row in rows}
    for concept in sorted(targets):
        members = [str(one) for one, into in decided.merged.items() if into == concept]
        rows.append((concept, names[concept - 1], f"merged from {', '.join([str(concept), *members])}"))
    print_table({"": "right", "concept": "words", "decided": "words"}, sorted(rows))
    print_line(f"{len(model.result_.shown)} of {model.n_concepts_} concepts are shown.")
