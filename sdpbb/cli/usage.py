"""Errors of the command line as one line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer
from typer.core import TyperCommand

from sdpbb.errors import ParameterError

# Messages of typer on a wrong value, and what is expected instead of it.
_EXPECTED = {
    r".* is not one of (.*?)\.?": r"one of \1",
    r".*\binteger\b.*": "an integer",
    r".*\b(?:number|float)\b.*": "a number",
}


class Command(TyperCommand):
    """A command whose errors name the value, and whose options that hold one are given once."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """
        Raises
        ------
        ParameterError
            If a value is missing or wrong, or an option with one value is given several times.
        """
        given = list(args)  # the parser takes its list apart
        try:
            rest = super().parse_args(ctx, args)
        except typer.BadParameter as error:
            if error.param is None:
                raise
            value = self.make_parser(ctx).parse_args(given)[0].get(error.param.name)
            raise ParameterError(_wrong_value(error, value)) from None
        self._require_single_values(ctx, given)
        return rest

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the parts of the usage line, arguments without braces."""
        return [piece.strip("{}") for piece in super().collect_usage_pieces(ctx)]

    def _require_single_values(self, ctx: Any, args: list[str]) -> None:
        order = self.make_parser(ctx).parse_args(args)[2]
        for param in dict.fromkeys(order):
            times = order.count(param)
            if times > 1 and isinstance(param, typer.core.TyperOption) and _has_one_value(param):
                count = "twice" if times == 2 else f"{times} times"
                raise ParameterError(f"{_name(param)}: given {count}; expected once")


def with_one_line_errors(app: typer.Typer) -> None:
    """Make every command of an application, and of its groups, a `Command`."""
    for info in _commands(app):
        info.cls = Command


def is_help(error: Any) -> bool:
    """Return whether an error asks for a help text, as for a group without a command."""
    return type(error).__name__ == "NoArgsIsHelpError"


def show_help(error: Any) -> None:
    """Print the help text that an error asks for."""
    error.show()


def in_one_line(error: Any) -> str:
    """Return the message of a `typer.TyperException`."""
    text = error.format_message().strip().removesuffix(".")
    text = re.sub(r"\. (\w)", lambda found: f"; {found[1].lower()}", text)
    text = _printable(text[:1].lower() + text[1:])
    return text if text.endswith("?") else text + _hint(error)


def _commands(app: typer.Typer) -> Iterator[Any]:
    yield from app.registered_commands
    for group in app.registered_groups:
        if group.typer_instance is not None:
            yield from _commands(group.typer_instance)


def _wrong_value(error: typer.BadParameter, value: object) -> str:
    name = _name(error.param)
    if value is None:
        return f"{name}: is missing{_hint(error)}"
    for pattern, expected in _EXPECTED.items():
        found = re.fullmatch(pattern, error.message, re.DOTALL)
        if found is not None:
            return f"{name} {value!r}: expected {found.expand(expected)}"
    return f"{name} {value!r}: {_printable(error.message)}"


def _hint(error: Any) -> str:
    context = getattr(error, "ctx", None)
    return "" if context is None else f"; see '{context.command_path} --help'"


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _name(param: Any) -> str:
    """Return the name as the user writes it: --option, -k, ARGUMENT."""
    if isinstance(param, typer.core.TyperOption):
        return str(max(param.opts, key=len))
    return str(param.metavar or param.name).removesuffix("...")


def _has_one_value(option: typer.core.TyperOption) -> bool:
    return not (option.is_flag or option.multiple or option.count)
