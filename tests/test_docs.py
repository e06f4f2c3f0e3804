"""What the README and the pages of docs/ show works: Python is run, commands are parsed by the command line."""

import doctest
import re
import shlex
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import typer

from superwords.cli.main import COMMANDS, app

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES = [page for page in PAGES if "_build" not in page.parts]
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```", re.M | re.S)
USAGE = re.compile(r"\[|…|FILE")  # a line that shows what can be given, not something to type


def blocks(page, *languages):
    return [body for language, body in FENCE.findall(page.read_text()) if language.strip() in languages]


def name(page):
    return str(page.relative_to(ROOT))


def speeches():
    """The table of speeches that the pages speak of: two parties, two subjects."""
    subjects = (["premiums", "insurance", "coverage", "deductible"], ["soldier", "army", "border", "veteran"])
    rng = np.random.default_rng(1)
    rows = []
    for d in range(24):
        sentences = []
        for _ in range(3):
            first, second = rng.choice(subjects[d % 2], 2, replace=False)
            sentences.append(f"The {first} and the {second} matter.")
        rows.append({"id": f"speech {d}", "party": "AB"[d // 2 % 2], "speech": " ".join(sentences)})
    return pd.DataFrame(rows)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name)
def test_python_runs(page, tmp_path, monkeypatch):
    """The blocks of a page one after the other; a `table` of speeches is there."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    names = {"table": speeches(), "print": lambda *words: None}
    for body in blocks(page, "python"):
        if body.startswith(">>>"):
            example = doctest.DocTestParser().get_doctest(body, names, page.stem, str(page), 0)
            assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
        else:
            exec(compile(body, str(page), "exec"), names)


def commands(page):
    for body in blocks(page, "", "text", "sh"):
        for line in body.splitlines():
            line = line.removeprefix("$ ")
            if line.startswith("superwords ") and not USAGE.search(line):
                yield line


def parse(words):
    """Fails as the command line would for an unknown command or option, or a value that is none."""
    command = typer.main.get_command(app)
    context = command.make_context("superwords", [], resilient_parsing=True)
    while hasattr(command, "get_command"):
        command = command.get_command(context, words.pop(0))
        assert command is not None
        context = command.make_context(command.name, [], parent=context, resilient_parsing=True)
    command.make_context(command.name, words)


def test_what_the_guides_import_is_public():
    """Names from modules other than the three of the API are listed there one by one."""
    listed = set(re.findall(r"^.. auto\w+:: (\S+)", (ROOT / "docs" / "api.md").read_text(), re.M))
    taught = re.compile(r"^(?:>>> )?from (superwords\.[\w.]+) import ([\w, ]+)$", re.M)
    for page in PAGES:
        for module, names in taught.findall("\n".join(blocks(page, "python", ""))):
            assert {f"{module}.{one.strip()}" for one in names.split(",")} <= listed | {module}, page
            assert not any(part.startswith("_") for part in module.split("."))


COMMAND_LINES = [(name(page), line) for page in PAGES for line in commands(page)]


@pytest.mark.parametrize(("page", "line"), COMMAND_LINES, ids=lambda value: value)
def test_a_command_is_one(page, line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line, comments=True)[1:]
    assert words[0] in COMMANDS
    parse(words)


def test_a_command_that_is_none_is_seen():
    with pytest.raises(Exception, match="--frobnicate"):
        parse(["show", "model.sw", "--frobnicate"])


def test_the_readme_is_checked():
    assert blocks(ROOT / "README.md", "python")
    assert sum(page == "README.md" for page, _ in COMMAND_LINES) >= 5


def test_no_page_has_a_name_that_the_site_needs_for_itself():
    assert not {page.stem for page in PAGES} & {"search", "genindex", "modindex", "py-modindex"}


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_between_pages_lead_somewhere(page):
    """As files; the site's own build checks anchors."""
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), target
