"""Files of points, of constraints and of labels; docs/how-to/formats.md has examples.

Points
    The suffix of the file's name decides on workbooks (`.xlsx`), on Parquet and Feather with a
    column per feature, and on arrays (n, d) of `numpy.save` and `numpy.savez`.

    CSV, by the suffix or the first line: a row of numbers per point. The first line is a heading if
    none of its fields is a number; columns without a heading are called 1, 2, ...

    Text otherwise: a first line `n d k` or `n d`, then n rows of d numbers separated by blanks (the
    format of SOS-SDP and PC-SOS-SDP). Text after `#` is a comment.

    Numbers are rounded to doubles.

Constraints
    pc-sos-sdp: one constraint per line, `ML i j` (must-link) and `CL i j` (cannot-link), `GAMMA x`
    (points farther apart than x cannot link) and `DELTA x` (points closer than x must link). This
    is the format of PC-SOS-SDP. In addition, `SML i j w` and `SCL i j w` are soft constraints of
    weight w >= 0; the default is 1, and inf means a hard constraint.

    `MINSIZE n`, `MAXSIZE n`, `SIZES n n-n ...`, `MINWEIGHT w` and `MAXWEIGHT w` limit the sizes and
    weights of clusters; each occurs at most once. `OVERLAP l i j ...` (a cluster has at most l of
    the points i, j, ...), `DIFFERENCE l i j ...` (at most l other points) and `SOFTCL l i j i j
    ...` (at most l of the pairs i j) may be repeated.

    csv: a table with two columns for the rows, one for the kind of link, and perhaps one for the
    weight, which makes a constraint soft.

    cccg: lines `i j 1` (must-link) and `i j -1` (cannot-link).

    matrix: n rows of n entries 1 (must-link), -1 (cannot-link) and 0 (neither), 1 on the diagonal.
    A pair may be on both sides of the diagonal, or on one side (the format of BH-k-means).

    pccc: a JSON object with lists of pairs `ml`, `cl`, `sml` and `scl` (soft), and lists of
    confidences `sml_proba` and `scl_proba`, 0 < w <= 1, which are weights. Each list is optional.

    Rows are numbered from 0, or from 1 with one_based, or have the names in the index_column of the
    points. Text after `#` is a comment, except in JSON and tables.

Labels
    One per line, in the order of the points, numbers or words; an array (n,); or a table, whose
    labels are matched by the names of the rows.

Text is UTF-8, unless an encoding is given. Blank lines are skipped.
"""

from __future__ import annotations

from typing import Unpack

from sdpbb.problem.files.constraint_formats import (
    CONSTRAINT_FORMATS,
    constraints_text,
    read_constraints,
    write_constraints,
)
from sdpbb.problem.files.constraints import ConstraintFormat, Constraints
from sdpbb.problem.files.labels import (
    labels_file,
    labels_text,
    read_labels,
    write_labels,
)
from sdpbb.problem.files.points import read_points, write_points
from sdpbb.problem.instance import Instance
from sdpbb.problem.table import PointTable
from sdpbb.runtime.files import FilePath
from sdpbb.runtime.reading import Reading, ReadingArguments

__all__ = [
    "CONSTRAINT_FORMATS",
    "ConstraintFormat",
    "Constraints",
    "FilePath",
    "PointTable",
    "Reading",
    "constraints_text",
    "labels_file",
    "labels_text",
    "read_constraints",
    "read_instance",
    "read_labels",
    "read_points",
    "write_constraints",
    "write_labels",
    "write_points",
]


def read_instance(
    data_path: FilePath,
    k: int | None = None,
    constraints_path: FilePath | None = None,
    **reading: Unpack[ReadingArguments],
) -> Instance:
    """Read an instance from its files, as `Instance.from_files` does.

    Parameters and warnings: see there.

    Raises
    ------
    InstanceError, ParameterError
        See there.
    """
    return Instance.from_files(data_path, k, constraints_path, **reading)
