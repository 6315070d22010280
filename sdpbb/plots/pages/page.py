"""A document as one page of HTML, which needs no other file; its pictures are SVG within it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from sdpbb.plots.pages.style import CSS
from sdpbb.plots.style import (
    BLUE,
    GREEN,
    INDIGO,
    INK,
    PALE,
    PAPER,
    RED,
    RULE,
    SKY,
    WINE,
    rendered,
    require_matplotlib,
)
from sdpbb.runtime.document import Document, Facts, Part, Picture, Section, Text
from sdpbb.runtime.rendering import Markup, element, fragment, markup
from sdpbb.runtime.version import installed_version

if TYPE_CHECKING:
    from matplotlib.axes import Axes


LONGEST_TILE = 24
"""Letters of a fact that has a tile."""


def page(document: Document, version: str = "", command: str = "") -> str:
    """Return a page of a document.

    It refers to no other file, and has no script.

    version : of the program that made the result; "" for this one
    command : what was typed for it; "" for a result from Python

    Raises
    ------
    BackendUnavailable
        Without matplotlib.
    """
    require_matplotlib()
    name = document.name or "Unnamed instance"
    parts = [element("p", document.title, class_="kicker"), element("h1", name)]
    parts += map(_opening, document.parts)
    if command:
        repeated = Section("The command", [Text(command, "verbatim")])
        parts.append(fragment(repeated))
    main = element("main", Markup.joined(parts))
    footer = element("footer", f"Written by sdpbb {version or installed_version()}.")
    title = markup(f"{document.name or 'unnamed'}: {document.title}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title.html}</title>\n<style>{CSS}</style>\n</head>\n"
        f"<body>\n{main.html}\n{footer.html}\n</body>\n</html>\n"
    )


def _opening(part: Part) -> Markup:
    """Return a part of a page; of facts outside of sections, the short ones side by side."""
    if not isinstance(part, Facts):
        return fragment(part, drawn)
    short = [row for row in part.rows if len(row[1]) <= LONGEST_TILE]
    tiles = [
        element("div", Markup.joined([element("dt", name), element("dd", value)]))
        for name, value in short
    ]
    others = Facts([row for row in part.rows if row not in short])
    shown = [element("dl", Markup.joined(tiles), class_="tiles")] if tiles else []
    return Markup.joined([*shown, fragment(others, drawn)])


# What the page decides, so that it can be dark.
COLOURS = {
    INK: "currentColor",
    PALE: "var(--pale)",
    RULE: "var(--rule)",
    PAPER: "var(--paper)",
    BLUE: "var(--blue)",
    SKY: "var(--sky)",
    GREEN: "var(--green)",
    RED: "var(--red)",
    INDIGO: "var(--indigo)",
    WINE: "var(--wine)",
}
_SIZE = re.compile(r'width="([\d.]+)pt" height="[\d.]+pt"')


def inline_svg(
    ax: Axes, name: str, description: str, titles: Mapping[str, Sequence[str]] | None = None
) -> Markup:
    """Return the figure of the axes as SVG, to stand in a page.

    Parameters
    ----------
    name : a word that no other drawing of the page has
    description : what the picture shows, for those who do not see it
    titles : by the names of groups of marks: what each mark tells under the pointer
    """
    svg = rendered(ax, "svg", svg_fonttype="none").decode("utf-8")
    svg = svg[svg.index("<svg") :]
    for superfluous in (r"<metadata>.*?</metadata>", r"<style.*?</style>", r"<!--.*?-->"):
        svg = re.sub(superfluous, "", svg, flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href", "href")
    for group, texts in (titles or {}).items():
        svg = _titled(svg, group, texts)
    svg = _with_own_ids(svg, name)
    for colour, of_page in COLOURS.items():
        svg = svg.replace(colour, of_page)
    svg = re.sub(r"font: (?:\w+ )?([\d.]+)px [^;\"]*", r"font-size: \1px", svg)
    return Markup(_sized(svg, description).rstrip())


def _titled(svg: str, group: str, texts: Sequence[str]) -> str:
    """Return a drawing with a title in each mark of a group, unless there are others in it."""
    begins = svg.find(f'<g id="{group}">')
    if begins < 0:
        return svg
    ends = svg.find('<g id="', begins + 1)
    ends = len(svg) if ends < 0 else ends
    marks = re.split(r"(<use [^>]*)/>", svg[begins:ends])
    if len(marks) // 2 != len(texts):
        return svg
    for position, text in enumerate(texts):
        marks[2 * position + 1] += f"><title>{markup(text).html}</title></use>"
    return svg[:begins] + "".join(marks) + svg[ends:]


def _with_own_ids(svg: str, name: str) -> str:
    """Rename the identifiers, so that no other drawing of the page has them."""
    svg = re.sub(r'\bid="', f'id="{name}-', svg)
    svg = svg.replace("url(#", f"url(#{name}-")
    return svg.replace('href="#', f'href="#{name}-')


def _sized(svg: str, description: str) -> str:
    """Make the drawing as wide as the page, but no wider than it was drawn."""
    found = _SIZE.search(svg)
    assert found is not None
    # Typographic points; a pixel of CSS is three quarters of one.
    width = round(float(found[1]) / 0.75)
    look = f"width:100%;max-width:{width}px"
    attributes = f'role="img" aria-label="{escape(description)}" style="{look}"'
    return svg[: found.start()] + attributes + svg[found.end() :]


def drawn(picture: Picture) -> Markup:
    """Return the figure of a picture."""
    drawing = inline_svg(picture.draw(), picture.name, picture.description, picture.titles)
    parts = [
        element("div", drawing, class_="scroll"),
        element("figcaption", picture.caption),
    ]
    return element("figure", Markup.joined(parts))
