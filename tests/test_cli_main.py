"""The command line as a whole: help, versions, exit codes, and errors in one sentence."""

import ast
import subprocess
import sys

import pytest

from cli_for_tests import model_file, run, start
from superwords import __version__
from superwords.cli import demo
from superwords.cli import main as entry
from superwords.cli.main import COMMANDS
from superwords.progress import STARTING

MINE = ["demo", "fit", "show", "transform", "export"]


def test_help_lists_every_command(capsys):
    found = run(capsys, "--help")
    assert found.code == 0
    for name in COMMANDS:
        assert f" {name} " in found.out


def test_help_loads_no_command():
    code = "import sys; from superwords.cli.main import main; main(['--help'])"
    code += "; print([name for name in sys.modules if name.startswith('superwords.cli.')])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.splitlines()[-1] == "['superwords.cli.main']"


HEAVY = {"numpy", "pandas", "scipy", "sklearn", "numba", "arviz_stats", "xarray", "matplotlib", "starlette", "pydantic"}


def test_help_of_a_command_imports_no_heavy_library():
    """In one process: nothing that any command's help needs may import them."""
    code = "import sys; from superwords.cli.main import COMMANDS, main\nfor name in COMMANDS: main([name, '--help'])"
    code += "\nprint(sorted({name.partition('.')[0] for name in sys.modules}))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not HEAVY & set(ast.literal_eval(shown.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", MINE)
def test_help_of_a_command_has_an_example(capsys, name):
    found = run(capsys, name, "--help")
    assert found.code == 0
    assert found.out.count(f"superwords {name}") >= 2, "the usage, and an example"


def test_version(capsys):
    assert run(capsys, "--version").out == f"superwords {__version__}\n"


def test_no_command_shows_the_help_as_wrong_use(capsys):
    found = run(capsys)
    assert found.code == 2
    assert "transform" in found.out + found.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["fitt", "x.csv"], "fitt"),
        (["fit"], "FILE"),
        (["fit", "x.csv", "--sweep-up"], "--sweep-up"),
        (["fit", "x.csv", "--sweeps", "many"], "--sweeps"),
        (["fit", "x.csv", "--sweeps", "0"], "'--sweeps': 0 is too small; give at least 1"),
        (["fit", "x.csv", "--chains", "0"], "--chains"),
        (["fit", "x.csv", "--seed", "-1"], "--seed"),
        (["fit", "x.csv", "--burn-in", "150"], "--burn-in 150 leaves no draw of --sweeps 150"),
        (["fit", "x.csv", "--sweeps", "8", "--thin", "5"], "--thin 5 keeps no draw of the 4 sweeps"),
        (["fit", "x.csv", "--jobs", "0"], "'--jobs': 0 is too small; give at least 1"),
        (["fit", "x.csv", "--jobs", "-1"], "--jobs"),
        (["transform", "m.sw", "x.csv", "--jobs", "0"], "--jobs"),
        (["compare", "x.csv", "-o", "x", "--jobs", "0"], "--jobs"),
        (["demo", "--jobs", "0"], "--jobs"),
        (["fit", "x.csv", "--min-df", "few"], "few"),
        (["fit", "x.csv", "--features", "smell"], "smell"),
        (["fit", "x.csv", "--features", "pictures"], "pictures:PATH"),
        (["fit", "x.csv", "--features", "none,cooccurrence"], "none"),
        (["fit", "x.csv", "--b1", "banana"], "--b1 'banana' is not a positive number"),
        (["fit", "x.csv", "--b2", "-1"], "--b2 -1.0 is not a positive number"),
        (["fit", "x.csv", "--alpha-omega", "0"], "--alpha-omega 0.0 is not"),
        (["fit", "x.csv", "--lam", "2"], "lam is 2.0"),
        (["fit", "x.csv", "--theta", "often"], "--theta 'often' is not known"),
        (["fit", "x.csv", "--init", "chaos"], "--init 'chaos' is not known"),
        (["fit", "x.csv", "--row-vectors", "banana"], "--row-vectors 'banana' is not known; give 'wordllama'"),
        (["fit", "x.csv", "--k", "nan"], "--k nan is not a positive number"),
        (["fit", "x.csv", "--unit", "pages:2"], "--unit 'pages:2' is not known"),
        (["fit", "x.csv", "--words", "letters"], "--words 'letters' is not known"),
        (["fit", "x.csv", "--language", "english"], "english"),
        (["fit", "x.csv", "--max-df", "-3"], "--max-df -3 is not possible"),
        (["fit", "x.csv", "--drop", "nowhere.txt"], "nowhere.txt"),
        (["fit", "x.csv", "--features", "table:nowhere.csv"], "nowhere.csv"),
        (["compare", "x.csv", "-o", "x", "--words", "letters"], "--words 'letters' is not known"),
        (["transform", "m.sw", "x.csv", "--unit", "pages:2"], "--unit 'pages:2' is not known"),
        (["show"], "MODEL"),
        (["show", "m.sw", "--concept", "1", "--word", "a"], "--concept and --word"),
        (["show", "m.sw", "--json", "--csv"], "--json and --csv"),
        (["export", "m.sw", "--format", "xml", "-o", "x"], "xml"),
        (["export", "m.sw", "-o", "x"], "--format"),
        (["demo", "--seed", "x"], "--seed"),
    ],
)
def test_wrong_use_is_one_line_and_exit_code_2(capsys, arguments, named):
    found = run(capsys, *arguments)
    assert found.code == 2
    assert found.out == ""
    assert found.err.startswith("superwords: ")
    assert named in found.err
    assert found.err.count("\n") == 1


def test_a_failure_is_one_line_and_exit_code_1(capsys):
    found = run(capsys, "show", "nowhere.sw")
    assert (found.code, found.out) == (1, "")
    assert found.err == "superwords: There is no file 'nowhere.sw'.\n"


@pytest.fixture
def broken(monkeypatch):
    """A command that meets an error nobody thought of."""

    def load(path):
        raise KeyError("the\nunthinkable")

    monkeypatch.setattr("superwords.storage.model.read_result", load)


def test_an_unexpected_error_is_one_sentence(capsys, broken):
    found = run(capsys, "show", "model.sw")
    assert found.code == 1
    assert "KeyError" in found.err
    assert "--traceback" in found.err
    assert found.err.count("\n") == 1
    assert "Traceback" not in found.err


@pytest.mark.parametrize("arguments", [["--traceback", "show", "m.sw"], ["show", "m.sw", "--traceback"]])
def test_a_traceback_on_request(capsys, broken, arguments):
    found = run(capsys, *arguments)
    assert found.code == 1
    assert "Traceback (most recent call last)" in found.err


def test_a_traceback_by_environment(capsys, broken, monkeypatch):
    monkeypatch.setenv("SUPERWORDS_TRACEBACK", "1")
    assert "Traceback" in run(capsys, "show", "model.sw").err


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (PermissionError(13, "Permission denied", "x.sw"), "Permission denied (x.sw)."),
        (OSError(28, "No space left on device"), "No space left on device."),
        (MemoryError(), "not enough memory"),
    ],
)
def test_errors_of_the_machine(capsys, monkeypatch, error, said):
    def load(path):
        raise error

    monkeypatch.setattr("superwords.storage.model.read_result", load)
    found = run(capsys, "show", "x.sw")
    assert found.code == 1
    assert said in found.err
    assert found.err.count("\n") == 1


def test_ctrl_c_elsewhere_than_in_a_fit(capsys, monkeypatch):
    def load(path):
        raise KeyboardInterrupt

    monkeypatch.setattr("superwords.storage.model.read_result", load)
    found = run(capsys, "show", "x.sw")
    assert (found.code, found.err) == (1, "superwords: stopped.\n")


def test_ctrl_c_in_a_comparison_says_how_to_go_on(capsys, monkeypatch):
    def make_lineup(names):
        raise KeyboardInterrupt

    monkeypatch.setattr("superwords.compare.contest.make_lineup", make_lineup)
    found = run(capsys, "compare", "x.csv", "--text", "speech", "-o", "out")
    assert found.code == 1
    assert found.err == ("superwords: stopped; finished runs are kept, and the same command continues from there.\n")


def test_the_demo_takes_as_long_everywhere(capsys):
    assert "About half a minute." in COMMANDS["demo"]
    assert "(about half a minute" in demo._TIME


def test_what_alpha_omega_is(capsys):
    said = " ".join(run(capsys, "fit", "--help").out.replace("│", " ").split())
    assert "How many concepts to expect" not in said
    assert "How readily new concepts appear (α_ω): a larger number gives more" in said


def test_the_first_compile_takes_up_to_a_minute():
    assert "up to a minute" in STARTING


def test_a_closed_pipe_is_no_error_to_talk_about(tmp_path_factory):
    model = model_file(tmp_path_factory.mktemp("pipe"))
    process = start("show", model, "--json")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() in (0, 1)


def test_the_entry_point_is_this_function():
    from importlib.metadata import entry_points

    (script,) = entry_points(group="console_scripts", name="superwords")
    assert script.load() is entry.main
