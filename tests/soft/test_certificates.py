"""Certificates of instances with soft pairs, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest

import sdpbb
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.evidence import semidefinite_evidence
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.checker.command import main
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.cuts import Cuts
from sdpbb.checker.kernel.cuts.inequalities import NodeFacts
from sdpbb.checker.kernel.cuts.lifted import SoftTerms
from sdpbb.checker.kernel.dual import Semidefinite
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.soft import CheckedSoftPairs, PricedPairs, SoftPrices
from sdpbb.checker.reading import read_constraints
from sdpbb.errors import CertificateError
from sdpbb.problem import Instance, Partition
from sdpbb.problem.checker_rules import checked_soft_pairs
from sdpbb.problem.contraction import contract
from tests.checker.block_rules import of_blocks
from tests.checker.drawn_cuts import joined
from tests.checker.parts import Parts
from tests.soft.instances import least_cost, random_soft_instance

POINTS = np.array([[0.0], [0.1], [10.0], [10.1]])
SOFT = Instance(
    POINTS, 2, soft_must_link=[(0, 2, 1.0), (0, 1, 2.0)], soft_cannot_link=[(2, 3, 0.5)]
)


def random_terms(rng: np.random.Generator, m: int) -> np.ndarray:
    rows = rng.integers(m, size=(int(rng.integers(1, 30)), 3))
    rows = rows[rows[:, 0] != rows[:, 1]]
    return np.repeat(rows, rng.integers(1, 3, len(rows)), axis=0).astype(np.int32)


def mutations(rng: np.random.Generator, evidence: Semidefinite, m: int, k: int):
    """The evidence, and others with larger multipliers, other terms, and terms several times."""
    yield evidence
    t = evidence.multipliers.astype(float)
    yield replace(evidence, multipliers=t * rng.choice([0.5, 2.0, 1e6], len(t)))
    others = [group for group in evidence.cuts.groups if not isinstance(group, SoftTerms)]
    own = {group.link: rows for group, rows in _soft_rows(evidence.cuts, k)}
    kept = sum(group.n_blocks(k) for group in others)
    assert [type(group) for group in evidence.cuts.groups[len(others) :]] == [SoftTerms] * len(own)
    more = [replace(evidence.cuts, groups=tuple(others), blocks=evidence.cuts.blocks[:kept])]
    for link, times in (("cannot", 2), ("must", 3)):
        rows = own.get(link, np.empty((0, 3), np.int32))
        if m > 1:
            rows = np.concatenate([rows, random_terms(rng, m)])
        rows = np.concatenate([rows] * times)
        if len(rows):
            more.append(Cuts((SoftTerms(len(rows), link),), rows.reshape(-1)))
    cuts = joined(*more)
    for scale in (1e-3, 1.0, 1e9):
        yield replace(evidence, cuts=cuts, multipliers=scale * rng.random(len(cuts)))
    yield replace(evidence, N=evidence.N * rng.uniform(0.0, 2.0, len(evidence.N)))


def _soft_rows(cuts: Cuts, k: int):
    """The rows of each group of terms."""
    at = 0
    for group in cuts.groups:
        blocks = cuts.blocks[at : at + group.n_blocks(k)]
        at += len(blocks)
        if isinstance(group, SoftTerms):
            yield group, blocks.reshape(-1, 3)


def test_terms_in_two_groups_do_not_pay_twice():
    """Each group knows of its own terms alone: they would share the price of a pair twice."""
    prices = SoftPrices(np.ones((3, 3)) - np.eye(3), np.zeros((3, 3)))
    node = NodeFacts(2, np.ones(3), np.zeros((3, 3), bool), None, prices)
    one = Cuts((SoftTerms(1, "cannot"),), np.array([0, 1, 2], np.int32))
    two = Cuts((SoftTerms(2, "cannot"),), np.array([0, 1, 2] * 2, np.int32))
    matrices = [cuts.sums(np.full(len(cuts), 9.0), node).matrix for cuts in (one, two)]
    assert matrices[0] == pytest.approx(matrices[1])
    with pytest.raises(Rejected, match="two groups of soft pairs"):
        joined(one, one).sums(np.full(2, 9.0), node)


@pytest.mark.parametrize("batch", range(6))
def test_no_dual_values_prove_more_than_the_optimum(batch):
    n_used = n_tight = 0
    for number in range(20):
        rng = np.random.default_rng([184, batch, number])
        instance = random_soft_instance(rng, n_max=7)
        best, contraction = least_cost(instance), contract(instance)
        if best is None or contraction.n_blocks == contraction.k or best == 0.0:
            continue
        n_used += 1
        run = SdpBounding().start(contraction, None)
        for _ in range(60):
            run.advance(np.inf)
        relaxation = Relaxation.of(contraction)
        found = semidefinite_evidence(relaxation, run.dual_point(), np.float64)
        soft = checked_soft_pairs(instance)
        geometry = Geometry.of(instance.points, instance.weights, soft)
        k, adjacency = instance.k, contraction.adjacency
        blocks = Blocks(k, contraction.block_of, adjacency)
        contracted = geometry.contracted(blocks.block_of, blocks.component_of)
        for place, evidence in enumerate(mutations(rng, found, contracted.m, k)):
            bound = evidence.bound(contracted, of_blocks(k, adjacency))
            assert bound <= best * (1.0 + 1e-12)
            n_tight += place == 0 and bound >= 0.9 * best
    assert n_used >= 3
    assert n_tight >= 0.6 * n_used


@pytest.fixture
def certificate(tmp_path):
    path = tmp_path / "soft.cert"
    assert sdpbb.solve(SOFT, certificate=str(path)).status is sdpbb.SolutionStatus.OPTIMAL
    return path


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"soft_must_link": [(0, 2, 0.9), (0, 1, 2.0)]}, "other soft must-links"),
        ({"soft_must_link": [(0, 3, 1.0), (0, 1, 2.0)]}, "other soft must-links"),
        ({"soft_must_link": [(0, 2, 1.0)]}, "other soft must-links"),
        ({"soft_must_link": None}, "other soft must-links"),
        ({"soft_cannot_link": None}, "other soft cannot-links"),
        ({"soft_cannot_link": [(2, 3, 0.5)] * 2}, "other soft cannot-links"),
    ],
)
def test_certificates_are_about_the_soft_pairs_they_were_made_for(certificate, changes, says):
    same = replace(SOFT, soft_must_link=[(1, 0, 2.0), (2, 0, 1.0), (1, 2, 0.0)])
    assert sdpbb.verify_certificate(certificate, same).status == "optimal"
    with pytest.raises(CertificateError, match=rf"rejected: is about {says}; expected"):
        sdpbb.verify_certificate(certificate, replace(SOFT, **changes))


def rewritten(path, change) -> None:
    parts = Parts.of(path)
    change(parts.claim)
    path.write_bytes(parts.data)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.pop("soft_must_link"), "other soft must-links"),
        (lambda d: d.update(soft_cannot_link="0" * 64), "other soft cannot-links"),
        (lambda d: d.update(soft_cannot_link=7), "soft_cannot_link"),
        (lambda d: d.update(cost=0.01), "cost: states 0.01, the labels cost 1.51"),
        (lambda d: d.update(lower_bound=1.5), "the root proves"),
    ],
)
def test_documents_that_say_something_else(certificate, change, says):
    rewritten(certificate, change)
    with pytest.raises(CertificateError, match=says):
        sdpbb.verify_certificate(certificate, SOFT)


def test_soft_pairs_are_in_the_document_only_where_there_are_any(tmp_path):
    path = tmp_path / "hard.cert"
    sdpbb.solve(Instance(POINTS, 2), certificate=str(path))
    assert not {"soft_must_link", "soft_cannot_link"} & set(Parts.of(path).claim)


LINES = "SML 0 2\nSML 1 0 2  # twice\nSCL 3 2 0.5\nSCL 0 1 0\nML 0 1\nSCL 1 2 inf\n"


def test_the_checker_reads_the_same_soft_pairs(tmp_path):
    path = tmp_path / "soft.txt"
    path.write_text(LINES)
    (tmp_path / "points.txt").write_text("4 1\n0.0\n0.1\n10.0\n10.1\n")
    stated = read_constraints(str(path), POINTS)
    instance = Instance.from_files(tmp_path / "points.txt", k=2, constraints=path)
    for read, expected in (
        (stated.soft.must_link, instance.soft_must_link),
        (stated.soft.cannot_link, instance.soft_cannot_link),
    ):
        assert read.pairs.tolist() == expected.pairs.tolist()
        assert read.weights.tolist() == expected.weights.tolist()
    assert stated.cannot_link.tolist() == [[1, 2]]
    proof = tmp_path / "soft.cert"
    sdpbb.solve(instance, certificate=str(proof))
    arguments = [str(proof), str(tmp_path / "points.txt"), "--constraints", str(path)]
    assert main(arguments) == 0
    path.write_text(LINES.replace("0.5", "0.4"))
    assert main(arguments) == 1
    path.write_text("SML 0 2 -1\n")
    assert main(arguments) == 2


def test_gaps_and_checks_leave_certificates(tmp_path):
    path = tmp_path / "gap.cert"
    labels = np.array([0, 0, 1, 1])
    report = sdpbb.optimality_gap(SOFT, labels, certificate=path)
    verdict = sdpbb.verify_certificate(path, SOFT)
    assert verdict.cost == pytest.approx(Partition(labels).cost(SOFT))
    assert verdict.lower_bound == pytest.approx(report.lower_bound, rel=1e-9)
    impossible = replace(SOFT, must_link=[(0, 1)], cannot_link=[(0, 1)])
    sdpbb.check_constraints(impossible, certificate=tmp_path / "check.cert")
    assert sdpbb.verify_certificate(tmp_path / "check.cert", impossible).status == "infeasible"


def test_equal_points_that_soft_pairs_name_are_not_joined():
    blocks = Blocks.of(4, 2, np.empty((0, 2), np.int64), np.empty((0, 2), np.int64))
    points, pair = np.zeros((4, 1)), np.array([[0, 1]])
    assert blocks.with_equal_linked(points, pair, []).m == 3
    for named in ([1], [2, 3]):  # of the pair; of the blocks that may take its place
        with pytest.raises(Rejected, match="equal"):
            blocks.with_equal_linked(points, pair, named)


@pytest.mark.parametrize(
    ("pairs", "weights"),
    [([[0, 4]], [1.0]), ([[0, 0]], [1.0]), ([[0, 1]], [-1.0]), ([[0, 1]], [np.inf])],
)
def test_what_are_no_soft_pairs(pairs, weights):
    with pytest.raises(ValueError, match="soft: expected"):
        PricedPairs.of(pairs, weights, 4, "soft")


def test_weights_that_cannot_be_added_up():
    heavy = CheckedSoftPairs(PricedPairs.of([[0, 1]], [1e300], 4, "soft"))
    with pytest.raises(Rejected, match="above 1e"):
        Geometry.of(POINTS, None, heavy)
