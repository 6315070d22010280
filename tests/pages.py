"""Checks of HTML: elements are nested, nothing is loaded, pictures say what they show."""

import base64
import re
from html.parser import HTMLParser

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """What is in a text of HTML; fails where elements are not nested."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        assert self._open, f"</{tag}> closes nothing"
        assert self._open.pop() == tag

    def handle_data(self, data):
        if self._open and self._open[-1] not in ("style", "script"):
            self.texts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.texts).split())


def checked(html: str) -> Page:
    """The page, if it is well-formed, needs nothing else and can be read without pictures."""
    page = Page(html)
    assert html.startswith("<!DOCTYPE html>\n")
    assert not {"link", "svg", "iframe", "object", "script", "button"} & set(page.tags)
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("href", "src"):
            assert value.startswith("data:")
    assert "://" not in html
    assert "@import" not in html
    assert "url(" not in html
    named = [value for name, value in page.attributes if name == "alt"]
    assert all(named)
    assert len(named) == page.tags.count("img") == n_drawings(html)
    assert page.tags.count("h1") == 1
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    return page


def n_drawings(html: str) -> int:
    """Number of pictures."""
    return len(drawings(html))


def drawings(html: str) -> list[str]:
    """The pictures, as SVG."""
    found = re.findall(r'<img src="data:image/svg\+xml;base64,([^"]*)"', html)
    return [base64.b64decode(text).decode("utf-8") for text in found]
