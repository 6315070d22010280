"""Contract of heuristics: a method satisfies what it promises, and all that it reports is true."""

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.registry import METHODS
from heuristics.result import HeuristicStatus
from sdpbb.errors import InstanceError
from sdpbb.problem import Partition
from sdpbb.problem.checks import ClassSizes
from tests.any_instance import any_instance
from tests.enumeration import Truth
from tests.examples import examples
from tests.heuristics.test_interface import EXACT, METHODS_THAT_KEEP, quick

ALTERNATING = {"distance": ("squared", "euclidean")}
# Values of parameters that promise the same.
PARAMETERS = {
    "blpkm": ALTERNATING,
    "bh-kmeans": {**ALTERNATING, "p": (0.2, 1.0)},
    "pccc": {**ALTERNATING, "q": (None, 1, 2, "auto")},
}


def outcome(name, instance, seed):
    """The result of a method, or its message if it does not support the instance."""
    random = Random(seed)
    parameters = {key: random.choice(each) for key, each in PARAMETERS.get(name, {}).items()}
    if instance.stated_limits:
        parameters.pop("q", None)  # which is refused
    try:
        return quick(name, **parameters).run(instance, seed)
    except InstanceError as error:
        return str(error)


INSTANCES = st.one_of(
    any_instance(),
    any_instance("equal points", "pairs", "weights", "soft pairs", always=["sizes"]),
    any_instance("equal points", "pairs", "sizes", "soft pairs", always=["weight limits"]),
)


@pytest.mark.parametrize("name", METHODS)
@given(instance=INSTANCES, seed=st.integers(0, 999))
@examples(60)
def test_verdicts_and_figures_are_true(name, instance, seed):
    is_plain = not (instance.stated_limits or instance.cluster_constraints)
    result = outcome(name, instance, seed)
    if isinstance(result, str):
        assert result.startswith(f"{name}: ")
        assert not is_plain or instance.has_soft_constraints
        return
    truth, again = Truth(instance), outcome(name, instance, seed)
    assert np.array_equal(result.labels, again.labels)
    assert (result.method, result.n_iterations) == (name, again.n_iterations)
    if result.status is HeuristicStatus.INFEASIBLE:
        assert not truth.is_feasible
        assert result.infeasibility is not None
    if result.status is not HeuristicStatus.FOUND:
        assert result.labels is result.centers is result.sum_of_squares is result.violations is None
        # Which cluster holds a class decides on sizes of classes, and methods do not choose it.
        is_supported = not isinstance(instance.sizes, ClassSizes)
        assert not (name in EXACT and is_supported and truth.is_feasible)
        assert (result.status is HeuristicStatus.INFEASIBLE) or not (name in EXACT and is_plain)
        assert not (name in ("kmeans", "bh-kmeans") and is_plain)
        return
    labels, partition = result.labels, Partition(result.labels)
    assert np.array_equal(labels, partition.labels)
    weights = np.ones(len(labels)) if instance.weights is None else instance.weights
    for c, centre in enumerate(result.centers):
        inside, size = labels == c, np.abs(instance.points).max()
        mean = np.average(instance.points[inside], axis=0, weights=weights[inside])
        assert centre == pytest.approx(mean, abs=1e-12 * size)
    expected = partition.sum_of_squares(instance.points, instance.weights)
    assert result.sum_of_squares == pytest.approx(expected, rel=1e-9, abs=0.0)
    # Diameters are cannot-links of all points that are farther apart.
    stated = instance.in_pairs_and_sizes()
    violated = tuple(len(pairs) for pairs in partition.violations(stated))
    assert (result.violations.must_link, result.violations.cannot_link) == violated
    assert result.violations.empty == 0
    assert len(np.unique(labels)) == instance.k
    assert result.keeps_hard_constraints == truth.has(labels)
    assert partition.keeps_sizes(instance)
    assert result.keeps_hard_constraints or name not in METHODS_THAT_KEEP
