#!/usr/bin/env bash
# The manifests of scripts/jobs/kubernetes/ on hosts that stand for pods: what each container runs, with the variables that
# the engine gives it. SIGTERM, which ends a pod, is a snapshot and an exit code that starts the job again; and that goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/training.sh"
python3 -c 'import yaml' 2> /dev/null || skip "Python's yaml is not installed (Debian: python3-yaml)"
use_cluster rbe 88 4
make_training
PODS=$ROOT/tests/engines/pods.py

# name_hosts NAME...: the hosts are called so, and know each other by these names, of pods and of their Service.
name_hosts() {
  local host at=0 names=''
  for name in "$@"; do names+="10.88.0.$((++at)) $name $name.caffe-train $name.caffe-train.default.svc"$'\n'; done
  for host in $(seq $#); do
    on_host "rbe$host" hostname "${!host}"
    on_host "rbe$host" sh -c "printf '127.0.0.1 localhost\n$names' > /etc/hosts"
  done
}

# take_manifest NAME: PODS_OF_JOB are its pods, one on each host; MANIFEST is its file. Training begins anew.
take_manifest() {
  MANIFEST=$ROOT/scripts/jobs/kubernetes/$1.yaml
  mapfile -t PODS_OF_JOB < <(python3 "$PODS" "$MANIFEST" "$WORK" "$WORK/$1")
  name_hosts "${PODS_OF_JOB[@]}"
  # This machine has fewer processors than the manifests ask for.
  sed -i 's/OMP_NUM_THREADS=8/OMP_NUM_THREADS=1/; s/SECONDS=1800/SECONDS=60/' "$WORK/$1"/*
  rm -f train_iter_* codes.*
  solver 'max_iter: 1000000' 'display: 10' 'snapshot_prefix: "train"'
}

# start_pods NAME COUNT: the first COUNT of the pods; their output is JOB_LOG, the exit codes come to codes.HOST.
start_pods() {
  JOB_LOG=$1.log
  : > "$JOB_LOG"
  local host
  for host in $(seq "$2"); do
    {
      on_host "rbe$host" "$WORK/$1/${PODS_OF_JOB[host - 1]}"
      echo $? > "codes.$host"
    } >> "$JOB_LOG" 2>&1 &
    JOB=$!
  done
}
# end_in_time: waits for all that was started; what does not end is killed, with its host, and has the code 137.
end_in_time() {
  local until=$((SECONDS + PATIENCE)) host
  while [ -n "$(jobs -r)" ] && [ $SECONDS -le $until ]; do sleep 0.2; done
  [ -z "$(jobs -r)" ] || for host in 1 2 3 4; do "$CLUSTER/cluster.sh" kill "rbe$host" > /dev/null; done
  wait
}
codes() { cat codes.* | sort -u | paste -sd' '; }

# signal_pod HOST SIGNAL PATTERN: to the processes whose words begin so. SIGTERM is handed on by the entry point.
signal_pod() {
  local pid
  for pid in $(ip netns pids "rbe$1"); do
    if grep -qaP "$3" "/proc/$pid/cmdline" 2> /dev/null; then kill "-$2" "$pid"; fi
  done
}

# trains_on NAME COUNT HOST PATTERN: through SIGTERM to this process on HOST to the end.
trains_on() {
  local stopped
  start_pods "$1" "$2"
  await_iteration 10 && signal_pod "$3" TERM "$4"
  end_in_time
  check "$1: all end with the code that asks for a new start" "$(codes)" 138
  check "$1: which the engine gives" "$(python3 "$PODS" fate "$MANIFEST" 138)" again
  stopped=$(ls train_iter_*.solverstate | tr -dc '0-9')
  solver "max_iter: $((stopped + 20))" 'display: 10' 'snapshot_prefix: "train"'
  cp "$JOB_LOG" stopped.log
  start_pods "$1" "$2"
  end_in_time
  check "$1: the same commands go on from the snapshot" \
    "$(codes) $(grep -c "resuming from train_iter_$stopped.solverstate" "$JOB_LOG") $(ls train_iter_*.solverstate | wc -l)" "0 1 2"
  [ "$(codes)" = 0 ] || tail -n 30 "$JOB_LOG"
}

take_manifest job
for host in 1 2 3 4; do on_host "rbe$host" "$WORK/job/${PODS_OF_JOB[host - 1]}.init" > "init.$host" 2>&1 & done
end_in_time
check "job: the check of each pod" "$(grep -l '^Training can start' init.? | wc -l)" 4
trains_on job 4 3 '^caffe\x00train'
check "job: a grid of 4 hosts" "$(grep -c '4 ranks, 1x4: 1 rank on each of 4 hosts' job.log)" 1

# Rank 0's name is not known before its pod has an address.
take_manifest pytorchjob
on_host rbe3 sh -c "cp /etc/hosts '$WORK/hosts' && grep -v master '$WORK/hosts' > /etc/hosts"
{ sleep 4 && on_host rbe3 sh -c "cat '$WORK/hosts' > /etc/hosts"; } &
trains_on pytorchjob 4 1 '^caffe\x00train'
check "pytorchjob: a worker waits for the master's name" "$(grep -c "Waiting for rank 0's address" stopped.log)" 1
check "pytorchjob: the check comes first" "$(grep -c '^Training can start' pytorchjob.log)" 1

# In place of ssh: the host of a pod's name.
cat > pod_rsh << END
#!/bin/bash
while [[ \$1 == -* ]]; do case \$1 in -o) shift 2 ;; *) shift ;; esac; done
at=\$(awk -v name="\$1" '{ for (i = 2; i <= NF; ++i) if (\$i == name) print \$1 }' /etc/hosts)
shift
exec "$CLUSTER/vc_rsh" "rbe\${at##*.}" "\$@"
END
chmod +x pod_rsh
export OMPI_MCA_plm_rsh_agent=$WORK/pod_rsh
take_manifest mpijob
on_host rbe1 "$WORK/mpijob/caffe-train-launcher.init" > init.1 2>&1
check "mpijob: the launcher's check" "$? $(grep -c '^Training can start' init.1)" "0 1"
trains_on mpijob 1 1 'ddlrun\x00-nobind'
check "mpijob: two ranks on each worker" "$(grep -c '4 ranks, 2x2x1x1: 2 ranks on each of 2 hosts' mpijob.log)" 1
check "mpijob: ddlrun says by what" "$(grep -c 'ended with exit code 138, by rank 0: training was stopped' stopped.log)" 1
take_manifest mpijob
start_pods mpijob 1
await_iteration 10 && signal_pod 2 USR1 '^caffe\x00train'
end_in_time
check "mpijob: what the workers' hook sends stops all ranks" "$(codes)" 138
finish
