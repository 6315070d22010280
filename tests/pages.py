"""Checks of HTML: elements are nested, nothing is loaded, pictures say what they show."""

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
    assert not {"link", "img", "iframe", "object", "script", "button"} & set(page.tags)
    ids = [value for name, value in page.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    for name, value in page.attributes:
        assert not name.startswith("on")
        if name in ("href", "src", "xlink:href"):
            assert value.startswith(("#", "data:"))
        if name in ("href", "xlink:href") and value.startswith("#"):
            assert value[1:] in ids
    assert "://" not in html
    assert "@import" not in html
    references = re.findall(r"url\(#([^)]*)\)", html)
    assert len(references) == html.count("url(")
    assert set(references) <= set(ids)
    named = re.findall(r'<svg role="img" aria-label="([^"]*)"', html)
    assert all(named)
    assert len(named) == page.tags.count("svg")
    assert page.tags.count("h1") == 1
    drawings = "".join(re.findall(r'<svg role="img".*?</svg>', html, re.DOTALL))
    for fixed in ("#1b2430", "#fefefe", "#000000", "#ffffff"):  # colours are those of the page
        assert fixed not in drawings
    assert "prefers-color-scheme: dark" in html
    assert "@media print" in html
    return page


def n_drawings(html: str) -> int:
    """Number of pictures."""
    return html.count('<svg role="img"')
