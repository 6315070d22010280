"""Contract of rules on clusters: under any mixture of them, all agree with enumeration."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem import Infeasibility, Instance, contract
from sdpbb.problem.feasibility import find_feasible
from tests.any_instance import drawn_instance, drawn_pairs
from tests.enumeration import Truth, canonical, clusterings
from tests.examples import examples

PARTS = ("equal points", "pairs", "constraints", "own constraints", "weights", "sizes")


def drawn(random: Random) -> Instance:
    return drawn_instance(random, *PARTS, "weight limits", "soft pairs", k=(1, 5))


RANDOMS = st.randoms(use_true_random=False)


@examples(150)
@given(RANDOMS)
def test_the_blocks_of_a_node_have_all_clusterings_and_no_others(random):
    instance = drawn(random)
    more = [drawn_pairs(random, instance.n_points, random.choice([0, 2])) for _ in range(2)]
    decided = replace(
        instance,
        must_link=[*instance.must_link, *more[0]],
        cannot_link=[*instance.cannot_link, *more[1]],
    )
    truth = Truth(decided)
    wanted = {tuple(row) for row in truth.labels.tolist()}
    found = contract(instance, *more)
    if isinstance(found, Infeasibility):
        assert not wanted
        return
    kept = set()
    for labels in clusterings(found.n_blocks, found.k):
        clusters = (np.flatnonzero(labels == c) for c in range(found.k))
        are_allowed = all(found.allows(blocks) for blocks in clusters)
        assert found.keeps(labels) == (are_allowed and found.keeps_sizes(labels))
        if found.keeps(labels):
            lifted = found.lift(labels)
            kept.add(tuple(canonical(lifted).tolist()))
            cost = truth.cost_of(lifted)
            assert found.cost(labels) == pytest.approx(cost, rel=1e-9, abs=1e-9 * found.total)
    assert kept == wanted
    labels = find_feasible(found)
    if isinstance(labels, Infeasibility):
        assert not wanted
    else:
        i, j = found.cannot_link.T
        assert (labels[i] != labels[j]).all()
        assert found.keeps_sizes(labels)


@pytest.mark.long
@examples(15)
@given(RANDOMS, st.sampled_from(["colgen", "hybrid"]))
def test_the_optimum_is_that_of_enumeration(random, bounding):
    instance = drawn(random)
    truth = Truth(instance)
    result = sdpbb.solve(instance, sdpbb.SolverParameters(bounding=bounding))
    if not truth.is_feasible:
        assert result.status is sdpbb.SolutionStatus.INFEASIBLE
        return
    assert result.status is sdpbb.SolutionStatus.OPTIMAL
    assert truth.has(result.labels)
    assert result.objective == pytest.approx(truth.optimum, rel=2e-5, abs=1e-9)
