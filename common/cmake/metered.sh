#!/usr/bin/env bash
# metered.sh LOG COMMAND...: runs a test, and adds a line to LOG: how many hundredths of a CPU second it took with all
# that it started, and the command. common/tests/budgets.py compares the sums with the labels' budgets. A process that
# spins for twenty minutes of CPU time is ended; how long that takes on a busy machine does not matter.
set -u
log=$1
shift
ulimit -S -t 1200
"$@"
status=$?
# Fields 16 and 17: the time that children have taken, in ticks of which Linux has 100 a second.
read -ra fields < /proc/$$/stat
printf '%d %s\n' $((fields[15] + fields[16])) "$*" >> "$log"
exit $status
