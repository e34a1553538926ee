# Sourced by the resume.* jobs: one link of a chain of jobs that trains until it is done.
# shellcheck shell=bash
#
#   train_on LOG RESUBMIT...: resumes from the newest whole snapshot; calls RESUBMIT when there is more to do.
#
# $SOLVER names the solver, $IMAGE may name a container to train in, $TIME may hold seconds or HH:MM:SS after which to
# stop, and $LEFT says how many further jobs may follow (10), so that a chain that gets nowhere ends.

# stopped_early LOG: the last training that began there was asked to stop, or its time was over. As with Caffe, the
# program logs "Optimization Done." then too.
stopped_early() {
  awk '/Starting Optimization/ { early = 0 } /Optimization stopped early/ { early = 1 } END { exit !early }' < "$1"
}

train_on() {
  local log=$1 pid code
  shift
  # Names of jobs are anybody's, and arithmetic of the shell runs commands that stand in brackets.
  case $log in -*) log=./$log ;; esac
  [[ ${LEFT:=10} =~ ^(0|-?[1-9][0-9]{0,5})$ ]] || { echo "LEFT is \"$LEFT\", not a number of further jobs" && return 1; }
  ddlrun ${IMAGE:+apptainer exec "$IMAGE"} caffe train -solver "$SOLVER" -snapshot auto ${TIME:+-max_walltime "$TIME"} > "$log" 2>&1 &
  pid=$!
  trap 'kill -USR1 "$pid" 2> /dev/null' USR1
  trap 'kill -TERM "$pid" 2> /dev/null; LEFT=0' TERM
  # A signal ends a wait early.
  while :; do
    wait "$pid"
    code=$?
    kill -0 "$pid" 2> /dev/null || break
  done
  if grep -q 'Optimization Done' "$log" && ! stopped_early "$log"; then
    echo "training is done"
  elif [ "$code" -ne 0 ] && [ "$code" -ne 8 ]; then
    # Only a failure of communication (8) is worth another try without a change: docs/errors.md.
    echo "training failed (exit code $code); see $log"
  elif [ "$LEFT" -le 0 ]; then
    echo "training is not done, and no job follows (LEFT=$LEFT)"
  else
    export LEFT=$((LEFT - 1))
    "$@" && echo "training goes on in another job; $LEFT more may follow"
  fi
  return "$code"
}
