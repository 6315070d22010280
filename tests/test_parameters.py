import math
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import ParameterError
from sdpbb.questions.batch.batch import BatchParameters
from sdpbb.run.parameters import DecompositionParameters, SearchParameters, SolverParameters
from sdpbb.runtime.declaration import declarations, own_declarations


def test_seeds_of_128_bits_and_limits_of_64_are_taken():
    made = SolverParameters(seed=2**128 - 1, node_limit=2**63 - 1)
    assert (made.seed, made.node_limit) == (2**128 - 1, 2**63 - 1)


def components(value):
    """A dataclass and all that it is composed of."""
    yield value
    for part in fields(value):
        if is_dataclass(getattr(value, part.name)):
            yield from components(getattr(value, part.name))


COMPONENTS = {type(part): part for part in components(SolverParameters())}
SLOTS = [
    (part, each.name) for part in (*COMPONENTS.values(), BatchParameters()) for each in fields(part)
]
ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from([2**31, 2**63, 1e308, 5e-324, "x", "", {}, np.nan, 1j]),
    st.sampled_from([5000, 6000]).map(lambda digits: -(10**digits)),
    st.sampled_from([np.zeros((9, 9)), np.array(["dual", "primal"]), np.float32(2), np.int64(2)]),
)


def test_all_components_are_looked_at():
    assert {SdpParameters, DecompositionParameters, SearchParameters} < {*COMPONENTS}


def made_or_told(part, name, value):
    try:
        return replace(part, **{name: value})
    except ParameterError as error:
        return str(error)


@given(st.sampled_from(SLOTS), ANYTHING)
def test_any_value_is_stored_as_a_plain_one_or_refused_in_one_line(slot, value):
    part, name = slot
    made = made_or_told(part, name, value)
    if isinstance(made, str):
        assert len(made.splitlines()) == 1
        return
    kept, was = getattr(made, name), getattr(part, name)
    if was is None or name in ("node_limit", "dask"):
        assert kept is None or type(kept) in (int, str)
    else:
        assert type(kept) is type(was)
    if type(kept) is float:
        assert not math.isnan(kept)


DECLARED = [
    (kind, each)
    for kind in (*COMPONENTS, BatchParameters)
    for each in own_declarations(kind).values()
]


def beside(bound, is_integer):
    """The nearest values below and above a bound."""
    if is_integer:
        return bound - 1, bound + 1
    return math.nextafter(bound, -math.inf), math.nextafter(bound, math.inf)


def right(part, name, value):
    try:
        replace(part, **{name: value})
    except ParameterError as error:
        # In its domain, but not beside the others as they are by default.
        return "at most max_alpha" in str(error)
    return True


@pytest.mark.parametrize(
    ("kind", "declared"), DECLARED, ids=lambda value: getattr(value, "__name__", None)
)
def test_domains_end_at_their_bounds(kind, declared):
    part, name = {**COMPONENTS, BatchParameters: BatchParameters()}[kind], declared.name
    for bound, is_in, out in (
        (declared.ge, True, 0),
        (declared.gt, False, 0),
        (declared.le, True, 1),
        (declared.lt, False, 1),
    ):
        if bound is not None:
            values = beside(bound, int in declared.kinds)
            assert right(part, name, bound) == is_in
            assert not right(part, name, values[out])
            assert right(part, name, values[1 - out])
    if float in declared.kinds:
        assert right(part, name, math.inf) == declared.infinite
    if declared.kinds == (int,) and declared.le is None and declared.lt is None:
        assert right(part, name, declared.largest)
        assert not right(part, name, declared.largest + 1)


def test_every_parameter_is_declared():
    for declared in declarations(SolverParameters):
        assert declared.help.endswith("."), declared.path
    for _, declared in DECLARED:
        assert declared.help.endswith("."), declared
        assert not declared.reason or declared.reason.endswith("."), declared
