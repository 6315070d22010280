"""The application: registration of the commands, and errors of the command line."""

from __future__ import annotations

import ast
import difflib
import os
import sys
from collections.abc import Container, Iterable
from importlib import import_module
from pathlib import Path
from typing import Any

from cyclopts import (
    App,
    CoercionError,
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from sdpbb.app.cli.exits import DEBUG, EPILOGUE, ExitCode, discard, fail
from sdpbb.app.cli.help import Layout
from sdpbb.app.cli.options import OPTIONS
from sdpbb.errors import ParameterError
from sdpbb.runtime.version import installed_version

MODULES = {"resume": "solve"}
"""Modules of commands that are not in a module of their own name."""
COMMANDS = (
    "solve",
    "resume",
    "heuristic",
    "gap",
    "batch",
    "check",
    "price",
    "certainty",
    "sweep",
    "verify",
    "generate",
    "suggest",
    "parameters",
    "doctor",
)
"""Commands in the order of the help text, each in a module of its name, or in one of `MODULES`."""

HELP = ("-h", "--help")
OPTION_DEBUG = "--debug"


def application(loaded: Container[str] = COMMANDS, summaries: bool = True) -> App:
    """Return the application.

    loaded : commands to import, which takes half a second; the others have a name and a summary
    summaries : whether they have one, which is read from their files
    """
    app = App(
        "sdpbb",
        help="Exact minimum sum-of-squares clustering with constraints on pairs and clusters, "
        "and published heuristics.",
        help_flags=HELP,
        help_format="plaintext",
        help_formatter=Layout(),
        help_epilogue=EPILOGUE,
        version=lambda: f"sdpbb {installed_version()}",
        version_flags=["--version"],
        group_parameters=OPTIONS,
        suppress_keyboard_interrupt=False,
    )
    for position, name in enumerate(COMMANDS):
        if name in loaded:
            app.command(getattr(import_module(f"sdpbb.app.cli.{MODULES.get(name, name)}"), name))
        else:
            app.command(App(name, help=_summary(name) if summaries else ""))
        app[name].sort_key = position
    app.command(App(OPTION_DEBUG, help="Show where an internal error happened."))
    for option in ("--help", "--version", OPTION_DEBUG):
        app[option].group = OPTIONS
    return app


def main() -> None:
    """Run the command line; the process starts in `sdpbb.__main__`."""
    for stream in (sys.stdout, sys.stderr):
        # A file name that the terminal's encoding lacks must not end a run.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    try:
        sys.exit(_call(sys.argv[1:]))
    except ParameterError as error:
        fail(ExitCode.USAGE, str(error))
    except CycloptsError as error:
        fail(ExitCode.USAGE, _in_one_line(error))
    except KeyboardInterrupt:
        fail(ExitCode.INTERRUPTED, "interrupted")
    except OSError as error:  # of a help text: everything else is caught where it happens
        discard(sys.stdout)
        fail(ExitCode.BAD_INPUT, f"standard output: {error.strerror}")


def _call(arguments: list[str]) -> Any:
    """Run the command of a command line; return its exit status, None for success."""
    if arguments[:1] == [OPTION_DEBUG]:
        os.environ[DEBUG] = "1"
        return _call(arguments[1:])
    name = next((word for word in arguments if not word.startswith("-")), "")
    lists_commands = name not in COMMANDS or arguments[0] != name
    app = application([name], summaries=lists_commands)
    _, apps, rest = app.parse_commands(arguments)
    if not rest and apps[-1].default_command is None:  # a group without a command
        from rich.console import Console

        app.help_print(arguments, console=Console(stderr=True))
        return ExitCode.USAGE
    try:
        return app(arguments, exit_on_error=False, print_error=False, result_action="return_value")
    except UnknownCommandError as error:
        if not {*HELP} & {*arguments}:
            raise
        app.help_print(error.command_chain or ())
        return None


def _summary(command: str) -> str:
    """Return the first paragraph of a command's docstring, or its file's, read from the source."""
    module = MODULES.get(command, command)
    source = ast.parse(Path(__file__).with_name(f"{module}.py").read_bytes())
    functions = [node for node in source.body if isinstance(node, ast.FunctionDef)]
    own = [function for function in functions if function.name == command]
    paragraph = (ast.get_docstring(next(iter(own), source)) or "").partition("\n\n")[0]
    return " ".join(paragraph.split())


def _in_one_line(error: CycloptsError) -> str:
    """Return the message of an error of the command line."""
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword}: given more than once; expected once"
    if isinstance(error, MissingArgumentError) and error.keyword is not None:
        return f"option '{error.keyword}' requires an argument"
    if isinstance(error, CoercionError) and error.token is not None:  # of a flag
        return f"{error.token.keyword} {error.token.value!r}: expected true or false"
    text = "".join(char if char.isprintable() else repr(char)[1:-1] for char in _message(error))
    if text.endswith("?"):
        return text
    return f"{text}; see '{' '.join(['sdpbb', *(error.command_chain or ())])} --help'"


def _message(error: CycloptsError) -> str:
    *_, last = error.command_chain or ("",)
    if last.startswith("-"):  # such as --list
        return f"{last}: cannot be combined with other arguments"
    commands = list(error.app or ())
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        return f"{error.argument.name}: is missing"
    if isinstance(error, UnknownOptionError):
        options = [name for argument in error.argument_collection for name in argument.names]
        return _unknown(error.token.keyword or error.token.value, [*options, *commands])
    if isinstance(error, UnknownCommandError) and error.unused_tokens:
        return _unknown(error.unused_tokens[0], commands)
    if isinstance(error, UnusedCliTokensError):
        return _unexpected(error.unused_tokens or ())
    return str(error)


def _unknown(word: str, known: list[str]) -> str:
    if word in known:  # behind "--", where there are no options
        return _unexpected([word])
    text = f"unknown option: {word}" if word.startswith("-") else f"unknown command '{word}'"
    if word.startswith("-") and os.path.exists(word):
        return f"{text}; to name this file, write ./{word}"
    from sdpbb.problem.rules import LIMITS  # of messages alone

    keyword = LIMITS.get(word.removeprefix("--").replace("-", "_"))
    if keyword is not None and "--constraints" in known:
        return f"{text}; limits are lines of --constraints FILE, such as {keyword} 10"
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    return f"{text}; did you mean {close[0]}?" if close else text


def _unexpected(words: Iterable[str]) -> str:
    return f"got unexpected extra argument(s) ({' '.join(words)})"
