# Sourced by the benchmarks of training on 2 hosts x 1 rank x 1 thread, after lib.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034  # what is set here is for those who source this
#
#   two_hosts NET BATCH ITERATIONS   finds programs and hosts, writes $work/solver.prototxt
#   train_alone                      sets alone and backward, the seconds of an iteration without communication and of
#                                    its backward, and bytes, of all gradients
#   train_both                       sets with, the seconds of an iteration of both ranks
#   sum_both                         sets communication, the seconds of a sum of all gradients
#
# CLUSTER_SH is a script with the commands `mpirun ARGS...`, `hostfile SLOTS`, `exec HOST CMD...` and `link all rate
# RATE`; its two hosts, node1 and node2, must be up. "Alone" is two ranks that train at the same time and know nothing
# of each other, so that both sides share the processors and the memory of this machine alike.

two_hosts() {
  cluster=${CLUSTER_SH:?set CLUSTER_SH to the script of the hosts}
  caffe=$(tool caffe) bench=$(tool bench_allreduce)
  export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  work=$(mktemp -d)
  trap 'rm -rf "$work"; "$cluster" link all clear' EXIT
  random_input "$1" "$2" > "$work/net.prototxt"
  cat > "$work/solver.prototxt" << END
net: "$work/net.prototxt"
base_lr: 0.0001 lr_policy: "fixed" momentum: 0.9 display: 1 max_iter: $3 random_seed: 1 snapshot_after_train: false
END
  train=("$caffe" train -solver "$work/solver.prototxt" -autotune=false)
  "$cluster" hostfile 1 > "$work/hosts"
  both=("$cluster" mpirun -x OMP_NUM_THREADS --hostfile "$work/hosts" -np 2 --map-by node)
}

# random_input NET BATCH: the net with constant input in place of its data, so that no rank waits for a disk.
random_input() {
  python3 - "$@" << 'PY'
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
}

# Seconds of an iteration, from a log on stdin: the median of all but the first two.
median() {
  sed -n 's/.*(\([0-9.e+-]*\) iter\/s.*/\1/p' | tail -n +3 | awk '{ print 1 / $1 }' | sort -g |
    awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

train_alone() {
  "$cluster" exec node2 taskset -c 1 "${train[@]}" > "$work/other.log" 2>&1 &
  "$cluster" exec node1 taskset -c 0 "${train[@]}" > "$work/alone.log" 2>&1
  wait
  alone=$(median < "$work/alone.log")
  "$caffe" time -model "$work/net.prototxt" -autotune=false -iterations 3 > "$work/time.log" 2>&1
  backward=$(sed -n 's/.*Average Backward pass: \([0-9.]*\) ms.*/\1/p' "$work/time.log" | awk '{ print $1 / 1000 }')
  bytes=$(sed -n 's/.* \([0-9]*\) learnable parameters.*/\1/p' "$work/alone.log" | awk '{ print 4 * $1 }')
}

train_both() {
  "${both[@]}" "${train[@]}" -ddl "-mode b:1x2" > "$work/with.log" 2>&1 || fail "$(tail -n 20 "$work/with.log")"
  with=$(median < "$work/with.log")
}

sum_both() {
  "${both[@]}" "$bench" -kilobytes $((bytes / 1024)) -seconds 3 -ddl "-mode b:1x2" > "$work/bench.log" ||
    fail "$(tail -n 20 "$work/bench.log")"
  communication=$(awk '/ratio/ { print $4 / 1e6 }' "$work/bench.log")
}
