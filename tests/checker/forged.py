"""Forged certificates: sound ones that are changed at random, and what that proves claimed anew.

A change mostly falls out of step with the numbers that the file states. Somebody who means it
states what the changed evidence proves, as far as the checker says so, and leaves the clustering
out, whose cost would contradict a bound above it. So does `forged`.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sdpbb.checker.kernel.cuts.inequalities import NodeFacts
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.verdict import CertificateVerdict
from sdpbb.problem import Instance
from sdpbb.run.verification import verdict_on
from tests.checker.drawn_cuts import FORMS, drawn_cuts
from tests.checker.parts import Parts, Step, loaded
from tests.fuzz.mutations import damage

Change = Callable[[np.random.Generator, Parts], str | None]
"""Changes a certificate in place; says what, or None where there is nothing to."""

# Numbers that are stated anew until a forged certificate is given up.
MOST_STATED = 60
_STATES = re.compile(r"(?:subset \d+: )?line (\d+): states a bound of .*, proves (.*)")
# Links leave nothing of a node, or its split is decided.
_CONFLICT = re.compile(r"(?:subset \d+: )?line (\d+): .*; expected the end of the node")
_LINKED = re.compile(r"(?:subset \d+: )?line (\d+): splits points .*, which are linked")
_ROOT = re.compile(r"lower_bound: states .*, the root proves (.*)")


def assert_verdict_true(verdict: CertificateVerdict, truth: float | None, what: str) -> None:
    """A verdict says nothing that the least cost of a clustering contradicts.

    truth : None if there is no clustering
    """
    if truth is None:
        assert verdict.status in ("infeasible", "unknown"), what
        return
    assert verdict.status != "infeasible", what
    rounding = 1e-12 * truth + 1e-28
    assert verdict.lower_bound <= truth + rounding, what
    if verdict.cost is not None:
        assert verdict.cost >= truth - rounding, what
    if verdict.status == "optimal":
        slack = (max(verdict.tolerance, 1e-12) + 1e-12) * verdict.cost
        assert verdict.cost - truth <= slack + rounding, what


def forged(
    data: bytes, instance: Instance, rng: np.random.Generator, number: int
) -> Iterator[tuple[str, CertificateVerdict | None]]:
    """What was changed in certificates, and what is accepted of each; None if it is rejected.

    Some are damaged bytes. Half of the others change the one of the greatest bound so far, as
    somebody would who wants a greater one.
    """
    first = Parts.of(data)
    highest, most = first, -math.inf
    for _ in range(number):
        if rng.random() < 0.15:
            yield "bytes", _verdict(damage(rng, data), instance)
            continue
        parts = (first if rng.random() < 0.5 else highest).copy()
        if rng.random() < 0.8:
            parts.unclaimed()
        told = [_any(rng, FORGERIES)(rng, parts) for _ in range(rng.integers(3))]
        if not any(told) or rng.random() < 0.7:
            told.append(changed(rng, parts))
        verdict = accepted(parts, instance)
        yield "; ".join(filter(None, told)), verdict
        if verdict is not None and verdict.lower_bound is not None and verdict.lower_bound >= most:
            highest, most = parts, verdict.lower_bound


def changed(rng: np.random.Generator, parts: Parts) -> str:
    """Change a value, an array or the order of steps in place; return what was changed."""
    with np.errstate(all="ignore"):
        while True:
            told = _any(rng, CHANGES)(rng, parts)
            if told is not None:
                return told


def _verdict(data: bytes, instance: Instance) -> CertificateVerdict | None:
    try:
        return verdict_on(loaded(data), instance)
    except Rejected:
        return None


def accepted(parts: Parts, instance: Instance) -> CertificateVerdict | None:
    """The verdict on parts that state what their evidence proves; None if they are rejected."""
    for _ in range(MOST_STATED):
        try:
            return verdict_on(loaded(parts.data), instance)
        except ValueError:  # not a number, and halves of letters: JSON has none
            return None
        except Rejected as error:
            if not _stated_anew(parts, str(error)):
                return None
    return None


def _stated_anew(parts: Parts, message: str) -> bool:
    """State the number that the checker expects; whether it is one that can be stated."""
    if found := _ROOT.fullmatch(message):
        value = float(found[1])
        if math.isinf(value):
            parts.unclaimed().claim["status"] = "infeasible"
        parts.claim["lower_bound"] = None if math.isinf(value) else value
        return True
    if message.startswith(("the lower bound", "status:")):
        parts.unclaimed()
        return True
    if found := _STATES.fullmatch(message):
        value = float(found[2])
        parts.steps[int(found[1]) - 1].words[1] = value
        return math.isfinite(value)
    if found := _LINKED.match(message):
        at = int(found[1]) - 1
        child = parts.end_of_node(at + 1)
        del parts.steps[child + 1 : parts.end_of_node(child + 1) + 1]
        del parts.steps[at]
        return True
    if found := _CONFLICT.match(message):
        at = int(found[1]) - 1
        parts.steps[at : parts.end_of_node(at) + 1] = [Step(["infeasible", "conflict"])]
        return True
    return False


def _any(rng: np.random.Generator, things: Sequence[Any]) -> Any:
    return things[rng.integers(len(things))] if things else None


_WORDS = (None, True, -1, 0.5, 2**31, 0, "x", "0" * 64, [], {"open": True})
_FACTORS = (1 + 1e-7, 1 - 1e-7, 10.0, -1.0)
_ARRAYS: dict[str, Callable[[np.ndarray], Any]] = {
    "shorter": lambda a: a[:-1],
    "of_another_type": lambda a: a.astype(np.float16 if a.dtype.kind == "f" else np.int64),
    "of_nothing": lambda a: 0 * a,
    "negative": lambda a: -1 - abs(a).max(initial=0) - a,
    "beyond": lambda a: a + 1000,
    "next": lambda a: a + np.arange(a.shape[-1], dtype=a.dtype) if a.ndim > 1 else a + 1,
    "tenfold": lambda a: (10 * a).astype(a.dtype),
    "half": lambda a: (0.5 * a).astype(a.dtype),
    "reversed": lambda a: a[..., ::-1].copy(),
    "no_number": lambda a: a * np.array(np.nan, a.dtype) if a.dtype.kind == "f" else a,
    "infinite": lambda a: a + np.array(np.inf, a.dtype) if a.dtype.kind == "f" else a,
}


def _places(words: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of the values in a document."""
    if path:
        yield path
    if isinstance(words, dict | list):
        for key, value in words.items() if isinstance(words, dict) else enumerate(words):
            yield from _places(value, (*path, key))


def _change_value(rng: np.random.Generator, words: Any) -> str:
    """A value at any place becomes another one, or is left out."""
    path = _any(rng, list(_places(words)))
    for key in path[:-1]:
        words = words[key]
    value, key = words[path[-1]], path[-1]
    others = list(_WORDS)
    if isinstance(value, int | float):
        others += [value + 1, *(value * factor for factor in _FACTORS)]
    if rng.random() < 0.1:
        del words[key]
        return f"{'.'.join(map(str, path))} left out"
    words[key] = copy.deepcopy(_any(rng, others))
    return f"{'.'.join(map(str, path))} is {words[key]!r}"


def change_claim(rng: np.random.Generator, parts: Parts) -> str:
    if rng.random() < 0.2:
        key = _any(rng, ["weights", "soft_must_link", "soft_cannot_link", "colour"])
        parts.claim[key] = "0" * 64
        return f"{key} more"
    return _change_value(rng, parts.claim)


def change_step(rng: np.random.Generator, parts: Parts) -> str | None:
    step = _any(rng, parts.steps)
    return None if step is None else f"{step.name}: {_change_value(rng, step.words)}"


def change_array(rng: np.random.Generator, parts: Parts) -> str | None:
    """An array of a step, or the labels."""
    step = _any(rng, [step for step in parts.steps if step.arrays])
    if step is None or rng.random() < 0.1:
        if parts.labels is not None:
            what, of = _any(rng, [*_ARRAYS.items(), ("absent", lambda a: None)])
            parts.labels = of(parts.labels)
            return f"labels {what}"
        return None
    name, what = _any(rng, list(step.arrays)), _any(rng, [*_ARRAYS, "absent"])
    array = step.arrays.pop(name)
    if what != "absent":
        step.arrays[name] = _ARRAYS[what](array)
    return f"{step.name}: {name} {what}"


def change_order(rng: np.random.Generator, parts: Parts) -> str:
    """Steps more or fewer, or in another order; some change nothing in some parts."""
    name = _any(rng, list(ORDERS))
    ORDERS[name](parts)
    return name


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


def _exchange_branches(parts: Parts) -> None:
    for split in parts.named_steps("split")[:1]:
        at = parts.steps.index(split) + 1
        middle = parts.end_of_node(at) + 1
        last = parts.end_of_node(middle) + 1
        parts.steps[at:last] = parts.steps[middle:last] + parts.steps[at:middle]


def _split_twice(parts: Parts) -> None:
    for step in parts.named_steps("split")[:1]:
        step.words[2] = step.words[1]


def _end(*words: Any) -> Callable[[Parts], None]:
    """The first node that is open ends in another way; points are as many as a clique has."""

    def do(parts: Parts) -> None:
        points = list(range(parts.claim["k"] + 1))
        for step in parts.named_steps("open")[:1]:
            step.words = [*words, *([points] if words[-1] in ("clique", "colouring") else [])]

    return do


def _fix_far(parts: Parts) -> None:
    far = np.array([[0, parts.claim["n"] - 1]], np.int32)
    parts.steps.insert(0, Step(["fix", 1e300, None], {"far": far}))


ORDERS: dict[str, Callable[[Parts], object]] = {
    "fewer": lambda x: x.steps and x.steps.pop(),
    "more": lambda x: x.steps.append(Step(["open"])),
    "late": lambda x: x.steps.insert(0, Step(["bound", 0.0, ["scatter"]])),
    "nothing but open": lambda x: setattr(x, "steps", [Step(["open"])]),
    "an array more": lambda x: x.steps and x.steps[-1].arrays.update(thoughts=np.zeros(3)),
    "far pairs that nothing proves": _fix_far,
    "two groups of soft pairs": _divide_soft_pairs,
    "branches exchanged": _exchange_branches,
    "a point is split": _split_twice,
    "claimed infeasible": lambda x: x.unclaimed().claim.update(
        status="infeasible", lower_bound=None
    ),
    "closer than proven": lambda x: x.claim.update(tolerance=0.0, status="optimal"),
    "end open twice": _end("open", True),
    **{
        f"end {kind}": _end("infeasible", kind)
        for kind in ("conflict", "clique", "colouring", "packing")
    },
}
"""Changes of the claim as a whole and of the order of steps; some change nothing in some parts."""


def _n_blocks(step: Step) -> int:
    """How many blocks the evidence is about."""
    if "N" in step.arrays:
        return math.isqrt(2 * step.arrays["N"].size)
    return step.arrays["prices"].size


def add_cuts(rng: np.random.Generator, parts: Parts) -> str | None:
    """A group of cuts more, with large multipliers."""
    step = _any(rng, parts.evidences("dual"))
    if step is None:
        return None
    m, form = _n_blocks(step), _any(rng, list(FORMS))
    node = NodeFacts(parts.claim["k"], np.ones(m), np.zeros((m, m), bool))
    cuts = drawn_cuts(rng, form, node)
    (group,), arrays = cuts.written()
    place = len(step.evidence[2])
    step.evidence[2].append(group)
    step.arrays |= {f"{place}.{name[2:]}": array for name, array in arrays.items()}
    size = rng.choice([0.1, 1.0, 10.0]) * float(abs(step.arrays["N"]).max(initial=1e-9))
    t = step.arrays["multipliers"]
    step.arrays["multipliers"] = np.append(t, size * rng.random(len(cuts))).astype(t.dtype)
    return f"cuts of {form} more"


def exchange_evidence(rng: np.random.Generator, parts: Parts) -> str | None:
    """Evidence of another step, node or subset."""
    steps = parts.named_steps("bound")
    if len(steps) < 2:
        return None
    one, other = _any(rng, steps), _any(rng, steps)
    if rng.random() < 0.5:
        one.words, other.words = other.words, one.words
        one.arrays, other.arrays = other.arrays, one.arrays
    else:
        one.words, one.arrays = copy.deepcopy(other.words), dict(other.arrays)
    return "evidence of another node"


def change_subsets(rng: np.random.Generator, parts: Parts) -> str | None:
    """Points of several subsets, subsets twice or fewer, and proofs of others."""
    begins = [at for at, step in enumerate(parts.steps) if step.name == "subset"]
    if not begins:
        return None
    proofs = [parts.steps[a:b] for a, b in zip(begins, [*begins[1:], None], strict=True)]
    one, other = (int(rng.integers(len(proofs))) for _ in range(2))
    rows = proofs[one][0].arrays["rows"].copy()
    match rng.integers(7):
        case 0:
            proofs[one][1:], proofs[other][1:] = proofs[other][1:], proofs[one][1:]
        case 1:
            proofs[one][:1], proofs[other][:1] = proofs[other][:1], proofs[one][:1]
        case 2:
            proofs.append(copy.deepcopy(proofs[one]))
        case 3 if len(proofs) > 1:
            del proofs[one]
        case 4:
            proofs[other] = copy.deepcopy(proofs[one])
        case 5:
            rows[rng.integers(len(rows))] = rng.integers(parts.claim["n"])
            proofs[one][0].arrays["rows"] = np.sort(rows)
        case _:
            rows = np.unique(np.append(rows, rng.integers(parts.claim["n"])))
            proofs[one][0].arrays["rows"] = rows.astype(np.int32)
    parts.steps = [step for proof in proofs for step in proof]
    return "subsets changed"


CHANGES = (change_claim, change_step, change_step, change_array, change_array, change_order)
FORGERIES = (add_cuts, add_cuts, exchange_evidence, change_subsets)


def kinds_in(data: bytes) -> set[str]:
    """Kinds of evidence and of steps in a certificate, and forms of cuts."""
    parts = Parts.of(data)
    found = {step.evidence[0] for step in parts.evidences()} - {"scatter"}
    found |= {"subsets"} if parts.named_steps("subset") else set()
    found |= {step.name for step in parts.steps} & {"merge", "equal", "fix"}
    return found | {group[0] for step in parts.evidences("dual") for group in step.evidence[2]}
