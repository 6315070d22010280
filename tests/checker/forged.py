"""Forged certificates: what a run proved, with other evidence, and what that proves claimed anew.

A change of a certificate mostly falls out of step with the numbers that the file states. Somebody
who means it states what the changed evidence proves, as far as the checker says so, and leaves the
clustering out, whose cost would contradict a bound above it. So does `forged`.
"""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np

from sdpbb.checker.kernel.certificate import Certificate
from sdpbb.checker.kernel.cuts.inequalities import NodeFacts
from sdpbb.checker.kernel.rejection import Rejected
from sdpbb.checker.kernel.verdict import CertificateVerdict
from sdpbb.problem import Instance
from sdpbb.run.verification import verdict_on
from tests.checker.drawn_cuts import FORMS, drawn_cuts
from tests.checker.parts import Parts, Step
from tests.checker.vector_changes import changes
from tests.fuzz.mutations import damage

Forgery = Callable[[np.random.Generator, Parts], str | None]
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


def changed_claim(data: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """With the claim changed in place."""
    parts = Parts.of(data)
    change(parts.claim)
    return parts.data


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
        told = []
        for forgery in [FORGERIES[at] for at in rng.integers(len(FORGERIES), size=rng.integers(3))]:
            told.append(forgery(rng, parts))
        found = list(changes(parts, rng.permutation(len(parts.steps)).tolist()))
        if found and (not any(told) or rng.random() < 0.7):
            what, change = _any(rng, found)
            with suppress(ValueError):
                parts = change()
            told.append(what)
        verdict = accepted(parts, instance)
        yield "; ".join(filter(None, told)), verdict
        if verdict is not None and verdict.lower_bound is not None and verdict.lower_bound >= most:
            highest, most = parts, verdict.lower_bound


def _verdict(data: bytes, instance: Instance) -> CertificateVerdict | None:
    try:
        return verdict_on(Certificate.read(data), instance)
    except Rejected:
        return None


def accepted(parts: Parts, instance: Instance) -> CertificateVerdict | None:
    """The verdict on parts that state what their evidence proves; None if they are rejected."""
    for _ in range(MOST_STATED):
        try:
            return verdict_on(Certificate.read(parts.data), instance)
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


def _any(rng: np.random.Generator, things: list[Any]) -> Any:
    return things[rng.integers(len(things))] if things else None


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


FORGERIES: tuple[Forgery, ...] = (add_cuts, add_cuts, exchange_evidence, change_subsets)


def kinds_in(data: bytes) -> set[str]:
    """Kinds of evidence and of steps in a certificate, and forms of cuts."""
    parts = Parts.of(data)
    found = {step.evidence[0] for step in parts.evidences()} - {"scatter"}
    found |= {"subsets"} if parts.named_steps("subset") else set()
    found |= {step.name for step in parts.steps} & {"merge", "equal", "fix"}
    return found | {group[0] for step in parts.evidences("dual") for group in step.evidence[2]}
