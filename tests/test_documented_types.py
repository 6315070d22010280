"""The Python blocks of the README and the documentation pass mypy's strict checks.

The package says that it is typed: what users copy from its pages has to pass in their projects.
"""

import subprocess
import sys
from pathlib import Path

import pytest
from sybil import Sybil
from sybil.parsers.markdown import CodeBlockParser

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Libraries that have no types, or whose types are another project's matter.
UNTYPED = (
    *("sklearn", "scipy", "numba", "pandas", "polars", "pyarrow", "matplotlib", "PIL"),
    *("distributed", "gurobipy", "cvxpy", "highspy", "joblib", "IPython"),
)
# The package's own faults are for its own checks.
OURS = "".join(f"[mypy-{name}.*]\nfollow_imports = silent\n" for name in ("sdpbb", "heuristics"))
CONFIGURATION = f"[mypy]\nstrict = True\n{OURS}" + "".join(
    f"[mypy-{name}.*]\nignore_missing_imports = True\nfollow_imports = skip\n" for name in UNTYPED
)
PYTHON = Sybil(parsers=[CodeBlockParser(language="python", evaluator=lambda example: None)])


def code_of(page: Path) -> str:
    """The blocks of a page, which share their names, at the lines that they have there."""
    lines: list[str] = []
    for example in PYTHON.parse(page).examples():
        lines += [""] * (example.line - len(lines))
        lines += example.parsed.splitlines()
    return "\n".join(lines) + "\n" if lines else ""


def checked(folder: Path, modules: dict[str, str]) -> list[str]:
    """Check modules by their names; return what mypy says of each line that it finds fault with."""
    (folder / "mypy.ini").write_text(CONFIGURATION)
    paths = []
    for name, code in modules.items():
        paths.append(folder / f"{name}.py")
        paths[-1].write_text(code, encoding="utf-8")
    arguments = ["--config-file", str(folder / "mypy.ini"), "--no-error-summary", "--no-pretty"]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *arguments, *map(str, paths)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if ": error: " in line]


@pytest.mark.long
def test_code_of_pages_is_typed(tmp_path):
    pytest.importorskip("mypy")
    modules = {
        str(page.relative_to(ROOT).with_suffix("")).replace("/", "_").replace("-", "_"): code
        for page in PAGES
        if (code := code_of(page))
    }
    assert len(modules) > 10
    wrong = "import sdpbb\n\nsdpbb.solve([[0.0]], 1, time_limit='5')\n"
    found = checked(tmp_path, {**modules, "wrong": wrong})
    # The types of keywords are checked, too.
    (expected,) = (line for line in found if "wrong.py:3" in line)
    assert "time_limit" in expected
    assert [line for line in found if line != expected] == []
