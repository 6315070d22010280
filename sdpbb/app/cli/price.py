"""The command `sdpbb price`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

from sdpbb.app.cli import options
from sdpbb.app.cli.engine import StudyOptions
from sdpbb.app.cli.exits import ExitCode, study_exit_code
from sdpbb.app.cli.inputs import InstanceOptions
from sdpbb.app.cli.outputs import TableOutputs, import_engine, running
from sdpbb.errors import InstanceError, ParameterError
from sdpbb.runtime.files import shown_path

if TYPE_CHECKING:
    from sdpbb.problem import Instance
    from sdpbb.problem.statements import Statement
    from sdpbb.questions.price import Price

# Constraints that the table shows.
TOP = 20


def price(
    data: options.Data,
    /,
    *,
    inputs: InstanceOptions = InstanceOptions(),
    only: Annotated[
        str | None,
        options.option(
            metavar="LINES",
            default="all",
            help="Price only the constraints on these lines of the file, such as 4,9,12-15 (in a "
            "JSON file: ml[3],cl[0]).",
        ),
    ] = None,
    top: Annotated[
        int,
        options.option(
            metavar="N", help="Show the N most expensive constraints; --json and --csv hold all."
        ),
    ] = TOP,
    engine: StudyOptions = StudyOptions(),
    outputs: TableOutputs = TableOutputs(),
    quiet: options.Quiet = False,
) -> ExitCode:
    """Compute what each must-link and cannot-link, hard or soft, costs.

    The price of a constraint is the decrease of the optimum without it. The most expensive come
    first; a wrong constraint is often among them. The instance is solved once, and again without
    each constraint that the others do not imply. A soft constraint costs its weight if the optimal
    clustering violates it, otherwise at most that.
    """
    if top < 0:
        raise ParameterError(f"top = {top}: expected an integer >= 0")
    parameters = engine.parameters()
    outputs.check([data, inputs.constraints, engine.file])
    instance = inputs.read(data, quiet)
    n_hard = len(instance.must_link) + len(instance.cannot_link)
    if n_hard == 0 and not instance.has_soft_constraints:
        raise InstanceError(
            f"{shown_path(inputs.constraints or data)}: no must-links or cannot-links, hard "
            "or soft; only they have a price (give --constraints)"
        )
    chosen = None if only is None else _chosen(instance, only)
    import_engine()
    from sdpbb.questions.price import constraint_prices

    def on_price(price: Price, left: int) -> None:
        # There are many that cost nothing, and they come fast.
        is_news = price.upper > 0 or left == 0
        (current.tell if is_news else current.tell_now_and_then)(f"{price}; {left} to go")

    with running(outputs, quiet) as current:
        report = constraint_prices(
            instance,
            chosen,
            parameters,
            time_limit_each=engine.seconds_each,
            observer=current.progress(),
            on_price=on_price,
            interrupt=current.interrupt,
        )
        current.tell(f"\n{report.table(top)}")
        document = partial(report.document, top)
        outputs.write(report, quiet, document=document, name=instance.name)
    return study_exit_code(report.interrupted, report.problems, report.is_complete, report.result)


def _chosen(instance: Instance, only: str) -> list[Statement]:
    """The constraints of these places in the file."""
    from sdpbb.problem.statements import stated_constraints

    stated = stated_constraints(instance)
    file = shown_path(instance.origin.constraints_path)
    chosen = []
    for place in options.listed("only", only):
        there = [s for s in stated if s.place in (f"{file}:{place}", f"{file}: {place}")]
        if not there:
            raise ParameterError(
                f"only = {place}: no must-link or cannot-link "
                f"there{f' in {file}' if file else ', as there is no file of constraints'}"
            )
        chosen += there
    return chosen
