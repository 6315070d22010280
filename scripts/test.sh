#!/usr/bin/env bash
# The test suite, from nothing: a virtual environment, the package with what its tests need, pytest.
# Arguments go to pytest: scripts/test.sh -m slow runs the thorough tests, which are left out
# otherwise, -n 0 all in one process (for a debugger). VENV names the environment's folder (default:
# .venv-test, kept and used again), PYTHON the interpreter that makes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv="${VENV:-.venv-test}"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --no-compile --editable '.[test]'
# The engine is measured, and meant to be run, with one BLAS thread.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Compiled once, rather than by each of the processes; half of it by each of two.
compile="from sdpbb.compilation import prepare_kernels; prepare_kernels(lambda: None"
"$venv/bin/python" -c "$compile, 'colgen')" &
"$venv/bin/python" -c "$compile, 'sdp')"
wait $!
if [ $# -gt 0 ]; then
  exec "$venv/bin/python" -m pytest -n 2 --dist worksteal "$@"
fi
"$venv/bin/python" -m pytest -n 2 --dist worksteal -m "not slow and not alone"
exec "$venv/bin/python" -m pytest -n 0 -m "alone and not slow"
