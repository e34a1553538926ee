#!/usr/bin/env bash
# Faults in a row, drawn from a seed, while 8 ranks on 4 hosts train, and 2 more now and then: training never stands
# still for longer than it may, and the accuracy in the end is that of an undisturbed training of as many iterations.
#
#   ELASTIC_FAULTS   how many (50)
#   ELASTIC_NET      lenet or cifar10_quick (lenet)
#   ELASTIC_SEED     of the faults (1)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
. "$(dirname "$0")/elastic.sh"
FAULTS=${ELASTIC_FAULTS:-50} NET=${ELASTIC_NET:-lenet}
# cifar10_quick begins with weights for pixels from 0 to 255. Before LEAST iterations rounding alone decides on a
# percent.
SCALE=0.00390625 RATE=0.01 LEAST=${ELASTIC_LEAST:-2000}
[ "$NET" != cifar10_quick ] || SCALE=1 RATE=0.001
RANDOM=${ELASTIC_SEED:-1}
use_cluster rby 86 5
make_training
make_digits more --train=2000 --test=1000 > /dev/null
for set in train t10k; do
  rm -rf "${set}_lmdb"
  convert_mnist_data "more/$set-images-idx3-ubyte" "more/$set-labels-idx1-ubyte" "${set}_lmdb" --backend=lmdb \
    > /dev/null 2>&1
done
digits_layer() {
  printf '%s\n' "layer { name: \"data\" type: \"Data\" top: \"data\" top: \"label\" include { phase: $1 }" \
    "  transform_param { scale: $SCALE }" "  data_param { source: \"$2\" batch_size: $3 backend: LMDB } }"
}
{
  echo "name: \"$NET\""
  digits_layer TRAIN train_lmdb 40
  digits_layer TEST t10k_lmdb 100
  # The net behind its own data layers.
  awk '/^layer \{/ { depth = 1; text = ""; } depth { text = text $0 "\n" } /^}/ && depth { depth = 0;
    if (text !~ /type: "Data"/) printf "%s", text }' "$ROOT/models/$NET/train_val.prototxt"
} > net.prototxt
vc() { "$CLUSTER/cluster.sh" "$@" > /dev/null 2>&1; }

TIMEOUT=5 LIMIT=$((5 + 10)) WORLD=8 FIRST=10.86.0.1 PEERS=10.86.0.2,10.86.0.3,10.86.0.4 FLAP_SECONDS=0
# The fields of solver() with a test of 1000 digits.
train_solver() {
  solver "$@"
  sed -i -e "s/^base_lr: .*/base_lr: $RATE/" -e 's/^test_iter: 1$/test_iter: 10/' \
    -e 's/^test_interval: 1000000$/test_interval: 200/' solver.prototxt
}
train_solver 'max_iter: 100000000' 'display: 1' 'snapshot: 300' 'snapshot_prefix: "faults"'

# keep_running HOST RANK: what an engine does: starts the process again when it ends otherwise than well.
keep_running() {
  until [ -e over ]; do
    "$CLUSTER/cluster.sh" exec "$1" env RANK="$2" WORLD_SIZE=$WORLD MASTER_ADDR=$FIRST MASTER_PORT=29500 \
      ROBUSTA_TOKEN=a-secret ROBUSTA_MEETING_SECONDS=120 ROBUSTA_PEERS=$PEERS ROBUSTA_FLAP_SECONDS=$FLAP_SECONDS \
      bash -c 'echo $$ > "$0"; exec "$@"' "pid.$2" \
      caffe train -solver solver.prototxt -deterministic "${OPTIONS[@]}" >> "$JOB_LOG" 2>&1
    code=$?
    [ $code -ne 0 ] || break
    echo "(rank $2 on $1 ended with $code)" >> "$JOB_LOG"
    sleep 1
  done
  echo $code > "codes.$2"
}
begin_job faults -batch global -ddl "-elastic 2:10 -timeout $TIMEOUT"
for rank in 7 6 5 4 3 2 1 0; do keep_running rby$((rank / 2 + 1)) $rank & done
await_line "the first generation" 'Elastic: generation 1 of 8 ranks'
# Faults begin before the first iteration ends.
generations() { grep -c 'Elastic: generation' "$JOB_LOG"; }
process_of() { cat "pid.$1"; }
newcomers=
for ((fault = 1; fault <= FAULTS; ++fault)); do
  before=$(generations)
  a=$((RANDOM % 8)) b=$(((a + 1 + RANDOM % 7) % 8)) host=rby$((a / 2 + 1))
  kind=$((RANDOM % 6))
  begin_clock
  case $kind in
    0) what="kill $a" && kill -9 "$(process_of $a)" ;;
    1) what="kill $a and $b" && kill -9 "$(process_of $a)" "$(process_of $b)" ;;
    2) what="stop $a" && kill -STOP "$(process_of $a)" ;;
    3) what="cut $host" && vc cut "$host" silent ;;
    4) what="kill both of $host" && kill -9 "$(process_of $((a / 2 * 2)))" "$(process_of $((a / 2 * 2 + 1)))" ;;
    5) # Two more, which are ended again by a later turn.
      if [ -n "$newcomers" ]; then
        what="kill the new ranks" newcomers=
        kill -9 "$(process_of 8)" "$(process_of 9)"
      else
        what="two new ranks" newcomers=1
        [ -e pid.8 ] || for rank in 8 9; do keep_running rby5 $rank & done
      fi ;;
  esac
  # Of ranks that stand by nobody misses one.
  until=$((SECONDS + LIMIT))
  while [ "$(generations)" -le "$before" ] && [ $SECONDS -lt $until ]; do sleep 0.1; done
  echo "fault $fault: $what: $(seconds) s"
  [ $kind -ne 3 ] || vc heal "$host"
  [ $kind -ne 2 ] || kill -CONT "$(process_of $a)" 2> /dev/null
  sleep $((RANDOM % 5)).$((RANDOM % 10))
  # Those that were lost come back, sooner or later; half of them have to be there for the next fault.
  until=$((SECONDS + PATIENCE))
  until grep 'Elastic: generation' "$JOB_LOG" | tail -n 1 | grep -Eq 'of (5|8|10) ranks' || [ $SECONDS -gt $until ]; do
    sleep 0.2
  done
done
# The longest time between two lines of training, by the clock of the log.
slowest=$(python3 - "$JOB_LOG" << 'END'
import datetime
import re
import sys

times = [datetime.datetime.strptime(found[1], "%H:%M:%S.%f") for line in open(sys.argv[1], errors="replace")
         if (found := re.match(r"I\d+ ([\d:.]+) .*\] Iteration ", line))]
print(max(((b - a).total_seconds() % 86400 for a, b in zip(sorted(times), sorted(times)[1:])), default=0))
END
)
check_true "the longest that training stood still is at most $LIMIT s: $slowest s" at_most "$slowest" $LIMIT
until=$((SECONDS + 1800))
last_iteration() { sed -n 's/.*\] Iteration \([0-9]*\) (.*/\1/p' "$JOB_LOG" | tail -n 1; }
until [ "$(last_iteration)" -ge "$LEAST" ] || [ $SECONDS -gt $until ]; do sleep 1; done
touch over
for rank in 0 1 2 3 4 5 6 7 8 9; do [ -e pid.$rank ] && kill -USR1 "$(process_of $rank)" 2> /dev/null; done
end_job
check "all end well" "$(codes)" 0
last=$(find . -name 'faults_iter_*.solverstate' | sed 's/.*_iter_\([0-9]*\).*/\1/' | sort -n | tail -n 1)
train_solver "max_iter: $last" 'display: 500' 'snapshot: 0' 'snapshot_after_train: true' 'snapshot_prefix: "calm"'
caffe train -deterministic -solver solver.prototxt > calm.log 2>&1
score() {
  caffe test -model net.prototxt -weights "$1" -iterations 10 2>&1 | sed -n 's/.*] accuracy = //p' | tail -n 1
}
disturbed=$(score "faults_iter_$last.caffemodel") calm=$(score "calm_iter_$last.caffemodel")
# In digits of 1000, of which either got so many right: three are 0.3 points.
check_true "accuracy after $last iterations: $disturbed, undisturbed $calm" \
  awk -v a="$disturbed" -v b="$calm" \
  'BEGIN { d = sprintf("%d", 1000 * a + 0.5) - sprintf("%d", 1000 * b + 0.5); exit !(a > 0.5 && d <= 3 && d >= -3) }'
grep -h 'Elastic' "$JOB_LOG" | tail -n 40
echo "$FAULTS faults with $NET: accuracy $disturbed, undisturbed $calm; the longest stop was $slowest s"
finish
