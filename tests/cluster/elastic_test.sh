#!/usr/bin/env bash
# 6 ranks on 3 hosts, of which some are lost and others come: training ends with the weights that one rank alone comes
# to, no sample more or less. The net is linear: the weights of a deeper one would soon differ by rounding alone.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
. "$(dirname "$0")/elastic.sh"
use_cluster rbx 87 4
make_training
sed -e '/name: "conv1"/,$d' -e 's|batch_size: 24|batch_size: 48|' net.prototxt | sed '$d' > linear.prototxt
cat >> linear.prototxt << 'END'
layer { name: "ip" type: "InnerProduct" bottom: "data" top: "ip"
  inner_product_param { num_output: 10 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "label" top: "loss" }
END
mv linear.prototxt net.prototxt
vc() { "$CLUSTER/cluster.sh" "$@" > /dev/null 2>&1; }
crash() { kill -9 "$@"; }

TIMEOUT=4 LIMIT=$((4 + 10)) WORLD=6 FIRST=10.87.0.1
solver 'max_iter: 100000000' 'display: 100' 'snapshot: 200' 'snapshot_prefix: "many"'
begin_job many -batch global -ddl "-elastic 2:8 -timeout $TIMEOUT"
for rank in 5 4 3 2 1 0; do start_rank rbx$((rank / 2 + 1)) $rank; done
# Before it has trained at all.
await_line "the first generation" 'Elastic: generation 1 of 6 ranks'
begin_clock
crash "$(pid_of 3)"
# As many train as divide 48: the fifth stands by.
await_go_on "a rank is killed" 'Elastic: generation 2 of 4 ranks' $LIMIT
check_true "it is said which" grep -q 'Elastic: rank 3 on rbx2 (pid [0-9]*) has died' many.log
start_rank rbx2 3
await_line "it is started again, and comes in with the one that stood by" 'Elastic: generation 3 of 6 ranks'

begin_clock
crash "$(pid_of 0)"
await_go_on "rank 0 is killed" 'Elastic: generation 4 of 4 ranks' $LIMIT
start_rank rbx1 0
await_line "it is started again, and founds no second job" 'Elastic: generation 5 of 6 ranks'
check "one job" "$(grep -c 'Elastic: generation 1 ' many.log)" 1

begin_clock
vc cut rbx3 silent
await_go_on "a host is cut off" 'Elastic: generation 6 of 4 ranks' $LIMIT
await_line "those that are cut off do not go on by themselves" 'this rank asks to be let in again' 2
vc heal rbx3
await_line "the host comes back" 'Elastic: generation 7 of 6 ranks'

start_rank rbx4 6
start_rank rbx4 7
await_line "a new host comes" 'Elastic: generation [0-9]* of 8 ranks, 2x4: 2 ranks on each of 4 hosts'
begin_clock
before=$(grep -c 'Elastic: generation' many.log)
crash "$(pid_of 6)" "$(pid_of 1)"
await_line "two ranks are killed at once" 'Elastic: generation' $((before + 1))
check_true "two ranks are killed at once: the others go on within $LIMIT s: $(seconds) s" at_most "$(seconds)" $LIMIT

for rank in 0 2 3 4 5 7; do kill -USR1 "$(pid_of $rank)"; done
end_job
check "all end well" "$(codes)" 0
last=$(find . -name 'many_iter_*.solverstate' | sed 's/.*_iter_\([0-9]*\).*/\1/' | sort -n | tail -n 1)
solver "max_iter: $last" 'display: 1000' 'snapshot: 0' 'snapshot_after_train: true' 'snapshot_prefix: "one"'
caffe train -deterministic -solver solver.prototxt > one.log 2>&1
check "one rank" "$?" 0
near "the weights after $last iterations" weights "one_iter_$last.caffemodel" "many_iter_$last.caffemodel" 1e-4
check "nobody holds the prefix any more" "$(ls ./*.lock 2> /dev/null)" ""
grep -h 'Elastic' many.log
finish
