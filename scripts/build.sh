#!/usr/bin/env bash
# Sets up, configures and builds; each step only if it is needed.
set -euo pipefail
# shellcheck source=scripts/toolchain.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/toolchain.sh"

usage() {
  cat <<'END'
usage: scripts/build.sh [--tests] [LEVEL|TARGET...] [-DSWITCH=VALUE...]

Runs scripts/setup.sh, configures the CMake preset `default` and builds in build/: everything, or the named levels and targets.

  LEVEL              8, 08, level08 or level08_deep_pipeline: the level's program for both architectures, and the
                     simulated device to run it on; level08_sm90: for one of them. production: the kernel beside level 08
  TARGET             warm_up: the programs before level 01; or any target of CMake's
  web                the simulated device in WebAssembly, in build/web (common/sim/web/README.md). Installs emscripten
  -DSWITCH=VALUE     the level with a switch of its kernel set, in a program of its own, whose name says so:
                     build/bin/level08_deep_pipeline_sm100-TC_UTIL_PERCENT=85. The level's ordinary program is not changed.
                     Every level knows LADDER_SPIN_LIMIT=N: a wait that has polled N times ends the launch with an error
  --tests            GoogleTest is required, and the unit tests are built
  --help             print this

Exit codes: 0 built; 2 wrong command line; 4, 5, 6 as scripts/setup.sh; 7 configuring failed; 8 building failed.
END
}

complain() {  # complain SENTENCE: about the command line
  printf 'build.sh: %s\n' "$1" >&2
  exit 2
}

tests='' targets=() switches=()
while [[ $# -gt 0 ]]; do
  case $1 in
    --tests) tests=1 ;;
    --help | -h) usage && exit 0 ;;
    -D) complain "-DSWITCH=VALUE is one word (scripts/build.sh --help)." ;;
    -D*)
      [[ $1 =~ ^-D[A-Za-z_][A-Za-z0-9_]*=[A-Za-z0-9_]+$ ]] ||
        complain "a switch looks like -DTC_UTIL_PERCENT=85, a name and a value, and '$1' does not."
      switches+=("${1#-D}")
      ;;
    -*) complain "there is no option '$1' (scripts/build.sh --help)." ;;
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
  elif ! is_outdated && [[ -z $reconfigure ]]; then
    return 0
  fi
  step "Configuring the build" "$CMAKE" --preset default "${fresh[@]}"
}

# programs_of NAME: the programs that a level's name stands for, FOLDER ARCH on each line; none if it is no level. With
# _sm90 or _sm100 at its end it stands for one of them.
programs_of() {
  local arch
  find_level "${1%_sm[0-9]*}" || return 0
  for arch in 100 90; do
    if [[ -e $(folder_of "$LEVEL")/kernel_sm$arch.cuh && ($1 != *_sm[0-9]* || $1 == *_sm"$arch") ]]; then printf '%s %s\n' "$LEVEL" "$arch"; fi
  done
}

# known_switches FOLDER ARCH: the switches of a level's kernel: macros with a default value;
# and that of the waits in common/ptx.
known_switches() { sed -n 's/^#ifndef \([A-Z][A-Z0-9_]*\).*/\1/p' "$(folder_of "$1")"/*_sm"$2".* && echo LADDER_SPIN_LIMIT; }

# add_variant FOLDER ARCH: the program with all switches becomes a target. Fails if the kernel does not know one of
# them.
add_variant() {
  local switch known call
  known=$(known_switches "$1" "$2")
  for switch in "${switches[@]}"; do
    grep -qx "${switch%%=*}" <<<"$known" || return 1
  done
  call="add_level_variant($1 $2 ${switches[*]})"
  mkdir -p build
  if ! grep -qxF "$call" build/variants.cmake 2>/dev/null; then
    echo "$call" >>build/variants.cmake
    reconfigure=1
  fi
  switch=$(IFS=- && printf '%s' "${switches[*]}")
  made+=("build/bin/$1_sm$2-$switch")
  wanted+=("$1_sm$2-${switch//=/.}")
}

complain_about_switches() {  # complain_about_switches NAME PROGRAM...
  local name=$1 known program
  shift
  known=$(for program; do known_switches ${program:+$program}; done | sort -u | paste -sd' ')
  [[ $known != LADDER_SPIN_LIMIT ]] ||
    complain "$name has no switch but LADDER_SPIN_LIMIT; level 08 has others. Other constants stand in the Config of a kernel."
  complain "$name has no kernel with ${switches[*]%%=*}; its switches are ${known// /, }."
}

# What the names on the command line mean to CMake.
targets_of() {
  local name program programs found
  for name; do
    mapfile -t programs < <(programs_of "$name")
    [[ ${#programs[@]} -gt 0 || ! $name =~ ^(level)?[0-9]+(_sm[0-9]+)?$ ]] || complain "there is no level '$name'."
    if [[ ${#programs[@]} -eq 0 && $name != warm_up || ${#switches[@]} -eq 0 && ${programs[0]-} == "${name/_sm/ }" ]]; then
      [[ ${#switches[@]} -eq 0 ]] || complain "switches are for levels, as in level08, and '$name' is none."
      wanted+=("$name")
      continue
    fi
    found=''
    for program in "${programs[@]}"; do
      if [[ ${#switches[@]} -eq 0 ]]; then
        wanted+=("${program/ /_sm}")
      elif add_variant ${program:+$program}; then
        found=1
      fi
    done
    [[ ${#switches[@]} -eq 0 || -n $found ]] || complain_about_switches "$name" "${programs[@]}"
    [[ $name != warm_up ]] || wanted+=(warm_up)
    wanted+=(cudart cuda)
  done
}

# The simulated device for browsers is a project of its own, for another compiler.
build_web() {
  local to=build/web objects=build/web/objects
  export NODE_PATH=/usr/share/nodejs${NODE_PATH:+:$NODE_PATH}  # emscripten's own packages, as Debian and Ubuntu have them
  export EM_COMPILER_WRAPPER=${EM_COMPILER_WRAPPER-${CMAKE_CXX_COMPILER_LAUNCHER-}}
  [[ -f $objects/build.ninja ]] ||
    CMAKE_CXX_COMPILER_LAUNCHER='' step "Configuring the build for browsers" emcmake "$CMAKE" -G Ninja \
      -DCMAKE_MAKE_PROGRAM="$NINJA" -S common/sim/web -B "$objects" || exit 7
  "$CMAKE" --build "$objects" --parallel "$(nproc)" || exit 8
  cp "$objects/sim.js" common/sim/web/{replay,worker}.js "$to/"
  gzip --best --no-name --stdout "$objects/sim.wasm" >"$to/sim.wasm.gz.new"
  mv "$to/sim.wasm.gz.new" "$to/sim.wasm.gz"
  printf 'Built %s: sim.js, sim.wasm.gz, replay.js, worker.js\n' "$to"
}

cd "$LADDER_ROOT"
take_turn build.sh  # two at once would write the same files
mapfile -t switches < <(printf '%s\n' "${switches[@]}" | sed '/^$/d' | sort -u)
reconfigure='' made=() wanted=()
[[ ${#switches[@]} -eq 0 || ${#targets[@]} -gt 0 ]] ||
  complain "name the level that the switch is for: scripts/build.sh level08 -D${switches[0]}"
web=''
mapfile -t native < <(printf '%s\n' "${targets[@]}" | sed '/^web$/d; /^$/d')
[[ ${#native[@]} -eq ${#targets[@]} ]] || web=1
targets_of "${native[@]}"
if [[ -n $tests ]]; then with=(); else with=(--no-tests); fi
scripts/setup.sh "${with[@]}" ${web:+--with-emscripten}
find_cmake
find_ninja
find_nvcc
find_gxx

if [[ -n $web ]]; then
  build_web
  [[ ${#native[@]} -gt 0 ]] || exit 0
fi

# What CMake is to find, also when Ninja starts it. A plain g++ goes without saying.
choice=${CUDACXX-}${LADDER_IGNORE_SYSTEM_CUDA-}
export CUDACXX=$NVCC
if [[ $GXX != "$(command -v g++ || true)" ]]; then export CXX=$GXX CUDAHOSTCXX=$GXX; fi
PATH=$PATH:$(dirname "$NINJA")
configure || exit 7

"$CMAKE" --build --preset default --parallel "$(($(nproc) + 1))" ${wanted[0]+--target "${wanted[@]}"} || exit 8
[[ ${#made[@]} -eq 0 ]] || printf 'Built %s\n' "${made[@]}"
