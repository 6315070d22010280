"""Regions of the mean: every cluster is in one, and searches by regions find what others do."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.colgen.columns import cluster_costs
from sdpbb.bounds.colgen.pricing.branching_pricer import local_minima
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.bounds.colgen.pricing.regional_search import RegionalSearch, search_for
from sdpbb.bounds.colgen.pricing.regions import tiling
from sdpbb.bounds.colgen.pricing.sought import SoughtClusters
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.colgen.test_pricing import (
    EVERYTHING,
    KINDS,
    SEEDS,
    random_prices,
    target_for,
)
from tests.constrained import allowed_sets, constrained_instance, first_contraction
from tests.examples import examples


@pytest.fixture(autouse=True)
def few_blocks(monkeypatch):
    """Boxes are halved in problems of few blocks, too."""
    monkeypatch.setattr("sdpbb.bounds.colgen.pricing.problem.FEW_BLOCKS", 1)


def drawn(seed: int, kinds=()) -> tuple[Instance, Contraction]:
    """In one or two dimensions."""
    rng = np.random.default_rng(seed)
    instances = (constrained_instance(rng, kinds, n_min=2, n_max=11, d_max=2) for _ in range(1000))
    return first_contraction((x for x in instances if x.k > 1), 9)


def tiled(contraction: Contraction, per_cluster: float, boxes: bool) -> PricingProblem:
    """With regions of few blocks, whatever the dimension and the number of blocks."""
    problem = PricingProblem.of(contraction)
    data = problem.data._replace(boxes=boxes and not len(problem.data.limits), by_size=False)
    return replace(problem, data=data, regions=small_tiling(problem.data.points, per_cluster))


def small_tiling(points: np.ndarray, per_cluster: float):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sdpbb.bounds.colgen.pricing.regions._FEWEST", 1)
        return tiling(points, per_cluster)


@given(SEEDS, st.sampled_from([1.0, 2.0, 5.0]))
@examples(60, derandomize=True)
def test_regions_tile_the_bounding_box(seed, per_cluster):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(int(rng.integers(1, 40)), int(rng.integers(1, 4))))
    if rng.random() < 0.3:
        points = np.round(points)
    regions = small_tiling(points, per_cluster)
    sides = regions.high - regions.low
    assert (sides >= 0.0).all()
    assert sides.prod(axis=1).sum() == pytest.approx(np.ptp(points, axis=0).prod())
    weights = rng.dirichlet(np.ones(len(points)), size=50)
    for place in np.vstack([points, weights @ points]):
        room = 1e-12 * (1.0 + np.abs(place))
        inside = (regions.low <= place + room) & (place - room <= regions.high)
        assert inside.all(axis=1).any()
    own = np.arange(len(points))
    assert (regions.low[regions.owner] <= points[own]).all()
    assert (points[own] <= regions.high[regions.owner]).all()


@pytest.mark.long
@given(SEEDS, KINDS, st.booleans(), st.sampled_from([1.0, 3.0]))
@examples(100, derandomize=True)
def test_the_least_value_is_that_of_all_clusters(seed, kinds, boxes, per_cluster):
    instance, contraction = drawn(seed, kinds)
    sets = allowed_sets(instance, contraction)
    prices = random_prices(contraction, seed)
    problem = tiled(contraction, per_cluster, boxes)
    if problem.data.points.shape[1] == 0:
        return
    values = cluster_costs(contraction, sets) - sets @ prices
    target, margin = target_for(values, seed), problem.margin(prices)
    sought = SoughtClusters(prices, target)
    search = search_for(problem, sought)
    assert isinstance(search, RegionalSearch)
    met = search.run(EVERYTHING)
    assert search.is_finished
    assert search.upper == pytest.approx(min(target, values.min()), rel=0, abs=margin)
    known = {row.tobytes() for row in sets}
    assert all(row.tobytes() in known for row in met)
    assert (cluster_costs(contraction, met) - met @ prices < target + margin).all()
    again, met_again = left_again_and_again(problem, sought, seed)
    assert (again.upper, again.n_nodes) == (search.upper, search.n_nodes)
    assert np.array_equal(met_again, met)


@pytest.mark.long
@given(SEEDS, KINDS, st.booleans(), st.sampled_from([1.0, 3.0]))
@examples(100, derandomize=True)
def test_all_clusters_below_a_threshold_are_met(seed, kinds, boxes, per_cluster):
    instance, contraction = drawn(seed, kinds)
    sets = allowed_sets(instance, contraction)
    prices = random_prices(contraction, seed)
    problem = tiled(contraction, per_cluster, boxes)
    if problem.data.points.shape[1] == 0:
        return
    values, margin = cluster_costs(contraction, sets) - sets @ prices, problem.margin(prices)
    share = float(np.random.default_rng([seed, 5]).choice([0.05, 0.2, 0.8]))
    threshold, least = float(np.quantile(values, share)), float(values.min()) - margin
    sought = SoughtClusters(prices, threshold, optimal_only=False, least=least)
    search = search_for(problem, sought)
    found = {row.tobytes() for row in search.run(EVERYTHING)}
    assert search.is_finished
    known = {row.tobytes(): value for row, value in zip(sets, values, strict=True)}
    assert {key for key, value in known.items() if value < threshold - margin} <= found
    assert all(known[key] < threshold + margin for key in found)
    again, met_again = left_again_and_again(problem, sought, seed)
    assert again.n_nodes == search.n_nodes
    assert {row.tobytes() for row in met_again} == found


def left_again_and_again(problem, sought, seed):
    rng = np.random.default_rng([seed, 6])
    search, met = search_for(problem, sought), []
    while not search.is_finished:
        met.append(search.run(int(rng.integers(1, 6))))
        state = pickle.loads(pickle.dumps(search.state))
        search = search_for(problem, sought, state)
    return search, np.concatenate(met)


@given(SEEDS, st.sampled_from([1.0, 3.0]))
@examples(40, derandomize=True)
def test_clusters_of_heuristic_pricing_are_allowed_and_below(seed, per_cluster):
    instance, contraction = drawn(seed, ())
    problem, prices = tiled(contraction, per_cluster, True), random_prices(contraction, seed)
    if problem.data.points.shape[1] == 0:
        return
    known = {row.tobytes() for row in allowed_sets(instance, contraction)}
    found = local_minima(problem, prices, 0.0)
    assert all(row.tobytes() in known for row in found)
    values = cluster_costs(contraction, found) - found @ prices
    assert (values < problem.margin(prices)).all()
    assert (np.diff(values) > -problem.margin(prices)).all()


def test_many_blocks_in_the_plane_have_regions_and_no_arrays_of_pairs():
    contraction = contract(Instance(np.random.default_rng(0).normal(size=(300, 2)), 30))
    assert isinstance(contraction, Contraction)
    problem = PricingProblem.of(contraction)
    assert problem.regions is not None
    assert len(problem.regions) > 10
    assert problem.data.squares.size == problem.data.nearest.size == 0
    contraction = contract(Instance(np.random.default_rng(0).normal(size=(300, 5)), 30))
    assert isinstance(contraction, Contraction)
    assert PricingProblem.of(contraction).regions is None
