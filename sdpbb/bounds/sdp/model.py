"""Contracted Peng-Wei relaxation with cuts, as a CVXPY problem."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import cvxpy as cp
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from sdpbb.bounds.sdp.admm_run import AdmmRun
from sdpbb.bounds.sdp.cuts.cut_set import CutSet, ScaledCuts
from sdpbb.bounds.sdp.cuts.soft_pairs import multiplier_caps
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.bounds.sdp.relaxation import Relaxation
from sdpbb.bounds.sdp.safe_bound import DualPoint, safe_bound
from sdpbb.errors import BackendFailure, InstanceError, ParameterError
from sdpbb.problem import Contraction, Instance, contract
from sdpbb.problem.instance import check_instance
from sdpbb.runtime.backends import conic
from sdpbb.runtime.values import counted


class RelaxationModel:
    """Contracted Peng-Wei relaxation with cuts, as a CVXPY problem.

        minimise    total - <S S', Z> + sum_c price_c v_c
        subject to  Z e = 1,  <diag(e), Z> = k,  Z semidefinite,
                    Z_ij >= 0,  Z_ij = 0 for cannot-links,
                    <A_c, Z> + v_c >= b_c for each cut c

    over symmetric matrices Z of the m blocks: points that must-links join. Block i has weight e_i
    and the weighted sum S_i of its centred points. A clustering has Z_ij = 1 / (weight of the
    cluster) for blocks i and j of one cluster, and 0 otherwise. Only terms of soft pairs may be
    violated, by v_c >= 0; v_c = 0 for all other cuts. For k = 2, cannot-links imply more equations
    (`Relaxation.kernel`).

    The variable is Y = D^1/2 Z D^1/2 for D = diag(e). The objective of `problem` is divided by
    `relaxation.scale` and has no constant, so that tolerances of solvers suit all units of data.
    `value` converts. Each entry above the diagonal has one constraint; `Z >= 0` would state two.

    Source: Piccialli, Russo Russo, Sudoso: An exact algorithm for semi-supervised minimum
    sum-of-squares clustering, 2022, equation 7.

    Attributes
    ----------
    Z : CVXPY expression (m, m), in 1 / (units of `weights`)
    Y : CVXPY variable (m, m), without units
    problem : CVXPY problem, to export (`problem.get_problem_data`) or to build on
    constraints : its constraints by name; some of them may be empty
    status : status of the last solve in CVXPY's words; "" before
    weights : (m,) weights e of the blocks: numbers of points, or weights of points in units in
        which their mean is between 1/2 and 2
    block_of : (n,) block of each point
    cuts : the cuts; the terms of cut c are start[c]:start[c + 1] of row, column and coefficient
    relaxation : numbers behind the problem, such as K, scale and total
    """

    def __init__(
        self,
        relaxation: Relaxation,
        cuts: CutSet,
        block_of: NDArray[np.intp] | None = None,
    ) -> None:
        m, forbidden, r = relaxation.m, relaxation.forbidden, relaxation.inverse_roots
        self.relaxation, self.cuts, self.weights = relaxation, cuts, relaxation.weights
        self.status = ""
        self.block_of = np.arange(m) if block_of is None else block_of
        self._free, self._apart = (np.nonzero(np.triu(of, 1)) for of in (~forbidden, forbidden))
        self._scaled = ScaledCuts.of(cuts, r, forbidden)

        terms = self._scaled.entry * np.where(cuts.row == cuts.column, 1.0, 2.0)
        places = (cuts.owner, self._scaled.position)
        A, b = sp.csr_array((terms, places), shape=(len(cuts), m * m)), self._scaled.rhs
        price = multiplier_caps(relaxation, cuts) * self._scaled.norm
        soft = np.flatnonzero(np.isfinite(price))
        # Prices span 17 orders of magnitude. With v in units of 1 / scale, costs and coefficients
        # span half of that; in units of 1, SCS failed on 2 % of small instances with soft pairs.
        price = price[soft]
        scale = np.sqrt(np.maximum(price, 1e-12))
        E = sp.csc_array((1.0 / scale, (soft, np.arange(len(soft)))), shape=(len(cuts), len(soft)))

        self.Y = Y = cp.Variable((m, m), PSD=True, name="Y")
        self.Z = cp.multiply(np.outer(r, r), Y)
        v = cp.Variable(len(soft), nonneg=True, name="v")
        self.constraints = {
            "row sums": Y @ relaxation.u == relaxation.u,
            "trace": cp.trace(Y) == relaxation.k,
            "nonnegative": Y[self._free] >= 0,
            "cannot-links": Y[self._apart] == 0,
            "kernel": Y @ relaxation.kernel == 0,
            "cuts": A @ cp.vec(Y, order="C") + E @ v >= b,
        }
        cost = (price / scale) @ v - cp.sum(cp.multiply(relaxation.K, Y))
        self.problem = cp.Problem(cp.Minimize(cost), [*self.constraints.values()])

    def __repr__(self) -> str:
        return f"RelaxationModel({self.relaxation.m} blocks, {len(self.cuts)} cuts)"

    def solve(
        self,
        solver: str = "scs",
        constraints: cp.Constraint | Iterable[cp.Constraint] = (),
        **options: Any,
    ) -> float:
        """Solve the problem by a conic solver; return its value in squared units of the data.

        The value relies on the solver; `proven_bound` does not. It is inf if the solver reports
        that there is no solution.

        Parameters
        ----------
        solver : name of a conic solver that CVXPY finds, such as "scs" or "clarabel"
        constraints : CVXPY constraints, on `Z` for example, to add for this solve
        options : of the solver, as CVXPY passes them

        Raises
        ------
        ParameterError
            If CVXPY does not find the solver, or an added constraint is of another type.
        BackendFailure
            If the solver fails.
        """
        more = [*constraints] if isinstance(constraints, Iterable) else [constraints]
        for each in more:
            if not isinstance(each, cp.Constraint):
                kind = type(each).__name__
                raise ParameterError(f"constraints: one of type {kind}; expected CVXPY constraints")
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

        It is valid in floating point for every clustering, in squared units of the data. It ignores
        constraints that were added for the solve.

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
            If the solver returned none, or numbers that are not finite.
        """
        N, roots = np.zeros((self.relaxation.m,) * 2), 1.0 / self.relaxation.inverse_roots
        N[self._free] = 0.5 * self._dual_values("nonnegative")
        N[self._apart] = -0.5 * self._dual_values("cannot-links")
        multipliers = self._dual_values("cuts") / self._scaled.norm
        return DualPoint((N + N.T) * np.outer(roots, roots), self.cuts, np.maximum(multipliers, 0))

    def _dual_values(self, name: str) -> NDArray[np.float64]:
        constraint = self.constraints[name]
        found = constraint.dual_value
        if found is None and self.status.startswith("infeasible"):  # some solvers return no ray
            found = np.zeros(constraint.shape)
        if found is None or not np.isfinite(found).all():
            status = f"status {self.status}" if self.status else "not solved yet"
            raise BackendFailure(f"the model has no finite dual values ({status})")
        return np.asarray(found, np.float64).reshape(constraint.shape)


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
        none; or valid cuts over the blocks, such as `model.cuts.select(positions)` of another
        model of the instance

    Returns
    -------
    RelaxationModel over the blocks of the instance

    Raises
    ------
    InstanceError
        If `instance` is not an Instance, or no clustering satisfies its constraints.
    ParameterError
        If `cuts` is not one of these, or has blocks that the instance does not have.
    """
    check_instance(instance)
    if not isinstance(cuts, (bool, CutSet)):
        kind = type(cuts).__name__
        raise ParameterError(f"cuts: of type {kind}; expected True, False or a CutSet")
    contraction = contract(instance)
    if not isinstance(contraction, Contraction):
        raise InstanceError(f"no clustering satisfies the constraints: {contraction}")
    if isinstance(cuts, bool):
        cuts = _cuts_of_root(contraction) if cuts else CutSet.empty()
    elif cuts.column.max(initial=0) >= contraction.n_blocks:
        blocks = counted(contraction.n_blocks, "block")
        raise ParameterError(f"cuts: block {cuts.column.max()}; expected cuts over {blocks}")
    return RelaxationModel(Relaxation.of(contraction), cuts, contraction.block_of)


def _cuts_of_root(contraction: Contraction) -> CutSet:
    """Return the cuts with multipliers once the first-order method stalls."""
    if contraction.n_blocks == 1:  # the first-order method needs two
        return CutSet.empty()
    run = AdmmRun.begin(contraction, SdpParameters())
    while not run.advance(np.inf).stalled:
        pass
    dual = run.dual_point()
    return dual.cuts.select(dual.multipliers > 0.0)
