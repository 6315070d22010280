import hashlib
import json
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sdpbb.checker import container, digests
from sdpbb.checker.container import MAGIC, pack, unpack
from sdpbb.checker.rejection import Rejected
from tests.checker.corrupted import resealed

ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.linspace(0.0, 1.0, 5, dtype=np.float32),
    np.array([-1, 2**40]),
    np.array([[1, 2, 3]], np.int32),
    np.array([0, 255], np.uint8),
    np.empty((0, 2), np.int32),
]


@given(st.integers(0, 2**32), st.sampled_from(container.DTYPES), st.integers(0, 9))
def test_what_is_packed_is_unpacked(seed, dtype, rows):
    rng = np.random.default_rng(seed)
    array = rng.integers(0, 200, (rows, 3)).astype(dtype)
    document, arrays = unpack(pack({"x": 1.5, "y": "ä"}, [array, *ARRAYS]))
    assert document == {"x": 1.5, "y": "ä"}
    for read, written in zip(arrays, [array, *ARRAYS], strict=True):
        assert read.dtype == written.dtype.newbyteorder("<")
        assert read.shape == written.shape
        assert (read == written).all()


def test_other_byte_orders_and_layouts_are_written_as_little_endian():
    array = np.asfortranarray(np.arange(6).reshape(2, 3).astype(">i4"))
    _, arrays = unpack(pack({}, [array]))
    assert arrays[0].dtype.str == "<i4"
    assert (arrays[0] == array).all()


@pytest.mark.parametrize("array", [np.array([1j]), np.array([True]), np.array(["x"])])
def test_other_dtypes_are_not_written(array):
    with pytest.raises(ValueError, match="expected one of"):
        pack({}, [array])


def test_numbers_that_are_not_finite_are_not_written():
    with pytest.raises(ValueError, match="JSON"):
        pack({"x": np.inf}, [])


def table(change):
    """A file whose table of arrays is changed."""

    def changed(document):
        document["arrays"] = change(document["arrays"])

    return resealed(pack({"x": 1}, ARRAYS), changed)


def with_entry(entry):
    return table(lambda entries: [entry, *entries[1:]])


def with_document(text: bytes, payload: bytes = b"") -> bytes:
    content = MAGIC + b"%d\n" % len(text) + text + payload
    return content + hashlib.sha256(content).digest()


SOUND = pack({"x": 1}, ARRAYS)
LENGTH = len(zlib.compress(ARRAYS[0].tobytes()))
WRONG = {
    "begin": (b"sdpbb-certificates 2\n" + SOUND[20:], "does not begin with"),
    "empty": (b"", "does not begin with"),
    "cut off": (MAGIC, "cut off"),
    "damaged": (SOUND[:-40] + b"y" + SOUND[-39:], "damaged"),
    "longer": (SOUND + b"\0", "damaged"),
    "no JSON": (with_document(b"{"), "not the JSON"),
    "no UTF-8": (with_document(b'{"\xff": 1}'), "not the JSON"),
    "deep": (with_document(b"[" * 100_000), "not the JSON"),
    "a long number": (
        with_document(b'{"x": ' + b"9" * 5000 + b"}"),
        "^the document holds a whole number of 5000 digits; expected at most 20$",
    ),
    "a number": (with_document(b'{"x": ' + b"9" * 20 + b"}"), "arrays: expected a list"),
    "a list": (with_document(b"[]"), "not a JSON object"),
    "twice": (with_document(b'{"x": 1, "x": 1, "arrays": []}'), "names a key twice"),
    "nan": (with_document(b'{"x": NaN, "arrays": []}'), "holds NaN"),
    "infinity": (with_document(b'{"x": -Infinity, "arrays": []}'), "holds -Infinity"),
    "overflow": (with_document(b'{"x": 1e999, "arrays": []}'), "holds 1e999"),
    "no table": (with_document(b"{}"), "arrays: expected a list"),
    "trailing": (with_document(b'{"arrays": []}', b"x"), "1 bytes after the last array"),
    "length": (MAGIC + b"02\n{}" + bytes(40), "damaged"),
    "dtype": (with_entry(["<c8", [2, 3], LENGTH]), "expected a dtype among"),
    "object": (with_entry(["|O", [2, 3], LENGTH]), "expected a dtype among"),
    "no dtype": (with_entry([[], [2, 3], LENGTH]), "expected a dtype among"),
    "fields": (with_entry(["<f8", [2, 3]]), "expected dtype, shape and length"),
    "scalar": (with_entry(["<f8", [], LENGTH]), "one or two dimensions"),
    "cube": (with_entry(["<f8", [1, 2, 3], LENGTH]), "one or two dimensions"),
    "negative": (with_entry(["<f8", [-2, -3], LENGTH]), "whole numbers >= 0"),
    "true": (with_entry(["<f8", [True, 6], LENGTH]), "whole numbers >= 0"),
    "float": (with_entry(["<f8", [2, 3.0], LENGTH]), "whole numbers >= 0"),
    "bomb": (with_entry(["<f8", [2**20, 3], LENGTH]), "too large for"),
    "huge": (with_entry(["<f8", [2**60, 2**60], LENGTH]), "the arrays are of more than"),
    "wide": (with_entry(["<f8", [0, 2**63], LENGTH]), "the arrays are of more than"),
    "beyond": (with_entry(["<f8", [2, 3], 10**6]), "the file ends before it does"),
    "fewer": (table(lambda entries: entries[:-1]), "bytes after the last array"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_files_are_rejected(name):
    data, why = WRONG[name]
    with pytest.raises(Rejected, match=why):
        unpack(data)


@pytest.mark.parametrize(
    "digits", [b"02", b"+2", b" 2", b"2 ", b"", b"-1", b"9" * 20, "²".encode()]
)
def test_the_length_is_written_in_one_way(digits):
    content = MAGIC + digits + b'\n{"arrays": []}'
    with pytest.raises(Rejected, match=r"length of the document|longer than the file"):
        unpack(content + hashlib.sha256(content).digest())


@pytest.mark.parametrize(("shape", "bytes_less"), [([2, 2], 0), ([2, 4], 0), ([2, 3], 1)])
def test_arrays_are_as_long_as_their_shapes(shape, bytes_less):
    entries = [["<f8", shape, LENGTH - bytes_less], ["<f8", [2, 3], LENGTH + bytes_less]]
    data = resealed(pack({}, [ARRAYS[0]] * 2), lambda document: document.update(arrays=entries))
    _, arrays = unpack(data)
    with pytest.raises(Rejected, match="its shape"):
        arrays[0]


def test_what_is_not_compressed_is_rejected():
    text = json.dumps({"arrays": [["|u1", [3], 3]]}).encode()
    _, arrays = unpack(with_document(text, b"abc"))
    with pytest.raises(Rejected, match="zlib"):
        arrays[0]
    two = zlib.compress(b"abc") + b"x"
    text = json.dumps({"arrays": [["|u1", [3], len(two)]]}).encode()
    _, arrays = unpack(with_document(text, two))
    with pytest.raises(Rejected, match="its shape"):
        arrays[0]


def test_arrays_are_read_only():
    _, arrays = unpack(SOUND)
    with pytest.raises(ValueError, match="read-only"):
        arrays[0][0, 0] = 1.0
    assert len(arrays[1:3]) == 2


def test_digests_are_those_of_equal_instances():
    points = np.array([[0.0, 1.0], [2.0, 3.0]])
    assert digests.of_points(points) == digests.of_points(np.asfortranarray(points))
    assert digests.of_points([[-0.0]]) == digests.of_points([[0.0]])
    assert digests.of_points(points) != digests.of_points(points.T)
    assert digests.of_points([[0.1]]) != digests.of_points([[np.float32(0.1)]])
    assert digests.of_pairs([(3, 1), (0, 2), (1, 3)]) == digests.of_pairs([(0, 2), (1, 3)])
    assert digests.of_pairs([]) == digests.of_pairs(np.empty((0, 2), np.int32))
    assert digests.of_pairs([(0, 1)]) != digests.of_pairs([(0, 2)])


def test_digests_are_of_the_bytes_that_are_stated():
    points = hashlib.sha256(struct.pack("<4d", 0.0, 1.0, 2.0, 3.0)).hexdigest()
    assert digests.of_points([[-0.0, 1.0], [2.0, 3.0]]) == points
    pairs = hashlib.sha256(struct.pack("<4q", 0, 2, 1, 3)).hexdigest()
    assert digests.of_pairs([(3, 1), (0, 2)]) == pairs


def test_another_format_is_told():
    data = b"sdpbb-certificate 1" + pack({"n": 1}, [])[len(MAGIC) - 1 :]
    with pytest.raises(Rejected, match="a certificate of format 1; expected format 2: the sdpbb"):
        unpack(data)
