"""Every block of code in the README and the documentation runs, in the order of its page.

Python blocks of a page share their names, blocks of the shell a folder with the bundled instances.
A block that cannot run here says so in the page: `<!--- skip: next "why" -->`.
"""

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from unittest import SkipTest

import pytest
from sybil import Sybil
from sybil.example import Example
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def run_in_shell(example: Example) -> None:
    """A block of commands, as a new user's shell would run it."""
    binaries = Path(sys.executable).parent
    environment = {**os.environ, "PATH": f"{binaries}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-e", "-c", example.parsed],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr


SYBIL = Sybil(
    parsers=[
        SkipParser(),
        PythonCodeBlockParser(),
        CodeBlockParser(language="sh", evaluator=run_in_shell),
    ]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_page_runs(page, tmp_path, monkeypatch):
    for folder in ("instances", "scripts"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    for example in SYBIL.parse(page).examples():
        with suppress(SkipTest):  # of this block alone
            example.evaluate()


def test_documentation_is_built_without_a_warning(tmp_path):
    pytest.importorskip("mkdocs")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "site" / "index.html").is_file()
