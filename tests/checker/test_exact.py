"""Exact mode: bounds in balls are true, and are no less than those of rounded numbers."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker.command import UNREADABLE, VERIFIED, main
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.evidence import Scatter
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.judge import Judge
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.prices import Lagrangian
from tests.checker.duals import random_evidence, zero_evidence
from tests.checker.exact import Costs, Problem, random_problem
from tests.checker.make_vectors import arguments
from tests.checker.test_vectors import FOLDER, ROWS

pytest.importorskip("flint", reason="python-flint is not installed")

from sdpbb.checker.kernel.exact import ExactJudge

seeds = st.integers(0, 10**6)
scales = st.sampled_from([1e-90, 1e-6, 1.0, 1e6, 1e90])
offsets = st.sampled_from([0.0, 0.0, 1e3])  # in units of the scale


def blocks_of(problem: Problem) -> Blocks:
    return Blocks(problem.k, problem.block_of, problem.adjacency)


@given(seeds, scales, offsets, st.sampled_from([0.0, 1e-3, 0.05, 1.0, 1e6]))
def test_no_dual_values_prove_more_than_the_optimum(seed, scale, offset, spread):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale, offset * scale)
    blocks, geometry = blocks_of(problem), Geometry.of(problem.points)
    evidence = random_evidence(rng, problem, spread, scale)
    exact, rounded = ExactJudge(geometry), Judge(geometry)
    bound = exact.bound(evidence, blocks)
    assert Fraction(bound) <= problem.optimum
    assert bound >= rounded.bound(evidence, blocks) * (1.0 - 1e-9)


@given(seeds, scales, offsets)
def test_scatter_and_costs_are_those_of_rational_arithmetic(seed, scale, offset):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale, offset * scale)
    judge, costs = ExactJudge(Geometry.of(problem.points)), Costs(problem.points)
    inside = costs.of(problem.block_of)
    scatter = judge.bound(Scatter(), blocks_of(problem))
    assert Fraction(scatter) <= inside
    assert scatter == pytest.approx(float(inside), rel=1e-12, abs=1e-210)
    labels = problem.labels[rng.integers(len(problem.labels))]
    cost, truth = judge.cost_at_most(labels.astype(np.int64)), costs.of(labels)
    assert Fraction(cost) >= truth
    assert cost == pytest.approx(float(truth), rel=1e-15)
    assert (cost == 0.0) == (truth == 0)


@given(seeds, st.sampled_from([1e-6, 1.0, 1e6]), st.floats(0.5, 2.0))
def test_pairs_are_apart_in_all_cheaper_clusterings(seed, scale, share):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng, scale, n_min=3)
    below = share * float(problem.optimum)
    blocks, judge = blocks_of(problem), ExactJudge(Geometry.of(problem.points))
    evidence = random_evidence(rng, problem, 0.3, scale)
    cheaper = [
        labels
        for labels, cost in zip(problem.labels, problem.costs, strict=True)
        if cost < Fraction(below)
    ]
    first = np.unique(problem.block_of, return_index=True)[1]
    for apart in (judge.far(blocks, below), judge.excluded(evidence, blocks, below)):
        for labels in cheaper:
            own = labels[first]
            assert not (apart & (own[:, None] == own) & ~np.eye(len(own), dtype=bool)).any()


def test_far_pairs_are_those_of_rounded_numbers():
    rng, count = np.random.default_rng(0), 0
    for _ in range(40):
        problem = random_problem(rng, n_min=4)
        below = 2.0 * float(problem.optimum) + 0.1
        geometry, blocks = Geometry.of(problem.points), blocks_of(problem)
        exact = ExactJudge(geometry).far(blocks, below)
        assert (exact >= Judge(geometry).far(blocks, below)).all()
        count += exact.sum()
    assert count > 0


def test_wide_balls_prove_less_and_nothing_false(monkeypatch):
    rng = np.random.default_rng(1)
    problem = random_problem(rng, k=1, n_min=6)
    geometry, blocks = Geometry.of(problem.points), blocks_of(problem)
    bounds = []
    for bits in (54, 256):
        monkeypatch.setattr("sdpbb.checker.kernel.exact._BITS", bits)
        bounds.append(ExactJudge(geometry).bound(zero_evidence(blocks.m), blocks))
        assert Fraction(bounds[-1]) <= problem.optimum
    assert 0.0 < bounds[0] < bounds[1]


def test_prices_are_not_for_it():
    judge = ExactJudge(Geometry.of(np.arange(3.0)[:, None]))
    blocks = Blocks(2, np.arange(3), np.zeros((3, 3), bool))
    with pytest.raises(Rejected, match="'prices', which exact mode has not"):
        judge.bound(Lagrangian(np.zeros(3), 0.0), blocks)
    with pytest.raises(Rejected, match="prices, which exact mode has not"):
        judge.proves_infeasible(Lagrangian(np.zeros(3), 0.0), blocks)


def test_vectors_are_accepted_and_rejected_as_without_it(capsys):
    """Those that prices prove are refused by their kind."""
    counts = {"accept": 0, "reject": 0, "prices": 0}
    for row in ROWS[::3] + [row for row in ROWS if row["outcome"] == "accept"]:
        command = arguments(FOLDER, row["instance"], FOLDER / row["file"])
        status = main([*command, "--exact"])
        told = json.loads(capsys.readouterr().out)
        if row["outcome"] == "accept" and status == VERIFIED:
            assert told["status"] == row["says"]
            counts["accept"] += 1
        elif row["outcome"] == "accept":
            assert "exact mode has not" in told["reason"]
            counts["prices"] += 1
        else:
            assert status != VERIFIED, row
            counts["reject"] += 1
    assert min(counts.values()) > 5


def test_without_python_flint_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "flint", None)
    row = ROWS[0]
    command = arguments(FOLDER, row["instance"], FOLDER / row["file"])
    assert main([*command, "--exact"]) == UNREADABLE
    assert "pip install python-flint" in capsys.readouterr().err
