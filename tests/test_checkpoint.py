"""The file that a run is continued from."""

import dataclasses
import inspect
import json
import os
import shutil
import zipfile
from enum import Enum
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import sdpbb
from sdpbb.errors import ArchiveError
from sdpbb.problem import Infeasibility, InfeasibilityKind, Instance
from sdpbb.run.checkpoint import (
    CheckpointWriter,
    RunState,
    read_checkpoint,
    write_checkpoint,
)
from sdpbb.run.solver import solve
from sdpbb.runtime.archive import TYPES, has_own_state
from sdpbb.runtime.files import shown_path
from sdpbb.search.events import CheckpointFailed
from sdpbb.search.node import Node
from sdpbb.search.result import SolutionStatus
from sdpbb.search.tree import Tolerances, Tree
from tests.trees import HASTY, SMALL

TINY = Instance([[0.0], [1.0], [5.0]], 2, must_link=[(0, 1)], name="tiny")


def test_stored_types_are_made_from_all_of_their_fields_and_from_these_alone():
    root = Path(sdpbb.__file__).parents[1]
    for source in root.glob("sdpbb/**/*.py"):
        if "@stored\n" in source.read_text(encoding="utf-8"):
            import_module(".".join(source.relative_to(root).with_suffix("").parts))
    for cls in TYPES.values():
        if issubclass(cls, Enum) or has_own_state(cls):
            continue
        fields = {field.name for field in dataclasses.fields(cls)}
        arguments = inspect.signature(cls).parameters
        required = {name for name, one in arguments.items() if one.default is one.empty}
        assert required <= fields <= arguments.keys(), cls


def test_a_run_without_a_tree(tmp_path):
    proof = Infeasibility(InfeasibilityKind.ODD_CYCLE, (0, 1, 2))
    write_checkpoint(tmp_path / "run", RunState(TINY, HASTY, 2.5, proof))
    read = read_checkpoint(tmp_path / "run")
    assert (read.seconds, read.infeasibility, read.tree) == (2.5, proof, None)
    assert read.instance.name == "tiny"
    assert not read.instance.points.flags.writeable


# -- when it is written ----------------------------------------------------------------------


class Clock:
    """Time that passes when it is told to, and while a checkpoint is written."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        self.writing = 0.0
        self.error = None
        self.written = []
        monkeypatch.setattr("sdpbb.run.checkpoint.time.perf_counter", lambda: self.now)
        monkeypatch.setattr("sdpbb.run.checkpoint.write_checkpoint", self.write)

    def write(self, path, checkpoint):
        self.now += self.writing
        if self.error is not None:
            raise self.error
        self.written.append(checkpoint.seconds)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def events():
    return []


@pytest.fixture
def save(clock, events):
    file = CheckpointWriter("run", RunState(TINY, HASTY), lambda: clock.now, events.append)
    tree = Tree(Node(), Tolerances(0.0))

    def save(seconds=0.0, finished=False):
        clock.now += seconds
        (file.ended if finished else file.round_ended)(tree)

    return save


def test_it_is_written_every_few_seconds_and_at_the_end(save, clock):
    for seconds in (0.0, 1.0, 3.9, 0.2, 4.9, 0.2):
        save(seconds)
    assert clock.written == pytest.approx([100.0, 105.1, 110.2])
    save(finished=True)
    assert clock.written[3:] == pytest.approx([110.2])


def test_writing_takes_a_small_part_of_the_run(save, clock):
    clock.writing = 2.0
    began = clock.now
    for _ in range(1000):
        save(0.5)
    assert 2.0 * len(clock.written) <= 0.05 * (clock.now - began) + 2.0
    assert 2.0 * len(clock.written) >= 0.03 * (clock.now - began)


def test_failures_are_told_once_and_it_is_tried_again(save, clock, events):
    save()
    clock.error = OSError(28, "No space left on device")
    for _ in range(4):
        save(6.0)
    failed = CheckpointFailed("run", "No space left on device", False)
    assert events == [failed]
    clock.error = None
    save(6.0)
    assert clock.written == [100.0, 130.0]
    clock.error = MemoryError()
    save(6.0)
    assert events == [failed, CheckpointFailed("run", "out of memory", False)]
    save(1.0, finished=True)
    assert events[2:] == [CheckpointFailed("run", "out of memory", True)]


def test_other_errors_are_not_hidden(save, clock):
    clock.error = TypeError("an archive cannot hold a socket")
    with pytest.raises(TypeError):
        save()


@pytest.mark.long
def test_a_folder_that_vanishes_does_not_end_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr("sdpbb.run.checkpoint.INTERVAL", 0.0)
    monkeypatch.setattr("sdpbb.search.loop.SHORTEST_SLICE", 0.0)
    folder, events = tmp_path / "folder", []
    folder.mkdir()

    def observer(event):
        events.append(event)
        if len(events) == 8:
            assert list(folder.iterdir())
            shutil.rmtree(folder)

    result = solve(SMALL, HASTY, observer, checkpoint=folder / "run")
    assert result.status is SolutionStatus.OPTIMAL
    failures = [event for event in events if isinstance(event, CheckpointFailed)]
    assert [failure.finished for failure in failures] == [False, True]
    assert "there is no folder" in failures[0].reason


def test_what_a_killed_run_has_left_is_removed(good, monkeypatch):
    folder = good.parent
    with monkeypatch.context() as patch:
        patch.setattr("os.replace", lambda old, new: (_ for _ in ()).throw(KeyboardInterrupt))
        patch.setattr("pathlib.Path.unlink", lambda path: None)
        for path in (good, folder / "other"):
            with pytest.raises(KeyboardInterrupt):
                write_checkpoint(path, RunState(TINY, HASTY))
    assert len(list(folder.iterdir())) == 3
    CheckpointWriter(good, RunState(TINY, HASTY), float, print)
    assert len(list(folder.iterdir())) == 2
    CheckpointWriter(folder / "other", RunState(TINY, HASTY), float, print)
    assert list(folder.iterdir()) == [good]


# -- files that are none ---------------------------------------------------------------------


@pytest.fixture
def good(tmp_path):
    write_checkpoint(tmp_path / "run", RunState(TINY, HASTY))
    return tmp_path / "run"


DAMAGED = "is not an sdpbb checkpoint, or is damaged; expected the file as it was written"


def refusal(path) -> str:
    """The message of the error that reading gives: one line that begins with the file's name."""
    with pytest.raises(ArchiveError) as caught:
        read_checkpoint(path)
    message = str(caught.value)
    assert message.isprintable()
    assert message.startswith(f"{shown_path(path)}: ")
    return message.removeprefix(f"{shown_path(path)}: ")


def test_foreign_files(good):
    folder = good.parent
    for content in (b"x,y\n1,2\n", b"\0" * 5000, os.urandom(3000)):
        good.write_bytes(content)
        assert refusal(good) == DAMAGED
    np.savez(folder / "b.npz", a=np.zeros(3))
    assert refusal(folder / "b.npz") == DAMAGED
    os.mkfifo(folder / "pipe")
    for other in (folder / "pipe", folder):
        assert refusal(other).startswith("cannot be read (not a regular file)")
    assert refusal(folder / "no\nfile").startswith("cannot be read (No such file or directory)")


@pytest.mark.parametrize(
    ("item", "array"), [(["tuple", [1, 2]], np.ones(1)), (["array", 0], np.array([print]))]
)
def test_other_values_and_arrays_of_objects_are_no_checkpoint(tmp_path, item, array):
    """However right its checksums are."""
    with zipfile.ZipFile(tmp_path / "a", "w") as archive:
        document = {"sdpbb": sdpbb.__version__, "items": [item], "value": [0]}
        archive.writestr("sdpbb-checkpoint.json", json.dumps(document))
        with archive.open("0.npy", "w") as member:
            np.save(member, array)
    assert refusal(tmp_path / "a") == DAMAGED


def test_what_a_checkpoint_cannot_hold_leaves_the_file(good):
    before = good.read_bytes()
    with pytest.raises(TypeError, match="an archive cannot hold"):
        write_checkpoint(good, RunState(TINY, HASTY, tree=object()))
    assert good.read_bytes() == before
