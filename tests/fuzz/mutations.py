"""What is done to the bytes of a valid file."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable

import numpy as np

Mutation = Callable[[np.random.Generator, bytes], bytes]

# No file that is tried is longer.
LONGEST = 1 << 20
NUMBERS = (
    *(b"nan", b"inf", b"-inf", b"1e999", b"-1e400", b"1e100", b"1e101", b"1e-320", b"-0", b"0"),
    *(b"-1", b"1", b"2", b"3", b"4", b"7", b"999999999999", b"9223372036854775807", b"1e5"),
    *(
        b"9223372036854775808",
        b"1" * 400,
        b"1" * 5000,
        b"0x" + b"f" * 5000,
        b"0x10",
        b"1_0",
        b"1.5",
        b".5",
        b"5.",
        b"",
    ),
    *(b"+3", b"--3", b"1e", b"1e99999999999999999999", "٣".encode(), "१२".encode(), "²".encode()),
    *("１".encode(), b"true", b"null", b"1,2", b"1;2", b'"1"', b"1\x00", b"1e-400", b"1/2", b"1j"),
)
TOKENS = (
    *(b"ML", b"CL", b"SML", b"SCL", b"GAMMA", b"DELTA", b"MAXSIZE", b"OVERLAP", b"DIFFERENCE"),
    *(b"SOFTCL", b"#", b'"', b"'", b",", b";", b"\t", b"\r", b"\n", b"\r\n", b"\x0b", b"\x0c"),
    *(b"\x1c", b"\x85", "\x85".encode(), "\u2028".encode(), "\u00a0".encode(), b"\xff", b"\x00"),
    *(b"\xef\xbb\xbf", b"\xfe\xff", b"[", b"]", b"{", b"}", b"[[", b"=", b"{stem}", b"{0}", b"*"),
    *(b"**", b"[[instance]]", b"[defaults]", b"data", b"k = ", b"\\", b"%", b"../", b"/", b"~"),
    *(b"\xed\xa0\x80", "\U0001f4a9".encode(), b"\\ud800", b"\\u0000", b"NaN", b"Infinity", b":"),
)
_NUMBER = re.compile(rb"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?")


def mutate(rng: np.random.Generator, content: bytes, others: list[bytes]) -> bytes:
    """One to four changes, mostly one; sometimes a piece of another file is put in."""
    for _ in range(1 + int(rng.geometric(0.6)) if rng.random() < 0.5 else 1):
        if rng.random() < 0.05:
            content = _splice(rng, content, others[rng.integers(len(others))])
        else:
            content = MUTATIONS[rng.integers(len(MUTATIONS))](rng, content)
    return content[:LONGEST]


def _position(rng: np.random.Generator, content: bytes) -> int:
    """Anywhere; half of the time near the beginning, where headings are."""
    most = len(content) if rng.random() < 0.5 else min(len(content), 64)
    return int(rng.integers(most + 1))


def _flip_bits(rng: np.random.Generator, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(int(rng.integers(1, 4)) if changed else 0):
        changed[min(_position(rng, content), len(changed) - 1)] ^= 1 << int(rng.integers(8))
    return bytes(changed)


def _set_bytes(rng: np.random.Generator, content: bytes) -> bytes:
    at, new = _position(rng, content), rng.bytes(int(rng.integers(1, 9)))
    if rng.random() < 0.3:
        new = bytes([int(rng.choice([0, 255, 127, 128]))]) * len(new)
    return content[:at] + new + content[at + len(new) :]


def _insert_token(rng: np.random.Generator, content: bytes) -> bytes:
    at = _position(rng, content)
    return content[:at] + TOKENS[rng.integers(len(TOKENS))] + content[at:]


def _remove(rng: np.random.Generator, content: bytes) -> bytes:
    at = _position(rng, content)
    return content[:at] + content[at + int(rng.integers(1, 20)) :]


def _truncate(rng: np.random.Generator, content: bytes) -> bytes:
    return content[: _position(rng, content)]


def _repeat(rng: np.random.Generator, content: bytes) -> bytes:
    at, length = _position(rng, content), int(rng.integers(1, 200))
    times = int(rng.choice([1, 2, 10, 1000]))
    return content[:at] + content[at : at + length] * times + content[at:]


def _number(rng: np.random.Generator, content: bytes) -> bytes:
    """One number in the text is replaced."""
    found = list(_NUMBER.finditer(content[:100_000]))
    if not found:
        return _insert_token(rng, content)
    start, end = found[rng.integers(len(found))].span()
    return content[:start] + NUMBERS[rng.integers(len(NUMBERS))] + content[end:]


def _lines(rng: np.random.Generator, content: bytes) -> bytes:
    """Lines in another order, twice, joined or left out."""
    lines = content.split(b"\n")
    i, j = (int(x) for x in rng.integers(0, len(lines), 2))
    what = rng.integers(5)
    if what == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif what == 1:
        lines.insert(i, lines[j])
    elif what == 2:
        del lines[i]
    elif what == 3 and i + 1 < len(lines):
        lines[i : i + 2] = [lines[i] + b" " + lines[i + 1]]
    else:
        lines[i] = rng.choice([b"", b" ", b"\t", b"#", b"\x00"]) + lines[i]
    return b"\n".join(lines)


def _line_ends(rng: np.random.Generator, content: bytes) -> bytes:
    return content.replace(b"\n", [b"\r\n", b"\r", b"\n\n", b" "][rng.integers(4)])


def _tokens(rng: np.random.Generator, content: bytes) -> bytes:
    """One word is replaced by another one of the file."""
    words = list(re.finditer(rb"[^\s,]+", content[:100_000]))
    if not words:
        return content
    one, other = words[rng.integers(len(words))], words[rng.integers(len(words))]
    new = other.group() if rng.random() < 0.5 else TOKENS[rng.integers(len(TOKENS))]
    return content[: one.start()] + new + content[one.end() :]


def _nest(rng: np.random.Generator, content: bytes) -> bytes:
    """Deeply."""
    at, depth = _position(rng, content), int(rng.choice([10, 1000, 100_000]))
    opening, closing = [(b"[", b"]"), (b'{"a":', b"}"), (b"[[", b"]]")][rng.integers(3)]
    middle = content[at : at + 5] if rng.random() < 0.5 else b"1"
    return content[:at] + opening * depth + middle + closing * depth + content[at:]


def _splice(rng: np.random.Generator, content: bytes, other: bytes) -> bytes:
    at, start = _position(rng, content), _position(rng, other)
    return content[:at] + other[start : start + int(rng.integers(1, 300))] + content[at:]


def _json(rng: np.random.Generator, content: bytes) -> bytes:
    """A value somewhere in a JSON document is replaced by another one."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _number(rng, content)
    return json.dumps(changed_value(rng, document)).encode()


ODD_VALUES = (
    *(None, True, False, 0, -1, 1, 2, 3, 10**30, -(2**63), 2**63 - 1, 0.5, -0.0, 1e308, 5e-324),
    *(float("nan"), float("inf"), "", "a", "1", "\ud800", "\x00", [], {}, [[]], [1], [[0, 1]]),
    *({"a": 1}, [None], "x" * 1000, [0, 1, 2]),
)


def changed_value(rng: np.random.Generator, document: object) -> object:
    """The document with one value changed, added, left out or taken from elsewhere in it."""
    holders: list[dict | list] = []
    stack = [document]
    while stack:
        value = stack.pop()
        if isinstance(value, (dict, list)) and value:
            holders.append(value)
            stack += value.values() if isinstance(value, dict) else value
    if not holders:
        return ODD_VALUES[rng.integers(len(ODD_VALUES))]
    holder = holders[rng.integers(len(holders))]
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    key = keys[rng.integers(len(keys))]
    what = rng.random()
    if what < 0.15:
        del holder[key]
    elif what < 0.3 and isinstance(holder, list):
        holder.insert(key, ODD_VALUES[rng.integers(len(ODD_VALUES))])
    elif what < 0.5:
        other = holders[rng.integers(len(holders))]
        others = list(other.values()) if isinstance(other, dict) else other
        # A copy, as a document may not hold itself.
        holder[key] = json.loads(json.dumps(others[rng.integers(len(others))] if others else None))
    elif what < 0.7 and isinstance(holder[key], (int, float)):
        value = holder[key]
        near = (value + 1, value - 1, -value, 2 * value + 1, value * (1 + 1e-6), value * (1 - 1e-6))
        holder[key] = near[rng.integers(len(near))]
    else:
        holder[key] = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    return document


def reseal(rng: np.random.Generator, content: bytes) -> bytes:
    """An archive whose document is changed, and whose lengths and checksums are right again: what
    only somebody who means it makes."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        comment = archive.comment
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in members if name.endswith(".npy")]
    (document,) = members.keys() - set(arrays)
    if rng.random() < 0.8:
        members[document] = _json(rng, members[document])
    else:
        mutation = MUTATIONS[rng.integers(len(MUTATIONS))]
        members[document] = mutation(rng, members[document])[:LONGEST]
    if arrays and rng.random() < 0.1:
        del members[arrays[rng.integers(len(arrays))]]
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        archive.comment = comment
        for name, member in members.items():
            archive.writestr(name, member)
    return changed.getvalue()


DAMAGE: tuple[Mutation, ...] = (_flip_bits, _set_bytes, _remove, _truncate, _repeat)


def damage(rng: np.random.Generator, content: bytes) -> bytes:
    """A change of bytes, whatever they mean."""
    return DAMAGE[rng.integers(len(DAMAGE))](rng, content)


MUTATIONS: tuple[Mutation, ...] = (
    *(_flip_bits, _set_bytes, _insert_token, _remove, _truncate, _repeat, _number, _number),
    *(_lines, _line_ends, _tokens, _nest, _json, _json),
)
