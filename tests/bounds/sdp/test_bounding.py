import math
import pickle
from unittest.mock import patch

import numpy as np
import pytest

from heuristics import MultiStart
from sdpbb.bounds.sdp import admm_run
from sdpbb.bounds.sdp.admm_run import Patience
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.problem import Instance, contract


@pytest.fixture(scope="module")
def instance() -> Instance:
    rng = np.random.default_rng(7)
    points = np.concatenate([rng.normal(c, 1.2, size=(10, 2)) for c in ((0, 0), (3, 0), (1, 3))])
    return Instance(points, 3, must_link=[(0, 11)], cannot_link=[(1, 2), (2, 12), (5, 25)])


def advanced(run, steps: int, cutoff: float = np.inf):
    for _ in range(steps):
        progress = run.advance(cutoff)
    return progress


def test_affinity_has_unit_row_sums_and_no_weight_on_cannot_links(instance):
    contraction = contract(instance)
    run = SdpBounding().start(contraction, None)
    advanced(run, 20)
    Z = run.affinity()
    np.testing.assert_allclose(Z @ contraction.weights, 1, atol=1e-2)
    assert (Z >= 0).all()
    assert not Z[contraction.adjacency].any()


def test_children_start_where_the_parent_stopped(instance):
    contraction = contract(instance)
    run = SdpBounding().start(contraction, None)
    parent = advanced(run, 10).bound.value
    warm_start = pickle.loads(pickle.dumps(run.warm_start()))
    for decision in ({"must_link": [(3, 4)]}, {"cannot_link": [(3, 4)]}):
        child = contract(instance, **decision)
        Z = warm_start.for_child(child, Relaxation.of(child).scale)[1]
        np.testing.assert_allclose(Z @ child.weights, 1, atol=1e-2)
        warm = SdpBounding().start(child, warm_start).advance(np.inf).bound.value
        cold = SdpBounding().start(child, None).advance(np.inf).bound.value
        assert warm > cold
        assert warm >= parent * (1 - 1e-2)


def test_the_root_is_given_up_later_than_its_children(instance, monkeypatch):
    monkeypatch.setattr(admm_run, "ROOT", Patience(80, 0.99))
    monkeypatch.setattr(admm_run, "CHILD", Patience(40, 0.99))
    root = SdpBounding().start(contract(instance), None)
    child = SdpBounding().start(contract(instance), root.warm_start())
    unreachable = 1e9
    assert [root.advance(unreachable).stalled for _ in range(5)] == [False] * 4 + [True]
    assert [child.advance(unreachable).stalled for _ in range(3)] == [False] * 2 + [True]


@pytest.mark.parametrize("n_iterations", [1, 7, 10, 13])
def test_a_step_cut_short_proves_its_bound_and_goes_on_as_if_it_had_not_been(
    instance, n_iterations
):
    """Also through a state."""
    contraction = contract(instance)
    optimum = MultiStart().run(contraction, np.random.default_rng(0)).cost
    whole, cut = (SdpBounding().start(contraction, None) for _ in range(2))
    asked = iter(range(10**6))
    left = lambda: math.inf if next(asked) < n_iterations - 1 else 0.0  # noqa: E731
    progress = cut.advance(optimum, left)
    while not progress.is_cut:
        progress = cut.advance(optimum, left)
    assert cut.n_iterations == n_iterations
    assert not progress.stalled
    assert 0.0 <= progress.bound.value <= optimum
    cut = SdpBounding().resume(contraction, pickle.loads(pickle.dumps(cut)))
    while cut.n_iterations % 10 or cut.n_iterations < 30:
        cut.advance(optimum)
    while whole.n_iterations < 30:
        whole.advance(optimum)
    assert np.array_equal(whole.dual_point().N, cut.dual_point().N)
    assert np.array_equal(whole.dual_point().multipliers, cut.dual_point().multipliers)


def test_bounds_of_large_matrices_are_left_out_while_they_cannot_close_the_node(monkeypatch):
    monkeypatch.setattr(admm_run, "LARGE", 10)
    contraction = contract(Instance(np.random.default_rng(3).normal(size=(60, 2)), 4))
    always = SdpBounding().start(contraction, None)
    with patch.object(admm_run, "BOUND_GROWTH", 1):
        values = [advanced(always, 1).bound.value for _ in range(11)]
    run = SdpBounding().start(contraction, None)
    reached = [advanced(run, 1).bound.value for _ in range(11)]
    taken = [iteration for iteration, _ in run.history]
    assert taken == [0, 20, 40, 60, 100, 160]
    assert all(value in values for value in reached)
    cutoff = values[5]  # which the bound after 100 iterations is the first to reach
    run = SdpBounding().start(contraction, None)
    while run.advance(cutoff).bound.value < cutoff:
        assert run.n_iterations < 100
    assert run.history[-1][0] == run.n_iterations == 100


def test_a_node_stands_still_at_a_bound_that_was_taken(monkeypatch):
    monkeypatch.setattr(admm_run, "LARGE", 10)
    contraction = contract(Instance(np.random.default_rng(3).normal(size=(60, 2)), 4))
    monkeypatch.setattr(admm_run, "BOUND_GROWTH", 100.0)
    monkeypatch.setattr(admm_run, "ROOT", Patience(iterations=60, progress=0.9))
    run = SdpBounding().start(contraction, None)
    while not (progress := run.advance(1e6)).stalled:
        assert run.n_iterations < 1000
    assert run.history[-1] == (run.n_iterations, progress.bound.value)


def test_roots_have_a_bound_at_once(instance):
    contraction = contract(instance)
    best = MultiStart().run(contraction, np.random.default_rng(0))
    root = SdpBounding().start(contraction, None, best.labels)
    first = root.advance(best.cost)
    assert root.n_iterations == 0
    assert 0.5 * best.cost < first.bound.value <= best.cost
    assert root.advance(best.cost).bound >= first.bound
    assert root.n_iterations == 20
    child = SdpBounding().start(contraction, root.warm_start())
    child.advance(best.cost)
    assert child.n_iterations == 20
