"""Files of points, of constraints and of labels: each format stated once, nothing guessed.

Points
    CSV, if the file's name ends in `.csv` or its first line holds a comma: one row of numbers
    per point, separated by commas. The first line is a heading if none of its fields is a number.
    Columns that are no features (a class, the names of the rows) have to be named; without a
    heading, they are called 1, 2, ... A CSV file does not state k.

    Parquet, if its name ends in `.parquet`: a column per feature, and others as in CSV.

    A NumPy array (n, d) as numpy.save writes it, if its name ends in `.npy`.

    Text otherwise: a first line `n d k` or `n d`, then n rows of d numbers separated by blanks
    (the format of SOS-SDP and PC-SOS-SDP). Text after `#` is a comment.

    Numbers become doubles: decimals are rounded, integers that no double holds (beyond 2^53) are
    refused.

Constraints
    pc-sos-sdp: one per line, `ML i j` (must-link) and `CL i j` (cannot-link) with row numbers from
    0, `GAMMA x` (no cluster has a diameter above x: points farther apart cannot link) and `DELTA x`
    (clusters are at least x apart: points closer together must link). This is the format of
    PC-SOS-SDP. In addition, `SML i j w` and `SCL i j w` are soft constraints, which may be violated
    at a price; their weights are 0 < w <= 1, and 1 if left out.

    `MINSIZE n` (every cluster has at least n points), `MAXSIZE n` (at most n points) and `SIZES n n
    ...` (the numbers of points of all clusters, in any order), each once at most, limit the sizes
    of clusters; `MINWEIGHT w` and `MAXWEIGHT w`, w > 0, likewise their weights, in the units of the
    weights of the points (1 each where these have none).

    These are on single clusters, which column generation supports; each may be given several times:
    `OVERLAP l i j ...` (at most l of the points i, j,
    ...), `DIFFERENCE l i j ...` (at most l points besides these), and `SOFTCL l i j i j ...` (a
    cluster holds at most l of the pairs i j).

    cccg: lines `i j 1` (must-link) and `i j -1` (cannot-link).

    matrix: n rows of n entries 1 (must-link), -1 (cannot-link) and 0 (neither), 1 on the diagonal.
    A pair may be stated on both sides of the diagonal, or on one. This is the format of the
    constraint sets of BH-k-means.

    pccc: a JSON object with lists of pairs `ml`, `cl`, `sml` and `scl` (soft), and of confidences
    `sml_proba` and `scl_proba`, which are the weights of the soft constraints. Any of them may be
    left out.

    `read_constraints` detects the format. Text after `#` is a comment, except in JSON.
    Rows are numbered from 0; from 1 where one_based says so; or they are called by the names in the
    column index_column of the points.

Labels
    One per line, in the order of the points: integers as written; as read, whole numbers (1 and 1.0
    are one label), and any other words without blanks and commas. A name that ends in `.npy`: an
    array (n,) of whole numbers or of words, as numpy.save writes it.

Blank lines are skipped; files are UTF-8.
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
    labels_csv,
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
    "labels_csv",
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
    """Read an instance from its files: `Instance.from_files`, which states the parameters.

    Raises
    ------
    InstanceError, ParameterError
        As there.
    """
    return Instance.from_files(data_path, k, constraints_path, **reading)
