"""The checker is a program of its own: the standard library, NumPy and itself."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sdpbb import checker

FOLDER = Path(checker.__file__).parent
FILES = sorted(FOLDER.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_only_numpy_and_the_standard_library_are_imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                package = path.parents[node.level - 1]
                assert package.is_relative_to(FOLDER), "a relative import that leaves the folder"
                modules = [node.module] if node.module else [alias.name for alias in node.names]
                for module in modules:
                    place = package / module.replace(".", "/")
                    assert place.with_suffix(".py").exists() or place.is_dir(), module
                continue
            names = [node.module]
        for name in names:
            root = name.split(".")[0]
            if (path.name, root) == ("exact.py", "flint"):  # inside of it, where it is asked for
                assert node.col_offset
                continue
            assert root == "numpy" or root in sys.stdlib_module_names, name


def test_importing_it_loads_nothing_of_the_solver():
    program = (
        "import sys, json; import sdpbb.checker.command; "
        "print(json.dumps(sorted({m for m in sys.modules})))"
    )
    output = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    loaded = json.loads(output)
    of_sdpbb = {name for name in loaded if name.split(".")[0] in ("sdpbb", "heuristics")}
    # What `import sdpbb` itself takes: the place of a cache, and the version.
    runtime = {"sdpbb.runtime", "sdpbb.runtime.cache_folder", "sdpbb.runtime.version"}
    beside = {name for name in of_sdpbb if not name.startswith("sdpbb.checker")}
    assert beside <= {"sdpbb", *runtime}
    others = {name.split(".")[0] for name in loaded} & {"scipy", "numba", "cyclopts", "highspy"}
    assert not others
