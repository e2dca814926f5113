# shellcheck shell=bash
# What setup.sh and build.sh share: which compilers and tools there are, and which of them are good enough. Sourced, not
# run. Looks, but changes nothing; its answers are variables.
# shellcheck disable=SC2034
LADDER_ROOT=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/.." && pwd)
VENV=$LADDER_ROOT/.venv           # Python packages that the system does not have
LOCAL_CUDA=$LADDER_ROOT/.cuda     # a CUDA toolkit, if the system has none

MIN_CUDA=13.0    # the first whose nvcc knows sm_100a and emits PTX ISA 9.0
MIN_CMAKE=3.25   # presets of version 6, --fresh
MIN_PYTHON=3.9
MIN_GXX=12       # C++20; the simulated device uses __builtin_shufflevector
MAX_GXX=15       # the newest that nvcc 13.0 accepts as host compiler

# take_turn SCRIPT: waits until no other run of this script is at work in this tree. The lock is on the script itself
# and goes with this process; children that may outlive it are started with 9<&-.
take_turn() {
  command -v flock >/dev/null || return 0
  exec 9<"$LADDER_ROOT/scripts/$1"
  flock --nonblock 9 && return
  printf '%s: waiting for another scripts/%s to end.\n' "$1" "$1" >&2
  flock 9
}

# version_at_least HAVE WANTED
version_at_least() { [[ -n $1 && $(printf '%s\n' "$2" "$1" | sort -V | head -n 1) == "$2" ]]; }

# What a program says, which is nothing if it does not run: a moved script without its interpreter, say.
output_of() { "$@" 2>/dev/null || true; }

cmake_version() { output_of "$1" --version | sed -n '1s/.*version \([0-9.]*\).*/\1/p'; }
nvcc_version() { output_of "$1" --version | sed -n 's/.*release \([0-9]*\.[0-9]*\).*/\1/p'; }
gxx_version() { output_of "$1" -dumpfullversion -dumpversion; }
python_version() { output_of "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }

# Every nvcc that might do, best first. CUDACXX is the reader's word; .cuda comes before the rest because it is only
# there if the rest was not good enough.
nvcc_candidates() {
  local on_path
  if [[ -z ${LADDER_IGNORE_SYSTEM_CUDA-} && -n ${CUDACXX-} ]]; then printf '%s\n' "$CUDACXX"; fi
  printf '%s\n' "$LOCAL_CUDA/bin/nvcc"
  [[ -z ${LADDER_IGNORE_SYSTEM_CUDA-} ]] || return 0
  on_path=$(command -v nvcc || true)
  printf '%s\n' "$on_path" "${CUDA_HOME:+$CUDA_HOME/bin/nvcc}" "${CUDA_PATH:+$CUDA_PATH/bin/nvcc}" \
    /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc
}

# Sets NVCC and NVCC_VERSION, both empty if there is none; NVCC_REJECTED says which ones are too old.
find_nvcc() {
  local candidate version
  NVCC='' NVCC_VERSION='' NVCC_REJECTED=''
  while read -r candidate; do
    candidate=$(command -v "$candidate" 2>/dev/null) || continue
    version=$(nvcc_version "$candidate")
    if version_at_least "$version" "$MIN_CUDA"; then
      NVCC=$candidate NVCC_VERSION=$version
      return
    fi
    version=${version:+CUDA $version}
    [[ $NVCC_REJECTED == *"$candidate "* ]] || NVCC_REJECTED+="$candidate (${version:-does not run}), "
  done < <(nvcc_candidates)
}

# Sets CMAKE and CMAKE_VERSION, both empty if there is none that is new enough.
find_cmake() {
  local candidate
  for candidate in cmake "$VENV/bin/cmake"; do
    CMAKE=$(command -v "$candidate" || true)
    CMAKE_VERSION=${CMAKE:+$(cmake_version "$CMAKE")}
    ! version_at_least "$CMAKE_VERSION" "$MIN_CMAKE" || return 0
  done
  CMAKE='' CMAKE_VERSION=''
}

find_ninja() { NINJA=$(command -v ninja || command -v ninja-build || command -v "$VENV/bin/ninja" || true); }

# Sets GXX and GXX_VERSION. The reader's CXX is taken as it is; otherwise the plain g++ unless nvcc would not have it.
find_gxx() {
  local candidate
  if [[ -n ${CXX-} ]]; then
    GXX=$(command -v "$CXX" || true) GXX_VERSION=''
    GXX_VERSION=${GXX:+$(gxx_version "$GXX")}
    return
  fi
  for candidate in g++ $(seq -f 'g++-%g' "$MAX_GXX" -1 "$MIN_GXX"); do
    GXX=$(command -v "$candidate" || true)
    GXX_VERSION=${GXX:+$(gxx_version "$GXX")}
    if version_at_least "$GXX_VERSION" "$MIN_GXX" && [[ ${GXX_VERSION%%.*} -le $MAX_GXX ]]; then return; fi
  done
  GXX='' GXX_VERSION=''
}

# Sets PYTHON, the interpreter for the scripts: the one with the packages, if it is there and works.
find_python() {
  local candidate
  for candidate in "$VENV/bin/python3" python3; do
    PYTHON=$(command -v "$candidate" || true)
    PYTHON_VERSION=${PYTHON:+$(python_version "$PYTHON")}
    ! version_at_least "$PYTHON_VERSION" "$MIN_PYTHON" || return 0
  done
  PYTHON='' PYTHON_VERSION=''
}

has_matplotlib() {
  "$1" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("matplotlib") is None)' 2>/dev/null
}

# Beside nvcc, as in a whole toolkit, or from the wheels in .venv.
has_disassembler() {
  local folder
  for folder in "${NVCC%/*}" "$VENV"/lib/python3*/site-packages/nvidia/cu13/bin; do
    if [[ -x $folder/cuobjdump && -x $folder/nvdisasm ]]; then return 0; fi
  done
  return 1
}

# Only those in .venv: other versions find other things.
LINTERS=(clang-format mypy pytest ruff shellcheck)
has_linters() {
  local name
  for name in "${LINTERS[@]}"; do
    if [[ ! -x $VENV/bin/$name ]]; then return 1; fi
  done
}

has_gtest() {
  local prefix prefixes
  [[ -z ${GTest_DIR-}${GTest_ROOT-} ]] || return 0
  IFS=: read -r -a prefixes <<<"${CMAKE_PREFIX_PATH-}"
  for prefix in "${prefixes[@]}" /usr /usr/local; do
    [[ -n $prefix ]] || continue
    ! compgen -G "$prefix/lib*/cmake/GTest/GTestConfig.cmake" >/dev/null || return 0
    ! compgen -G "$prefix/lib/*/cmake/GTest/GTestConfig.cmake" >/dev/null || return 0
  done
  return 1
}

has_gpu() { [[ -e /dev/nvidia0 ]] || nvidia-smi -L >/dev/null 2>&1; }

# find_level TEXT: sets LEVEL to the name of the level that is written 5, 05, level05 or level05_persistent, or to
# production; fails if there is none. The scripts in Python have the same rule in ladder/levels/names.py.
find_level() {
  local number rest
  LEVEL=''
  if [[ ${1%/} == production ]]; then LEVEL=production && return; fi
  [[ ${1%/} =~ ^(level)?0*([0-9]{1,2})(_[A-Za-z0-9_]+)?$ ]] || return 1
  printf -v number 'level%02d' "$((10#${BASH_REMATCH[2]}))"
  rest=${BASH_REMATCH[3]}
  while read -r LEVEL; do
    if [[ $LEVEL == "${number}_"* && ( -z $rest || $LEVEL == "$number$rest" ) ]]; then return; fi
  done < <(sed -nE 's/^add_level\((level[0-9]{2}_[A-Za-z0-9_]+).*/\1/p' "$LADDER_ROOT/CMakeLists.txt" | sort)
  return 1
}

# folder_of LEVEL: where its sources are.
folder_of() { if [[ $1 == production ]]; then echo level08_deep_pipeline/production; else echo "$1"; fi; }

# step WHAT COMMAND...: runs the command silently and prints one line when it is done, signs of life if it takes longer,
# and what it said if it fails. Returns the command's exit code.
step() {
  local what=$1 log start=$SECONDS shown=$SECONDS status=0 pid
  shift
  log=$(mktemp)
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  # Children in the background do not hear Ctrl-C.
  # shellcheck disable=SC2064
  trap "kill $pid 2>/dev/null; rm -f '$log'; exit 130" INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    sleep 0.1
    if [[ -t 1 && $SECONDS -gt $shown ]]; then
      printf '\r%s ... %d s' "$what" $((SECONDS - start))
      shown=$SECONDS
    elif [[ $((SECONDS - shown)) -ge 10 ]]; then
      printf '%s ... %d s\n' "$what" $((SECONDS - start))
      shown=$SECONDS
    fi
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [[ ! -t 1 ]] || printf '\r\033[K'
  if [[ $status -eq 0 ]]; then
    printf '%s: done in %d s\n' "$what" $((SECONDS - start))
  else
    printf '%s: failed after %d s\n' "$what" $((SECONDS - start))
    tail -n 40 "$log" >&2
  fi
  rm -f "$log"
  return "$status"
}
