"""The parameters of the engine, from the options of a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sdpbb.cli.options import Bounding, SdpSolver, given, usable_cores

if TYPE_CHECKING:
    from sdpbb.parameters import SolverParameters


def solver_parameters(
    *,
    gap: float,
    seed: int = 0,
    bounding: Bounding = Bounding.HYBRID,
    sdp_solver: SdpSolver = SdpSolver.ADMM,
    fixing: bool = True,
    workers: int | None = None,
    dask: str | None = None,
    time_limit: float | None = None,
    node_limit: int | None = None,
    memory_limit: float | None = None,
) -> SolverParameters:
    """None stands for what was not given: without workers and dask, all cores are used.

    Raises
    ------
    ParameterError
        On a value outside of its domain.
    """
    from sdpbb.bounds.sdp.parameters import SdpParameters
    from sdpbb.parameters import SolverParameters
    from sdpbb.search.parameters import SearchParameters

    if workers is None and dask is None:
        workers = usable_cores()
    limits = {"time_limit": time_limit, "node_limit": node_limit, "memory_limit": memory_limit}
    return SolverParameters(
        gap=gap,
        seed=seed,
        bounding=bounding.value,
        sdp=SdpParameters(solver=sdp_solver.value),
        search=SearchParameters(fixing=fixing),
        **given(**limits, workers=workers, dask=dask),  # type: ignore[arg-type]
    )
