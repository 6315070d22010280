"""Public classes, functions and modules as Markdown: declarations and docstrings, from the source.

Nothing is imported: what a page says does not depend on versions of libraries.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from reference_docstrings import markdown

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 92

Function = ast.FunctionDef | ast.AsyncFunctionDef


def described(path: str, called: Callable[[str], str]) -> str:
    """Return a section on a class or a function, named by its module and its own name.

    called : gives the name that users call a thing, by its path
    """
    module, _, name = path.rpartition(".")
    for node in _source(module).body:
        if isinstance(node, (ast.ClassDef, Function)) and node.name == name:
            return "\n\n".join(_section(node, called(path), module))
    raise LookupError(f"{path}: no class or function of this name in {module}")


def described_module(path: str, called: Callable[[str], str]) -> str:
    """Return what a module says of itself, and a section for each public thing in it."""
    source = _source(path)
    text = [markdown(ast.get_docstring(source) or "")]
    for node in source.body:
        is_thing = isinstance(node, (ast.ClassDef, Function))
        if is_thing and _is_public(node.name) and ast.get_docstring(node):
            text += _section(node, called(f"{path}.{node.name}"), path)
    return "\n\n".join(text)


@cache
def _source(module: str) -> ast.Module:
    file = ROOT.joinpath(*module.split("."))
    file = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    return ast.parse(file.read_text(encoding="utf-8"))


def _section(node: ast.ClassDef | Function, title: str, module: str) -> Iterator[str]:
    yield f"### `{title}`"
    if not isinstance(node, ast.ClassDef):
        yield _code(_declaration(node))
        yield markdown(ast.get_docstring(node) or "")
        return
    yield _code(_class(node))
    yield markdown(ast.get_docstring(node) or "")
    if constants := _described_constants(node):
        yield "\n".join(constants)
    for member in [*node.body, *_members_of_parts(node, module)]:
        if isinstance(member, Function) and _is_public(member.name) and ast.get_docstring(member):
            yield f"#### `{node.name}.{member.name}`"
            yield _code(_declaration(member))
            yield markdown(ast.get_docstring(member) or "")


def _members_of_parts(node: ast.ClassDef, module: str) -> Iterator[Function]:
    """Yield the methods that come from bases in files of the same folder: parts of the class."""
    own = {member.name for member in node.body if isinstance(member, Function)}
    homes = {
        alias.name: each.module
        for each in _source(module).body
        if isinstance(each, ast.ImportFrom) and each.module
        for alias in each.names
    }
    for base in map(ast.unparse, node.bases):
        home = homes.get(base)
        if home is None or home.rpartition(".")[0] != module.rpartition(".")[0]:
            continue
        for part in _source(home).body:
            if isinstance(part, ast.ClassDef) and part.name == base:
                methods = [member for member in part.body if isinstance(member, Function)]
                yield from (method for method in methods if method.name not in own)


def _is_public(name: str) -> bool:
    return not name.startswith("_")


def _code(text: str) -> str:
    return f"```py\n{text}\n```"


def _class(node: ast.ClassDef) -> str:
    """Return the declaration of a class: how it is made, or its fields."""
    bases = ", ".join(ast.unparse(base) for base in node.bases)
    head = f"class {node.name}({bases})" if bases else f"class {node.name}"
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef) and each.name == "__init__":
            return _wrapped(head.partition("(")[0], _arguments(each), "")
    return "\n    ".join([f"{head}:" if (fields := list(_fields(node))) else head, *fields])


def _fields(node: ast.ClassDef) -> Iterator[str]:
    for each in node.body:
        if isinstance(each, ast.AnnAssign) and _is_public(ast.unparse(each.target)):
            default = "" if each.value is None else f" = {_default(each.value)}"
            yield f"{ast.unparse(each.target)}: {ast.unparse(each.annotation)}{default}"
        elif isinstance(each, ast.Assign) and isinstance(each.value, ast.Constant):
            yield ast.unparse(each)


def _default(value: ast.expr) -> str:
    """Return a default as it is made, rather than as it is declared."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("parameter", "field"):
        made = {each.arg: each.value for each in value.keywords}
        first = value.args[0] if value.args else made.get("default", made.get("default_factory"))
        if first is None:
            return "..."
        is_factory = not value.args and "default_factory" in made
        is_class = isinstance(first, ast.Name) and first.id[0].isupper()
        text = "..." if isinstance(first, ast.Lambda) else ast.unparse(first)
        return f"{text}()" if text != "..." and (is_factory or is_class) else text
    return ast.unparse(value)


def _described_constants(node: ast.ClassDef) -> list[str]:
    """Return an item for each field or value that has a docstring behind it."""
    items = []
    for each, following in zip(node.body, node.body[1:], strict=False):
        is_text = isinstance(following, ast.Expr) and isinstance(following.value, ast.Constant)
        if isinstance(each, (ast.Assign, ast.AnnAssign)) and is_text:
            target = each.target if isinstance(each, ast.AnnAssign) else each.targets[0]
            text = " ".join(inspect.cleandoc(str(following.value.value)).split())
            items.append(f"- `{ast.unparse(target)}`: {markdown(text)}")
    return items


def _declaration(node: Function) -> str:
    """Return the declaration of a function, a method or a property."""
    kinds = [ast.unparse(each) for each in node.decorator_list]
    returned = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    if any("property" in kind for kind in kinds):
        return f"{node.name}: {ast.unparse(node.returns)}" if node.returns else node.name
    head = [f"@{kind}" for kind in kinds if kind in ("classmethod", "staticmethod")]
    return "\n".join([*head, _wrapped(f"def {node.name}", _arguments(node), returned)])


def _arguments(node: Function) -> list[str]:
    """Return the arguments of a function, without self and cls."""
    given = node.args
    plain = [*given.posonlyargs, *given.args]
    defaults = [None] * (len(plain) - len(given.defaults)) + list(given.defaults)
    found = [_argument(*each) for each in zip(plain, defaults, strict=True)]
    if plain and plain[0].arg in ("self", "cls"):
        found = found[1:]
    if given.vararg:
        found.append(f"*{_argument(given.vararg, None)}")
    elif given.kwonlyargs:
        found.append("*")
    found += [_argument(*each) for each in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        found.append(f"**{_argument(given.kwarg, None)}")
    return found


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    typed = "" if argument.annotation is None else f": {ast.unparse(argument.annotation)}"
    if default is None:
        return f"{argument.arg}{typed}"
    equals = " = " if typed else "="
    return f"{argument.arg}{typed}{equals}{ast.unparse(default)}"


def _wrapped(head: str, arguments: list[str], tail: str) -> str:
    line = f"{head}({', '.join(arguments)}){tail}"
    if len(line) <= COLUMNS:
        return line
    return "\n".join([f"{head}(", *(f"    {each}," for each in arguments), f"){tail}"])
