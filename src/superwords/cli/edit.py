"""`superwords edit`: name, merge, hide and gather the concepts of a saved model."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
import typer.core

from superwords.cli.options import AS_JSON, MODEL_FILE, QUIET, load_model, option
from superwords.cli.printing import print_json, print_line, print_table, say
from superwords.errors import InputError

if TYPE_CHECKING:
    from superwords.fitting.estimator import ConceptModel
    from superwords.storage.model_file import Choice

app = typer.Typer(add_completion=False)

_PAIRS = ("--name", "--theme", "--pin", "--ban")
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
    return option(f"{text} Can be given again.", metavar=metavar)


@app.command(cls=EditCommand)
def edit(
    model_file: Path = MODEL_FILE,
    merge: list[str] | None = _several("3,25", "Take concepts together, under the number of the first."),
    hide: list[str] | None = _several("51", "Leave concepts out of all tables and pages."),
    restore: list[str] | None = _several("51", "Show hidden concepts again, and take merged ones apart."),
    name: list[str] | None = _several('3 "NAME"', 'Name a concept; "" asks for the automatic name again.'),
    theme: list[str] | None = _several('3,7 "THEME"', 'Put concepts under a theme; "" takes them out.'),
    accept: str | None = option("Accept proposed names: all, or those of these concepts.", metavar="3,7"),
    propose: Path | None = option("Take names from a file: the reply to --prompt.", metavar="FILE"),
    prompt: str | None = option(
        "Print the prompt that asks a language model for names in a language.", metavar="LANGUAGE"
    ),
    split: int | None = option("Split a concept in two and sample on from there.", metavar="8"),
    pin: list[str] | None = _several('3 "coal,gas"', "Pin words to a concept and sample on under that condition."),
    ban: list[str] | None = _several('3 "tax"', "Ban words from a concept and sample on under that condition."),
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
    from superwords.analysis.curation import add_choices, undo_choices

    model = load_model(model_file)
    if prompt is not None:
        print_line(model.name_prompt(language=prompt))
        return
    if split is not None or pin or ban:
        if any((merge, hide, restore, name, theme, accept, propose, undo)) or (split is not None and (pin or ban)):
            raise typer.BadParameter("--split, or --pin and --ban, cannot be used together with other edits.")
        _sample_on(model, model_file, split, _words("--pin", pin), _words("--ban", ban), sweeps, as_json, quiet)
        return
    if sweeps is not None:
        raise typer.BadParameter("--sweeps goes with --split, --pin or --ban; use `superwords fit --more` otherwise.")
    if undo:
        if any((merge, hide, restore, name, theme, accept, propose, split, pin, ban)):
            raise typer.BadParameter("--undo cannot be used together with other edits; run it alone.")
        model.undo()
        undo_choices(model_file, model.identity_)
        say("The last edit is undone.", quiet)
    else:
        before = len(model.choices_)
        _decide(model, restore, merge, hide, name, theme)
        if propose is not None:
            model.propose_names(_reply(propose))
        if accept is not None:
            model.accept_names(None if accept == "all" else _numbers("--accept", accept))
        made = _as_one(model.choices_[before:])
        if made:
            add_choices(model_file, made, model.identity_)
            say(f"Kept in {model_file}; `superwords edit {model_file} --undo` takes it back.", quiet)
    if as_json:
        from superwords.analysis.curation import decisions_page

        print_json(decisions_page(model.result_, model.choices_))
    elif not quiet:
        _print(model)


def _sample_on(
    model: ConceptModel,
    path: Path,
    split: int | None,
    pin: dict[int, list[str]],
    ban: dict[int, list[str]],
    sweeps: int | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Split a concept or condition on words, sample on, and save the model in the place of the file."""
    from superwords.analysis.curation import held

    model.set_params(progress=not (quiet or as_json))
    with held(path):
        table = model.condition(pin, ban, sweeps) if split is None else model.split(split, sweeps)
        model.save(path)
    if as_json:
        print_json(table.to_dict("records"))
    elif not quiet:
        print_table(table, {name: ("words", partial(_cell, name)) for name in table.columns})
        say(f"Saved in {path}; earlier draws are replaced.", quiet)


def _cell(column: str, row: Any) -> str:
    value = row[column]
    if isinstance(value, list):
        return ", ".join(value)
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _words(option: str, values: list[str] | None) -> dict[int, list[str]]:
    """Return words by concept."""
    found: dict[int, list[str]] = {}
    for value in values or []:
        concepts, text = value.split(_JOINT)
        words = [word.strip() for word in text.split(",") if word.strip()]
        if not words:
            raise typer.BadParameter(f'{option} {concepts} names no word; give {option} {concepts} "coal,gas".')
        for concept in _numbers(option, concepts):
            found.setdefault(concept, []).extend(words)
    return found


def _decide(
    model: ConceptModel,
    restore: list[str] | None,
    merge: list[str] | None,
    hide: list[str] | None,
    name: list[str] | None,
    theme: list[str] | None,
) -> None:
    """Restore concepts first and name them last, so that one call can do both to a concept."""
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


def _reply(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The names cannot be read from {str(path)!r}: {error}.") from None


def _as_one(choices: list[Choice]) -> list[Choice]:
    """Return the choices of one call as one decision, which is undone as a whole."""
    return [one._replace(made=choices[0].made) for one in choices]


def _print(model: ConceptModel) -> None:
    from superwords.analysis.curation import decisions
    from superwords.analysis.tables import concept_names

    decided, names = decisions(model.choices_), concept_names(model.result_)
    if not any(decided):
        print_line("Nothing has been decided about the concepts.")
        return
    members: dict[int, list[int]] = {}
    for one, into in decided.merged.items():
        members.setdefault(into, [into]).append(one)

    def notes(concept: int) -> str:
        merged = f"merged from {', '.join(map(str, members[concept]))}" if concept in members else ""
        theme = f"theme: {decided.themes[concept]}" if concept in decided.themes else ""
        return "; ".join(note for note in (model.result_.away.get(concept, ""), merged, theme) if note)

    about = {*decided.names, *decided.proposed, *decided.merged, *decided.hidden, *decided.themes, *members}
    print_table(
        [{"concept": j, "name": "" if j in model.result_.away else names[j - 1]} for j in sorted(about)],
        {
            "": ("right", "concept"),
            "concept": ("words", "name"),
            "decided": ("words", lambda one: notes(one["concept"])),
        },
    )
    print_line(f"{len(model.result_.shown)} of {model.n_concepts_} concepts are shown.")
