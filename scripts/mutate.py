"""Small errors put into the code, one at a time, and how many of them the tests find.

    python scripts/mutate.py --files sdpbb/search/*.py --tests tests/contracts [--number 50]

Each mutation is made in a copy of the working tree, whose compiled kernels are cached there. The
tests run until the first one fails: then the mutation is found, as it is if they take too long.
Each mutation is printed, with what became of it. The same seed draws the same mutations; `--skip`
leaves out the first of them, which an interrupted run has tried.
"""

from __future__ import annotations

import argparse
import ast
import filecmp
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}


class Mutation(NamedTuple):
    """Piece of source, and what replaces it."""

    file: str
    node: ast.expr | ast.stmt
    kind: str
    before: str
    after: str

    def __str__(self) -> str:
        line = f"{self.file}:{self.node.lineno}"
        return f"{line} ({self.kind}): {self.before} -> {self.after}"

    def applied(self, source: str) -> str:
        lines = source.encode().splitlines(keepends=True)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        content = source.encode()
        first = starts[self.node.lineno - 1] + self.node.col_offset
        last = starts[(self.node.end_lineno or 0) - 1] + (self.node.end_col_offset or 0)
        return (content[:first] + self.after.encode() + content[last:]).decode()


def changes(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield kinds of mutations of a node, and its new text."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=others) if type(op) in COMPARISONS:
            new = COMPARISONS[type(op)]()
            yield "comparison", ast.unparse(ast.Compare(left, [new], others))
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            yield "arithmetic", f"({ast.unparse(ast.BinOp(left, OPERATORS[type(op)](), right))})"
        case ast.AugAssign(target=target, op=op, value=value) if type(op) in OPERATORS:
            new_op = OPERATORS[type(op)]()
            yield "arithmetic", ast.unparse(ast.AugAssign(target, new_op, value))
        case ast.BoolOp(op=op, values=values):
            other = ast.Or() if isinstance(op, ast.And) else ast.And()
            yield "logic", f"({ast.unparse(ast.BoolOp(other, values))})"
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            yield "logic", f"({ast.unparse(operand)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            yield "logic", f"({ast.unparse(ast.IfExp(test, orelse, body))})"
        case ast.Constant(value=bool() as value):
            yield "constant", str(not value)
        case ast.Constant(value=int() | float() as value):
            yield "constant", repr(value + 1)
        case ast.Return(value=ast.expr()):
            yield "return", "return None"
        case ast.Expr(value=ast.Call()) | ast.AugAssign() | ast.Raise():
            yield "removed", "pass"


def code_of(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes that run: no annotations, decorators and formatted texts."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns", "decorator_list") or isinstance(value, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not isinstance(child, ast.JoinedStr):
                yield from code_of(child)


def mutations_of(path: Path) -> list[Mutation]:
    source = path.read_text(encoding="utf-8")
    file = path.resolve().relative_to(ROOT).as_posix()
    return [
        Mutation(file, node, kind, ast.get_source_segment(source, node) or "", after)
        for node in code_of(ast.parse(source))
        if isinstance(node, ast.expr | ast.stmt)
        for kind, after in changes(node)
    ]


def copy_tree(folder: Path) -> None:
    """Copy the files of the working tree that git does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            if not target.is_symlink():
                target.symlink_to(source.readlink())
        elif source.is_file() and not (target.exists() and filecmp.cmp(source, target, False)):
            shutil.copy2(source, target)


def tests_pass(folder: Path, tests: list[str], limit: float, kernels: str) -> tuple[bool, float]:
    """Return whether all tests pass within the limit, and the seconds that they took."""
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(folder / kernels),
        "SAME_EXAMPLES": "1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:xdist", *tests]
    began = time.monotonic()
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, check=False, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return False, time.monotonic() - began
    return done.returncode == 0, time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", nargs="+", type=Path, required=True)
    parser.add_argument("--tests", nargs="+", required=True, help="arguments of pytest")
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--skip", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    temporary = Path(tempfile.gettempdir()) / "sdpbb-mutants"
    parser.add_argument("--folder", type=Path, default=temporary, help="of the copy")
    options, more = parser.parse_known_args()
    tests, folder = [*options.tests, *more], options.folder.resolve()
    possible = [mutation for path in options.files for mutation in mutations_of(path)]
    random.Random(options.seed).shuffle(possible)
    copy_tree(folder)
    passed, seconds = tests_pass(folder, tests, 3600.0, ".kernels")
    if not passed:
        raise SystemExit("the tests fail without any mutation")
    limit, n_found, tried = 3.0 * seconds + 60.0, 0, possible[options.skip : options.number]
    for number, mutation in enumerate(tried, start=options.skip + 1):
        path = folder / mutation.file
        source = path.read_text(encoding="utf-8")
        # Kernels of other files hold the machine code of those they call: all are compiled anew.
        kernels, more = (".mutated", 600.0) if "njit" in source else (".kernels", 0.0)
        path.write_text(mutation.applied(source), encoding="utf-8")
        try:
            passed, seconds = tests_pass(folder, tests, limit + more, kernels)
        finally:
            path.write_text(source, encoding="utf-8")
            shutil.rmtree(folder / ".mutated", ignore_errors=True)
        n_found += not passed
        outcome = "SURVIVED" if passed else "found"
        print(f"{number} {outcome}, {seconds:.0f} s: {mutation}", flush=True)
    print(f"{n_found} of {len(tried)} mutations found")


if __name__ == "__main__":
    main()
