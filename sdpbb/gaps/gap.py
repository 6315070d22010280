"""`optimality_gap`: a proven bound on the distance of any labels from the best clustering."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sdpbb.certificates.writer import CertificateOrder
from sdpbb.errors import CertificateError, InstanceError, ParameterError
from sdpbb.files import FilePath
from sdpbb.gaps.labelling import label_numbers, violations
from sdpbb.gaps.report import GapReport
from sdpbb.interruption import interruptible
from sdpbb.parameters import SolverParameters
from sdpbb.problem import ClusterConstraint, Instance, Partition, SoftViolations
from sdpbb.problem.checks import checked_points
from sdpbb.problem.frames import is_frame
from sdpbb.result import Result, relative_gap
from sdpbb.search.events import Observer, ignore
from sdpbb.solver import solve_and_certify


def optimality_gap(
    points: ArrayLike | Instance,
    labels: Any,
    must_link: Iterable[Any] | None = None,
    cannot_link: Iterable[Any] | None = None,
    *,
    k: int | None = None,
    soft_must_link: Iterable[Any] | None = None,
    soft_cannot_link: Iterable[Any] | None = None,
    cluster_constraints: Iterable[ClusterConstraint] | None = None,
    min_size: int | None = None,
    max_size: int | None = None,
    sizes: Iterable[int] | None = None,
    min_weight: float | None = None,
    max_weight: float | None = None,
    weights: ArrayLike | None = None,
    time_limit: float | None = None,
    parameters: SolverParameters | None = None,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
    certificate: FilePath | None = None,
) -> GapReport:
    """Prove how far labels, wherever they are from, are from the best clustering.

    The run begins with the labels if they are comparable, and ends when they, or a better
    clustering, are proven optimal, or at a limit: the gap is valid then as well.

    Parameters
    ----------
    points : array (n, d), a data frame of pandas or polars, or an `Instance`, which has the
        following arguments itself
    labels : (n,) numbers or texts: a list, an array, a series. Equal ones are the same cluster, and
        nothing more is read into them: the points that some tools label -1, for noise, are one
        cluster. A pandas series must have the index of a pandas frame of points
    must_link, cannot_link : pairs of row numbers, from 0; of a pandas frame, pairs of labels of its
        index
    k : number of clusters; None for as many as there are labels
    soft_must_link, soft_cannot_link : triples of two such rows and a weight >= 0, in squared units
        of the points, which labels pay if they violate the pair
    cluster_constraints : what every cluster has to keep (`sdpbb.problem.cluster_constraints`)
    min_size, max_size, sizes, min_weight, max_weight : limits on the numbers of points, and on the
        weights, of clusters, as for an `Instance`
    weights : (n,) of the points, as for an `Instance`
    time_limit : seconds, in the place of that of the parameters
    parameters : as for `solve`
    observer, interrupt : as for `solve`
    certificate : a file for the proof, as for `solve`: of what the labels cost, and of the lower
        bound. Where they are not comparable it is about the best clustering that was found

    Raises
    ------
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
    given = {
        "must_link": must_link,
        "cannot_link": cannot_link,
        "k": k,
        "soft_must_link": soft_must_link,
        "soft_cannot_link": soft_cannot_link,
        "cluster_constraints": cluster_constraints,
        "min_size": min_size,
        "max_size": max_size,
        "sizes": sizes,
        "min_weight": min_weight,
        "max_weight": max_weight,
        "weights": weights,
    }
    if isinstance(points, Instance):
        instance, numbers = points, label_numbers(labels, points.n_points)
        for argument, value in given.items():
            if value is not None:
                raise ParameterError(f"{argument}: expected None, as the Instance states it")
    else:
        instance, numbers = _instance(points, labels, given)
    partition = Partition(numbers)
    violated = violations(instance, partition)
    is_comparable = partition.n_clusters == instance.k and not violated
    parameters = parameters or SolverParameters()
    if time_limit is not None:
        parameters = replace(parameters, time_limit=time_limit)
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


def _instance(points: Any, labels: Any, given: dict[str, Any]) -> tuple[Instance, NDArray[np.intp]]:
    """Return the instance, and the labels (n,) as integers."""
    if is_frame(points):
        _check_series(points, labels)
    else:
        points = checked_points(points)
    numbers = label_numbers(labels, len(points))
    if given["k"] is None:
        given = given | {"k": int(numbers.max(initial=-1)) + 1}
    make = Instance.from_frame if is_frame(points) else Instance
    return make(points, **given), numbers


def _check_series(frame: Any, labels: Any) -> None:
    """Refuse labels that have an index in another order, or would be taken for a feature.

    Labels go by position.
    """
    if type(labels).__name__ != "Series":
        return
    both_indexed = hasattr(frame, "index") and hasattr(labels, "index")
    if both_indexed and not frame.index.equals(labels.index):
        raise InstanceError(
            "labels: their index is not that of the points; expected the same rows in the same "
            "order, or labels.to_numpy(), which go by position"
        )
    if labels.name in list(frame.columns) and list(frame[labels.name]) == list(labels):
        raise InstanceError(
            f"points: the labels are their column {labels.name!r}; expected points without it"
        )


def _shares(instance: Instance, cost: float, result: Result) -> tuple[float, float]:
    """Return the gap and the saving of labels that keep the constraints, at this cost."""
    assert result.lower_bound is not None
    assert result.objective is not None
    # Bound and objective are at most the cost, but for the rounding of other orders of summation.
    gap = relative_gap(min(result.lower_bound, cost), cost)
    return gap, relative_gap(min(result.objective, cost), cost)
