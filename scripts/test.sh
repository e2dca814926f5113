#!/usr/bin/env bash
# Sets up, builds and runs all tests: the C++ unit tests, the simulated device's, and those of the scripts.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

if [[ ${1-} == --help || ${1-} == -h ]]; then
  cat <<'END'
usage: scripts/test.sh [CTEST-OPTION...]

Sets up and builds what is missing, then runs every test, as many at a time as there are processors.
Options go to CTest: -R REGEX for some tests only, -V to see what they print, -N to list them.

Tests have labels, and each label has a budget of CPU time (common/tests/labels.csv): -L LABEL for the tests of one.

Exit codes: CTest's; 2 wrong command line; 4 to 8 as scripts/build.sh; 9 all pass, but those of a label take too long.
END
  exit 0
fi

# shellcheck source=scripts/toolchain.sh
source scripts/toolchain.sh
find_cmake
# CTest itself overlooks options that it does not know; nobody should build for minutes to learn that.
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
"$ctest" --preset default --parallel "$(nproc)" "$@"
# A table at the end of a whole run, a complaint after any.
find_python
"$PYTHON" common/tests/budgets.py --ctest "$ctest" ${1+--quiet} || exit 9
