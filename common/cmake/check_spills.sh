#!/usr/bin/env bash
# check_spills.sh NVCC ARGS...: runs the compiler and fails if ptxas reports a stack frame or register spills. A level
# kernel that spills is not the kernel its README describes. Prints nothing when all is well.
set -u
report=$("$@" 2>&1)
status=$?
filtered=$(grep -vE '^ptxas info|^[[:space:]]+[0-9]+ bytes stack frame|^$' <<<"$report")
[ -z "$filtered" ] || printf '%s\n' "$filtered" >&2
[ $status -eq 0 ] || exit $status
bad=$(grep -B1 -E '[1-9][0-9]* bytes (stack frame|spill stores|spill loads)' <<<"$report")
if [ -n "$bad" ]; then
  printf 'A level kernel must keep everything in registers, but ptxas reports:\n%s\n' "$bad" >&2
  while [ $# -gt 0 ]; do  # leave no object behind that a second build would take for good
    [ "$1" != -o ] || rm -f -- "$2"
    shift
  done
  exit 1
fi
