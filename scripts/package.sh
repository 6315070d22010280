#!/usr/bin/env bash
# The files of a release, sdist and wheel, tried in an environment that has nothing of this checkout.
#
#   scripts/package.sh FOLDER     writes them there
#
# PYTHON names an interpreter that has the extra `dev` (default: python3). The wheel is built from the
# sdist, so that both are complete or none.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
unset PYTHONPATH
python="${PYTHON:-python3}"
mkdir -p "$1"
out="$(cd "$1" && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT

mkdir "$folder/source" "$folder/elsewhere"
cp -r pyproject.toml README.md LICENSE sdpbb heuristics instances "$folder/source"
"$python" -m build --no-isolation --outdir "$folder/dist" "$folder/source" >"$folder/build.log" 2>&1 \
  || { cat "$folder/build.log"; exit 1; }

"$python" -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --no-compile "$folder"/dist/*.whl
cd "$folder/elsewhere"
export PATH="$folder/venv/bin:$PATH"
sdpbb doctor --no-test
instances="$(python -c 'import sdpbb.datasets; print(sdpbb.datasets.__path__[0])')/instances"
case "$instances" in "$folder/venv"/*) ;; *) echo "not of the wheel: $instances"; exit 1 ;; esac
sdpbb solve "$instances/iris.txt" --constraints "$instances/iris_ml_19_cl_19.txt" --labels labels.csv
[ "$(wc -l <labels.csv)" -eq 151 ]
cp "$folder"/dist/* "$out"
