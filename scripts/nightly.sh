#!/usr/bin/env bash
# What takes too long, or wants too quiet a machine, to be done for every change: accuracy, speed, several hosts, a fresh
# Debian, all tests under sanitizers.
#
#   scripts/nightly.sh [--table FILE] [PART...]
#
# Without a PART all of them, one after the other. A part that fails stops none of the others; one that this machine has
# no means for is skipped. The results are a table in Markdown: the end of the output, or rows added to FILE
# (docs/nightly.md is one). The exit code is 0 when no part failed.
#
#   ROBUSTA_BUILD        folder of a build to measure (default: build/, which is brought up to date first)
#   ROBUSTA_SHARED_DIR   folder with recorded material (default ../shared)
#   ROBUSTA_FUZZ_MINUTES minutes of fuzzing in all (default: 10 for each reader)
#   CLUSTER_SH           script that makes hosts (bench_hosts.sh); default: that of the recorded material
#   ROBUSTA_SOAK_MINUTES length of the part soak (default 120)
#   ROBUSTA_ELASTIC_FAULTS faults of the part elastic, with each net (default 50)
#
# Parts:
set -euo pipefail
# shellcheck disable=SC1091  # lib.sh and sanitizers.sh are here
. "$(dirname "$0")/lib.sh"
script=$(realpath "$0") table='' work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ROBUSTA_SHARED_DIR=${ROBUSTA_SHARED_DIR:-$(dirname "$ROOT")/shared}
# What the caller names is named from where the caller stands.
[ -z "${ROBUSTA_BUILD:-}" ] || ROBUSTA_BUILD=$(realpath -m "$ROBUSTA_BUILD")
[ -z "${CLUSTER_SH:-}" ] || CLUSTER_SH=$(realpath -m "$CLUSTER_SH")

# --- what parts are written with ------------------------------------------------------------------------------------
#
# A part is a function of scripts/nightly/, `part_NAME() { # WHAT IT DOES`, that runs in a subshell of its own with set -e.
# `caffe` is the program, "$out" a file to keep output in. It ends with `result TEXT`, its cell of the table, or with
# `skip WHY`; a status other than 0 is a failure.

result() { printf 'result: %s\n' "$*"; }
skip() {
  printf 'SKIPPED: %s\n' "$*"
  exit 77
}

# measured COMMAND...: runs it, and keeps its output in "$out", too.
measured() { "$@" | tee "$out"; }

# told COMMAND...: the same with what it says on stderr, where Python's tests say how they ended.
told() { "$@" 2>&1 | tee "$out"; }

files_of_parts=("$ROOT"/scripts/nightly/{training,speed,packages,others,checks}.sh)
for file in "${files_of_parts[@]}"; do
  # shellcheck source=/dev/null
  . "$file"
done

# --- running them ---------------------------------------------------------------------------------------------------

# parts: each as its name and its description.
parts() { sed -n 's/^part_\([a-z_]*\)() { # \(.*\)/\1 \2/p' "${files_of_parts[@]}"; }

usage() {
  sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$script"
  echo
  parts | while read -r name what; do printf '  %-12s %s\n' "$name" "$what"; done
}

processor() { sed -n 's/^model name[^:]*: //p;T;q' /proc/cpuinfo | grep . || uname -m; }

# commit: what was measured; + for changes that are not committed.
commit() {
  local name
  name=$(git rev-parse --short HEAD 2> /dev/null) || { echo unknown && return; }
  [ -z "$(git status --porcelain --untracked-files=no)" ] || name+=+
  echo "$name"
}

# cells TEXT...: a row of a table.
cells() {
  printf '|'
  printf ' %s |' "${@//|/\\|}"
  echo
}

programs() {
  if [ -z "${ROBUSTA_BUILD:-}" ]; then
    phase "build in build/"
    [ -f build/CMakeCache.txt ] || configure build -DCMAKE_BUILD_TYPE=Release -DROBUSTA_TESTS=OFF -DROBUSTA_UNITY=ON
    build build
  fi
  export ROBUSTA_BUILD=${ROBUSTA_BUILD:-$ROOT/build}
  caffe=$(tool caffe)
}

failed=()
run_part() {
  local name=$1 status start outcome
  phase "$name"
  start=$SECONDS out=$work/out
  set +e # else its failure would end this script
  (
    set -e
    "part_$name"
  ) 2>&1 | tee "$work/log"
  status=${PIPESTATUS[0]}
  set -e
  outcome=$(sed -n 's/^result: //p' "$work/log" | tail -n 1)
  case $status in
    0) ;;
    77) outcome="skipped: $(sed -n 's/^SKIPPED: //p' "$work/log" | tail -n 1)" ;;
    *) outcome="FAILED${outcome:+: $outcome}" failed+=("$name") ;;
  esac
  end_phase
  cells "$(date +%F)" "$cpu" "$commit" "$name" "$outcome" $((SECONDS - start)) >> "$table"
}

chosen=() known=" $(parts | cut -d' ' -f1 | tr '\n' ' ')"
while [ $# -gt 0 ]; do
  case $1 in
    -h | --help) usage && exit 0 ;;
    --table)
      [ $# -gt 1 ] || fail "--table wants a file"
      table=$(realpath -m "$2") && shift
      ;;
    -*) fail "unknown option $1; see scripts/nightly.sh --help" ;;
    *)
      [[ $known == *" $1 "* ]] || fail "unknown part $1 (known:${known% })"
      chosen+=("$1")
      ;;
  esac
  shift
done
[ ${#chosen[@]} -gt 0 ] || read -r -a chosen <<< "$known"
cd "$ROOT"

shown=
[ -n "$table" ] || table=$work/table shown=yes
: >> "$table" || fail "cannot write the table into $table"
cpu=$(processor) commit=$(commit)
if ! grep -q '^| date |' "$table"; then
  cells date processor commit part result seconds >> "$table"
  cells --- --- --- --- --- --- >> "$table"
fi
[[ ${chosen[*]} =~ ^((onednn|asan|tsan|fuzz)\ ?)+$ ]] || programs
for part in "${chosen[@]}"; do run_part "$part"; done

[ -z "$shown" ] || { echo && cat "$table"; }
[ ${#failed[@]} -eq 0 ] || fail "failed: ${failed[*]}"
