import io
import json
import math
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from sdpbb.errors import ArchiveError
from sdpbb.runtime.archive import container
from sdpbb.runtime.archive.file import CHECKPOINT
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
    """The document and the arrays of a file; arrays of any bytes and layout."""
    arrays = []
    for dtype in draw(st.lists(st.sampled_from(sorted(CHECKPOINT.dtypes)), max_size=3)):
        shape = draw(hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4))
        size = math.prod(shape) * np.dtype(dtype).itemsize
        content = draw(st.binary(min_size=size, max_size=size))
        order = draw(st.sampled_from("CF"))
        arrays.append(np.frombuffer(content, dtype).reshape(shape, order=order))
    return draw(DOCUMENTS), arrays


def written(document, arrays) -> bytes:
    file = io.BytesIO()
    container.write(file, CHECKPOINT, document, arrays)
    return file.getvalue()


@examples(200)
@given(files())
def test_what_is_read_is_what_was_written(contents):
    document, arrays = contents
    read, again = container.read(io.BytesIO(written(*contents)), CHECKPOINT)
    assert repr(read) == repr(document)
    assert len(again) == len(arrays)
    for one, other in zip(again, arrays, strict=True):
        assert (one.dtype.str, one.shape) == (other.dtype.str, other.shape)
        assert one.tobytes() == other.tobytes()
        assert one.flags.c_contiguous
        assert one.flags.aligned
        assert one.flags.writeable


@pytest.mark.long
@examples(300)
@given(files(), st.data())
def test_every_change_is_noticed(contents, data):
    whole = written(*contents)
    at = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[at] ^= data.draw(st.integers(1, 255))
    length = data.draw(st.integers(0, len(whole) - 1))
    more = whole + data.draw(st.binary(min_size=1, max_size=5))
    for content in (bytes(changed), whole[:length], more, whole[:at] + whole[at + 1 :]):
        if content != whole:
            with pytest.raises(ArchiveError, match="expected"):
                container.read(io.BytesIO(content), CHECKPOINT)


def test_the_bytes_are_those_that_are_stated():
    table = [[array.dtype.str, list(array.shape), array.nbytes] for array in ARRAYS]
    text = json.dumps({"arrays": table}, separators=(",", ":"))
    content = b"sdpbb-checkpoint 2\n%d\n%s" % (len(text), text.encode())
    content += b"".join(array.tobytes() for array in ARRAYS)
    checksum = zlib.crc32(content).to_bytes(4, "little")
    assert written({}, ARRAYS) == content + checksum


def test_parts_exchanged():
    """Checksums that would not depend on what is where would let this pass."""
    content = written({}, [np.zeros(8), np.ones(8)])
    exchanged = content[:-132] + content[-68:-4] + content[-132:-68] + content[-4:]
    with pytest.raises(ArchiveError, match=r"^is damaged; expected the file as it was written$"):
        container.read(io.BytesIO(exchanged), CHECKPOINT)


def test_a_file_that_is_cut_off_says_what_is_missing():
    content = written({}, [np.zeros(1000)])
    message = f"^is incomplete: it has 4,000 bytes; expected {len(content):,}, as it was written$"
    with pytest.raises(ArchiveError, match=message):
        container.read(io.BytesIO(content[:4000]), CHECKPOINT)
    with pytest.raises(ArchiveError, match=r"^is incomplete: it has 40 bytes; expected at least "):
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
    with pytest.raises(ArchiveError, match=why):
        list(container.read(io.BytesIO(content), CHECKPOINT)[1])
