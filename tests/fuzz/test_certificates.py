"""Forged proofs that no run leaves: what the checker accepts is what enumeration says.

Proofs that runs leave are forged in tests/contracts/test_solve.py."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sdpbb
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.problem import Instance
from sdpbb.problem.checker_rules import stated_instance
from sdpbb.run.decomposition.subsets import restricted
from sdpbb.run.parameters import SolverParameters
from sdpbb.run.verification import verdict_on, verify_certificate
from tests.any_instance import drawn_instance
from tests.checker.building import built
from tests.checker.forged import accepted, assert_verdict_true, forged, kinds_in
from tests.checker.nodes import STATED
from tests.checker.parts import Parts, Step, loaded
from tests.enumeration import optimum
from tests.examples import examples

# Of every certificate.
FORGED = 20
WEAK = SdpParameters(max_iterations=60)
SDP = SolverParameters(bounding="sdp", sdp=WEAK, gap=1e-6)
COLGEN = SolverParameters(bounding="colgen", gap=1e-6)


class Proven(NamedTuple):
    """A certificate, its instance, and the least cost of a clustering; None if there is none."""

    data: bytes
    instance: Instance
    truth: float | None


# Constraints that certificates can state; semidefinite bounds know no constraints on clusters.
PARTS = ("equal points", "far groups", "units", "pairs", "weights", "sizes", "weight limits")


def drawn(rng: np.random.Generator, *more: str) -> Instance:
    """An instance with any constraints, soft pairs among them."""
    seed = int(rng.integers(2**32))
    return drawn_instance(Random(seed), *PARTS, "soft pairs", *more, n=(4, 8), k=(1, 5))


def proven(path: Path, instance: Instance, parameters: SolverParameters) -> Proven:
    sdpbb.solve(instance, parameters, certificate=path)
    verify_certificate(path, instance)
    return Proven(path.read_bytes(), instance, optimum(instance))


def lagrangian(path: Path, rng: np.random.Generator) -> Proven:
    return proven(path, drawn(rng, "constraints"), COLGEN)


def enumerated(path: Path, rng: np.random.Generator) -> Proven:
    """The proof of a run, and enumerated clusters in its root that prove all but the optimum."""
    data, instance, truth = lagrangian(path, rng)
    parts = Parts.of(data)
    if truth is None or truth <= 0.0 or parts.named_steps("equal"):
        return Proven(data, instance, truth)
    m = stated_instance(instance).root.m
    below = truth * rng.choice([0.2, 0.9, 0.999999])
    prices = rng.exponential(truth / m, m) * rng.choice([0.0, 0.1, 1.0])
    triples = [sorted(rng.permutation(m)[:3]) for _ in range(int(rng.integers(3)) if m >= 3 else 0)]
    arrays = {
        "prices": prices,
        "share_prices": prices * rng.choice([0.0, 1.0]) + rng.exponential(below / m, m) * 0.5,
        "triples": np.array(triples, np.int32).reshape(-1, 3),
        "penalties": rng.exponential(0.1 * below, len(triples)),
    }
    evidence = ["clusters", float(below), -float(prices.sum()) - float(below)]
    parts.steps.insert(0, Step(["bound", float(below), evidence], arrays))
    if accepted(parts, instance) is None:
        return Proven(data, instance, truth)
    return Proven(parts.data, instance, truth)


def pieced(path: Path, rng: np.random.Generator) -> Proven:
    """Proofs of parts, pieced together, of all constraints, some of which parts do not keep."""
    instance = drawn(rng)
    data, _, truth = proven(path, instance, COLGEN)
    parts = Parts.of(data).unclaimed()
    n, k = instance.n_points, instance.k
    chosen = np.array_split(rng.permutation(n), int(rng.integers(1, max(2, n // k + 1))))
    parts.steps = []
    for part in chosen:
        rows = np.sort(part)
        if len(rows) < k:
            continue
        inside = restricted(instance, rows)
        if rng.random() < 0.3:  # limits that clusters of a part need not satisfy
            least = instance.min_size and min(instance.min_size, len(rows) // k)
            inside = replace(inside, min_size=least, min_weight=instance.min_weight)
        sdpbb.solve(inside, (SDP, COLGEN)[rng.integers(2)], certificate=path)
        parts.steps.append(Step(["subset"], {"rows": rows.astype(np.int32)}))
        parts.steps += Parts.of(path).steps
    parts.claim["lower_bound"] = 0.0
    if not parts.steps or (verdict := accepted(parts, instance)) is None:
        return Proven(data, instance, truth)
    assert_verdict_true(verdict, truth, "pieced together")
    return Proven(parts.data, instance, truth)


def of_all_steps(path: Path, rng: np.random.Generator) -> Proven:
    """A proof that no engine makes: with pairs that are far and excluded, and many cuts."""
    seed = int(rng.integers(2**32))
    instance = drawn_instance(Random(seed), *STATED, n=(4, 6), k=(2, 3))
    return Proven(built(instance, fixing=True).data, instance, optimum(instance))


CERTIFICATES: dict[str, Callable[[Path, np.random.Generator], Proven]] = {
    one.__name__: one for one in (enumerated, pieced, of_all_steps)
}


def check_forgeries(
    path: Path, kind: str, rng: np.random.Generator, number: int, counts: Counter
) -> None:
    """Forge a certificate of a kind; counts are of what it holds, and of what is accepted."""
    for _ in range(10):  # most draws are of instances that leave nothing to prove
        made = CERTIFICATES[kind](path, rng)
        if held := kinds_in(made.data):
            break
    counts.update(held)
    counts["certificates"] += 1
    for what, verdict in forged(made.data, made.instance, rng, number):
        counts["forged"] += 1
        if verdict is not None:
            counts["accepted"] += 1
            assert_verdict_true(verdict, made.truth, what)


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_forged_certificates_prove_nothing_that_is_wrong(kind, tmp_path):
    counts = Counter()

    @examples(12)
    @given(st.integers(0, 2**32))
    def survives(seed):
        rng = np.random.default_rng([seed, 5])
        check_forgeries(tmp_path / "proof", kind, rng, FORGED, counts)

    survives()
    assert 0 < counts["accepted"] < counts["forged"]
    words = {"enumerated": "clusters", "pieced": "subsets", "of_all_steps": "fix"}
    assert counts[words[kind]] > 0


@pytest.mark.parametrize("scale", [0.0, 1e-300])
def test_numbers_too_far_apart_are_rejected(scale, tmp_path):
    """Tiny prices and listed sizes: an overflow is neither a proof nor a crash."""
    points = np.random.default_rng(16).normal(size=(9, 3))
    instance = Instance(points, 4, sizes=(1, 1, 3, 4))
    data = proven(tmp_path / "proof", instance, COLGEN).data
    parts = Parts.of(data)
    found = parts.evidences("prices")
    assert found
    for step in found:
        step.arrays["prices"] = step.arrays["prices"] * scale
        step.evidence[-1] = -5.0
    with pytest.raises(Rejected, match=r"^line \d+: "):
        verdict_on(loaded(parts.data), instance)
