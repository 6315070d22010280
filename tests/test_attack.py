"""What looks for wrong answers finds them, and what is right is left alone."""

import re
import sys
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import sdpbb
from sdpbb import SolutionStatus, Termination
from sdpbb.checkpoint import read_checkpoint
from sdpbb.errors import ArchiveError
from tests.enumeration import optimum, random_instance

sys.path.insert(0, str(Path(__file__).parents[1] / "scripts"))

import attack
from attacks import PARTS, mutations, random_parameters, reduction
from attacks.exact import Exact, best_cost
from attacks.exhaustive import best_clustering, cost_of
from attacks.judging import judge
from attacks.outcome import Found, Kind
from attacks.parts import kills, limits, modules
from attacks.runner import Plan
from attacks.runner import attack as attack_with
from attacks.shapes import Case, random_case

CASE = Case(
    np.array([[0.0], [1.0], [5.0], [6.5]]), 2, np.empty((0, 2), np.intp), np.array([[0, 1]])
)


def case_of(instance):
    return Case(instance.points, instance.k, instance.must_link, instance.cannot_link)


def test_enumerations_agree():
    rng = np.random.default_rng(0)
    n_infeasible = 0
    for _ in range(60):
        instance = random_instance(rng, n_max=7)
        case, expected = case_of(instance), optimum(instance)
        found = best_clustering(case.points, case.k, case.must_link, case.cannot_link)
        exact = Exact.of(case.points)
        rational = best_cost(exact, case.k, case.must_link, case.cannot_link)
        if expected is None:
            assert (found, rational) == (None, None)
            n_infeasible += 1
            continue
        assert found[0] == pytest.approx(expected, rel=1e-12, abs=1e-14)
        assert float(rational) == pytest.approx(expected, rel=1e-12, abs=1e-14)
        assert cost_of(case.points, found[1]) == pytest.approx(found[0], rel=1e-13)
        assert float(exact.cost_of(found[1])) == pytest.approx(found[0], rel=1e-13)
    assert n_infeasible > 5


def test_costs_far_from_the_origin():
    points = 1e6 + np.array([[0.0], [2.0**-20], [1.0]])
    labels = np.array([0, 0, 1])
    assert cost_of(points, labels) == 2.0**-41
    assert Exact.of(points).cost_of(labels) == Fraction(1, 2**41)


def test_a_right_result_is_left_alone_and_wrong_ones_are_found():
    result = sdpbb.solve(CASE.instance())
    least = best_clustering(CASE.points, CASE.k, CASE.must_link, CASE.cannot_link)[0]
    assert judge(CASE, result, least) is Kind.OPTIMAL
    unknown = replace(
        result,
        status=SolutionStatus.UNKNOWN,
        termination=Termination.TIME_LIMIT,
        partition=None,
        objective=None,
        gap=None,
    )
    assert judge(CASE, replace(unknown, lower_bound=0.0), least) is Kind.UNKNOWN
    worse = sdpbb.Partition([0, 1, 0, 0])
    wrong = {
        "a lower bound above": replace(unknown, lower_bound=least * (1 + 1e-11)),
        "not that of the labels": replace(result, objective=least * (1 + 1e-6)),
        "not optimal": replace(
            result, partition=worse, objective=worse.sum_of_squares(CASE.points)
        ),
        "violate a link": replace(result, partition=sdpbb.Partition([0, 0, 1, 1])),
        "in k clusters": replace(result, partition=sdpbb.Partition([0, 1, 2, 2])),
    }
    for says, bad in wrong.items():
        with pytest.raises(Found, match=says):
            judge(CASE, bad, least)
    with pytest.raises(Found, match="that has none"):
        judge(CASE, result, None)
    odd = sdpbb.Instance(CASE.points, 2, cannot_link=[(0, 1), (1, 2), (0, 2)])
    with pytest.raises(Found, match="infeasible, but"):
        judge(CASE, sdpbb.solve(odd), least)


def test_bounds_that_contradict_each_other_are_found():
    result = sdpbb.solve(CASE.instance())
    lower = replace(result, lower_bound=result.objective / 2, objective=result.objective)
    assert modules.agreed(CASE, {"a": result, "b": lower}) is Kind.OPTIMAL
    cheap = replace(lower, objective=result.objective * 0.9)
    with pytest.raises(Found, match="the bound of a is above a clustering of b"):
        modules.agreed(CASE, {"a": result, "b": cheap})


def test_cases_become_small():
    rng = np.random.default_rng(3)
    case = replace(random_case(rng, 10, 10), k=4, cannot_link=np.array([[0, 9], [3, 4], [5, 7]]))
    marked = case.points[7]

    def shows(other):
        at = np.flatnonzero((other.points == marked[: other.points.shape[1]]).all(axis=1))
        return len(at) and any(at[0] in pair for pair in other.cannot_link)

    small = reduction.smallest_case(case, shows)
    assert (small.n, len(small.cannot_link), len(small.must_link)) == (2, 1, 0)
    code = small.code("sdpbb.SolverParameters()", "again = result")
    names: dict = {}
    exec(code, names)
    assert names["again"].status is SolutionStatus.OPTIMAL


def test_files_become_small():
    content = bytes(range(97, 123)) * 20 + b"nan" + b"x" * 1000
    assert reduction.smallest_bytes(content, lambda other: b"nan" in other, 5.0) == b"nan"
    assert reduction.shown(b"ab" + b"[" * 30 + b"\n") == r"b'ab' + b'[' * 30 + b'\n'"
    assert reduction.shown(b"") == "b''"


def test_mutations_are_repeatable_and_change_something():
    content = b"3 2 1\n1 2\n3 4\n5 6\n"
    made = [mutations.mutate(np.random.default_rng(s), content, [b"ML 0 1\n"]) for s in range(200)]
    again = [mutations.mutate(np.random.default_rng(s), content, [b"ML 0 1\n"]) for s in range(200)]
    assert made == again
    assert len(set(made)) > 150
    assert max(map(len, made)) <= mutations.LONGEST


def test_changed_archives_have_right_checksums(tmp_path):
    sdpbb.solve(CASE.instance(), checkpoint=tmp_path / "state")
    content = (tmp_path / "state").read_bytes()
    n_read = n_refused = 0
    for seed in range(60):
        (tmp_path / "bad").write_bytes(mutations.reseal(np.random.default_rng(seed), content))
        try:
            read_checkpoint(tmp_path / "bad")
            n_read += 1
        except ArchiveError as error:
            n_refused += "is damaged; expected the file as it was written" not in str(error)
    assert n_read > 2
    assert n_refused > 20


def test_random_parameters_are_written_as_code():
    from sdpbb.bounds.sdp.parameters import Patience, SdpParameters  # noqa: F401
    from sdpbb.parameters import SolverParameters

    rng = np.random.default_rng(0)
    changed = random_parameters.random_valid(rng, SolverParameters(), 0.5)
    assert changed != SolverParameters()
    paths = random_parameters.number_paths(SolverParameters())
    assert ("sdp", "root", "iterations") in paths
    odd = random_parameters.replaced(SolverParameters(), ("sdp", "root", "iterations"), 7)
    code = random_parameters.code_of(odd)
    assert code == "SolverParameters(sdp=SdpParameters(root=Patience(iterations=7, progress=0.2)))"
    assert eval(code) == odd


def test_rows_that_have_gone_are_found(tmp_path):
    path = tmp_path / "rows"
    assert kills._rows(path, set(), []) == set()
    path.write_text('{"name": "a"}\n{"name": "b"}\n{"na')
    assert kills._rows(path, {"a"}, []) == {"a", "b"}
    with pytest.raises(Found, match="have gone"):
        kills._rows(path, {"c"}, [])
    path.write_text('{"name": "a"}\n{"na\n')
    with pytest.raises(Found, match="damaged"):
        kills._rows(path, {"a"}, [])


def test_checkpoints_that_cannot_be_read_are_found(tmp_path):
    path = tmp_path / "state"
    kills._check_readable(path, True, [])
    with pytest.raises(Found, match="has gone"):
        kills._check_readable(path, False, [])
    path.write_bytes(b"sdpbb-archive 1\n")
    with pytest.raises(Found, match="cannot be read"):
        kills._check_readable(path, False, [])


def test_limits_that_are_not_kept_are_found():
    result = sdpbb.solve(CASE.instance())
    labels = result.partition.labels
    limits._check_bounds(CASE, result, labels, "")
    above = replace(result, lower_bound=result.objective * 1.001)
    with pytest.raises(Found, match="above a clustering"):
        limits._check_bounds(CASE, above, labels, "")


@pytest.mark.parametrize("seed", [0, 1])
def test_outputs_on_a_full_disk(seed, tmp_path):
    """Of a few bytes, where nothing fits; and of enough."""
    rng = np.random.default_rng(seed)
    assert (
        limits._full_disk(rng, tmp_path, size=(10, 10**7)[seed])
        is ((Kind.REFUSED, Kind.ACCEPTED)[seed])
    )


MISBEHAVING = """
import os, time
from attacks.outcome import Found, Kind, Outcome

PATIENCE = 0.3


def prepare(folder):
    pass


def case(rng, folder):
    what = int(rng.integers(4))
    if what == 0:
        os._exit(7)
    if what == 1:
        time.sleep(60)
    if what == 2:
        raise Found("is wrong", f"text {rng.integers(100)}")
    return Outcome(Kind.ACCEPTED)
"""


def test_cases_may_hang_and_die(tmp_path, monkeypatch, capsys):
    (tmp_path / "misbehaving_parts").mkdir()
    (tmp_path / "misbehaving_parts" / "any.py").write_text(MISBEHAVING)
    monkeypatch.syspath_prepend(tmp_path)
    plan = Plan("any", seed=2, count=12, seconds=60.0, processes=2, package="misbehaving_parts")
    tally = attack_with(plan, sys.stderr)
    assert tally.tried == 12
    assert set(tally.found) == {"the process ended with status 7", "no answer in 0.3 s", "is wrong"}
    assert tally.counts["accepted"] == 12 - sum(found.times for found in tally.found.values()) > 0
    again = attack_with(replace(plan, first=tally.found["is wrong"].number, count=1), sys.stderr)
    assert again.found["is wrong"].text == tally.found["is wrong"].text
    attack.print_results([tally])
    assert re.search(r"FOUND any: is wrong\n  \d+ times, as in case", capsys.readouterr().out)


SLOW_PARTS = (("numerics", 6), ("parameters", 15), ("modules", 1))


@pytest.mark.parametrize(
    ("part", "count"),
    [
        ("enumeration", 20),
        ("readers", 40),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in SLOW_PARTS),
    ],
)
def test_a_few_cases_of(part, count, tmp_path):
    path = tmp_path / "rows.csv"
    assert attack.main([part, "--count", str(count), "--seed", "5", "--csv", str(path)]) == 0
    assert path.read_text().splitlines()[1].startswith(f"{part},5,")


def test_a_part_that_there_is_not(capsys):
    with pytest.raises(SystemExit):
        attack.main(["rumours"])
    assert f"expected one of {', '.join(PARTS)}" in capsys.readouterr().err
