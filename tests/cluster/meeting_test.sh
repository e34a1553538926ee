#!/usr/bin/env bash
# 4 ranks on 2 hosts that no MPI starts train as one rank does with the global batch; a host that is cut off ends the job.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
use_cluster rbm 89 2
make_training
solver 'max_iter: 10' 'display: 1' 'snapshot: 0' 'snapshot_after_train: true' 'snapshot_prefix: "one"'
caffe train -deterministic -solver solver.prototxt > one.log 2>&1
check "one rank" "$?" 0

# start_ranks NAME OPTION...: rank 0's output is JOB_LOG, and each rank's exit code comes to NAME.RANK.code.
start_ranks() {
  local name=$1 rank host
  shift
  JOB_LOG=$name.log
  for rank in 3 2 1 0; do
    host=rbm$((rank / 2 + 1))
    {
      on_host $host env RANK=$rank WORLD_SIZE=4 LOCAL_RANK=$((rank % 2)) MASTER_ADDR=10.89.0.1 MASTER_PORT=29500 \
        ROBUSTA_TOKEN=a-secret ROBUSTA_MEETING_SECONDS=60 caffe train -solver solver.prototxt -deterministic "$@"
      echo $? > "$name.$rank.code"
    } > "$name.$rank.log" 2>&1 &
    [ $rank -gt 0 ] || JOB=$!
  done
  ln -sf "$name.0.log" "$JOB_LOG"
}
codes() { cat "$1".[0-3].code | paste -sd' '; }

solver 'max_iter: 10' 'display: 1' 'snapshot: 0' 'snapshot_after_train: true' 'snapshot_prefix: "four"'
start_ranks four -batch global
wait
check "four ranks: exit codes" "$(codes four)" "0 0 0 0"
check "four ranks: hosts are known" "$(grep -c '4 ranks, 2x2: 2 ranks on each of 2 hosts' four.log)" 1
near "four ranks" losses one.log four.log 1e-4
near "four ranks" weights one_iter_10.caffemodel four_iter_10.caffemodel 1e-3

solver 'max_iter: 1000000' 'display: 10' 'snapshot: 0' 'snapshot_prefix: "cut"'
start_ranks cut -batch global -ddl '-timeout 4'
await_iteration 10 && begin_clock && "$CLUSTER/cluster.sh" cut rbm2 silent
wait
TOOK=$(seconds)
check_true "a cut: all ranks end within 16 s: $TOOK s" at_most "$TOOK" 16
check "a cut: exit codes" "$(codes cut)" "8 8 8 8"
check_true "a cut: it is said which" grep -q 'rank [23] on rbm2' cut.log
finish
