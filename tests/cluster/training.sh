# Sourced after lib.sh by the tests that train LeNet on several hosts.
# shellcheck shell=bash
#
#   make_training          data and net.prototxt in $WORK, the programs in PATH
#   solver FIELD...        writes solver.prototxt: these fields besides the usual ones
#   start NAME COMMAND...  starts a job on the first host; its output goes to NAME.log
#   await_iteration N      waits until the job shows iteration N
#   launcher               the pid of the job's COMMAND
#   begin_clock            starts the clock
#   ranks_end              waits until no rank is left on any host; prints the seconds on the clock
#   finish_job             waits for the job; CODE is its exit code, TOOK the seconds on the clock
#   near WHAT KIND A B TOLERANCE   checks what compare.py compares
JOB=0 JOB_LOG=/dev/null CODE=0 TOOK=0 CLOCK=0
# Seconds after which something that should happen never will, on a busy machine too.
PATIENCE=60

make_training() {
  [ -x "${ROBUSTA_TOOLS_DIR:-}/caffe" ] || skip "ROBUSTA_TOOLS_DIR names no folder with caffe"
  # Of the build, by CMake: programs load MPI when a launcher has started them, and their own list of libraries lacks it.
  [ "${ROBUSTA_HAS_MPI:-ON}" != OFF ] || skip "this build has no MPI"
  export PATH=$ROBUSTA_TOOLS_DIR:$ROOT/scripts:$PATH OMP_NUM_THREADS=1 TMPDIR=$WORK XDG_CACHE_HOME=$WORK
  cd "$WORK" || exit
  make_digits digits --train=600 --test=100 > /dev/null || exit
  make_database train train
  make_database t10k test
  sed -e 's|data/digits/||; s|batch_size: 64|batch_size: 24|' "$ROOT/models/lenet/train_val.prototxt" > net.prototxt
}

# make_database SET NAME
make_database() {
  convert_mnist_data "digits/$1-images-idx3-ubyte" "digits/$1-labels-idx1-ubyte" "$2_lmdb" --backend=lmdb \
    > convert.log 2>&1 && return
  cat convert.log
  exit 1
}

solver() {
  printf '%s\n' 'net: "net.prototxt"' 'base_lr: 0.01' 'lr_policy: "fixed"' 'momentum: 0.9' 'weight_decay: 0.0005' \
    'test_iter: 1' 'test_interval: 1000000' 'test_initialization: false' 'random_seed: 1' "$@" > solver.prototxt
}

start() {
  JOB_LOG=$1.log
  shift
  on_first "$@" > "$JOB_LOG" 2>&1 &
  JOB=$!
}

launcher() { pgrep -P "$JOB"; }

await_text() {
  local until=$((SECONDS + PATIENCE))
  until grep -qs -e "$1" "$JOB_LOG"; do
    if ! kill -0 "$JOB" 2> /dev/null || [ $SECONDS -gt $until ]; then
      check "the job shows '$1'" "$(tail -n 20 "$JOB_LOG")" "$1"
      return 1
    fi
    sleep 0.1
  done
}
await_iteration() { await_text "Iteration $1 ("; }

begin_clock() { CLOCK=$(date +%s.%N); }
seconds() { awk -v a="$CLOCK" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }'; }
# at_most A B: numbers with a point.
at_most() { awk -v a="$1" -v b="$2" 'BEGIN { exit !(a <= b) }'; }

finish_job() {
  wait "$JOB"
  CODE=$?
  TOOK=$(seconds)
}

ranks_end() {
  local until=$((SECONDS + PATIENCE))
  while [ -n "$("$CLUSTER/cluster.sh" ranks 2> /dev/null)" ]; do
    [ $SECONDS -le $until ] || break
    sleep 0.2
  done
  seconds
}

near() {
  local what=$1 told
  shift
  told=$(python3 "$ROOT/tests/support/compare.py" "$@" 2>&1)
  check "$what: $told" $? 0
}
