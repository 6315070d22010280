"""Contract of bounding methods: nothing above the optimum is proven, wherever a run is paused."""

import math
from typing import NamedTuple

import numpy as np
from hypothesis import assume, given
from hypothesis import strategies as st

from sdpbb.bounds.certified import CertifiedBounding
from sdpbb.bounds.registry import bounding_method
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.checker_rules import foreign_constraints, stated_instance
from tests.any_instance import any_instance
from tests.archives import archived
from tests.constants import STAGES, constants
from tests.contracts.runs import STEPS
from tests.enumeration import Truth
from tests.examples import examples

MOST_STEPS = 20
# Constants that send a node to other stages.
CHANGED = {**STAGES, **STEPS}


class Problem(NamedTuple):
    """A method, an instance that it supports, its contraction, and the truth about it.

    steps : a key of `CHANGED`
    sdp : how semidefinite relaxations are solved
    certified : whether the checker confirms the bounds
    """

    name: str
    steps: str
    sdp: SdpParameters
    certified: bool
    instance: Instance
    contraction: Contraction
    truth: Truth

    def method(self):
        inner = bounding_method(self.name, self.sdp)
        if not self.certified:
            return inner
        return CertifiedBounding(inner, stated_instance(self.instance))


@st.composite
def problems(draw):
    instance, steps = draw(any_instance(n=(4, 7), k=(2, 4))), draw(st.sampled_from(list(CHANGED)))
    methods = ["colgen", "hybrid"]
    if steps in STAGES:
        methods = ["colgen" if steps.startswith("columns") else "hybrid"]
    elif not instance.has_constraints_beyond_sizes:
        methods += ["sdp"] * 2
    contraction = contract(instance)
    assume(isinstance(contraction, Contraction) and contraction.means.any())
    assume(contraction.n_blocks > instance.k)
    solver = draw(st.sampled_from(["admm", "admm", "admm", "clarabel", "scs"]))
    sdp = SdpParameters(solver=solver, max_iterations=draw(st.sampled_from([40, 3000])))
    certified = not foreign_constraints(instance.cluster_constraints) and draw(st.booleans())
    name = draw(st.sampled_from(methods))
    return Problem(name, steps, sdp, certified, instance, contraction, Truth(instance))


def check_step(run, progress, before, contraction, truth, cutoff):
    """What is true of each step, and of what the run knows then."""
    optimum = math.inf if truth.optimum is None else truth.optimum
    assert before <= progress.bound.value <= optimum * (1.0 + 1e-12)
    found = run.clustering()
    assert found is None or truth.has(contraction.lift(found))
    if math.isfinite(cutoff):
        i, j = run.fixings(cutoff).apart.T
        cheaper = truth.labels[truth.costs < cutoff * (1.0 - 1e-9)]
        blocks = cheaper[:, contraction.representatives]
        assert (blocks[:, i] != blocks[:, j]).all()


@given(problems(), st.data())
@examples(120)
def test_a_bound_is_at_most_the_optimum_and_resumes_to_the_last_bit(problem, data):
    contraction, truth, method = problem.contraction, problem.truth, problem.method()
    factor = data.draw(st.sampled_from([0.5, 0.9, 0.999, 1.0, 1.001, 2.0, math.inf]))
    cutoff = math.inf if truth.optimum is None else factor * truth.optimum
    known = truth.best[contraction.representatives] if truth.is_feasible else None
    if data.draw(st.booleans()):
        known = None
    with constants(CHANGED[problem.steps]):
        whole = method.start(contraction, None, known)
        paused = method.start(contraction, None, known)
        before, n_iterations = 0.0, 0
        for _ in range(MOST_STEPS):
            progress = whole.advance(cutoff)
            paused = archived(paused).attach(contraction, method)
            again = paused.advance(cutoff)
            assert (again.bound, again.stalled) == (progress.bound, progress.stalled)
            assert paused.n_iterations == whole.n_iterations >= n_iterations
            n_iterations = whole.n_iterations
            for run in (whole, paused):  # a checker may be asked about fixed pairs, and prove more
                check_step(run, progress, before, contraction, truth, cutoff)
            before = progress.bound.value
            if progress.stalled or before >= cutoff:
                break
        assert np.array_equal(whole.affinity(), paused.affinity())
        if problem.certified and (progress.stalled or before >= cutoff) and before < math.inf:
            # What bounds prove is confirmed, but for rounding.
            soft = float(np.abs(contraction.soft.weights).sum())
            rounding = 1e-6 * contraction.total + 1e-10 * soft
            assert whole.best.value >= whole.claimed.value - rounding


@given(problems(), st.integers(0, 3), st.data())
@examples(80)
def test_a_child_that_starts_from_its_parent_proves_no_more(problem, n_steps, data):
    instance, contraction, truth = problem.instance, problem.contraction, problem.truth
    method = problem.method()
    known = truth.best[contraction.representatives] if truth.is_feasible else None
    with constants(CHANGED[problem.steps]):
        parent = method.start(contraction, None, known if data.draw(st.booleans()) else None)
        for _ in range(n_steps + 1):
            if parent.advance(math.inf).stalled:
                break
    i, j = sorted(data.draw(st.permutations(range(instance.n_points)))[:2])
    together = data.draw(st.booleans())
    child = contract(instance, **{"must_link" if together else "cannot_link": [(i, j)]})
    keep = (truth.labels[:, i] == truth.labels[:, j]) == together
    if not isinstance(child, Contraction):
        assert not keep.any()
        return
    assume(child.n_blocks > instance.k and child.means.any())
    least = truth.costs[keep].min(initial=math.inf)
    with constants(CHANGED[problem.steps]):
        run = method.start(child, archived(parent.warm_start()))
        for _ in range(MOST_STEPS // 2):
            progress = run.advance(math.inf)
            assert progress.bound.value <= least * (1.0 + 1e-12)
            if progress.stalled:
                break


@given(problems(), st.integers(0, 20))
@examples(30)
def test_a_step_that_the_time_limit_ends_still_proves_what_it_says(problem, looks):
    contraction, truth = problem.contraction, problem.truth
    run = problem.method().start(contraction, None)
    left = iter(range(looks))
    for _ in range(3):
        progress = run.advance(math.inf, lambda: math.inf if next(left, None) is not None else 0.0)
        check_step(run, progress, 0.0, contraction, truth, math.inf)
        if progress.stalled:
            break
