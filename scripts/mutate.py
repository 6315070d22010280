"""Small errors put into the code, one at a time, and how many of them the tests find.

    python scripts/mutate.py OUT.csv --files sdpbb/search/*.py --tests tests/contracts [--number 50]

Each mutation is made in a copy of the working tree, whose compiled kernels are cached there. The
tests run until the first one fails: then the mutation is found, as it is if they take too long.
OUT.csv has a line for each mutation. Those that it has for the same tests already are left out, so
that a run that was interrupted is resumed by the same command.
"""

from __future__ import annotations

import argparse
import ast
import csv
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
FIELDS = ["tests", "file", "line", "column", "kind", "before", "after", "found", "seconds"]
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

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Key of the mutation in a table."""
        return self.file, str(self.node.lineno), str(self.node.col_offset), self.after

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


def tests_pass(folder: Path, tests: list[str], limit: float) -> tuple[bool, float]:
    """Return whether all tests pass within the limit, and the seconds that they took."""
    environment = os.environ | {
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(folder / ".kernels"),
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
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("out", type=Path)
    parser.add_argument("--files", nargs="+", type=Path, required=True)
    parser.add_argument("--tests", nargs="+", required=True, help="arguments of pytest")
    parser.add_argument("--number", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    temporary = Path(tempfile.gettempdir()) / "sdpbb-mutants"
    parser.add_argument("--folder", type=Path, default=temporary, help="of the copy")
    options, more = parser.parse_known_args()
    tests, name = [*options.tests, *more], " ".join([*options.tests, *more])
    possible = [mutation for path in options.files for mutation in mutations_of(path)]
    random.Random(options.seed).shuffle(possible)
    done = set()
    if options.out.exists():
        with options.out.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["tests"] == name]
        done = {(row["file"], row["line"], row["column"], row["after"]) for row in rows}
    folder = options.folder.resolve()
    copy_tree(folder)
    passed, seconds = tests_pass(folder, tests, 3600.0)
    if not passed:
        raise SystemExit("the tests fail without any mutation")
    limit = 3.0 * seconds + 60.0
    is_new = not options.out.exists()
    with options.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if is_new:
            writer.writeheader()
        for mutation in possible[: options.number]:
            if mutation.place in done:
                continue
            path = folder / mutation.file
            source = path.read_text(encoding="utf-8")
            path.write_text(mutation.applied(source), encoding="utf-8")
            try:
                passed, seconds = tests_pass(folder, tests, limit)
            finally:
                path.write_text(source, encoding="utf-8")
            place = dict(zip(["file", "line", "column", "after"], mutation.place, strict=True))
            found = {"found": not passed, "seconds": round(seconds, 1)}
            row = {"tests": name, **place, "kind": mutation.kind, "before": mutation.before}
            writer.writerow(row | found)
            file.flush()
    with options.out.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["tests"] == name]
    print(f"{sum(row['found'] == 'True' for row in rows)} of {len(rows)} mutations found")


if __name__ == "__main__":
    main()
