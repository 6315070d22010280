"""Whether an instance goes with what a run on it is asked for."""

from __future__ import annotations

import pickle

from sdpbb.errors import InstanceError, ParameterError
from sdpbb.files import shown_path
from sdpbb.parameters import SolverParameters
from sdpbb.problem import ClusterConstraint, Instance
from sdpbb.problem.compiled_constraints import is_built_in
from sdpbb.problem.instance import check_instance
from sdpbb.problem.textfile import FilePath


def check_compatibility(
    instance: Instance, parameters: SolverParameters, checkpoint: FilePath | None
) -> None:
    """Refuse, before the run, what it could not do or would do wrong.

    Raises
    ------
    InstanceError
        If the instance is none, or has soft constraints.
    ParameterError
        If the parameters are none. If the instance's constraints on clusters are more than the
        bounding knows of, have no place in a checkpoint, or cannot be sent to other processes.
    """
    check_instance(instance)
    if not isinstance(parameters, SolverParameters):
        kind = type(parameters).__name__
        raise ParameterError(
            f"parameters = ...: of type {kind}; expected an sdpbb.SolverParameters"
        )
    if instance.has_soft_constraints:
        raise InstanceError(
            "soft constraints: only hard ones can be solved exactly; give them as must-links and "
            "cannot-links, or use a heuristic that weighs them (pccc)"
        )
    if instance.has_constraints_beyond_pairs and parameters.bounding == "sdp":
        raise ParameterError(
            "bounding = 'sdp': expected 'colgen' or 'hybrid', as there are constraints on clusters "
            "that are more than cannot-links"
        )
    custom = [c for c in instance.cluster_constraints if not is_built_in(c)]
    if custom and checkpoint is not None:
        raise ParameterError(
            f"checkpoint = {shown_path(checkpoint)}: expected none, as a checkpoint holds no "
            f"constraint that does not come with sdpbb ({type(custom[0]).__name__})"
        )
    if custom and parameters.dask is not None:
        _check_picklable(custom, f"dask = {parameters.dask}: expected None")
    elif custom and parameters.workers > 1:
        _check_picklable(custom, f"workers = {parameters.workers}: expected 1")


def _check_picklable(constraints: list[ClusterConstraint], wrong: str) -> None:
    try:
        pickle.dumps(constraints)
    except Exception as error:  # whatever the classes raise
        detail = " ".join(str(error).split())
        raise ParameterError(
            f"{wrong}, as constraints on clusters cannot be sent to other processes ({detail})"
        ) from None
