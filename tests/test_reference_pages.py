"""Reference pages: what is generated in them is up to date, and nothing public is missing."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sdpbb
from sdpbb.app.cli.app import COMMANDS

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "reference"


@pytest.fixture(autouse=True)
def scripts_in_the_path(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "scripts")


@pytest.mark.long
def test_pages_are_up_to_date():
    # In a process of its own: help texts depend on what a process has done with its terminal.
    done = subprocess.run(
        [sys.executable, ROOT / "scripts" / "reference_pages.py", "--check"],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\nwrite them anew by this script"


def test_parts_are_written_anew_and_the_rest_is_left():
    from reference_pages import written

    page = "Before.\n\n<!-- written: help verify -->\nStale.\n<!-- end -->\n\nAfter {{ help }}.\n"
    new = written(page)
    assert new.startswith("Before.\n\n<!-- written: help verify -->\n\n```text\nUsage: sdpbb ")
    assert new.endswith("```\n\n<!-- end -->\n\nAfter {{ help }}.\n")
    assert "Stale." not in new
    assert written(new) == new


def test_every_command_has_its_help():
    page = (REFERENCE / "cli.md").read_text()
    assert set(re.findall(r"^<!-- written: help (\w+) -->$", page, re.M)) == set(COMMANDS)
    assert "<!-- written: help -->" in page


def test_every_public_name_has_a_section():
    page = (REFERENCE / "python.md").read_text()
    sections = re.findall(r"^### `sdpbb\.(\w+)`$", page, re.M)
    assert sorted(sections) == sorted({*sdpbb.__all__} - {"__version__"})


def test_docstrings_become_markdown():
    from reference_docstrings import markdown

    docstring = """First line of f(x_i, *a).

minimise    x_1
subject to  x_1 >= 0

Examples
--------
>>> 1 + 1
2

Parameters
----------
x, y : numbers | None,
    over two lines
z : `a * b`

Raises
------
ValueError
    For *others*.

Text behind.
"""
    assert markdown(docstring) == (
        "First line of f(x_i, \\*a).\n\n```text\nminimise    x_1\nsubject to  x_1 >= 0\n```\n\n"
        "**Examples**\n\n```pycon\n>>> 1 + 1\n2\n```\n\n"
        "**Parameters**\n\n- `x, y`: numbers \\| None,\n  over two lines\n- `z`: `a * b`\n\n"
        "**Raises**\n\n- `ValueError`:\n  For \\*others\\*.\n\nText behind."
    )


def test_declarations_are_those_of_the_source(tmp_path, monkeypatch):
    import reference_objects

    (tmp_path / "module.py").write_text(
        '"""A module."""\n'
        "class Thing(Base):\n"
        '    """A thing."""\n'
        "    size: int = parameter(3, 'Points.')\n"
        "    names: tuple[str, ...] = field(default_factory=tuple)\n"
        "    _hidden: int = 0\n"
        "    @classmethod\n"
        "    def of(cls, x, *rest: int, y: float = 1e-3, **others):\n"
        '        """Return a thing."""\n'
        "    def undescribed(self): ...\n"
    )
    monkeypatch.setattr(reference_objects, "ROOT", tmp_path)
    assert reference_objects.described("module.Thing", lambda path: "package.Thing") == (
        "### `package.Thing`\n\n"
        "```py\nclass Thing(Base):\n    size: int = 3\n    names: tuple[str, ...] = tuple()\n"
        "```\n\n"
        "A thing.\n\n#### `Thing.of`\n\n"
        "```py\n@classmethod\ndef of(x, *rest: int, y: float = 0.001, **others)\n```\n\n"
        "Return a thing."
    )
    with pytest.raises(LookupError, match="no class or function"):
        reference_objects.described("module.Other", str)


def test_parts_of_a_class_in_files_beside_it_belong_to_it(tmp_path, monkeypatch):
    import reference_objects

    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
    (tmp_path / "here" / "part.py").write_text(
        "class Part:\n"
        '    """A part."""\n'
        "    def half(self):\n"
        '        """Return a half."""\n'
        "    def whole(self):\n"
        '        """Return less."""\n'
    )
    (tmp_path / "here" / "thing.py").write_text(
        "from here.part import Part\n"
        "from there.other import Other\n"
        "class Thing(Part, Other):\n"
        '    """A thing."""\n'
        "    def whole(self):\n"
        '        """Return all."""\n'
    )
    monkeypatch.setattr(reference_objects, "ROOT", tmp_path)
    text = reference_objects.described("here.thing.Thing", lambda path: "package.Thing")
    assert text == (
        "### `package.Thing`\n\n```py\nclass Thing(Part, Other)\n```\n\nA thing.\n\n"
        "#### `Thing.whole`\n\n```py\ndef whole()\n```\n\nReturn all.\n\n"
        "#### `Thing.half`\n\n```py\ndef half()\n```\n\nReturn a half."
    )
