"""Docstrings of this project as Markdown, for the reference.

Sections are underlined, and their entries are `name : description`, over several lines that are
indented; numbered steps and formulas are indented as well.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

_ENTRY = re.compile(r"^(?P<names>[\w, *.]+) : (?P<text>.*)$")
_UNDERLINE = re.compile(r"^-{3,}$")


class Docstrings(griffe.Extension):
    """Turns each docstring into Markdown when it is loaded."""

    def on_object(self, *, obj: griffe.Object, **context: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = markdown(obj.docstring.value)


def markdown(text: str) -> str:
    """Convert a docstring to Markdown.

    Section titles become bold lines, entries become items, and programmes, as what is indented
    outside of sections, blocks as they stand.
    """
    lines, result, in_section, in_programme = text.splitlines(), [], False, False
    for position, line in enumerate(lines):
        in_programme = bool(line) and (in_programme or line.startswith("minimise "))
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if _UNDERLINE.match(line):
            continue
        if in_programme:
            result.append(f"    {line}")
            continue
        if line and _UNDERLINE.match(following):
            result += ["", f"**{line}**", ""]
            in_section = True
        elif entry := _ENTRY.match(line) if in_section else None:
            result.append(f"- `{entry['names']}`: {entry['text']}")
        elif in_section and re.match(r"^\w+(, \w+)*$", line):  # an exception, or what is returned
            result.append(f"- `{line}`:")
        elif in_section:
            result.append(f"  {line.strip()}" if line.startswith(" ") else line)
        else:
            result.append(line)
    return "\n".join(result)
