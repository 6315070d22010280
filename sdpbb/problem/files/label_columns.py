"""Column of a table that holds the labels, and the rows that they are of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.files.records import Records
from sdpbb.problem.origin import Origin
from sdpbb.problem.table import hint_at_similar
from sdpbb.problem.textfile import first_of, is_integer, is_missing_word, is_number, shown
from sdpbb.runtime.files import shown_path
from sdpbb.runtime.values import counted


class LabelColumn(NamedTuple):
    """Labels (n,) as text, and the place of each in its file, for messages."""

    fields: list[str]
    where: Callable[[int], str]


def label_column(
    records: Records,
    column: str | None,
    n_points: int | None,
    origin: Origin,
    partial: bool = False,
) -> LabelColumn:
    """Return the labels of a table, as `sdpbb.problem.files.labels.read_labels` states.

    partial : whether a table with names of rows may lack rows, whose labels are "" then

    Raises
    ------
    InstanceError
        If it is not certain which column holds them, or there is no such column.
    """
    width = max(map(len, records.rows), default=0)
    if width == 0:
        return LabelColumn([], records.where)
    # What the first of two columns calls rows by, where it may lack some.
    called: Sequence[str] = ()
    if partial and width == 2 and n_points is not None:
        called = (*origin.rows(range(n_points)), *origin.dropped_rows)
    start = int(_is_heading(records, called) or _start(records, width, column, n_points, origin))
    names = [name or str(j) for j, name in enumerate(records.rows[0], start=1)] if start else None
    if width == 1:
        _position(records, names, width, column, ())
        fields = [row[0] for row in records.rows[start:]]
        return LabelColumn(fields, lambda position: records.where(start + position))
    columns = [records.column(j, start) for j in range(width)]
    by_name, dropped = _positions(origin.row_names or ()), origin.dropped_rows
    named = [j for j in range(width) if _name_rows(columns[j], by_name, dropped, partial)]
    if called and not by_name:
        by_number = _positions(called[:n_points])
        if _name_rows(columns[0], by_number, dropped, partial):
            named, by_name = [0], by_number
    if by_name and not named:
        _check_names(records, columns[0], start, by_name, partial)
    # Where rows have names, their numbers are what pandas and R write without a heading.
    may_count = [j for j in range(width) if not by_name or (start and not records.rows[0][j])]
    # Of several, the first: where each point is a cluster, labels may be the numbers of the rows.
    counting = [j for j in may_count if _number_rows(columns[j], origin)][:1]
    at = _position(records, names, width, column, [*named, *counting])
    named = [j for j in named if j != at]
    order = list(range(len(columns[at])))
    if named:
        order = _order(columns[named[0]], by_name)
    return LabelColumn(
        ["" if row < 0 else columns[at][row] for row in order],
        lambda position: records.where(start + order[position]),
    )


def _is_heading(records: Records, called: Sequence[str]) -> bool:
    """Return whether only the first record names no row, and has a text of its own beside.

    called : all rows, which the first of two columns may lack some of; () if it does not
    """
    first, *others = records.rows
    if not called or first[0] in called or not {row[0] for row in others} <= set(called):
        return False
    return bool(others) and first[-1] not in {row[-1] for row in others}


def _start(
    records: Records, width: int, column: str | None, n_points: int | None, origin: Origin
) -> int:
    """Return the first record after the heading, 0 or 1."""
    first = records.rows[0]
    n = len(records.rows)
    if column is not None:
        has_numbers = any(map(is_number, first))
        return int(not has_numbers if column.isdecimal() else column in first or not has_numbers)
    counts = () if n_points is None else (n_points, origin.n_data_rows(n_points))
    if n in counts and not (width > 1 and n - 1 in counts and not any(map(is_number, first))):
        return 0
    if n - 1 in counts:
        return int(not is_number(first[-1]) or first[0] == "")
    if n_points is None and width == 1:
        # One label too many would not be noticed.
        rest = {row[0] for row in records.rows[1:] if not is_missing_word(row[0])}
        if not is_number(first[0]) and rest and all(map(is_number, rest)):
            return 1
        times = Counter(row[0] for row in records.rows[1:])
        if first[0] and first[0] not in times and times and min(times.values()) > 1:
            warn_caller(
                f"{records.where(0)}: {shown(first[0])} is taken as a heading, as it is the only "
                "label that occurs once",
                InstanceNote,
            )
            return 1
        return 0
    return int(width > 1 and not any(map(is_number, first)))


def _positions(names: Sequence[str]) -> dict[str, int]:
    return {name: row for row, name in enumerate(names)}


def _name_rows(
    fields: Sequence[str], by_name: dict[str, int], dropped: Sequence[str], partial: bool
) -> bool:
    """Return whether the fields of a column name rows, each once, and all of them unless partial.

    dropped : names of rows of the data that are left out
    """
    named = set(fields)
    if not by_name or len(named) != len(fields):
        return False
    return named <= {*by_name, *dropped} if partial else named >= by_name.keys()


def _check_names(
    records: Records, fields: Sequence[str], start: int, by_name: dict[str, int], partial: bool
) -> None:
    """Raise the InstanceError if the first column names rows, but not each of them once.

    Labels in the order of the file would belong to other rows.
    """
    found = by_name.keys() & set(fields)
    are_names = 1 < len(found) == len(fields)  # of some rows, each once
    n_expected = len(fields) if partial else len(by_name)
    if not are_names and 2 * len(found) < n_expected:
        return
    seen = set[str]()
    for record, field in enumerate(fields, start=start):
        if field in seen and field in by_name:
            raise InstanceError(
                f"{records.where(record)}: names row {shown(field)} again; expected a label for "
                "each row"
            )
        seen.add(field)
        if partial and field not in by_name:
            raise InstanceError(
                f"{records.where(record)}: no row is called {shown(field)}"
                f"{hint_at_similar(field, by_name)}"
            )
    lacking = [name for name in by_name if name not in found]
    if lacking:
        raise InstanceError(
            f"{shown_path(records.path)}: no label for {len(lacking)} of "
            f"{counted(len(by_name), 'row')}, {first_of(map(shown, lacking), 3)}; expected one for "
            "each, as they go by the names of rows"
        )


def _number_rows(fields: Sequence[str], origin: Origin) -> bool:
    """Return whether the fields of a column are the numbers of the rows in order."""
    if len(fields) < 2 or not all(map(is_integer, fields)):
        return False
    numbers = list(map(int, fields))
    expected = [list(range(len(numbers)))]
    if origin.kept_rows is not None:
        expected.append(origin.kept_rows.tolist())
    return numbers in expected or [number - 1 for number in numbers] in expected


def _position(
    records: Records,
    names: list[str] | None,
    width: int,
    column: str | None,
    of_rows: Sequence[int],
) -> int:
    name = shown_path(records.path)
    known = names or [str(j) for j in range(1, width + 1)]
    shown_names = first_of(map(shown, known), 10)
    if column is not None:
        if known.count(column) == 1:
            return known.index(column)
        problem = "two columns have this name" if column in known else "there is no such column"
        raise InstanceError(
            f"{name}:{records.lines[0]}: column = {shown(column)}: {problem}; expected one of "
            f"{shown_names}"
        )
    others = [j for j in range(width) if j not in of_rows]
    if width == 1:
        _check_single(records)
        return 0
    if width == 2 and len(others) == 1:
        return others[0]
    raise InstanceError(
        f"{name}:{records.lines[0]}: a table of the columns {shown_names}; expected --column with "
        "the name of the labels"
    )


def _check_single(records: Records) -> None:
    """Raise the InstanceError for several numbers on a line: they are no label."""
    wrong = [
        field
        for field in {row[0] for row in records.rows}
        if " " in field and all(map(is_number, field.split()))
    ]
    for record, row in enumerate(records.rows if wrong else ()):
        if row[0] in wrong:
            raise InstanceError(
                f"{records.where(record)}: {shown(row[0])}; expected one label per line"
            )


def _order(names: Sequence[str], by_name: dict[str, int]) -> list[int]:
    """Return the records of the rows, in the order of these; -1 where a row has none."""
    order = [-1] * len(by_name)
    for record, name in enumerate(names):
        if name in by_name:
            order[by_name[name]] = record
    return order
