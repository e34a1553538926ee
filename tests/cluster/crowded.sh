#!/usr/bin/env bash
# 16 ranks on two hosts that share the processors of one machine: nobody is accused, and the log says what is the matter
# while it lasts. For 80 s, or ROBUSTA_CROWDED_SECONDS.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
[ "$(nproc)" -le 8 ] || skip "16 ranks do not crowd $(nproc) processors"
use_cluster rbc 99 2
make_training
PATIENCE=120
SECONDS_LONG=${ROBUSTA_CROWDED_SECONDS:-80}

solver 'max_iter: 100000000' 'display: 10' 'snapshot_prefix: "crowded"'
# By mpirun: ddlrun refuses more ranks than cores.
start crowded mpirun -H rbc1:8,rbc2:8 -n 16 -x PATH -x OMP_NUM_THREADS caffe train -solver solver.prototxt \
  -ddl "-timeout 60"
await_iteration 0 && {
  for ((second = 0; second < SECONDS_LONG; ++second)); do
    kill -0 "$JOB" 2> /dev/null || break
    sleep 1
  done
  check "the job trains for $SECONDS_LONG s" "$second" "$SECONDS_LONG"
  # Why it ended is known from all of these lines, or not at all: Open MPI prints its own before and behind the report.
  [ "$second" -eq "$SECONDS_LONG" ] || tail -n 60 "$JOB_LOG"
  check "nobody is accused" "$(grep -A 4 '^caffe: error' "$JOB_LOG")" ""
  warned=$(grep -o 'Overload: .*' "$JOB_LOG" | head -n 1)
  check_true "overload is told while it lasts: $warned" \
    grep -Eq '^W.* Overload: .*rbc[12] \(rank [0-9]+: [0-9]+ %\), rbc[12] \(rank [0-9]+: [0-9]+ %\)\.' "$JOB_LOG"
  at_most=$((1 + SECONDS_LONG / 300)) told=$(grep -c 'Overload: ' "$JOB_LOG")
  check_true "at most once in five minutes: $told in $SECONDS_LONG s" [ "$told" -le "$at_most" ]
}
kill -USR1 "$(launcher)" 2> /dev/null
finish_job
check "asked to stop, it stops" "$CODE" 0
finish
