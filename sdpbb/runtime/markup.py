"""Pieces of HTML. Text becomes markup here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from html import escape


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
