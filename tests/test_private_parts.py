"""The package uses no private parts of the libraries that have been changed under it before."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("loky", "cyclopts", "cvxpy", "clarabel", "scs")


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_private_attribute_of_a_library_is_used(library):
    private = re.compile(rf"(?:\b|_){library}\b\S*\._\w")
    found = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("sdpbb", "heuristics")
        for path in sorted((ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if private.search(line)
    ]
    assert not found
