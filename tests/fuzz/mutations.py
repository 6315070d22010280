"""What is done to the bytes of a valid file."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Callable

import numpy as np

# No file that is tried is longer.
LONGEST = 1 << 20
NUMBERS = (
    *(b"nan", b"inf", b"-inf", b"1e999", b"-1e400", b"1e100", b"1e101", b"1e-320", b"-0", b"0"),
    *(b"-1", b"1", b"2", b"3", b"4", b"7", b"999999999999", b"9223372036854775807", b"1e5"),
    *(b"9223372036854775808", b"1" * 400, b"1" * 5000, b"0x" + b"f" * 5000, b"0x10", b"1_0"),
    *(b"1.5", b".5", b"5.", b"", b"+3", b"--3", b"1e", b"1e99999999999999999999", b"1e-400"),
    *("٣".encode(), "१२".encode(), "²".encode(), "１".encode(), b"true", b"null", b"1,2", b"1;2"),
    *(b'"1"', b"1\x00", b"1/2", b"1j"),
)
TOKENS = (
    *(b"ML", b"CL", b"SML", b"SCL", b"GAMMA", b"DELTA", b"MAXSIZE", b"OVERLAP", b"DIFFERENCE"),
    *(b"SOFTCL", b"#", b'"', b"'", b",", b";", b"\t", b"\r", b"\n", b"\r\n", b"\x0b", b"\x0c"),
    *(b"\x1c", b"\x85", "\x85".encode(), "\u2028".encode(), "\u00a0".encode(), b"\xff", b"\x00"),
    *(b"\xef\xbb\xbf", b"\xfe\xff", b"[", b"]", b"{", b"}", b"[[", b"=", b"{stem}", b"{0}", b"*"),
    *(b"**", b"[[instance]]", b"[defaults]", b"data", b"k = ", b"\\", b"%", b"../", b"/", b"~"),
    *(b"\xed\xa0\x80", "\U0001f4a9".encode(), b"\\ud800", b"\\u0000", b"NaN", b"Infinity", b":"),
)
ODD_VALUES = (
    *(None, True, False, 0, -1, 1, 2, 3, 10**30, -(2**63), 2**63 - 1, 0.5, -0.0, 1e308, 5e-324),
    *(float("nan"), float("inf"), "", "a", "1", "\ud800", "\x00", [], {}, [[]], [1], [[0, 1]]),
    *({"a": 1}, [None], "x" * 1000, [0, 1, 2]),
)
NESTS = ((b"[", b"]"), (b'{"a":', b"}"), (b"[[", b"]]"))
_NUMBER, _WORD = re.compile(rb"[-+]?\d+(\.\d+)?([eE][-+]?\d+)?"), re.compile(rb"[^\s,]+")


def mutate(rng: np.random.Generator, content: bytes, others: list[bytes]) -> bytes:
    """One to four changes, mostly one; sometimes a piece of another file is put in."""
    for _ in range(1 + int(rng.geometric(0.6)) if rng.random() < 0.5 else 1):
        if rng.random() < 0.05:
            other = others[rng.integers(len(others))]
            at, start = _position(rng, content), _position(rng, other)
            piece = other[start : start + int(rng.integers(1, 300))]
            content = content[:at] + piece + content[at:]
        else:
            content = MUTATIONS[rng.integers(len(MUTATIONS))](rng, content)
    return content[:LONGEST]


def damage(rng: np.random.Generator, content: bytes) -> bytes:
    """A change of bytes, whatever they mean: bits, bytes, a piece less, the end less, repeated."""
    at, length = _position(rng, content), int(rng.integers(1, 20))
    before, piece, after = content[:at], content[at : at + length], content[at + length :]
    bits = bytes(byte ^ 1 << int(rng.integers(8)) for byte in piece[:3])
    noise = rng.bytes(8) if rng.random() < 0.7 else bytes([rng.choice([0, 255, 127, 128])]) * 8
    repeated = content[at : at + 10 * length] * int(rng.choice([1, 2, 10, 1000]))
    changed = (
        before + bits + content[at + len(bits) :],
        before + noise[:length] + after,
        before + after,
        before,
        before + repeated + content[at:],
    )
    return changed[rng.integers(len(changed))]


def _position(rng: np.random.Generator, content: bytes) -> int:
    """Anywhere; half of the time near the beginning, where headings are."""
    most = len(content) if rng.random() < 0.5 else min(len(content), 64)
    return int(rng.integers(most + 1))


def _token(rng: np.random.Generator, content: bytes) -> bytes:
    """A number or a word is replaced, by one of the file or an odd one, or one is put in."""
    pattern, odd = ((_NUMBER, NUMBERS), (_WORD, TOKENS))[rng.integers(2)]
    found = [one.span() for one in pattern.finditer(content[:100_000])]
    new, at = odd[rng.integers(len(odd))], _position(rng, content)
    if not found or rng.random() < 0.2:
        return content[:at] + new + content[at:]
    (start, end), (first, last) = (found[i] for i in rng.integers(len(found), size=2))
    if pattern is _WORD and rng.random() < 0.5:
        new = content[first:last]
    return content[:start] + new + content[end:]


def _lines(rng: np.random.Generator, content: bytes) -> bytes:
    """Lines in another order, twice, joined, left out, indented, or with other ends."""
    lines = content.split(b"\n")
    i, j = (int(x) for x in rng.integers(0, len(lines), 2))
    what = rng.integers(6)
    if what == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif what == 1:
        lines.insert(i, lines[j])
    elif what == 2:
        del lines[i]
    elif what == 3:
        lines[i : i + 2] = [b" ".join(lines[i : i + 2])]
    elif what == 4:
        lines[i] = rng.choice([b"", b" ", b"\t", b"#", b"\x00"]) + lines[i]
    return (b"\n", b"\r\n", b"\r", b"\n\n", b" ")[rng.integers(5) if what == 5 else 0].join(lines)


def _nest(rng: np.random.Generator, content: bytes) -> bytes:
    """Deeply."""
    at, depth = _position(rng, content), int(rng.choice([10, 1000, 100_000]))
    opening, closing = NESTS[rng.integers(len(NESTS))]
    middle = content[at : at + 5] if rng.random() < 0.5 else b"1"
    return content[:at] + opening * depth + middle + closing * depth + content[at:]


def _json(rng: np.random.Generator, content: bytes) -> bytes:
    """A value somewhere in a JSON document is changed, added, left out or taken from elsewhere."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _token(rng, content)
    holders: list[dict | list] = []
    stack = [document]
    while stack:
        value = stack.pop()
        if isinstance(value, (dict, list)) and value:
            holders.append(value)
            stack += value.values() if isinstance(value, dict) else value
    new = ODD_VALUES[rng.integers(len(ODD_VALUES))]
    if not holders:
        return json.dumps(new).encode()
    holder, other = (holders[i] for i in rng.integers(len(holders), size=2))
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    key, what = keys[rng.integers(len(keys))], rng.random()
    if what < 0.15:
        del holder[key]
    elif what < 0.3 and isinstance(holder, list):
        holder.insert(key, new)
    elif what < 0.5:
        values = list(other.values()) if isinstance(other, dict) else other
        # A copy, as a document may not hold itself.
        holder[key] = json.loads(json.dumps(values[rng.integers(len(values))] if values else None))
    elif what < 0.7 and isinstance(holder[key], (int, float)):
        value = holder[key]
        near = (value + 1, value - 1, -value, 2 * value + 1, value * (1 + 1e-6), value * (1 - 1e-6))
        holder[key] = near[rng.integers(len(near))]
    else:
        holder[key] = new
    return json.dumps(document).encode()


def reseal(rng: np.random.Generator, content: bytes) -> bytes:
    """An archive whose document is changed, and whose lengths and checksums are right again: what
    only somebody who means it makes."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        comment = archive.comment
        members = {name: archive.read(name) for name in archive.namelist()}
    arrays = [name for name in members if name.endswith(".npy")]
    (document,) = members.keys() - set(arrays)
    change = _json if rng.random() < 0.8 else MUTATIONS[rng.integers(len(MUTATIONS))]
    members[document] = change(rng, members[document])[:LONGEST]
    if arrays and rng.random() < 0.1:
        del members[arrays[rng.integers(len(arrays))]]
    changed = io.BytesIO()
    with zipfile.ZipFile(changed, "w") as archive:
        archive.comment = comment
        for name, member in members.items():
            archive.writestr(name, member)
    return changed.getvalue()


MUTATIONS: tuple[Callable[[np.random.Generator, bytes], bytes], ...] = (
    *(damage, damage, damage, damage, _token, _token, _token, _token),
    *(_lines, _lines, _nest, _json, _json),
)
