from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.lagrangian.duals import (
    is_proof_of_infeasibility,
    lagrangian_bound,
    scatter_bound,
    whole_prices,
)
from sdpbb.problem import Contraction, Instance, contract
from tests.bounds.lagrangian.brute_force import all_columns, optimum, random_contraction

FLOATS = st.floats(-1e9, 1e9)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-3, 1.0, 1e3]))
def test_any_prices_give_a_lower_bound(seed, spread):
    contraction = random_contraction(seed)
    prices = np.random.default_rng(seed).normal(size=contraction.n_blocks) * spread
    columns = all_columns(contraction)
    least = float((columns.costs - columns.members @ prices).min())
    bound = lagrangian_bound(contraction, prices, least - 1e-12 * (1.0 + spread))
    assert bound.value <= optimum(contraction)


@given(st.lists(FLOATS, min_size=4, max_size=4), FLOATS, st.integers(1, 4))
def test_the_bound_is_below_the_exact_sum_and_close_to_it(prices, least, k):
    contraction = contract(Instance(np.arange(4.0)[:, None], k))
    assert isinstance(contraction, Contraction)
    exact = sum(map(Fraction, prices)) + k * Fraction(least)
    bound = Fraction(lagrangian_bound(contraction, np.array(prices), least).value)
    size = abs(sum(map(Fraction, prices))) + abs(k * Fraction(least))
    assert exact - Fraction(1, 10**15) * size <= bound <= exact


def test_prices_that_cancel_are_summed_exactly():
    contraction = contract(Instance(np.arange(3.0)[:, None], 1))
    assert isinstance(contraction, Contraction)
    prices = np.array([1e17, 1.0, -1e17])
    assert 0.9 < lagrangian_bound(contraction, prices, 0.0).value <= 1.0


@pytest.mark.parametrize(("price", "least"), [(np.inf, 0.0), (np.nan, 0.0), (1.0, np.inf)])
def test_nothing_infinite_proves_anything(price, least):
    contraction = contract(Instance(np.arange(2.0)[:, None], 1))
    assert isinstance(contraction, Contraction)
    with pytest.raises(ValueError, match="finite"):
        lagrangian_bound(contraction, np.array([1.0, price]), least)


@given(st.integers(0, 10**6), st.sampled_from([1e-9, 1.0, 1e9]), st.sampled_from([0.0, 1e6]))
def test_the_scatter_inside_blocks_is_a_bound(seed, factor, offset):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(9, 2)) * factor + offset
    contraction = contract(Instance(points, 2, must_link=[(0, 1), (2, 3), (3, 4), (5, 8)]))
    assert isinstance(contraction, Contraction)
    exact = Fraction(0)
    for block in range(contraction.n_blocks):
        inside = contraction.block_of == block
        # The coordinates of the problem are those rounded when they were centred.
        rows = Instance(points, 2).centred[inside]
        for column in rows.T:
            values = [Fraction(float(x)) for x in column]
            mean = sum(values) / len(values)
            exact += sum((x - mean) ** 2 for x in values)
    bound = Fraction(scatter_bound(contraction).value)
    assert bound <= exact
    assert exact - bound <= Fraction(1, 10**13) * exact + Fraction(1e-30) * Fraction(offset) ** 2


@given(st.lists(st.floats(0.0, 1e12), min_size=1, max_size=50))
def test_whole_prices_keep_the_ratios_from_below(prices):
    rounded = whole_prices(np.array(prices))
    assert (rounded >= 0).all()
    assert (rounded == np.rint(rounded)).all()
    if max(prices) > 0.0:
        unit = Fraction(max(prices)) / 2**40
        for price, whole in zip(prices, rounded.tolist(), strict=True):
            # One unit from rounding down, and the rounding of the ratio itself.
            assert abs(Fraction(price) - Fraction(whole) * unit) <= unit * Fraction(1001, 1000)


@given(st.integers(0, 10**6))
def test_a_proof_of_infeasibility_is_one(seed):
    contraction = random_contraction(seed)
    prices = np.random.default_rng(seed).integers(0, 5, contraction.n_blocks).astype(float)
    least = -float((all_columns(contraction).members @ prices).max())
    if is_proof_of_infeasibility(prices, least, contraction.k):
        assert np.isinf(optimum(contraction))


def test_an_odd_cycle_of_cannot_links_is_proven_to_need_three_clusters():
    cycle = np.ones(5)
    assert is_proof_of_infeasibility(cycle, least=-2.0, k=2)
    assert not is_proof_of_infeasibility(cycle, least=-2.0, k=3)
    # As floats, both sums would be 2^54.
    large = np.array([2.0**54, 2.0, -1.0])
    assert is_proof_of_infeasibility(large, least=-(2.0**53), k=2)


def test_whole_prices_of_many_blocks_add_up_exactly_as_floats():
    rounded = whole_prices(np.ones(10_000))
    assert rounded.min() > 2**38
    assert float(rounded.sum()) == sum(map(int, rounded.tolist())) < 2**53
    assert whole_prices(np.zeros(3)).tolist() == [0, 0, 0]
