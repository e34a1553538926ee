#!/usr/bin/env bash
# Makes two tables of a training's log in the working directory, as Caffe's script of this name does:
# LOG.test (#Iters Seconds TestAccuracy TestLoss) and LOG.train (#Iters Seconds TrainingLoss LearningRate).
#
#   scripts/parse_log.sh LOG
set -euo pipefail
if [ $# -ne 1 ]; then
  echo "usage: parse_log.sh LOG" >&2
  exit 1
fi
exec python3 "$(dirname "$(realpath "$0")")/parse_log.py" "$1" . --shell_form
