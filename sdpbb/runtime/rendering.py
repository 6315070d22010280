"""Documents as plain text, and as HTML without pictures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import groupby

from sdpbb.runtime.document import (
    Document,
    Facts,
    Part,
    Picture,
    Section,
    Table,
    Text,
    Verdict,
)


@dataclass(frozen=True)
class Markup:
    """Text of HTML, whose special characters are not to be escaped."""

    html: str

    @classmethod
    def joined(cls, parts: Iterable[Markup]) -> Markup:
        return cls("\n".join(part.html for part in parts if part.html))


def markup(content: str | Markup) -> Markup:
    """Return content as it is, if it is markup; other text with its special characters escaped."""
    if isinstance(content, Markup):
        return content
    shown = (char if char.isprintable() or char == "\n" else "\ufffd" for char in content)
    return Markup(escape("".join(shown)))


def element(tag: str, content: str | Markup, **attributes: str) -> Markup:
    """Return an element as markup.

    An underscore at the end of an attribute's name is left out (`class_`).
    """
    given = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for name, value in attributes.items()
    )
    return Markup(f"<{tag}{given}>{markup(content).html}</{tag}>")


# Letters of the names of facts in plain text; letters from which on a cell of HTML is wrapped.
NAME, LONG = 15, 30
EMPTY = Markup("")
_NUMBER = re.compile(r"[-+]?(\d[\d.,]*(e[-+]?\d+)?|inf)( ?%| s| min| h)?|-")
Drawing = Callable[[Picture], Markup]
"""Function that draws a picture."""


def plain_text(document: Document) -> str:
    """Return a document as plain text: all but pictures and folded sections."""
    return _text(document.parts)


def notebook_html(document: Document) -> str:
    """Return a document as notebooks show it, in their own colours; nothing is loaded."""
    title = f"{document.title} {document.name}".strip()
    parts = [element("strong", title), *map(fragment, document.parts)]
    return element("div", Markup.joined(parts)).html


def fragment(part: Part, draw: Drawing | None = None, level: int = 2) -> Markup:
    """Return a part as HTML.

    draw : draws pictures, which are left out without it
    level : rank of the headings
    """
    match part:
        case Verdict(_, tone, text):
            words = element("p", element("strong", tone.words))
            return element(
                "div",
                Markup.joined([words, *([element("p", _sentence(text))] if text else [])]),
                class_=f"verdict {tone.kind}",
            )
        case Facts(rows):
            cells = [_row([name, value], [None, "text"]) for name, value in rows]
            return _scrolling("facts", [element("tbody", Markup.joined(cells))]) if rows else EMPTY
        case Table():
            return _table(part)
        case Text(text, "verbatim"):
            return element("pre", text)
        case Text(text, "list"):
            items = (element("li", line) for line in text.splitlines())
            return element("ul", Markup.joined(items))
        case Text(text, style):
            return element("p", text, **({"class_": "note"} if style == "note" else {}))
        case Picture():
            return EMPTY if draw is None else draw(part)
        case Section(heading, parts, folded):
            inner = [fragment(each, draw, level + 1) for each in parts]
            if folded:
                return element("details", Markup.joined([element("summary", heading), *inner]))
            tag = "section" if level == 2 else "div"
            return element(tag, Markup.joined([element(f"h{level}", heading), *inner]))


def _text(parts: Iterable[Part]) -> str:
    return "\n\n".join(_blocks(parts))


def _blocks(parts: Iterable[Part]) -> Iterator[str]:
    """Yield the paragraphs of plain text; facts that follow each other are one."""
    for named, group in groupby(parts, lambda part: isinstance(part, (Verdict, Facts))):
        if named:
            rows: list[tuple[str, str]] = []
            for part in group:
                if isinstance(part, Verdict):
                    rows.append((part.name, part.text or part.tone.words))
                elif isinstance(part, Facts):
                    rows += part.rows
            width = max([NAME, *(len(name) for name, _ in rows)])
            yield "\n".join(_printable(f"{name:<{width}} {value}") for name, value in rows)
            continue
        for part in group:
            match part:
                case Text(text, _):
                    yield "\n".join(map(_printable, text.splitlines()))
                case Table():
                    yield "\n".join(_lines(part))
                case Section(heading, inside, False):
                    lines = "\n\n".join(_blocks(inside)).splitlines()
                    yield "\n".join(
                        [f"{_printable(heading)}:", *(f"  {line}".rstrip() for line in lines)]
                    )


def _lines(table: Table) -> Iterator[str]:
    """Yield a table as lines of aligned columns."""
    table = _filled(table)
    rows = [*([table.columns] if table.columns else []), *table.rows]
    cells = [[_printable(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    numbers = _are_numbers(table)
    for row in cells:
        padded = (
            f"{cell:>{width}}" if number else f"{cell:<{width}}"
            for cell, width, number in zip(row, widths, numbers, strict=True)
        )
        yield "  ".join(padded).rstrip()
    if table.more:
        yield f"... and {table.more:,} more"


def _printable(text: str) -> str:
    """Return text without characters that break a line, or do something to a terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _filled(table: Table) -> Table:
    """Return a table without the columns in which no row has a text, but with the first one."""
    filled = [any(column) for column in zip(*table.rows, strict=True)]
    kept = [j for j, is_filled in enumerate(filled) if is_filled or j == 0]
    if len(kept) == len(filled):
        return table
    columns = [table.columns[j] for j in kept] if table.columns else ()
    return replace(table, columns=columns, rows=[[row[j] for j in kept] for row in table.rows])


def _are_numbers(table: Table) -> list[bool]:
    """Return which columns hold numbers, and nothing else."""
    return [
        any(column) and all(_NUMBER.fullmatch(cell) for cell in column if cell)
        for column in zip(*table.rows, strict=True)
    ] or [False] * len(table.columns)


def _table(table: Table) -> Markup:
    table = _filled(table)
    kinds: list[str | None] = []
    columns = list(zip(*table.rows, strict=True))
    for number, column in zip(_are_numbers(table), columns or table.columns, strict=True):
        is_long = any(len(cell) > LONG for cell in column)
        kinds.append("text long" if is_long else None if number else "text")
    parts = [element("caption", table.caption)] if table.caption else []
    if table.columns:
        cells = [
            element("th", name, scope="col", **_look(kind))
            for name, kind in zip(table.columns, kinds, strict=True)
        ]
        parts.append(element("thead", element("tr", Markup.joined(cells))))
    rows = Markup.joined(_row(row, kinds) for row in table.rows)
    shown = _scrolling("numbers", [*parts, element("tbody", rows)])
    if not table.more:
        return shown
    note = element("p", f"{table.more:,} more are left out.", class_="note")
    return Markup.joined([shown, note])


def _row(cells: Sequence[str], kinds: Sequence[str | None]) -> Markup:
    """Return the row of a table, whose first cell names it."""
    first, *others = cells
    parts = [element("th", first, scope="row", style="text-align:left")]
    parts += [
        element("td", cell, **_look(kind)) for cell, kind in zip(others, kinds[1:], strict=True)
    ]
    return element("tr", Markup.joined(parts))


def _look(kind: str | None) -> dict[str, str]:
    """Return the attributes of cells of text; numbers stand at the right by the style of pages."""
    return {} if kind is None else {"class_": kind, "style": "text-align:left"}


def _scrolling(kind: str, parts: Sequence[Markup]) -> Markup:
    """Return a table that scrolls by itself on a narrow screen, by the keyboard, too."""
    table = element("table", Markup.joined(parts), class_=kind)
    return element("div", table, class_="scroll", tabindex="0", role="group")


def _sentence(text: str) -> str:
    """Return text that begins with a capital letter and ends with a full stop."""
    stop = "" if text.endswith((".", "!", "?")) else "."
    return f"{text[:1].upper()}{text[1:]}{stop}"
