#!/usr/bin/env bash
# Open MPI's daemon on one of 2 hosts is killed while 4 ranks train: mpirun then ends all ranks itself, and the launchers
# say that it was neither of them. Bare mpirun returns a code of its own.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
use_cluster rbd 90 2
make_training
export PATH=$ROOT/scripts/impi:$PATH
solver 'max_iter: 1000000' 'display: 10' 'snapshot_prefix: "fault"'
TRAIN=(caffe train -solver solver.prototxt -deterministic -batch global)

# kill_daemon HOST
kill_daemon() {
  local space pid
  space=$(on_host "$1" readlink /proc/self/ns/net)
  for pid in $(pgrep 'orted|prted'); do
    [ "$(readlink "/proc/$pid/ns/net")" != "$space" ] || kill -KILL "$pid"
  done
}

# expect_lost_host NAME COMMAND...
expect_lost_host() {
  local name=$1
  shift
  start "$name" "$@"
  await_iteration 10 && begin_clock && kill_daemon rbd2
  check_true "$name: all ranks end within 30 s: $(ranks_end) s" at_most "$(seconds)" 30
  finish_job
  check "$name: exit code" "$CODE" 8
  check "$name: one verdict" "$(grep -c ' the job ended with exit code 8, by ' "$JOB_LOG")" 1
  check_true "$name: it names the host: $(sed -n 's/.* the job ended/the job ended/p' "$JOB_LOG")" \
    grep -q 'exit code 8, by its launcher, which lost host rbd2' "$JOB_LOG"
}

expect_lost_host ddlrun ddlrun -H rbd1,rbd2 -accelerators 2 -ddlarg '-timeout 10' "${TRAIN[@]}"
expect_lost_host mpirun mpirun -hosts rbd1,rbd2 -ppn 2 -n 4 "${TRAIN[@]}" -ddl '-timeout 10'
printf 'rbd1\nrbd2\n' > hosts
expect_lost_host intelcaffe run_intelcaffe.sh --hostfile hosts --solver solver.prototxt --ppn 2 \
  --caffe_bin "$(command -v caffe)" --output out
finish
