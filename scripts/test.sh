#!/usr/bin/env bash
# Sets up, builds and runs all tests: the C++ unit tests, the simulated device's, and those of the scripts.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

if [[ ${1-} == --help || ${1-} == -h ]]; then
  cat <<'END'
usage: scripts/test.sh [--all] [CTEST-OPTION...]

Sets up and builds what is missing, then runs the tests, one more at a time than there are processors,
since some of them wait.
  --all          the long tests, too: every level and tile in every schedule; without it a sample of them
  CTEST-OPTION   goes to CTest: -R REGEX for some tests only, -V to see what they print, -N to list them

Tests have labels, and each label has a budget of CPU time (common/tests/labels.csv): -L LABEL for the tests of one.

Exit codes: CTest's; 2 wrong command line; 4 to 8 as scripts/build.sh; 9 all pass, but those of a label take too long.
END
  exit 0
fi

# shellcheck source=scripts/toolchain.sh
source scripts/toolchain.sh
find_cmake
all=()
if [[ ${1-} == --all ]]; then
  all=(--build-config all)  # the CTest configuration of tests that are registered with LONG (common/cmake/Tests.cmake)
  shift
fi
# CTest itself overlooks options that it does not know; the user should not build for minutes to learn that.
known=${CMAKE:+$("$(dirname "$CMAKE")/ctest" --help || true)}
for argument in ${known:+"$@"}; do
  [[ $argument != --* ]] || grep -qE -- "[ ,]${argument%%=*}([ =,]|\$)" <<<"$known" || {
    printf "test.sh: neither this script nor CTest has an option '%s' (scripts/test.sh --help).\n" "$argument" >&2
    exit 2
  }
done

scripts/build.sh --tests
find_cmake
ctest=$(dirname "$CMAKE")/ctest
"$ctest" --preset default --parallel "$(($(nproc) + 1))" "${all[@]}" "$@"
# A table at the end of a whole run, a complaint after any. Budgets are those of a run without --all.
find_python
[[ ${#all[@]} -gt 0 ]] || "$PYTHON" common/tests/budgets.py --ctest "$ctest" ${1+--quiet} || exit 9
