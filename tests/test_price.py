import threading
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.problem import Instance, Partition
from sdpbb.problem.formats import read_instance
from sdpbb.problem.statements import stated_constraints, without
from sdpbb.questions import price as price_module
from sdpbb.questions.price import Price, PriceProof, constraint_prices
from sdpbb.questions.study import Outcome, Study, bound_job
from sdpbb.run.parameters import DecompositionParameters, SolverParameters
from sdpbb.search.result import Result, SolutionStatus, Termination
from tests.any_instance import any_instance
from tests.enumeration import optimum
from tests.examples import examples

EXACT = SolverParameters(gap=0.0)


def two_groups(seed: int = 0) -> Instance:
    """Two groups of ten, and constraints of which the last two contradict them."""
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(20, 2))
    points[10:] += 12.0
    must_link = [(0, 3), (10, 14), (2, 6), (5, 15)]
    cannot_link = [(0, 12), (3, 12), (1, 17), (7, 8)]
    return Instance(points, 2, must_link, cannot_link)


@pytest.mark.long
@given(
    any_instance("equal points", "pairs", "constraints", "weights", "soft pairs", n=(3, 8)),
    st.sampled_from([0.0, 0.0, 0.01, 0.3, 0.9]),
)
@examples(60)
def test_prices_hold_the_differences_of_the_optima(instance, gap):
    """With a wide gap they are intervals, with none the differences themselves."""
    best = optimum(instance)
    report = constraint_prices(instance, parameters=SolverParameters(gap=gap))
    if best is None:
        assert report.prices == report.unpriced == ()
        assert str(report.result.conflict) in str(report)
        return
    rounding = 1e-9 * max(best, 1.0)
    labels = report.result.partition.labels
    for price in report.prices:
        statement = price.statement
        true = best - optimum(without(instance, statement))
        assert 0.0 <= price.lower <= price.upper
        assert price.lower - rounding <= true <= price.upper + rounding
        i, j = statement.rows
        together = labels[i] == labels[j]
        is_soft = statement.weight is not None
        assert price.violated == (is_soft and together == (statement.kind.value == "SCL"))
        if gap == 0.0:
            assert price.upper - price.lower <= rounding
            assert price.difference == pytest.approx(true, abs=rounding)
            if price.violated:
                assert true == pytest.approx(statement.weight, abs=rounding)
    if gap == 0.0:
        assert report.is_complete
        assert len(report.prices) == len(stated_constraints(instance))


def test_what_contradicts_the_data_is_dearest():
    report = constraint_prices(two_groups(), parameters=EXACT)
    assert {price.statement.text for price in report.prices[:2]} == {"ML 5 15", "CL 7 8"}
    assert all(price.upper == 0.0 for price in report.prices[2:])
    lowers = [price.lower for price in report.prices]
    assert lowers == sorted(lowers, reverse=True)
    assert lowers[1] > 1.0
    proofs = {price.statement.text: price.proof for price in report.prices}
    assert proofs["CL 0 12"] is proofs["CL 3 12"] is PriceProof.IMPLIED
    assert proofs["ML 10 14"] is PriceProof.IDLE
    assert proofs["ML 5 15"] is PriceProof.SOLVED


def test_where_runs_begin_with_subsets_no_price_rests_on_a_bound_of_all_blocks(monkeypatch):
    subsets = DecompositionParameters(least_blocks=2, smallest=5, per_cluster=1)
    parameters = replace(EXACT, decomposition=subsets)
    instance, known = two_groups(), {}
    for price in constraint_prices(instance, parameters=EXACT).prices:
        known[price.statement] = price

    def looked_at_once(*arguments):
        assert arguments[-1] == 0  # evaluations of the bound
        return bound_job(*arguments)

    monkeypatch.setattr(price_module, "bound_job", looked_at_once)
    for price in constraint_prices(instance, parameters=parameters).prices:
        before = known[price.statement]
        assert price.lower == pytest.approx(before.lower, abs=1e-9)
        assert price.upper == pytest.approx(before.upper, abs=1e-9)
        implied = before.proof is PriceProof.IMPLIED
        assert price.proof is (PriceProof.IMPLIED if implied else PriceProof.SOLVED)


def test_a_constraint_that_a_distance_implies_costs_nothing(tmp_path):
    (tmp_path / "points.txt").write_text("5 1\n0\n1\n5\n6\n20\n")
    (tmp_path / "c.txt").write_text("GAMMA 18\nCL 0 4\nCL 0 1\n")
    instance = read_instance(tmp_path / "points.txt", 3, tmp_path / "c.txt")
    proofs = {p.statement.text: p.proof for p in constraint_prices(instance).prices}
    assert proofs == {"CL 0 1": PriceProof.SOLVED, "CL 0 4": PriceProof.IMPLIED}
    redundant = sdpbb.check_constraints(instance).redundant
    assert [statement.text for statement in redundant] == ["CL 0 4"]


FOUR = Instance([[0.0], [1.0], [10.0], [11.0]], 2, [(0, 1)], [(0, 3)])


def stopped(labels, lower_bound: float, objective: float | None = None) -> Result:
    """What a run that a limit has ended knows of `FOUR`, or of less constraints."""
    partition = Partition(np.array(labels))
    cost = partition.sum_of_squares(FOUR.points) if objective is None else objective
    return replace(
        sdpbb.solve(FOUR),
        status=SolutionStatus.FEASIBLE,
        termination=Termination.NODE_LIMIT,
        partition=partition,
        objective=cost,
        lower_bound=lower_bound,
        gap=(cost - lower_bound) / cost,
    )


def test_better_clusterings_of_later_runs_are_used(monkeypatch):
    bad = stopped([0, 0, 0, 1], 0.0)
    monkeypatch.setattr(Study, "solve", lambda *arguments, **named: bad)
    report = constraint_prices(FOUR)
    assert report.result.objective == pytest.approx(1.0)
    assert report.result.lower_bound == pytest.approx(1.0, rel=1e-3)
    assert report.result.lower_bound <= report.result.objective
    assert not report.is_complete


def test_an_interval_rests_on_the_lower_bounds(monkeypatch):
    """Without the must-link between 80 and 110, without the cannot-link between 60 and 70."""
    known = stopped([0, 0, 1, 1], 90.0, 110.0)
    without_must_link = stopped([0, 0, 1, 1], 80.0, 110.0)
    without_cannot_link = stopped([0, 1, 1, 1], 60.0, 70.0)

    def solved(instance, *arguments, **named):
        return Outcome(without_cannot_link if len(instance.must_link) else without_must_link)

    monkeypatch.setattr(Study, "solve", lambda *arguments, **named: known)
    monkeypatch.setattr(price_module, "solve_job", solved)
    monkeypatch.setattr(price_module, "bound_job", lambda *arguments: Outcome())
    prices = {price.statement.text: price for price in constraint_prices(FOUR).prices}
    must_link, cannot_link = prices["ML 0 1"], prices["CL 0 3"]
    assert (must_link.lower, must_link.upper, must_link.difference) == (0.0, 30.0, 0.0)
    assert (cannot_link.lower, cannot_link.upper, cannot_link.difference) == (20.0, 50.0, 40.0)
    assert not must_link.proven
    assert not cannot_link.proven


def test_an_interrupted_solve_is_not_a_price():
    instance = two_groups()
    stop = threading.Event()

    def on_price(price: Price, left: int) -> None:
        if left == 2:  # the looks are over
            stop.set()

    report = constraint_prices(instance, on_price=on_price, interrupt=stop)
    assert {statement.text for statement in report.unpriced} == {"ML 5 15", "CL 7 8"}


def test_a_time_limit_for_each_leaves_valid_intervals():
    rng = np.random.default_rng(3)
    points = rng.normal(size=(60, 5))
    pairs = rng.permutation(60)[:8].reshape(-1, 2)
    instance = Instance(points, 6, pairs, None)
    report = constraint_prices(instance, time_limit_each=1e-6)
    assert not report.is_complete
    assert len(report.prices) == 4
    for price in report.prices:
        assert 0.0 <= price.lower <= price.upper
        assert price.lower_bound_without <= price.objective_without
        assert price.upper >= price.difference
    assert any(not price.proven for price in report.prices)
    assert "(not solved to the end)" in str(report)


def test_what_is_printed_holds():
    [statement] = stated_constraints(Instance(np.eye(3), 2, [(0, 1)]))
    price = Price(statement, 1.23456789, 1.23456781e6, 1.3, 2.0, 1.0, True, PriceProof.SOLVED, 0.1)
    assert str(price) == "must_link[0]  ML 0 1: costs at least 1.23456, at most 1.23457e+06"
    free = replace(price, lower=0.0, upper=0.0, proof=PriceProof.IDLE)
    assert str(free) == (
        "must_link[0]  ML 0 1: costs nothing, as no clustering that violates it is better"
    )
    same = replace(price, lower=2.0, upper=2.0)
    assert str(same) == "must_link[0]  ML 0 1: costs 2"


def two_groups_in_doubt() -> Instance:
    """Two groups of ten, and soft pairs: violated, kept at a price, and kept anyway."""
    points = two_groups().points
    soft = {"soft_must_link": [(5, 15, 1.0), (0, 3, 2.0)], "soft_cannot_link": [(7, 8, 1e3)]}
    return Instance(points, 2, None, None, **soft)


def test_a_violated_soft_constraint_costs_its_weight_and_no_other_costs_more():
    report = constraint_prices(two_groups_in_doubt(), parameters=EXACT)
    assert report.is_complete
    heavy, light, idle = report.prices
    assert [price.statement.text for price in report.prices] == [
        "SCL 7 8 1000",
        "SML 5 15 1",
        "SML 0 3 2",
    ]
    assert (heavy.proof, heavy.violated) == (PriceProof.SOLVED, False)
    assert 1.0 < heavy.lower <= heavy.upper < 1e3
    assert (light.proof, light.violated) == (PriceProof.VIOLATED, True)
    assert light.lower == pytest.approx(1.0, abs=1e-9)
    assert light.upper == 1.0
    assert light.objective_without == pytest.approx(report.result.objective - 1.0)
    assert (idle.proof, idle.upper, idle.violated) == (PriceProof.IDLE, 0.0, False)
    row = next(row for row in report.to_rows() if row["violated"])
    assert (row["kind"], row["weight"], row["proof"]) == ("soft_must_link", 1.0, "violated")
    assert "SML 5 15 1 (violated)" in str(report)
    assert str(light).startswith("soft_must_link[0]  SML 5 15 1: costs ")
