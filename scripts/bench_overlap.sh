#!/usr/bin/env bash
# How much of the communication training hides: 2 hosts x 1 rank x 1 thread, on a link so slow that communication alone
# takes as long as backward. Prints
#   exposed = (iteration with communication - iteration without) / communication alone
#
#   CLUSTER_SH=cluster.sh scripts/bench_overlap.sh [net: models/resnet50/train_val.prototxt] [batch: 8] [iterations: 8]
#
# CLUSTER_SH is a script with the commands `mpirun ARGS...`, `hostfile SLOTS`, `exec HOST CMD...` and `link all rate
# RATE`; its two hosts, node1 and node2, must be up. "Without" is two ranks that train at the same time and know nothing
# of each other, so that both sides share the processors and the memory of this machine alike.
# shellcheck disable=SC1091  # lib.sh is here
set -euo pipefail
. "$(dirname "$0")/lib.sh"

net=${1:-$ROOT/models/resnet50/train_val.prototxt} batch=${2:-8} iterations=${3:-8}
cluster=${CLUSTER_SH:?set CLUSTER_SH to the script of the hosts}
caffe=$(tool caffe) bench=$(tool bench_allreduce)
export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
work=$(mktemp -d)
trap 'rm -rf "$work"; "$cluster" link all clear' EXIT

# The net with random input in place of its data, so that no rank waits for a disk.
python3 - "$net" "$batch" > "$work/net.prototxt" << 'PY'
import re, sys
text, batch = open(sys.argv[1]).read(), int(sys.argv[2])
blocks = re.split(r"(?m)^(?=layer \{)", text)
kept = [b for b in blocks if 'type: "Data"' not in b and 'type: "Accuracy"' not in b]
crop = re.search(r"crop_size: (\d+)", text)
size = int(crop.group(1)) if crop else 28
channels = 3 if crop else 1
kept.insert(1, f'''layer {{ name: "data" type: "DummyData" top: "data" top: "label" dummy_data_param {{
  shape {{ dim: {batch} dim: {channels} dim: {size} dim: {size} }} shape {{ dim: {batch} }}
  data_filler {{ type: "constant" value: 0.5 }} data_filler {{ type: "constant" }} }} }}
''')
print("".join(kept))
PY
cat > "$work/solver.prototxt" << END
net: "$work/net.prototxt"
base_lr: 0.0001 lr_policy: "fixed" momentum: 0.9 display: 1 max_iter: $iterations random_seed: 1 snapshot_after_train: false
END

# Seconds of an iteration, from a log on stdin: the median of all but the first two.
median() {
  sed -n 's/.*(\([0-9.e+-]*\) iter\/s.*/\1/p' | tail -n +3 | awk '{ print 1 / $1 }' | sort -g |
    awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
train=("$caffe" train -solver "$work/solver.prototxt" -autotune=false)
"$cluster" hostfile 1 > "$work/hosts"
both=("$cluster" mpirun -x OMP_NUM_THREADS --hostfile "$work/hosts" -np 2 --map-by node)

say "without communication: two trainings side by side"
"$cluster" exec node2 taskset -c 1 "${train[@]}" > "$work/other.log" 2>&1 &
"$cluster" exec node1 taskset -c 0 "${train[@]}" > "$work/alone.log" 2>&1
wait
alone=$(median < "$work/alone.log")
backward=$(OMP_NUM_THREADS=1 "$caffe" time -model "$work/net.prototxt" -autotune=false -iterations 3 2>&1 |
  sed -n 's/.*Average Backward pass: \([0-9.]*\) ms.*/\1/p' | awk '{ print $1 / 1000 }')
bytes=$(sed -n 's/.* \([0-9]*\) learnable parameters.*/\1/p' "$work/alone.log" | awk '{ print 4 * $1 }')
echo "an iteration: $alone s, its backward: $backward s, gradients: $bytes bytes"

# Two hosts send every byte once: 2 (H - 1) / H = 1.
mbit=$(awk "BEGIN { printf \"%d\", 8 * $bytes / $backward / 1e6 / 0.93 }")
say "link of $mbit Mbit/s"
"$cluster" link all rate "${mbit}mbit"
kilobytes=$(awk "BEGIN { printf \"%d\", $bytes / 1024 }")
"${both[@]}" "$bench" -kilobytes "$kilobytes" -seconds 3 -ddl "-mode b:1x2" | tee "$work/bench.log"
communication=$(awk '/ratio/ { print $4 / 1e6 }' "$work/bench.log")
echo "communication alone: $communication s (backward $backward s)"

say "with communication"
"${both[@]}" "${train[@]}" -ddl "-mode b:1x2" > "$work/with.log" 2>&1 || { tail -n 20 "$work/with.log"; exit 1; }
with=$(median < "$work/with.log")
awk "BEGIN { printf \"an iteration: %.3f s; exposed: %.1f %% of the communication\n\", $with, 100 * ($with - $alone) / $communication }"
