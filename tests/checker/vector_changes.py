"""Changes of certificates to accept: at each place of each kind, of each kind; and of their files.

Those that are rejected make the vectors to reject. A kind of evidence, or of cuts, that is new has
its changes as soon as a vector to accept holds it.
"""

from __future__ import annotations

import copy
import io
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tests.checker.parts import Parts, Step

Changed = tuple[str, Callable[[], Parts]]
"""The name of a change, and a function that makes it."""
_WORDS = {
    "none": None,
    "true": True,
    "negative": -1,
    "half": 0.5,
    "huge": 2**31,
    "zero": 0,
    "letter": "x",
    "digest": "0" * 64,
    "empty": [],
    "object": {"open": True},
}
_FACTORS = {"raised": 1 + 1e-7, "lowered": 1 - 1e-7, "tenfold": 10.0, "opposite": -1.0}
_ARRAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "shorter": lambda a: a[:-1],
    "of_another_type": lambda a: a.astype(np.float16 if a.dtype.kind == "f" else np.int64),
    "of_nothing": lambda a: 0 * a,
    "negative": lambda a: -1 - abs(a).max() - a,
    "beyond": lambda a: a + 1000,
    "next": lambda a: a + np.arange(a.shape[-1], dtype=a.dtype) if a.ndim > 1 else a + 1,
    "tenfold": lambda a: (10 * a).astype(a.dtype),
    "half": lambda a: (0.5 * a).astype(a.dtype),
    "reversed": lambda a: a[..., ::-1].copy(),
    "no_number": lambda a: _with_first(a, np.nan),
    "infinite": lambda a: _with_first(a, np.inf),
}
# A triangle without Z_jh: i may share the clusters of neither.
_FALSE = ["templates", 3, [[0, 0, 1.0], [0, 1, -1.0], [0, 2, -1.0]], 0.0]


def _with_first(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    if array.dtype.kind == "f":
        changed.reshape(-1)[0] = value
    return changed


def changes(parts: Parts, order: Sequence[int] | None = None) -> Iterator[Changed]:
    """Of the claim, the words and arrays of a step of each kind, and the order of steps.

    order : of the steps, the first of which are changed; None for theirs
    """
    for path, value in _places(parts.claim):
        yield from _of_word(parts, "claim", lambda of: of.claim, path, value)
    if parts.labels is not None:
        for name, of in _ARRAYS.items():
            yield (
                f"labels.{name}",
                _made(parts, lambda x, of=of: vars(x).update(labels=of(x.labels))),
            )
        yield "labels.absent", _made(parts, lambda x: setattr(x, "labels", None))
    seen = set()
    for at in range(len(parts.steps)) if order is None else order:
        step = parts.steps[at]
        for path, value in _places(step.words):
            kind = _kind(step.words, path)
            if kind not in seen:
                seen.add(kind)
                yield from _of_word(parts, kind, lambda of, at=at: of.steps[at].words, path, value)
        for name, array in step.arrays.items():
            group, _, own = name.partition(".")
            word = step.evidence[2][int(group)][0].replace(" ", "_") if own else group
            if (kind := ".".join([step.name, word, own])) not in seen and array.size:
                seen.add(kind)
                yield from _of_array(parts, kind, at, name)
    for name, do in ORDERS.items():
        yield f"steps.{name}", _made(parts, do)


def _made(parts: Parts, do: Callable[[Parts], object]) -> Callable[[], Parts]:
    def made() -> Parts:
        changed = parts.copy()
        do(changed)
        return changed

    return made


def _places(words: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The paths of values in a document; of equal lists of numbers the first ones."""
    if path:
        yield path, words
    if isinstance(words, dict | list):
        for key, value in words.items() if isinstance(words, dict) else enumerate(words):
            yield from _places(value, (*path, key))


def _kind(words: Any, path: tuple[Any, ...]) -> str:
    """What a place in a step holds: the words on the way to it, without numbers of entries."""
    names, last = [words[0]], str(path[-1])
    for key in path:
        words = words[key]
        if isinstance(words, list) and words and isinstance(words[0], str):
            names.append(words[0])
    last = last if len(path) < 5 else "entry" if len(path) == 5 else f"entry_{last}"
    return ".".join([*names, last]).replace(" ", "_")


def _of_word(
    parts: Parts, kind: str, find: Callable[[Parts], Any], path: tuple[Any, ...], value: Any
) -> Iterator[Changed]:
    """A value becomes each of `_WORDS`, and a number others; or it is left out."""
    where = ".".join([kind, *map(str, path)]) if kind == "claim" else kind
    others = dict(_WORDS)
    if isinstance(value, int | float):  # the nearest come first, as files of a reason are few
        near = {name: value * of for name, of in _FACTORS.items()}
        others = near | {"more": value + 1} | others

    def holder(changed: Parts) -> Any:
        found = find(changed)
        for key in path[:-1]:
            found = found[key]
        return found

    yield f"{where}.absent", _made(parts, lambda x: holder(x).pop(path[-1]))
    for name, new in others.items():
        yield (
            f"{where}.{name}",
            _made(parts, lambda x, new=new: holder(x).__setitem__(path[-1], copy.deepcopy(new))),
        )


def _of_array(parts: Parts, kind: str, at: int, name: str) -> Iterator[Changed]:
    def arrays(changed: Parts) -> dict[str, np.ndarray]:
        return changed.steps[at].arrays

    for word, of in _ARRAYS.items():
        put = _made(parts, lambda x, of=of: arrays(x).update({name: of(arrays(x)[name])}))
        yield f"{kind}.{word}", put
    yield f"{kind}.absent", _made(parts, lambda x: arrays(x).pop(name))


def _end(*words: Any) -> Callable[[Parts], None]:
    """The first node that is open ends in another way."""

    def do(parts: Parts) -> None:
        n, k = parts.claim["n"], parts.claim["k"]
        points = {"clique": list(range(k + 1)), "colouring": list(range(n))}
        for step in parts.named_steps("open")[:1]:
            step.words = [*words, *(points[word] for word in words if word in points)]

    return do


def _exchange_branches(parts: Parts) -> None:
    for split in parts.named_steps("split")[:1]:
        at = parts.steps.index(split) + 1
        middle = parts.end_of_node(at) + 1
        last = parts.end_of_node(middle) + 1
        parts.steps[at:last] = parts.steps[middle:last] + parts.steps[at:middle]


def _split_twice(parts: Parts) -> None:
    for step in parts.named_steps("split")[:1]:
        step.words[2] = step.words[1]


def _add_false_cut(parts: Parts) -> None:
    for step in parts.evidences("dual")[:1]:
        step.arrays[f"{len(step.evidence[2])}.blocks"] = np.zeros((1, 3), np.int32)
        step.evidence[2].append(_FALSE)
        t = step.arrays["multipliers"]
        step.arrays["multipliers"] = np.append(t, 1.0).astype(t.dtype)


def _divide_soft_pairs(parts: Parts) -> None:
    """The terms of the last group of soft pairs are in two groups."""
    for step in parts.evidences("dual"):
        groups = step.evidence[2]
        last = f"{len(groups) - 1}.blocks"
        if groups and groups[-1][0] == "soft pairs" and len(step.arrays[last]) > 1:
            step.arrays[f"{len(groups)}.blocks"] = step.arrays[last][1:]
            step.arrays[last] = step.arrays[last][:1]
            groups.append(groups[-1])
            return


def _claim_infeasible(parts: Parts) -> None:
    parts.unclaimed().claim.update(status="infeasible", lower_bound=None)


def _fix_far(parts: Parts) -> None:
    far = np.array([[0, parts.claim["n"] - 1]], np.int32)
    parts.steps.insert(0, Step(["fix", 1e300, None], {"far": far}))


ORDERS: dict[str, Callable[[Parts], object]] = {
    "fewer": lambda x: x.steps.pop(),
    "more": lambda x: x.steps.append(Step(["open"])),
    "unknown": lambda x: x.steps.insert(0, Step(["trust"])),
    "late": lambda x: x.steps.insert(0, Step(["bound", 0.0, ["scatter"]])),
    "nothing_but_open": lambda x: setattr(x, "steps", [Step(["open"])]),
    "an_array_more": lambda x: x.steps[-1].arrays.update(thoughts=np.zeros(3)),
    "twice": lambda x: x.steps.extend(x.steps[: x.end_of_node(1) + 1]),
    "unproven": lambda x: x.steps.__setitem__(-1, Step(["open"])),
    "far_pairs_that_nothing_proves": _fix_far,
    "a_cut_that_is_false": _add_false_cut,
    "two_groups_of_soft_pairs": _divide_soft_pairs,
    "branches_exchanged": _exchange_branches,
    "a_point_is_split": _split_twice,
    "claimed_infeasible": _claim_infeasible,
    "a_key_more": lambda x: x.claim.update(colour=1),
    "closer_than_proven": lambda x: x.claim.update(tolerance=0.0, status="optimal"),
    **{
        f"other_{key}": lambda x, key=key: x.claim.update({key: "0" * 64})
        for key in ("weights", "soft_must_link", "soft_cannot_link")
    },
    **{
        f"end_{kind}": _end("infeasible", kind)
        for kind in ("conflict", "clique", "colouring", "packing", "luck")
    },
    "end_open_twice": _end("open", True),
}
"""Changes of the claim as a whole and of the order of steps; some change nothing in some parts."""


def _with_member(data: bytes, name: str, content: bytes, old: str | None = None) -> bytes:
    """The archive with a member more, instead of an old one."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as read, zipfile.ZipFile(file, "w") as written:
        for entry in read.infolist():
            if entry.filename != old:
                written.writestr(zipfile.ZipInfo(entry.filename), read.read(entry))
        written.writestr(zipfile.ZipInfo(name), content)
    return file.getvalue()


def _member(array: Any, name: str = "log.npy", old: str | None = "log.npy") -> Any:
    """A function of a file: with this array instead of an old one."""
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return lambda data: _with_member(data, name, file.getvalue(), old)


def _log(of: Callable[[str], str]) -> Callable[[bytes], bytes]:
    """A function of a file: with another log."""

    def changed(data: bytes) -> bytes:
        with np.load(io.BytesIO(data)) as found:
            text = of(found["log"].tobytes().decode())
        return _member(np.frombuffer(text.encode(), np.uint8))(data)

    return changed


OBJECTS, COLUMNS = np.array([{"a": 1}], dtype=object), np.asfortranarray(np.ones((2, 3)))
FILES: dict[str, Callable[[bytes], bytes]] = {
    "an_empty_file": lambda data: b"",
    "a_text": lambda data: b"0 1\n2 3\n",
    "a_line_before": lambda data: b"sdpbb-certificate 2\n" + data,
    "half_of_the_file": lambda data: data[: len(data) // 2],
    "objects_that_are_pickled": _member(OBJECTS),
    "arrays_in_columns": _member(COLUMNS),
    "an_array_twice": _member(np.zeros(1), old=None),
    "no_log": _member(np.zeros(1), "diary.npy"),
    "a_line_that_is_not_json": _log(lambda x: x.replace("{", "{{", 1)),
    "a_claim_that_is_a_list": _log(lambda x: "[]" + x[x.index("\n") :]),
    "a_key_twice": _log(lambda x: x.replace("{", '{"n":1,', 1)),
    "a_number_that_is_not_finite": _log(lambda x: x.replace("}", ',"x":NaN}', 1)),
    "a_line_cut_off": _log(lambda x: x[:-1]),
}
"""Functions of a file: another one, to be rejected."""
