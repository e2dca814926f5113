#!/usr/bin/env bash
# Runs a program on the simulated device: in the place of its CUDA runtime and driver it gets build/sim's
# libcudart.so.13 and libcuda.so.1.
set -euo pipefail

name=${0##*/}  # in the wheel and in the archive of scripts/package.py it has another
usage() {
  [[ $name != sim.sh ]] || name=scripts/sim.sh
  cat <<END
usage: $name [options] PROGRAM [ARGUMENT...]
       $name [options] --replay FILE

END
  cat <<'END'
Runs PROGRAM, built by nvcc with its PTX embedded, on a GPU that is simulated on the CPU; or replays a recording of it,
without the program.

  --gpu NAME          the GPU to simulate, a file of common/sim/machine/gpus: b200, h100, h200 (default: h200 for a
                      program with code for Hopper only, otherwise b200)
  --sms N             a smaller GPU, so that persistent kernels run several iterations on small problems
  --seed N            another schedule of warps and asynchronous operations; the same N gives the same run
  --latest            the schedule that delays every asynchronous effect as long as the ISA allows
  --schedules NAME,...
                      run PROGRAM once in each of these: default, latest, or a number N for --seed N; print a finding
                      only once, and end with the greatest of the exit codes
  --arith exact|fast  tensor-core arithmetic, bit for bit or quick (default: exact up to 2^34 multiply-adds a launch)
  --ptx FILE          PTX in the place of the embedded code of the kernels that FILE defines
  --check             check that every access is ordered after those it conflicts with; --check=strict also reports
                      what the ISA requires and real code leaves out
  --check-kernels NAME,...
                      with --check: check only kernels with one of these in their names, and not, say, kernels that
                      fill matrices or compute a reference
  --check-not NAME,...
                      with --check: do not check these
  --tolerate NAME,... do not report these habits (violations that hardware tolerates), in any schedule
  --suppressions FILE do not report known findings, only count them. FILE has a line for each, of patterns:
                        rule: write after read; kernel: *splitk*; file: *reduce.cuh; line: 41
                      Fields may be left out. Lines that have matched nothing are named at the end
  --abort             raise SIGABRT at the first error instead of reporting it to the program
  --error-exitcode N  the exit code if anything is wrong, whatever the program's; 0: always the program's
  --log-file FILE     append the messages to FILE, not to standard error
  --threads N         host threads (default: all processors)
  --patience N        report a warp when it, or all warps together, have executed N million instructions (default 200)
                      without visible progress: a heuristic, not a proof of a hang
  --reports FILE      write what is found as it is found, a line of JSON each (- is standard output); the members are in
                      common/sim/README.md
  --counters FILE     write counts of what each kernel did
  --trace FILE        write the events of each kernel with their times
  --contents WHAT     with --trace: what operations read in shared memory. all: a digest of each;
                      PROCESS:N: also the bytes, of operation N (from 0) of that process of the trace
  --record FILE       record the program's calls: PTX, allocations, copies, launches, and digests of what it
                      copies back
  --results-of FILE   with --record: the right results are those of this recording, not the program's own
  --replay FILE       replay the recording, with the options given here, and report whether the results are the
                      recorded ones; --ptx FILE replaces the first PTX text
  --json              with --replay: print the outcome as JSON (common/sim/web/README.md)
  --timing            do not compute: predict the time of each launch on the GPU, its clock, and what limits it
  --constants FILE    with --timing: the GPU's constants, in place of those in common/sim/machine/gpus
  --predictions FILE  with --timing: add the predictions to FILE, a line of JSON each, in place of printing them
  --power WHAT,...    with --timing: cap for a GPU under continuous load (default), burst for a short load, none for the
                      highest clock, or a clock in GHz; with several, a prediction for each
  --triton            for Python programs: Triton hands over PTX, and what PyTorch computes is computed by the host
  --version           print the version
  --help              print this

The rules of --check, and the basis of each. docs/simulator.md explains them.
  read after write        PTX ISA 8.10, causality order
  write after read        PTX ISA 8.10, causality order
  write after write       PTX ISA 8.10, causality order
  across proxies          PTX ISA 9.7.13.4 (fence.proxy.async); fails on an H200 in every launch
  tensor memory           PTX ISA 9.7.16.6
  CTA has begun           CUDA guide, distributed shared memory; PTX ISA 9.7.16 (CTA pairs)
  barrier exists          PTX ISA 9.7.13.15.9
  barrier lifetime        PTX ISA 9.7.13.15.9 and 9.7.13.15.10
  phase known             PTX ISA 9.7.13.15.4 and 9.7.13.15.16
  phase held              PTX ISA 9.7.13.15.16
  exit                    PTX ISA 9.7.16 (CTA pairs), 9.7.9.25; CUDA guide, distributed shared memory
  response of try_cancel  PTX ISA 9.7.13.17, example
  tensor map              PTX ISA 9.7.13.4 (fence.proxy.tensormap)
  wgmma registers         PTX ISA 9.7.15.7.1 (wgmma.fence), 9.7.15.5 (wgmma.mma_async)
  register count          PTX ISA 9.7.19.5 (setmaxnreg)
  read-only data          PTX ISA 9.7.9.8 (ld.global.nc); fails on an H100 in every launch
  launches                PTX ISA 9.7.13.13 (griddepcontrol); CUDA guide, programmatic dependent launch
and of --check=strict:
  read, then asynchronous write   PTX ISA 8.10 and 9.7.13.4 (proxies)
  write, then asynchronous write  PTX ISA 8.10 and 9.7.13.4 (proxies)
  MMA, then ordinary write        PTX ISA 9.7.16.6.5
  visible                         PTX ISA 8.10
  earlier tensor map              CUDA guide, tensor maps in global memory
  elected lane                    PTX ISA 9.7.13.14 (elect.sync)

The habits for --tolerate. Those with a star warn in every run without --seed and --latest, and are errors with these;
the others warn with --check.
  ld-without-wait *         uses the result of tcgen05.ld, or deallocates the columns that it reads, without
                            tcgen05.wait::ld
  st-without-wait *         loads what tcgen05.st stores, or signals other threads about it, without a preceding
                            tcgen05.wait::st (CUTLASS stream-K)
  exit-with-own-stores *    ends while its own bulk stores still read shared memory
  exit-with-own-loads *     ends while its own copies into shared memory are in flight
  exit-before-own-commit *  ends, or invalidates its mbarrier (Triton), while its own last tcgen05.commit is on its way
                            there; or ends while it is on its way to its peer's, after a barrier of the cluster
                            (CUTLASS)
  relaxed-cluster-exit *    signals another CTA, then arrives at the cluster barrier with .relaxed, and that CTA ends
  warpgroup-release         one thread of a warpgroup arrives after wgmma.wait_group for all four warps, without a
                            barrier among them (CUTLASS)
  implicit-reconvergence    executes an .aligned instruction after lanes have, or may have, diverged, without
                            bar.warp.sync
  warp-synchronous          lanes of a warp exchange data through memory, or pass on by shfl what one has acquired,
                            without bar.warp.sync (cooperative groups)
  tcgen05-fence             has no tcgen05.fence::before_thread_sync or ::after_thread_sync (CUTLASS)
  tensor-pipe-in-order      relies on the order of tensor operations of one thread where the ISA does not promise it
  pair-allocation           an MMA of a pair uses the peer's tensor memory, ordered only after its own CTA's
                            tcgen05.alloc (CUTLASS)
  init-fence                uses mbarriers remotely or asynchronously without fence.mbarrier_init after their
                            initialisation
  reader-side-proxy-fence   the reader, not the writer, executes fence.proxy.async
  flag-without-fence        reads a flag with a relaxed or volatile access, and then the data that it announces, without
                            a fence between (the CUDA guide's last block, CUTLASS stream-K)
  fence-before-barrier      each thread executes a fence (__threadfence()) and a barrier, then one thread writes a flag
                            without a fence of its own (CUB's grid barrier)
  completion-release        overwrites what another thread has read, ordered after the read only by the completion of an
                            asynchronous operation that was issued after it
  allocation-visibility     reads the address that tcgen05.alloc has stored, ordered after it only by a relaxed arrival
                            or a tcgen05.commit (library kernels)
  repeated-dealloc *        executes tcgen05.dealloc again for columns that are free (all warps of an epilogue)
  equal-stores              two threads store the same value to one location, unordered
  lanes-of-a-store          lanes of one store write different values to one location: one of them remains, which one is
                            undefined
  warpgroup-acquire         the threads of a warpgroup store operands of a wgmma, each with fence.proxy.async and its
                            part of the wgmma after it, without a barrier among them (FlashMLA)
  repeated-init             initialises an mbarrier again that no other instruction has used yet (CUTLASS)
  remote-arrival-scope      hands data to another CTA by an arrival at its mbarrier, or a wait for it, whose scope is
                            .cta (CUTLASS)

Exit code: the program's own; 86 if a kernel failed, --check found an error, or a file could not be written, and the
program would exit with 0 (--error-exitcode: another, in any case); 2 for a wrong command line.
With --replay: 0 the results are as recorded; 1 they are not; 3 the recording is damaged, or no recording; 4 it is of
another version; 5 there is not enough memory, or not at the recorded addresses; 6 the PTX cannot be used; 86 and 2 as above.
LADDER_SIM_DIR names the directory of the libraries if it is not build/sim.
END
}

fail() {
  printf '%s: %s\n' "$name" "$*" >&2
  exit 2
}

# Tests run this script thousands of times: where bash can do it, no other program is started.
here=$(readlink -f "${BASH_SOURCE[0]}")
here=${here%/*}
root=${here%/*}
libraries=${LADDER_SIM_DIR:-$root/build/sim}

checked() {  # checked KIND OPTION ARGUMENT-COUNT VALUE: the value, if there is one and it is of that kind
  [[ $3 -ge 2 && -n $4 ]] || fail "$2 needs a value ($name --help)."
  case $1 in
    number) [[ $4 =~ ^(0|[1-9][0-9]*)$ ]] || fail "$2: '$4' is not a number." ;;
    input) [[ -r $4 ]] || fail "$2: there is no readable file $4." ;;
    output) [[ -d $(dirname -- "$4") ]] || fail "$2: there is no directory $(dirname -- "$4")." ;;
  esac
  if [[ $1 == *put ]]; then realpath -m -- "$4"; else printf '%s' "$4"; fi
}

option() {  # option KIND OPTION ARGUMENT-COUNT VALUE: such a value of --log-file becomes LADDER_SIM_LOG_FILE
  local text variable=${2#--}
  text=$(checked "$@") || exit
  variable=${variable//-/_}
  printf -v "LADDER_SIM_${variable^^}" '%s' "$text"
}

# Options of an outer sim.sh do not leak into this run.
for variable in "${!LADDER_SIM_@}"; do
  [[ $variable == LADDER_SIM_DIR ]] || unset "$variable"
done
replay='' schedules='' triton=''
while [[ $# -gt 0 ]]; do
  case $1 in
    --gpu | --arith | --check-kernels | --check-not | --tolerate | --power | --contents)
      option text "$1" $# "${2-}"; shift 2 ;;
    --sms | --seed | --error-exitcode | --threads | --patience) option number "$1" $# "${2-}"; shift 2 ;;
    --ptx | --suppressions | --constants | --results-of) option input "$1" $# "${2-}"; shift 2 ;;
    --log-file | --counters | --predictions | --record | --trace) option output "$1" $# "${2-}"; shift 2 ;;
    --latest | --check | --abort | --timing | --json) option text "$1" 2 1; shift ;;
    --check=strict) LADDER_SIM_CHECK=strict; shift ;;
    --check=*) fail "--check: '${1#--check=}' is not a grade; --check=strict is the only one beside plain --check." ;;
    --schedules) schedules=$(checked text "$1" $# "${2-}"); shift 2 ;;
    --reports)
      LADDER_SIM_REPORTS=$(checked text "$1" $# "${2-}")
      if [[ $LADDER_SIM_REPORTS != - ]]; then
        LADDER_SIM_REPORTS=$(checked output "$1" $# "$2")
        : >"$LADDER_SIM_REPORTS" || fail "--reports: $LADDER_SIM_REPORTS cannot be written."
      fi
      shift 2
      ;;
    --replay)
      replay=$(checked text "$1" $# "${2-}")
      [[ -r $replay ]] || fail "--replay: there is no readable file $replay."
      shift 2
      ;;
    --triton) triton=1; shift ;;
    --version)
      if [[ -e $root/VERSION ]]; then cat "$root/VERSION"; else git -C "$root" describe --always; fi
      exit
      ;;
    --help | -h) usage && exit 0 ;;
    --) shift; break ;;
    -*) fail "unknown option $1 ($name --help)." ;;
    *) break ;;
  esac
done

start() {  # start PROGRAM [ARGUMENT...]: with the options, in each schedule that is asked for
  local schedule code worst=0 said=''
  for variable in "${!LADDER_SIM_@}"; do export "${variable?}"; done
  [[ -n $schedules ]] || exec "$@"
  export LADDER_SIM_KNOWN
  LADDER_SIM_KNOWN=$(mktemp) || fail "--schedules: no temporary file can be made."
  trap 'rm -f -- "$LADDER_SIM_KNOWN"' EXIT
  for schedule in ${schedules//,/ }; do
    code=0
    unset LADDER_SIM_SEED LADDER_SIM_LATEST
    case $schedule in
      default) "$@" || code=$? ;;
      latest) LADDER_SIM_LATEST=1 "$@" || code=$? ;;
      *) LADDER_SIM_SEED=$schedule "$@" || code=$? ;;
    esac
    said+="${said:+, }$schedule $code"
    [[ $code -le $worst ]] || worst=$code
  done
  printf '%s: exit codes by schedule: %s.\n' "$name" "$said" >&2
  exit "$worst"
}

# What the libraries would only find at the first call of the runtime.
if [[ -n ${LADDER_SIM_GPU-} && ! -e $root/common/sim/machine/gpus/$LADDER_SIM_GPU.csv ]]; then
  known=$(cd "$root/common/sim/machine/gpus" && printf '%s, ' *.csv)
  known=${known//.csv/}
  fail "--gpu: there is no description of a GPU '$LADDER_SIM_GPU'; known are ${known%, }."
fi
case ${LADDER_SIM_ARITH-} in
  '' | exact | fast) ;;
  *) fail "--arith: '$LADDER_SIM_ARITH' is neither exact nor fast." ;;
esac
[[ -z $schedules || -z ${LADDER_SIM_SEED-}${LADDER_SIM_LATEST-} ]] || fail "--schedules names --seed and --latest itself."
[[ -z $schedules || -z ${LADDER_SIM_COUNTERS-}${LADDER_SIM_TRACE-}${LADDER_SIM_RECORD-}${LADDER_SIM_TIMING-} ]] ||
  fail "--counters, --trace, --record and --timing are for one schedule."
[[ -z $schedules || $schedules =~ ^(default|latest|[0-9]+)(,(default|latest|[0-9]+))*$ ]] ||
  fail "--schedules: '$schedules' is no list of default, latest and numbers."
[[ -z ${LADDER_SIM_SEED-} || -z ${LADDER_SIM_LATEST-} ]] ||
  fail "--seed and --latest are two different schedules: choose one."
[[ -z ${LADDER_SIM_COUNTERS-} || ${LADDER_SIM_COUNTERS-} != "${LADDER_SIM_TRACE-}" ]] ||
  fail "--counters and --trace both name $LADDER_SIM_TRACE: two files are needed."
[[ -n ${LADDER_SIM_TRACE-} || -z ${LADDER_SIM_CONTENTS-} ]] || fail "--contents needs --trace."
[[ -n ${LADDER_SIM_TIMING-} || -z ${LADDER_SIM_POWER-}${LADDER_SIM_PREDICTIONS-}${LADDER_SIM_CONSTANTS-} ]] ||
  fail "--power, --constants and --predictions need --timing."
[[ -z ${LADDER_SIM_TIMING-} || -z ${LADDER_SIM_CHECK-} ]] ||
  fail "--timing computes nothing, so there is nothing to --check: choose one."
[[ -n ${LADDER_SIM_CHECK-} || -z ${LADDER_SIM_CHECK_KERNELS-}${LADDER_SIM_CHECK_NOT-} ]] ||
  fail "--check-kernels and --check-not need --check."
[[ ${LADDER_SIM_ERROR_EXITCODE-0} -le 255 ]] || fail "--error-exitcode: '$LADDER_SIM_ERROR_EXITCODE' is not 0 to 255."
[[ ${LADDER_SIM_SMS-1} -ge 1 ]] || fail "--sms: a GPU has at least 1 SM."
[[ ${LADDER_SIM_PATIENCE-1} -ge 1 ]] || fail "--patience: at least 1 million instructions."
[[ ${LADDER_SIM_THREADS-1} -ge 1 ]] || fail "--threads: at least 1 is needed."

[[ -z ${LADDER_SIM_RECORD-} || -z ${LADDER_SIM_TIMING-}$replay ]] ||
  fail "--record notes what a program computes: without --timing and --replay."
[[ -z ${LADDER_SIM_RESULTS_OF-} || -n ${LADDER_SIM_RECORD-} ]] || fail "--results-of needs --record."
[[ -z ${LADDER_SIM_JSON-} || -n $replay ]] || fail "--json needs --replay."
if [[ -n $replay ]]; then
  [[ $# -eq 0 ]] || fail "--replay needs no PROGRAM: the recording says what was asked of the device."
  [[ -x $libraries/sim_replay ]] ||
    fail "the simulated device is not built: there is no $libraries/sim_replay. Run scripts/build.sh cudart cuda."
  start "$libraries/sim_replay" "$replay"
fi
[[ $# -gt 0 ]] || fail "no PROGRAM is given ($name --help)."
for library in libcudart.so.13 libcuda.so.1; do
  [[ -e $libraries/$library ]] ||
    fail "the simulated device is not built: there is no $libraries/$library." \
      "Run scripts/build.sh cudart cuda."
done
libraries=$(cd "$libraries" && pwd)

program=$(type -P -- "$1") || {
  [[ -e $1 ]] || fail "there is no program $1."
  [[ -f $1 && -x $1 ]] || fail "$1 is not an executable file."
  program=$(realpath -s -- "$1")  # in this folder: a shell would want ./
}
shift

# A user who has changed a kernel, or has changed it back, and not built since would look at the wrong program.
warn_if_older_than_its_sources() {
  local name=${program##*/} folder arch file switches=''
  [[ $name =~ ^(level[0-9][0-9]_[a-z0-9_]+|warm_up_[a-z_]+)_sm(90|100)(-.*)?$ && $program -ef $root/build/bin/$name ]] ||
    return 0
  folder=${BASH_REMATCH[1]} arch=${BASH_REMATCH[2]} switches=${BASH_REMATCH[3]//-/ -D}
  [[ $folder != warm_up_* ]] || folder=level01_baseline/warm_up
  for file in "$root/$folder"/{*_sm"$arch".*,main.cu} "$root"/common/{ptx,mma}/*.*h; do
    [[ $file -nt $program ]] || continue
    printf 'sim.sh: %s is newer than %s. To build it again: scripts/build.sh %s\n' "${file#"$root/"}" "$name" \
      "${name%%-*}$switches" >&2
    return
  done
}
warn_if_older_than_its_sources

# The loader searches LD_LIBRARY_PATH before RUNPATH, but after the older RPATH.
before=${LD_LIBRARY_PATH-}
export LD_LIBRARY_PATH=$libraries${before:+:$before}

# The dynamic loader tells, as it does for ldd, which libraries the program will get, also through other libraries.
# Those that have the runtime inside (nvcc's default), ask for it by a path of their own, or load it later, if at all,
# need more than a search path: libsim_loader.so (common/sim/runtime/loader.cpp) gives it to them.
libraries_of() { /lib64/ld-linux-x86-64.so.2 --list "$program" 2>/dev/null || true; }

check_libraries() {
  local magic loads='' own runtime='' path=''
  IFS= LC_ALL=C read -r -N 4 magic <"$program" || true
  if [[ $magic == $'\177ELF' ]]; then  # otherwise a script
    loads=$(libraries_of)
    own=$loads  # without our libcuda.so.1, which brings our runtime in
    [[ $loads != *libcuda.so.1* ]] || own=$(LD_LIBRARY_PATH=$before libraries_of)
    [[ ! ${own//libcudart.so.13/} =~ libcudart\.so\.[0-9]+ ]] ||
      fail "$program uses ${BASH_REMATCH[0]}, and the simulated device replaces libcudart.so.13. Build it with CUDA 13."
    [[ $own != *libcudart.so.13* ]] || runtime=1
    [[ ! $loads =~ libcudart\.so\.13\ =\>\ ([^$'\n']*)\ \(0x ]] || path=${BASH_REMATCH[1]}
    [[ -z $runtime || ! $path -ef $libraries/libcudart.so.13 ]] || grep -q -a -F libcudart_static -- "$program" || return 0
    if [[ -z $runtime && -n ${LADDER_SIM_CHECK-} && $loads != *libcuda.so* ]]; then
      [[ ${program##*/} == python* ]] || grep -q -a -F .nv_fatbin -- "$program" ||
        printf '%s: %s is not linked with CUDA: unless it loads it later, --check has nothing to check.\n' \
          "$name" "$program" >&2
    fi
    [[ -e $libraries/libsim_loader.so ]] ||
      fail "the simulated device is not whole: there is no $libraries/libsim_loader.so." \
        "Run scripts/build.sh cudart cuda."
  elif [[ ! -e $libraries/libsim_loader.so ]]; then
    return 0
  fi
  export LD_AUDIT=libsim_loader.so${LD_AUDIT:+:$LD_AUDIT}
  export LD_PRELOAD=${LD_PRELOAD:+$LD_PRELOAD:}libcudart.so.13
}
check_libraries

# Every Python that the program starts loads sitecustomize.py from there (scripts/wheel).
if [[ -n $triton ]]; then
  hooks=$here/wheel/start
  [[ -d $hooks ]] || hooks=$root/start
  export PYTHONPATH=$hooks${PYTHONPATH:+:$PYTHONPATH}
fi

start "$program" "$@"
