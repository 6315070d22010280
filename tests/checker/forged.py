"""Forged certificates: what a run proved, with other evidence, and what that proves claimed anew.

A change of a certificate mostly falls out of step with the numbers that the file states: `changed`
leaves it at that. Somebody who means it states what the changed evidence proves, as far as the
checker says so, and leaves the clustering out, whose cost would contradict a bound above it. So
does `forged`.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

from sdpbb.checker.kernel.certificate import Certificate
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.verdict import CertificateVerdict
from sdpbb.problem import Instance
from sdpbb.run.verification import verdict_on
from tests.checker.parts import ENDS, Parts, Step
from tests.enumeration import optimum
from tests.fuzz.mutations import changed_value, damage

Forgery = Callable[[np.random.Generator, Parts], str | None]
"""Changes a certificate in place; says what, or None where there is nothing to."""

# Numbers that are stated anew until a forged certificate is given up.
MOST_STATED = 60
_STATES = re.compile(r"(?:subset \d+: )?line (\d+): states a bound of .*, proves (.*)")
# Links leave nothing of a node, or its split is decided.
_CONFLICT = re.compile(r"(?:subset \d+: )?line (\d+): .*; expected the end of the node")
_LINKED = re.compile(r"(?:subset \d+: )?line (\d+): splits points .*, which are linked")
_ROOT = re.compile(r"lower_bound: states .*, the root proves (.*)")
# Groups of cuts that are drawn: their word, the blocks of a cut, and what else the group has.
_GROUPS: tuple[tuple[str, int, list[Any]], ...] = (
    *(("vectors", 2, [[-1, 1]]), ("vectors", 3, [[-1, 1, 1]]), ("vectors", 4, [[2, -1, 1, -1]])),
    ("vectors", 3, [[1, -2, 1]]),
    ("templates", 3, [3, [[0, 0, -1.0], [0, 1, 1.0], [0, 2, 1.0]], 0.0]),
    ("templates", 1, [1, [[0, 0, 1.0]], 0.25]),
    ("templates", 1, [1, [[0, 0, -1.0]], -0.25]),
    ("templates", 2, [2, [[0, 0, 3.0], [1, 1, -1.0], [0, 1, -2.0]], 0.0]),
    *(("measure rows", 1, ["most"]), ("measure rows", 1, ["least"])),
    *(("soft pairs", 3, ["cannot"]), ("soft pairs", 3, ["must"])),
    *(("listed cliques", 2, [2, "largest"]), ("listed cliques", 3, [3, "smallest"])),
)


def changed(data: bytes, rng: np.random.Generator) -> Iterator[bytes]:
    """Certificates without end: a third each of damaged bytes, changed words and changed arrays."""
    while True:
        yield damage(rng, data)
        for change in (change_words, change_array):
            parts = Parts.of(data)
            change(rng, parts)
            try:
                yield parts.data
            except ValueError:  # not a number, and halves of letters: JSON has none
                continue


def assert_true(verdict: CertificateVerdict, truth: float | None, what: str) -> None:
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


def assert_rejected_or_true(
    data: bytes,
    instance: Instance,
    verify: Callable[[bytes], CertificateVerdict],
    rng: np.random.Generator,
    n: int,
    least: int,
) -> None:
    """Whatever n changed certificates claim and is verified is what enumeration says.

    verify : returns the verdict on a changed one, or raises Rejected
    least : so many are rejected at least; what is left changed a name, or claims less
    """
    truth, rejected = optimum(instance), 0
    others = (other for other in changed(data, rng) if other != data)
    for number, other in enumerate(islice(others, n)):
        try:
            verdict = verify(other)
        except Rejected:
            rejected += 1
            continue
        shape = (verdict.n, verdict.d, verdict.k)
        assert shape == (*instance.points.shape, instance.k)
        assert_true(verdict, truth, f"change {number}")
    assert rejected >= least


def change_words(rng: np.random.Generator, parts: Parts) -> None:
    """Another value somewhere in the claim or in a step, or a step fewer or more."""
    at = int(rng.integers(-1, len(parts.steps)))
    if at < 0:
        parts.claim = changed_value(rng, parts.claim)
    elif rng.random() > 0.2:
        parts.steps[at].words = changed_value(rng, parts.steps[at].words)
    elif rng.random() < 0.5:
        del parts.steps[at]
    else:
        parts.steps.insert(at, copy.deepcopy(parts.steps[at]))


def change_array(rng: np.random.Generator, parts: Parts) -> None:
    """Another entry of an array, a row fewer or more, or another dtype."""
    holders: list[tuple[Any, str]] = [
        (step.arrays, name) for step in parts.steps for name in step.arrays
    ]
    holders += [(vars(parts), "labels")] if parts.labels is not None else []
    if (found := _any(rng, holders)) is None:
        return
    holder, name = found
    array = holder[name].copy()
    with np.errstate(all="ignore"):
        match rng.integers(6):
            case 0 if len(array):
                array = np.delete(array, int(rng.integers(len(array))), axis=0)
            case 1 if len(array):
                array = np.concatenate([array, array[:1]])
            case 2:
                array = array.astype(rng.choice(["<f8", "<f4", "<i8", "<i4", "|u1"]))
            case _ if array.size:
                at, value = int(rng.integers(array.size)), array.flat[rng.integers(array.size)]
                near = (value + 1, value - 1, -value, 0, np.nextafter(value, np.inf), value)
                array.flat[at] = near[rng.integers(len(near))]
            case _:
                array = array.reshape(-1)
    holder[name] = array


def changed_claim(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """With the claim changed in place."""
    parts = Parts.of(data)
    change(parts.claim)
    return parts.data


def forged(
    data: bytes, instance: Instance, rng: np.random.Generator, number: int
) -> Iterator[tuple[str, CertificateVerdict | None]]:
    """What was changed in certificates, and what is accepted of each; None if it is rejected.

    Half of them change the one of the greatest bound so far, as somebody would who wants a greater
    one.
    """
    first = Parts.of(data)
    highest, most = first, -math.inf
    for _ in range(number):
        parts = (first if rng.random() < 0.5 else highest).copy()
        if rng.random() < 0.8:
            parts.unclaimed()
        told = []
        for _ in range(int(rng.integers(1, 4))):
            what = None
            while what is None:
                what = FORGERIES[rng.integers(len(FORGERIES))](rng, parts)
            told.append(what)
        verdict = accepted(parts, instance)
        yield "; ".join(told), verdict
        if verdict is not None and verdict.lower_bound is not None and verdict.lower_bound >= most:
            highest, most = parts, verdict.lower_bound


def accepted(parts: Parts, instance: Instance) -> CertificateVerdict | None:
    """The verdict on parts that state what their evidence proves; None if they are rejected."""
    for _ in range(MOST_STATED):
        try:
            return verdict_on(Certificate.read(parts.data), instance)
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


def _any(rng: np.random.Generator, things: list[Any]) -> Any:
    return things[rng.integers(len(things))] if things else None


def _number(rng: np.random.Generator, value: float) -> float:
    """Another number, not far off or of another size."""
    scale = rng.choice([0.0, 0.5, 0.9, 0.999, 1.001, 1.1, 2.0, 10.0, 1e3, 1e6, -1.0])
    shift = rng.choice([0.0, 0.0, 1e-6, 1e-3, 0.1, 1.0, 10.0]) * rng.normal()
    return float(value * scale + shift)


def _reals_changed(rng: np.random.Generator, array: np.ndarray) -> np.ndarray:
    """Scaled, some entries changed, in another order, or with values of others."""
    changed = array.astype(float)
    match rng.integers(6):
        case 0:
            changed = -changed
        case 1:
            changed = changed * rng.choice([0.5, 0.99, 1.01, 2.0, 10.0, 1e3, 1e6])
        case 2:
            at = rng.integers(changed.size, size=int(rng.integers(1, 4)))
            changed[at] = [_number(rng, value) for value in changed[at]]
        case 3:
            changed = rng.permutation(changed)
        case 4:
            changed[rng.integers(changed.size)] = rng.choice([1.0, 2.0, 100.0]) * abs(changed).max()
        case _:
            changed = changed + rng.exponential(abs(changed).mean() + 1e-9, changed.shape)
    return changed.astype(array.dtype)


def _n_blocks(step: Step) -> int:
    """How many blocks the evidence is about."""
    if "N" in step.arrays:
        return math.isqrt(2 * step.arrays["N"].size)
    return step.arrays["prices"].size


def _arrays(parts: Parts, *names: str) -> list[tuple[Step, str]]:
    return [
        (step, name)
        for step in parts.steps
        for name in names
        if name in step.arrays and step.arrays[name].size
    ]


def change_reals(rng: np.random.Generator, parts: Parts) -> str | None:
    """Multipliers, entries of N, prices, shares or penalties."""
    names = ("multipliers", "N", "prices", "share_prices", "penalties")
    if (found := _any(rng, _arrays(parts, *names))) is None:
        return None
    step, name = found
    step.arrays[name] = _reals_changed(rng, step.arrays[name])
    return f"{name} changed"


def change_numbers(rng: np.random.Generator, parts: Parts) -> str | None:
    """The least value of clusters, or what clusterings cost less than, or a unit."""
    found = [
        (step.evidence, place, step.evidence[0] == "dual")
        for step in parts.evidences()
        for place in range(1, len(step.evidence))
        if isinstance(step.evidence[place], float)
    ]
    found += [(step.words, 1, False) for step in parts.named_steps("fix")]
    if not found:
        return None
    holder, place, is_unit = _any(rng, found)
    factor = 2.0 ** rng.integers(-3, 10)
    holder[place] = holder[place] * factor if is_unit else _number(rng, holder[place])
    return "a number changed"


def change_members(rng: np.random.Generator, parts: Parts) -> str | None:
    """Blocks of cuts, parts, estimates and triples: others, in another order, or exchanged."""
    names = ("blocks", "parts", "estimates", "triples")
    if (found := _any(rng, _arrays(parts, *names))) is None:
        return None
    step, name = found
    array, m = step.arrays[name].copy(), _n_blocks(step)
    match rng.integers(4):
        case 0:
            at = rng.integers(array.size, size=int(rng.integers(1, 4)))
            array.reshape(-1)[at] = rng.integers(m, size=len(at))
        case 1:
            array = rng.permutation(array)
        case 2:
            array = rng.permutation(array.reshape(-1)).reshape(array.shape)
        case _:
            row = rng.integers(len(array))
            array[row] = array[rng.integers(len(array))]
    step.arrays[name] = array
    return f"{name} changed"


def change_groups(rng: np.random.Generator, parts: Parts) -> str | None:
    """What a group of cuts has in common: its numbers, lengths and words."""
    steps = [step for step in parts.evidences("dual") if step.evidence[2]]
    if not steps:
        return None
    groups = _any(rng, steps).evidence[2]
    group = _any(rng, groups)
    place = int(rng.integers(len(group)))
    value = group[place]
    if isinstance(value, list) and value:
        group[place] = [_other_item(rng, item) for item in value]
    elif isinstance(value, (int, float)):
        group[place] = type(value)(_number(rng, value))
    else:
        group[place] = _any(rng, groups)[min(place, 1)]
    return f"a group of {group[0]} changed"


def _other_item(rng: np.random.Generator, item: Any) -> Any:
    if isinstance(item, list):
        return [_other_item(rng, each) for each in item]
    if rng.random() < 0.6:
        return item
    return item + int(rng.integers(-2, 3)) if isinstance(item, int) else _number(rng, item)


def add_cuts(rng: np.random.Generator, parts: Parts) -> str | None:
    """A group of cuts more, with large multipliers, at the beginning or at the end."""
    step = _any(rng, parts.evidences("dual"))
    if step is None:
        return None
    m, k, new = _n_blocks(step), parts.claim["k"], int(rng.integers(1, 4))
    arrays = step.arrays
    values = rng.choice([0.1, 1.0, 10.0]) * float(abs(arrays["N"]).max(initial=1e-9))
    group, blocks, own = _drawn_group(rng, new, m, k)
    size = values * rng.random(new)
    multipliers, none = arrays["multipliers"], np.empty(0, np.int32)
    is_last = rng.random() < 0.5
    arrays["multipliers"] = np.concatenate([multipliers, size] if is_last else [size, multipliers])
    arrays["multipliers"] = arrays["multipliers"].astype(multipliers.dtype)
    step.evidence[2].insert(len(step.evidence[2]) if is_last else 0, group)
    for name, added in (("blocks", blocks), ("parts", own)):
        if len(added):
            before = arrays.get(name, none)
            joined = np.concatenate([before, added] if is_last else [added, before])
            arrays[name] = joined.astype(np.int32 if name == "blocks" else np.int64)
    return f"{new} cuts of {group[0]} more"


def _drawn_group(
    rng: np.random.Generator, new: int, m: int, k: int
) -> tuple[list[Any], np.ndarray, np.ndarray]:
    """A group of new cuts of m blocks, its blocks and its parts."""

    def drawn(width: int) -> np.ndarray:
        return rng.permutation(m)[:width] if width <= m else rng.integers(m, size=width)

    none = np.empty(0, np.int64)
    width = int(rng.integers(1, max(2, m)))
    match rng.integers(5):
        case 0:
            return ["cliques", new], np.concatenate([drawn(k + 1) for _ in range(new)]), none
        case 1:
            lists = [drawn(width) for _ in range(new)]
            return ["traces", [len(each) for each in lists]], np.concatenate(lists), none
        case 2:
            lists = [np.sort(drawn(width)) for _ in range(new)]
            parts = np.ones(sum(map(len, lists)), np.int64)
            if rng.random() < 0.5:
                parts[rng.integers(len(parts))] = rng.choice([-1, 0, 2, 3, 5, 1_000, 2**62])
            unit = str(rng.choice(["points", "units"]))
            group: list[Any] = ["sets", [len(each) for each in lists], unit]
            if rng.random() < 0.5:
                leaves = [drawn(int(rng.integers(1, k + 3))) for _ in range(new)]
                group = ["set cliques", *group[1:], [len(each) for each in leaves]]
                lists += leaves
            return group, np.concatenate(lists), parts
    word, width, more = _GROUPS[rng.integers(len(_GROUPS))]
    rows = [drawn(width) for _ in range(new)]
    return [word, new, *copy.deepcopy(more)], np.concatenate(rows), none


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


def change_steps(rng: np.random.Generator, parts: Parts) -> str | None:
    """Steps exchanged, one left out, or one from elsewhere."""
    places = [at for at, step in enumerate(parts.steps) if step.name not in (*ENDS, "subset")]
    if not places:
        return None
    one, other = _any(rng, places), _any(rng, places)
    match rng.integers(3):
        case 0:
            parts.steps[one], parts.steps[other] = parts.steps[other], parts.steps[one]
        case 1:
            del parts.steps[one]
        case _:
            parts.steps.insert(other, copy.deepcopy(parts.steps[one]))
    return "steps changed"


def change_links(rng: np.random.Generator, parts: Parts) -> str | None:
    """Points of splits, merges and pairs that are apart."""
    n = parts.claim["n"]
    found: list[Any] = _arrays(parts, "rows", "pairs", "far", "excluded")
    found = [each for each in found if each[0].name != "subset"] + parts.named_steps("split")
    chosen = _any(rng, found)
    if chosen is None:
        return None
    if isinstance(chosen, Step):
        chosen.words[int(rng.integers(1, 3))] = int(rng.integers(n))
        return "a split changed"
    step, name = chosen
    rows = step.arrays[name].copy()
    if rng.random() < 0.5:
        rows[rng.integers(len(rows)), rng.integers(rows.shape[1])] = rng.integers(n)
    else:
        more = rng.integers(n, size=(1, rows.shape[1]))
        rows = np.concatenate([rows, more.astype(rows.dtype)])
    step.arrays[name] = rows
    return f"pairs of {name} changed"


def change_end(rng: np.random.Generator, parts: Parts) -> str | None:
    """An end that says that a node has no clustering."""
    ends = [at for at, step in enumerate(parts.steps) if step.name in ("open", "infeasible")]
    at, n, k = _any(rng, ends), parts.claim["n"], parts.claim["k"]
    if at is None:
        return None
    kind = _any(rng, ["conflict", "clique", "colouring", "packing", "prices"])
    words: list[Any] = ["infeasible", kind]
    arrays: dict[str, np.ndarray] = {}
    if kind in ("clique", "colouring"):
        words.append(sorted(rng.permutation(n)[: k + 1 + 2 * (kind == "colouring")].tolist()))
    if kind == "prices":
        priced = [step for step in parts.evidences() if step.evidence[0] in ("prices", "clusters")]
        if (step := _any(rng, priced)) is None:
            return None
        words.append(step.evidence[-1])
        arrays["prices"] = _reals_changed(rng, step.arrays["prices"])
    parts.steps[at] = Step(words, arrays)
    return f"a node ends by {kind}"


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


FORGERIES: tuple[Forgery, ...] = (
    *(change_reals, change_reals, change_numbers, change_members, change_members, change_groups),
    *(add_cuts, add_cuts, exchange_evidence, change_steps, change_links, change_end),
    *(change_subsets, change_subsets),
)


def kinds_in(data: bytes) -> set[str]:
    """Kinds of evidence and of steps in a certificate, and forms of cuts."""
    parts = Parts.of(data)
    found = {step.evidence[0] for step in parts.evidences()} - {"scatter"}
    found |= {"subsets"} if parts.named_steps("subset") else set()
    found |= {step.name for step in parts.steps} & {"merge", "equal", "fix"}
    return found | {group[0] for step in parts.evidences("dual") for group in step.evidence[2]}
