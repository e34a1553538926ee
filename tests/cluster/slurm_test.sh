#!/usr/bin/env bash
# The Slurm jobs on 4 hosts, each with 16 processors by its own account, and ranks that srun starts by PMIx.
. "$(dirname "$0")/lib.sh"
for program in sbatch slurmctld slurmd munged; do
  command -v "$program" > /dev/null || skip "Slurm is not installed (Debian: slurmctld slurmd slurm-client munge)"
done
use_cluster rbs 93 4
slurm() { "$CLUSTER/slurm.sh" "$@"; }
VC_SLURM_CPUS=16 slurm up > "$WORK/slurm.log" 2>&1
grep -q idle "$WORK/slurm.log" || skip "Slurm does not start here: $(tail -n 1 "$WORK/slurm.log")"
trap 'slurm down > /dev/null 2>&1; clean_up' EXIT

mkdir -p "$WORK/project/build/tools" && cd "$WORK/project" || exit
ln -s "$ROOT/scripts" scripts
fake_program build/tools/caffe
export ROBUSTA=$WORK/project
batch() { slurm run sbatch --wait --output=out "$@" > sbatch.log 2>&1; }

batch scripts/jobs/train.slurm
check "train.slurm" "$? $(grep -c '^rank.*: train -solver solver.prototxt' out)" "0 8"
check "ranks are where the rank file says" "$(sed -n 's/^rank \([0-9]*\) of 8 on \([^,]*\),.*/\1 \2/p' out | sort -n)" \
  "$(for r in 0 1 2 3 4 5 6 7; do echo "$r rbs$((r % 4 + 1))"; done)"
check "with the threads that were asked for" "$(grep -c 'threads 8:' out)" 8

# The warning before the time is over. Slurm takes its time in steps of minutes, so the warning is sent as scancel does.
cat > build/tools/caffe << 'END'
#!/bin/bash
log() { [ "$OMPI_COMM_WORLD_RANK" != 0 ] || printf 'Optimization %s.\n' "$@"; }
trap 'echo "rank $OMPI_COMM_WORLD_RANK snapshot"; log "stopped early" Done; exit 0' USR1
echo "$*" > "started.$OMPI_COMM_WORLD_RANK"
while :; do sleep 0.1; done
END
batch --nodes=2 scripts/jobs/resume.slurm &
job=$!
until [ -e started.3 ] || [ $SECONDS -gt 60 ]; do sleep 0.2; done
check "resume.slurm resumes" "$(cat started.3)" "train -solver solver.prototxt -snapshot auto"
# No job is to follow this one.
printf '#!/bin/sh\necho "$*" >> submitted\n' > build/tools/sbatch && chmod +x build/tools/sbatch
slurm run scancel --batch --signal=USR1 "$(sed -n 's/Submitted batch job //p' sbatch.log)"
wait "$job"
check "SIGUSR1 to the job reaches all ranks" "$? $(cat resume.*.log | grep -c '^rank [0-3] snapshot')" "0 4"
check "and the next job is submitted" "$(cat submitted)" "resume.slurm"

# No mpirun: the ranks find each other by PMIx, which MPI and Slurm have to have.
caffe=${ROBUSTA_TOOLS_DIR:-$ROOT/build/tools}/caffe
if slurm run srun --mpi=list 2>&1 | grep -q pmix && [ -x "$caffe" ]; then
  cat > net.prototxt << 'END'
layer { name: "data" type: "DummyData" top: "x" top: "y"
  dummy_data_param { shape { dim: 8 dim: 20 } shape { dim: 8 dim: 1 } data_filler { type: "gaussian" } } }
layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip"
  inner_product_param { num_output: 1 weight_filler { type: "xavier" } } }
layer { name: "loss" type: "EuclideanLoss" bottom: "ip" bottom: "y" top: "loss" }
END
  echo 'net: "net.prototxt" base_lr: 0.01 lr_policy: "fixed" max_iter: 20 random_seed: 1 snapshot_prefix: "net"' \
    > solver.prototxt
  train=("$caffe" train -solver solver.prototxt)
  slurm run srun --mpi=pmix --nodes=2 --ntasks-per-node=2 "${train[@]}" > srun.log 2>&1
  check "srun --mpi=pmix" "$? $(grep -c '4 ranks, 2x2: 2 ranks on each of 2 hosts' srun.log)" "0 1"
  mv net_iter_20.caffemodel by_srun.caffemodel
  on_first mpirun --host "${VC_PREFIX}1:2,${VC_PREFIX}2:2" -n 4 "${train[@]}" > mpirun.log 2>&1
  check_true "has the weights of mpirun" cmp by_srun.caffemodel net_iter_20.caffemodel
  slurm run srun --nodes=2 --ntasks-per-node=2 "${train[@]}" > apart.log 2>&1
  check "srun without PMIx trains nothing, and says how" "$? $(grep -c 'srun --mpi=pmix' apart.log)" "8 4"
fi
finish
