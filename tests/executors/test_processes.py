import errno
import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

import psutil
import pytest

from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors import processes
from sdpbb.runtime.executors.executor import WorkerDied
from sdpbb.runtime.executors.processes import LocalProcesses
from sdpbb.runtime.executors.worker import GREETING, LOST_PARENT, Kind, pack, receive, send
from tests.executors import tasks
from tests.executors.contract import (  # noqa: F401
    test_a_task_that_kills_every_worker_is_lost_and_no_other,
    test_a_worker_that_dies_once_costs_no_task,
    test_errors_are_raised_with_the_traceback_of_the_worker,
)
from tests.executors.pool import Completion, Ending, TaskPool, run_all
from tests.warm import workers_below

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="workers are killed by signals"),
    # Not beside others that start processes and measure their patience.
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


def eventually(holds, seconds=60):
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_two_workers_are_two_processes_with_one_blas_thread_each(tmp_path, monkeypatch):
    # The reverse of what workers are to do, in case that the tests themselves run with one.
    for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "2")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    (tmp_path / "meeting").mkdir()
    with TaskPool(LocalProcesses(2)) as pool:
        assert pool.n_workers == pool.n_free == 2
        for key in range(2):
            pool.submit(key, tasks.meet, tmp_path / "meeting", key, 2)
        assert pool.n_free == 0
        pids, _ = run_all(pool, [])
        assert len({os.getpid(), *pids.values()}) == 3
        calls = [
            (tasks.blas_threads,),
            (tasks.environment, "OMP_NUM_THREADS"),
            (tasks.environment, "NUMBA_CACHE_DIR"),
        ]
        values, _ = run_all(pool, calls)
    assert values[0]
    assert set(values[0]) == {1}
    assert values[1] == "1"
    assert values[2] == str(tmp_path)


def test_libraries_that_do_not_heed_the_environment_have_one_thread(monkeypatch):
    monkeypatch.setattr(processes, "ONE_THREAD", dict.fromkeys(processes.ONE_THREAD, "2"))
    with TaskPool(LocalProcesses(1, tasks.load_blas)) as pool:
        values, _ = run_all(pool, [(tasks.blas_threads,), (tasks.environment, "OMP_NUM_THREADS")])
    assert values[1] == "2"
    assert set(values[0]) == {1}


def test_workers_start_with_their_first_task_and_stay(pool):
    assert not workers()
    pool.submit(0, tasks.pid)
    first, _ = run_all(pool, [])
    assert len(workers()) == 1
    pool.submit(0, tasks.pid)
    second, _ = run_all(pool, [])
    assert first == second


def test_more_tasks_than_workers_wait_in_the_executor():
    executor = LocalProcesses(1)
    futures = [executor.submit(partial(tasks.square, x)) for x in range(5)]
    assert [future.result(60) for future in futures] == [0, 1, 4, 9, 16]
    executor.kill()
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(partial(tasks.square, 1))


def test_what_waits_behind_a_task_that_kills_is_not_to_blame():
    executor = LocalProcesses(1)
    killing = executor.submit(partial(tasks.die_after, 0.2))
    behind = executor.submit(partial(tasks.square, 2))
    assert isinstance(killing.exception(30), WorkerDied)
    assert behind.result(30) == 4
    executor.kill()


def test_a_worker_is_warmed_up_once():
    with TaskPool(LocalProcesses(1, tasks.warm_up)) as pool:
        for _ in range(2):
            pool.submit(0, tasks.environment, "SDPBB_TEST_WARM")
            assert pool.wait() == [Completion(0, "!")]


def test_what_fails_before_the_first_task_is_told():
    with TaskPool(LocalProcesses(1, tasks.fail_to_start)) as pool:
        pool.submit(0, tasks.square, 1)
        with pytest.raises(BackendFailure, match="cannot import the engine"):
            pool.wait()


def test_workers_that_die_while_they_start_are_not_tried_for_ever():
    with TaskPool(LocalProcesses(1, tasks.die)) as pool:
        pool.submit(0, tasks.square, 1)
        with pytest.raises(BackendFailure, match="die while they start"):
            pool.wait()
        assert pool.n_deaths == 0  # no task is to blame


def test_a_worker_leaves_interrupts_to_its_parent(pool):
    pool.submit(0, tasks.interrupted)
    assert pool.wait() == [Completion(0, "still here")]


def test_a_worker_that_is_not_up_yet_leaves_signals_to_its_parent(pool):
    pool.submit(0, tasks.pid)
    assert eventually(workers)
    (worker,) = workers()
    while not pool.wait(0.001):
        worker.send_signal(signal.SIGINT)
        worker.send_signal(signal.SIGTERM)
    assert pool.n_deaths == 0


def test_a_worker_killed_between_two_tasks_costs_none(pool):
    pool.submit(0, tasks.pid)
    (first,) = pool.wait()
    psutil.Process(first.value).kill()
    assert eventually(lambda: not workers())
    pool.submit(0, tasks.pid)
    (second,) = pool.wait()
    assert not second.lost
    assert second.value != first.value


def test_a_worker_that_dies_in_the_middle_of_its_answer(pool, tmp_path):
    pool.submit(0, tasks.die_while_answering, tmp_path / "marker", 10**6)
    (done,) = pool.wait(120)
    assert done.value == bytes(10**6)
    assert pool.n_deaths == 1


def test_a_worker_that_dies_before_it_has_taken_a_large_task():
    n_threads = threading.active_count()
    with TaskPool(LocalProcesses(1, tasks.die)) as pool:
        pool.submit(0, len, bytes(10**6))
        with pytest.raises(BackendFailure):
            pool.wait()
    assert threading.active_count() == n_threads


def test_what_cannot_be_sent_is_an_error_not_a_death(pool):
    with pytest.raises(Exception, match="pickle"):
        pool.submit(0, len, threading.Lock())
    pool.submit(1, len, tasks.Unreadable())
    with pytest.raises(TypeError):
        pool.wait()
    pool.submit(3, tasks.square, 4)
    assert pool.wait() == [Completion(3, 16)]
    assert pool.n_deaths == 0


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


def test_shutdown_while_workers_start():
    pool = TaskPool(LocalProcesses(2))
    for key in range(2):
        pool.submit(key, len, bytes(10**6))
    started = time.monotonic()
    pool.shutdown()
    assert time.monotonic() - started < 5
    assert not workers()


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
    pool.submit(0, tasks.complain)
    pool.wait()
    pool.submit(0, tasks.die)
    (lost,) = pool.wait()
    killed = "was ended by SIGKILL (by somebody, or by the system if memory ran out)"
    assert (lost.lost, lost.reasons) == (True, (killed, killed))
    pool.submit(0, tasks.complain_and_exit)
    (lost,) = pool.wait()
    assert lost.reasons == ("ended with exit status 3: a complaint",) * 2


def test_what_libraries_print_is_no_message(pool, capfd):
    pool.submit(0, tasks.print_what_is_no_frame)
    assert pool.wait() == [Completion(0, None)]
    assert capfd.readouterr() == ("", "")


def test_errors_that_cannot_be_sent_are_told(pool):
    pool.submit(0, tasks.demand)
    with pytest.raises(RuntimeError, match="Demanding: one: two") as raised:
        pool.wait()
    assert "in demand" in str(raised.value.__cause__)
    assert pool.n_deaths == 0


def test_a_value_for_which_there_is_no_memory_is_an_error(pool, monkeypatch):
    def read(stream):
        message = receive(stream)
        if message is not None and message[0] is Kind.VALUE:
            raise MemoryError("no room for the value")
        return message

    monkeypatch.setattr(processes, "receive", read)
    pool.submit(0, tasks.square, 2)
    with pytest.raises(MemoryError, match="no room"):
        pool.wait(60)
    monkeypatch.undo()
    pool.submit(1, tasks.square, 3)
    assert pool.wait() == [Completion(1, 9)]


def test_what_does_not_come_back_in_time_is_killed():
    executor = LocalProcesses(1, grace=0.2)
    with TaskPool(executor) as pool:
        pool.submit(0, tasks.nap, 600, None, seconds=0.3)
        (done,) = pool.wait(60)
        assert (done.ending, done.value, done.reasons) == (Ending.OVERDUE, None, ())
        assert eventually(lambda: not workers())
        pool.submit(1, tasks.square, 2, seconds=60.0)
        assert pool.wait() == [Completion(1, 4)]


def test_time_counts_from_the_last_step():
    with TaskPool(LocalProcesses(1, grace=0.5)) as pool:
        pool.submit(0, tasks.nap_in_steps, 0.4, 4, seconds=0.5)
        assert pool.wait() == [Completion(0, 4)]


def test_time_in_which_everything_was_stopped_does_not_count(monkeypatch):
    """As after Ctrl-Z and fg."""
    monkeypatch.setattr(processes, "LONG_PAUSE", 1.0)
    monkeypatch.setattr("sdpbb.runtime.executors.scheduler.CHECK_SECONDS", 0.1)
    with TaskPool(LocalProcesses(1)) as pool:
        pool.submit(0, tasks.square, 3)
        pool.wait()
        pool.submit(1, tasks.nap, 600, None, seconds=1.0)
        (worker,) = workers()
        time.sleep(0.2)
        worker.suspend()
        time.sleep(1.5)
        worker.resume()
        assert pool.wait(0.1) == []
        assert pool.keys == [1]  # which would be overdue otherwise
        (done,) = pool.wait(60)
        assert done.ending is Ending.OVERDUE


def test_workers_stop_with_their_parent_at_ctrl_z(pool):
    """That signal goes to the processes of a group."""
    pool.submit(0, tasks.pid)
    (done,) = pool.wait()
    assert os.getpgid(done.value) == os.getpgid(0)


def test_a_stopped_worker_holds_nobody_up(pool):
    pool.submit(0, tasks.pid)
    (done,) = pool.wait()
    psutil.Process(done.value).suspend()
    pool.submit(1, len, bytes(10**7))
    assert pool.wait(0.2) == []
    psutil.Process(done.value).resume()
    assert pool.wait() == [Completion(1, 10**7)]
    psutil.Process(done.value).suspend()
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
        assert pool.keys == [1]
        assert pool.wait(60) == []
        assert not pool.keys


def test_an_interrupt_ends_what_has_not_begun_at_once():
    with TaskPool(LocalProcesses(1, grace=60.0)) as pool:
        pool.submit(0, tasks.nap, 600, None)
        pool.interrupt()
        assert pool.wait() == []
        assert not workers()


def test_the_first_worker_shows_that_it_can_work_before_others_are_started(tmp_path):
    with TaskPool(LocalProcesses(3, first_alone=True)) as pool:
        assert (pool.n_workers, pool.n_free) == (1, 1)
        pool.submit(0, tasks.pid)
        pool.wait()
        assert (pool.n_workers, pool.n_free) == (3, 3)
        for key in range(3):
            pool.submit(key, tasks.meet, tmp_path, key, 3)
        assert len(set(run_all(pool, [])[0].values())) == 3


@pytest.mark.parametrize("growth", [math.inf, 256 * 2**20])
def test_a_worker_that_has_grown_leaves_if_it_is_to(growth):
    with TaskPool(LocalProcesses(1, growth=growth)) as pool:
        pids, _ = run_all(pool, [(tasks.pid,), (tasks.pid,), (tasks.hold, 320), (tasks.pid,)])
    assert pids[0] == pids[1]
    assert (pids[1] == pids[3]) == (growth == math.inf)


def test_a_worker_tells_notes():
    notes = []
    with TaskPool(LocalProcesses(1, tasks.warm_up_with_a_note, on_note=notes.append)) as pool:
        pool.submit(0, tasks.square, 2)
        pool.wait()
    assert notes == [{"compiling": True}]


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
    assert (n_open(), workers(), pool.keys) == (before, [], [])
    assert str(caught.value) == (
        "worker processes cannot start: Resource temporarily unavailable; expected memory, "
        "processes and temporary files for them (fewer workers need less)"
    )


def test_a_torn_message_is_the_end_of_the_parent():
    command = [sys.executable, "-c", processes._PROGRAM, json.dumps(sys.path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        try:
            send(worker.stdin, Kind.WARM_UP, pack(None))
            assert worker.stdout.readline() == GREETING
            assert receive(worker.stdout) == (Kind.READY, b"")
            worker.stdin.write(b"\x80\5\x95")
            worker.stdin.close()
            assert worker.wait(timeout=60) == LOST_PARENT
        finally:
            worker.kill()


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
first = pool.wait()[0].value
pool.submit(1, tasks.nap, 600, None)
pool.submit(2, tasks.pid)
second = pool.wait()[0].value
print(first, second, flush=True)
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
        busy, idle = (psutil.Process(int(word)) for word in coordinator.stdout.readline().split())
        below = psutil.Process(coordinator.pid).children(recursive=True)
        assert {busy, idle} == set(below)
        coordinator.kill()
        assert eventually(lambda: not any(is_alive(process) for process in below), 60)
        assert coordinator.stderr.read() == ""
