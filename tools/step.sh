#!/usr/bin/env bash
# Runs one step of the Makefile quietly: a line before it, its time after it, and its output only when it fails.
# usage: tools/step.sh LOG TEXT COMMAND...
set -u
log=$1 text=$2
shift 2
mkdir -p "$(dirname "$log")"
printf '%s ...' "$text"
if "$@" >"$log" 2>&1; then
  printf ' %d s\n' "$SECONDS"
else
  code=$?
  printf ' FAILED after %d s (exit code %d). The end of %s:\n' "$SECONDS" "$code" "$log" >&2
  tail -n 40 "$log" >&2
  exit "$code"
fi
