"""Clusters that are judged as a whole: least and listed sizes, soft pairs."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sdpbb.bounds.colgen.bounding import ColgenBounding
from sdpbb.bounds.colgen.columns import Columns, allowed
from sdpbb.bounds.colgen.master import Master
from sdpbb.bounds.colgen.master_programme import Phase
from sdpbb.bounds.colgen.partitioning import cheapest_partition
from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer, local_minima
from sdpbb.bounds.colgen.pricing.problem import PricingProblem
from sdpbb.bounds.colgen.pricing.search import ClusterSearch
from sdpbb.bounds.colgen.pricing.sought import SoughtClusters
from sdpbb.bounds.colgen.safe_bound import lagrangian_bound
from sdpbb.bounds.colgen.sdp_dual import master_dual
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.colgen.brute_force import all_columns
from tests.bounds.colgen.whole_clusters import whole_contraction
from tests.enumeration import clusterings

SEEDS = st.integers(0, 10**6)


def drawn_prices(seed: int, m: int) -> np.ndarray:
    rng = np.random.default_rng([seed, 1])
    return rng.normal(size=m) * rng.choice([0.1, 1.0, 5.0]) + rng.choice([0.0, 0.5, 3.0])


def values_of(contraction: Contraction, prices: np.ndarray) -> tuple[Columns, np.ndarray]:
    columns = all_columns(contraction)
    return columns, columns.costs - columns.members @ prices


def least_cost(contraction: Contraction) -> float:
    """The cost of the best clustering of the blocks, inf if there is none."""
    rows = clusterings(contraction.n_blocks, contraction.k)
    return min((contraction.cost(row) for row in rows if contraction.keeps(row)), default=np.inf)


@given(SEEDS)
def test_columns_of_a_clustering_cost_what_it_does(seed):
    contraction = whole_contraction(seed)
    for labels in clusterings(contraction.n_blocks, contraction.k)[::7]:
        members = labels == np.arange(contraction.k)[:, None]
        columns = Columns.of(contraction, members)
        cost = columns.costs.sum() + contraction.soft.constant
        assert cost == pytest.approx(contraction.cost(labels), rel=1e-12, abs=1e-12)
        if contraction.keeps(labels):
            assert allowed(contraction, members).all()


@given(SEEDS, st.sampled_from([-0.5, 0.0, 2.0]))
def test_exact_pricing_finds_the_least_value(seed, target):
    contraction = whole_contraction(seed)
    prices = drawn_prices(seed, contraction.n_blocks)
    columns, values = values_of(contraction, prices)
    least = min(target, values.min(initial=np.inf))
    pricer = BranchingPricer(contraction)
    outcome = pricer.exact(prices, target)
    assert least - 1e-9 * (1.0 + abs(least)) <= outcome.least <= least
    assert set(map(bytes, outcome.members)) <= set(map(bytes, columns.members))


@given(SEEDS)
def test_farkas_pricing_is_exact(seed):
    contraction = whole_contraction(seed)
    prices = np.random.default_rng(seed).integers(-20, 21, contraction.n_blocks)
    members = all_columns(contraction).members
    target = int(np.random.default_rng([seed, 2]).integers(-30, 30))
    outcome = BranchingPricer(contraction).farkas_exact(prices, target)
    assert outcome.most == max(target, (members @ prices).max(initial=-(10**6)))


@given(SEEDS)
def test_all_clusters_below_a_value_are_found(seed):
    contraction = whole_contraction(seed)
    prices = drawn_prices(seed, contraction.n_blocks)
    columns, values = values_of(contraction, prices)
    limit = float(np.median(values)) if len(values) else 0.0
    sought = SoughtClusters(prices, limit + 1e-7, False, float(values.min(initial=0.0)))
    found = ClusterSearch(PricingProblem.of(contraction), sought).run(10**7)
    assert len(set(map(bytes, found))) == len(found)
    assert set(map(bytes, columns.members[values < limit])) <= set(map(bytes, found))
    assert set(map(bytes, found)) <= set(map(bytes, columns.members[values < limit + 1e-6]))


@given(SEEDS)
def test_local_search_finds_allowed_clusters(seed):
    contraction = whole_contraction(seed)
    prices = drawn_prices(seed, contraction.n_blocks)
    found = local_minima(PricingProblem.of(contraction), prices, np.inf)
    assert allowed(contraction, found).all()


@given(SEEDS)
def test_no_exchange_of_blocks_improves_a_cluster_of_local_search(seed):
    contraction = whole_contraction(seed)
    prices = drawn_prices(seed, contraction.n_blocks)
    found = local_minima(PricingProblem.of(contraction), prices, np.inf)
    columns, values = values_of(contraction, prices)
    value_of = dict(zip(map(bytes, columns.members), values, strict=True))
    for row in found:
        out = columns.members & ~row
        into = row & ~columns.members
        near = (out.sum(axis=1) <= 1) & (into.sum(axis=1) <= 1)
        assert value_of[bytes(row)] <= values[near].min() + 1e-9


@pytest.mark.long
@pytest.mark.parametrize("dimension", [2, 6])
@pytest.mark.parametrize("kind", ["soft", "least", "listed"])
def test_searches_with_and_without_boxes_agree(dimension, kind):
    """Of more blocks than brute force can look at: with boxes, by sizes, and without either."""
    for seed in range(3):
        rng = np.random.default_rng([seed, dimension])
        n = 22
        pairs = [(*rng.choice(n, 2, replace=False).tolist(), rng.random()) for _ in range(12)]
        more = {
            "soft": {"soft_must_link": pairs[:6], "soft_cannot_link": pairs[6:]},
            "least": {"min_size": 4},
            "listed": {"sizes": [3, 4, 6, 9]},
        }[kind]
        contraction = contract(Instance(rng.normal(size=(n, dimension)), 4, **more))
        prices = rng.uniform(0.5, 2.5, n) * (1.0 if kind == "soft" else 0.6)
        full = PricingProblem.of(contraction)
        plain = full.data._replace(boxes=False, by_size=False)
        bare = PricingProblem(full.order, plain, full.scatter, full.rounding, full.reach)
        met = []
        for problem in (full, bare):
            search = ClusterSearch(problem, SoughtClusters(prices, 5.0))
            search.run(10**7)
            assert search.is_finished
            met.append(search.upper)
        assert met[0] == pytest.approx(met[1], abs=1e-9)
        assert met[0] < 5.0


@given(SEEDS)
def test_the_master_programme_is_the_partitioning_one(seed):
    contraction = whole_contraction(seed)
    columns = all_columns(contraction)
    master = Master(columns, contraction.k, covers=False)
    solution = master.solve()
    if solution.phase is Phase.FEASIBILITY:
        assert least_cost(contraction) == np.inf
        return
    assert columns.members.T @ solution.x == pytest.approx(np.ones(contraction.n_blocks))
    assert solution.x.sum() == pytest.approx(contraction.k)
    reduced = columns.costs - columns.members @ solution.prices + solution.sigma
    assert reduced.min() >= -1e-6 * (1.0 + columns.costs.max())
    bound = lagrangian_bound(contraction, solution.prices, float(reduced.min() - solution.sigma))
    assert bound.value <= least_cost(contraction) * (1.0 + 1e-12)


@given(SEEDS)
def test_the_cheapest_partition_has_the_sizes_asked_for(seed):
    contraction = whole_contraction(seed)
    found = cheapest_partition(contraction, all_columns(contraction), np.inf)
    best = least_cost(contraction)
    assert found.is_finished
    if found.labels is None:
        assert best == np.inf
        return
    assert contraction.keeps(found.labels)
    assert contraction.cost(found.labels) == pytest.approx(best, rel=1e-9, abs=1e-9)
    assert found.bound.value <= best * (1.0 + 1e-12)
    assert found.bound.value >= best * (1.0 - 1e-6) - 1e-9


@given(SEEDS)
def test_bounds_hold_and_end_at_the_optimum(seed):
    contraction = whole_contraction(seed)
    best = least_cost(contraction)
    run = ColgenBounding().start(contraction, None)
    cutoff = best * (1.0 + 1e-6) + 1e-9 if np.isfinite(best) else 1e6
    for _ in range(1000):
        progress = run.advance(cutoff)
        assert (
            progress.bound.value <= best * (1.0 + 1e-12) + 1e-12 or progress.bound.value >= cutoff
        )
        if progress.stalled:
            break
    assert progress.stalled
    labels = run.clustering()
    assert labels is None or contraction.keeps(labels)


@given(SEEDS)
@example(537)  # clusters of two points, whose parts are columns, too
def test_semidefinite_dual_values_suit_soft_pairs_and_sizes(seed):
    """No cluster has a reduced cost below 0."""
    contraction = whole_contraction(seed)
    if contraction.n_blocks < 3:
        return
    run = SdpBounding().start(contraction, None)
    for _ in range(3):
        run.advance(np.inf)
    dual = master_dual(contraction, run.relaxation, run.dual_point())
    columns, values = values_of(contraction, dual.prices)
    if len(values):
        assert values.min() + dual.sigma >= -1e-6 * (1.0 + columns.costs.max())
