"""The command `sdpbb heuristic`."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Annotated, Any

from cyclopts import App

from heuristics.registry import METHODS, check_method, check_parameters, method_parameters, summary
from heuristics.result import HeuristicResult
from sdpbb.app.cli import options
from sdpbb.app.cli.app import ExitCode, interrupted, of_option
from sdpbb.app.cli.files import InstanceOptions, LabelOutputs, import_engine, running
from sdpbb.errors import ParameterError
from sdpbb.problem import Instance
from sdpbb.runtime.document import Document
from sdpbb.runtime.results import Reported, values_of
from sdpbb.runtime.version import installed_version

heuristic = App("heuristic", group_parameters=options.OPTIONS, version_flags=[])


@heuristic.command(name="--list")
def list_methods() -> None:
    """Show the methods and exit."""
    width = max(map(len, METHODS))
    for name in METHODS:
        print(f"{name:<{width}}  {summary(name)}")


@heuristic.default
def run(
    method: Annotated[str, options.argument("NAME", help="The method; see --list.")],
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    seed: options.Seed = 0,
    time_limit: Annotated[
        float | None,
        options.option(metavar="S", help="Stop after S seconds.", group=options.LIMITS),
    ] = None,
    option: Annotated[
        list[str] | None,
        options.repeated(
            "--option",
            "-o",
            metavar="NAME=VALUE",
            help="Set a parameter of the method, such as n_starts=10.",
        ),
    ] = None,
    outputs: LabelOutputs = LabelOutputs(),
) -> ExitCode:
    """Search for a clustering of the points in DATA, without a proof.

    --list shows the published methods: which satisfy hard constraints, and which support soft ones.
    docs/heuristics.md describes their parameters.
    """
    check_method(method)
    if seed < 0:
        raise ParameterError(f"seed = {seed}: expected an integer >= 0")
    outputs.check([data, inputs.constraints])
    instance = inputs.read(data, outputs.quiet)
    # The compiler is imported last, so that errors in the input are reported at once.
    parameters = _parameters(method, option or [], time_limit)
    from threadpoolctl import threadpool_limits

    import_engine()
    from sdpbb.run.heuristic import heuristic as configured_by
    from sdpbb.run.report import instance_line

    # One thread, as in `sdpbb.run.solving`: the matrices are small.
    with (
        running(outputs) as current,
        threadpool_limits(1),
        _errors_name_option(parameters.keys() - {"time_limit"}),
    ):
        configured = configured_by(method, **parameters)
        configured.check(instance)
        by = f"constrained clustering by {method}, without a proof"
        current.tell(f"sdpbb {installed_version()}: {by}\n{instance_line(instance)}\n")
        started = time.perf_counter()

        def is_interrupted() -> bool:
            """Return whether to end, and print the seconds now and then."""
            seconds = time.perf_counter() - started
            current.tell_now_and_then(f"{'Working':<15} {seconds:.0f} s")
            return current.interrupt.is_set()

        result = configured.run(instance, seed, is_interrupted)
        report = HeuristicReport(
            instance,
            result,
            {name: known.default for name, known in method_parameters(method).items()}
            | {**parameters},
            installed_version(),
        )
        current.tell(str(report))
        labelling = outputs.labelling(result.labels, instance.origin)
        outputs.write(report, labelling, outputs.page(report.document))
    return heuristic_exit_code(result)


def _parameters(method: str, given: list[str], time_limit: float | None) -> dict[str, Any]:
    """Return the parameters of a method from NAME=VALUE."""
    known, values = method_parameters(method), dict[str, Any]()
    for option in given:
        name, equals, text = option.partition("=")
        if not (name and equals):
            raise ParameterError(f"--option {option!r}: expected NAME=VALUE")
        check_parameters(method, name)
        if name == "time_limit":
            raise ParameterError(f"--option {option}: expected --time-limit instead")
        if name in values:
            raise ParameterError(f"--option {option}: {name} is given twice; expected it once")
        with _errors_name_option({name}):
            values[name] = known[name].checked(_plain(text))
    return values | options.given(time_limit=time_limit)


def _plain(text: str) -> Any:
    """Return the value of a text in TOML; other texts are returned as they are."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return None if text.lower() == "none" else text


@contextmanager
def _errors_name_option(parameters: Container[str]) -> Iterator[None]:
    """Context manager: errors on a parameter become errors on its option."""
    try:
        yield
    except ParameterError as error:
        raise ParameterError(of_option(error, parameters)) from None


def heuristic_exit_code(result: HeuristicResult) -> ExitCode:
    """Return the exit status of a heuristic's result."""
    from heuristics.result import HeuristicStatus, Stop

    match result.status:
        case HeuristicStatus.INFEASIBLE:
            return ExitCode.INFEASIBLE
        case _ if result.stop is Stop.INTERRUPTED:
            return interrupted()
        case HeuristicStatus.FOUND:
            return ExitCode.FOUND
        case HeuristicStatus.NOT_FOUND:
            return ExitCode.LIMIT_WITHOUT_CLUSTERING


@dataclass(frozen=True)
class HeuristicReport(Reported):
    """Report on a heuristic: its result, and the parameters of the method."""

    instance: Instance
    result: HeuristicResult
    parameters: Mapping[str, Any]
    version: str

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; numbers that are not finite become None."""
        own = values_of(self, "parameters", "version")
        return values_of(self, "instance:instance.name") | self.result.to_dict() | own

    def document(self) -> Document:
        """Return the document of the result, with the name of the instance."""
        return replace(self.result.document(), name=self.instance.name)
