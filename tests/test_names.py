"""One name means one thing, and the first line of a docstring says which thing, on one line."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = "sdpbb", "heuristics"
FILES = sorted(path for room in (*PACKAGES, "scripts") for path in (ROOT / room).rglob("*.py"))
COLUMNS = 100

# A first line that begins so asks or points at something, and leaves its name to the reader.
EVASIVE = (
    *("As ", "How ", "Of ", "That ", "The same ", "Those ", "What ", "When ", "Where "),
    *("Whether ", "Which ", "Who ", "Why "),
)


class Described(NamedTuple):
    """Module, class or function with its docstring, which is None if it has none."""

    place: str
    kind: str
    name: str
    docstring: str | None
    indent: int


def described(source: str, place: str) -> Iterator[Described]:
    """Yield the module of a source, and all classes and functions in it."""
    tree = ast.parse(source)
    yield Described(place, "module", "", ast.get_docstring(tree), 0)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            kind = "class"
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            kind = "function"
        else:
            continue
        where = f"{place}:{node.lineno} {node.name}"
        yield Described(where, kind, node.name, ast.get_docstring(node), node.col_offset + 4)


def faults(thing: Described) -> Iterator[str]:
    """Yield what is wrong with the first line of a docstring."""
    if thing.docstring is None or thing.docstring.startswith("Parameters\n"):
        return  # the line of a class stands for its `__init__`, and for `of`
    if thing.name == "__init__":
        return
    first, _, rest = thing.docstring.partition("\n")
    if not thing.name.startswith("_") or thing.kind != "function":
        if not first.endswith((".", ":")):
            yield f"{thing.place}: the first line is no whole sentence: {first!r}"
        elif rest and not rest.startswith("\n"):
            yield f"{thing.place}: a second line follows the first one: {first!r}"
        if len(first) + thing.indent + len('"""') > COLUMNS:
            yield f"{thing.place}: the first line is too long: {first!r}"
    if first.startswith(EVASIVE):
        yield f"{thing.place}: the first line does not name the thing: {first!r}"
    if first.startswith("("):
        yield f"{thing.place}: the first line begins with a shape: {first!r}"


def repeated(sources: dict[str, str]) -> dict[str, list[str]]:
    """Return the names of several classes, with their places."""
    places = defaultdict(list)
    for place, source in sources.items():
        for thing in described(source, place):
            if thing.kind == "class":
                places[thing.name].append(thing.place)
    return {name: found for name, found in places.items() if len(found) > 1}


def test_a_class_name_means_one_class():
    sources = {
        str(path.relative_to(ROOT)): path.read_text()
        for path in FILES
        if path.relative_to(ROOT).parts[0] in PACKAGES
    }
    assert not repeated(sources)


@pytest.mark.parametrize("room", [*PACKAGES, "scripts"])
def test_first_lines_name_the_thing(room):
    wrong = [
        fault
        for path in FILES
        if path.relative_to(ROOT).parts[0] == room
        for thing in described(path.read_text(), str(path.relative_to(ROOT)))
        for fault in faults(thing)
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("docstring", "fault"),
    [
        ("Return the cost of", "no whole sentence"),
        ("Return the cost.\n    It is finite.", "a second line"),
        ("Return " + "the cost of " * 10 + "it.", "too long"),
        ("Whether it is closed.", "does not name"),
        ("The same for one node.", "does not name"),
        ("(m, k) the costs.", "begins with a shape"),
    ],
)
def test_faults_are_found(docstring, fault):
    source = f'"""Costs."""\n\n\ndef cost():\n    """{docstring}"""\n'
    (message,) = (m for thing in described(source, "made up") for m in faults(thing))
    assert fault in message


def test_right_first_lines_have_no_faults():
    source = '"""Costs."""\n\n\ndef cost():\n    """Return costs (m,):\n\n    whether or not."""\n'
    assert not [m for thing in described(source, "made up") for m in faults(thing)]


def test_repeated_names_are_found():
    one, other = "class Cost:\n    pass\n", "class Cost:\n    class Bound:\n        pass\n"
    assert set(repeated({"a": one, "b": other})) == {"Cost"}
