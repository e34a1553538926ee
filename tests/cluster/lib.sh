# Sourced by the tests upon several hosts, which are network namespaces of this machine.
# shellcheck shell=bash
#
#   use_cluster NAME NUMBER HOSTS   hosts NAME1..NAMEn at 10.NUMBER.0.1-n; gone, with all that runs there, at the end
#                                   (NAME and NUMBER of its own for each test: two may run at a time)
#   on_host HOST COMMAND...         runs it on this host
#   on_first COMMAND...             runs it on the first host, with the settings mpirun needs there
#   check WHAT GOT WANT             compares two texts
#   check_true WHAT COMMAND...      runs a command
#   finish                          the end of a test
#
# $WORK is a folder for the test, removed at the end. A test is skipped (exit code 77, with the reason) where the
# machine cannot have such hosts, or the scripts that make them are not there.
set -uo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
CLUSTER=$(dirname "${ROBUSTA_CLUSTER_SH:-${ROBUSTA_SHARED_DIR:-$ROOT/../shared}/cluster/cluster.sh}")
CHECKS=0 FAILED=0

skip() {
  echo "SKIPPED: $*"
  exit 77
}

use_cluster() {
  [ -x "$CLUSTER/cluster.sh" ] || skip "there are no cluster scripts in $CLUSTER"
  [ "$(id -u)" -eq 0 ] || skip "network namespaces need root"
  unshare --net --uts --mount true 2> /dev/null || skip "this machine lets nobody make network namespaces"
  command -v ip > /dev/null || skip "ip (Debian: iproute2) is not installed"
  command -v mpirun > /dev/null || skip "Open MPI is not installed"
  export VC_RUN=/run/robusta.$1 VC_NET=10.$2.0 VC_PREFIX=$1 VC_SWITCH=robusta.$1
  CLUSTER_UP=1
  # What a test that was killed may have left.
  "$CLUSTER/cluster.sh" down > /dev/null 2>&1
  "$CLUSTER/cluster.sh" up "$3" > "$WORK/cluster.log" 2>&1 || skip "no cluster: $(tail -n 1 "$WORK/cluster.log")"
  eval "$("$CLUSTER/cluster.sh" env)"
  # Bindings are what is tested, and the machine's own setting would hide them.
  unset OMPI_MCA_hwloc_base_binding_policy
}

clean_up() {
  [ -z "${CLUSTER_UP:-}" ] || "$CLUSTER/cluster.sh" down > /dev/null 2>&1
  rm -rf "$WORK"
}
WORK=$(mktemp -d)
trap clean_up EXIT

on_host() { "$CLUSTER/cluster.sh" exec "$@"; }
on_first() { on_host "${VC_PREFIX}1" "$@"; }

check() {
  CHECKS=$((CHECKS + 1))
  if [ "$2" = "$3" ]; then
    echo "ok: $1"
  else
    FAILED=$((FAILED + 1))
    printf 'FAILED: %s\n--- got:\n%s\n--- want:\n%s\n' "$1" "$2" "$3"
  fi
}

check_true() {
  local what=$1
  shift
  if "$@"; then check "$what" true true; else check "$what" "false: $*" true; fi
}

finish() {
  echo "$CHECKS checks, $FAILED failed"
  [ "$FAILED" -eq 0 ]
}

# fake_program FILE: stands in for caffe where only the start of ranks is tested: says where it runs, and with what.
fake_program() {
  cat > "$1" << 'END'
#!/bin/bash
cpus=$(sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status)
echo "rank ${OMPI_COMM_WORLD_RANK:--} of ${OMPI_COMM_WORLD_SIZE:--} on $(uname -n), cpus $cpus," \
  "threads ${OMP_NUM_THREADS:--}: $*"
END
  chmod +x "$1"
}
