#!/usr/bin/env bash
# Requests to stop, full disks, and going on from snapshots on as many ranks or others, on 2 hosts.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
use_cluster rbq 96 2
make_training
# A smooth net: at a kink of ReLU, or a tie in max pooling, the rounding of the ranks' sums decides where a gradient
# flows, and two trainings that differ by their number of ranks part there.
sed -i 's/type: "ReLU"/type: "TanH"/; s/pool: MAX/pool: AVE/' net.prototxt
# A disk of the first host that is full before long. Rank 0 writes there.
mkdir disk
"$CLUSTER/cluster.sh" exec rbq1 mount -t tmpfs -o size=1m tmpfs "$WORK/disk" || skip "this machine mounts no tmpfs"

TRAIN=(caffe train -deterministic -solver solver.prototxt)
DDL=(-ddl "-timeout 10")
# ranks N: mpirun with N ranks on both hosts.
ranks() {
  MPIRUN=(mpirun -H rbq1:2,rbq2:2 -n "$1" --map-by node -x PATH -x OMP_NUM_THREADS)
}
endless() { solver 'max_iter: 1000000' 'display: 10' "snapshot_prefix: \"$1\""; }

# until_iteration N PREFIX: the solver of a training that ends there.
until_iteration() { solver "max_iter: $1" 'display: 10' "snapshot_prefix: \"$2\""; }

# expect_stop WHAT PREFIX: the job ended well with one snapshot and nothing half written; STOPPED is its iteration.
expect_stop() {
  finish_job
  local files
  files=$(cd "$WORK" && echo "$2"_iter_*)
  STOPPED=$(sed -n 's/.*_iter_\([0-9]*\)\.solverstate$/\1/p' <<< "$files")
  check "$1: exit code" "$CODE" 0
  [ "$CODE" -eq 0 ] || tail -n 20 "$JOB_LOG"
  check "$1: one snapshot, whole" "$files" "$2_iter_$STOPPED.caffemodel $2_iter_$STOPPED.solverstate"
  check "$1: all ranks agree on the iteration" "$(grep -c 'Optimization stopped early' "$JOB_LOG")" 1
  check "$1: no error" "$(grep -c 'error: ' "$JOB_LOG")" 0
}

ranks 4
endless usr
start usr "${MPIRUN[@]}" "${TRAIN[@]}" -batch global "${DDL[@]}"
# Later than where every rounding error of the first steps grows.
await_iteration 100 && kill -USR1 "$(launcher)"
begin_clock
expect_stop "SIGUSR1 to mpirun" usr
check_true "SIGUSR1 to mpirun: stopped within 10 s: $TOOK s" at_most "$TOOK" 10

for signal in USR1 TERM; do
  endless "ddl$signal"
  start "ddl$signal" ddlrun -H rbq1,rbq2 -accelerators 2 -ddlarg "-timeout 10" "${TRAIN[@]}" -batch global
  await_iteration 10 && kill -$signal "$(launcher)"
  expect_stop "SIG$signal to ddlrun" "ddl$signal"
done

# Going on from the first of them, for 20 more iterations, is as if there had been no stop.
expect_resumed() { # expect_resumed WHAT RANKS
  finish_job
  check "$1: exit code" "$CODE" 0
  check "$1: goes on from the snapshot" "$(grep -c "resuming from usr_iter_$FROM.solverstate" "$JOB_LOG")" 1
}
FROM=$(ls usr_iter_*.solverstate | sed 's/[^0-9]//g') END=$((FROM + 20))
until_iteration "$END" whole
start whole "${MPIRUN[@]}" "${TRAIN[@]}" -batch global "${DDL[@]}"
finish_job
check "the same training without a stop" "$CODE" 0
until_iteration "$END" usr
start resumed "${MPIRUN[@]}" "${TRAIN[@]}" -batch global -snapshot auto "${DDL[@]}"
expect_resumed "-snapshot auto on 4 ranks"
check_true "-snapshot auto on 4 ranks: the same bits" cmp whole_iter_$END.caffemodel usr_iter_$END.caffemodel
rm usr_iter_$END.*
ranks 2
start resumed2 "${MPIRUN[@]}" "${TRAIN[@]}" -batch global -snapshot auto "${DDL[@]}"
expect_resumed "-snapshot auto on 2 ranks"
near "-snapshot auto on 2 ranks" weights whole_iter_$END.caffemodel usr_iter_$END.caffemodel 1e-5
rm usr_iter_$END.*

# batch_size is 24 for each rank now: 48 samples per iteration.
start refused "${MPIRUN[@]}" "${TRAIN[@]}" -snapshot auto "${DDL[@]}"
finish_job
check "another global batch: exit code" "$CODE" 2
check "another global batch: one report that names both ways on" \
  "$(grep -c 'error: ' refused.log) $(grep -c 'error: .*24 samples per iteration, this run has 48.*-batch global.*-accept_batch_change' refused.log)" "1 1"
start accepted "${MPIRUN[@]}" "${TRAIN[@]}" -snapshot auto -accept_batch_change "${DDL[@]}"
expect_resumed "-accept_batch_change"

solver 'max_iter: 60' 'display: 10' 'snapshot: 20' 'snapshot_prefix: "disk/s"'
start full "${MPIRUN[@]}" "${TRAIN[@]}" "${DDL[@]}"
finish_job
check "a full disk: training goes on to its end" "$CODE $(grep -c 'Optimization Done' full.log | sed 's/[1-9]/reached/')" \
  "7 reached"
finish
