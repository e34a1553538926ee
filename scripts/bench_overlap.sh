#!/usr/bin/env bash
# How much of the communication training hides: 2 hosts x 1 rank x 1 thread, on a link so slow that communication alone
# takes as long as backward. Prints
#   exposed = (iteration with communication - iteration without) / communication alone
#
#   CLUSTER_SH=cluster.sh scripts/bench_overlap.sh [net: models/resnet50/train_val.prototxt] [batch: 8] [iterations: 8]
#
# bench_hosts.sh tells what CLUSTER_SH is.
# shellcheck disable=SC1091,SC2154  # lib.sh and bench_hosts.sh are here, and set variables
set -euo pipefail
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/bench_hosts.sh"
two_hosts "${1:-$ROOT/models/resnet50/train_val.prototxt}" "${2:-8}" "${3:-8}"

say "without communication: two trainings side by side"
train_alone
echo "an iteration: $alone s, its backward: $backward s, gradients: $bytes bytes"

# Two hosts send every byte once: 2 (H - 1) / H = 1.
mbit=$(awk "BEGIN { printf \"%d\", 8 * $bytes / $backward / 1e6 / 0.93 }")
say "link of $mbit Mbit/s"
"$cluster" link all rate "${mbit}mbit"
sum_both
cat "$work/bench.log"
echo "communication alone: $communication s (backward $backward s)"

say "with communication"
train_both
awk "BEGIN { printf \"an iteration: %.3f s; exposed: %.1f %% of the communication\n\", $with,
                    100 * ($with - $alone) / $communication }"
