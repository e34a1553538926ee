# What is measured: one program beside another, or a prediction beside what came.
# Sourced by nightly.sh, which says what holds for parts.
# shellcheck shell=bash
# shellcheck disable=SC2154  # out, caffe, work: nightly.sh sets them

part_bench_cpu() { # five networks against the machine's peak, and PyTorch where it is installed
  measured scripts/bench_cpu.py --caffe "$caffe"
  result "$(awk '/ [0-9]+ \/ [0-9]+$/ { printf "%s%s %s img/s (%s of the peak)", gap, $1, $3, $5; gap = ", " }' "$out")"
}

part_startup() { # from the start of `caffe train` on LeNet to iteration 0, 20 times
  measured scripts/bench_startup.py --caffe "$caffe"
  result "$(tail -n 1 "$out")"
}

part_busy() { # LeNet beside one busy loop per core, as a ratio to the idle machine
  measured scripts/bench_busy.py --caffe "$caffe"
  result "$(tail -n 1 "$out")"
}

part_scaling() { # the scaling model beside trainings on 2 hosts
  hosts 2
  measured scripts/check_scaling.sh
  result "predicted steps off by $(awk '/%$/ { printf "%s%s at %s Mbit/s", gap, $5, $2; gap = ", " }' "$out")"
}

part_allreduce() { # sums over ranks beside MPI's, within a host and on 4
  local status=0
  hosts 4
  measured scripts/bench_allreduce.sh || status=$?
  result "$(grep -c '^met: ' "$out" || true) goals met, $(grep -c '^MISSED: ' "$out" || true) missed"
  return $status
}

part_overlap() { # how much of the communication of 2 hosts training hides
  hosts 2
  measured scripts/bench_overlap.sh
  result "$(sed -n 's/^an iteration: .*; //p' "$out")"
}

part_overhead() { # what the watch over ranks costs LeNet's and ResNet-50's iterations
  local status=0
  measured scripts/bench_overhead.py --caffe "$caffe" || status=$?
  result "$(sed -n 's/^\([a-z0-9]*\): .*: \([-+][0-9.]* %\) .*/\1 \2/p' "$out" | paste -sd, | sed 's/,/, /g')"
  return $status
}

# hosts NUMBER: those that are up stay; where none are, so many until the part ends.
hosts() {
  export CLUSTER_SH=${CLUSTER_SH:-$ROBUSTA_SHARED_DIR/cluster/cluster.sh}
  [ -x "$CLUSTER_SH" ] || skip "there is no script that makes hosts: $CLUSTER_SH"
  ! "$CLUSTER_SH" exec node1 true > /dev/null 2>&1 || return 0
  trap '"$CLUSTER_SH" down > /dev/null 2>&1' EXIT
  "$CLUSTER_SH" up "$1" > "$out" 2>&1 || skip "no hosts: $(tail -n 1 "$out")"
}
