#!/usr/bin/env bash
# Makes LOG.train and LOG.test in the working directory, tables of a training's log with blanks between the columns.
#
#   scripts/parse_log.sh LOG
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: parse_log.sh LOG" >&2
  exit 1
fi
exec python3 "$(dirname "$(realpath "$0")")/parse_log.py" "$1" . --delimiter ' '
