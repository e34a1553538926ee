# Sourced by the benchmarks of training on 2 hosts, a thread to a rank, after lib.sh.
# shellcheck shell=bash
# shellcheck disable=SC2034  # what is set here is for those who source this
#
#   two_hosts NET BATCH ITERATIONS [RANKS]  finds programs and hosts, writes $work/solver.prototxt; RANKS of a host: 1.
#                  With SYNC_EVERY=K training has local steps, and iterations are timed K at a time; WAY=shard, gradients,
#                  adasum or servers trains in this way, servers with a rank more, on node3; WAY=cut LAYERS=fc6,fc7 cuts
#                  these layers in two, WAY=pipeline LAYERS=NAME begins a second stage with this one
#   train_alone    sets alone and backward, the seconds of an iteration without communication and of its backward, and
#                  bytes, of all gradients
#   train_both     sets with, the seconds of an iteration of all ranks
#   sum_both       sets communication, the seconds of a sum of all gradients, and busy, how much of its core, or of its
#                  share of one, a rank uses for it, the kernel's part included
#   sum_within     sets within, the seconds of a sum over the ranks of one host
#
# CLUSTER_SH is a script with the commands `mpirun ARGS...`, `hostfile SLOTS`, `exec HOST CMD...` and `link all rate
# RATE`; its two hosts, node1 and node2, must be up, with node3 for WAY=servers and no others. They are taken to share the two cores of this machine. "Alone" is
# as many ranks that train at the same time and know nothing of each other, so that all share processors and memory
# alike.

two_hosts() {
  cluster=${CLUSTER_SH:?set CLUSTER_SH to the script of the hosts}
  caffe=$(tool caffe) bench=$(tool bench_allreduce)
  per_host=${4:-1} sync_every=${SYNC_EVERY:-1}
  export OMP_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  work=$(mktemp -d)
  trap 'rm -rf "$work"; "$cluster" link all clear' EXIT
  random_input "$1" "$2" > "$work/net.prototxt"
  cat > "$work/solver.prototxt" << END
net: "$work/net.prototxt"
base_lr: 0.0001 lr_policy: "fixed" momentum: 0.9 random_seed: 1 snapshot_after_train: false
display: $sync_every max_iter: $(($3 * sync_every))
END
  train=("$caffe" train -solver "$work/solver.prototxt" -autotune=false)
  "$cluster" hostfile "$per_host" > "$work/hosts"
  grid="-mode b:${per_host}x2" model_dims=${per_host}x2 servers=0 way_words=() way=${WAY:-}
  case $way in
    "") ;;
    shard) grid+=" -shard states" way_words=(--shard states) ;;
    gradients) grid+=" -shard gradients" way_words=(--shard gradients) ;;
    adasum) grid+=" -op adasum" way_words=(--op adasum) ;;
    servers)
      grid="-groups 2 -servers 1" model_dims=$per_host servers=1
      way_words=(--servers 1 --groups 2)
      ;;
    cut)
      way_words=(--parts "$(sed 's/,/:2,/g; s/$/:2/' <<< "${LAYERS:?}")")
      tell_layers "$LAYERS" "multinode { model_parts: 2 }"
      ;;
    pipeline)
      train+=(-micro_batches 4) grid="" way_words=(--stages "${LAYERS:?}" --micro_batches 4)
      tell_layers "$LAYERS" "device: 1"
      ;;
    *) fail "WAY=$way is none of shard, gradients, adasum, servers, cut and pipeline" ;;
  esac
  ranks=("$cluster" mpirun -x OMP_NUM_THREADS --hostfile "$work/hosts" -np)
  both=("${ranks[@]}" $((2 * per_host)))
  [ "$sync_every" = 1 ] || grid+=" -sync_every $sync_every"
}

# tell_layers NAME,... WORDS: adds the words to these layers of the net.
tell_layers() {
  sed -E -i "s/^( *| *layer *\\{ *)name: \"(${1//,/|})\"/\\0 $2/" "$work/net.prototxt"
}

# random_input NET BATCH: the net with constant input in place of its data, so that no rank waits for a disk.
random_input() {
  python3 -I - "$@" << 'PY'
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
  local i
  for ((i = 0; i < per_host; ++i)); do
    "$cluster" exec node2 taskset -c 1 "${train[@]}" > "$work/other$i.log" 2>&1 &
    "$cluster" exec node1 taskset -c 0 "${train[@]}" > "$work/alone$i.log" 2>&1 &
  done
  wait
  alone=$(median < "$work/alone0.log")
  "$caffe" time -model "$work/net.prototxt" -autotune=false -iterations 3 > "$work/time.log" 2>&1
  backward=$(sed -n 's/.*Average Backward pass: \([0-9.]*\) ms.*/\1/p' "$work/time.log" | awk '{ print $1 / 1000 }')
  bytes=$(sed -n 's/.* \([0-9]*\) learnable parameters.*/\1/p' "$work/alone0.log" | awk '{ print 4 * $1 }')
}

train_both() {
  "${ranks[@]}" $((2 * per_host + servers)) "${train[@]}" -ddl "$grid" > "$work/with.log" 2>&1 || fail "$(tail -n 20 "$work/with.log")"
  with=$(median < "$work/with.log")
}

# sum_of LAUNCHER... -- DDL: prints the seconds of a sum of all gradients.
sum_of() {
  local launcher=()
  while [ "$1" != -- ]; do launcher+=("$1") && shift; done
  "${launcher[@]}" "$bench" -kilobytes $((bytes / 1024)) -seconds 4 -library=false -ddl "$2" > "$work/bench.log" ||
    fail "$(tail -n 20 "$work/bench.log")"
  awk '/ours .* us/ { print $4 / 1e6 }' "$work/bench.log"
}

sum_both() {
  sum_of "${both[@]}" -- "-mode b:${per_host}x2" > "$work/sum" &
  sleep 2
  busy=$(cores_used 2 |
    awk -v cores="$(nproc)" -v ranks=$((2 * per_host)) '{ print $1 / (cores < ranks ? cores : ranks) }')
  wait
  communication=$(cat "$work/sum")
}

sum_within() {
  within=$(sum_of "$cluster" mpirun --host "node1:$per_host" -np "$per_host" -- "-mode b:${per_host}x1")
}

# cores_used SECONDS: how many cores the running sum and all interrupts, which do the receiving, need meanwhile.
cores_used() {
  { ticks && sleep "$1" && ticks; } | awk -v seconds="$1" -v hertz="$(getconf CLK_TCK)" '{ used = $1 - used }
                                                                          END { print used / hertz / seconds }'
}

# ticks: of processor time, all in all.
ticks() {
  local pid
  {
    awk '$1 == "cpu" { print $7 + $8 }' /proc/stat
    for pid in $(pgrep -x bench_allreduce); do cut -d ' ' -f 14,15 "/proc/$pid/stat"; done
  } | awk '{ all += $1 + $2 } END { print all }'
}
