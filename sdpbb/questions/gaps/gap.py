"""`optimality_gap`: a proven bound on the distance of any labels from the best clustering."""

from __future__ import annotations

import math
import numbers
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from sdpbb.errors import CertificateError, InstanceError
from sdpbb.problem import Instance, Partition, SoftViolations
from sdpbb.problem.frames import column_of, columns_of, is_frame
from sdpbb.problem.instance import stated_instance
from sdpbb.problem.partition import violations
from sdpbb.problem.preparation import table_in_memory
from sdpbb.problem.row_values import in_row_order, note_noise
from sdpbb.problem.sources import arguments_of
from sdpbb.questions.gaps.report import GapReport
from sdpbb.run.arguments import SolveArguments, changed, divided
from sdpbb.run.certificates.writer import CertificateOrder
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.solver import solve_and_certify
from sdpbb.runtime.files import FilePath
from sdpbb.runtime.interruption import interruptible
from sdpbb.search.events import Observer, ignore
from sdpbb.search.result import Result, bound_below, relative_gap

_EXPECTED = "expected one integer, number or text per point"


def label_numbers(labels: Any, n_points: int) -> NDArray[np.intp]:
    """Return labels of any kind as integers (n,): 0, 1, ... by the first point of each.

    labels : a list, an array or a series, of n numbers or texts. Equal values are the same cluster,
        and nothing more is read into them: -1, say, is a cluster like all others

    Raises
    ------
    InstanceError
        For another number of labels, a missing one, or one of another type.
    """
    shape = getattr(labels, "shape", None)
    if shape is not None and len(shape) != 1:
        if is_frame(labels):
            name = str(columns_of(labels)[0]) if columns_of(labels) else "cluster"
            raise InstanceError(f"labels: a data frame; expected one column of it, [{name!r}] say")
        raise InstanceError(f"labels: an array of shape {tuple(shape)}; expected (n,)")
    if isinstance(labels, (str, bytes, Mapping)) or not isinstance(labels, Iterable):
        raise InstanceError(f"labels: of type {type(labels).__name__}; {_EXPECTED}")
    values = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(values) != n_points:
        raise InstanceError(f"labels: {len(values)} of them; expected {n_points}, one per point")
    known: dict[Any, int] = {}
    for position, value in enumerate(values):
        if not isinstance(value, (numbers.Real, str)):
            raise InstanceError(
                f"labels[{position}] is of type {type(value).__name__}; {_EXPECTED}"
            )
        if isinstance(value, float) and math.isnan(value):
            raise InstanceError(f"labels[{position}] is nan; {_EXPECTED}")
        known.setdefault(value, len(known))
    note_noise(sum(value in (-1, "-1") for value in values), n_points, "labels")
    return np.array([known[value] for value in values], np.intp)


def optimality_gap(
    points: Any,
    labels: Any,
    *,
    k: int | None = None,
    parameters: SolverParameters | None = None,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
    certificate: FilePath | None = None,
    **arguments: Unpack[SolveArguments],
) -> GapReport:
    """Prove how far labels, wherever they are from, are from the best clustering.

    The run begins with the labels if they are comparable, and ends when they, or a better
    clustering, are proven optimal, or at a limit: the gap is valid then as well.

    Parameters
    ----------
    points : an array (n, d), or a data frame of pandas or polars, with constraints as further
        arguments; or an `Instance`, which states them itself
    labels : (n,) numbers or texts: a list, an array, a series. Equal ones are the same cluster, and
        nothing more is read into them: the points that some tools label -1, for noise, are one
        cluster. A pandas series goes by its index where the rows of the points have names, in any
        order; all others go by position. Where rows are left out (missing="drop-rows"), there may
        be labels of these, too
    k : number of clusters; None for as many as there are labels
    parameters : as for `solve`
    observer, interrupt : as for `solve`
    certificate : a file for the proof, as for `solve`: of what the labels cost, and of the lower
        bound. Where they are not comparable it is about the best clustering that was found

    Raises
    ------
    TypeError
        If there is no argument of a name.
    InstanceError
        On the points, the labels, k or the constraints. That no clustering keeps the constraints is
        no error: the report says so (`sdpbb.LabelVerdict.INFEASIBLE`).
    CertificateError
        If the certificate cannot be written in the end; the report is its attribute `result`.
    ParameterError, BackendFailure
        As for `solve`; also if an `Instance` is given together with what it has itself.
    Interrupted
        As for `solve`, with the report on the run until then.
    """
    stated, changes = divided(arguments, optimality_gap)
    instance, numbers = _instance(points, labels, k, stated)
    partition = Partition(numbers)
    violated = violations(instance, partition)
    is_comparable = partition.n_clusters == instance.k and not violated
    parameters = changed(parameters, changes)
    start = partition.labels if is_comparable else None
    about = partition if is_comparable else None
    order = None if certificate is None else CertificateOrder(certificate, about)

    def report(stop: threading.Event) -> GapReport:
        failure: CertificateError | None = None
        try:
            result = solve_and_certify(
                instance, parameters, observer, stop, start=start, order=order
            )
        except CertificateError as error:
            failure, result = error, error.result
        cost = partition.cost(instance)
        gap, saving = _shares(instance, cost, result) if is_comparable else (None, None)
        soft = SoftViolations.of(partition, instance)
        found = GapReport(instance.k, partition, cost, violated, gap, saving, result, soft)
        if failure is not None:
            raise CertificateError(str(failure), found) from failure.__cause__
        return found

    return interruptible(interrupt, report)


def _instance(
    points: Any, labels: Any, k: int | None, stated: Mapping[str, Any]
) -> tuple[Instance, NDArray[np.intp]]:
    """Return the instance, and the labels (n,) as integers."""
    if isinstance(points, Instance):
        instance, n = stated_instance(points, k, stated), points.n_points
        return instance, label_numbers(in_row_order(labels, n, instance.origin), n)
    table = table_in_memory(points, stated)
    n = len(table.points)
    ordered = in_row_order(labels, n, table.origin())
    if is_frame(points):
        _check_no_feature(points, labels, table.feature_names)
    numbers = label_numbers(ordered, n)
    if k is None:
        k = int(numbers.max(initial=-1)) + 1
    return Instance(**arguments_of(table, k, stated)), numbers


def _check_no_feature(frame: Any, labels: Any, features: Sequence[str]) -> None:
    """Refuse labels that are a column of the points, and would be taken for a feature."""
    name = getattr(labels, "name", None)
    if name is None or str(name) not in features:
        return
    same = [at for at, column in enumerate(columns_of(frame)) if column == name]
    if any(list(column_of(frame, at)) == list(labels) for at in same):
        raise InstanceError(
            f"points: the labels are their column {name!r}; expected points without it, or "
            f"drop=[{name!r}]"
        )


def _shares(instance: Instance, cost: float, result: Result) -> tuple[float, float]:
    """Return the gap and the saving of labels that keep the constraints, at this cost."""
    assert result.lower_bound is not None
    assert result.objective is not None
    gap = relative_gap(bound_below(result.lower_bound, cost), cost)
    # The run began with the labels: the objective is at most their cost, but for rounding.
    return gap, relative_gap(min(result.objective, cost), cost)
