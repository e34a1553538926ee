#!/usr/bin/env bash
# Links of 2 Mbit/s and a time-out of 3 s: the gradients of an iteration take twice as long, and a transfer that
# progresses is alive. One that no longer does ends the job.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
use_cluster rbw 98 2
make_training
PATIENCE=120
vc() { "$CLUSTER/cluster.sh" "$@" > /dev/null 2>&1; }
shown() { sed -n 's/.* Iteration \([0-9]*\) (.*/\1/p' "$JOB_LOG" | tail -n 1; }

solver 'max_iter: 1000000' 'display: 1' 'snapshot_prefix: "slow"'
# The sums of this library, in messages of their own, and the one call of MPI.
for mode in r:2 m:2; do
  start "slow_${mode%:2}" mpirun -H rbw1:1,rbw2:1 -n 2 -x PATH -x OMP_NUM_THREADS caffe train -solver solver.prototxt \
    -batch global -ddl "-mode $mode -timeout 3"
  await_iteration 10 && vc link all rate 2mbit && sleep 2
  begin=$(shown)
  begin=${begin:?no iteration is shown in the log of the job}
  # From the end of one iteration to the end of the next.
  await_iteration $((begin + 1))
  begin_clock
  await_iteration $((begin + 2))
  check_true "mode $mode: an iteration takes longer than the time-out: $(seconds) s" at_most 4 "$(seconds)"
  check "mode $mode: nobody is accused" "$(grep '^caffe: error' "$JOB_LOG")" ""
  begin_clock
  vc cut rbw2 silent
  ended=$(ranks_end)
  check_true "mode $mode: a cut ends all ranks within 13 s: $ended s" at_most "$ended" 13
  vc heal rbw2
  vc link all clear
  finish_job
  check "mode $mode: one report" "$(grep -c '^caffe: error: rank 1 on rbw2' "$JOB_LOG")" 1
  vc kill rbw1
  vc kill rbw2
done
finish
