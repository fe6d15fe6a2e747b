#!/usr/bin/env bash
# Runs commands that test, one for each argument, and says at the end which tests were ignored and
# why. The lines are also added to the file that FDCONVERT_IGNORED names, for a summary of more than tests.
set -euo pipefail

log=$(mktemp)
trap 'rm -f "$log"' EXIT

# One line for each reason, from the runner's own "test NAME ... ignored, REASON".
count_ignored() {
  awk '
    /^test .* \.\.\. ignored/ {
      reason = $0
      if (!sub(/^test .* \.\.\. ignored, /, "", reason)) reason = "no reason given (examples that are not run)"
      count[reason]++
    }
    END {
      for (reason in count) printf "%5d ignored: %s\n", count[reason], reason
    }' "$log" | sort -k 3
}

status=0
for command in "$@"; do
  printf '%s\n' "$command"
  # With pipefail, the status is that of the tests.
  bash -euo pipefail -c "$command" 2>&1 | tee -a "$log" || { status=$?; break; }
done

awk '/^test result:/ { passed += $4; failed += $6; ignored += $8 }
  END { printf "\n%5d tests passed, %d failed, %d ignored\n", passed, failed, ignored }' "$log"
count_ignored | tee -a ${FDCONVERT_IGNORED:+"$FDCONVERT_IGNORED"}
exit "$status"
