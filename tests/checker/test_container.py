import hashlib
import io
import json
import math
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sdpbb.checker import container, digests
from sdpbb.checker.container import CERTIFICATE, pack, unpack
from sdpbb.checker.rejection import Rejected
from sdpbb.runtime.archive.file import CHECKPOINT
from tests.checker.corrupted import MAGIC, resealed
from tests.examples import examples

ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.linspace(0.0, 1.0, 5, dtype=np.float32),
    np.array([-1, 2**40]),
    np.array([[1, 2, 3]], np.int32),
    np.array([0, 255], np.uint8),
    np.empty((0, 2), np.int32),
]


NUMBERS = st.integers(1 - 10**19, 10**19) | st.floats(allow_nan=False, allow_infinity=False)
DOCUMENTS = st.dictionaries(
    st.text(max_size=5).filter(lambda key: key != "arrays"),
    st.recursive(
        st.none() | st.booleans() | NUMBERS | st.text(max_size=5),
        lambda values: (
            st.lists(values, max_size=3) | st.dictionaries(st.text(max_size=3), values, max_size=3)
        ),
        max_leaves=10,
    ),
    max_size=4,
)


@st.composite
def files(draw):
    """The format, the document and the arrays of a file; arrays of any bytes and layout."""
    kind = draw(st.sampled_from([CERTIFICATE, CHECKPOINT]))
    arrays = []
    for dtype in draw(st.lists(st.sampled_from(sorted(kind.dtypes)), max_size=3)):
        least, most = kind.dimensions[0], min(kind.dimensions[-1], 3)
        shape = draw(hnp.array_shapes(min_dims=least, max_dims=most, min_side=0, max_side=4))
        size = math.prod(shape) * np.dtype(dtype).itemsize
        content = draw(st.binary(min_size=size, max_size=size))
        order = draw(st.sampled_from("CF"))
        arrays.append(np.frombuffer(content, dtype).reshape(shape, order=order))
    return kind, draw(DOCUMENTS), arrays


def written(kind, document, arrays) -> bytes:
    file = io.BytesIO()
    container.write(file, kind, document, arrays)
    return file.getvalue()


@examples(200)
@given(files())
def test_what_is_read_is_what_was_written(contents):
    kind, document, arrays = contents
    read, again = container.read(io.BytesIO(written(*contents)), kind)
    assert repr(read) == repr(document)
    assert len(again) == len(arrays)
    for one, other in zip(again, arrays, strict=True):
        assert (one.dtype.str, one.shape) == (other.dtype.str, other.shape)
        assert one.tobytes() == other.tobytes()
        assert one.flags.c_contiguous
        assert one.flags.aligned
        assert one.flags.writeable == (kind is CHECKPOINT)


@pytest.mark.long
@examples(300)
@given(files(), st.data())
def test_every_change_is_noticed(contents, data):
    kind, whole = contents[0], written(*contents)
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= data.draw(st.integers(1, 255))
    length = data.draw(st.integers(0, len(whole) - 1))
    more = whole + data.draw(st.binary(min_size=1, max_size=5))
    for content in (bytes(changed), whole[:length], more, whole[:at] + whole[at + 1 :]):
        if content != whole:
            with pytest.raises(Rejected, match="expected"):
                container.read(io.BytesIO(content), kind)


def test_the_bytes_are_those_that_are_stated():
    compressed = [zlib.compress(array.tobytes(), 1) for array in ARRAYS]
    table = [
        [array.dtype.str, list(array.shape), len(content)]
        for array, content in zip(ARRAYS, compressed, strict=True)
    ]
    text = json.dumps({"x": "ä", "arrays": table}, separators=(",", ":"), ensure_ascii=False)
    assert pack({"x": "ä"}, ARRAYS) == with_document(text.encode(), b"".join(compressed))
    table = [[array.dtype.str, list(array.shape), array.nbytes] for array in ARRAYS]
    text = json.dumps({"arrays": table}, separators=(",", ":"))
    content = b"sdpbb-checkpoint 2\n%d\n%s" % (len(text), text.encode())
    content += b"".join(array.tobytes() for array in ARRAYS)
    checksum = zlib.crc32(content).to_bytes(4, "little")
    assert written(CHECKPOINT, {}, ARRAYS) == content + checksum


def test_parts_exchanged():
    """Checksums that would not depend on what is where would let this pass."""
    content = written(CHECKPOINT, {}, [np.zeros(8), np.ones(8)])
    exchanged = content[:-132] + content[-68:-4] + content[-132:-68] + content[-4:]
    with pytest.raises(Rejected, match=r"^is damaged; expected the file as it was written$"):
        container.read(io.BytesIO(exchanged), CHECKPOINT)


def test_a_file_that_is_cut_off_says_what_is_missing():
    content = written(CHECKPOINT, {}, [np.zeros(1000)])
    message = f"^is incomplete: it has 4,000 bytes; expected {len(content):,}, as it was written$"
    with pytest.raises(Rejected, match=message):
        container.read(io.BytesIO(content[:4000]), CHECKPOINT)
    with pytest.raises(Rejected, match=r"^is incomplete: it has 40 bytes; expected at least "):
        container.read(io.BytesIO(content[:40]), CHECKPOINT)


@pytest.mark.parametrize(
    ("shape", "length", "why"),
    [
        ([3], 16, "24 bytes from 16 stored ones"),
        ([1], 16, "8 bytes from 16 stored ones"),
        ([1, 0, 2**39, 2**39], 0, "too large"),
        ([0] * 65, 0, "0 to 64 dimensions"),
        ([2**60, 0], 0, "below 2\\^40"),
    ],
)
def test_uncompressed_arrays_are_as_long_as_their_shapes(shape, length, why):
    text = json.dumps({"arrays": [["<f8", shape, length]]}).encode()
    content = b"sdpbb-checkpoint 2\n%d\n%s%s" % (len(text), text, bytes(length))
    content += zlib.crc32(content).to_bytes(4, "little")
    with pytest.raises(Rejected, match=why):
        list(container.read(io.BytesIO(content), CHECKPOINT)[1])


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
    "begin": (b"sdpbb-certificates 2\n" + SOUND[20:], "is an sdpbb certificates"),
    "points": (b"1 2\n3 4\n", "^is not an sdpbb certificate, or not all of it; expected a whole"),
    "empty": (b"", "^the file is empty; expected an sdpbb certificate$"),
    "cut off": (MAGIC, "damaged"),
    "damaged": (SOUND[:-40] + b"y" + SOUND[-39:], "damaged"),
    "longer": (SOUND + b"\0", "damaged"),
    "no JSON": (with_document(b"{"), "not JSON"),
    "no UTF-8": (with_document(b'{"\xff": 1}'), "not JSON"),
    "deep": (with_document(b"[" * 100_000), "not JSON"),
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
    "trailing": (
        with_document(b'{"arrays": []}', b"x"),
        "it has 70 bytes; expected 69",
    ),
    "dtype": (with_entry(["<c8", [2, 3], LENGTH]), "expected a dtype among"),
    "object": (with_entry(["|O", [2, 3], LENGTH]), "expected a dtype among"),
    "no dtype": (with_entry([[], [2, 3], LENGTH]), "expected a dtype among"),
    "fields": (with_entry(["<f8", [2, 3]]), "expected dtype, shape and length"),
    "scalar": (with_entry(["<f8", [], LENGTH]), "1 to 2 dimensions"),
    "cube": (with_entry(["<f8", [1, 2, 3], LENGTH]), "1 to 2 dimensions"),
    "negative": (with_entry(["<f8", [-2, -3], LENGTH]), "whole numbers >= 0"),
    "true": (with_entry(["<f8", [True, 6], LENGTH]), "whole numbers >= 0"),
    "float": (with_entry(["<f8", [2, 3.0], LENGTH]), "whole numbers >= 0"),
    "bomb": (with_entry(["<f8", [2**20, 3], LENGTH]), "expected a shape that fits"),
    "huge": (with_entry(["<f8", [2**60, 2**60], LENGTH]), "below 2\\^40"),
    "large": (with_entry(["<f8", [2**15, 2**15], 2**23]), "the arrays are of more than"),
    "wide": (with_entry(["<f8", [0, 2**63], LENGTH]), "below 2\\^40"),
    "beyond": (with_entry(["<f8", [2, 3], 10**6]), "is incomplete: it has"),
    "fewer": (table(lambda entries: entries[:-1]), "is damaged: it has"),
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
    with pytest.raises(Rejected, match=r"is damaged|is incomplete"):
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
    with pytest.raises(Rejected, match="format 1 of another version of sdpbb, which can"):
        unpack(data)
