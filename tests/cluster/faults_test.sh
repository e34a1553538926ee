#!/usr/bin/env bash
# Faults of ranks, hosts and links while 6 ranks train on 3 hosts: all ranks end in time with one report, or go on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
use_cluster rbf 94 3
make_training
vc() { "$CLUSTER/cluster.sh" "$@" > /dev/null 2>&1; }

TIMEOUT=5 LIMIT=$((5 + 10))
# Host y has the ranks y and y + 3.
train() {
  local name=$1
  shift
  start "$name" ddlrun -H rbf1,rbf2,rbf3 -accelerators 2 -ddlarg "-timeout $TIMEOUT" \
    caffe train -solver solver.prototxt -deterministic -batch global "$@"
}

# expect_end FAULT NAMED: all is over in time, with code 8 and one report, whose first line NAMED matches.
expect_end() {
  local ended
  ended=$(ranks_end)
  finish_job
  check_true "$1: all ranks, on all hosts, end within $LIMIT s: $ended s" at_most "$ended" "$LIMIT"
  check_true "$1: ddlrun ends within $LIMIT s: $TOOK s" at_most "$TOOK" "$LIMIT"
  check "$1: exit code" "$CODE" 8
  check "$1: one report" "$(grep -c '^caffe: error: ' "$JOB_LOG")" 1
  check_true "$1: it names rank and host: $(sed -n 's/^caffe: error: //p' "$JOB_LOG")" \
    grep -q "^caffe: error: $2" "$JOB_LOG"
  check_true "$1: and $(sed -n 's/^  last known  //p' "$JOB_LOG")" \
    grep -Eq '^  last known .*(layer [a-z0-9]+|bucket [0-9]+ of [0-9]+|the update|waiting for data|between iterations),.* iteration [0-9]+$' \
    "$JOB_LOG"
}

# A cut that heals within the time-out changes nothing.
solver 'max_iter: 150' 'display: 10' 'snapshot_prefix: "calm"'
train calm
finish_job
check "training on 3 hosts" "$CODE" 0
solver 'max_iter: 150' 'display: 10' 'snapshot_prefix: "healed"'
train healed
await_iteration 10 && {
  vc cut rbf3 silent
  sleep 0.5
  shown=$(wc -l < healed.log)
  sleep 1.5
  check "a silent cut: training stands still" "$(wc -l < healed.log)" "$shown"
  vc heal rbf3
}
finish_job
check "a cut of 2 s that heals: training goes on to its end" "$CODE" 0
check_true "with the same weights" cmp calm_iter_150.caffemodel healed_iter_150.caffemodel

solver 'max_iter: 1000000' 'display: 10' 'snapshot_prefix: "fault"'
train killed
await_iteration 20 && begin_clock && vc killrank 4
expect_end "SIGKILL of rank 4" 'rank 4 on rbf2 (pid [0-9]*) has died'

train stopped
await_iteration 20 && begin_clock && vc killrank 5 STOP
expect_end "SIGSTOP of rank 5" 'rank 5 on rbf3 (pid [0-9]*) has not been heard of for [5-7][.0-9]* s: it is stopped'

train crashed
await_iteration 20 && begin_clock && vc crash rbf3
expect_end "power failure of rbf3" 'rank [25] on rbf3 (pid [0-9]*) has not been heard of for [5-7][.0-9]* s'
vc heal rbf3

train cut
await_iteration 20 && begin_clock && vc cut rbf3 silent
expect_end "silent cut of rbf3" 'rank [25] on rbf3 (pid [0-9]*) has not been heard of for [5-7][.0-9]* s'
vc heal rbf3

train lost
await_iteration 20 && begin_clock && vc cut rbf1 silent
expect_end "silent cut of rank 0's host" 'rank [1245] on rbf[23] (pid [0-9]*) has not been heard of'
check "silent cut of rank 0's host: it says which host is cut off" "$(grep -c 'rather rbf1 is cut off' lost.log)" 1
vc heal rbf1

# A partial cut: two hosts lose the way to each other, and the others keep theirs to both. between A B WORD: `add` makes
# holes of the routes between two hosts, `del` mends them.
between() {
  on_host "$1" ip route "$3" blackhole "$VC_NET.${2#rbf}/32"
  on_host "$2" ip route "$3" blackhole "$VC_NET.${1#rbf}/32"
}

# No link of the watch joins them; MPI alone notices, by waiting.
train torn
await_iteration 20 && begin_clock && between rbf2 rbf3 add
expect_end "routes between rbf2 and rbf3 end in a black hole" \
  'rank [1245] on rbf[23] (pid [0-9]*) gets no answer from rbf[23]: .* not been acknowledged for [2-9][.0-9]* s'
between rbf2 rbf3 del

train far
await_iteration 20 && begin_clock && between rbf1 rbf3 add
expect_end "routes between rbf1 and rbf3 end in a black hole" \
  'rank [25] on rbf3 (pid [0-9]*) has not been heard of for [5-7][.0-9]* s'
between rbf1 rbf3 del

# By mpirun alone, which gives codes of its own.
start bare mpirun -H rbf1:2,rbf2:2 -n 4 -x PATH -x OMP_NUM_THREADS caffe train -solver solver.prototxt -deterministic \
  -batch global -ddl "-timeout $TIMEOUT"
await_iteration 20 && begin_clock && vc killrank 1
ended=$(ranks_end)
finish_job
check_true "SIGKILL of a rank of mpirun: all ranks end within $LIMIT s: $ended s" at_most "$ended" "$LIMIT"
check_true "and mpirun: $TOOK s, code $CODE" at_most "$TOOK" "$LIMIT"
check "one report" "$(grep -c '^caffe: error: rank 1 on rbf1' bare.log) $(grep -c '^caffe: error' bare.log)" "1 1"
finish
