"""A result as a document: verdict, facts, tables, texts, pictures, files; in plain text and HTML.

Each kind of result has one document. Terminals and notebooks show it without pictures;
`sdpbb.plots.pages` makes a page from it.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple
from xml.etree.ElementTree import Element, tostring

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Tone(NamedTuple):
    """Headline of a verdict, and whether it is good news."""

    words: str
    kind: Literal["good", "fair", "bad"]


@dataclass(frozen=True)
class Verdict:
    """Headline of a document: what is proven.

    name : name of the line in plain text, such as "Status"
    tone : the headline of a page
    text : further sentences, or ""
    """

    name: str
    tone: Tone
    text: str


@dataclass(frozen=True)
class Facts:
    """Named values. A name may occur more than once."""

    rows: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Table:
    """Table, whose first column names the rows.

    columns : the headings
    caption : for pages, or ""
    more : number of further rows, which are not in the table
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    more: int = 0

    def filled(self) -> Table:
        """Return the table without empty columns; the first column always stays."""
        filled = [any(column) for column in zip(*self.rows, strict=True)]
        kept = [j for j, is_filled in enumerate(filled) if is_filled or j == 0]
        if len(kept) == len(filled):
            return self
        columns, *rows = ([row[j] for j in kept] for row in (self.columns, *self.rows))
        return replace(self, columns=columns, rows=rows)

    def are_numbers(self) -> list[bool]:
        """Return which columns hold only numbers."""
        return [
            any(column) and all(_NUMBER.fullmatch(cell) for cell in column if cell)
            for column in zip(*self.rows, strict=True)
        ] or [False] * len(self.columns)


@dataclass(frozen=True)
class Text:
    """A paragraph, a note in small letters, preformatted lines, or a list of lines."""

    text: str
    style: Literal["paragraph", "note", "verbatim", "list"] = "paragraph"


@dataclass(frozen=True)
class Picture:
    """Picture, for pages only.

    description : text for readers who do not see the picture
    draw : function that draws it
    """

    description: str
    caption: str
    draw: Callable[[], Axes]


@dataclass(frozen=True)
class Download:
    """File of CSV that readers of a page can save; for pages only.

    file : its name
    """

    file: str
    content: bytes


@dataclass(frozen=True)
class Section:
    """Parts under a heading.

    folded : whether a page shows them only on demand; plain text does not have them
    """

    heading: str
    parts: Sequence[Part]
    folded: bool = False


Part = Verdict | Facts | Table | Text | Picture | Download | Section


@dataclass(frozen=True)
class Document:
    """Result for people.

    title : kind of the result
    parts : parts in order
    name : name of the instance, or ""
    """

    title: str
    parts: Sequence[Part]
    name: str = ""


# Minimum width of the names of facts in plain text; maximum letters of a cell of HTML without
# wrapping.
NAME, LONG = 15, 30
_NUMBER = re.compile(r"[-+]?(\d[\d.,]*(e[-+]?\d+)?|inf)( ?%| s| min| h)?|-")


def plain_text(document: Document) -> str:
    """Return a document as plain text: all but pictures, files and folded sections."""
    return "\n\n".join(_blocks(document.parts))


def _blocks(parts: Iterable[Part]) -> Iterator[str]:
    """Yield the paragraphs of plain text; adjacent facts are one paragraph."""
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
    table = table.filled()
    cells = [[_printable(cell) for cell in row] for row in (table.columns, *table.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    sides = [">" if is_number else "<" for is_number in table.are_numbers()]
    for row in cells:
        each = zip(row, sides, widths, strict=True)
        yield "  ".join(f"{cell:{side}{width}}" for cell, side, width in each).rstrip()
    if table.more:
        yield f"... and {table.more:,} more"


def _printable(text: str) -> str:
    """Return text with escapes for characters that would break a line or control a terminal."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def element(tag: str, *content: str | Element | None, **attributes: str) -> Element:
    """Return an element of HTML: a text, or elements one below the other.

    An underscore at the end of an attribute's name is removed (`class_`). The replacement character
    stands for characters that cannot be printed.
    """
    made = Element(tag, {name.rstrip("_"): value for name, value in attributes.items()})
    for part in content:
        if isinstance(part, str):
            shown = (char if char.isprintable() or char == "\n" else "\ufffd" for char in part)
            made.text = "".join(shown)
        elif part is not None:
            part.tail = "\n"
            made.append(part)
    return made


def html(made: Element) -> str:
    """Return an element as text of HTML."""
    return tostring(made, encoding="unicode", method="html")


def notebook_html(document: Document) -> str:
    """Return a document as HTML for notebooks, in their colours; it loads nothing."""
    title = f"{document.title} {document.name}".strip()
    return html(element("div", element("strong", title), *map(fragment, document.parts)))


def fragment(
    part: Part, draw: Callable[[Picture], Element | None] = lambda picture: None, level: int = 2
) -> Element | None:
    """Return a part as HTML.

    draw : draws pictures; default: without pictures
    level : rank of the headings
    """
    match part:
        case Verdict(_, tone, text):
            words = element("p", element("strong", tone.words))
            if text:
                stop = "" if text.endswith((".", "!", "?")) else "."
                text = f"{text[:1].upper()}{text[1:]}{stop}"
            return element(
                "div", words, element("p", text) if text else None, class_=f"verdict {tone.kind}"
            )
        case Facts(rows):
            cells = [_row(row, [None, "text"]) for row in rows]
            return _scrolling("facts", element("tbody", *cells)) if rows else None
        case Table():
            return _table(part)
        case Text(text, "verbatim"):
            return element("pre", text)
        case Text(text, "list"):
            return element("ul", *(element("li", line) for line in text.splitlines()))
        case Text(text, style):
            return element("p", text, **({"class_": "note"} if style == "note" else {}))
        case Picture():
            return draw(part)
        case Download(file, content):
            link = f"data:text/csv;base64,{base64.b64encode(content).decode('ascii')}"
            return element("p", element("a", f"Save {file}", href=link, download=file))
        case Section(heading, parts, folded):
            inner = [fragment(each, draw, level + 1) for each in parts]
            if folded:
                return element("details", element("summary", heading), *inner)
            tag = "section" if level == 2 else "div"
            return element(tag, element(f"h{level}", heading), *inner)


def _table(table: Table) -> Element:
    table = table.filled()
    kinds: list[str | None] = []
    columns = list(zip(*table.rows, strict=True))
    for number, column in zip(table.are_numbers(), columns or table.columns, strict=True):
        is_long = any(len(cell) > LONG for cell in column)
        kinds.append("text long" if is_long else None if number else "text")
    parts = [element("caption", table.caption)] if table.caption else []
    each = zip(table.columns, kinds, strict=True)
    cells = (element("th", name, scope="col", **_look(kind)) for name, kind in each)
    parts.append(element("thead", element("tr", *cells)))
    rows = (_row(row, kinds) for row in table.rows)
    shown = _scrolling("numbers", *parts, element("tbody", *rows))
    if not table.more:
        return shown
    return element("div", shown, element("p", f"{table.more:,} more are left out.", class_="note"))


def _row(cells: Sequence[str], kinds: Sequence[str | None]) -> Element:
    """Return the row of a table, whose first cell names it."""
    first = element("th", cells[0], scope="row", style="text-align:left")
    others = zip(cells[1:], kinds[1:], strict=True)
    return element("tr", first, *(element("td", cell, **_look(kind)) for cell, kind in others))


def _look(kind: str | None) -> dict[str, str]:
    """Return the attributes of cells of text; the style of pages aligns numbers on the right."""
    return {} if kind is None else {"class_": kind, "style": "text-align:left"}


def _scrolling(kind: str, *parts: Element) -> Element:
    """Return a table that scrolls separately on a narrow screen, also by keyboard."""
    table = element("table", *parts, class_=kind)
    return element("div", table, class_="scroll", tabindex="0", role="group")
