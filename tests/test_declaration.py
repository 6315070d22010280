import dataclasses
import math
import tomllib
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.errors import ParameterError
from sdpbb.runtime.declaration import (
    Parameters,
    declarations,
    declared_values,
    own_declarations,
    parameter,
)

HUGE = 10**5000
LARGEST = "an integer below 2^31 in absolute value"


@dataclass(frozen=True)
class Inner(Parameters):
    count: int = parameter(3, "A count.")
    most: float = parameter(0.5, "A share.", gt=0, le=1)


@dataclass(frozen=True)
class Sample(Parameters):
    inner: Inner = parameter(lambda: Inner(count=7), "A component.")
    count: int = parameter(3, "How many.", le=100)
    share: float = parameter(0.5, "A share.", le=1, reason="More than all is too much.")
    limit: float = parameter(math.inf, "Seconds.", infinite=True)
    patience: float = parameter(1.0, "Seconds.", gt=0, infinite=True, unit="seconds")
    nodes: int | None = parameter(None, "Nodes.", ge=1, largest=2**63 - 1)
    flag: bool = parameter(False, "A flag.")
    name: str = parameter("a", "A name.")
    kind: Literal["one", "two"] = parameter("one", "A kind.")
    at: tuple[str, ...] = parameter(("a", "b"), "Places.")
    size: float | Literal["auto"] = parameter("auto", "A size.", gt=0)

    def check_combination(self) -> None:
        if self.flag and self.share == 1:
            raise ParameterError("flag = True: expected share < 1")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        *(
            ({"count": value}, f"count = {value!r}: expected an integer <= 100")
            for value in (1.0, 2.5, math.nan, math.inf, "1", None, True, np.True_, 1e308, 101)
        ),
        ({"count": -(2**63)}, f"count = -9223372036854775808: expected {LARGEST}"),
        *(
            ({"share": value}, f"share = {value!r}: expected a finite number <= 1")
            for value in (math.nan, math.inf, -math.inf, "1", None, True, 1j, np.float64("nan"), 2)
        ),
        ({"share": 10**400}, f"share = 1{'0' * 56}...: expected a finite number <= 1"),
        ({"limit": math.nan}, "limit = nan: expected a number"),
        ({"patience": 0}, "patience = 0: expected seconds > 0"),
        ({"nodes": 0}, "nodes = 0: expected an integer >= 1, or None"),
        (
            {"nodes": 2**63},
            f"nodes = {2**63}: expected an integer below 2^63 in absolute value",
        ),
        ({"flag": 1}, "flag = 1: expected True or False"),
        ({"flag": None}, "flag = None: expected True or False"),
        ({"name": 1}, "name = 1: expected a text"),
        ({"name": ""}, "name = '': expected a text"),
        ({"kind": "three"}, "kind = 'three': expected one of one, two"),
        ({"kind": np.array(["one", "two"])}, "expected one of one, two"),
        ({"at": 3}, "at = 3: expected a tuple of texts"),
        ({"at": ("a", 0.5)}, "at = ('a', 0.5): expected a tuple of texts"),
        ({"inner": None}, "inner = None: expected a Inner"),
        ({"size": 0}, "size = 0: expected a finite number > 0 or one of auto"),
        ({"flag": True, "share": 1}, "flag = True: expected share < 1"),
    ],
)
def test_a_wrong_value_is_told_in_one_line(values, message):
    with pytest.raises(ParameterError) as caught:
        Sample(**values)
    told = str(caught.value)
    assert told.endswith(message)
    assert told.startswith(f"{next(iter(values))} = ")
    assert "\n" not in told
    assert len(told) < 160


def test_numbers_of_numpy_become_plain():
    sample = Sample(
        count=np.int8(5), share=np.float32(0.5), limit=7, flag=np.True_, at=np.array(["c"])
    )
    assert sample == Sample(count=5, share=0.5, limit=7.0, flag=True, at=("c",))
    kinds = {type(getattr(sample, name)) for name in ("share", "limit")}
    assert kinds == {float}
    assert (type(sample.count), type(sample.flag), type(sample.at[0])) == (int, bool, str)


@pytest.mark.parametrize("value", [HUGE, -HUGE, [HUGE], {"a": HUGE}], ids=range(4))
def test_integers_of_thousands_of_digits_are_told(value):
    for name in ("count", "share", "name", "kind", "at", "inner", "flag", "size"):
        with pytest.raises(ParameterError, match="with thousands of digits: expected"):
            Sample(**{name: value})


@pytest.mark.parametrize(
    ("bounds", "phrase"),
    [
        ({"ge": 0, "lt": 1}, "a number in [0, 1)"),
        ({"gt": 0, "le": 1}, "a number in (0, 1]"),
        ({"ge": 1e-6, "le": 1e6}, "a number in [1e-6, 1000000]"),
        ({"gt": 0}, "a finite number > 0"),
        ({"gt": 0, "infinite": True}, "a number > 0"),
        ({"gt": 0, "unit": "MiB"}, "MiB > 0"),
    ],
)
def test_domains_in_words(bounds, phrase):
    made = dataclasses.make_dataclass(
        "Made", [("x", float, parameter(0.5, "", **bounds))], bases=(Parameters,), frozen=True
    )
    assert own_declarations(made)["x"].expected == phrase


def test_declarations_are_listed_with_paths_and_defaults():
    listed = {each.path: each for each in declarations(Sample)}
    assert next(iter(listed)) == "count"
    assert [*listed][-3:] == ["inner", "inner.count", "inner.most"]
    assert listed["inner.count"].default == 7
    assert listed["share"].reason == "More than all is too much."
    assert listed["kind"].choices == ("one", "two")
    changed = Sample().updated({"inner.most": 1, "count": 9})
    values = {each.path: value for each, value in declared_values(changed)}
    assert (values["inner.most"], values["count"], values["inner.count"]) == (1.0, 9, 7)


def test_values_are_updated_by_path_and_nested():
    assert Sample().updated({"inner.count": 1}) == Sample(inner=Inner(count=1))
    assert Sample().updated({"inner": {"most": 0.25}}).inner == Inner(count=7, most=0.25)
    both = Sample().updated({"inner": {"most": 0.25}, "inner.count": 1})
    assert both.inner == Inner(count=1, most=0.25)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"cuont": 1}, "cuont: unknown parameter; did you mean count?"),
        ({"inner.cuont": 1}, "inner.cuont: unknown parameter; did you mean count?"),
        ({"inner": {"zzz": 1}}, "inner.zzz: unknown parameter; expected count, most"),
        ({"inner": {"most": 0}}, "inner.most = 0: expected a number in (0, 1]"),
        ({"count.x": 0}, "count.x: unknown parameter; did you mean count?"),
    ],
)
def test_wrong_updates_are_told_by_path(values, message):
    with pytest.raises(ParameterError) as caught:
        Sample().updated(values)
    assert str(caught.value) == message


@given(
    st.builds(
        Sample,
        count=st.integers(-100, 100),
        share=st.floats(max_value=1, allow_nan=False, allow_infinity=False),
        limit=st.floats(allow_nan=False),
        nodes=st.none() | st.integers(1, 2**63 - 1),
        flag=st.just(False),
        name=st.text(st.characters(codec="utf-8"), min_size=1),
        kind=st.sampled_from(["one", "two"]),
        at=st.lists(st.text(max_size=3)),
        size=st.just("auto") | st.floats(0.1, 9),
        inner=st.builds(Inner, count=st.integers(0, 9)),
    )
)
def test_toml_holds_all_values(tmp_path_factory, sample):
    path = tmp_path_factory.mktemp("toml") / "parameters.toml"
    path.write_text(sample.to_toml(), encoding="utf-8")
    assert Sample.load(path) == sample


def test_toml_has_the_help_texts():
    text = Sample().to_toml()
    assert "# How many.\ncount = 3\n" in text
    assert tomllib.loads(text)["inner"] == {"count": 7, "most": 0.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("count = 101", "count = 101: expected an integer <= 100"),
        ("[inner]\nmost = 0", "inner.most = 0: expected a number in (0, 1]"),
        ("count = ", "Invalid value (at end of document); expected TOML"),
        ("a = " + "[" * 9999, "expected TOML"),
    ],
    ids=["value", "nested", "syntax", "brackets"],
)
def test_wrong_files_are_told_in_one_line(tmp_path, text, message):
    path = tmp_path / "p.toml"
    path.write_text(text)
    with pytest.raises(ParameterError) as caught:
        Sample.load(path)
    told = str(caught.value)
    assert told.startswith(f"{path}: ")
    assert told.endswith(message)
    assert "\n" not in told


@pytest.mark.parametrize("content", [None, b"\xff\xfe"], ids=["missing", "no text"])
def test_files_that_cannot_be_read_are_told(tmp_path, content):
    path = tmp_path / "p.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ParameterError, match=r"p\.toml: "):
        Sample.load(path)
