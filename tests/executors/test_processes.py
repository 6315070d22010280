import errno
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.worker import pack
from tests.executors import tasks
from tests.executors.pool import (  # noqa: F401
    Completion,
    TaskPool,
    run_all,
    test_a_task_that_kills_every_worker_is_lost_and_no_other,
    test_a_worker_that_dies_once_costs_no_task,
    test_errors_are_raised_with_the_traceback_of_the_worker,
)
from tests.warm import eventually, workers_below

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="workers are killed by signals"),
    # Never in parallel with tests that start processes and measure waiting times.
    pytest.mark.alone,
]


@pytest.fixture
def pool():
    with TaskPool(LocalProcesses(2)) as pool:
        yield pool


def workers():
    """The processes below this one that tests of this file have started."""
    return workers_below(psutil.Process())


def is_alive(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_two_workers_are_two_processes_with_one_blas_thread_each(tmp_path, monkeypatch):
    # The reverse of what workers are to do, in case that the tests themselves run with one.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "2")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (tmp_path / "meeting").mkdir()
    with TaskPool(LocalProcesses(2)) as pool:
        assert not workers()
        pids, _ = run_all(pool, [(tasks.meet, tmp_path / "meeting", key, 2) for key in range(2)])
        assert len({os.getpid(), *pids.values()}) == 3
        again, _ = run_all(pool, [(tasks.pid,)])
        assert again[0] in pids.values()
        # That signal goes to the processes of a group: Ctrl-Z stops them with their parent.
        assert os.getpgid(again[0]) == os.getpgid(0)
        values, _ = run_all(pool, [(tasks.blas_threads,), (tasks.environment, "NUMBA_CACHE_DIR")])
    assert set(values[0]) == {1}
    assert values[1] == str(tmp_path)


def test_a_worker_is_warmed_up_once():
    with TaskPool(LocalProcesses(1, tasks.warm_up)) as pool:
        values, _ = run_all(pool, [(tasks.environment, "SDPBB_TEST_WARM")] * 2)
    assert set(values.values()) == {"!"}


@pytest.mark.parametrize(
    ("warm_up", "message"),
    [
        (tasks.fail_to_start, "cannot start: ImportError: cannot import the engine"),
        (tasks.die, "die while they start: was ended by SIGKILL"),
    ],
)
def test_workers_that_cannot_start_are_told(warm_up, message):
    n_threads = threading.active_count()
    with TaskPool(LocalProcesses(1, warm_up)) as pool:
        with pytest.raises(BackendFailure, match=message):
            run_all(pool, [(len, bytes(10**6))])
        assert not pool.suspected  # no task is to blame
    assert threading.active_count() == n_threads


def test_a_worker_leaves_interrupts_to_its_parent(pool):
    assert run_all(pool, [(tasks.interrupted,)]) == ({0: "still here"}, set())


def test_a_worker_killed_between_two_tasks_costs_none(pool):
    first, _ = run_all(pool, [(tasks.pid,)])
    process = psutil.Process(first[0])
    process.kill()
    # Its command line is gone from the list of processes before it can be waited for.
    assert eventually(lambda: not is_alive(process))
    second, _ = run_all(pool, [(tasks.pid,)])
    assert (second[0] != first[0], pool.suspected) == (True, [])


def test_a_worker_that_dies_in_the_middle_of_its_answer(pool, tmp_path):
    calls = [(tasks.die_while_answering, tmp_path / "marker", 10**6)]
    assert run_all(pool, calls) == ({0: bytes(10**6)}, set())
    assert pool.suspected == [0]


def test_what_cannot_be_sent_is_an_error_not_a_death(pool):
    with pytest.raises(Exception, match="pickle"):
        run_all(pool, [(len, threading.Lock())])
    with pytest.raises(TypeError):
        run_all(pool, [(len, tasks.Unreadable())])
    with pytest.raises(RuntimeError, match="Demanding: one: two") as raised:
        run_all(pool, [(tasks.demand,)])
    assert "in demand" in str(raised.value.__cause__)
    assert run_all(pool, [(tasks.square, 4)]) == ({0: 16}, set())
    assert not pool.suspected


def test_shutdown_is_prompt_and_leaves_nothing():
    n_threads = threading.active_count()
    pool = TaskPool(LocalProcesses(2))
    for key in range(2):
        pool.submit(key, tasks.nap, 600, None)
    assert pool.wait(1.5) == []
    assert len(workers()) == 2
    started = time.monotonic()
    pool.shutdown()
    assert time.monotonic() - started < 5
    assert not workers()
    pool.shutdown()
    assert threading.active_count() == n_threads


def test_shutdown_at_once_after_submitting_disturbs_no_thread(monkeypatch):
    raised = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    for pause in (0.0, 0.0, 0.0005, 0.001):
        executor = LocalProcesses(2)
        executor.submit(tasks.pid).result(30)
        futures = [executor.submit(tasks.pid) for _ in range(20)]
        time.sleep(pause)
        executor.kill()
        assert all(future.done() for future in futures)
    assert not raised


def test_the_end_of_a_worker_is_told(pool):
    """With the last line of its standard error stream, if that was written by this task."""
    run_all(pool, [(tasks.complain,)])
    pool.submit(0, tasks.die)
    pool.submit(1, tasks.complain_and_exit)
    ended = {}
    while not pool.is_idle:
        ended |= {done.key: done.deaths for done in pool.wait(60)}
    killed = "was ended by SIGKILL (by somebody, or by the system if memory ran out)"
    assert ended == {0: (killed,) * 2, 1: ("ended with exit status 3: a complaint",) * 2}


def test_what_libraries_print_is_no_message(pool, capfd):
    assert run_all(pool, [(tasks.print_what_is_no_frame,)]) == ({0: None}, set())
    assert capfd.readouterr() == ("", "")


def test_a_value_for_which_there_is_no_memory_is_an_error(pool, monkeypatch):
    def load(stream):
        message = pickle.Unpickler(stream).load()
        if message == (True, pack(4)):
            raise MemoryError("no room for the value")
        return message

    monkeypatch.setattr("sdpbb.runtime.executors.processes.pickle.load", load)
    with pytest.raises(MemoryError, match="no room"):
        run_all(pool, [(tasks.square, 2)])
    assert run_all(pool, [(tasks.square, 3)]) == ({0: 9}, set())
    assert not pool.suspected


def test_what_does_not_come_back_in_time_is_killed():
    with TaskPool(LocalProcesses(1, grace=0.2)) as pool:
        pool.submit(0, tasks.nap, 600, None, seconds=0.3)
        assert pool.wait(60) == [Completion(0, None, overdue=True)]
        assert eventually(lambda: not workers())
        pool.submit(1, tasks.square, 2, seconds=60.0)
        assert pool.wait() == [Completion(1, 4)]


def test_a_stopped_worker_holds_nobody_up(pool):
    pids, _ = run_all(pool, [(tasks.pid,)])
    worker = psutil.Process(pids[0])
    worker.suspend()
    pool.submit(1, len, bytes(10**7))
    assert pool.wait(0.2) == []
    worker.resume()
    assert pool.wait() == [Completion(1, 10**7)]
    worker.suspend()
    pool.submit(2, len, bytes(10**7))
    started = time.monotonic()
    pool.shutdown()
    assert time.monotonic() - started < 5


def test_an_interrupt_ends_what_heeds_it_and_kills_what_does_not(tmp_path):
    with TaskPool(LocalProcesses(2, grace=1.0)) as pool:
        pool.submit(0, tasks.wait_for_interrupt, tmp_path / "heeds")
        pool.submit(1, tasks.nap, 600, None)
        assert eventually((tmp_path / "heeds").exists)
        time.sleep(0.5)  # for the other to begin
        pool.interrupt()
        assert pool.wait() == [Completion(0, True)]
        assert not pool.is_idle
        assert pool.wait(60) == []
        assert pool.is_idle


def test_an_interrupt_ends_what_has_not_begun_at_once():
    with TaskPool(LocalProcesses(1, grace=60.0)) as pool:
        pool.submit(0, tasks.nap, 600, None)
        pool.interrupt()
        assert pool.wait(30) == []
        assert pool.is_idle
        assert not workers()


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ("subprocess.Popen", BlockingIOError(errno.EAGAIN, "Resource temporarily unavailable")),
        ("tempfile.TemporaryFile", OSError(errno.ENOSPC, "Resource temporarily unavailable")),
        ("threading.Thread.start", RuntimeError("Resource temporarily unavailable")),
    ],
)
def test_what_the_system_refuses_a_worker_is_told(monkeypatch, pool, place, error):
    def refuse(*args, **kwargs):
        raise error

    def n_open():
        return len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 0

    before = n_open()
    monkeypatch.setattr(f"sdpbb.runtime.executors.processes.{place}", refuse)
    with pytest.raises(BackendFailure) as caught:
        run_all(pool, [(tasks.square, 1)])
    pool.shutdown()
    monkeypatch.undo()
    assert (n_open(), workers(), pool.is_idle) == (before, [], True)
    assert str(caught.value) == (
        "worker processes cannot start: Resource temporarily unavailable; expected memory, "
        "processes and temporary files for them (fewer workers need less)"
    )


def test_a_program_needs_no_main_guard_and_no_file_of_its_folder_is_in_the_way(tmp_path):
    (tmp_path / "json.py").write_text("raise ImportError('this is the json of somebody else')\n")
    program = tmp_path / "bin" / "program.py"
    program.parent.mkdir()
    program.write_text(
        "from sdpbb.runtime.executors.processes import LocalProcesses\n"
        "from sdpbb.runtime.executors.scheduler import Scheduler, Task, source_of\n"
        "def least(x):\n"
        "    return min(x)\n"
        "with Scheduler(LocalProcesses(1)) as scheduler:\n"
        "    print(scheduler.round(source_of(Task(0, least, ([2, 1],))))[0].value)\n"
    )
    done = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("1\n", "")


COORDINATOR = """
import sys
from tests.executors.pool import TaskPool
from sdpbb.runtime.executors.processes import LocalProcesses
from tests.executors import tasks

pool = TaskPool(LocalProcesses(2))
pool.submit(0, tasks.pid)
pool.wait()
pool.submit(1, tasks.nap, 600, None)
pool.submit(2, tasks.pid)
pool.wait()
print(flush=True)
sys.stdin.read()
"""


def test_no_worker_outlives_a_coordinator_that_is_killed():
    with subprocess.Popen(
        [sys.executable, "-c", COORDINATOR],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as coordinator:
        coordinator.stdout.readline()  # one worker is busy, and the other idle
        below = psutil.Process(coordinator.pid).children(recursive=True)
        coordinator.kill()
        assert len(below) == 2
        assert eventually(lambda: not any(is_alive(process) for process in below), 60)
        assert coordinator.stderr.read() == ""
