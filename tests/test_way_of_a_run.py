"""The way of an instance through a run, above the loop of branch and bound, is short."""

import sys
from itertools import groupby
from pathlib import Path

import numpy as np

import sdpbb

ROOT = Path(sdpbb.__file__).resolve().parents[1]
LONGEST = 27


def rooms_on_the_way(instance: sdpbb.Instance) -> list[str]:
    """Rooms of functions that call others, in the order of their first calls, until the loop."""
    called, calling, files = {}, set(), (f"{ROOT}/sdpbb/", f"{ROOT}/heuristics/")

    def look(frame, event, _):
        code = frame.f_code
        if event != "call" or not code.co_filename.startswith(files) or "loop" in called:
            return
        called.setdefault("loop" if code.co_name == "branch_and_bound" else code)
        while (frame := frame.f_back) and not frame.f_code.co_filename.startswith(files):
            pass
        calling.update([frame.f_code] if frame else [])

    sys.setprofile(look)
    try:
        sdpbb.solve(instance)
    finally:
        sys.setprofile(None)
    way = [code for code in called if code in calling and not code.co_name.startswith("<")]
    parts = (Path(code.co_filename).relative_to(ROOT).parts for code in way)
    return [room for room, _ in groupby(part[part[0] == "sdpbb"] for part in parts)]


def test_the_way_of_an_instance_does_not_get_longer():
    points = np.random.default_rng(0).normal(size=(30, 2))
    instance = sdpbb.Instance(points, 3, must_link=[(0, 1)], cannot_link=[(2, 3)])
    sdpbb.solve(instance)  # imports modules
    rooms = rooms_on_the_way(instance)
    assert len(rooms) <= LONGEST, rooms
