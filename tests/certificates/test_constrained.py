"""Certificates of runs with constraints on clusters, against enumeration."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given

import sdpbb
from sdpbb.checker import command
from sdpbb.checker.command import with_constraints
from sdpbb.checker.kernel.blocks import Blocks
from sdpbb.checker.kernel.geometry import Geometry
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.rules import broken_by, over_blocks
from sdpbb.checker.kernel.soft import CheckedSoftPairs, PricedPairs
from sdpbb.checker.kernel.stated import StatedInstance
from sdpbb.errors import ParameterError
from sdpbb.problem import Contraction, Infeasibility, contract
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.run.certificates.writer import propagated
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.verification import verdict_on
from tests.any_instance import ForbiddenSets, any_instance
from tests.checker.parts import Parts, loaded
from tests.enumeration import all_sets, is_allowed, optimum
from tests.examples import examples

# As certificates can state them.
CONSTRAINED = any_instance("equal points", "pairs", "soft pairs", always=["constraints"], n=(4, 7))


def certified(instance, path, **parameters):
    return sdpbb.solve(instance, SolverParameters(**parameters), certificate=path)


def verdict_of(data: bytes, instance: sdpbb.Instance):
    return verdict_on(loaded(data), instance)


def small_instance(*constraints, **more) -> sdpbb.Instance:
    points = np.random.default_rng(4).normal(size=(9, 2))
    return sdpbb.Instance(points, 3, cluster_constraints=constraints, **more)


def pigeons() -> sdpbb.Instance:
    """Eight points in three clusters, which hold two pairs each: three points have three pairs, so
    that six points are the most. No two blocks by themselves, nor all of them, say so."""
    points = np.random.default_rng(2).normal(size=(8, 2))
    pairs = [(i, j) for i in range(8) for j in range(i)]
    constraints = (sdpbb.SoftCannotLinks(pairs, 2),)
    return sdpbb.Instance(points, 3, cluster_constraints=constraints)


def test_prices_prove_that_there_is_no_clustering(tmp_path):
    instance = pigeons()
    assert optimum(instance) is None
    result = certified(instance, tmp_path / "proof")
    assert result.status.value == "infeasible"
    parts = Parts.of(tmp_path / "proof")
    priced = [step for step in parts.steps if step.words[:2] == ["infeasible", "prices"]]
    assert priced
    verdict = sdpbb.verify_certificate(tmp_path / "proof", instance)
    assert verdict.status == "infeasible"
    # Clusters that may hold more of the prices may hold them all.
    priced[0].words[2] *= 2
    with pytest.raises(Rejected, match="prices prove no infeasibility"):
        verdict_of(parts.data, instance)


@given(CONSTRAINED)
@examples(100)
def test_the_checker_infers_what_the_engine_does(instance):
    """The same blocks and cannot-links, or the same proof of infeasibility."""
    blocks, _, end = propagated(stated_instance(instance).root)
    contraction = contract(instance)
    assert isinstance(contraction, Infeasibility) is bool(end)
    if isinstance(contraction, Contraction):
        assert np.array_equal(blocks.block_of, contraction.block_of)
        # A largest size that k clusters have anyway is no limit of the engine.
        has_more = instance.max_size is not None and instance.size_limits is None
        assert (blocks.adjacency >= contraction.adjacency).all()
        assert has_more or np.array_equal(blocks.adjacency, contraction.adjacency)


@given(CONSTRAINED)
@examples(100)
def test_rules_say_what_the_constraints_do(instance):
    """Of every set of points."""
    stated, sets = stated_instance(instance), all_sets(instance.n_points)
    i, j = stated.cannot_link.T
    kept = ~(sets[:, i] & sets[:, j]).any(axis=1)
    kept &= ~broken_by(over_blocks(stated.rules, np.arange(instance.n_points)), sets)
    singles = replace(instance, must_link=[])
    expected = [is_allowed(singles, members) for members in sets]
    assert np.array_equal(kept, expected)


RULES = ["GAMMA 3.5", "DELTA 0.1", "MAXSIZE 4", "OVERLAP 2 3 4 5 4", "DIFFERENCE 3 7 8"]
RULES += [
    "SOFTCL 1 4 5 6 5 5 4",
    f"OVERLAP {10**12} 3",
    "# nothing",
    "OVERLAP 2 1",
    "DIFFERENCE 6 1",
]
SOFT = [
    "SML 0 2",
    "SML 2 1",
    "SCL 0 1",
    "SML 1 0 2  # twice",
    "SCL 3 2 0.5",
    "SCL 0 1 0",
    "SCL 1 2 inf",
]


@pytest.mark.parametrize("lines", [["ML 1 0", "CL 3 2", "CL 2 3", *RULES], ["ML 0 1", *SOFT]])
def test_the_program_that_stands_alone_reads_the_same_constraints(tmp_path, lines):
    points, path = tmp_path / "points.npy", tmp_path / "constraints"
    np.save(points, np.random.default_rng(0).normal(size=(9, 2)))
    path.write_text("\n".join(lines))
    instance = sdpbb.read_instance(points, 3, path)
    engine = stated_instance(instance)
    alone = with_constraints(StatedInstance(instance.points, 3), str(path))
    assert alone.digests == engine.digests
    certified(instance, tmp_path / "proof")
    arguments = [str(tmp_path / "proof"), str(points), "--constraints", str(path)]
    assert command.main(arguments) == command.VERIFIED
    path.write_text("\n".join(lines[:3]))
    assert command.main(arguments) == command.REJECTED
    path.write_text("SML 0 2 -1\n")
    assert command.main(arguments) == command.UNREADABLE


def test_what_is_code_of_the_users_own_is_refused_by_name(tmp_path):
    own = ForbiddenSets((frozenset({0, 1}),))

    class Small(sdpbb.AllOf):
        def allows(self, instance, members):
            return len(members) < 4

    for constraint in (own, sdpbb.AnyOf([sdpbb.MaximumSize(3), own]), Small([])):
        name = type(constraint).__name__ if isinstance(constraint, Small) else "ForbiddenSets"
        instance = small_instance(constraint)
        with pytest.raises(ParameterError, match=rf"^certificate = .*proof: .* {name} is a constr"):
            sdpbb.solve(instance, certificate=tmp_path / "proof")
        with pytest.raises(sdpbb.CertificateError, match=rf"proof: {name} is a constraint of y"):
            sdpbb.verify_certificate(tmp_path / "proof", instance)
    assert not (tmp_path / "proof").exists()


def test_equal_points_that_soft_pairs_name_are_not_joined():
    blocks = Blocks.of(4, 2, np.empty((0, 2), np.int64), np.empty((0, 2), np.int64))
    points, pair = np.zeros((4, 1)), np.array([[0, 1]])
    assert blocks.with_equal_linked(points, pair, []).m == 3
    for named in ([1], [2, 3]):  # of the pair; of the blocks that may take its place
        with pytest.raises(Rejected, match="equal"):
            blocks.with_equal_linked(points, pair, named)


def test_weights_that_cannot_be_added_up():
    heavy = CheckedSoftPairs(PricedPairs(np.array([[0, 1]]), np.array([1e300])))
    with pytest.raises(Rejected, match="above 1e"):
        Geometry.of(np.arange(4.0)[:, None], None, heavy)
