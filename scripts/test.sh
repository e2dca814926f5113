#!/usr/bin/env bash
# Sets up, builds and runs all tests: the C++ unit tests, the simulated device's, and those of the scripts.
set -euo pipefail
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.."

if [[ ${1-} == --help || ${1-} == -h ]]; then
  cat <<'END'
usage: scripts/test.sh [CTEST-OPTION...]

Sets up and builds what is missing, then runs every test, as many at a time as there are processors.
Options go to CTest: -R REGEX for some tests only, -V to see what they print, -N to list them.

Exit codes: CTest's; 4 to 8 as scripts/build.sh.
END
  exit 0
fi

scripts/build.sh --tests
# shellcheck source=scripts/toolchain.sh
source scripts/toolchain.sh
find_cmake
exec "$(dirname "$CMAKE")/ctest" --preset default --parallel "$(nproc)" "$@"
