import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from sdpbb.batch import read_manifest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "benchmark_batch.py"


@pytest.fixture
def benchmark():
    spec = importlib.util.spec_from_file_location("benchmark_batch", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["benchmark_batch"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["benchmark_batch"]


def test_the_instances_are_the_same_every_time(benchmark, tmp_path):
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
        jobs = read_manifest(benchmark.make_batch(folder, 12))
        assert len(jobs) == 12
        assert sum(not Path(job.data).exists() for job in jobs) == 1  # one is malformed so
    first, second = ({path.name: path.read_bytes() for path in f.iterdir()} for f in folders)
    assert first == second


@pytest.mark.slow
def test_the_benchmark_gets_what_it_expects(benchmark, monkeypatch, capsys, tmp_path):
    keep = tmp_path / "kept"
    monkeypatch.setattr(
        sys, "argv", ["x", "--instances", "12", "--workers", "1", "--keep", str(keep)]
    )
    assert benchmark.main() == 0
    text, error = capsys.readouterr()
    assert "12 instances, 1 workers" in text
    assert "exit status 1;" in text  # some have failed, as they must
    assert error == ""
    assert (keep / "out" / "results.csv").exists()


def test_the_benchmark_notices_what_it_does_not_expect(benchmark, monkeypatch, capsys, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "summary.txt").touch()
    counts = benchmark.expected_counts(12)
    for found, code in ((counts, 0), (counts | {"optimal": 5}, 1)):
        done = subprocess.CompletedProcess([], 1, stdout=json.dumps({"counts": found}))
        monkeypatch.setattr(benchmark.subprocess, "run", lambda *_, done=done, **__: done)
        assert benchmark._measure(tmp_path, 12, 1, cold=False) == code
        assert ("expected" in capsys.readouterr().err) == bool(code)
