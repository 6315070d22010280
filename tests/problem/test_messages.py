"""Values read from files and arguments, and one-line messages on wrong input.

The tables are readings.txt and messages.txt. A case is one or several calls, and a line with their
common answer: a value and notes, or an error. In it [...] matches words of another library. Write
new cases without an answer, and add the answers by:

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
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import openpyxl
import pandas
import polars
import pytest

import sdpbb
from heuristics import measures
from sdpbb import constraint_sets as sets
from sdpbb import plots, problem
from sdpbb.app.estimator import ExactConstrainedKMeans
from sdpbb.checker import command as checker
from sdpbb.checker.kernel.stated import StatedInstance
from sdpbb.constraint_sets import Drawing
from sdpbb.errors import SdpbbError
from sdpbb.problem import formats, frames
from sdpbb.problem.files.constraints import PAIRS as PAIR_KINDS
from sdpbb.problem.origin import Scaling
from sdpbb.problem.partition import objection, violations
from sdpbb.problem.rules import LIMITS
from sdpbb.problem.statements import Catalogue, place_of_pair, stated_one_by_one
from sdpbb.questions.batch.manifest import read_manifest
from sdpbb.questions.gap import label_numbers

TABLES = [Path(__file__).with_name(name) for name in ("messages.txt", "readings.txt")]
FOLDER = object()
LINE = np.arange(6.0)[:, None]
LINE4 = [[0.0], [1.0], [5.0], [9.0]]
SQUARE = np.array([[0.0, 0.0], [0.0, 1.0], [3.0, 0.0], [3.0, 1.0]])


class Case(NamedTuple):
    """A call and its answer."""

    call: str
    answer: str

    @property
    def arguments(self) -> list[Any] | None:
        """The arguments of a call, if these are positional literals only."""
        call = ast.parse(self.call, mode="eval").body
        assert isinstance(call, ast.Call)
        if call.keywords or not all(isinstance(each, ast.Constant) for each in call.args):
            return None
        return [each.value for each in call.args]


def sections(text: str) -> dict[str, list[Case]]:
    """The cases of a table, by heading."""
    found: dict[str, list[Case]] = {}
    calls: list[str] = []
    heading = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("# "):
            heading = line.removeprefix("# ")
        elif line.startswith(">>> "):
            calls.append(line.removeprefix(">>> "))
        else:
            found.setdefault(heading, []).extend(Case(call, line) for call in calls)
            calls = []
    return found


CASES = {
    heading: cases
    for table in TABLES
    for heading, cases in sections(table.read_text(encoding="utf-8")).items()
}


def file(content: Any, name: str = "a.txt") -> str:
    """The name of a file with this content in the current folder; None: no file is written."""
    if content is FOLDER:
        os.mkdir(name)
    elif content is not None:
        Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return name


def points(content: Any, name: str = "a.txt", **options: Any) -> Any:
    return formats.read_points(file(content, name), **options)


def labels(content: Any, name: str = "a.txt", n: int = 4, **options: Any) -> Any:
    return formats.read_labels(file(content, name), n, **options)


def constraints(
    content: Any,
    form: str | None = None,
    n: int = 4,
    name: str = "a.txt",
    one_based: bool = False,
    row_names: Any = None,
    **options: Any,
) -> Any:
    names = None if row_names is None else tuple(row_names)
    origin = problem.Origin(first_row=int(one_based), row_names=names)
    return formats.read_constraints(file(content, name), n, form, origin=origin, **options)


def instance(*stated: Any, k: int = 2, points: Any = SQUARE, **more: Any) -> problem.Instance:
    """stated : constraints on clusters"""
    return problem.Instance(points, k, cluster_constraints=stated or None, **more)


def with_file(content: str, **options: Any) -> problem.Instance:
    """An instance of 200 points with a file of constraints."""
    given = {"data": np.arange(200.0)[:, None], "k": 2} | options
    return problem.Instance.from_points(given.pop("data"), given.pop("k"), file(content), **given)


def of_files(data: Any, stated: Any, k: int | None = 2, **options: Any) -> problem.Instance:
    constraints = None if stated is None else file(stated, "c.txt")
    return problem.Instance.from_files(file(data), k, constraints, **options)


def in_memory(points: Any, k: int = 2, **stated: Any) -> problem.Instance:
    return problem.Instance.from_points(points, k, **stated)


def framed(columns: dict[str, list[Any]], k: int = 2, **stated: Any) -> problem.Instance:
    """An instance of a frame; pandas and polars give the same instance."""
    found = [
        problem.Instance.from_points(library.DataFrame(columns), k, **stated)
        for library in (pandas, polars)
    ]
    assert shown(found[0]) == shown(found[1])
    return found[0]


def of_four(stated: str, data: Any = LINE4, **options: Any) -> problem.Instance:
    """Of four points, with a file of constraints."""
    return problem.Instance.from_points(data, 2, file(stated), **options)


def places(stated: str, **options: Any) -> list[str]:
    """The pairs of an instance, and the places that state them."""
    instance, found = of_four(stated, **options), []
    for argument in PAIR_KINDS.values():
        value = getattr(instance, argument)
        pairs = getattr(value, "pairs", value).tolist()
        is_hard = not argument.startswith("soft")
        one_by_one = stated_one_by_one(instance, argument) if is_hard else [True] * len(pairs)
        for position, (i, j) in enumerate(pairs):
            rows = " ".join(instance.origin.rows((i, j)))
            place = place_of_pair(instance, argument, position)
            first = instance.origin.place(argument, j, i)
            words = ["also " + first] if first != place else []
            words += [] if one_by_one[position] else ["by a distance"]
            found.append(" ".join([argument, rows, place, *words]))
    origin = instance.origin
    return [*found, *(f"{each.argument} :{each.line}" for each in origin.on_clusters)]


def line(n: int) -> np.ndarray:
    return np.arange(float(n))[:, None]


def statements(instance: problem.Instance) -> list[str]:
    """The constraints of an instance one by one, as messages name them."""
    catalogue, found = Catalogue(instance), []
    for number in range(len(catalogue)):
        stated = " stated" if number in catalogue.stated_pairs else ""
        implied = " and implied" if number in catalogue.stated_and_implied else ""
        found.append(f"{catalogue.statement(number)}{stated}{implied}")
    return found


def explained(*stated: Any, **more: Any) -> list[str]:
    """What contradicts itself: the kind, and the constraints."""
    return str(sdpbb.explain_infeasibility(instance(*stated, **more))).splitlines()


def all_rows_but(n: int, missing: int) -> str:
    rows = [row for row in range(n) if row != missing]
    return "".join(f"ML {rows[0]} {row}\n" for row in rows[1:])


def written(
    stated: Any, form: str = "pc-sos-sdp", n: int | None = 7, header: Sequence[str] = ()
) -> str:
    return formats.constraints_text(stated, form, n, header)


def frame(columns: dict[str, list[Any]], k: int = 1, **options: Any) -> None:
    """An instance of a frame; pandas and polars give the same error."""
    index = options.pop("index", None)
    with pytest.raises(SdpbbError) as raised:
        problem.Instance.from_points(pandas.DataFrame(columns, index=index), k, **options)
    if index is None:
        with pytest.raises(type(raised.value), match=f"^{re.escape(str(raised.value))}$"):
            problem.Instance.from_points(polars.DataFrame(columns), k, **options)
    raise raised.value


def fitted(X: Any = LINE4, **given: Any) -> list[int]:
    """Labels of the estimator; given : its parameters, and arguments of `fit`"""
    names = ExactConstrainedKMeans().get_params().keys() & given.keys()
    parameters = {"n_clusters": 2} | {name: given.pop(name) for name in names}
    return list(map(int, ExactConstrainedKMeans(**parameters).fit(X, **given).labels_))


def jobs(manifest: str) -> list[str]:
    """The names of the jobs of a manifest beside a few files."""
    for name in ("iris.txt", "wine.txt", "sets/iris/a.txt", "sets/iris/b.txt", "sets/wine/a.txt"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).touch()
    return [job.name for job in read_manifest(file(manifest, "m.toml"))]


def labels_beside(data: bytes, **options: Any) -> bytes:
    """A file of labels of three rows, which is read as the same labels."""
    origin = points(data, "data.csv", index_column="name", **options).origin
    content = formats.labels_file(np.array([0, 0, 1]), origin)
    assert labels(content, "out.csv", 3, origin=origin, **options).tolist() == [0, 0, 1]
    return content


def solve(points: Any, k: int = 2, **stated: Any) -> Any:
    return sdpbb.solve(points, k, **stated)


def write_constraints(form: str, n: int | None = 7, **stated: Any) -> None:
    """An attempt to write a file of constraints, which fails without a file."""
    try:
        formats.write_constraints("c.txt", formats.Constraints(**stated), form, n)
    finally:
        assert not Path("c.txt").exists()


def in_row_order(names: str) -> Any:
    """Labels of rows with these names, in the order a, b, c and d."""
    labels = pandas.Series(range(len(names)), index=list(names))
    return frames.in_row_order(labels, 4, problem.Origin(row_names=tuple("abcd")))


def in_order(labels: pandas.Series, origin: problem.Origin) -> list[Any]:
    """Labels of four rows, in the order of the points."""
    return list(map(int, frames.in_row_order(labels, 4, origin)))


def indexed_by(index: Sequence[Any]) -> problem.Origin:
    return problem.Instance(pandas.DataFrame({"x": [0.0, 5.0, 0.1, 5.1]}, index), 2).origin


def named_by_column(names: list[Any]) -> problem.Origin:
    frame = pandas.DataFrame({"who": names, "x": [0.0, 5.0, 0.1, 5.1]})
    return problem.Instance.from_points(frame, 2, index_column="who").origin


def violated(labels: list[int], of: problem.Instance | None = None, **stated: Any) -> list[str]:
    """The objection to a clustering of an instance, and all that it violates."""
    weights = [1.0, 0.5, 2.0, 0.25, 1.25]
    of = of or problem.Instance(np.arange(5.0)[:, None], 2, weights=weights, **stated)
    partition = problem.Partition(np.array(labels))
    return [objection(of, partition), *map(str, violations(of, partition))]


def contracted(k: int, *stated: Any, **pairs: Any) -> str:
    """The blocks of points on a line and their cannot-links, or the proof of infeasibility."""
    found = problem.contract(instance(*stated, k=k, points=LINE, **pairs))
    if isinstance(found, problem.Infeasibility):
        return f"{found.kind.name} {sorted(found.points)}: {found}"
    return f"blocks {found.block_of.tolist()} apart {found.cannot_link.tolist()}"


def checked(line: str) -> None:
    """Constraints on six points that two readers refuse."""
    checker.with_constraints(StatedInstance(LINE, 1), file(f"# one\n{line}\n"))


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


def indexed(index: list[Any], **columns: list[Any]) -> bytes:
    return pandas.DataFrame(columns, index=index).to_parquet(index=True)


def feather(**columns: list[Any]) -> bytes:
    stream = io.BytesIO()
    pandas.DataFrame(columns).to_feather(stream)
    return stream.getvalue()


def sheets(**tables: list[list[object]]) -> bytes:
    book, stream = openpyxl.Workbook(), io.BytesIO()
    book.remove(book.active)
    for name, rows in tables.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(stream)
    return stream.getvalue()


PAIRS, LINES = np.array([[0, 1], [1, 3]]), np.array([4, 9])
CLASSES = ["a", None, "b", "a", "", None]
GAPS = pandas.DataFrame({"name": list("abcdef"), "x": [1, None, 3, 5, None, 7]})
GAPS["y"] = [2, 4, None, 9, None, 7]
NAMED = problem.Origin(row_names=("anna b", "carl", "dora"))
LEFT = problem.Origin(kept_rows=np.array([0, 1, 3, 4]), dropped_rows=("2",))
LEFT_NAMES = problem.Origin(
    row_names=tuple("abde"), kept_rows=np.array([0, 1, 3, 4]), dropped_rows=("c",)
)
PQRST = "id,x\np,0.0\nq,0.1\nr,5.0\ns,5.1\nt,9.0\n"
FLOWERS = pandas.DataFrame({"x": [0.0, 0.1, 5.0, 5.1, 9.0], "kind": CLASSES[:5]}, list("pqrst"))
ABCD = pandas.DataFrame({"x": [0.0, 5.0, 0.1, 5.1]}, list("abcd"))
NAMED4 = problem.Origin(row_names=tuple("abcd"))
INCOMES = "name,income,age,class,w\n" + "".join(
    f"p{i},{1000 * i},{age},a,{i + 1}\n" for i, age in enumerate([31, 33, 58, "", 35, 59])
)
OF_INCOMES = {"index_column": "name", "weight_column": "w", "drop": ["class"]}
UMLAUTS = problem.Origin(row_names=("Müller", "Søren", "Anna"))
RNG = np.random.default_rng(0)
WEIGHED = {"points": LINE4, "k": 3, "weights": [0.7, 1.1, 1.3, 1.2]}
ANN = {"x": [0.0, 0.1, 5.0, 5.1], "id": ["ann", "bob", "cyn", "dan"]}
CALLED = (formats.Constraints, Drawing, Scaling, label_numbers, replace)
NAMES = vars(problem) | globals()
NAMES |= {"gzip": gzip, "measures": measures, "plots": plots, "sets": sets}
NAMES |= {each.__name__: each for each in CALLED}


def shown(value: Any) -> str:
    """A value on one line; of points and instances only what differs from the defaults."""
    if isinstance(value, np.ndarray):
        return str(value.tolist())
    if isinstance(value, formats.Constraints):
        return "; ".join(formats.constraints_text(value).splitlines()) or "nothing"
    if isinstance(value, formats.PointTable):
        facts = {
            "k": value.k,
            "rows": value.origin.row_names,
            "columns": value.origin.feature_names,
            "weights": value.weights,
            "kept": value.origin.kept_rows,
            "dropped": value.origin.dropped_rows,
        }
        told = [
            f"{name} {shown(fact)}"
            for name, fact in facts.items()
            if np.size(fact) and fact is not None
        ]
        return "; ".join([shown(value.points), *told])
    if isinstance(value, problem.Instance):
        on_clusters = value.cluster_constraints
        deep = [each for each in on_clusters if isinstance(each, problem.AnyOf)]
        flat = tuple(each for each in on_clusters if each not in deep)
        others = {name: getattr(value, name) for name in (*PAIR_KINDS.values(), *LIMITS)}
        stated = formats.Constraints(cluster_constraints=flat, **others)
        rows = " ".join(value.origin.rows(range(value.n_points)))
        called = "rows" if value.origin.row_names is None else "names"
        facts = [f"k {value.k}", f"{called} {rows}", shown(stated), *map(repr, deep)]
        if value.weights is not None:
            facts.append(f"weights {shown(value.weights)}")
        return "; ".join([shown(value.points), *facts])
    return repr(value)


def answer(case: Case, folder: Path) -> str:
    """The answer of a call in a new folder, in the words of the case if they match."""
    folder.mkdir()
    os.chdir(folder)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        try:
            value = shown(eval(case.call, NAMES))
        except (SdpbbError, checker.Unreadable, TypeError) as error:
            said = f"{type(error).__name__}: {error}"
        else:
            notes = [f"{each.category.__name__}: {each.message}" for each in caught]
            said = " | ".join([value, *notes])
    expected = re.escape(case.answer).replace(r"\[\.\.\.\]", ".*")
    return case.answer if re.fullmatch(expected, said) else said


@pytest.mark.parametrize("section", CASES)
def test_what_is_read_and_what_is_told_of_other_input(section, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # and back again
    said = [
        Case(case.call, answer(case, tmp_path / str(number)))
        for number, case in enumerate(CASES[section])
    ]
    assert said == CASES[section]


def write(path: Path) -> None:
    """Write a table with current answers; consecutive calls with the same answer share one line."""
    told: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for heading, cases in sections(path.read_text(encoding="utf-8")).items():
            told += ["", f"# {heading}"]
            answers = [
                answer(case, Path(folder) / f"{len(told)}-{n}") for n, case in enumerate(cases)
            ]
            for case, own, following in zip(cases, answers, [*answers[1:], None], strict=True):
                told += [f">>> {case.call}", *([own] if own != following else [])]
        os.chdir("/")
    path.write_text("\n".join(told[1:]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    for table in TABLES:
        write(table)
