"""The picture in docs/architecture.md is that of the code."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PICTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
LINES = PICTURE.split("<!-- the tests read these lines -->")[1].split("\n\n")[1].splitlines()
LEVEL = {room: level for level, line in enumerate(LINES) for room in line.split()}
# What makes names public, and what starts the process, stand outside.
OUTSIDE = {"__init__", "__main__"}
MODULES = sorted([*(ROOT / "sdpbb").rglob("*.py"), *(ROOT / "heuristics").rglob("*.py")])


def room_of(module: str) -> str:
    """`sdpbb.search.tree` is in search, `heuristics.kmeans` in heuristics."""
    package, *rest = module.split(".")
    return package if package == "heuristics" or not rest else rest[0]


def imported(path: Path) -> set[str]:
    """All modules that a file imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            is_root = node.module == "sdpbb"
            found |= {f"sdpbb.{a.name}" if is_root else node.module for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.split(".")[0] in ("sdpbb", "heuristics")}


def test_every_room_is_in_the_picture():
    rooms = {room_of(".".join(m.relative_to(ROOT).with_suffix("").parts)) for m in MODULES}
    assert rooms - OUTSIDE == set(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_one_way(path):
    here = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
    if here in OUTSIDE:
        return
    for module in imported(path):
        there = room_of(module)
        if there in (here, "sdpbb") or there not in LEVEL:
            continue  # its own room, or a public name or the version
        assert LEVEL[there] < LEVEL[here], f"{here} imports {module}"
