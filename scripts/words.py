"""Check of plain English: words that the project does not use, and sentences that are too long.

python scripts/words.py FILE ...   print each fault with its line; exit status 1 if there are any
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

INSTEAD = {
    r"as (it is|they are) stated": "as given",
    r"begun with": "starts with",
    r"beside other work": "on a loaded machine",
    r"cannot hold together": "are contradictory",
    r"do(es)? not hold together": "are contradictory",
    r"found out": "detected",
    r"g(o|oes|oing|one) on (with|from)": "resumes (from)",
    r"hold together": "are satisfied together",
    r"in the place of": "instead of",
    r"is told of": "observes, receives, or who prints it",
    r"stands? still": "stalls",
    r"unit of (its|their) own": "scaled units",
    r"units of (its|their) own": "scaled units",
    r"worth (its|their) time": "pays off",
    r"None for none": "None: no limit, none given",
}
"""Words to avoid, as regular expressions, and what to write instead."""
PRONOUNS = {
    r"(those|that) (of|which)|those that": "the noun instead of the pronoun",
    r"so many": "the number before the thing",
}
"""Words to avoid in the package, too."""
MOST_WORDS = 30  # of a sentence of a page; 25 are the aim
PACKAGES = ("sdpbb/", "heuristics/")
_FENCE = re.compile(r"^```.*?^```", re.M | re.S)
_BLOCKS = re.compile(r"\n\s*\n|\n(?=\s*(?:[-*|#>]|\d+\. ))")
_MARKUP = re.compile(r"`[^`]*`|\$[^$]*\$|\]\([^)]*\)|<[^>]+>")


def faults(text: str, is_page: bool, is_package: bool = False) -> list[tuple[int, str]]:
    """Return (line, message) for each fault of a text."""
    found = [
        (_line(text, match.start()), f"{match[0]!r}: write {instead!r}")
        for pattern, instead in (INSTEAD | (PRONOUNS if is_package else {})).items()
        for match in re.finditer(rf"\b{pattern.replace(' ', chr(92) + 's+')}\b", text)
    ]
    return sorted(found + (_long_sentences(text) if is_page else []))


def _long_sentences(page: str) -> list[tuple[int, str]]:
    prose = _FENCE.sub(lambda code: re.sub(r"[^\n]", "", code[0]), page)
    found, start = [], 0
    for block in _BLOCKS.split(prose):
        start = prose.index(block, start)
        if block.lstrip().startswith(("|", "$$", "<!--")) or block.startswith("    "):
            continue
        at = start
        for sentence in re.split(r"(?<=[.!?:;])[*)]*\s+", block):
            words = len(_MARKUP.sub("x", sentence).split())
            if words > MOST_WORDS:
                line = _line(prose, prose.index(sentence, at))
                found.append((line, f"a sentence of {words} words; at most {MOST_WORDS}"))
            at = prose.index(sentence, at)
    return found


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def main() -> None:
    """Check files; print their faults."""
    bad = False
    for name in sys.argv[1:]:
        text, is_package = Path(name).read_text(encoding="utf-8"), name.startswith(PACKAGES)
        for line, message in faults(text, name.endswith(".md"), is_package):
            print(f"{name}:{line}: {message}")
            bad = True
    sys.exit(bad)


if __name__ == "__main__":
    main()
