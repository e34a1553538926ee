#!/usr/bin/env bash
# LeNet on 4 hosts with 2 ranks each, placed by a rank file, trains as one rank does with the global batch.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
SOCKETS=$(lscpu -p=SOCKET | grep -v '#' | sort -u | wc -l) CORES=$(lscpu -p=SOCKET,CORE | grep -v '#' | sort -u | wc -l)
[ "$CORES" -ge 2 ] || skip "the rank file needs two cores"
use_cluster rbt 97 4
make_training
solver 'max_iter: 10' 'display: 1' 'snapshot: 0' 'snapshot_after_train: true' 'snapshot_prefix: "one"'
caffe train -deterministic -solver solver.prototxt > one.log 2>&1
check "one rank" "$?" 0

# A batch system would tell mpirun these.
printf 'rbt%d slots=2\n' 1 2 3 4 > hosts
# None of them has a GPU, also where this machine has one.
export ROBUSTA_SIM_GPUS=0:1M
export OMPI_MCA_orte_default_hostfile=$WORK/hosts LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
rank_gen.py 2x4x1 --sockets "$SOCKETS" --cores $((CORES / SOCKETS)) rbt1,rbt2,rbt3,rbt4 > 2x4x1.rf
check "the rank file" "$(on_first check_rankfile.py 2x4x1.rf > rf.log 2>&1; echo $?) $(grep -c '^rank ' 2x4x1.rf)" "0 8"

# expect_as_one WHAT NAME OPTION...: IBM's command line, and options besides.
expect_as_one() {
  local what=$1 name=$2
  shift 2
  solver 'max_iter: 10' 'display: 1' 'snapshot: 0' 'snapshot_after_train: true' "snapshot_prefix: \"$name\""
  start "$name" mpirun -x PATH -x LD_LIBRARY_PATH -x ROBUSTA_SIM_GPUS -n 8 -rf 2x4x1.rf caffe train \
    -solver solver.prototxt -gpu 0 -bvlc -deterministic -batch global "$@"
  finish_job
  check "$what: exit code" "$CODE" 0
  [ "$CODE" -eq 0 ] || tail -n 20 "$name.log"
  check "$what: CPUs are used" "$(grep -c 'all ranks train on the CPU' "$name.log")" 1
  near "$what" losses one.log "$name.log" 1e-4
  near "$what" weights one_iter_10.caffemodel "${name}_iter_10.caffemodel" 1e-3
}
for mode in b:2x4x1 r:8 m:8 c:2x4; do
  expect_as_one "mode $mode" "${mode//:/_}" -ddl "-mode $mode -dev_sync 1"
done
expect_as_one "dimensions found from the hosts" found
check "dimensions found from the hosts: 2x4" "$(grep -c '8 ranks, 2x4' found.log)" 1
finish
