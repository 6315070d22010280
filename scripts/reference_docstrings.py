"""Docstrings of this project as Markdown, for the reference.

Sections are underlined, and their entries are `name : description`, over several lines that are
indented; programmes are indented as well, and examples begin with `>>>`.
"""

from __future__ import annotations

import re

_ENTRY = re.compile(r"^(?P<names>\*?[a-zA-Z_][\w, *.]*) : (?P<text>.*)$")
_UNDERLINE = re.compile(r"^-{3,}$")
_MARKS = re.compile(r"[*|<\[\]]|(?<!\w)_|_(?!\w)")
_NAMES = re.compile(r"^\w+(, \w+)*$")


def markdown(text: str) -> str:
    """Convert a docstring to Markdown.

    Section titles become bold lines, entries become items, programmes and examples blocks of code
    as they stand.
    """
    lines = text.splitlines()
    result: list[str] = []
    in_section, block = False, ""
    for position, line in enumerate(lines):
        following = lines[position + 1] if position + 1 < len(lines) else ""
        if block and not line:
            result.append("```")
            block = ""
        if not block and (block := _language(line)):
            result += ["", f"```{block}"]
        if block:
            result.append(line)
        elif _UNDERLINE.match(line):
            continue
        elif line and _UNDERLINE.match(following):
            result += ["", f"**{line}**", ""]
            in_section = True
        elif entry := _ENTRY.match(line):
            begins = not result or not result[-1].startswith(("- ", "  "))
            result += [""] * begins + [f"- `{entry['names']}`: {_prose(entry['text'])}"]
        elif in_section and _NAMES.match(line):  # an exception, or what is returned
            result.append(f"- `{line}`:")
        else:
            indented = line.startswith(" ") and result and result[-1].startswith(("- ", "  "))
            result.append(f"{'  ' * bool(indented)}{_prose(line.strip())}")
    return re.sub(r"\n{3,}", "\n\n", "\n".join([*result, "```"] if block else result)).strip()


def _language(line: str) -> str:
    """Return the language of the block that begins with a line, or nothing if none does."""
    if line.startswith(">>> "):
        return "pycon"
    return "text" if line.startswith(("minimise ", "    ")) and "  " in line.strip() else ""


def _prose(line: str) -> str:
    """Return a line with what Markdown would take for marks of its own left as it is."""
    parts = line.split("`")
    parts[::2] = [_MARKS.sub(r"\\\g<0>", part) for part in parts[::2]]
    return "`".join(parts)
