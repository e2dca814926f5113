#!/usr/bin/env bash
# Sets up, builds, runs every level on the best device there is and prints the progression table.
set -euo pipefail
scripts=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=scripts/toolchain.sh
source "$scripts/toolchain.sh"

run_levels() { "$PYTHON" "$scripts/run_levels.py" "$@"; }

find_python
if [[ -z $PYTHON ]]; then  # a bare machine: the arguments are Python's to understand
  "$scripts/setup.sh" --no-tests
  find_python
fi
for argument; do
  if [[ $argument == --help || $argument == -h ]]; then
    run_levels --help
    exit
  fi
done

targets=$(run_levels --targets "$@")
mapfile -t targets <<<"$targets"
"$scripts/build.sh" "${targets[@]}"
find_python  # setting up may have brought a better one
run_levels "$@"
