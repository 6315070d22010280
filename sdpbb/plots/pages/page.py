"""A document as one page of HTML, which needs no other file; its pictures are SVG within it."""

from __future__ import annotations

import base64
from html import escape

from sdpbb.plots.style import require_matplotlib, svg
from sdpbb.runtime.document import Document, Picture, Section, Text
from sdpbb.runtime.rendering import Markup, element, fragment, markup
from sdpbb.runtime.version import installed_version

CSS = """
:root {
  color-scheme: light dark;
  --ink: #1b2430; --soft: #566270; --rule: #d9dee4; --paper: #fefefe; --panel: #f3f5f8;
  --good: #00694c; --fair: #8a5a00; --bad: #a83a00;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaef; --soft: #a9b4c0; --rule: #38424d; --paper: #14191f; --panel: #1d242c;
    --good: #4fd0a8; --fair: #f0b64a; --bad: #ff8f57;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 58rem;
  background: var(--paper); color: var(--ink); font: 1rem/1.55 system-ui, sans-serif;
}
h1, td, .text, details p { overflow-wrap: anywhere; }
h2 { margin-top: 2.6rem; padding-top: .9rem; border-top: 1px solid var(--rule); }
.kicker, .note, caption, figcaption, summary, footer, .facts th { color: var(--soft); }
.verdict { padding: .2rem 1.1rem; background: var(--panel); border-left: .35rem solid; }
.verdict strong { font-size: 1.15rem; }
.good { border-color: var(--good); }
.fair { border-color: var(--fair); }
.bad { border-color: var(--bad); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; }
th, td { padding: .28rem 1.1rem .28rem 0; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; vertical-align: top; }
.facts th { font-weight: 400; }
.numbers td, .numbers thead th:not(:first-child) { text-align: right; }
.numbers .long { min-width: 10rem; }
.numbers td:not(.long) { white-space: nowrap; }
figure { margin: 1rem 0; }
img { max-width: 100%; height: auto; }
pre { background: var(--panel); padding: .8rem 1rem; white-space: pre-wrap; }
footer { margin-top: 3rem; }
@media print {
  figure, table, .verdict { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""


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
    parts += [fragment(part, drawn) for part in document.parts]
    if command:
        parts.append(fragment(Section("The command", [Text(command, "verbatim")])))
    main = element("main", Markup.joined(parts))
    footer = element("footer", f"Written by sdpbb {version or installed_version()}.")
    title = markup(f"{document.name or 'unnamed'}: {document.title}")
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title.html}</title>\n<style>{CSS}</style>\n</head>\n"
        f"<body>\n{main.html}\n{footer.html}\n</body>\n</html>\n"
    )


def drawn(picture: Picture) -> Markup:
    """Return the figure of a picture, an image of its own for those who want to save it."""
    source = base64.b64encode(svg(picture.draw())).decode("ascii")
    text = escape(picture.description)
    image = Markup(f'<img src="data:image/svg+xml;base64,{source}" alt="{text}">')
    parts = [element("div", image, class_="scroll"), element("figcaption", picture.caption)]
    return element("figure", Markup.joined(parts))
