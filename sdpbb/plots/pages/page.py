"""A document as one page of HTML, which needs no other file."""

from __future__ import annotations

from sdpbb.plots.pages.drawings import SCRIPT, drawn
from sdpbb.plots.pages.style import CSS
from sdpbb.plots.style import require_matplotlib
from sdpbb.runtime.document import Document, Facts, Part, Section, Text
from sdpbb.runtime.markup import Markup, element, markup
from sdpbb.runtime.rendering import fragment
from sdpbb.runtime.version import installed_version

LONGEST_TILE = 24
"""Letters of a fact that has a tile."""


def page(document: Document, version: str = "", command: str = "") -> str:
    """Return a page of a document.

    It refers to no other file; its one script zooms pictures.

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
    script = f"<script>{SCRIPT}</script>\n" if 'class="zooms"' in main.html else ""
    title = markup(f"{document.name or 'unnamed'}: {document.title}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title.html}</title>\n<style>{CSS}</style>\n</head>\n"
        f"<body>\n{main.html}\n{footer.html}\n{script}</body>\n</html>\n"
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
