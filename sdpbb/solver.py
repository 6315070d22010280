"""solve: the one place that chooses implementations and puts them together."""

from __future__ import annotations

import threading
from dataclasses import asdict
from importlib.metadata import version

from threadpoolctl import threadpool_limits

from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.compilation import prepare_kernels
from sdpbb.executors.pool import TaskPool
from sdpbb.executors.processes import LocalProcesses
from sdpbb.executors.serial import SerialExecutor
from sdpbb.executors.warm_up import load_kernels
from sdpbb.feasibility import find_feasible
from sdpbb.parameters import SolverParameters
from sdpbb.problem import Contraction, Infeasibility, Instance, Partition, contract
from sdpbb.result import Result, SolutionStatus, Statistics, Termination
from sdpbb.search.branch_and_bound import Search, Workforce, branch_and_bound
from sdpbb.search.evaluate import EvaluationContext
from sdpbb.search.events import Compiling, Finished, Observer, Started, ignore
from sdpbb.search.node import Node
from sdpbb.search.stop import Limits
from sdpbb.search.tolerances import Tolerances
from sdpbb.search.tree import Tree


def solve(
    instance: Instance,
    parameters: SolverParameters | None = None,
    observer: Observer = ignore,
    interrupt: threading.Event | None = None,
) -> Result:
    """Find a clustering with the least sum of squares that keeps the constraints, and prove it.

    minimise    sum_i || p_i - m_{l(i)} ||^2
    subject to  l(i) = l(j) for must-links, l(i) != l(j) for cannot-links, exactly k clusters

    by branch and cut over contracted semidefinite bounds (Piccialli, Russo Russo, Sudoso: An exact
    algorithm for semi-supervised minimum sum-of-squares clustering, 2022). "optimal" means that a
    bound which is valid whatever the numerical method did lies within the gap of the clustering.

    Parameters
    ----------
    instance : points, k and constraints
    parameters : tolerance, limits, seed, and the numbers of the components
    observer : is told how the run goes (`sdpbb.search.events`)
    interrupt : set it, from a signal handler or another thread, to end the run cleanly

    Returns
    -------
    Result; repeatable for a seed unless a time limit, an interrupt, or a time-limited assignment
    step (see `heuristics.parameters`) cuts in.

    Raises
    ------
    BackendFailure
        If the integer programming solver fails.
    """
    parameters = parameters or SolverParameters()
    # Two BLAS threads have been seen to slow small eigenvalue problems down by factors of 10 to
    # 150; parallelism belongs across nodes.
    with threadpool_limits(1):
        prepare_kernels(lambda: observer(Compiling()))
        limits = Limits(
            time_limit=parameters.time_limit,
            node_limit=parameters.node_limit,
            memory_limit=parameters.memory_limit,
            interrupt=interrupt or threading.Event(),
        )
        result = _solve(instance, parameters, limits, observer)
    observer(Finished(result))
    return result


def _solve(
    instance: Instance, parameters: SolverParameters, limits: Limits, observer: Observer
) -> Result:
    contraction = contract(instance)
    if isinstance(contraction, Infeasibility):
        observer(_started(instance, n_blocks=0, n_cannot_link=0))
        return _infeasible(contraction, parameters, limits)
    observer(_started(instance, contraction.n_blocks, len(contraction.cannot_link)))
    first = find_feasible(contraction, limits.seconds_left)
    if isinstance(first, Infeasibility):
        return _infeasible(first, parameters, limits)
    if first is None:
        return _unknown(contraction, parameters, limits)
    tolerances = Tolerances.of(parameters.gap, contraction)
    context = EvaluationContext(
        instance=instance,
        bounding=SdpBounding(parameters.sdp),
        search=parameters.search,
        tolerances=tolerances,
        seed=parameters.seed,
    )
    labels = contraction.lift(first)
    tree = Tree(Node(blocks=contraction.block_of, feasible=labels), tolerances)
    tree.offer(labels, Partition(labels).sum_of_squares(instance.points), "colouring")
    search = Search(tree)
    limit = branch_and_bound(search, context, limits, observer, _workforce(parameters))
    return _result(instance, parameters, contraction, search, limit, limits.seconds)


def _workforce(parameters: SolverParameters) -> Workforce:
    here = TaskPool(SerialExecutor())
    if parameters.workers == 1:
        return Workforce(here)
    return Workforce(here, lambda: TaskPool(LocalProcesses(parameters.workers, load_kernels)))


def _started(instance: Instance, n_blocks: int, n_cannot_link: int) -> Started:
    return Started(
        name=instance.name,
        n_points=instance.n_points,
        n_features=instance.n_features,
        k=instance.k,
        n_must_link=len(instance.must_link),
        n_cannot_link=len(instance.cannot_link),
        n_blocks=n_blocks,
        n_block_cannot_link=n_cannot_link,
    )


def _infeasible(proof: Infeasibility, parameters: SolverParameters, limits: Limits) -> Result:
    return Result(
        status=SolutionStatus.INFEASIBLE,
        termination=Termination.PROVEN_INFEASIBLE,
        partition=None,
        objective=None,
        lower_bound=None,
        gap=None,
        statistics=Statistics(wall_seconds=limits.seconds, n_nodes=0),
        infeasibility=proof,
        parameters=parameters.to_dict(),
        version=version("sdpbb"),
    )


def _unknown(contraction: Contraction, parameters: SolverParameters, limits: Limits) -> Result:
    """Time ran out before it was known whether there is a clustering."""
    return Result(
        status=SolutionStatus.UNKNOWN,
        termination=Termination.TIME_LIMIT,
        partition=None,
        objective=None,
        lower_bound=0.0,
        gap=None,
        statistics=Statistics(
            wall_seconds=limits.seconds, n_nodes=0, n_blocks=contraction.n_blocks
        ),
        parameters=parameters.to_dict(),
        version=version("sdpbb"),
    )


def _result(
    instance: Instance,
    parameters: SolverParameters,
    contraction: Contraction,
    search: Search,
    limit: Termination | None,
    seconds: float,
) -> Result:
    tree, statistics = search.tree, search.statistics
    closed = tree.is_closed
    assert tree.labels is not None  # the colouring at least
    assert closed or limit is not None
    partition = Partition(tree.labels)
    if not partition.is_feasible(instance):
        raise AssertionError("the incumbent violates a constraint")
    objective = partition.sum_of_squares(instance.points)
    lower = min(tree.lower, objective)
    return Result(
        status=SolutionStatus.OPTIMAL if closed else SolutionStatus.FEASIBLE,
        termination=Termination.GAP_CLOSED if limit is None or closed else limit,
        partition=partition,
        objective=objective,
        lower_bound=lower,
        gap=tree.tolerances.relative_gap(lower, objective),
        statistics=Statistics(
            wall_seconds=seconds, n_blocks=contraction.n_blocks, **asdict(statistics)
        ),
        parameters=parameters.to_dict(),
        version=version("sdpbb"),
    )
