"""Archives: what is read is what was written, bit by bit, or one line says why not."""

import contextlib
import copy
import io
import json
import os
import re
import tracemalloc
import zipfile
from dataclasses import dataclass, field
from enum import Enum, Flag, IntEnum, auto
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import sdpbb
from sdpbb.errors import ArchiveError, InstanceError
from sdpbb.runtime import files
from sdpbb.runtime.archive import file as archive_file
from sdpbb.runtime.archive.file import check_header, read_archive, write_archive
from sdpbb.runtime.archive.stored import TYPES, full_name, stored
from tests.examples import examples

VERSION = sdpbb.__version__


@stored
class Colour(Enum):
    RED = "r"
    GREEN = ("g", 2)
    ROUGE = RED  # another name of it


@stored
class Level(IntEnum):
    LOW = 1


@stored
class Rights(Flag):
    READ = auto()
    WRITE = auto()


@stored
@dataclass(frozen=True, eq=False)
class Leaf:
    matrix: np.ndarray
    colour: Colour = Colour.RED
    extra: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.matrix, np.ndarray):
            raise AttributeError("a leaf is made of a matrix")


@stored
@dataclass(frozen=True)
class Pair:
    left: Any
    right: Any = field(default_factory=tuple, kw_only=True)


@stored
@dataclass
class Positive:
    """Not frozen, so that tests can make an invalid one."""

    value: float

    def __post_init__(self) -> None:
        if self.value <= 0:
            raise LookupError(f"{self.value} is not\npositive")


@stored
@dataclass
class Packed:
    """Bits, which are told as bytes: to archives, to copies and to pickles."""

    bits: np.ndarray

    def __getstate__(self):
        return len(self.bits), np.packbits(self.bits)

    def __setstate__(self, state):
        length, packed = state
        self.bits = np.unpackbits(packed)[:length].astype(bool)


@contextlib.contextmanager
def registered(*types):
    """These types alone, as another version might have them."""
    with mock.patch.dict(TYPES, clear=True):
        for cls in types:
            stored(cls)
        yield


def round_trip(tmp_path, value):
    write_archive(tmp_path / "a", value)
    return read_archive(tmp_path / "a")


def assert_same(a, b):
    """a and b have the same types, bits and sharing."""
    seen = {}

    def compare(a, b):
        assert type(a) is type(b)
        if isinstance(a, (list, dict, np.ndarray, Leaf, Pair)) or (type(a) is tuple and a):
            assert seen.setdefault(("a", id(a)), id(b)) == id(b)
            assert seen.setdefault(("b", id(b)), id(a)) == id(a)
        if isinstance(a, (list, tuple)):
            assert len(a) == len(b)
            for x, y in zip(a, b, strict=True):
                compare(x, y)
        elif isinstance(a, dict):
            assert list(a) == list(b)
            for key in a:
                compare(a[key], b[key])
        elif isinstance(a, (np.ndarray, np.generic)):
            assert a.dtype.str == b.dtype.str
            assert a.shape == b.shape
            assert a.tobytes() == b.tobytes()
            if isinstance(a, np.ndarray) and (a.flags.c_contiguous or a.flags.f_contiguous):
                assert a.flags.c_contiguous == b.flags.c_contiguous
                assert a.flags.f_contiguous == b.flags.f_contiguous
        elif isinstance(a, Leaf):
            compare(a.matrix, b.matrix)
            compare(a.extra, b.extra)
            assert a.colour is b.colour
        elif isinstance(a, Pair):
            compare(a.left, b.left)
            compare(a.right, b.right)
        elif isinstance(a, float):
            assert a.hex() == b.hex()
        elif isinstance(a, Enum):
            assert a is b
        else:
            assert a == b

    compare(a, b)


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


SCALARS = DTYPES.flatmap(
    lambda dtype: st.binary(min_size=dtype.itemsize, max_size=dtype.itemsize).map(
        lambda content: np.frombuffer(content, dtype)[0]
    )
).filter(lambda scalar: not isinstance(scalar, np.bool_))
PLAIN = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.integers(-(2**300), 2**300),
    st.floats(),
    st.text(st.characters(exclude_categories=()), max_size=1),  # halves of surrogate pairs too
    st.text(max_size=5),
    st.sampled_from([*Colour, *Level, *Rights, np.True_, np.False_]),
    SCALARS,
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


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("archives")


@pytest.mark.long
@examples(300)
@given(values())
def test_what_is_read_is_what_was_written(folder, value):
    assert_same(value, round_trip(folder, value))


def test_special_values(tmp_path):
    value = {
        "floats": [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 5e-324, 0.1],
        "ints": [2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**128 - 1, -(10**500)],
        "texts": ["", '\0\n\u2028"\\', "\udc80", "\U00010000", "[0]"],
        "empties": [(), [], {}, "", np.empty((0, 3)), np.empty((3, 0, 2), order="F")],
        "0-d": np.array(-0.0),
        "transposed": np.arange(24.0).reshape(2, 3, 4).transpose(1, 0, 2),
        "big-endian": np.arange(3, dtype=">i8"),
        "": None,
    }
    assert_same(value, round_trip(tmp_path, value))
    assert round_trip(tmp_path, None) is None
    assert round_trip(tmp_path, Colour.ROUGE) is Colour.RED


def test_the_state_of_a_generator(tmp_path):
    generator = np.random.default_rng(3)
    state = round_trip(tmp_path, generator.bit_generator.state)
    numbers = generator.random(5)
    restored = np.random.default_rng()
    restored.bit_generator.state = state
    assert np.array_equal(restored.random(5), numbers)


def test_what_is_shared_is_stored_once(tmp_path):
    matrix = np.zeros(10_000)
    leaf = Leaf(matrix)
    value = [leaf, leaf, matrix, Pair(leaf), matrix.copy()]
    read = round_trip(tmp_path, value)
    assert (tmp_path / "a").stat().st_size < 2 * matrix.nbytes + 2000
    assert read[0] is read[1] is read[3].left
    assert read[0].matrix is read[2]
    assert read[4] is not read[2]
    read[2][0] = 1.0  # arrays are writable


def test_a_type_with_a_state_of_its_own(tmp_path):
    packed = Packed(np.random.default_rng(0).random(10_000) < 0.5)
    read = round_trip(tmp_path, [packed, packed])
    assert (tmp_path / "a").stat().st_size < 2000
    assert read[0] is read[1]
    assert np.array_equal(read[0].bits, packed.bits)
    forged(tmp_path / "a", contents(["object", 0, "no bits"], types=[Packed]))
    assert "holds an invalid Packed (ValueError: " in refusal(tmp_path / "a")


class Subarray(np.ndarray):
    pass


class Named(NamedTuple):
    x: int


@dataclass
class Stranger:
    x: int


@dataclass
class PositiveChild(Positive):
    pass


@pytest.mark.parametrize(
    "value",
    [
        *({1}, b"bytes", 1j, object(), Named(1), Stranger(1), Stranger, PositiveChild(1.0)),
        *({1: 2}, {Level.LOW: 2}, Rights.READ | Rights.WRITE, range(3), Path("a")),
        *(np.array(["a"]), np.array([None]), np.zeros(2, "i4,f8"), np.zeros(2, "M8[s]")),
        *(np.ma.zeros(2), np.zeros(2).view(Subarray), np.zeros(2, np.longdouble), np.longdouble(1)),
        *(np.str_("a"), np.datetime64("now")),
    ],
    ids=lambda value: getattr(value, "__name__", type(value).__name__),  # the same in all processes
)
def test_what_an_archive_does_not_hold(tmp_path, value):
    (tmp_path / "a").write_text("old")
    with pytest.raises(TypeError, match="an archive cannot hold") as caught:
        write_archive(tmp_path / "a", [{"deep": Pair(value)}])
    assert caught.value.__notes__[-2:] == [
        "in the field left of a Pair",
        "in the entry 'deep' of a dict",
    ]
    assert (tmp_path / "a").read_text() == "old"


def test_what_holds_itself(tmp_path):
    value: list = []
    value.append({"itself": value})
    with pytest.raises(TypeError, match="a list that holds itself"):
        write_archive(tmp_path / "a", value)
    assert not list(tmp_path.iterdir())


def refusal(path) -> str:
    """The message of the error that reading gives: one line that begins with the file's name."""
    with pytest.raises(ArchiveError) as caught:
        read_archive(path)
    message = str(caught.value)
    assert isinstance(caught.value, InstanceError)
    assert "\n" not in message
    assert message.isprintable()
    assert message.startswith(f"{files.shown_path(path)}: ")
    assert "expected" in message or "; this is " in message
    return message.removeprefix(f"{files.shown_path(path)}: ")


def small_archive(path) -> bytes:
    value = [Leaf(np.arange(6.0).reshape(2, 3)), 2**70, float("nan"), "name", np.ones(3, "f4")]
    write_archive(path, value)
    return path.read_bytes()


FOREIGN = "is not an sdpbb checkpoint, or not all of it; expected a whole one"
DAMAGED = "is damaged; expected the file as it was written"


def test_truncated_at_every_length(tmp_path):
    path = tmp_path / "a"
    content = small_archive(path)
    messages = set()
    for length in reversed(range(len(content))):
        os.truncate(path, length)
        messages.add(refusal(path))
    assert messages == {"the file is empty; expected an sdpbb checkpoint", FOREIGN}


def test_every_byte_that_changes_is_noticed_or_says_nothing(tmp_path):
    """ZIP has dates and the like beside what it holds."""
    path = tmp_path / "a"
    content, value = small_archive(path), read_archive(path)
    held = [0 for _ in content]
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            begin = content.index(archive.read(entry))
            held[begin : begin + entry.file_size] = [1] * entry.file_size
    for position, is_held in enumerate(held):
        changed = bytearray(content)
        changed[position] ^= 1
        path.write_bytes(changed)
        if is_held:
            assert refusal(path) == DAMAGED
            continue
        try:
            assert_same(read_archive(path), value)
        except ArchiveError:
            refusal(path)


def test_foreign_files(tmp_path):
    path = tmp_path / "a"
    foreign = [b"x,y\n1,2\n", b"\x89PNG\r\n\x1a\n", b"\0" * 5000, b"\n", b"sdpbb-checkpoint"]
    foreign += [b"sdpbb-checkpoint two\n2\n{}", os.urandom(3000)]
    for content in foreign:
        path.write_bytes(content)
        assert refusal(path).startswith("is not an sdpbb checkpoint")
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a", "b")
    assert refusal(path).startswith("is not an sdpbb checkpoint")
    np.savez(tmp_path / "b.npz", a=np.zeros(3))
    assert refusal(tmp_path / "b.npz").startswith("is not an sdpbb checkpoint")
    path.write_bytes(b"")
    assert refusal(path) == "the file is empty; expected an sdpbb checkpoint"
    assert refusal(tmp_path) == "is a folder; expected an sdpbb checkpoint"
    assert refusal(tmp_path / "no\nfile").startswith("there is no such file; expected")
    assert refusal(tmp_path / "a" / "b").startswith("cannot be read (Not a directory)")
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe").startswith("is not a regular file")
    with pytest.raises(ArchiveError, match=r"^'': is not the name of a file$"):
        read_archive("")


def test_no_permission(tmp_path, monkeypatch):
    small_archive(tmp_path / "a")

    def refuse(*arguments):
        raise PermissionError(13, "Permission denied")

    # Not by its mode: whoever may do everything may read it all the same.
    monkeypatch.setattr(archive_file, "open", refuse, raising=False)
    assert refusal(tmp_path / "a").startswith("cannot be read (Permission denied)")


def test_the_header_is_checked_quickly(tmp_path):
    path = tmp_path / "a"
    content = bytearray(small_archive(path))
    content[content.index(b"sdpbb")] ^= 1  # in the document, which is not looked at
    path.write_bytes(content)
    check_header(path)
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = b"sdpbb-checkpoint 12"
    another = path.read_bytes()
    for other, reason in (
        (another, "is in format 12 of another version of sdpbb, which can read it; "),
        (b"sdpbb-checkpoint 4\nwhatever", "is in format 4 of another version of sdpbb, "),
        (content[:50], FOREIGN),
    ):
        path.write_bytes(other)
        assert refusal(path).startswith(reason)
        with pytest.raises(ArchiveError, match=re.escape(f"{path}: {reason}")):
            check_header(path)


def test_members_that_take_more_memory_than_the_file_has_bytes(tmp_path):
    """Compressed, or several of the same bytes."""
    path = tmp_path / "a"
    forged(path, contents(), [npy(np.zeros(10**6))], compression=zipfile.ZIP_DEFLATED)
    assert refusal(path) == DAMAGED
    forged(path, contents(), [npy(np.zeros(1000))])
    with zipfile.ZipFile(path, "a") as archive:
        again = copy.copy(archive.getinfo("0.npy"))
        again.filename = "1.npy"
        archive.filelist.append(again)
        archive.comment = archive.comment  # or the list is not written
    assert refusal(path) == DAMAGED


def npy(array) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def forged(path, document, arrays=(), compression=zipfile.ZIP_STORED) -> None:
    """An archive with whatever contents, and with lengths and checksums that are right."""
    text = document if isinstance(document, bytes) else json.dumps(document).encode()
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.comment = b"sdpbb-checkpoint 5"
        archive.writestr("document.json", text)
        for number, content in enumerate(arrays):
            archive.writestr(f"{number}.npy", content)


def contents(*items, value=None, types=()):
    """A document; types are classes, or their names."""
    value = [len(items) - 1] if value is None and items else value
    types = [full_name(kind) if isinstance(kind, type) else kind for kind in types]
    return {"sdpbb": VERSION, "types": types, "items": list(items), "value": value}


def test_a_forgery_can_be_read(tmp_path):
    """Or the tests of forgeries would show nothing."""
    forged(tmp_path / "a", contents(["array", 0], ["tuple", 1, [0]]), [npy(np.ones(1))])
    assert read_archive(tmp_path / "a") == (1, np.ones(1))
    forged(tmp_path / "a", contents(["object", 0, 1, [2]], types=[Pair]) | {"value": 5})
    assert "are inconsistent" in refusal(tmp_path / "a")


@pytest.mark.parametrize(
    "document",
    [
        *(b"{", b"null", b"[" * 100_000, b'"types"', {}, {"sdpbb": "\n"}),
        *(contents() | {"types": 1}, contents() | {"items": None}),
        *(contents(types=[3]), contents(types=[["Leaf"]]), contents(types=["pathlib.Path"])),
        *(contents(value={"a": 1}), contents(value=[]), contents(value=[0, 0])),
        *(
            contents(["list"], value=[position])
            for position in (1, -1, 0.0, True, "0", None, 2**60)
        ),
        *(contents(["list", [0]]), contents(["list", [1]], ["list"])),
        *(contents(5), contents([]), contents("list"), contents([["list"]]), contents(["exec", 1])),
        *(contents(["dict", "a"]), contents(["dict", 1, 2]), contents(["dict", None, 2])),
        *(contents(["array", 0]), contents(["array", -1]), contents(["array", None])),
        *(contents(["scalar"]), contents(["scalar", 0]), contents(["scalar", "<f8"])),
        *(contents(["object"]), contents(["object", 0]), contents(["object", True], types=[Pair])),
        *(contents(["object", 0], types=[Colour]), contents(["object", 0, [0]], types=[Colour])),
        contents(["object", 0, "__class__"], types=[Colour]),
        *(contents(["object", 0, 1], types=[Pair]), contents(["object", 0, 1, 2, 3], types=[Pair])),
        contents(["object", 0, 1, 2, 3], types=[Leaf]),
        *(contents(types=["os\n" + "x" * 10_000]), contents(types=["Pair"])),
    ],
    ids=lambda document: str(document)[:60],
)
def test_contents_that_make_no_sense(tmp_path, document):
    forged(tmp_path / "a", document)
    assert len(refusal(tmp_path / "a")) < 500


@pytest.mark.parametrize(
    ("descr", "shape"),
    [
        *(
            ("'<f8'", shape)
            for shape in ((3,), (1, 0, 2**39, 2**39), (0,) * 65, (-1, -2), (2**60,))
        ),
        *(("'<f8'", shape) for shape in ((2**60,), ("1",), (1.0,), 2, None, "(1e999,)", "print")),
        *((descr, (2,)) for descr in ("'|O'", "'|V8'", "[('a', '<f8')]", "print")),
    ],
    ids=lambda part: str(part)[:20],
)
def test_arrays_that_make_no_sense(tmp_path, descr, shape):
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    content = b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header + bytes(16)
    forged(tmp_path / "a", contents(["array", 0]), [content])
    assert "are inconsistent" in refusal(tmp_path / "a")


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY\2\0", npy(np.ones(2))[:-1], b"2" * 200])
def test_members_that_are_no_arrays(tmp_path, content):
    forged(tmp_path / "a", contents(["array", 0]), [content])
    assert "are inconsistent" in refusal(tmp_path / "a")


TOKENS = (
    '[ ] , [0] [1] [-1] {} null true 0 2 -1 1e999 NaN "" "Leaf" "Colour" "RED" "list" "array" '
    '"object" 99999999999999999999 "matrix" "scalar" "\\ud800"'
)


@pytest.mark.long
@examples(300)
@given(st.data())
def test_contents_changed_at_random_are_read_or_refused(folder, data):
    small_archive(folder / "a")
    with zipfile.ZipFile(folder / "a") as archive:
        document, *matrices = map(archive.read, archive.namelist())
    parts = re.findall(r'"[^"]*"|[\w.+-]+|[^\w"]', document.decode())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(parts) - 1))
        parts[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.lists(st.sampled_from(TOKENS.split()), max_size=2)
        )
    forged(folder / "a", "".join(parts).encode(), matrices)
    with contextlib.suppress(ArchiveError):
        read_archive(folder / "a")


def test_large_arrays_are_not_copied_as_a_whole(tmp_path):
    size = 2**24 + 10**6
    value = [np.zeros(size, "u1"), np.zeros((size // 2, 2), "u1", order="F")]
    write_archive(tmp_path / "a", value)
    tracemalloc.start()
    write_archive(tmp_path / "a", value)
    written = tracemalloc.get_traced_memory()[1]
    tracemalloc.reset_peak()
    read_archive(tmp_path / "a")
    read = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert written < 2**24 + 500_000
    assert read < 2 * size + 10**6
