import json
import math

import numpy as np
import pytest

from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import ParameterError
from sdpbb.parameters import SolverParameters


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
