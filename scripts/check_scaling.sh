#!/usr/bin/env bash
# Holds scaling_model.py against real trainings of 2 hosts, a thread to a rank, over links of several rates.
#
#   CLUSTER_SH=cluster.sh [SYNC_EVERY=K] [WAY=shard|adasum|servers|cut|...] scripts/check_scaling.sh [net: models/resnet50/train_val.prototxt] [batch: 8]
#                                                  [ranks of a host: 1] [Mbit/s ...]
#
# The model gets what was measured alone: the layer times of one rank (`caffe time`), scaled to the speed of a rank
# beside all others that do not communicate; the time of a sum within a host; and as --core what a sum of all gradients
# at 1,000 Mbit/s needs of a rank's core, for other rates in proportion. The link's rate is the nominal one less 5 %.
# bench_hosts.sh tells what CLUSTER_SH is.
# shellcheck disable=SC1091,SC2154  # lib.sh and bench_hosts.sh are here, and set variables
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bench_hosts.sh"
batch=${2:-8}
two_hosts "${1:-$ROOT/models/resnet50/train_val.prototxt}" "$batch" "${ITERATIONS:-8}" "${3:-1}"
rates=("${@:4}")
[ ${#rates[@]} -gt 0 ] || rates=(200 500 1000 1500)

train_alone
"$cluster" link all rate 1000mbit
sum_both
gbit_within=1000
if [ "$per_host" -gt 1 ]; then
  sum_within
  gbit_within=$(awk "BEGIN { print 8e-9 * 2 * ($per_host - 1) / $per_host * $bytes / $within }")
fi
printf 'an iteration alone: %s s; a sum of %s bytes at 1000 Mbit/s: %s s, %s of a core; within a host: %s Gbit/s\n' \
  "$alone" "$bytes" "$communication" "$busy" "$gbit_within"
printf '%9s  %8s  %12s  %12s  %10s\n' "${way:-grid}" Mbit/s 'measured ms' 'predicted ms' difference
for mbit in "${rates[@]}"; do
  "$cluster" link all rate "${mbit}mbit"
  train_both
  predicted=$("$ROOT/scripts/scaling_model.py" --log "$work/time.log" --model "$work/net.prototxt" --batch "$batch" \
    --images_per_second "$(awk "BEGIN { print $batch / $alone }")" --dims "$model_dims" --us 50 --sync_every "$sync_every" "${way_words[@]}" \
    --core "$(awk "BEGIN { print $busy * $mbit / 1000 }")" \
    --gbit "$gbit_within,$(awk "BEGIN { print 0.95 * $mbit / 1000 }")" | awk '/^step/ { print $2 }')
  awk "BEGIN { printf \"%9s  %8d  %12.0f  %12.0f  %+9.1f%%\n\", \"${model_dims}\", $mbit, 1000 * $with, $predicted,
                      100 * ($predicted / 1000 / $with - 1) }"
done
