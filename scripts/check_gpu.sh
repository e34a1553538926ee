#!/usr/bin/env bash
# Checks this program on the first GPU of this machine: for the first day on a new kind of GPU, driver or toolkit. Runs
# in a source tree, where it builds what it needs in build-test/, and in an unpacked bundle made with --tests.
#
#   scripts/check_gpu.sh [STEP...]
#
# Steps; without any all up to racecheck:
#
#   query      what the program sees; without a GPU the script ends here
#   tests      kernels against the reference, each suite in a process of its own: one that met a fault of the GPU cannot
#              use it any more
#   golden     recordings of the real Caffe (ROBUSTA_SHARED_DIR, default ../shared), where they are
#   training   LeNet on synthetic digits: as on the CPU, repeated bit by bit, without CUDA graphs, with large model
#              support, on all GPUs, in 16 bits
#   nets       a few passes of each net of models/, in f32 and bf16
#   memcheck   the same kernels and a short training under NVIDIA's compute-sanitizer: accesses out of bounds,
#   racecheck  races in shared memory,
#   initcheck  reads of memory that was never written,
#   synccheck  barriers
#   sanitizer  (only when it is named) whether compute-sanitizer runs here at all: one suite under it
#
# The last line counts; the exit code is 0 when nothing failed. From the environment:
#
#   CHECK_GPU_LOGS     folder of the logs (default build/check_gpu)
#   CHECK_GPU_LIMIT    seconds after which a check is ended and has failed (default 900)
#   CHECK_GPU_RESUME   yes: suites, recordings and shards that passed before, by the marks beside their logs, count as
#                      passed (default no)
#   CHECK_GPU_JOBS     suites, recordings and shards that run at a time (default 1)
#   CHECK_GPU_TUNING   no: the step nets takes cuDNN's first choices (default yes)
#   CHECK_GPU_FILTER   tests that run under the sanitizer (default: all of layers_test but those of the host's kernels)
#   CHECK_GPU_SHARDS   processes that these are divided into (default 1)
set -uo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT" || exit 1

case ${1:-} in -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" && exit 0 ;; esac
steps=("$@")
[ $# -gt 0 ] || steps=(query tests golden training nets memcheck racecheck)
logs=${CHECK_GPU_LOGS:-build/check_gpu}
jobs=${CHECK_GPU_JOBS:-1} shards=${CHECK_GPU_SHARDS:-1}
only=${CHECK_GPU_FILTER:--Cudnn*:Golden*:Native*:Onednn*:Winograd*:Blocked*}
limit=(timeout -k 10 "${CHECK_GPU_LIMIT:-900}") # what hangs ends
mkdir -p "$logs"
tally=$logs/tally # a line for each check that has ended
: > "$tally"
count() { grep -c "^$1$" "$tally"; }

# check NAME COMMAND...: one check, with its output in a log. `why` is what a failed one shows of it.
why='error: |FAILED|Failure|ERROR SUMMARY|^========= (Invalid|Error|Race|Uninit)'
check() {
  local name=$1 log status=0 start=$SECONDS
  log=$(log_of "$name")
  shift
  rm -f "$log.passed"
  "$@" > "$log" 2>&1 || status=$?
  if [ $status -eq 0 ]; then
    echo passed | tee "$log.passed" >> "$tally"
    printf 'ok      %s (%d s)\n' "$name" $((SECONDS - start))
    return
  fi
  echo failed >> "$tally"
  # In one piece, for others may print meanwhile.
  printf '%s\n' "$(
    printf 'FAILED  %s (exit code %d, %d s): %s\n' "$name" $status $((SECONDS - start)) "$log"
    grep -aE "$why" "$log" | head -n 5 | cut -c1-200 | sed 's/^/        /'
  )"
}

log_of() { echo "$logs/$(tr -c '[:alnum:]\n' _ <<< "$1").log"; }

# beside NAME COMMAND...: a check that needs no other, $jobs of them at a time. The step that begins some awaits them.
beside() {
  if [ "${CHECK_GPU_RESUME:-no}" = yes ] && [ -f "$(log_of "$1").passed" ]; then
    echo passed >> "$tally"
    printf 'ok      %s (before)\n' "$1"
    return
  fi
  while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do wait -n; done
  # All with threads for all processors would stand in each other's way.
  OMP_NUM_THREADS=${OMP_NUM_THREADS:-$(($(nproc) / jobs > 0 ? $(nproc) / jobs : 1))} check "$@" &
  [ "$jobs" -gt 1 ] || wait
}

# --- where the programs are ---------------------------------------------------------------------------------------

programs=(device_test ops_test layers_test)
if [ -x bin/launch ]; then
  export ROBUSTA_BUILD=build
  tests=bin
  [ -x bin/layers_test ] || fail "this bundle has no tests: make it with scripts/make_bundle.sh --tests"
else
  export ROBUSTA_BUILD=build-test
  tests=build-test/tests
  phase "build in build-test/"
  configure build-test -DROBUSTA_TESTS=ON -DROBUSTA_UNITY=ON -DROBUSTA_CUDA=ON
  build build-test caffe make_digits convert_mnist_data golden_test "${programs[@]}"
fi
caffe=$(tool caffe)
export ROBUSTA_SHARED_DIR=${ROBUSTA_SHARED_DIR:-$(dirname "$ROOT")/shared}

# --- steps --------------------------------------------------------------------------------------------------------

suites() { "$tests/$1" --gtest_list_tests | sed -n 's/^\([^ ]*\.\)\( .*\)\{0,1\}$/\1/p'; }

kernels() {
  local program suite
  for program in "${programs[@]}"; do
    for suite in $(suites "$program"); do
      beside "${program%_test} ${suite%.}" "${limit[@]}" "$tests/$program" --gtest_brief=1 "--gtest_filter=$suite*"
    done
  done
  wait
}

recordings() {
  local folder=$ROBUSTA_SHARED_DIR/golden kind
  [ -d "$folder" ] || { echo "skipped: there are no recordings in $folder" && return; }
  for kind in $(find "$folder" -name '*__*.bin' -printf '%f\n' | sed 's/__.*//' | sort -u); do
    beside "golden $kind" "${limit[@]}" "$tests/golden_test" "${kind}__"
  done
  wait
}

# train NAME ITERATIONS FLAG...: LeNet, with the weights in NAME.caffemodel and the log in NAME.txt.
train() {
  local name=$1 iterations=$2 base=$logs/$1
  shift 2
  sed -e "s|^max_iter:.*|max_iter: $iterations|" -e 's|^display:.*|display: 1|' -e 's|^snapshot:.*|snapshot: 0|' \
    -e "s|^snapshot_prefix:.*|snapshot_prefix: \"$base\" snapshot_after_train: true random_seed: 1|" \
    -e "s|^test_interval:.*|test_interval: $iterations|" models/lenet/solver.prototxt > "$base.prototxt"
  "${limit[@]}" "$caffe" train -solver "$base.prototxt" -deterministic "$@" 2>&1 | tee "$base.txt" || return
  mv "${base}_iter_$iterations.caffemodel" "$base.caffemodel"
}

losses() { sed -n 's/.*Iteration \([0-9]*\).*, loss = \(.*\)/\1 \2/p' "$1"; }

# near A B MOST: both have the same displayed losses, to this relative difference.
near() {
  paste -d' ' <(losses "$logs/$1.txt") <(losses "$logs/$2.txt") | awk -v most="$3" '
    { difference = ($2 - $4) / $2; if (difference < 0) difference = -difference
      if (!(difference <= worst)) worst = difference
      if ($1 != $3 || NF != 4) broken = 1 }
    END { printf "losses of %d iterations, off by %g at most, %g allowed\n", NR, worst, most
          exit !(NR > 0 && !broken && worst <= most) }'
}

# learnt NAME: nine of ten test digits are right in the end.
learnt() {
  sed -n 's/.*accuracy = \([0-9.]*\).*/\1/p' "$logs/$1.txt" | tail -n 1 | awk '{ print; good = $1 > 0.9 }
    END { exit !good }'
}

as_on_the_cpu() { train cpu 20 && train gpu 20 -gpu 0 -tf32=false && near cpu gpu 1e-3; }
same_bits() { train "$1" 20 -gpu 0 -tf32=false "${@:2}" && cmp "$logs/gpu.caffemodel" "$logs/$1.caffemodel"; }
learns() { train "$1" 300 -gpu 0 "${@:2}" && learnt "$1"; }

on_all() { train all 20 -gpu all -batch global -tf32=false && near gpu all 1e-3; }

trainings() {
  check "digits" data/digits/create.sh
  check "training as on the CPU" as_on_the_cpu
  check "training repeated" same_bits repeated
  check "training without CUDA graphs" same_bits no_graphs -cuda_graphs=false
  check "training with large model support" same_bits lms -lms=0
  [ "$("$caffe" device_query | grep -c '^GPU [0-9]*: ')" -lt 2 ] || check "training on all GPUs" on_all
  check "learning with TF32" learns tf32
  check "learning in bf16" learns bf16 -precision bf16
  check "learning in fp16" learns fp16 -precision fp16
}

nets() {
  local model type tuning=()
  [ "${CHECK_GPU_TUNING:-yes}" = yes ] || tuning=(-autotune=false)
  for model in models/*/train_val.prototxt; do
    for type in f32 bf16; do
      local precision=()
      [ "$type" = f32 ] || precision=(-precision "$type")
      check "$(basename "$(dirname "$model")") in $type" "${limit[@]}" \
        "$caffe" time -model "$model" -batch 16 -iterations 3 -gpu 0 "${tuning[@]}" "${precision[@]}"
    done
  done
}

find_sanitizer() {
  local found
  for found in "$(command -v compute-sanitizer)" "${CUDA_HOME:-/usr/local/cuda}"/bin/compute-sanitizer \
    /usr/local/cuda*/compute-sanitizer/compute-sanitizer; do
    [ ! -x "$found" ] || { echo "$found" && return; }
  done
  return 1
}

# Sets $program to the one behind a bundle's launcher, whose shell need not be followed, and $libraries for it.
behind_launcher() {
  program=$1 libraries=${LD_LIBRARY_PATH:-}
  [ ! -x bin/launch ] || { read -r program && read -r libraries; } < <(ROBUSTA_SHOW_LIBRARIES=1 "$1")
}

# sanitizer_line TOOL: sets $line to what a program is put behind.
sanitizer_line() {
  local sanitizer
  if ! sanitizer=$(find_sanitizer); then
    echo "skipped: there is no compute-sanitizer; it comes with the CUDA toolkit, in PATH or CUDA_HOME"
    return 1
  fi
  line=("${limit[@]}" "$sanitizer" --tool "$1" --kernel-name kns=robusta --destroy-on-device-error kernel
    --error-exitcode 99)
  [ "$1" != memcheck ] || line+=(--report-api-errors no --padding 256)
}

only_one_suite() {
  local line program libraries
  sanitizer_line memcheck || return
  behind_launcher "$tests/layers_test"
  check "sanitizer" env "LD_LIBRARY_PATH=$libraries" "${line[@]}" "$program" --gtest_filter='AbsValTest.Gpu'
}

# Of our own kernels alone: NVIDIA's libraries have many, and are not ours to mend.
sanitized() {
  local tool=$1 line program libraries type shard
  sanitizer_line "$tool" || return
  behind_launcher "$tests/layers_test"
  for ((shard = 0; shard < shards; ++shard)); do
    beside "$tool layers$([ "$shards" -eq 1 ] || echo " $((shard + 1)) of $shards")" env "LD_LIBRARY_PATH=$libraries" \
      GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX=$shard "${line[@]}" "$program" --gtest_brief=1 "--gtest_filter=$only"
  done
  wait
  check "digits" data/digits/create.sh
  sed -e 's|^max_iter:.*|max_iter: 6|' -e 's|^snapshot:.*|snapshot: 0|' -e 's|^test_iter:.*|test_iter: 2|' \
    -e 's|^snapshot_prefix:.*|snapshot_after_train: false|' models/lenet/solver.prototxt > "$logs/brief.prototxt"
  behind_launcher "$caffe"
  for type in f32 bf16 fp16; do
    local precision=()
    [ "$type" = f32 ] || precision=(-precision "$type")
    check "$tool training in $type" env "LD_LIBRARY_PATH=$libraries" "${line[@]}" "$program" train \
      -solver "$logs/brief.prototxt" -gpu 0 "${precision[@]}"
  done
}

for step in "${steps[@]}"; do
  phase "$step"
  case $step in
    query)
      check "device_query" "$caffe" device_query -gpu 0
      cat "$(log_of device_query)"
      [ "$(count failed)" -eq 0 ] || fail "the program cannot use a GPU here: nothing else is tried"
      ;;
    tests) kernels ;;
    golden) recordings ;;
    training) trainings ;;
    nets) nets ;;
    sanitizer) only_one_suite ;;
    memcheck | racecheck | initcheck | synccheck) sanitized "$step" ;;
    *) fail "unknown step $step; see scripts/check_gpu.sh --help" ;;
  esac
done
end_phase
printf '\n%d passed, %d failed\n' "$(count passed)" "$(count failed)"
[ "$(count failed)" -eq 0 ]
