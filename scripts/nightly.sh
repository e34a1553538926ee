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

# --- parts: one function each, its description beside its name ------------------------------------------------------
#
# A part runs in a subshell of its own with set -e. `caffe` is the program, "$out" a file to keep output in. It ends with
# `result TEXT`, its cell of the table, or with `skip WHY`; a status other than 0 is a failure.

result() { printf 'result: %s\n' "$*"; }
skip() {
  printf 'SKIPPED: %s\n' "$*"
  exit 77
}

# measured COMMAND...: runs it, and keeps its output in "$out", too.
measured() { "$@" | tee "$out"; }

# told COMMAND...: the same with what it says on stderr, where Python's tests say how they ended.
told() { "$@" 2>&1 | tee "$out"; }

part_accuracy() { # LeNet on real digits, five seeds, after 1,000 and 4,000 iterations
  local digits=$ROBUSTA_SHARED_DIR/data/mnist-t10k
  [ -f "$digits/t10k-images-idx3-ubyte.gz" ] || skip "there are no digits in $digits"
  measured scripts/accuracy_lenet.py "$digits" --caffe "$caffe"
  result "$(sed -n 's/^mean after \([0-9]*\) iterations: /after \1 iterations /p' "$out" | paste -sd, | sed 's/,/, /g')"
}

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

part_crowded() { # 16 ranks on two hosts that share the processors of this one, for 10 minutes
  CLUSTER_SH=${CLUSTER_SH:-$ROBUSTA_SHARED_DIR/cluster/cluster.sh}
  measured env ROBUSTA_CROWDED_SECONDS=600 ROBUSTA_CLUSTER_SH="$CLUSTER_SH" ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" \
    bash tests/cluster/crowded.sh
  result "$(tail -n 1 "$out")"
}

part_elastic() { # 50 faults in a row with each of two nets, while ranks come and go (-elastic)
  local status=0 net texts=()
  CLUSTER_SH=${CLUSTER_SH:-$ROBUSTA_SHARED_DIR/cluster/cluster.sh}
  for net in lenet cifar10_quick; do
    measured env ELASTIC_FAULTS="${ROBUSTA_ELASTIC_FAULTS:-50}" ELASTIC_NET=$net ROBUSTA_CLUSTER_SH="$CLUSTER_SH" \
      ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" bash tests/cluster/elastic_faults.sh || status=$?
    [ $status -ne 77 ] || skip "$(tail -n 1 "$out")"
    texts+=("$(grep "faults with $net" "$out")")
  done
  result "${texts[0]}; ${texts[1]}"
  return $status
}

part_kills() { # 100 kills at random moments in snapshots of each format
  told env ROBUSTA_KILLS=100 ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" python3 tests/scripts/killed_snapshots_test.py
  result "$(grep ' kills, ' "$out" | paste -sd';' | sed 's/;/; /g')"
}

part_large() { # a model of more than 2 GiB: saved, restored, tested
  measured scripts/check_large_model.py --caffe "$caffe"
  result "$(tail -n 1 "$out")"
}

part_soak() { # a chain of jobs with a fault each minute, for ROBUSTA_SOAK_MINUTES (120), beside an undisturbed training
  local status=0 hosts=()
  CLUSTER_SH=${CLUSTER_SH:-$ROBUSTA_SHARED_DIR/cluster/cluster.sh}
  # As tests/cluster/ does: without hosts, or the right to make some, all ranks run on this one.
  if [ -x "$CLUSTER_SH" ] && [ "$(id -u)" -eq 0 ] && unshare --net --uts --mount true 2> /dev/null; then
    hosts=(--cluster "$CLUSTER_SH")
  fi
  mkdir -p "$ROOT/build-soak" # logs of faults that were named wrongly stay there
  measured scripts/soak.py --caffe "$caffe" --minutes "${ROBUSTA_SOAK_MINUTES:-120}" --keep "$ROOT/build-soak" \
    "${hosts[@]}" || status=$?
  result "$(tail -n 1 "$out")"
  return $status
}

part_deb() { # the Debian package in a fresh Debian, with what it depends on
  measured env ROBUSTA_CHROOT=yes ROBUSTA_BUILD_DIR="$ROBUSTA_BUILD" bash tests/install/deb_test.sh
  result "$(tail -n 1 "$out")"
}

part_container() { # what the container file does, in a fresh Debian: the image's user, signals, ssh between ranks
  measured env ROBUSTA_CHROOT=yes ROBUSTA_BUILD_DIR="$ROBUSTA_BUILD" bash tests/install/container_test.sh
  result "$(tail -n 1 "$out")"
}

part_wheel() { # wheels for two Pythons train LeNet, in environments and in a bare Debian
  local status=0
  measured scripts/check_wheel.sh || status=$?
  [ "$status" -ne 77 ] || skip "$(sed -n 's/^SKIPPED: //p' "$out")"
  result "$(tail -n 1 "$out")"
  return $status
}

part_gpu_visit() { # the bundle that is carried to a GPU, its size, and the visits with it on a fake one
  local visit=$work/visit name
  command -v xz > /dev/null || skip "xz is not installed"
  measured scripts/gpu_visit/prepare.sh "$visit"
  local size
  size=$(tail -n 1 "$out")
  for name in A B C D E; do
    TMPDIR=$work OUT=$work/gpu measured sh "$visit/start.sh" "$name" --rehearse --seconds 3600
    cp "$work/gpu/visit.tar.gz" "$visit"
  done
  result "$size; all visits rehearsed"
}

part_zoo() { # nets of the zoo learn a few samples by heart, and published nets whole
  local status=0 small
  measured scripts/learn_zoo.py --caffe "$caffe" || status=$?
  small=$(tail -n 1 "$out")
  measured scripts/learn_wholes.py --tools "$(dirname "$caffe")" || status=$?
  result "$small; $(tail -n 1 "$out")"
  return $status
}

part_oracle() { # trainings go on in the real Caffe where ours stop, and the other way round
  local status=0
  measured scripts/check_oracle.py --tools "$(dirname "$caffe")" || status=$?
  [ "$status" -ne 77 ] || skip "$(sed -n 's/^SKIPPED: //p' "$out")"
  result "$(tail -n 1 "$out")"
  return $status
}

part_readers() { # other programs that read caffemodels compute what we compute; the rules of deploy are theirs
  local status=0 nets ruled
  measured scripts/check_readers.py --tools "$(dirname "$caffe")" || status=$?
  [ "$status" -ne 77 ] || skip "$(sed -n 's/^SKIPPED: //p' "$out")"
  nets=$(tail -n 1 "$out")
  measured scripts/check_readers.py --rules --tools "$(dirname "$caffe")" || status=$?
  ruled=$(tail -n 1 "$out")
  local recorded="no recordings in $ROBUSTA_SHARED_DIR/golden"
  if [ -d "$ROBUSTA_SHARED_DIR/golden" ]; then
    measured scripts/check_readers.py --recordings "$ROBUSTA_SHARED_DIR/golden" --readers opencv,mnn,openvino,ncnn,tpu-mlir \
      --tools "$(dirname "$caffe")" || status=$?
    recorded=$(tail -n 1 "$out")
  fi
  result "nets: $nets; rules: $ruled; recordings: $recorded"
  return $status
}

part_onnx() { # export and import of ONNX beside onnxruntime, and of models as PyTorch exports them
  local status=0 name python test outcomes=
  for test in export_onnx import_operators_onnx import_onnx; do
    name=onnx
    [ "$test" != import_onnx ] || name=torch # gigabytes, which the others do without
    if ! python=$(PYTHONPATH=scripts python3 -m robusta_readers.environments "$name" 2>&1); then
      echo "-- $test is left out: $python"
      continue
    fi
    echo "-- $test"
    told env ROBUSTA_ONNX_PYTHON="$python" ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" PYTHONPATH=scripts \
      "$python" "tests/scripts/${test}_test.py" || status=$?
    outcomes+="${outcomes:+; }$test: $(sed -n 's/^Ran \([0-9]* tests\{0,1\}\) in .*/\1/p' "$out")"
    outcomes+=", $(grep -E '^(OK|FAILED)( |$)' "$out" || echo "no outcome")"
  done
  [ -n "$outcomes" ] || skip "neither onnxruntime nor PyTorch can be had here"
  result "$outcomes"
  return $status
}

part_launchers() { # ranks that PyTorch's torchrun starts, and Slurm by PMIx
  local status=0 python torchrun
  if python=$(PYTHONPATH=scripts python3 -m robusta_readers.environments torch 2>&1); then
    told env PATH="$(dirname "$python"):$PATH" ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" python3 \
      tests/scripts/torchrun_test.py || status=$?
    torchrun="$(sed -n 's/^Ran \([0-9]* tests\) in .*/\1/p' "$out"), $(grep -E '^(OK|FAILED)( |$)' "$out" || echo "no outcome")"
  else
    torchrun="left out: $python"
  fi
  told env ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" bash tests/cluster/slurm_test.sh || [ $? -eq 77 ] || status=1
  result "torchrun: $torchrun; Slurm: $(grep -E '^[0-9]+ checks,|^SKIPPED' "$out" || echo "no outcome")"
  return $status
}

part_fuzz() { # every reader on what libFuzzer makes of tests/fuzz/corpus, 10 minutes for each
  command -v clang++ > /dev/null || skip "clang++ is not installed"
  local folder=$ROOT/build-fuzz program name target targets found seconds fuzzes total=0 idle=0
  local crashes=$folder/crashes
  configure "$folder" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DROBUSTA_FUZZERS=ON -DROBUSTA_TESTS=ON \
    -DROBUSTA_UNITY=ON -DROBUSTA_CUDA=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1"
  build "$folder" fuzzers
  targets=("$ROOT"/tests/fuzz/corpus/*/)
  seconds=$((${ROBUSTA_FUZZ_MINUTES:-$((10 * ${#targets[@]}))} * 60 / ${#targets[@]}))
  [ "$seconds" -gt 0 ] || fail "ROBUSTA_FUZZ_MINUTES is ${ROBUSTA_FUZZ_MINUTES}; give at least 1"
  rm -rf "$crashes"
  for target in "${targets[@]}"; do
    name=$(basename "$target")
    program=$folder/tests/fuzz_$name fuzzes=yes
    if [ "$name" = hdf5 ] && [ ! -e "$program" ]; then
      echo "-- $name: passed over, this build has no HDF5"
      continue
    fi
    mkdir -p "$crashes/$name" "$folder/grown/$name"
    echo "-- $name, $seconds s"
    if [ "$name" = rank_file ]; then
      tests/fuzz/rank_file_fuzz.py --seconds "$seconds" --seed "$RANDOM" --keep "$crashes/$name" || fuzzes=
    else
      fuzz "$program" "$seconds" "$crashes/$name" "$folder/grown/$name" "$target" || true
      # At its end it says DONE, at a finding "==PID== ERROR: ...".
      grep -aq '^#.*DONE\|^==[0-9]*== *ERROR: \|deadly signal' "$out" || fuzzes=
    fi
    found=$(find "$crashes/$name" -type f | wc -l)
    if [ -z "$fuzzes" ] && { [ "$name" != rank_file ] || [ "$found" -eq 0 ]; }; then
      echo "$name did not fuzz"
      idle=$((idle + 1))
    fi
    [ "$found" -eq 0 ] || echo "$name: $found findings in $crashes/$name"
    # libhdf5 does not survive every byte (docs/security.md): its ends are shown, and are not ours.
    [ "$name" = hdf5 ] || total=$((total + found))
  done
  local lacking=
  [ "$idle" -eq 0 ] || lacking=", $idle did not fuzz"
  result "$total findings by ${#targets[@]} targets in $seconds s each$lacking"
  [ $((total + idle)) -eq 0 ]
}

part_onednn() { # all tests with oneDNN 3.2, which PyPI has, instead of Debian's 2.6
  local folder=$ROOT/build-onednn3 status=0
  measured scripts/get_onednn.sh || status=$?
  [ "$status" -ne 77 ] || skip "oneDNN 3.2 cannot be had here"
  [ "$status" -eq 0 ] || return $status
  configure "$folder" -DROBUSTA_ONEDNN="$ROOT/build-onednn" -DROBUSTA_TESTS=ON -DROBUSTA_UNITY=ON -DROBUSTA_WERROR=ON \
    -DROBUSTA_CUDA=OFF
  build "$folder"
  run_tests "$folder"
  result "$TESTS_PASSED passed, $TESTS_FAILED failed, $TESTS_SKIPPED skipped"
  report_tests
}

part_asan() { # the tests that CI leaves out, with AddressSanitizer and UndefinedBehaviorSanitizer
  left_out_tests asan
}

part_python_asan() { # the Python module's tests, with AddressSanitizer and UndefinedBehaviorSanitizer
  # shellcheck disable=SC1091
  . scripts/sanitizers.sh
  configure_sanitized asan "${checks_left_out[asan]}" -DROBUSTA_PYTHON=ON
  build build-asan robusta_python caffe_python_proto
  local runtime
  # An interpreter without it loads it first, and with it where exceptions come from, which it looks for at once.
  runtime=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libstdc++.so)
  # Python gives much of its memory back to nobody: leaks are the business of tests/python/test_kept.py. Programs that
  # tests start have an interpreter of their own, which a module with sanitizers does not fit into. What is freed is kept
  # from use for a while, in less memory than those tests look for.
  LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=32:$ASAN_OPTIONS ROBUSTA_BUILD_DIR=$ROOT/build-asan PYTHONMALLOC=malloc \
    measured tests/python/run.py -rf
  result "$(tail -n 1 "$out")"
}

part_tsan() { # the tests that CI leaves out, with ThreadSanitizer
  OMP_NUM_THREADS=1 left_out_tests tsan # as in .ci/run
}

# --- what parts share -----------------------------------------------------------------------------------------------

# hosts NUMBER: those that are up stay; where none are, so many until the part ends.
hosts() {
  export CLUSTER_SH=${CLUSTER_SH:-$ROBUSTA_SHARED_DIR/cluster/cluster.sh}
  [ -x "$CLUSTER_SH" ] || skip "there is no script that makes hosts: $CLUSTER_SH"
  ! "$CLUSTER_SH" exec node1 true > /dev/null 2>&1 || return 0
  trap '"$CLUSTER_SH" down > /dev/null 2>&1' EXIT
  "$CLUSTER_SH" up "$1" > "$out" 2>&1 || skip "no hosts: $(tail -n 1 "$out")"
}

# fuzz PROGRAM SECONDS CRASHES GROWN CORPUS: from the inputs of both folders on; GROWN gets those that reach new code,
# CRASHES those that end the program, as small as 20 s can make them.
fuzz() {
  local limits=(-rss_limit_mb=1024 -timeout=5 -max_len=1048576) crash
  # Ends after the first finding: what it hides is found when it is mended.
  OMP_NUM_THREADS=1 "$1" "${limits[@]}" -max_total_time="$2" -artifact_prefix="$3/" -print_final_stats=1 "$4" "$5" \
    > "$out" 2>&1 || tail -n 40 "$out"
  grep -a '^stat::number_of_executed_units\|^#.*DONE' "$out" || true
  for crash in "$3"/crash-* "$3"/timeout-*; do
    [ -f "$crash" ] || continue
    OMP_NUM_THREADS=1 "$1" "${limits[@]}" -minimize_crash=1 -max_total_time=20 -exact_artifact_path="$crash.small" \
      "$crash" > /dev/null 2>&1 || true
    [ ! -s "$crash.small" ] || mv "$crash.small" "$crash"
  done
}

left_out_tests() {
  local folders
  # shellcheck disable=SC1091
  . scripts/sanitizers.sh
  mapfile -t folders < <(folders_with_tests)
  build_sanitized "$1" "" "${folders[@]}"
  build "build-$1" golden_test
  local these=''
  # Where CI leaves checks out, too, every test is a new one with them.
  [ -n "${checks_left_out[$1]}" ] || these=$(tests_left_out "$1")
  ROBUSTA_TESTS_ONLY=$these run_tests "build-$1" --timeout 3600 ${these:+-R "^($(joined '|' "${folders[@]}"))\.|^golden$"}
  result "$TESTS_PASSED passed, $TESTS_FAILED failed, $TESTS_SKIPPED skipped"
  report_tests
}

# --- running them ---------------------------------------------------------------------------------------------------

# parts: each as its name and its description.
parts() { sed -n 's/^part_\([a-z_]*\)() { # \(.*\)/\1 \2/p' "$script"; }

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
