"""Imports follow the data: documents → corpus → features → sampler → draws → tables → CLI, web and plots."""

import ast
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import superwords

ROOT = Path(superwords.__file__).parent

# From left to right; a module imports only from its own place or from one further left.
FLOW = [
    ["errors", "files", "machine", "progress", "tabular"],
    ["cluster", "storage"],
    ["text"],
    ["features"],
    ["sampler"],
    ["storage.draws"],
    ["posterior"],
    ["analysis"],
    ["search"],
    ["fitting", "storage.model", "storage.checkpoint", "__init__"],
    ["plots"],
    ["demo", "paper", "web"],
    ["compare", "study"],
    ["cli"],
]
PLACE = {name: k for k, names in enumerate(FLOW) for name in names}


def part_of(path):
    return placed(path.relative_to(ROOT).with_suffix("").parts)


def placed(pieces):
    """The module's own place in the flow, or that of its package."""
    return next(name for name in (".".join(pieces[:2]), pieces[0]) if name in PLACE or name == pieces[0])


def imports(path):
    """Parts of the package imported when the module is loaded (imports inside functions are not)."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef) or (isinstance(outer, ast.If) and "TYPE_CHECKING" in ast.dump(outer.test))
        for node in ast.walk(outer)
    }
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            pieces = name.split(".")
            if pieces[0] == "superwords" and len(pieces) > 1:
                name = placed(pieces[1:])
                yield name if name in PLACE else "__init__"


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_imports_only_from_its_left(path):
    own = part_of(path)
    assert own in PLACE, f"{own} has no place in the flow"
    wrong = {name for name in imports(path) if PLACE[name] > PLACE[own]}
    assert not wrong, f"{path.relative_to(ROOT)} reaches to its right: {sorted(wrong)}"


def test_the_sampler_knows_nothing_of_text_files_or_faces():
    for path in (ROOT / "sampler").rglob("*.py"):
        assert set(imports(path)) <= {"errors", "sampler"}, path


def module_name(path):
    return ".".join(path.relative_to(ROOT.parent).with_suffix("").parts).removesuffix(".__init__")


def test_no_module_needs_itself_not_even_for_types_or_inside_a_function():
    modules = {module_name(path): path for path in ROOT.rglob("*.py") if path != ROOT / "__init__.py"}
    needs = {}
    for name, path in modules.items():
        found = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
        pairs = [(node.module, f"{node.module}.{alias.name}") for node in found for alias in node.names]
        needs[name] = {inner if inner in modules else outer for outer, inner in pairs} & set(modules)
    assert len(tuple(TopologicalSorter(needs).static_order())) == len(modules)


def test_nothing_is_read_from_beside_the_repository():
    assert [path for path in ROOT.rglob("*.py") if "../shared" in path.read_text()] == []


def test_types_are_left_open_in_modules_with_kernels_only():
    settings = tomllib.loads((ROOT.parents[1] / "pyproject.toml").read_text())["tool"]["mypy"]["overrides"]
    open_types = next(one["module"] for one in settings if one.get("disallow_untyped_defs") is False)
    about = ("sampler.jit import", "from llvmlite import")
    kernels = {path for path in ROOT.rglob("*.py") if any(one in path.read_text() for one in about)}
    names = {".".join(path.relative_to(ROOT.parent).with_suffix("").parts) for path in kernels}
    assert set(open_types) <= names


def test_no_test_module_imports_another():
    pattern = re.compile(r"^\s*(?:from|import) test_\w+", re.MULTILINE)
    assert [path.name for path in Path(__file__).parent.glob("*.py") if pattern.search(path.read_text())] == []
