"""The picture in docs/architecture.md is true; a name means one thing, and docstrings name it."""

import ast
import re
import tomllib
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import sdpbb

ROOT = Path(__file__).resolve().parents[1]
PICTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LINES = PICTURE.split("<!-- the tests read these lines -->")[1].split("\n\n")[1].splitlines()
LEVEL = {room: level for level, line in enumerate(LINES) for room in line.split()}
# What makes names public, and what starts the process, stand outside.
OUTSIDE = {"sdpbb", "sdpbb.__main__"}


def module_name(path: Path) -> str:
    """The name by which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {
    module_name(path): path
    for package in ("sdpbb", "heuristics")
    for path in (ROOT / package).rglob("*.py")
}


@cache
def tree_of(path: Path) -> ast.Module:
    """The source of a file, parsed."""
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imported(module: str) -> set[str]:
    """The files that a file imports, wherever in it: in functions and for annotations, too.

    Importing `a.b.c` runs `a.b` first, which counts unless the file lies in that package itself.
    """
    found = set()
    for node in ast.walk(tree_of(FILES[module])):
        if isinstance(node, ast.ImportFrom):
            package = FILES[module].parent.relative_to(ROOT).parts
            beginning = package[: len(package) + 1 - node.level] if node.level else ()
            origin = ".".join([*beginning, *filter(None, [node.module])])
            names = (f"{origin}.{alias.name}" for alias in node.names)
            found |= {name if name in FILES else origin for name in names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    packages = {name.rsplit(".", n)[0] for name in found for n in range(1, name.count(".") + 1)}
    around = {package for package in packages if f"{module}.".startswith(f"{package}.")}
    return ((found | packages - around) & FILES.keys()) - OUTSIDE - {module}


def room_of(module: str) -> str:
    """`sdpbb.search.tree` is in search, `heuristics.kmeans` in heuristics."""
    return module.removeprefix("sdpbb.").split(".")[0]


SCRIPTS = {path.name: path for path in ROOT.glob("scripts/**/*.py")}
FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef
# A first line that begins so asks or points at something, and leaves its name to the reader.
EVASIVE = (
    *("As ", "How ", "Of ", "That ", "The same ", "Those ", "What ", "When ", "Where "),
    *("Whether ", "Which ", "Who ", "Why ", "("),
)


def test_a_class_name_means_one_class():
    places = defaultdict(list)
    for module, path in FILES.items():
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(module)
    assert not [(name, found) for name, found in places.items() if len(found) > 1]


def is_right(node: ast.AST, text: str) -> bool:
    """Whether a docstring's first line is a whole sentence, and names the thing."""
    first, *others = text.splitlines()
    is_private = isinstance(node, FUNCTIONS) and node.name.startswith("_")
    is_whole = first.endswith((".", ":")) and not any(others[:1])
    return (is_private or is_whole) and not first.startswith(EVASIVE)


def test_first_lines_name_the_thing():
    wrong = []
    for place, path in {**FILES, **SCRIPTS}.items():
        for node in ast.walk(tree_of(path)):
            if not isinstance(node, (ast.Module, ast.ClassDef, *FUNCTIONS)):
                continue
            text, name = ast.get_docstring(node), getattr(node, "name", "")
            if text is None and isinstance(node, ast.Module) and place in FILES:
                wrong.append(f"{place}: no docstring")
            # The line of a class stands for its `__init__`, and for `of`.
            is_told = text and name != "__init__" and not text.startswith("Parameters\n")
            if is_told and not is_right(node, text):
                wrong.append(f"{place} {name}: {text.splitlines()[0]}")
    assert not wrong, "\n".join(wrong)


def test_no_module_states_the_version():
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert stated == sdpbb.__version__
    assert [m for m, path in FILES.items() if f'"{stated}"' in path.read_text()] == []


def test_every_room_is_in_the_picture():
    assert {room_of(module) for module in FILES.keys() - OUTSIDE} == set(LEVEL)


def test_imports_go_one_way():
    wrong = [
        f"{module} imports {other}"
        for module in FILES.keys() - OUTSIDE
        for other in imported(module)
        if room_of(other) != room_of(module) and LEVEL[room_of(other)] >= LEVEL[room_of(module)]
    ]
    assert sorted(wrong) == []


def test_the_search_knows_interfaces_only():
    """Of bounds; of heuristics, which are below it as well, the one that finds incumbents."""
    known = set().union(*(imported(module) for module in FILES if room_of(module) == "search"))
    bounds = {module for module in known if module.startswith("sdpbb.bounds.")}
    assert bounds == {"sdpbb.bounds.bound"}
    of_heuristics = {module for module in known if room_of(module) == "heuristics"}
    assert of_heuristics == {"heuristics", "heuristics.incumbents"}


def test_no_files_import_each_other():
    graph = {module: imported(module) for module in FILES.keys() - OUTSIDE}
    TopologicalSorter(graph).prepare()  # CycleError, which names the files of a circle


@pytest.mark.parametrize("library", ["loky", "cyclopts", "cvxpy", "clarabel", "scs"])
def test_no_private_attribute_of_a_library_is_used(library):
    """Of those whose private parts have been changed under this package before."""
    private = re.compile(rf"(?:\b|_){library}\b\S*\._\w")
    found = [
        f"{module}:{number}"
        for module, path in FILES.items()
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1)
        if private.search(line)
    ]
    assert not found
