"""Generated parts of the documentation: help texts, parameters, and what Python users call.

    python scripts/reference_pages.py            write them anew
    python scripts/reference_pages.py --check    only tell which pages are out of date

They stand in the pages between a line `<!-- written: WHAT -->` and a line `<!-- end -->`; what is
around them is written by hand. WHAT is one of

    help NAME           what `sdpbb NAME --help` prints
    parameters          the parameters of the engine, as they are declared
    parameters NAME     those of a heuristic; "reading": options of reading files
    object PATH         a class or a function: its declaration and its docstring
    module PATH         all public classes and functions of a module
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from reference_objects import described, described_module

import sdpbb

if TYPE_CHECKING:
    from sdpbb.runtime.declaration import Declaration

ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
    ROOT / "docs" / "heuristics.md",
]
_PART = re.compile(
    r"^<!-- written: (?P<kind>\w+) ?(?P<name>[\w. -]*?) -->\n.*?^<!-- end -->$", re.M | re.S
)
_HEAD = "| parameter | default | expected | |\n| --- | --- | --- | --- |"


def main() -> None:
    """Write the pages, or tell which are out of date."""
    options = argparse.ArgumentParser(description="Write the generated parts of the documentation.")
    options.add_argument("--check", action="store_true", help="write nothing, tell what would be")
    check = options.parse_args().check
    stale = out_of_date(PAGES)
    for page, text in stale.items():
        print(page.relative_to(ROOT), "is out of date" if check else "written")
        if not check:
            page.write_text(text, encoding="utf-8")
    sys.exit(1 if check and stale else 0)


def out_of_date(pages: list[Path]) -> dict[Path, str]:
    """Return the pages that are not as they would be written now, with what they would be."""
    texts = {page: page.read_text(encoding="utf-8") for page in pages}
    return {page: new for page, text in texts.items() if (new := written(text)) != text}


def written(page: str) -> str:
    """Return the text of a page with its generated parts written anew."""
    return _PART.sub(_part, page)


def _part(found: re.Match[str]) -> str:
    parts: dict[str, Callable[[str], str]] = {
        "help": _help_text,
        "parameters": _parameters,
        "object": lambda path: described(path, _called),
        "module": lambda path: described_module(path, _called),
    }
    kind, name = found["kind"], found["name"]
    head = f"<!-- written: {kind} {name}".rstrip()
    return f"{head} -->\n\n{parts[kind](name)}\n\n<!-- end -->"


def _help_text(command: str) -> str:
    """Return what a command prints with `--help`, on a terminal of 88 columns."""
    from sdpbb.app.cli import main

    arguments = ["sdpbb", *command.split(), "--help"]
    environment = {"COLUMNS": "88", "NO_COLOR": "1", "TERM": "dumb"}
    output = io.StringIO()
    with (
        patch.dict(os.environ, environment),
        patch.object(sys, "argv", arguments),
        contextlib.redirect_stdout(output),
        contextlib.suppress(SystemExit),
    ):
        os.environ.pop("FORCE_COLOR", None)
        main()
    return f"```text\n{output.getvalue().rstrip()}\n```"


def _called(path: str) -> str:
    """Return the name that users call a class or a function."""
    name = path.rpartition(".")[2]
    return f"sdpbb.{name}" if name in sdpbb.__all__ else path


def _parameters(heuristic: str) -> str:
    if heuristic == "reading":
        from sdpbb.runtime.declaration import own_declarations
        from sdpbb.runtime.reading import Reading

        return "\n".join([_HEAD, *map(_row, own_declarations(Reading).values())])
    return _heuristic_parameters(heuristic) if heuristic else _engine_parameters()


def _engine_parameters() -> str:
    """Return a section for each component, with a table of its parameters."""
    from sdpbb.run.parameters import SolverParameters
    from sdpbb.runtime.declaration import Parameters, declarations

    lines = [_HEAD]
    for each in declarations(SolverParameters):
        if isinstance(each.default, Parameters):
            lines += ["", f"## {each.path}", "", each.help, ""]
            story = " ".join((type(each.default).__doc__ or "").split("\n\n", 1)[1:]).split()
            lines += [" ".join(story), ""] if story else []
            lines += [_HEAD]
        else:
            lines.append(_row(each))
    # A component of components has no table of its own.
    return "\n".join(lines).replace(f"{_HEAD}\n\n", "")


def _heuristic_parameters(name: str) -> str:
    """Return a table of the parameters of a heuristic.

    Its own come before those that it inherits, without the time limit, which all have.
    """
    from heuristics.registry import method_class, method_parameters

    declared = dict(method_parameters(name))
    del declared["time_limit"]
    own = vars(method_class(name)).get("__annotations__", {})
    rows = sorted(declared.values(), key=lambda each: each.name not in own)
    return "\n".join([_HEAD, *map(_row, rows)])


def _row(declaration: Declaration) -> str:
    text = f"{declaration.help} {declaration.reason}".strip().replace("|", "\\|")
    return f"| `{declaration.path}` | `{declaration.default}` | {declaration.expected} | {text} |"


if __name__ == "__main__":
    main()
