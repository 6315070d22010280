"""Pieces of HTML. Text becomes markup here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

LONGEST_NUMBER = 30
"""Letters of what a table sets as a number."""


@dataclass(frozen=True)
class Markup:
    """Text of HTML, whose special characters are not to be escaped."""

    html: str

    @classmethod
    def joined(cls, parts: Iterable[Markup]) -> Markup:
        return cls("\n".join(part.html for part in parts))


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


def paragraph(content: str | Markup, **attributes: str) -> Markup:
    return element("p", content, **attributes)


def bullets(texts: Iterable[str]) -> Markup:
    """Return a list, an item for each text."""
    return element("ul", Markup.joined(element("li", text) for text in texts))


def section(heading: str, *parts: Markup) -> Markup:
    """Return a part of the page under its heading."""
    return element("section", Markup.joined([element("h2", heading), *parts]))


def subsection(heading: str, *parts: Markup) -> Markup:
    """Return a part of a section under its heading."""
    return Markup.joined([element("h3", heading), *parts])


def definitions(pairs: Iterable[tuple[str, str | Markup]]) -> Markup:
    """Return a table of two columns, a name and its meaning."""
    rows = [
        element("tr", Markup.joined([element("th", name, scope="row"), element("td", value)]))
        for name, value in pairs
    ]
    return _scrolling(element("table", element("tbody", Markup.joined(rows)), class_="facts"))


def table(caption: str, heading: Sequence[str], rows: Iterable[Sequence[str | Markup]]) -> Markup:
    """Return a table of numbers, each row under the same heading.

    The first column names the row. One with a text of more than LONGEST_NUMBER letters is set as
    text.
    """
    listed = [list(row) for row in rows]
    classes: list[dict[str, str]] = [{} for _ in heading]
    for row in listed:
        for j, value in enumerate(row[1:], start=1):
            if isinstance(value, str) and len(value) > LONGEST_NUMBER:
                classes[j] = {"class_": "text"}
    head = Markup.joined(
        element("th", name, scope="col", **given)
        for name, given in zip(heading, classes, strict=True)
    )
    body = []
    for row in listed:
        cells = [element("th", row[0], scope="row")]
        cells += [element("td", value, **classes[j]) for j, value in enumerate(row) if j]
        body.append(element("tr", Markup.joined(cells)))
    parts = [
        element("caption", caption),
        element("thead", element("tr", head)),
        element("tbody", Markup.joined(body)),
    ]
    return _scrolling(element("table", Markup.joined(parts), class_="numbers"))


def _scrolling(content: Markup) -> Markup:
    """Wrap wide content so that it scrolls by itself on a narrow screen, by the keyboard, too."""
    return element("div", content, class_="scroll", tabindex="0", role="group")


def details(summary: str, content: Markup) -> Markup:
    """Return content that is shown when its summary is clicked."""
    return element("details", Markup.joined([element("summary", summary), content]))


def figure(drawing: Markup, caption: str) -> Markup:
    parts = [element("div", drawing, class_="scroll"), element("figcaption", caption)]
    return element("figure", Markup.joined(parts))


def grid(rows: Iterable[Sequence[str]]) -> Markup:
    """Return a plain table, whose first row and first column name the others."""
    lines = []
    for i, row in enumerate(rows):
        tags = ("th" if i == 0 or j == 0 else "td" for j in range(len(row)))
        cells = Markup.joined(element(tag, value) for tag, value in zip(tags, row, strict=True))
        lines.append(element("tr", cells))
    return element("table", element("tbody", Markup.joined(lines)))


def card(title: str, facts: Iterable[tuple[str, str | Markup]], text: str = "") -> str:
    """Return what a notebook shows of an object: a title, a table of facts, preformatted text.

    Colours and fonts are those of the page, and nothing is loaded.
    """
    left = "text-align:left;padding:.1em 1em .1em 0"
    rows = [
        element(
            "tr",
            Markup(
                element("th", name, scope="row", style=left).html
                + element("td", value, style=left).html
            ),
        )
        for name, value in facts
    ]
    parts = [element("strong", title)]
    if rows:
        parts.append(element("table", element("tbody", Markup.joined(rows))))
    if text:
        parts.append(element("pre", text))
    return element("div", Markup.joined(parts)).html
