#!/usr/bin/env bash
# The test suite, from nothing: a virtual environment, the package with what its tests need, pytest.
# Arguments go to pytest. VENV names the environment's folder (default: .venv-test, kept and used
# again), PYTHON the interpreter that makes it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv="${VENV:-.venv-test}"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --editable '.[test]'
# The engine is measured, and meant to be run, with one BLAS thread.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec "$venv/bin/python" -m pytest "$@"
