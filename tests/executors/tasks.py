"""What the tests run in workers, which import it by name."""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from pathlib import Path

from sdpbb.runtime.executors import worker


class Unreadable:
    """Can be sent, but not received."""

    def __reduce__(self):
        return os.fspath, (0,)  # a TypeError


def square(x):
    return x * x


def pid():
    return os.getpid()


class Demanding(Exception):
    """Can be sent, but not be made of its arguments."""

    def __init__(self, what, why):
        super().__init__(f"{what}: {why}")


def demand():
    raise Demanding("one", "two")


def boom(message):
    raise ValueError(message)


def out_of_memory():
    raise MemoryError("no more")


def unreadable():
    return Unreadable()


def lacks_a_package():
    raise ModuleNotFoundError("No module named 'nowhere'")


def nap(seconds, value):
    time.sleep(seconds)
    return value


def nap_unless_marked(marker, seconds, value):
    """Takes its time only when it is called for the first time with this marker."""
    if not Path(marker).exists():
        Path(marker).touch()
        time.sleep(seconds)
    return value


def wait_for_interrupt(marker):
    Path(marker).touch()
    return worker.interrupt.wait()


def print_what_is_no_frame():
    print("a line")
    os.write(1, b"and another")


def complain_and_exit():
    print("a complaint\n", file=sys.stderr)
    os._exit(3)


def complain():
    print("of another task", file=sys.stderr, flush=True)


def interrupted():
    """The worker's reaction to a Ctrl-C, which a terminal sends to it, too."""
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.05)
    return "still here"


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def die_after(seconds):
    time.sleep(seconds)
    die()


def die_unless_marked(marker, value):
    """Kills its worker the first time it is called with this marker."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return value
    return die()


def die_while_answering(marker, n_bytes):
    """The first time, kills its worker when half of the value has been sent."""
    if not Path(marker).exists():
        Path(marker).touch()

        def dump_half(message, stream, protocol):
            content = pickle.dumps(message)
            stream.write(content[: len(content) // 2])
            stream.flush()
            die()

        pickle.dump = dump_half
    return bytes(n_bytes)


def meet(folder, me, n):
    """The process it runs in, once n of its kind run at the same time."""
    Path(folder, str(me)).touch()
    deadline = time.monotonic() + 120
    while len(list(Path(folder).iterdir())) < n:
        assert time.monotonic() < deadline, "the others do not come"
        time.sleep(0.01)
    return os.getpid()


def note_and_nap(folder, name, seconds):
    """Writes down when it ran."""
    begin = time.time()
    time.sleep(seconds)
    Path(folder, f"{name}-{begin}-{time.time()}").touch()
    return name


def load_blas():
    """NumPy's and SciPy's."""
    import numpy
    import scipy.linalg

    scipy.linalg.eigh(numpy.eye(3))


def blas_threads():
    """Of all libraries that have a say."""
    load_blas()
    import threadpoolctl

    return [library["num_threads"] for library in threadpoolctl.threadpool_info()]


def environment(name):
    return os.environ.get(name)


def fail_to_start():
    raise ImportError("cannot import the engine")


def warm_up():
    os.environ["SDPBB_TEST_WARM"] = os.environ.get("SDPBB_TEST_WARM", "") + "!"
