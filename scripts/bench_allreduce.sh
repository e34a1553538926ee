#!/usr/bin/env bash
# Times Robusta's sums over ranks beside MPI_Allreduce: turn about, the best of each, the library once with its own
# choice of algorithm and once with its ring (Open MPI). Says for each goal whether it is met.
#
#   scripts/bench_allreduce.sh [seconds for each size: 2]
#
# Within this host: 2 and 4 ranks. Between hosts: given CLUSTER_SH, a script with the commands `mpirun ARGS...`,
# `hostfile SLOTS` and `link all rate RATE`, also 4 hosts x 2 ranks at 100 Mbit/s and 1 Gbit/s; its hosts must be up.
# Figures of a machine that does something else meanwhile mean little.
# shellcheck disable=SC1091,SC2016  # lib.sh is here; awk has dollars of its own
set -euo pipefail
. "$(dirname "$0")/lib.sh"

seconds=${1:-2}
bench=$(tool bench_allreduce)
# 4 ranks may be more than there are cores, and none is to be tied to one of them.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
if [ "$(id -u)" -eq 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
ring=(--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_allreduce_algorithm 4)
missed=0
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

# goal TEXT PROGRAM: judges the rows of the last race with awk; a row that PROGRAM prints misses the goal.
goal() {
  local worse
  worse=$(awk "$2" "$rows")
  if [ -z "$worse" ]; then
    printf 'met:    %s\n' "$1"
  else
    printf 'MISSED: %s\n' "$1"
    missed=1
  fi
}

# race LABEL LAUNCHER... -- FLAGS...: runs the benchmark and shows its lines; keeps its rows.
race() {
  local label=$1 launcher=()
  shift
  while [ "$1" != -- ]; do launcher+=("$1") && shift; done
  shift
  "${launcher[@]}" "$bench" -seconds "$seconds" -label "$label" "$@" | tee "$rows"
}

# The columns of a row: $1 KB, $4 our time, $7 the library's, $10 the ratio, $14 the share of the bound.
for ranks in 2 4; do
  say "$ranks ranks within this host"
  race MPI_Allreduce mpirun -n "$ranks" -- -kilobytes 4,16,64,256,1024,4096,16384,65536
  goal "4 KB to 256 KB: at least 0.9 times as fast" '/ratio/ && $1 <= 256 && $10 < 0.9'
  goal "from 16 MB on: at least 1.3 times as fast" '/ratio/ && $1 >= 16384 && $10 < 1.3'
  race "ring" mpirun "${ring[@]}" -n "$ranks" -- -kilobytes 4,64,1024,16384
done

if [ -n "${CLUSTER_SH:-}" ]; then
  hosts=$(mktemp)
  trap 'rm -f "$rows" "$hosts"' EXIT
  "$CLUSTER_SH" hostfile 2 > "$hosts"
  cluster=("$CLUSTER_SH" mpirun --hostfile "$hosts" -np 8)

  say "4 hosts x 2 ranks at 100 Mbit/s"
  "$CLUSTER_SH" link all rate 100mbit
  race "ring" "${cluster[@]}" "${ring[@]}" -- -kilobytes 4096,16384 -link_mbit 100
  goal "from 4 MB on: at least 85 % of the bound" '/ratio/ && $14 < 85'

  say "4 hosts x 2 ranks at 1 Gbit/s"
  "$CLUSTER_SH" link all rate 1gbit
  for side in ring own; do
    forced=()
    [ "$side" = own ] || forced=("${ring[@]}")
    race "$side" "${cluster[@]}" "${forced[@]}" -- -kilobytes 1024,4096,16384,65536 -link_mbit 1000
    goal "from 4 MB on: at least 1.15 times as fast as Open MPI's $side" '/ratio/ && $1 >= 4096 && $10 < 1.15'
  done
  "$CLUSTER_SH" link all clear
else
  echo
  echo "not measured: several hosts (set CLUSTER_SH)"
fi
exit "$missed"
