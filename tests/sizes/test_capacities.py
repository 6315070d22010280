"""Capacity cuts and cliques: inequalities that hold for all clusterings within limits."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.sdp.cuts import FAMILIES
from sdpbb.bounds.sdp.cuts.capacities import separate_capacities, separate_capacity_cliques
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.capacities import SetCliques, least_splits, most_filled
from sdpbb.checker.kernel.cuts.inequalities import NodeFacts
from sdpbb.checker.kernel.sizes import SizeLimits
from sdpbb.problem import Instance, contract
from sdpbb.search.result import SolutionStatus
from tests.checker.parts import Parts
from tests.enumeration import clustering_matrix

# Groups of 9, 6 and 3 points in clusters of 6: the first is split.
GROUPS = np.repeat([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]], [9, 6, 3], axis=0)


@st.composite
def limits_on_sizes(draw: st.DrawFn) -> SizeLimits:
    k = draw(st.integers(1, 4))
    if draw(st.booleans()):
        sizes = draw(st.lists(st.integers(1, 4), min_size=k, max_size=k))
        more = draw(st.lists(st.integers(0, 2), min_size=k, max_size=k))
        if draw(st.booleans()):
            more = [0] * k
        return listed_limits(
            sum(sizes),
            [
                (max(1, size - wide), size + wide if size + wide <= 4 else 4)
                for size, wide in zip(sizes, more, strict=True)
            ],
        )
    n = draw(st.integers(k, 11))
    least, most = draw(st.integers(1, n // k)), draw(st.integers(-(-n // k), n))
    return SizeLimits(n, k, least, most)


def listed_limits(n: int, listed: list[int | tuple[int, int]]) -> SizeLimits:
    """Limits that may be none."""
    k = len(listed)
    return SizeLimits.of(n, k, listed=listed) or SizeLimits(n, k, 1, n - k + 1)


def least_split(limits: SizeLimits, t: int) -> float:
    """The least split of t points, by enumeration of all sizes and all their parts."""
    found = [
        sum(x * (s - x) / s for x, s in zip(parts, sizes, strict=True))
        for sizes in product(range(limits.least, limits.most + 1), repeat=limits.k)
        if sum(sizes) == limits.n and limits.keeps(np.array(sizes))
        for parts in product(*(range(s + 1) for s in sizes))
        if sum(parts) == t
    ]
    return min(found)


@pytest.mark.parametrize(("n", "k", "least", "most"), [(8, 4, 2, 3), (7, 3, 2, 3), (11, 4, 2, 5)])
def test_least_splits_of_all_measures_are_those_of_enumeration(n, k, least, most):
    """Also where the least that two ends of a cluster can be is nothing."""
    limits = SizeLimits(n, k, least, most)
    expected = [least_split(limits, t) for t in range(n + 1)]
    assert least_splits(limits, np.arange(n + 1)) == pytest.approx(expected, rel=1e-12, abs=0)


@given(limits_on_sizes(), st.data())
def test_least_splits_are_those_of_enumeration(limits, data):
    t = data.draw(st.integers(0, limits.n))
    found = float(least_splits(limits, np.array([t]))[0])
    expected = least_split(limits, t)
    assert found <= expected
    assert found == pytest.approx(expected, rel=1e-12, abs=0)


def test_many_listed_sizes_are_taken_as_a_range(monkeypatch):
    listed = (2, 2, 6)
    t = np.arange(11)
    exact = least_splits(SizeLimits.of(10, 3, listed=listed), t)
    monkeypatch.setattr("sdpbb.checker.kernel.cuts.capacities._STEPS", 0)
    weaker = least_splits(SizeLimits.of(10, 3, listed=listed), t)
    assert (weaker <= exact).all()
    assert (weaker < exact).any()


def test_measures_of_any_size_are_exact():
    """Units of weight are up to 2^51 in all."""
    size = 2**40
    limits = SizeLimits(1000 * size, 1000, size, size)
    t = np.array([size, 7 * size, 7 * size + 1, 999 * size + size // 2])
    assert least_splits(limits, t) == pytest.approx([0.0, 0.0, 1.0, size / 4])


def most_of_clusters(limits: SizeLimits, t: int) -> float:
    """The most clusters that t points fill, in parts, by enumeration of all sizes and parts."""
    return max(
        sum(x / s for x, s in zip(parts, sizes, strict=True))
        for sizes in product(range(limits.least, limits.most + 1), repeat=limits.k)
        if sum(sizes) == limits.n and limits.keeps(np.array(sizes))
        for parts in product(*(range(s + 1) for s in sizes))
        if sum(parts) == t
    )


@given(limits_on_sizes(), st.data())
def test_filled_clusters_are_those_of_enumeration(limits, data):
    t = data.draw(st.integers(0, limits.n))
    found = float(most_filled(limits, np.array([t]))[0])
    expected = most_of_clusters(limits, t)
    assert found >= expected - 1e-14
    if limits.listed is None or limits.exact is not None:  # of ranges it is a bound
        assert found == pytest.approx(expected, rel=1e-12, abs=0)


def test_filled_clusters_of_any_size_are_counted():
    size = 2**40
    limits = SizeLimits(1000 * size, 1000, 1, size + 1)
    t = np.array([0, size, 7 * size, 1000 * size])
    least = size - 999  # what 999 others leave
    expected = [0.0, 1.0 + (size - least) / (size + 1), 7.0, 1000.0]
    assert most_filled(limits, t) == pytest.approx(expected, rel=1e-9)
    assert most_filled(limits, t)[-1] == 1000.0


def test_the_split_of_a_group_is_found():
    """The relaxation without these cuts pays nothing for the group that is too large."""
    relaxation = Relaxation.of(contract(Instance(GROUPS, 3, sizes=[6, 6, 6])))
    of_group = np.repeat([0, 1, 2], [9, 6, 3])
    Z = clustering_matrix(of_group, np.ones(18))
    cuts = separate_capacities(Z, relaxation)
    violated = cuts.rhs - cuts.values(Z)
    assert violated.max() == pytest.approx(1.5)  # 3 (6 - 3) / 6, of 9 and of 3 points
    balanced = clustering_matrix(np.repeat([0, 1, 2], 6), np.ones(18))
    assert not len(separate_capacities(balanced, relaxation))


def test_as_many_cliques_as_long_roots_have_are_accepted():
    """Their terms are few, however many blocks there are."""
    m, number = 2000, 20_000
    leaves, cut = np.random.default_rng(0).integers(0, m, 2 * number), np.arange(2 * number) // 2
    sets = np.column_stack([cut, np.arange(2 * number) % 2, np.ones(2 * number, np.int64)])
    cuts = Cuts((SetCliques(sets, number, "points", np.column_stack([cut, leaves])),))
    limits = SizeLimits(m, 1000, 2, 2)
    sums = cuts.sums(np.ones(number), NodeFacts(1000, np.ones(m), np.zeros((m, m), bool), limits))
    # Of g = 1, w = 2: leaves 2 Z_jl, and four of the set.
    assert sums.matrix.sum() == number * (2.0 - 4.0)
    assert sums.absolute.sum() == number * (2.0 + 4.0)


def test_leaves_that_are_apart_but_share_the_rest_of_a_cluster_are_found():
    relaxation = Relaxation.of(contract(Instance(np.arange(12.0)[:, None], 2, sizes=[6, 6])))
    halves = np.repeat([0, 1], 6)
    swapped = np.where(np.isin(np.arange(12), [0, 6]), 1 - halves, halves)
    Z = 0.5 * sum(clustering_matrix(labels, np.ones(12)) for labels in (halves, swapped))
    assert not len(separate_capacity_cliques(Z, relaxation))  # of two clusterings
    Z[0, 1] = Z[1, 0] = 0.0
    cuts = separate_capacity_cliques(Z, relaxation)
    assert len(cuts)
    assert (cuts.values(Z) < cuts.rhs).all()


@pytest.mark.parametrize(
    ("limits", "weights"),
    [
        ({"sizes": [30, 30, 30]}, None),
        ({"sizes": [26, 30, 34]}, None),
        ({"min_size": 28, "max_size": 32}, None),
        ({"min_weight": 60.0, "max_weight": 60.0}, np.tile([1.0, 2.0, 3.0], 30)),
        ({"min_weight": 56.0, "max_weight": 64.0}, np.full(90, 2.0)),
    ],
)
def test_certificates_with_capacity_cuts_are_verified(limits, weights, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0]], [36, 30, 24], axis=0)
    points = centres + rng.normal(size=(90, 2))
    instance = Instance(points, 3, weights=weights, **limits)
    path = tmp_path / "groups.cert"
    from_the_first = FAMILIES["capacity cliques"]._replace(after=0)
    monkeypatch.setitem(FAMILIES, "capacity cliques", from_the_first)
    parameters = sdpbb.SolverParameters(bounding="sdp", gap=5e-3)
    result = sdpbb.solve(instance, parameters, certificate=str(path))
    assert result.status is SolutionStatus.OPTIMAL
    unit = "points" if weights is None else "units"
    groups = [group for step in Parts.of(path).evidences("dual") for group in step.evidence[2]]
    for word in ("sets", "set cliques"):
        assert {group[2] for group in groups if group[0] == word} == {unit}
    assert sdpbb.verify_certificate(str(path), instance).status == "optimal"
