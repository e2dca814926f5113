#!/usr/bin/env bash
# Sets up, configures and builds; each step only if it is needed.
set -euo pipefail
# shellcheck source=scripts/toolchain.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/toolchain.sh"

usage() {
  cat <<'END'
usage: scripts/build.sh [--tests] [TARGET...]

Runs scripts/setup.sh, configures the CMake preset `default` and builds the targets in build/, by default all of them.

  --tests    GoogleTest is required, and the unit tests are built
  --help     print this

Exit codes: 0 built; 2 wrong command line; 4, 5, 6 as scripts/setup.sh; 7 configuring failed; 8 building failed.
END
}

tests='' targets=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --tests) tests=1 ;;
    --help | -h) usage && exit 0 ;;
    -*) printf "build.sh: there is no option '%s' (scripts/build.sh --help).\n" "$1" >&2 && exit 2 ;;
    *) targets+=("$1") ;;
  esac
  shift
done

cache_entry() { sed -n "s/^$1:[A-Z]*=//p" build/CMakeCache.txt; }

# Was build/ configured elsewhere, or with tools that are gone, or not to its end? Then CMake has to forget it all.
is_stale() {
  local nvcc
  [[ -f build/build.ninja && $(cache_entry CMAKE_HOME_DIRECTORY) == "$LADDER_ROOT" ]] || return 0
  nvcc=$(cache_entry CMAKE_CUDA_COMPILER)
  nvcc=${nvcc:-$(cache_entry LADDER_NVCC)}
  [[ -x $(cache_entry CMAKE_COMMAND) && -x $(cache_entry CMAKE_MAKE_PROGRAM) && -x $nvcc ]] || return 0
  # Another compiler than configured is only used if the reader asks for it: it means to build everything again.
  [[ -n $choice && $(readlink -f "$nvcc") != $(readlink -f "$NVCC") ]]
}

# Ninja sees changed CMakeLists.txt itself, but neither changed presets nor a GoogleTest that has come since.
is_outdated() {
  [[ CMakePresets.json -nt build/build.ninja ]] || { [[ $(cache_entry GTest_DIR) == *NOTFOUND ]] && has_gtest; }
}

configure() {
  local fresh=()
  if is_stale; then
    if [[ -f build/CMakeCache.txt ]]; then fresh=(--fresh); fi
  elif ! is_outdated; then
    return 0
  fi
  step "Configuring the build" "$CMAKE" --preset default "${fresh[@]}"
}

cd "$LADDER_ROOT"
if [[ -n $tests ]]; then scripts/setup.sh; else scripts/setup.sh --no-tests; fi
find_cmake
find_ninja
find_nvcc
find_gxx

# What CMake is to find, also when Ninja starts it. A plain g++ goes without saying.
choice=${CUDACXX-}${LADDER_IGNORE_SYSTEM_CUDA-}
export CUDACXX=$NVCC
if [[ $GXX != "$(command -v g++ || true)" ]]; then export CXX=$GXX CUDAHOSTCXX=$GXX; fi
PATH=$PATH:$(dirname "$NINJA")
configure || exit 7

"$CMAKE" --build --preset default --parallel "$(nproc)" ${targets[0]+--target "${targets[@]}"} || exit 8
