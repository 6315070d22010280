import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import colgen_measurements as script
import measured_generation as measured
import measurement_tables as tables
import rows
from colgen_instances import Case
from paper_pricing import paper_pricing

from sdpbb.bounds.colgen.bounding import known_columns
from sdpbb.bounds.colgen.pricing.branching_pricer import BranchingPricer

SMALL = Case("small-clusters", "planar-24", 4, "6", 0)
SETTINGS = script.Settings(60.0, 10**6, 60.0)
NAMED = {"instance": "iris", "k": "3", "constraints": "60", "draw": "0"}


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def priced(**values):
    common = {
        "problem": "last",
        "blocks": "90",
        "least": "-3.5",
        "nodes": "100",
        "paper_nodes": "4000",
        "finished": "True",
        "paper_finished": "True",
        "seconds": "0.5",
        "paper_seconds": "1.0",
        "same": "True",
    }
    return NAMED | common | values


def schemed(setting, **values):
    common = {
        "setting": setting,
        "solved": "True",
        "programmes": "10",
        "exact_calls": "2",
        "exact_nodes": "100",
        "columns": "300",
        "seconds": "4.0",
        "centre_seconds": "0.0",
    }
    return NAMED | common | values


def test_generation_solves_the_master_and_its_exact_calls_are_counted():
    root = measured.root_of(SMALL)
    run = measured.generated(root, "none", None, 60.0)
    assert run.solved
    assert run.generation.bound.value <= root.cost * (1 + 1e-9)
    # The last problem is that which shows the master programme to be solved.
    prices, target = run.pricer.asked[-1]
    ours = script.our_pricing(SETTINGS)(root.contraction, np.maximum(prices, 0.0), target)
    assert ours.finished
    assert ours.value == target
    assert run.pricer.n_nodes >= ours.n_nodes
    assert len(run.pricer.asked) <= run.pricer.n_slices < run.generation.n_steps


def test_a_search_at_other_prices_begins_anew():
    root = measured.root_of(SMALL)
    contraction = root.contraction
    prices, _ = measured.generated(root, "none", None, 60.0).pricer.asked[-1]
    slow = measured.MeasuringPricer(contraction, script.PricingParameters(nodes_per_slice=1))
    assert slow.exact(2.0 * prices, 0.0).least is None
    outcome = slow.exact(prices, 0.0)
    while outcome.least is None:
        outcome = slow.exact(prices, 0.0)
    plain = BranchingPricer(contraction, script.PricingParameters())
    assert outcome.least == plain.exact(prices, 0.0).least
    assert len(slow.asked) == 2


def test_a_known_clustering_is_one_of_the_blocks():
    root = measured.root_of(SMALL)
    contraction = root.contraction
    clusters = root.labels == np.arange(contraction.k)[:, None]
    costs = known_columns(contraction, root.labels).costs
    assert (clusters.sum(axis=1) > 0).all()
    assert float(costs.sum()) == pytest.approx(root.cost, rel=1e-9)


def test_the_schemes_reach_the_same_bound():
    found = list(script.stabilisation(SMALL, SETTINGS))
    assert [row["setting"] for row in found] == list(script.SCHEMES)
    assert all(row["solved"] for row in found)
    bounds = [row["bound"] for row in found]
    assert max(bounds) - min(bounds) <= 1e-6 * max(bounds)


def test_both_methods_price_the_same_least_value():
    found = list(script.pricing(SMALL, SETTINGS))
    assert found[-1]["problem"] == "last"
    assert all(row["same"] and row["finished"] and row["paper_finished"] for row in found)


def test_searches_stop_at_their_limits():
    root = measured.root_of(SMALL)
    prices, _ = measured.generated(root, "none", None, 60.0).pricer.asked[-1]
    prices = 2.0 * np.maximum(prices, 0.0)  # many clusters are below 0 then
    few = SETTINGS._replace(search_nodes=1)
    ours = script.our_pricing(few)(root.contraction, prices, 0.0)
    assert ours.n_nodes <= script.PricingParameters().nodes_per_slice
    problem = script.PricingProblem("last", root.contraction, prices, 0.0)
    assert script.paper_limit(problem, few) == 20_000
    theirs = paper_pricing(root.contraction, prices, 0.0, node_limit=50)
    assert (theirs.n_nodes, theirs.finished) == (50, False)


def test_enumeration_is_the_only_difference_that_is_measured():
    without, with_it = script.enumeration(SMALL, SETTINGS)
    assert (without["setting"], with_it["setting"]) == ("colgen, no enumeration", "colgen")
    assert without["status"] == with_it["status"] == "optimal"
    assert without["objective"] == pytest.approx(with_it["objective"], rel=2 * script.GAP)


def test_trees_are_those_of_their_own_benchmark():
    case = Case("trees", "normal-20-3", 4, "0", 7)
    instance = script.points_of(case)
    expected = np.random.default_rng(7).normal(size=(20, 3))
    assert (instance.k, instance.points.tolist()) == (4, expected.tolist())


def test_grids_are_solved_by_every_engine():
    found = list(script.enumeration(Case("grids", "grid-2-3", 3, "0", 0), SETTINGS))
    assert [row["setting"] for row in found][1:] == ["colgen", "sdp", "hybrid"]
    # Three pairs of neighbours, each half a unit of squares.
    assert [row["objective"] for row in found] == pytest.approx([1.5] * 4)
    lines = tables.enumeration_table([NAMED | row for row in found])
    assert [cells(line)[1] for line in lines[2:4]] == [
        "colgen, no enumeration : colgen",
        "sdp : hybrid",
    ]


def test_instances_that_are_there_are_not_measured_again(tmp_path, monkeypatch, capsys):
    calls = []

    def once(case, settings):
        calls.append(case)
        values = priced(same=True, finished=True, paper_finished=True)
        yield {field: values[field] for field in script.FIELDS["pricing"][4:]}

    monkeypatch.setitem(script.MEASURED, "pricing", once)
    out = tmp_path / "rows.csv"
    arguments = ["pricing", "--names", "soybean", "--out", str(out)]
    assert script.main([*arguments, "--table-only"]) == 0
    assert calls == []
    assert script.main(arguments) == 0
    assert [case.constraints for case in calls] == ["10", "40"]
    assert script.main(arguments) == 0
    assert len(calls) == len(rows.read(out)) == 2
    assert "soybean, k=4, 40" in capsys.readouterr().out


def test_ratios_of_searches_at_their_limit_are_bounds():
    lines = tables.pricing_table(
        [
            priced(),
            priced(problem="middle", paper_nodes="250", paper_finished="False"),
            priced(instance="wine", nodes="10", finished="False", paper_nodes="5"),
            priced(finished="False", paper_finished="False", same="False"),
        ]
    )
    assert [cells(line)[5] for line in lines[2:6]] == ["40", ">2.5", "<0.5", "-"]
    assert cells(lines[3])[4] == ">250"
    assert [cells(line)[-1] for line in lines[2:6]] == ["yes", "yes", "yes", "NO"]
    # (40 * 2.5)^(1/2)
    assert (
        "at least 10 (2 problems of 4); 10 or more: 1; less than 1: 0. Of the seconds: at least 2."
        in lines[-1]
    )
    both = tables.pricing_table([priced(finished="False", paper_finished="False")])
    assert len(both) == 3


def test_schemes_are_compared_where_both_are_solved():
    other = {"k": "5"}
    lines = tables.stabilisation_table(
        [
            schemed("none"),
            schemed("box", programmes="5", seconds="0.8", centre_seconds="0.2"),
            schemed("none", **other),
            schemed("box", solved="False", programmes="1", **other),
        ]
    )
    assert cells(lines[4])[1:] == ["10 / 2 / 100 / 300 / 4.00", "5 / 2 / 100 / 300 / 1.00"]
    assert cells(lines[5])[2].startswith(">1 /")
    box = cells(lines[-1])
    assert box == ["box", "1/2", "1", "0.50", "1.00", "1.00", "1.00", "0.25"]


def test_only_trees_that_both_solve_count_in_the_means():
    def solved(setting, **values):
        common = {"status": "optimal", "gap": "1e-5", "nodes": "1", "seconds": "1.0"}
        return NAMED | {"setting": setting} | common | values

    unsolved = {"status": "feasible", "gap": "0.25", "nodes": "0"}
    lines = tables.enumeration_table(
        [
            solved("sdp", nodes="8", seconds="6.0"),
            solved("hybrid", nodes="2", seconds="3.0"),
            solved("sdp", k="5", nodes="9"),
            solved("hybrid", k="5", **unsolved),
            solved("sdp", k="7", seconds="9.0"),
            solved("hybrid", k="7"),
        ]
    )
    assert cells(lines[2])[2:] == ["8", "6.00", "2", "3.00", "4.00", "2.00"]
    assert cells(lines[3])[4:] == [">0", ">1.00 (2.5e-01)", "-", "-"]
    assert cells(lines[4])[6:] == ["1.00", "9.00"]
    assert lines[-1] == "- sdp : hybrid: 4.00 of nodes, 2.00 of seconds (1 instances)"
    assert tables.enumeration_table([solved("sdp"), solved("hybrid")])[-1] == "- none"


def test_rows_keep_their_line_ends_and_refuse_other_fields(tmp_path):
    path = tmp_path / "rows.csv"
    assert rows.read(path) == []
    for end, value in (("\n", 1), ("\r\n", 2)):
        rows.append(path, ("a", "b"), {"a": value}, end)
    assert path.read_bytes() == b"a,b\n1,\n2,\r\n"
    assert rows.read(path) == [{"a": "1", "b": ""}, {"a": "2", "b": ""}]
    with pytest.raises(ValueError, match="c"):
        rows.append(path, ("a", "b"), {"c": 3})
