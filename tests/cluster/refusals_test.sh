#!/usr/bin/env bash
# Ranks that would train something else than the others are refused at the start, by one report and exit code 8.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
use_cluster rbr 95 2
make_training

RANKS=(mpirun --tag-output -H rbr1:2,rbr2:2 -x PATH -x OMP_NUM_THREADS)
TRAIN=(caffe train -deterministic -batch global -ddl "-timeout 5" -solver)
solver 'max_iter: 3' 'display: 1' 'snapshot: 0' 'snapshot_after_train: false'

# expect_refusal WHAT CODE REPORT COMMAND...: one report, which REPORT matches.
expect_refusal() {
  local what=$1 code=$2 report=$3
  shift 3
  start refused timeout 60 "$@"
  finish_job
  check "$what: exit code" "$CODE" "$code"
  check "$what: one report" "$(grep -c 'caffe: error: ' refused.log)" 1
  check_true "$what: $(sed -n 's/.*caffe: error: //p' refused.log)" grep -q "caffe: error: $report" refused.log
  check "$what: nothing is trained" "$(grep -c 'Iteration 0' refused.log)" 0
}

on_first "${RANKS[@]}" -n 4 "${TRAIN[@]}" solver.prototxt > trained.log 2>&1
check "four ranks that agree train" "$? $(grep -c 'Iteration 2 (' trained.log)" "0 1"

cat > first_only << 'END'
#!/bin/bash
[ "$OMPI_COMM_WORLD_RANK" != 0 ] || export DDL_OPTIONS="-timeout 5 -mode r:4 -dump_iter 1"
exec "$@"
END
chmod +x first_only
on_first "${RANKS[@]}" -n 4 ./first_only caffe train -deterministic -batch global -solver solver.prototxt > options.log 2>&1
check "DDL_OPTIONS of rank 0 are those of all" \
  "$? $(grep -c 'Iteration 2 (' options.log) $(grep -c 'communication of 1 iteration' options.log)" "0 1 3"

cat > other_option << 'END'
#!/bin/bash
[ "$OMPI_COMM_WORLD_RANK" != 3 ] || exec "$@" -shuffle
exec "$@"
END
chmod +x other_option
expect_refusal "another option" 8 "the option -shuffle of rank 3 is not that of the other ranks; give all ranks the same" \
  "${RANKS[@]}" -n 4 ./other_option "${TRAIN[@]}" solver.prototxt

# The second host is a container with little shared memory.
"$CLUSTER/cluster.sh" exec rbr2 mount -t tmpfs -o size=64k tmpfs /dev/shm
expect_refusal "no shared memory on a host" 5 "the host of rank 2 has no memory that its ranks share" \
  "${RANKS[@]}" -n 4 "${TRAIN[@]}" solver.prototxt
"$CLUSTER/cluster.sh" exec rbr2 umount /dev/shm

# Rank 2, alone, finds other files.
mkdir other && cp solver.prototxt net.prototxt other/ && ln -s "$PWD/test_lmdb" other/ && ln -s "$PWD/train_lmdb" other/
cat > there << 'END'
#!/bin/bash
[ "$OMPI_COMM_WORLD_RANK" != 2 ] || cd other
exec "$@"
END
chmod +x there
# other_rank WHAT CODE REPORT
other_rank() { expect_refusal "$@" "${RANKS[@]}" -n 4 ./there "${TRAIN[@]}" solver.prototxt; }
SAME_FILES='; let all hosts read the same files'
sed -i 's/base_lr: 0.01/base_lr: 0.02/' other/solver.prototxt
other_rank "another solver" 8 "the solver solver.prototxt of rank 2 is not that of the other ranks$SAME_FILES"
cp solver.prototxt other/
sed -i 's/num_output: 500/num_output: 400/' other/net.prototxt
other_rank "another net" 8 "the net that solver.prototxt trains or tests of rank 2 is not .*$SAME_FILES"
cp net.prototxt other/
ln -sfn "$PWD/test_lmdb" other/train_lmdb
other_rank "another data set" 8 'the data of layer "data" .* of rank 2 is not that of the other ranks; give all hosts the'
rm other/train_lmdb
other_rank "no data set" 3 '.*the LMDB train_lmdb does not exist'
check "no data set: where" "$(grep -c 'found by    rank 2 on rbr2' refused.log)" 1

# Processes that a launcher started and that do not find each other.
expect_refusal "an mpirun of another MPI" 8 '.*started 4 processes (PMI_RANK=0), and they do not find each other' \
  env PMI_RANK=0 PMI_SIZE=4 "${TRAIN[@]}" solver.prototxt
expect_refusal "srun without MPI" 8 'srun without --mpi=pmix started 4 processes .*; use .*srun --mpi=pmix -n 4' \
  env SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=4 "${TRAIN[@]}" solver.prototxt

# The command line.
expect_refusal "dims that do not make the ranks" 1 'invalid dim size=4 usr_size=8 dim\[0\]=4 dim\[1\]=2' \
  "${RANKS[@]}" -n 4 caffe train -solver solver.prototxt -ddl "-mode b:4x2"
expect_refusal "an unknown option" 1 '-ddl: unknown option "-tiemout" (did you mean "-timeout"?)' \
  "${RANKS[@]}" -n 4 caffe train -solver solver.prototxt -ddl "-tiemout 5"
finish
