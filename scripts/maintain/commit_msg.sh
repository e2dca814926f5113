#!/usr/bin/env bash
# The commit-msg hook: refuses a subject that docs/contributing.md does not allow. scripts/setup.sh --with-hook installs
# it; git calls it with the file that holds the message.
set -euo pipefail

MOST=72
subject=$(grep -v '^#' "${1:?usage: scripts/maintain/commit_msg.sh FILE}" | head -n 1)

refuse() {
  printf 'commit-msg: %s: "%s"\n' "$1" "$subject" >&2
  printf 'A subject is "area: imperative verb ...", at most %s characters; the reason goes into the body.\n' "$MOST" >&2
  exit 1
}

case $subject in
  'Merge '* | 'Revert '* | 'fixup! '* | 'squash! '* | 'amend! '*) exit 0 ;;  # git's own
esac
[[ ${#subject} -le $MOST ]] || refuse "the subject has ${#subject} characters"
[[ $subject =~ ^[a-z0-9][a-z0-9_./,\ -]*:\ ([A-Za-z]+) ]] || refuse "the subject names no area"
verb=${BASH_REMATCH[1],,}
case $verb in
  process | pass | address | access | focus | express | compress | discuss | cross | bring | string | need | feed | seed | \
    speed | embed | shed | spread | read | add | load | lead) ;;
  *ing | *ed | *[^s]s) refuse "'$verb' is no imperative" ;;
esac
[[ ${subject: -1} != . ]] || refuse "the subject ends with a full stop"
