"""The picture in docs/architecture.md is that of the code."""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

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


def imported(module: str) -> set[str]:
    """The files that a file imports, wherever in it: in functions and for annotations, too.

    Importing `a.b.c` runs `a.b` first, which counts unless the file lies in that package itself.
    """
    found = set()
    for node in ast.walk(ast.parse(FILES[module].read_text(encoding="utf-8"))):
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


IMPORTED = {module: imported(module) for module in FILES}


def room_of(module: str) -> str:
    """`sdpbb.search.tree` is in search, `heuristics.kmeans` in heuristics."""
    return module.removeprefix("sdpbb.").split(".")[0]


def test_every_file_says_what_it_is_in_one_line():
    first = {m: ast.get_docstring(ast.parse(p.read_text("utf-8"))) for m, p in FILES.items()}
    bad = [
        module for module, text in first.items() if not re.match(r".+[.:?]\n?$", text or "", re.M)
    ]
    assert not bad


def test_every_room_is_in_the_picture():
    assert {room_of(module) for module in FILES.keys() - OUTSIDE} == set(LEVEL)


def test_imports_go_one_way():
    wrong = [
        f"{module} imports {other}"
        for module in FILES.keys() - OUTSIDE
        for other in IMPORTED[module]
        if room_of(other) != room_of(module) and LEVEL[room_of(other)] >= LEVEL[room_of(module)]
    ]
    assert sorted(wrong) == []


def test_the_search_knows_interfaces_only():
    """Of bounds; of heuristics, which are below it as well, the one that finds incumbents."""
    known = set().union(*(IMPORTED[module] for module in FILES if room_of(module) == "search"))
    bounds = {module for module in known if module.startswith("sdpbb.bounds.")}
    assert bounds == {"sdpbb.bounds.bound"}
    of_heuristics = {module for module in known if room_of(module) == "heuristics"}
    assert of_heuristics == {"heuristics", "heuristics.incumbents"}


def test_no_files_import_each_other():
    graph = {module: IMPORTED[module] for module in FILES.keys() - OUTSIDE}
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
