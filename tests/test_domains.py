import math
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.parameters import MultiStartParameters
from sdpbb.batch import BatchParameters
from sdpbb.bounds.colgen.parameters import (
    CentreParameters,
    EnumerationParameters,
    GenerationParameters,
    MasterParameters,
    PricingParameters,
    StabilisationParameters,
)
from sdpbb.bounds.hybrid_parameters import HybridParameters
from sdpbb.bounds.sdp.cuts.complements import ComplementCuts
from sdpbb.bounds.sdp.cuts.pentagons import PentagonCuts
from sdpbb.bounds.sdp.cuts.stars import StarCuts
from sdpbb.bounds.sdp.cuts.triangles import TriangleCuts
from sdpbb.bounds.sdp.parameters import (
    AdmmParameters,
    Patience,
    SdpParameters,
    SpectrumParameters,
)
from sdpbb.domains import LARGEST_INTEGER, check_fields, value_text
from sdpbb.errors import ParameterError
from sdpbb.parameters import SolverParameters
from sdpbb.search.parameters import HeuristicSchedule, SearchParameters

HUGE = 10**5000
SHORT = {"ids": lambda value: getattr(value, "__name__", value_text(value)[:40])}
LARGEST = f"an integer of at most {LARGEST_INTEGER} in absolute value"
# Numbers of cuts, or of their parts, that memory is reserved for before any is found.
ALLOCATED = [
    (TriangleCuts, "per_arm"),
    (StarCuts, "leaves"),
    (PentagonCuts, "cycles"),
    (PentagonCuts, "copies"),
]
# What they say of themselves, before `check_fields` or in its place.
OWN = (SolverParameters, BatchParameters)


@dataclass(frozen=True)
class Inner:
    count: int = 3

    def __post_init__(self) -> None:
        check_fields(self)


@dataclass(frozen=True)
class Sample:
    count: int = 3
    share: float = 0.5
    limit: float = math.inf
    flag: bool = False
    name: str = "a"
    kind: Literal["one", "two"] = "one"
    at: tuple[int, ...] = (1, 2)
    inner: Inner = field(default_factory=Inner)

    def __post_init__(self) -> None:
        check_fields(self, most={"share": 1.0, "count": 100}, infinite={"limit"})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        *(
            ({"count": value}, f"count = {value!r}: expected an integer")
            for value in (1.0, 2.5, math.nan, math.inf, "1", None, True, np.True_, 1e308)
        ),
        ({"count": 2**31}, f"count = 2147483648: expected {LARGEST}"),
        ({"count": -(2**63)}, f"count = -9223372036854775808: expected {LARGEST}"),
        ({"count": 101}, "count = 101: expected an integer of at most 100"),
        *(
            ({"share": value}, f"share = {value!r}: expected a finite number")
            for value in (math.nan, math.inf, -math.inf, "1", None, True, 1j, np.float64("nan"))
        ),
        ({"share": 10**300}, f"share = 1{'0' * 56}...: expected a number of at most 1"),
        ({"share": 10**400}, f"share = 1{'0' * 56}...: expected a finite number"),
        ({"share": 1.5}, "share = 1.5: expected a number of at most 1"),
        ({"limit": math.nan}, "limit = nan: expected a number"),
        ({"flag": 1}, "flag = 1: expected True or False"),
        ({"flag": None}, "flag = None: expected True or False"),
        ({"name": 1}, "name = 1: expected a text"),
        ({"kind": "three"}, "kind = 'three': expected one of one, two"),
        ({"kind": np.array(["one", "two"])}, "expected one of one, two"),
        ({"at": 3}, "at = 3: expected a tuple of integers"),
        ({"at": (3, 0.5)}, "at = 0.5: expected an integer"),
        ({"inner": None}, "inner = None: expected a Inner"),
    ],
)
def test_a_value_of_another_type_is_told_in_one_line(values, message):
    with pytest.raises(ParameterError) as caught:
        Sample(**values)
    told = str(caught.value)
    assert told.endswith(message)
    assert told.startswith(f"{next(iter(values))} = ")
    assert "\n" not in told
    assert len(told) < 160


def test_numbers_of_numpy_become_plain():
    sample = Sample(
        count=np.int8(5), share=np.float32(0.5), limit=7, flag=np.True_, at=[np.int64(4)]
    )
    assert sample == Sample(count=5, share=0.5, limit=7.0, flag=True, at=(4,))
    kinds = {type(getattr(sample, name)) for name in ("share", "limit")}
    assert kinds == {float}
    assert (type(sample.count), type(sample.flag), type(sample.at[0])) == (int, bool, int)


@pytest.mark.parametrize("value", [HUGE, -HUGE, [HUGE], {"a": HUGE}, (1, -HUGE)], **SHORT)
def test_integers_of_thousands_of_digits_are_told(value):
    for parameter in ("count", "share", "name", "kind", "at", "inner", "flag"):
        with pytest.raises(ParameterError) as caught:
            Sample(**{parameter: value})
        assert len(str(caught.value)) < 160


def test_text_of_any_value():
    assert value_text(-HUGE) == hex(-HUGE)
    assert value_text([1, HUGE]) == "list with thousands of digits"
    assert value_text("x") == "'x'"
    assert value_text(2.0, str) == "2.0"


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (GenerationParameters, {"max_columns_per_round": math.nan}),
        (ComplementCuts, {"per_block": 1.0}),
        (StarCuts, {"per_block": 5e-324}),
        (TriangleCuts, {"per_arm": 1e308}),
        (TriangleCuts, {"per_pair": 2**63}),
        *((family, {name: 1001}) for family, name in ALLOCATED),
        (SpectrumParameters, {"buffer": math.nan}),
        (SpectrumParameters, {"cap": math.inf}),
        (SpectrumParameters, {"cap": 1e10}),
        (SpectrumParameters, {"degree": 9}),
        (PricingParameters, {"nodes_per_slice": 2**63}),
        (PricingParameters, {"climbing_effort": 1e308}),
        (AdmmParameters, {"penalty_step": 1e308}),
        (AdmmParameters, {"penalty": 1e308}),
        (AdmmParameters, {"penalty": 5e-324}),
        (SolverParameters, {"seed": -HUGE}),
        (SolverParameters, {"seed": HUGE}),
        (SolverParameters, {"seed": 2**128}),
        (SolverParameters, {"node_limit": 2**63}),
        (SolverParameters, {"workers": HUGE}),
        (SolverParameters, {"gap": HUGE}),
        (SolverParameters, {"bounding": HUGE}),
        (BatchParameters, {"workers": HUGE}),
        (BatchParameters, {"workers": -HUGE}),
        (BatchParameters, {"grace": -HUGE}),
        (BatchParameters, {"grace": True}),
        (BatchParameters, {"resume": 1}),
        (HeuristicSchedule, {"iterations": (60, math.nan)}),
        (SearchParameters, {"fixing": None}),
        (MultiStartParameters, {"n_starts": 2**31}),
        (MultiStartParameters, {"assignment_time_limit": math.nan}),
    ],
    **SHORT,
)
def test_what_ended_runs_in_python_errors_is_refused(kind, values):
    name = next(iter(values))
    with pytest.raises(ParameterError, match=rf"^{name} = [^\n]+: expected [^\n]+$"):
        kind(**values)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (HybridParameters, {"small": math.inf, "high": math.inf}),
        (CentreParameters, {"small": math.inf, "large": math.inf, "high": math.inf}),
        (EnumerationParameters, {"max_gap": math.inf}),
        (MultiStartParameters, {"assignment_time_limit": math.inf}),
        (SolverParameters, {"seed": 2**128 - 1, "node_limit": 2**63 - 1}),
        (SpectrumParameters, {"cap": 1e9, "degree": 8}),
        *((family, {name: 1000}) for family, name in ALLOCATED),
        (AdmmParameters, {"penalty_step": 10}),
        (AdmmParameters, {"penalty": 1e-6}),
    ],
    **SHORT,
)
def test_the_ends_of_domains_are_in_them(kind, values):
    made = kind(**values)
    assert {name: getattr(made, name) for name in values} == values


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
    st.sampled_from([np.zeros((9, 9)), np.array(["box", "none"]), np.float32(2), np.int64(2)]),
)


def test_all_components_are_looked_at():
    expected = {SdpParameters, SpectrumParameters, Patience, MasterParameters, SearchParameters}
    assert {*expected, StabilisationParameters, MultiStartParameters} < {*COMPONENTS}


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


@pytest.mark.parametrize(
    "part", [*COMPONENTS.values(), BatchParameters()], ids=lambda part: type(part).__name__
)
def test_no_count_may_be_a_fraction(part):
    for name in (each.name for each in fields(part)):
        if type(getattr(part, name)) is int:
            for value in (1.0, math.nan, 1e308, HUGE, -HUGE):
                with pytest.raises(ParameterError, match=f"^{name} = "):
                    replace(part, **{name: value})


def test_defaults_keep_their_types():
    for part in COMPONENTS.values():
        if not isinstance(part, OWN):
            assert replace(part) == part
