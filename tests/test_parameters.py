import json
import math
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heuristics.parameters import MultiStartParameters
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import ParameterError
from sdpbb.questions.batch import BatchParameters
from sdpbb.run.decomposition.parameters import DecompositionParameters
from sdpbb.run.parameters import SolverParameters
from sdpbb.runtime.declaration import declarations, own_declarations, value_text
from sdpbb.search.parameters import SearchParameters

HUGE = 10**5000
SHORT = {"ids": lambda value: getattr(value, "__name__", value_text(value)[:40])}


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        *(
            ("gap", value, f"gap = {value!r}: expected a number in [0, 1)")
            for value in (-1e-9, 1.0, math.nan, "x", None, True, 1j)
        ),
        *(
            ("time_limit", value, f"time_limit = {value!r}: expected seconds > 0")
            for value in (0, -1.0, math.nan, "5", None, False)
        ),
        *(
            ("node_limit", value, f"node_limit = {value!r}: expected an integer >= 1, or None")
            for value in (0, 2.5, 2.0, math.nan, True, "1")
        ),
        *(
            ("seed", value, f"seed = {value!r}: expected an integer >= 0")
            for value in (-1, 1.5, None, "0", False)
        ),
        ("sdp", None, "sdp = None: expected a SdpParameters"),
        ("search", 3, "search = 3: expected a SearchParameters"),
        ("workers", 0, "workers = 0: expected an integer >= 1"),
        ("memory_limit", -1, "memory_limit = -1: expected MiB > 0"),
        ("dask", "", "dask = '': expected an address such as tcp://host:8786, or None"),
    ],
)
def test_a_wrong_value_is_told_in_one_line(parameter, value, message):
    with pytest.raises(ParameterError) as caught:
        SolverParameters(**{parameter: value})
    assert str(caught.value) == message


def test_a_long_value_stays_on_one_short_line():
    for value in ("a\nb" * 100, np.zeros((9, 9)), 10**400):
        with pytest.raises(ParameterError) as caught:
            SolverParameters(time_limit=value)
        assert len(str(caught.value)) < 120
        assert "\n" not in str(caught.value)


def test_numbers_of_numpy_become_plain():
    given = SolverParameters(
        gap=np.float32(0.5), time_limit=np.int64(3), node_limit=np.uint8(7), seed=np.int32(2)
    )
    values = given.to_dict()
    shown = {name: values[name] for name in ("gap", "time_limit", "node_limit", "seed")}
    assert json.dumps(shown) == json.dumps(
        {"gap": 0.5, "time_limit": 3.0, "node_limit": 7, "seed": 2}
    )


def test_defaults_are_kept():
    parameters = SolverParameters()
    assert (parameters.time_limit, parameters.node_limit) == (math.inf, None)
    assert parameters.sdp == SdpParameters()


@pytest.mark.parametrize(
    ("kind", "values"),
    [
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
        (SearchParameters, {"fixing": None}),
        (SdpParameters, {"max_iterations": math.nan}),
        (DecompositionParameters, {"smallest": 1}),
        (MultiStartParameters, {"n_starts": 2**31}),
        (MultiStartParameters, {"assignment_time_limit": math.nan}),
    ],
    **SHORT,
)
def test_values_that_once_ended_runs_are_refused(kind, values):
    name = next(iter(values))
    with pytest.raises(ParameterError, match=rf"^{name} = [^\n]+: expected [^\n]+$"):
        kind(**values)


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (MultiStartParameters, {"assignment_time_limit": math.inf}),
        (SolverParameters, {"seed": 2**128 - 1, "node_limit": 2**63 - 1}),
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


@pytest.mark.parametrize(
    "part", [*COMPONENTS.values(), BatchParameters()], ids=lambda part: type(part).__name__
)
def test_no_count_may_be_a_fraction(part):
    for name in (each.name for each in fields(part)):
        if type(getattr(part, name)) is int:
            for value in (1.0, math.nan, 1e308, HUGE, -HUGE):
                with pytest.raises(ParameterError, match=f"^{name} = "):
                    replace(part, **{name: value})


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
    part, name, domain = (
        {**COMPONENTS, BatchParameters: BatchParameters()}[kind],
        declared.name,
        declared.domain,
    )
    for bound, is_in, out in (
        (domain.ge, True, 0),
        (domain.gt, False, 0),
        (domain.le, True, 1),
        (domain.lt, False, 1),
    ):
        if bound is not None:
            values = beside(bound, int in declared.kinds)
            assert right(part, name, bound) == is_in
            assert not right(part, name, values[out])
            assert right(part, name, values[1 - out])
    if float in declared.kinds:
        assert right(part, name, math.inf) == domain.infinite


def test_every_parameter_is_declared():
    for declared in declarations(SolverParameters):
        assert declared.help.endswith("."), declared.path
    for _, declared in DECLARED:
        assert declared.help.endswith("."), declared
        assert not declared.reason or declared.reason.endswith("."), declared


def test_defaults_keep_their_types():
    for part in COMPONENTS.values():
        assert replace(part) == part


def test_parameters_survive_a_file(tmp_path):
    changed = SolverParameters(gap=0.5).updated({"sdp.max_iterations": 7, "node_limit": 3})
    for number, parameters in enumerate((SolverParameters(), changed)):
        path = tmp_path / f"{number}.toml"
        path.write_text(parameters.to_toml(), encoding="utf-8")
        assert SolverParameters.load(path) == parameters
