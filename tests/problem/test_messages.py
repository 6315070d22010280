"""What is no input is told in one line: the table of all messages is messages.txt.

Each case of the table is a call and, in the line after it, the error that it raises; [...] stands
for words of another library. A new case is written without its message, which this adds:

    python -m tests.problem.test_messages
"""

from __future__ import annotations

import ast
import gzip
import io
import os
import re
import tempfile
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas
import polars
import pytest

import sdpbb
from sdpbb import constraint_sets as sets
from sdpbb import problem
from sdpbb.checker import reading as checker
from sdpbb.constraint_sets.drawing import Drawing
from sdpbb.errors import SdpbbError
from sdpbb.problem import formats, row_values

TABLE = Path(__file__).with_name("messages.txt")
FOLDER = object()
LINE = np.arange(6.0)[:, None]
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])


class Case(NamedTuple):
    """A call, and what it says."""

    call: str
    answer: str

    @property
    def arguments(self) -> list[Any] | None:
        """The arguments of a call that has literals alone and names none of them."""
        call = ast.parse(self.call, mode="eval").body
        assert isinstance(call, ast.Call)
        if call.keywords or not all(isinstance(each, ast.Constant) for each in call.args):
            return None
        return [each.value for each in call.args]


def sections(text: str) -> dict[str, list[Case]]:
    """The cases of the table, by the heading that they are under."""
    found: dict[str, list[Case]] = {}
    lines = text.splitlines()
    for line, answer in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("# "):
            cases = found[line.removeprefix("# ")] = []
        elif line.startswith(">>> "):
            cases.append(Case(line.removeprefix(">>> "), answer))
    return found


CASES = sections(TABLE.read_text(encoding="utf-8"))


def file(content: Any, name: str = "a.txt") -> str:
    """The name of a file with this content in the current folder; None: of none."""
    if content is FOLDER:
        os.mkdir(name)
    elif content is not None:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def points(content: Any, name: str = "a.txt", **options: Any) -> Any:
    return formats.read_points(file(content, name), **options)


def labels(content: Any, name: str = "a.txt", n: int = 4, **options: Any) -> Any:
    return formats.read_labels(file(content, name), n, **options)


def constraints(content: Any, form: str | None = None, n: int = 4, **options: Any) -> Any:
    return formats.read_constraints(file(content), n, form, **options)


def instance(*stated: Any, k: int = 2, points: Any = SQUARE, **more: Any) -> problem.Instance:
    """stated : constraints on clusters"""
    return problem.Instance(points, k, cluster_constraints=stated or None, **more)


def with_file(content: str, **options: Any) -> problem.Instance:
    """Of 200 points, with a file of constraints."""
    given = {"data": np.arange(200.0)[:, None], "k": 2} | options
    return problem.Instance.from_points(given.pop("data"), given.pop("k"), file(content), **given)


def frame(columns: dict[str, list[Any]], k: int = 1, **options: Any) -> None:
    """An instance of a frame, which pandas and polars refuse in the same words."""
    index = options.pop("index", None)
    with pytest.raises(SdpbbError) as raised:
        problem.Instance.from_frame(pandas.DataFrame(columns, index=index), k, **options)
    if index is None:
        with pytest.raises(type(raised.value), match=f"^{re.escape(str(raised.value))}$"):
            problem.Instance.from_frame(polars.DataFrame(columns), k, **options)
    raise raised.value


def solve(points: Any, k: int = 2, **stated: Any) -> Any:
    return sdpbb.solve(points, k, **stated)


def write_constraints(form: str, n: int | None = 7, **stated: Any) -> None:
    """A file of constraints that is not written."""
    try:
        formats.write_constraints("c.txt", formats.Constraints(**stated), form, n)
    finally:
        assert not Path("c.txt").exists()


def in_row_order(names: str) -> Any:
    """Labels of rows with these names, in the order of those of a, b, c and d."""
    labels = pandas.Series(range(len(names)), index=list(names))
    return row_values.in_row_order(labels, 4, problem.Origin(row_names=tuple("abcd")))


def checked(line: str) -> None:
    """Constraints on six points, which two readers refuse."""
    checker.read_constraints(file(f"# one\n{line}\n"), LINE)


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(**arrays: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def parquet(**columns: list[Any]) -> bytes:
    return pandas.DataFrame(columns).to_parquet(index=False)


PAIRS, LINES = np.array([[0, 1], [1, 3]]), np.array([4, 9])
CLASSES = ["a", None, "b", "a", "", None]
GAPS = pandas.DataFrame({"name": list("abcdef"), "x": [1, None, 3, 5, None, 7]})
GAPS["y"] = [2, 4, None, 9, None, 7]
NAMED = problem.Origin(row_names=("anna b", "carl", "dora"))
RNG = np.random.default_rng(0)
NAMES = vars(problem) | globals() | {"gzip": gzip, "Drawing": Drawing, "sets": sets}


def answer(case: Case, folder: Path) -> str:
    """What a call says in a new folder; the answer of the case if it says that."""
    folder.mkdir()
    os.chdir(folder)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            eval(case.call, NAMES)
        except (SdpbbError, checker.Unreadable) as error:
            said = f"{type(error).__name__}: {error}"
            expected = re.escape(case.answer).replace(r"\[\.\.\.\]", ".*")
            return case.answer if re.fullmatch(expected, said) else said
    return "no error"


@pytest.mark.parametrize("section", CASES)
def test_what_is_no_input_is_told_in_one_line(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # and back again
    said = [
        Case(case.call, answer(case, tmp_path / str(number)))
        for number, case in enumerate(CASES[section])
    ]
    assert said == CASES[section]


def write(path: Path) -> None:
    """Write the table with the messages of today."""
    told = []
    with tempfile.TemporaryDirectory() as folder:
        for heading, cases in sections(path.read_text(encoding="utf-8")).items():
            told += ["", f"# {heading}"]
            for case in cases:
                told += [f">>> {case.call}", answer(case, Path(folder) / str(len(told)))]
        os.chdir("/")
    path.write_text("\n".join(told[1:]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write(TABLE)
