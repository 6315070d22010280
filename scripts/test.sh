#!/usr/bin/env bash
# The test suite, from nothing: a virtual environment, the package with what its tests need, pytest.
#
#   scripts/test.sh               all but the slow tests
#   scripts/test.sh --fast        a fifth of the examples, no long test, no test that starts a process
#   scripts/test.sh -m slow       the slow tests
#   scripts/test.sh ARGUMENTS     whatever pytest takes; -n 0 stays in one process, for a debugger
#
# VENV names the environment's folder (default: .venv-test, kept and used again), PYTHON the
# interpreter that makes it; EXAMPLES multiplies the examples of every property test, and
# SAME_EXAMPLES=1 draws the same ones each time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# Python keeps what it has compiled of each module: many processes start, and to compile the modules
# anew takes each of them two seconds.
unset PYTHONDONTWRITEBYTECODE
venv="${VENV:-.venv-test}"
[ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --no-compile --editable '.[test]'
# The engine is measured, and meant to be run, with one BLAS thread.
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# Kernels are compiled once, rather than by each of the processes.
"$venv/bin/python" -c "from sdpbb.run.kernels import compile_all; compile_all()"
pytest=("$venv/bin/python" -m pytest -n 2 --dist worksteal)
if [ "${1:-}" = --fast ]; then
  EXAMPLES=0.2 exec "${pytest[@]}" "$@"
fi
if [ $# -gt 0 ]; then
  exec "${pytest[@]}" "$@"
fi
"${pytest[@]}" -m "not slow and not alone"
mapfile -t files < <(grep -rl --include='test_*.py' 'mark\.alone' tests)
exec "$venv/bin/python" -m pytest -n 0 -m "alone and not slow" "${files[@]}"
