import contextlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import sdpbb
from sdpbb.errors import BackendFailure, ParameterError
from sdpbb.problem import Instance
from sdpbb.problem.formats import write_points
from sdpbb.questions.batch.batch import run_batch
from sdpbb.questions.batch.manifest import Job
from sdpbb.run.parameters import DecompositionParameters, SolverParameters
from sdpbb.run.solver import solve
from sdpbb.runtime.executors import given
from sdpbb.runtime.executors.given import GivenExecutor, dask_executor
from sdpbb.runtime.executors.worker import no_warm_up
from sdpbb.search.result import SolutionStatus
from tests.executors import tasks
from tests.executors.pool import (  # noqa: F401
    Completion,
    TaskPool,
    run_all,
    test_a_task_that_kills_every_worker_is_lost_and_no_other,
    test_a_worker_that_dies_once_costs_no_task,
    test_errors_are_raised_with_the_traceback_of_the_worker,
)
from tests.trees import CHOICE, HASTY, SMALL, SMALL_OPTIMUM, go_over_at_once

distributed = pytest.importorskip("distributed")

ROOT = Path(__file__).resolve().parents[2]
WITHOUT_RETRIES = "distributed.scheduler.allowed-failures=0"

# Seconds in which a cluster answers, or starts a worker, on a busy machine.
BUSY = 300.0

# Never in parallel with tests that start processes and measure waiting times.
pytestmark = pytest.mark.alone


@contextlib.contextmanager
def started(n_workers, *settings):
    """A cluster in processes of its own, as users have one."""
    command = [sys.executable, "-m", "tests.executors.cluster", str(n_workers), *settings]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it has a lot to say on workers that die
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OPENBLAS_NUM_THREADS": "2",
            "OMP_NUM_THREADS": "2",
        },
    )
    with process, killed(process):
        process.address = process.stdout.readline().strip()
        yield process


@contextlib.contextmanager
def killed(process):
    """Ends a process that a test failed to, so that leaving its context does not wait for ever."""
    try:
        yield process
        if process.poll() is None:
            process.stdin.close()
            process.wait(30)
    finally:
        if process.poll() is None:
            process.kill()


@pytest.fixture(scope="module")
def running():
    with started(2, WITHOUT_RETRIES) as process:
        yield process


@pytest.fixture
def cluster(running):
    """With both of its workers, which some of the tests have started again."""
    with distributed.Client(running.address, timeout=BUSY, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=BUSY)
    return running


@pytest.fixture
def pool(cluster):
    with joined(cluster) as pool:
        yield pool


@contextlib.contextmanager
def joined(cluster, warm_up=no_warm_up):
    name = f"the Dask cluster at {cluster.address}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(given, "CONNECT_SECONDS", BUSY)
        with (
            dask_executor(cluster.address) as executor,
            TaskPool(GivenExecutor(executor, warm_up, name=name)) as pool,
        ):
            yield pool


def test_tasks_run_in_the_workers_of_the_cluster(pool, tmp_path):
    assert pool.n_workers == 2
    pids, _ = run_all(pool, [(tasks.meet, tmp_path, key, 2) for key in range(2)])
    assert len({os.getpid(), *pids.values()}) == 3
    # The same call twice is two tasks.
    twice, _ = run_all(pool, [(tasks.note_and_nap, tmp_path, "x", 0.0)] * 2)
    assert twice == {0: "x", 1: "x"}
    assert len(list(tmp_path.glob("x-*"))) == 2


def test_workers_use_one_blas_thread(cluster):
    with joined(cluster, tasks.load_blas) as pool:
        pool.submit(0, tasks.environment, "OPENBLAS_NUM_THREADS")
        assert pool.wait() == [Completion(0, "2")]
        pool.submit(0, tasks.blas_threads)
        (completion,) = pool.wait()
        assert completion.value
        assert set(completion.value) == {1}


def test_a_cluster_bounds_subsets(cluster):
    points = np.random.default_rng(0).normal(size=(240, 2))
    subsets = DecompositionParameters(smallest=30)
    parameters = SolverParameters(bounding="decomposition", decomposition=subsets, gap=1e-2)
    here = solve(Instance(points, 3), parameters)
    there = solve(Instance(points, 3), replace(parameters, dask=cluster.address))
    assert there.status is SolutionStatus.OPTIMAL
    assert there.statistics.n_subsets >= 8
    assert there.objective == pytest.approx(here.objective, rel=1e-9)


def groups():
    rng = np.random.default_rng(0)
    points = np.concatenate([rng.normal(center, 0.3, (6, 2)) for center in (0.0, 4.0, 8.0)])
    return Instance(points, 3, cannot_link=[(0, 1)])


def test_the_executor_of_a_client_solves_sweeps_prices_and_does_batches(cluster, tmp_path):
    """As a caller has it, who continues with it afterwards."""
    instance = groups()
    write_points(tmp_path / "points.txt", instance.points, 3)
    with distributed.Client(cluster.address, timeout=BUSY, set_as_default=False) as client:
        executor = client.get_executor()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(CHOICE, go_over_at_once)
            there = solve(SMALL, HASTY, executor=executor)
        assert there.objective == pytest.approx(SMALL_OPTIMUM, rel=1e-4)
        swept = sdpbb.sweep(instance, [2, 3], executor=executor)
        priced = sdpbb.constraint_prices(instance, executor=executor)
        batch = run_batch(
            [Job(data=str(tmp_path / "points.txt"), name=str(number), k=3) for number in range(3)],
            tmp_path / "out",
            executor=executor,
        )
        assert executor.submit(tasks.square, 3).result() == 9
    assert [entry.objective for entry in swept.entries] == pytest.approx(
        [entry.objective for entry in sdpbb.sweep(instance, [2, 3]).entries], rel=1e-9
    )
    assert priced.prices[0].difference == pytest.approx(
        sdpbb.constraint_prices(instance).prices[0].difference, rel=1e-9
    )
    assert [row.status.value for row in batch.rows] == ["optimal"] * 3


def test_any_executor_does(monkeypatch):
    """Threads of this process, of which Python has an executor."""
    monkeypatch.setattr(CHOICE, go_over_at_once)
    with ThreadPoolExecutor(2) as executor:
        result = solve(SMALL, HASTY, executor=executor)
        assert executor.submit(tasks.square, 3).result() == 9
    assert result.objective == pytest.approx(SMALL_OPTIMUM, rel=1e-4)


def test_what_is_abandoned_ends_nothing_later():
    with ThreadPoolExecutor(1) as executor, TaskPool(GivenExecutor(executor)) as pool:
        pool.submit(0, tasks.nap, 0.5, None)
        pool.interrupt()
        assert pool.wait(60) == []
        assert pool.is_idle


MPI = """
import sys
from tests.trees import CHOICE, HASTY, SMALL, go_over_at_once
from unittest.mock import patch
from dataclasses import replace
from sdpbb import solve

if __name__ == "__main__":
    with patch(CHOICE, go_over_at_once):
        print(solve(SMALL, replace(HASTY, mpi=True)).objective)
"""


@pytest.mark.skipif(
    shutil.which("mpiexec") is None or importlib.util.find_spec("mpi4py") is None,
    reason="needs mpiexec and mpi4py",
)
def test_processes_of_mpiexec_solve_a_tree(tmp_path):
    (tmp_path / "program.py").write_text(MPI)
    program = [sys.executable, "-m", "mpi4py.futures", tmp_path / "program.py"]
    done = subprocess.run(
        ["mpiexec", "--oversubscribe", "-n", "3", *program],
        cwd=ROOT,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) == pytest.approx(SMALL_OPTIMUM, rel=1e-4)


def test_a_worker_is_warmed_up_once(cluster):
    with joined(cluster, tasks.warm_up) as pool:
        values, _ = run_all(pool, [(tasks.environment, "SDPBB_TEST_WARM")] * 4)
    assert set(values.values()) == {"!"}


def test_large_arguments_go_without_saying(pool):
    pool.submit(0, len, bytes(12 * 10**6))
    assert pool.wait() == [Completion(0, 12 * 10**6)]


def test_a_restart_of_the_cluster_costs_no_task(pool, cluster, tmp_path):
    pool.submit(0, tasks.nap_unless_marked, tmp_path / "marker", 600, "value")
    while not (tmp_path / "marker").exists():
        assert pool.wait(0.05) == []
    with distributed.Client(cluster.address, set_as_default=False) as somebody_else:
        # Not `wait_for_workers`: Dask has waited for both of them forever; one does the task.
        somebody_else.restart(timeout=BUSY, wait_for_workers=False)
    assert pool.wait(BUSY)[0].value == "value"


def test_a_cluster_without_the_packages_of_this_process(pool, monkeypatch):
    pool.submit(0, tasks.lacks_a_package)
    with pytest.raises(BackendFailure, match=r"cluster at tcp://.* lacks .*'nowhere'"):
        pool.wait()
    monkeypatch.setattr(given, "version", lambda package: "0.0.0")
    pool.submit(0, tasks.square, 1)
    with pytest.raises(BackendFailure, match=r"needs sdpbb 0\.0\.0"):
        pool.wait()


@pytest.mark.parametrize(
    "address", ["nonsense", "nowhere://1.2.3.4:5", "tcp://:8786", "a:b", "a:0"]
)
def test_what_is_no_address(monkeypatch, address):
    # A client that has failed over it waits for itself, and then complains, when it is collected.
    monkeypatch.setattr(distributed, "Client", None)
    message = f"dask = '{address}': expected the address"
    with pytest.raises(ParameterError, match=message), dask_executor(address):
        pass


def test_a_cluster_without_workers_is_waited_for(monkeypatch):
    monkeypatch.setattr(given, "COUNT_SECONDS", 0.1)
    with started(0) as cluster, joined(cluster) as pool:
        pool.submit(0, tasks.square, 2)
        assert (pool.n_workers, pool.wait(0.5)) == (0, [])
        command = [sys.executable, "-m", "distributed.cli.dask_worker", cluster.address]
        with subprocess.Popen(
            [*command, "--no-dashboard"], cwd=ROOT, stderr=subprocess.DEVNULL
        ) as worker:
            assert pool.wait(BUSY) == [Completion(0, 4)]
            worker.terminate()


COORDINATOR = """
import os, signal, sys
from sdpbb.errors import BackendFailure
from sdpbb.runtime.executors.given import GivenExecutor, dask_executor
from sdpbb.search.result import SolutionStatus
from sdpbb.run.solver import solve
from tests.executors import tasks
from tests.executors.pool import TaskPool
from tests.trees import CHOICE, HASTY, SMALL, SMALL_OPTIMUM, go_over_at_once

address, scheduler = sys.argv[1], int(sys.argv[2])
with dask_executor(address) as executor, TaskPool(GivenExecutor(executor)) as pool:
    pool.submit(0, tasks.nap, 600, None)
    pool.wait(0.5)
    os.kill(scheduler, signal.SIGKILL)
    try:
        pool.wait(90)  # Dask tries for a while to connect again
    except BackendFailure as error:
        print(error)
"""


def test_a_scheduler_that_has_gone_is_told_once():
    with started(1) as cluster:
        coordinator = subprocess.run(
            [sys.executable, "-c", COORDINATOR, cluster.address, str(cluster.pid)],
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert cluster.wait() == -signal.SIGKILL
    assert coordinator.stdout == "the scheduler of the executor has gone\n"
