"""Help texts: their layout, and commands that have them."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_type_hints

from cyclopts import App

from sdpbb.app.cli.exits import EPILOGUE, ExitCode, one_line_errors
from sdpbb.app.cli.options import OPTIONS, Debug

if TYPE_CHECKING:
    from cyclopts.help import HelpEntry, HelpPanel
    from rich.console import Console, ConsoleOptions, RenderableType

# Columns of the names of options; longer names have a line of their own.
NAMES = 22


class Layout:
    """Layout of help texts: two columns, without frames and colours."""

    def render_usage(self, console: Console, options: ConsoleOptions, usage: Any) -> None:
        """Print the usage line."""
        console.print(f"Usage: {str(usage).strip()}", markup=False, emoji=False, highlight=False)

    def render_description(
        self, console: Console, options: ConsoleOptions, description: RenderableType
    ) -> None:
        """Print the paragraphs on the command."""
        from rich.padding import Padding

        _write(console, _lines(console, Padding(description, (0, 0, 0, 2))))

    def __call__(self, console: Console, options: ConsoleOptions, panel: HelpPanel) -> None:
        """Print one group of arguments, options or commands."""
        from rich.padding import Padding

        rows = [(_names(entry), _description(entry)) for entry in panel.entries]
        if not rows:
            return
        width = min(NAMES, max(len(names) for names, _ in rows))
        lines = [f"{panel.title}:"]
        for names, description in rows:
            text = _lines(console, Padding(description, (0, 0, 0, width + 4)))
            if len(names) > width:
                lines.append(f"  {names}")
            elif text:
                text[0] = f"  {names:<{width}}  {text[0].strip()}"
            lines += text
        _write(console, lines)


def command(function: Callable[..., ExitCode | None]) -> App:
    """Return the command of a function: its name, docstring and parameters, and --debug.

    Errors are one line on standard error.
    """

    @functools.wraps(function)
    def run(*arguments: Any, debug: bool = False, **named: Any) -> ExitCode | None:
        with one_line_errors(debug):
            return function(*arguments, **named)

    types = get_type_hints(function, include_extras=True) | {"debug": Debug}
    own = inspect.signature(function)
    debug = inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, default=False)
    parameters = [
        parameter.replace(annotation=types[parameter.name])
        for parameter in (*own.parameters.values(), debug)
    ]
    run.__annotations__ = types
    run.__dict__["__signature__"] = own.replace(parameters=parameters)
    del run.__dict__["__wrapped__"]
    return App(
        function.__name__,
        default_command=run,
        help=_paragraphs(function),
        help_epilogue=EPILOGUE,
        version_flags=[],
        group_parameters=OPTIONS,
    )


def _lines(console: Console, content: RenderableType) -> list[str]:
    """Return the lines that a console makes of something, without spaces at their ends."""
    with console.capture() as captured:
        console.print(content, markup=False, emoji=False, highlight=False)
    return [line.rstrip() for line in captured.get().rstrip().splitlines()]


def _write(console: Console, lines: list[str]) -> None:
    """Print an empty line and these, as they are."""
    console.out("\n".join(["", *lines]), highlight=False)


def _paragraphs(function: Callable[..., Any]) -> str:
    """Return the docstring of a function, a line for each paragraph."""
    text = inspect.getdoc(function) or ""
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _names(entry: HelpEntry) -> str:
    """Return the names of an option with what follows them: -q, --quiet; --bounding <sdp|...>."""
    if entry.positional_label:
        return entry.positional_label
    names = ", ".join([*entry.positive_shorts, *entry.positive_names])
    if entry.negative_names:
        names += f" / {', '.join(entry.negative_names)}"
    value = f"<{'|'.join(entry.choices)}>" if entry.choices else entry.metavar
    return f"{names} {value}" if value else names


def _description(entry: HelpEntry) -> RenderableType:
    """Return the help text of an entry, with whether it is required, or its default."""
    from rich.text import Text

    description: Any = entry.description
    if entry.required:
        description.append(Text("[required]"))
    elif entry.default is not None:
        description.append(Text(f"[default: {entry.default}]"))
    shown: RenderableType = description
    return shown
