"""Code in the README, the documentation and docstrings runs and is typed; the site is built.

Blocks of a page run in order. Python blocks of a page share their names, blocks of the shell a
folder with the bundled instances. A block that cannot run here says so in the page:
`<!--- skip: next "why" -->`. Commands are forks of a process that has started already
(test_end_to_end has them start by themselves).
"""

import doctest
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from unittest import SkipTest
from unittest.mock import patch

import nbformat
import pytest
from sybil import Sybil
from sybil.example import Example
from sybil.parsers.markdown import CodeBlockParser, PythonCodeBlockParser, SkipParser
from sybil.region import Lexeme

import sdpbb
from heuristics.registry import METHODS
from sdpbb.app.cli.app import COMMANDS
from sdpbb.problem.cluster_constraints import BUILT_IN
from sdpbb.problem.formats import CONSTRAINT_FORMATS
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.declaration import declarations
from tests.warm import path_of_warm, shim

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for package in ("sdpbb", "heuristics")
    for path in (ROOT / package).rglob("*.py")
    if re.search(r"^ *>>> ", path.read_text(), re.M)
)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Libraries that have no types, or whose types are another project's matter.
UNTYPED = (
    *("sklearn", "scipy", "numba", "pandas", "polars", "pyarrow", "matplotlib", "PIL"),
    *("distributed", "gurobipy", "cvxpy", "highspy", "joblib", "IPython"),
)
# The package's own faults are for its own checks.
MYPY = "[mypy]\nstrict = True\n" + "".join(
    f"[mypy-{name}.*]\nignore_missing_imports = True\nfollow_imports = {imports}\n"
    for names, imports in ((("sdpbb", "heuristics"), "silent"), (UNTYPED, "skip"))
    for name in names
)


def run_in_shell(example: Example) -> None:
    """A block of commands, as a new user's shell would run it."""
    done = subprocess.run(
        ["bash", "-e", "-c", example.parsed],
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


PYTHON = Sybil(parsers=[CodeBlockParser(language="python", evaluator=lambda example: None)])


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A folder with a command `sdpbb` that starts at once."""
    folder = tmp_path_factory.mktemp("bin")
    shim(folder, path_of_warm())
    return folder


@contextmanager
def registries_restored() -> Iterator[None]:
    """What a page registers is of the package until its end only."""
    constraints = list(BUILT_IN)
    try:
        with patch.dict(METHODS), patch.dict(CONSTRAINT_FORMATS):
            yield
    finally:
        BUILT_IN[:] = constraints


@pytest.mark.long
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_code_of_page_runs(page, tmp_path, monkeypatch, warm):
    folders = [str(warm), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(folders))
    for folder in ("instances", "scripts"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    with registries_restored():
        for example in SYBIL.parse(page).examples():
            with suppress(SkipTest):  # of this block alone
                example.evaluate()


def test_files_that_pages_name_are_there():
    rooms = ("sdpbb", "heuristics", "scripts", "tests")
    files = "".join(
        f"/{path.as_posix()}\n" for room in rooms for path in ROOT.glob(f"{room}/**/*.py")
    )
    for page in PAGES:
        named = set(re.findall(r"`([\w./-]+/[\w-]+\.py)`", page.read_text(encoding="utf-8")))
        assert [name for name in sorted(named) if f"/{name}\n" not in files] == [], page


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
    reference = tmp_path / "site" / "reference"
    commands = (reference / "cli" / "index.html").read_text()
    assert not [name for name in COMMANDS if f'id="sdpbb-{name}"' not in commands]
    names = (reference / "python" / "index.html").read_text()
    public = {*sdpbb.__all__} - {"__version__"}
    assert not [name for name in public if not re.search(rf'id="[\w.]+\.{name}"', names)]
    for page in (ROOT / "docs" / "tutorials").glob("*.md"):
        book = nbformat.read(tmp_path / "site" / "tutorials" / f"{page.stem}.ipynb", 4)
        nbformat.validate(book)
        code = [cell.source for cell in book.cells if cell.cell_type == "code"]
        blocks = [e.parsed for e in SYBIL.parse(page).examples() if isinstance(e.parsed, Lexeme)]
        assert [cell.removeprefix("%%bash\n") for cell in code] == [str(b).rstrip() for b in blocks]
    parameters = (reference / "parameters" / "index.html").read_text()
    assert not [each.path for each in declarations(SolverParameters) if each.path not in parameters]


@pytest.mark.parametrize("module", EXAMPLES)
def test_examples_in_docstrings_run(module):
    tests = doctest.DocTestFinder().find(import_module(module), module)
    runner = doctest.DocTestRunner()
    for test in tests:
        runner.run(test)
    assert runner.tries
    assert not runner.failures


def typed_code(page: Path) -> str:
    """The blocks of Python of a page, which share names, at the lines that they have there."""
    lines: list[str] = []
    for example in PYTHON.parse(page).examples():
        lines += [""] * (example.line - len(lines))
        lines += example.parsed.splitlines()
    return "\n".join(lines) + "\n"


@pytest.mark.long
def test_code_of_pages_is_typed(tmp_path):
    """The package says that it is typed: what users copy passes mypy's strict checks, too."""
    pytest.importorskip("mypy")
    (tmp_path / "mypy.ini").write_text(MYPY)
    (tmp_path / "wrong.py").write_text("import sdpbb\n\nsdpbb.solve([[0.0]], 1, time_limit='5')\n")
    for page in PAGES:
        name = str(page.relative_to(ROOT).with_suffix("")).replace("/", "_").replace("-", "_")
        if typed_code(page).strip():
            (tmp_path / f"{name}.py").write_text(typed_code(page), encoding="utf-8")
    paths = sorted(map(str, tmp_path.glob("*.py")))
    assert len(paths) > 10
    arguments = ["--config-file", str(tmp_path / "mypy.ini"), "--no-error-summary", "--no-pretty"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments, *paths],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    (told,) = (line for line in done.stdout.splitlines() if ": error: " in line)
    assert "wrong.py:3" in told
    assert "time_limit" in told  # keywords are checked, too
