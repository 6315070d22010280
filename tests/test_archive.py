"""Archives: what is read is what was written, bit by bit."""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sdpbb.runtime.archive import Encoder, decoded, full_name, stored
from tests.archives import archived
from tests.examples import examples


@stored
class Colour(Enum):
    RED = "r"
    GREEN = ("g", 2)
    ROUGE = RED  # another name of it


@stored
@dataclass(frozen=True, eq=False)
class Leaf:
    matrix: np.ndarray
    colour: Colour = Colour.RED
    extra: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.matrix, np.ndarray):
            raise AttributeError("a leaf is\nmade of a matrix")


@stored
@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any = field(default_factory=tuple, kw_only=True)


def form(value, seen):
    """The types, bits and sharing of a value, to be compared."""
    if isinstance(value, (list, dict, np.ndarray, Leaf, Pair)) or (type(value) is tuple and value):
        if id(value) in seen:
            return seen[id(value)]
        seen[id(value)] = len(seen)
    content: Any = repr(value)  # of a float, too, all bits
    if isinstance(value, (list, tuple)):
        content = [form(part, seen) for part in value]
    elif isinstance(value, dict):
        content = [(key, form(part, seen)) for key, part in value.items()]
    elif isinstance(value, (Leaf, Pair)):
        content = [form(part, seen) for part in vars(value).values()]
    elif isinstance(value, (np.ndarray, np.generic)):
        content = value.dtype.str, value.shape, value.tobytes()
    return type(value), content


def assert_same(one, two):
    assert form(one, {}) == form(two, {})


DTYPES = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(),
    hnp.unsigned_integer_dtypes(),
    hnp.floating_dtypes(),
    hnp.complex_number_dtypes(),
).filter(lambda dtype: dtype.itemsize <= (16 if dtype.kind == "c" else 8))


@st.composite
def arrays(draw):
    """Contiguous in either order, not at all, read-only, empty, 0-d; of random bytes."""
    dtype = draw(DTYPES)
    shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
    count = int(np.prod(shape, dtype=int))
    if dtype.kind == "b":
        flat = np.frombuffer(draw(st.binary(min_size=count, max_size=count)), "u1") > 127
    else:
        size = count * dtype.itemsize
        flat = np.frombuffer(draw(st.binary(min_size=size, max_size=size)), dtype)
    array = flat.reshape(shape, order=draw(st.sampled_from("CF")))
    view = draw(st.sampled_from(["as it is", "reversed", "repeated"]))
    if view == "reversed" and array.ndim:
        return array[::-1]
    return np.broadcast_to(array, (2, *shape)) if view == "repeated" else array


PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**300), 2**300),
    st.sampled_from([2**63, -(2**63) - 1, -(10**500), -0.0, 5e-324, "\udc80", "\0\u2028"]),
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=1),  # halves of surrogate pairs too
    st.text(max_size=5),
    st.sampled_from([*Colour, np.True_, np.False_]),
    DTYPES.flatmap(hnp.from_dtype),
)


@st.composite
def values(draw):
    """Nested values some of whose parts are in them several times."""
    parts = draw(st.lists(st.one_of(PLAIN, arrays()), min_size=1, max_size=4))
    for _ in range(draw(st.integers(0, 6))):
        chosen = draw(st.lists(st.sampled_from(parts), max_size=4))
        kind = draw(st.sampled_from([list, tuple, dict, Pair, Leaf]))
        if kind is dict:
            keys = draw(st.lists(st.text(max_size=3), unique=True, max_size=len(chosen)))
            parts.append(dict(zip(keys, chosen, strict=False)))
        elif kind is Pair:
            parts.append(Pair(chosen[:1], right=tuple(chosen[1:])))
        elif kind is Leaf:
            parts.append(Leaf(draw(arrays()), draw(st.sampled_from(Colour)), tuple(chosen)))
        else:
            parts.append(kind(chosen))
    return parts


@pytest.mark.long
@examples(300)
@given(values())
def test_what_is_read_is_what_was_written(value):
    assert_same(value, archived(value))


def test_what_is_shared_is_stored_once():
    matrix = np.zeros(10_000)
    leaf = Leaf(matrix)
    value = [leaf, leaf, matrix, Pair(leaf), matrix.copy()]
    assert len(Encoder(value).arrays) == 2
    read = archived(value)
    assert read[0] is read[1] is read[3].left
    assert read[0].matrix is read[2]
    assert read[4] is not read[2]
    read[2][0] = 1.0  # arrays are writable


class Named(NamedTuple):
    x: int


@dataclass
class Stranger:
    x: int


class PairChild(Pair):
    pass


@pytest.mark.parametrize(
    "value",
    [
        *({1}, b"bytes", 1j, object(), Named(1), Stranger(1), Stranger, PairChild(1.0), {1: 2}),
        *(np.str_("a"), np.datetime64("now"), np.array(["a"]), np.array([None]), np.ma.zeros(2)),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),  # the same in all processes
)
def test_what_an_archive_does_not_hold(value):
    with pytest.raises(TypeError, match="an archive cannot hold"):
        Encoder([{"deep": Pair(value)}])


@dataclass
class Unregistered:
    x: int = 0


@pytest.mark.parametrize(
    ("word", "content"),
    [
        ("types.SimpleNamespace", {}),
        (full_name(Unregistered), {}),
        (full_name(Colour), "__class__"),
        (full_name(Leaf), {"matrix": 1}),
        ("list", [[0]]),
        ("array", 1),
    ],
)
def test_what_no_archive_says_is_refused_and_not_called(word, content):
    document = {"items": [["array", 0]], "value": [0]}
    assert decoded(document, [np.ones(1)]) == np.ones(1)
    with pytest.raises((AttributeError, LookupError, TypeError)):
        decoded(document | {"items": [[word, content]]}, [np.ones(1)])
