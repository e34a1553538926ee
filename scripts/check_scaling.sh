#!/usr/bin/env bash
# Holds scaling_model.py against real trainings: 2 hosts x 1 rank x 1 thread over links of several rates.
#
#   CLUSTER_SH=cluster.sh scripts/check_scaling.sh [net: models/resnet50/train_val.prototxt] [batch: 8] [Mbit/s ...]
#
# The model gets what it asks for: the layer times of one rank (`caffe time`) scaled to the speed of one rank beside
# another, the link's nominal rate, and as --stolen the share of a core that communication takes: the time of a sum over
# a link without limit, where it is the processor that limits, over that at the rate in question. bench_hosts.sh tells
# what CLUSTER_SH is.
# shellcheck disable=SC1091,SC2154  # lib.sh and bench_hosts.sh are here, and set variables
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bench_hosts.sh"
batch=${2:-8}
two_hosts "${1:-$ROOT/models/resnet50/train_val.prototxt}" "$batch" 8
rates=("${@:3}")
[ ${#rates[@]} -gt 0 ] || rates=(100 250 500 1000 1500)

train_alone
"$cluster" link all clear
sum_both
busy=$communication
printf 'an iteration alone: %s s; a sum of %s bytes keeps a core busy for %s s\n' "$alone" "$bytes" "$busy"
printf '%8s  %12s  %12s  %10s\n' Mbit/s 'measured ms' 'predicted ms' difference
for mbit in "${rates[@]}"; do
  "$cluster" link all rate "${mbit}mbit"
  train_both
  stolen=$(awk "BEGIN { s = $busy * $mbit * 1e6 / 8 / $bytes; print s < 1 ? s : 1 }")
  predicted=$("$ROOT/scripts/scaling_model.py" --log "$work/time.log" --model "$work/net.prototxt" --batch "$batch" \
    --images_per_second "$(awk "BEGIN { print $batch / $alone }")" --dims 1x2 --us 50 --stolen "$stolen" \
    --gbit "$(awk "BEGIN { print 0.95 * $mbit / 1000 }")" | awk '/^step/ { print $2 }')
  awk "BEGIN { printf \"%8d  %12.0f  %12.0f  %+9.1f%%\n\", $mbit, 1000 * $with, $predicted,
                      100 * ($predicted / 1000 / $with - 1) }"
done
