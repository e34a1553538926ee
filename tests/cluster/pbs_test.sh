#!/usr/bin/env bash
# Jobs under an imitation of PBS on 4 hosts: a published job script for Intel Caffe as it stands, and our templates.
. "$(dirname "$0")/lib.sh"
SEED=${ROBUSTA_SHARED_DIR:-$ROOT/../shared}/seeds/000_2887bfbfef981689.txt
use_cluster rbp 92 4

# A project folder with a stand-in for the program, and a solver whose net and data exist.
mkdir -p "$WORK/project/build/tools" "$WORK/project/data" && cd "$WORK/project" || exit
ln -s "$ROOT/scripts" scripts
fake_program build/tools/caffe
models=models/intel_optimized_models/multinode/alexnet_4nodes
mkdir -p "$models"
echo 'net: "net.prototxt"' > "$models/solver.prototxt"
echo 'layer { type: "Data" data_param { source: "data" } }' > net.prototxt
export ROBUSTA=$WORK/project SOLVER=$models/solver.prototxt

# run_job SCRIPT: runs it, stdout in `out`, stderr in `err`.
run_job() { "$CLUSTER/pbs_run.sh" -v ROBUSTA,SOLVER -o "$PWD/out" -e "$PWD/err" "$@" > job.log 2>&1; }
# hosts_of: "rank host" of each line that a rank wrote, in order.
hosts_of() { sed -n 's/.*rank \([0-9]*\) of \([0-9]*\) on \([^,]*\),.*/\1 \3/p' "$1" | sort -n; }
one_each=$(for r in 0 1 2 3; do echo "$r rbp$((r + 1))"; done)

if [ -f "$SEED" ]; then
  # The script as published; module and mlslvars lines, and the program's path, are the cluster's own.
  sed -n '/^#!\/bin\/sh/,/^exit 0/p' "$SEED" | sed -e '/^module /d' \
    -e "s|^source .*mlslvars.sh|export PATH=$PWD/scripts/impi:$PWD/build/tools:\$PATH|" \
    -e "s|/apps/[^ ]*/bin/caffe|$PWD/build/tools/caffe|" > published.pbs
  check "the published script is there" "$(grep -c 'mpirun -PSM2 -prepend-rank' published.pbs)" 1
  run_job published.pbs
  check "its exit code" $? 0
  check "mpirun -PSM2 -prepend-rank: a rank per line of the node file" \
    "$(sed -n 's/, cpus [^,]*, threads 60: / /p' out | sort)" \
    "$(for r in 0 1 2 3; do echo "[$r] rank $r of 4 on rbp$((r + 1)) train --solver ./$SOLVER"; done)"
  cat result-*/outputCluster-*-4.txt > cluster.txt
  check "run_intelcaffe.sh: the same, in its result file" "$(hosts_of cluster.txt)" "$one_each"
  check "with as many threads as there are cores" "$(grep -c "threads $(nproc): train --solver=$SOLVER" cluster.txt)" 4
  check "what becomes of -PSM2 is told" "$(grep -c 'fabric psm2: OMPI_MCA_pml=ob1' err)" 1
  check "the lines that were run are printed" "$(grep -c '^+ .*mpirun' err)" 1
  rm -rf result-* out err
else
  echo "SKIPPED: the published script: there is no $SEED"
fi

run_job scripts/jobs/train.pbs
check "train.pbs" "$? $(hosts_of out | wc -l) $(grep -c "^rank.*: train -solver $SOLVER -max_walltime 03:50:00" out)" "0 8 8"
check "its hosts" "$(hosts_of out)" "$(for r in 0 1 2 3 4 5 6 7; do echo "$r rbp$((r % 4 + 1))"; done)"
check_true "OMP_NUM_THREADS is that of the job" [ "$(grep -c 'threads 8:' out)" -eq 8 ]
run_job scripts/jobs/intel.pbs
check "intel.pbs" "$? $(hosts_of out)" "0 $one_each"

# A chain of jobs: the program says that it was stopped, then that it is done, in the words of the true one.
cat > build/tools/caffe << 'END'
#!/bin/bash
[ "$OMPI_COMM_WORLD_RANK" = 0 ] || exit 0
echo "$*" >> steps
echo "Starting Optimization"
[ "$(wc -l < steps)" -ge 3 ] || echo "Optimization stopped early."
echo "Optimization Done."
END
# shellcheck disable=SC2016  # meant for the script
printf '#!/bin/sh\necho "$*" "LEFT=$LEFT" >> submitted\n' > build/tools/qsub && chmod +x build/tools/qsub
: > submitted
for left in 10 9 8; do LEFT=$left run_job -v LEFT scripts/jobs/resume.pbs; done
check "resume.pbs resumes" "$(sort -u steps)" "train -solver $SOLVER -snapshot auto -max_walltime 03:50:00"
check "and submits itself until training is done" "$(cat submitted)" \
  "$(for left in 9 8; do echo "-v ROBUSTA,SOLVER,TIME,SCRIPT,LEFT,IMAGE resume.pbs LEFT=$left"; done)"
printf '#!/bin/sh\nexit 3\n' > build/tools/caffe
run_job scripts/jobs/resume.pbs
check "but not after an error that will come again" "$? $(wc -l < submitted) $(grep -c 'exit code 3' out)" "3 2 1"
finish
