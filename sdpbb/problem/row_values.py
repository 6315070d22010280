"""Values, such as labels, that come with the names of their rows, in the order of the points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any

from sdpbb.errors import InstanceError, InstanceNote, warn_caller
from sdpbb.problem.frames import merely_counts
from sdpbb.problem.origin import Origin
from sdpbb.problem.table import quoted
from sdpbb.problem.textfile import first_of
from sdpbb.runtime.values import counted

# Names that a message lists.
SHOWN = 3


def in_row_order(
    values: Any, n_points: int, origin: Origin, argument: str = "labels", partial: bool = False
) -> Any:
    """Return values of the rows, such as labels, in the order of the points.

    A pandas series goes by its index where the rows of the points have names, those of the index of
    a frame or of its index_column: the same names in any order. All others go by position. Where
    rows of the data are left out, values may be of all rows.

    Parameters
    ----------
    values : of any type; checked no further
    n_points : the number of points
    origin : what the rows are called
    argument : what messages call the values
    partial : whether a series may lack rows, whose values are None then

    Raises
    ------
    InstanceError
        If the index of a series repeats names, or does not have the names of the points.
    """
    if type(values).__name__ == "Series" and hasattr(values, "iloc"):
        names = _names_of_rows(values.index, origin, argument)
        if names is not None:
            wanted, known, are_text = names
            found = list(map(str, values.index)) if are_text else list(values.index)
            advice = f", or {argument}.to_numpy(), which goes by position"
            order = positions(found, wanted, known, argument, partial, advice)
            if -1 not in order:
                return values.iloc[order]
            return [None if at < 0 else values.iloc[at] for at in order]
        values = values.array
    return origin.of_points(values, n_points) if hasattr(values, "__len__") else values


def note_noise(n_noise: int, n: int, where: str) -> None:
    """Note that labels -1, which other tools give to noise and to unknown rows, are a cluster.

    Warns
    -----
    InstanceNote
        If n_noise of the n labels are -1.
    """
    if n_noise:
        warn_caller(
            f"{where}: {n_noise} of {n} labels are -1, and these rows are one cluster; leave the "
            "rows out if they are in no cluster",
            InstanceNote,
        )


def _names_of_rows(
    index: Any, origin: Origin, argument: str
) -> tuple[list[Any], set[Any], bool] | None:
    """Return what the index of a series is compared with; None to go by position.

    These are the names of the points and of all rows, and whether they are no more than text.
    """
    column = origin.row_names
    counts = origin.data_index is None or merely_counts(origin.data_index)
    if origin.data_index is not None:
        if index.equals(origin.data_index) or index.equals(origin.index):
            return None
        if merely_counts(index):  # of no names: whether they are numbers of rows is not certain
            raise InstanceError(
                f"{argument}: their index only counts, and differs from the index of the points; "
                f"expected the index of the points, or {argument}.to_numpy(), which goes by "
                "position"
            )
        if column is None or not counts or set(map(str, index)).isdisjoint(column):
            return list(origin.index), set(origin.data_index), False
    if column is None or merely_counts(index):
        return None
    return list(column), {*column, *origin.dropped_rows}, True


def positions(
    found: Sequence[Any],
    wanted: Sequence[Any],
    known: Collection[Any],
    argument: str,
    partial: bool = False,
    advice: str = "",
) -> list[int]:
    """Return the positions, among the names found, of the names of the points; -1 for none.

    known : names of all rows, also of those that are left out
    argument : what messages call the values
    partial : whether there may be none for a point
    advice : end of messages

    Raises
    ------
    InstanceError
        If a name repeats, is not known, or, unless partial, is lacking.
    """
    at = {name: position for position, name in enumerate(found)}
    lacking = [name for name in wanted if name not in at]
    others = [name for name in found if name not in known]
    for names in (found, wanted):
        name, times = Counter(names).most_common(1)[0] if names else ("", 0)
        if times > 1:
            raise InstanceError(
                f"{argument}: {times} rows are called {quoted(name)}; expected different names"
                f"{advice}"
            )
    if others or (lacking and not partial):
        says = "none for" if not others else "the points do not have"
        names = others or lacking
        raise InstanceError(
            f"{argument}: {says} {len(names)} ({first_of(map(quoted, names), SHOWN)}) of "
            f"{counted(len(found if others else wanted), 'row')}; expected one for each row, by "
            f"the names of the points{advice}"
        )
    return [at.get(name, -1) for name in wanted]
