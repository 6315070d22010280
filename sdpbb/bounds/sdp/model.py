"""Contracted Peng-Wei relaxation with cuts, as a CVXPY problem."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sdpbb.backends import conic
from sdpbb.bounds.sdp.admm_run import AdmmRun
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.cuts.soft_pairs import multiplier_caps
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.errors import BackendFailure, InstanceError
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.instance import check_instance


class RelaxationModel:
    """Contracted Peng-Wei relaxation with cuts, as a CVXPY problem.

        minimise    total - <S S', Z> + sum_c price_c v_c
        subject to  Z e = 1,  <diag(e), Z> = k,  Z semidefinite,
                    Z_ij >= 0,  Z_ij = 0 for cannot-links,
                    <A_c, Z> + v_c >= b_c for each cut c

    over symmetric matrices Z of the m blocks: points that must-links join. Block i has weight e_i
    and the weighted sum S_i of its centred points. A clustering has Z_ij = 1 / (weight of the
    cluster) for blocks i and j of one cluster, and 0 else. Only terms of soft pairs may be
    violated, by v_c >= 0; v_c = 0 for all other cuts. For k = 2, cannot-links imply more equations
    (`Relaxation.kernel`).

    The variable is Y = D^1/2 Z D^1/2 for D = diag(e). The objective of `problem` is divided by
    `relaxation.scale` and has no constant, so that tolerances of solvers suit all units of data.
    `value` converts. Each entry above the diagonal has one constraint; `Z >= 0` would state two.

    Source: Piccialli, Russo Russo, Sudoso: An exact algorithm for semi-supervised minimum
    sum-of-squares clustering, 2022, equation 7.

    Attributes
    ----------
    Z : CVXPY expression (m, m), in 1 / (units of weights)
    Y : CVXPY variable (m, m), without units
    problem : CVXPY problem, to export (`problem.get_problem_data`) or to build on
    constraints : its constraints by name
    status : status of the last solve in CVXPY's words; "" before
    weights : (m,) weights e of the blocks
    block_of : (n,) block of each point
    cuts : the cuts; the terms of cut c are start[c]:start[c + 1] of row, column and coefficient
    relaxation : numbers behind the problem, such as K, scale and total
    """

    def __init__(
        self, relaxation: Relaxation, cuts: CutSet, block_of: NDArray[np.intp] | None = None
    ) -> None:
        m, r, forbidden = relaxation.m, relaxation.inverse_roots, relaxation.forbidden
        self.relaxation, self.cuts, self.weights = relaxation, cuts, relaxation.weights
        self.block_of = np.arange(m) if block_of is None else block_of
        self.status = ""
        self._free, self._zero = (
            np.nonzero(np.triu(is_it, 1)) for is_it in (~forbidden, forbidden)
        )
        self._scaled = ScaledCuts.of(cuts, r, forbidden)

        self.Y = Y = cp.Variable((m, m), PSD=True, name="Y")
        self.Z = cp.multiply(np.outer(r, r), Y)
        cost = -cp.sum(cp.multiply(relaxation.K, Y))
        self.constraints = {
            "row sums": Y @ relaxation.u == relaxation.u,
            "trace": cp.trace(Y) == relaxation.k,
        }
        if len(self._free[0]):
            self.constraints["nonnegative"] = Y[self._free] >= 0
        if len(self._zero[0]):
            self.constraints["cannot-links"] = Y[self._zero] == 0
        if relaxation.kernel.shape[1]:
            self.constraints["kernel"] = Y @ relaxation.kernel == 0
        if len(cuts):
            terms = self._scaled.entry * np.where(cuts.row == cuts.column, 1.0, 2.0)
            places = (cuts.owner, self._scaled.position)
            values = sp.csr_array((terms, places), shape=(len(cuts), m * m)) @ cp.vec(Y, order="C")
            prices = multiplier_caps(relaxation, cuts) * self._scaled.norm
            soft = np.flatnonzero(np.isfinite(prices))
            if len(soft):
                violation = cp.Variable(len(soft), nonneg=True, name="v")
                cost += prices[soft] @ violation
                values += sp.eye_array(len(cuts), format="csc")[:, soft] @ violation
            self.constraints["cuts"] = values >= self._scaled.rhs
        self.problem = cp.Problem(cp.Minimize(cost), [*self.constraints.values()])

    def solve(
        self, solver: str = "scs", constraints: Iterable[cp.Constraint] = (), **options: Any
    ) -> float:
        """Solve the problem by a conic solver; return its value in squared units of the data.

        The value is the solver's word; `proven_bound` needs no such trust. It is inf if the solver
        reports that there is no solution.

        Parameters
        ----------
        solver : name of a conic solver that CVXPY finds, such as "scs" or "clarabel"
        constraints : CVXPY constraints on `Z`, to add for this solve
        options : of the solver, as CVXPY passes them

        Raises
        ------
        BackendFailure
            If CVXPY does not find the solver, or the solver fails.
        """
        more = [*constraints]
        objective = self.problem.objective
        problem = cp.Problem(objective, self.problem.constraints + more) if more else self.problem
        conic.solve(problem, solver, **options)
        self.status = str(problem.status)
        return self.value(float(problem.value))

    def value(self, objective: float) -> float:
        """Return an objective value of `problem` in squared units of the data."""
        return self.relaxation.total + self.relaxation.scale * objective

    def proven_bound(self) -> float:
        """Return the lower bound that the dual values of the last solve prove.

        It is valid in floating point for every clustering, in squared units of the data.
        Constraints that were added for the solve do not count.

        Raises
        ------
        BackendFailure
            If the solver returned no finite dual values.
        """
        return safe_bound(self.relaxation, self.dual_point()).value

    def dual_point(self) -> DualPoint:
        """Return the dual values of the last solve, in units of `relaxation.scale`.

        If the problem has no solution, they are a direction in which the dual function grows, or
        zero if the solver returns none.

        Raises
        ------
        BackendFailure
            If the solver returned none, or some that are not finite.
        """
        N, roots = np.zeros((self.relaxation.m,) * 2), 1.0 / self.relaxation.inverse_roots
        N[self._free] = 0.5 * self._dual_values("nonnegative", len(self._free[0]))
        N[self._zero] = -0.5 * self._dual_values("cannot-links", len(self._zero[0]))
        multipliers = self._dual_values("cuts", len(self.cuts)) / self._scaled.norm
        return DualPoint((N + N.T) * np.outer(roots, roots), self.cuts, np.maximum(multipliers, 0))

    def _dual_values(self, name: str, count: int) -> NDArray[np.float64]:
        found = self.constraints[name].dual_value if count else np.zeros(0)
        if found is None and self.status.startswith("infeasible"):  # some solvers return no ray
            return np.zeros(count)
        if found is None or not np.isfinite(found).all():
            raise BackendFailure(f"the solver ended ({self.status}) without finite dual values")
        return np.asarray(found, np.float64).reshape(count)


def relaxation(instance: Instance, cuts: bool | CutSet = True) -> RelaxationModel:
    """Return the semidefinite relaxation of an instance as a CVXPY problem.

    Add inequalities to it, solve it by another solver, or export it. Limits on sizes and weights
    count by their cuts; other constraints on clusters count only if they are cannot-links.

    Examples
    --------
    >>> import sdpbb
    >>> instance = sdpbb.Instance([[0.0], [0.1], [5.0], [5.1]], k=2, cannot_link=[(0, 1)])
    >>> model = sdpbb.relaxation(instance)
    >>> model.Z.shape
    (4, 4)

    Parameters
    ----------
    instance : points, k and constraints
    cuts : True for the cuts that matter once the first-order method stalls at the root, False for
        none; or cuts of another model of the instance, such as `model.cuts.select(positions)`

    Returns
    -------
    RelaxationModel over the blocks of the instance

    Raises
    ------
    InstanceError
        If the instance is none, or no clustering satisfies its constraints.
    """
    check_instance(instance)
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        raise InstanceError(f"no clustering satisfies the constraints: {contraction}")
    if isinstance(cuts, bool):
        cuts = _cuts_of_root(contraction) if cuts else CutSet.empty()
    return RelaxationModel(Relaxation.of(contraction), cuts, contraction.block_of)


def _cuts_of_root(contraction: Contraction) -> CutSet:
    """Return the cuts with multipliers once the first-order method stalls."""
    if contraction.n_blocks == 1:  # the first-order method needs a second one
        return CutSet.empty()
    run = AdmmRun(contraction, SdpParameters())
    while not run.advance(np.inf).stalled:
        pass
    dual = run.dual_point()
    return dual.cuts.select(dual.multipliers > 0.0)
