"""Runs that branch, for the tests of all that happens to trees, and what happens to them there.

Nodes are given up early and split by the simplest rule, so that trees come cheap.
"""

import os
import signal
import time
from dataclasses import replace

import numpy as np

from sdpbb.bounds.registry import BOUNDING_METHODS
from sdpbb.bounds.sdp.bounding import SdpBounding
from sdpbb.bounds.sdp.parameters import SdpParameters
from sdpbb.errors import BackendFailure
from sdpbb.problem import Instance
from sdpbb.run.parameters import SearchParameters, SolverParameters

PLAIN = SearchParameters(fixing=False)
HASTY = SolverParameters(bounding="sdp", sdp=SdpParameters(max_iterations=20), search=PLAIN)

# Some 30 nodes and less than a second when HASTY.
SMALL = Instance(np.random.default_rng(1).normal(size=(60, 10)), 6, name="small")
SMALL_OPTIMUM = 327.11817
# A handful of nodes.
SMALLER = Instance(np.random.default_rng(2).normal(size=(34, 6)), 4, name="smaller")
SMALLER_OPTIMUM = 105.98433
# Some 150 nodes and ten seconds.
LARGE = Instance(np.random.default_rng(1).normal(size=(80, 10)), 8, name="large")
LARGE_OPTIMUM = 455.97544
LONG = replace(HASTY, sdp=SdpParameters(max_iterations=60))
# Minutes in the root alone.
HUGE = Instance(np.random.default_rng(0).normal(size=(400, 4)), 12, name="huge")


CHOICE = "sdpbb.search.workforce.Workforce.choose_scheduler"


def go_over_at_once(workforce, n_due, n_nodes, seconds):
    """In the place of CHOICE: other processes, where the run has several, do all of the work."""
    if workforce.works_here and workforce.has_several_workers:
        workforce.scheduler = workforce.workers


def bound_by(monkeypatch, cls):
    """Have a class of this file instead of the semidefinite bound."""
    monkeypatch.setitem(BOUNDING_METHODS, "sdp", f"{cls.__module__}:{cls.__name__}")


class Deadly(SdpBounding):
    """Ends its process at the first child with a must-link, but not the process it was made in."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.home = os.getpid()

    def start(self, contraction, warm_start, known=None):
        if is_first_child(contraction) and os.getpid() != self.home:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().start(contraction, warm_start, known)


class Endless(SdpBounding):
    """Steps that never end, and wait for no one, but in the process it was made in."""

    def __init__(self, parameters=None):
        super().__init__(parameters)
        self.home = os.getpid()

    def start(self, contraction, warm_start, known=None):
        assert os.getpid() != self.home, "a step that takes long is begun where it cannot be left"
        time.sleep(1e6)


class Swelling(Endless):
    """Steps that take ever more memory."""

    def start(self, contraction, warm_start, known=None):
        assert os.getpid() != self.home
        taken = []
        while True:
            taken.append(np.ones(2**22))
            time.sleep(0.01)


class Hungry(SdpBounding):
    """Finds no memory for the first child with a must-link."""

    def start(self, contraction, warm_start, known=None):
        if is_first_child(contraction):
            raise MemoryError
        return super().start(contraction, warm_start, known)


class Broken(SdpBounding):
    """Fails at the sixth node."""

    n_started = 0

    def start(self, contraction, warm_start, known=None):
        self.n_started += 1
        if self.n_started == 6:
            raise BackendFailure("no licence")
        return super().start(contraction, warm_start, known)


def is_first_child(contraction):
    return contraction.n_blocks == contraction.n_points - 1 and not len(contraction.cannot_link)
