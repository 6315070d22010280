import gc
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from sdpbb.compilation import load_kernels
from sdpbb.errors import BackendFailure
from sdpbb.executors import processes
from sdpbb.executors.executor import TaskDropped, WorkerDied
from sdpbb.executors.pool import Completion, TaskPool
from sdpbb.executors.processes import LocalProcesses
from tests.executors import tasks

ROOT = Path(__file__).resolve().parents[2]
SEMAPHORES = Path("/dev/shm")

pytestmark = [
    pytest.mark.skipif(os.name != "posix", reason="workers are killed by signals"),
    # Not beside others that start processes and measure their patience.
    pytest.mark.alone,
]


@pytest.fixture
def pool():
    with TaskPool(LocalProcesses(2)) as pool:
        yield pool


def run_all(pool, calls):
    """What came of (function, *args): values by key, keys of lost tasks."""
    todo = list(enumerate(calls))[::-1]
    values, lost = {}, set()
    while todo or pool.n_under_way:
        while todo and pool.n_free:
            key, (function, *args) = todo.pop()
            pool.submit(key, function, *args)
        for completion in pool.wait(60):
            values[completion.key] = completion.value
            if completion.lost:
                lost.add(completion.key)
    return values, lost


def workers():
    """The processes below this one, less those that clean up semaphores until this one ends."""
    return [child for child in psutil.Process().children(recursive=True) if not is_tracker(child)]


def is_tracker(process):
    try:
        return "resource_tracker" in " ".join(process.cmdline())
    except psutil.ZombieProcess:
        return False
    except psutil.NoSuchProcess:
        return True  # it has gone


def is_alive(process):
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def semaphores(pid):
    return {path.name for path in SEMAPHORES.glob(f"sem.loky-{pid}-*")}


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
    futures = [executor.submit(tasks.square, x) for x in range(5)]
    executor.shutdown()
    assert [future.result(0) for future in futures] == [0, 1, 4, 9, 16]
    with pytest.raises(RuntimeError, match="shut down"):
        executor.submit(tasks.square, 1)


def test_what_waits_behind_a_task_that_kills_is_not_to_blame():
    executor = LocalProcesses(1)
    killing, behind = executor.submit(tasks.die_after, 0.2), executor.submit(tasks.square, 2)
    assert isinstance(killing.exception(30), WorkerDied)
    assert isinstance(behind.exception(30), TaskDropped)
    assert executor.submit(tasks.square, 3).result(30) == 9
    executor.kill()


def test_a_worker_is_warmed_up_once():
    with TaskPool(LocalProcesses(1, tasks.warm_up)) as pool:
        for _ in range(2):
            pool.submit(0, tasks.environment, "SDPBB_TEST_WARM")
            assert pool.wait() == [Completion(0, "!")]


def test_warm_up_loads_the_engine():
    with TaskPool(LocalProcesses(1, load_kernels)) as pool:
        pool.submit(0, tasks.loaded, "sdpbb.bounds.sdp.kernels")
        assert pool.wait() == [Completion(0, True)]


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


def test_a_worker_that_has_grown_is_kept():
    with TaskPool(LocalProcesses(1)) as pool:
        calls = [(tasks.pid,), (tasks.hold, 320), (tasks.nap, 1.1, None), (tasks.pid,)]
        values, _ = run_all(pool, calls)
    assert values[3] == values[0]


def test_a_worker_leaves_interrupts_to_its_parent(pool):
    pool.submit(0, tasks.interrupted)
    assert pool.wait() == [Completion(0, "still here")]


def test_a_worker_that_is_not_up_yet_leaves_signals_to_its_parent(pool):
    pool.submit(0, tasks.pid)
    (worker,) = workers()
    while not pool.wait(0.001):
        worker.send_signal(signal.SIGINT)
        worker.send_signal(signal.SIGTERM)
    assert pool.n_deaths == 0


FIRST_WORKERS = """
import os, signal
from sdpbb.executors.pool import TaskPool
from sdpbb.executors.processes import LocalProcesses
from tests.executors import tasks

# Not SIG_IGN, which others inherit.
for signum in (signal.SIGINT, signal.SIGTERM):
    signal.signal(signum, lambda number, frame: None)
with TaskPool(LocalProcesses(2)) as pool:
    for key in range(2):
        pool.submit(key, tasks.square, key)
    while pool.n_under_way:
        pool.wait(0.01)
        os.killpg(0, signal.SIGINT)
        os.killpg(0, signal.SIGTERM)
    print(pool.n_deaths)
"""


def test_the_first_workers_of_a_process_leave_signals_to_it():
    """The processes that loky starts besides them must not take their mask away."""
    coordinator = subprocess.run(
        [sys.executable, "-c", FIRST_WORKERS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        start_new_session=True,
        timeout=120,
    )
    assert (coordinator.stdout, coordinator.stderr) == ("0\n", "")


def test_a_worker_that_dies_once_costs_no_task(pool, tmp_path):
    pool.submit(0, tasks.die_unless_marked, tmp_path / "marker", "value")
    pool.submit(1, tasks.nap, 0.5, "other")
    assert run_all(pool, []) == ({0: "value", 1: "other"}, set())
    assert pool.n_deaths == 1


def test_a_task_that_kills_every_worker_is_lost_and_no_other(pool):
    values, lost = run_all(
        pool,
        [(tasks.die_after, 0.2) if key == 2 else (tasks.square, key) for key in range(6)],
    )
    assert values == {0: 0, 1: 1, 2: None, 3: 9, 4: 16, 5: 25}
    assert lost == {2}
    assert pool.n_deaths == 2


def test_others_go_on_when_a_worker_dies_and_the_suspect_waits_for_them(pool, tmp_path):
    pool.submit(0, tasks.note_and_nap, tmp_path, "long", 0.8)
    pool.submit(1, tasks.die_unless_marked_or_tell_the_time, tmp_path / "marker")
    values, lost = run_all(pool, [])
    (note,) = tmp_path.glob("long-*")  # evaluated once
    assert values[1] >= float(note.name.split("-")[2])
    assert not lost


def test_several_deaths_in_a_row(pool, tmp_path):
    calls = [(tasks.die_unless_marked, tmp_path / str(key), key) for key in range(4)]
    assert run_all(pool, calls) == ({key: key for key in range(4)}, set())
    assert pool.n_deaths == 4


def test_a_worker_killed_between_two_tasks_costs_none(pool):
    pool.submit(0, tasks.pid)
    (first,) = pool.wait()
    psutil.Process(first.value).kill()
    assert eventually(lambda: not workers())
    time.sleep(0.2)  # loky has seen that it is gone, and is about to draw its conclusions
    pool.submit(0, tasks.pid)
    (second,) = pool.wait()
    assert not second.lost
    assert second.value != first.value


def test_a_worker_that_dies_in_the_middle_of_its_answer(pool, tmp_path):
    # Without precautions, a thread of loky's waits for the other half for ever.
    pool.submit(0, tasks.die_while_answering, tmp_path / "marker", 10**6)
    assert pool.wait(120) == [Completion(0, bytes(10**6))]
    assert pool.n_deaths == 1


def test_a_worker_that_dies_before_it_has_taken_a_large_task():
    # Without precautions, a thread waits for somebody to take the rest of it for ever.
    with TaskPool(LocalProcesses(1, tasks.die)) as pool:
        pool.submit(0, len, bytes(10**6))
        with pytest.raises(BackendFailure):
            pool.wait()
    assert eventually(lambda: feeders() == 0, 5)


def feeders():
    """Threads that send tasks to workers."""
    return sum(thread.name == "QueueFeederThread" for thread in threading.enumerate())


def test_errors_are_raised_with_the_traceback_of_the_worker(pool):
    pool.submit(3, tasks.boom, "a bug")
    with pytest.raises(ValueError, match="a bug") as raised:
        pool.wait()
    assert "in boom" in str(raised.value.__cause__)
    pool.submit(3, tasks.out_of_memory)
    with pytest.raises(MemoryError, match="no more"):
        pool.wait()
    pool.submit(3, tasks.square, 4)
    assert pool.wait() == [Completion(3, 16)]


def test_what_cannot_be_sent_is_an_error_not_a_death(pool):
    with pytest.raises(Exception, match="pickle"):
        pool.submit(0, lambda: None)
    pool.submit(1, len, tasks.Unreadable())
    with pytest.raises(TypeError):
        pool.wait()
    pool.submit(2, tasks.unreadable)
    with pytest.raises(TypeError):
        pool.wait()
    pool.submit(3, tasks.square, 4)
    assert pool.wait() == [Completion(3, 16)]
    assert pool.n_deaths == 0


def test_shutdown_is_prompt_and_leaves_nothing():
    gc.collect()
    before = semaphores(os.getpid())
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
    del pool
    gc.collect()
    # What earlier tests left to the collector may go meanwhile.
    assert semaphores(os.getpid()) <= before


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


COORDINATOR = """
import sys
from sdpbb.executors import processes
from sdpbb.executors.executor import TaskDropped, WorkerDied
from sdpbb.executors.pool import TaskPool
from sdpbb.executors.processes import LocalProcesses
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
        assert {busy, idle} < set(below)  # and the trackers of semaphores
        coordinator.kill()
        assert eventually(lambda: not any(is_alive(process) for process in below), 60)
        assert coordinator.stderr.read() == ""
    assert not semaphores(coordinator.pid)


def test_many_workers_need_many_files():
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard == resource.RLIM_INFINITY:
        pytest.skip("there is no limit")
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, hard))
    try:
        processes._allow_open_files(1)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 600
        processes._allow_open_files(200)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == 712
        processes._allow_open_files(10**9)
        assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] == hard
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
