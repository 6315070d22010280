"""A result as a document: verdict, facts, tables, texts and pictures.

Each kind of result has one document. `sdpbb.runtime.rendering` makes plain text and HTML of it for
terminals and notebooks, `sdpbb.plots.pages` a page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Tone(NamedTuple):
    """Headline of a verdict, and whether it is good news."""

    words: str
    kind: Literal["good", "fair", "bad"]


@dataclass(frozen=True)
class Verdict:
    """Headline of a document: what is proven.

    name : of the line in plain text, such as "Status"
    tone : the headline of a page
    text : sentences that need no headline
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
    """Table, of which the first column names the rows.

    columns : the headings, or ()
    caption : for pages, or ""
    more : number of further rows, which are left out
    """

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    more: int = 0


@dataclass(frozen=True)
class Text:
    """A paragraph, a note in small letters, preformatted lines, or a list of lines."""

    text: str
    style: Literal["paragraph", "note", "verbatim", "list"] = "paragraph"


@dataclass(frozen=True)
class Picture:
    """Picture, for pages only.

    description : what it shows, for those who do not see it
    draw : makes it
    """

    description: str
    caption: str
    draw: Callable[[], Axes]


@dataclass(frozen=True)
class Section:
    """Parts under a heading.

    folded : whether a page shows them only on demand; plain text leaves them out
    """

    heading: str
    parts: Sequence[Part]
    folded: bool = False


Part = Verdict | Facts | Table | Text | Picture | Section


@dataclass(frozen=True)
class Document:
    """A result for people.

    title : kind of the result
    parts : what it says, in order
    name : of the instance, or ""
    """

    title: str
    parts: Sequence[Part]
    name: str = ""
