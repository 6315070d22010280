"""Constraints on clusters that other processes can, or cannot, receive."""

from dataclasses import dataclass

import numpy as np
import pytest

import sdpbb
from sdpbb.errors import ParameterError
from sdpbb.problem import (
    AllOf,
    AnyOf,
    ClusterConstraint,
    Instance,
    MaximumDiameter,
    MaximumOverlap,
    MaximumSize,
    MinimumDifference,
    SoftCannotLinks,
)
from sdpbb.run.arguments import check_compatibility

POINTS = np.random.default_rng(0).normal(size=(8, 2))


@dataclass(frozen=True)
class Unmoved(ClusterConstraint):
    """One that cannot be sent to another process."""

    limit: int

    def __reduce__(self):
        raise TypeError("stays\nhere")

    def allows(self, instance, members):
        return len(members) <= self.limit


class Few(ClusterConstraint):
    """One that can."""

    def allows(self, instance, members):
        return len(members) <= 4


BUILT_IN = (
    MaximumSize(4),
    MaximumDiameter(50.0),
    MaximumOverlap([0, 1, 2], 2),
    MinimumDifference([0, 1, 2], 4),
    SoftCannotLinks([(0, 1), (2, 3)], 1),
    AllOf([MaximumSize(5), AllOf([])]),
    AnyOf([MaximumSize(3), MaximumOverlap([3], 0)]),
)


def instance_with(*constraints: ClusterConstraint) -> Instance:
    return Instance(POINTS, 3, cluster_constraints=constraints)


def check(instance: Instance, **parameters) -> None:
    check_compatibility(instance, sdpbb.SolverParameters(**parameters), None)


@pytest.mark.parametrize("executors", [{"workers": 2}, {"dask": "tcp://a:1"}, {"mpi": True}])
def test_other_processes_are_sent_what_can_be(executors):
    message = r"^cluster_constraints: cannot be sent to other processes.*\(stays here\)$"
    with pytest.raises(ParameterError, match=message):
        check(instance_with(Unmoved(3)), bounding="colgen", **executors)
    check(instance_with(Few()), bounding="colgen", **executors)
    check(instance_with(*BUILT_IN), bounding="colgen", **executors)
    check(instance_with(Unmoved(3)), bounding="colgen")
