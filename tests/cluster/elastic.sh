# Sourced after training.sh by the tests of ranks that come and go (-elastic).
# shellcheck shell=bash
#
#   begin_job NAME OPTION...  what all ranks of the job are started with besides -elastic; its log is NAME.log
#   start_rank HOST RANK      starts one, at first or again
#   pid_of RANK               the process that was started last as this rank
#   await_line WHAT PATTERN [COUNT]   waits until so many lines of the log (1) match
#   await_go_on WHAT PATTERN LIMIT    the same, within LIMIT seconds on the clock, which is told
#   end_job                   waits until all ranks have ended; the rest of them is killed after PATIENCE
#   codes                     the exit codes of all that were started and not killed, each once
#
# WORLD is the number of ranks at the start, FIRST the address where they look for each other.
declare -A RANK_PID=()
OPTIONS=() WORLD=0 FIRST='' ELASTIC=''

begin_job() {
  JOB_LOG=$1.log
  shift
  OPTIONS=("$@") RANK_PID=()
  rm -f codes.*
  : > "$JOB_LOG"
}

start_rank() {
  local host=$1 rank=$2
  {
    "$CLUSTER/cluster.sh" exec "$host" env RANK="$rank" WORLD_SIZE="$WORLD" MASTER_ADDR="$FIRST" MASTER_PORT=29500 \
      ROBUSTA_TOKEN=a-secret ROBUSTA_MEETING_SECONDS=60 ROBUSTA_PEERS="${PEERS:-}" \
      ROBUSTA_FLAP_SECONDS="${FLAP_SECONDS:-600}" \
      bash -c 'echo $$ > "$0"; exec "$@"' "pid.$rank" \
      caffe train -solver solver.prototxt -deterministic "${OPTIONS[@]}" >> "$JOB_LOG" 2>&1
    echo $? > "codes.$rank.$BASHPID"
  } &
  until [ -s "pid.$rank" ]; do sleep 0.05; done
  RANK_PID[$rank]=$(cat "pid.$rank")
  rm "pid.$rank"
}

pid_of() { echo "${RANK_PID[$1]}"; }

await_line() {
  local what=$1 pattern=$2 count=${3:-1} until=$((SECONDS + PATIENCE))
  until [ "$(grep -cs -e "$pattern" "$JOB_LOG")" -ge "$count" ]; do
    if [ $SECONDS -gt $until ]; then
      check "$what: the log says '$pattern'" "$(tail -n 30 "$JOB_LOG")" "$pattern"
      return 1
    fi
    sleep 0.1
  done
}

await_go_on() {
  local took
  await_line "$1" "$2" || return
  took=$(seconds)
  check_true "$1: the others go on within $3 s: $took s" at_most "$took" "$3"
}

end_job() {
  local until=$((SECONDS + PATIENCE))
  while [ -n "$(jobs -r)" ] && [ $SECONDS -le $until ]; do sleep 0.2; done
  [ -z "$(jobs -r)" ] || for host in $(seq "$(cat "$VC_RUN/n")"); do
    "$CLUSTER/cluster.sh" kill "$VC_PREFIX$host" > /dev/null
  done
  wait
}

codes() { cat codes.* | grep -v 137 | sort -u | paste -sd' '; }
