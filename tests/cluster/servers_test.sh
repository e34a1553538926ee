#!/usr/bin/env bash
# A parameter server and 3 workers on 2 hosts: the server dies, and training goes on from the last snapshot to the bits
# of one that was not disturbed; a worker that stands still most of the time holds up nobody.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
use_cluster rbv 85 2
make_training

TIMEOUT=5 LIMIT=$((5 + 10))
train() {
  local name=$1 ranks=$2 options=$3
  shift 3
  start "$name" mpirun -H rbv1:2,rbv2:2 -n "$ranks" --map-by node -x PATH -x OMP_NUM_THREADS \
    caffe train -deterministic -solver solver.prototxt -batch 8 -ddl "-timeout $TIMEOUT $options" "$@"
}
SERVED=(-n_group 3 -n_server 1)

solver 'max_iter: 60' 'display: 10' 'snapshot: 20' 'snapshot_prefix: "calm"'
train calm 4 "" "${SERVED[@]}"
finish_job
check "a server and 3 workers in step" "$CODE" 0

solver 'max_iter: 1000000' 'display: 10' 'snapshot: 20' 'snapshot_prefix: "served"'
train killed 4 "" "${SERVED[@]}"
await_iteration 50 && begin_clock && "$CLUSTER/cluster.sh" killrank 3 > /dev/null 2>&1
ended=$(ranks_end)
finish_job
check_true "SIGKILL of the server: all ranks end within $LIMIT s: $ended s" at_most "$ended" "$LIMIT"
check_true "mpirun says so: $CODE" test "$CODE" -ne 0
check_true "it is named: $(sed -n 's/^caffe: error: //p' killed.log)" \
  grep -q '^caffe: error: rank 3 on rbv2 (pid [0-9]*) has died' killed.log

# The last snapshot may be beyond iteration 60.
find . -name 'served_iter_*' ! -name 'served_iter_40.*' -delete
solver 'max_iter: 60' 'display: 10' 'snapshot: 20' 'snapshot_prefix: "served"'
train resumed 4 "" "${SERVED[@]}" -snapshot auto
finish_job
check "it goes on from the last snapshot" "$CODE" 0
check "which is that of iteration 40" "$(grep -c 'resuming from served_iter_40' resumed.log)" 1
check_true "to the weights of a training that nobody disturbed" cmp calm_iter_60.caffemodel served_iter_60.caffemodel

# rank 2 is on the first host, with rank 0.
slowed() {
  local worker
  worker=$("$CLUSTER/cluster.sh" ranks | awk '$1 == 2 { print $3; exit }')
  while kill -STOP "$worker" 2> /dev/null; do
    sleep 0.09
    kill -CONT "$worker" 2> /dev/null || break
    sleep 0.03
  done
}
solver 'max_iter: 200' 'display: 50' 'snapshot_prefix: "apart"'
train apart 4 "-max_staleness 4" "${SERVED[@]}"
await_iteration 50 && slowed
finish_job
check "a worker that stands still three quarters of the time" "$CODE" 0
check_true "training ends with a model" test -f apart_iter_200.caffemodel
finish
