"""Objection to a clustering: the first constraint that it violates, in words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sdpbb.checker.sizes import sums_over
from sdpbb.checker.weight_units import WeightUnits
from sdpbb.problem.instance import Instance
from sdpbb.problem.partition import Partition
from sdpbb.values import counted


def objection(partition: Partition, instance: Instance) -> str:
    """Return why a clustering of the instance's points is not feasible; "" if it is.

    Examples: "must-link 3 7 (c.txt:17) is violated", "min_size = 5, but a cluster has 4 points".
    """
    if partition.n_clusters != instance.k:
        found = counted(partition.n_clusters, "cluster")
        return f"{found} in the place of k = {instance.k}"
    return next(_violated(partition, instance), "")


def _violated(partition: Partition, instance: Instance) -> Iterator[str]:
    origin = instance.origin
    arguments = ("must_link", "cannot_link")
    for argument, positions in zip(arguments, partition.violations(instance), strict=True):
        for position in positions.tolist():
            i, j = getattr(instance, argument)[position].tolist()
            place = origin.place(argument, i, j)
            pair = f"{argument.replace('_', '-')} {' '.join(origin.rows((i, j)))}"
            yield f"{pair}{f' ({place})' if place else ''} is violated"
    for position in partition.cluster_violations(instance).tolist():
        yield f"{' '.join(repr(instance.cluster_constraints[position]).split())} is violated"
    yield from _violated_sizes(partition, instance)
    yield from _violated_weights(partition, instance)


def _violated_sizes(partition: Partition, instance: Instance) -> Iterator[str]:
    found = np.sort(partition.sizes).tolist()
    least, most, listed = instance.min_size, instance.max_size, instance.sizes
    if least is not None and found[0] < least:
        yield f"min_size = {least}, but a cluster has {counted(found[0], 'point')}"
    if most is not None and found[-1] > most:
        yield f"max_size = {most}, but a cluster has {counted(found[-1], 'point')}"
    if listed is not None and found != list(listed):
        yield f"sizes = {listed}, but the clusters have {', '.join(map(str, found))} points"


def _violated_weights(partition: Partition, instance: Instance) -> Iterator[str]:
    least, most = instance.min_weight, instance.max_weight
    if least is None and most is None:
        return
    weights = WeightUnits.of(instance.weights, instance.n_points)
    weighed = sums_over(weights.units, partition.labels)
    if least is not None and (units := weighed.min()) < weights.least(least):
        yield f"min_weight = {least!r}, but a cluster weighs {float(units * weights.unit)!r}"
    if most is not None and (units := weighed.max()) > weights.most(most):
        yield f"max_weight = {most!r}, but a cluster weighs {float(units * weights.unit)!r}"
