#!/usr/bin/env bash
# LeNet in two stages on two hosts: what its ranks train has the bits of one process, also after one of them has died;
# two such pipelines, whose gradients stay within a host, have the numbers of one with the batch of both.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
use_cluster rbg 84 2
make_training

TIMEOUT=5 LIMIT=$((5 + 10))
sed -i 's|name: "conv1"|name: "conv1" device: 0|; s|name: "ip1"|name: "ip1" device: 1|' net.prototxt
# train NAME RANKS_OF_A_HOST OPTIONS...
train() {
  local name=$1 each=$2
  shift 2
  start "$name" mpirun -H "rbg1:$each,rbg2:$each" -n $((2 * each)) -x PATH -x OMP_NUM_THREADS \
    caffe train -deterministic -solver solver.prototxt -micro_batches 4 "$@"
}

solver 'max_iter: 60' 'display: 10' 'snapshot: 20' 'snapshot_prefix: "one"'
caffe train -deterministic -solver solver.prototxt -micro_batches 4 > one.log 2>&1
check "one process" "$?" 0

solver 'max_iter: 60' 'display: 10' 'snapshot: 20' 'snapshot_prefix: "staged"'
train calm 1 -ddl "-dump_iter 30"
finish_job
check "a stage on each of two hosts" "$CODE" 0
check_true "with the weights of one process" cmp one_iter_60.caffemodel staged_iter_60.caffemodel
check "and the second one's layers there" "$(grep -c 'stage 1 on rank 1 on rbg2: layers ip1 to loss' calm.log)" 1
check "what they send is told" "$(grep -c 'stage 0: .* MB sent to others' calm.log)" 2

rm -f staged_iter_*
solver 'max_iter: 1000000' 'display: 10' 'snapshot: 20' 'snapshot_prefix: "staged"'
train killed 1 -ddl "-timeout $TIMEOUT"
await_iteration 50 && begin_clock && "$CLUSTER/cluster.sh" killrank 1 > /dev/null 2>&1
ended=$(ranks_end)
finish_job
check_true "SIGKILL of the last stage: all ranks end within $LIMIT s: $ended s" at_most "$ended" "$LIMIT"
check_true "mpirun says so: $CODE" test "$CODE" -ne 0
check_true "it is named: $(sed -n 's/^caffe: error: //p' killed.log)" \
  grep -q '^caffe: error: rank 1 on rbg2 (pid [0-9]*) has died' killed.log

# The last snapshot may be beyond iteration 60.
find . -name 'staged_iter_*' ! -name 'staged_iter_40.*' -delete
solver 'max_iter: 60' 'display: 10' 'snapshot: 20' 'snapshot_prefix: "staged"'
train resumed 1 -snapshot auto
finish_job
check "it goes on from the last snapshot" "$CODE" 0
check_true "to the weights of a training that nobody disturbed" cmp one_iter_60.caffemodel staged_iter_60.caffemodel

# Not after 60: by then a rounding has turned a unit on or off for some sample, and weights differ by thousandths, as
# those of one process do with other micro-batches.
solver 'max_iter: 20' 'display: 10' 'snapshot_prefix: "two"'
train two 2 -batch global
finish_job
check "two pipelines over two hosts" "$CODE" 0
check "each stage is on a host" "$(grep -c 'stage 1 on ranks 2, 3: layers ip1 to loss' two.log)" 1
near "two pipelines" weights one_iter_20.caffemodel two_iter_20.caffemodel 1e-5
finish
