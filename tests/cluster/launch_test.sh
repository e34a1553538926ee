#!/usr/bin/env bash
# ddlrun and scripts/impi/mpirun on 4 hosts: placement by rank file, bindings, requests to stop, and lost hosts.
. "$(dirname "$0")/lib.sh"
use_cluster rbl 91 4
export PATH=$ROOT/scripts/impi:$ROOT/scripts:$PATH TMPDIR=$WORK
cd "$WORK" || exit
fake_program ./caffe

# Rank x*Y*Z + y*Z + z: with 2 ranks on each of 4 hosts, host y has ranks y and y + 4.
on_first ddlrun -H rbl1,rbl2,rbl3,rbl4 -accelerators 2 ./caffe train > out 2> err
check "ddlrun starts 8 ranks" $? 0
check "ranks are where the rank file says" "$(sed 's/, cpus.*//' out | sort -V)" \
  "$(for r in 0 1 2 3 4 5 6 7; do echo "rank $r of 8 on rbl$((r % 4 + 1))"; done)"
if [ "$(nproc)" -gt 1 ]; then
  check "two ranks of a host have different cores" "$(sort -u out | sed -n 's/.*on rbl1, cpus \([^ ,]*\),.*/\1/p' | sort -u | wc -l)" 2
fi
check_true "the line is printed" grep -q '^+ .*mpirun .*--rankfile .* -n 8 .*DDL_OPTIONS=-mode p:2x4x1x1' err
on_first ddlrun -H rbl1,rbl9 ./caffe > out 2> err
check "an unknown host is refused" "$? $(grep -c 'cannot reach rbl9' err)" "8 1"
"$CLUSTER/cluster.sh" cut rbl3 > /dev/null
VC_CONNECT_TIMEOUT=1 on_first ddlrun -H rbl1,rbl3 ./caffe > out 2> err
check "a host that is cut off is refused" "$? $(grep -c 'cannot reach rbl3' err)" "8 1"
"$CLUSTER/cluster.sh" heal rbl3 > /dev/null

# LSF's job, of which only the environment is imitated.
mkdir -p project/build/tools && ln -s "$ROOT/scripts" project/scripts && cp caffe project/build/tools/
on_first env ROBUSTA="$WORK/project" LSB_JOBID=7 LSB_MCPU_HOSTS="rbl1 2 rbl2 2" bash "$ROOT/scripts/jobs/train.lsf" \
  > out 2> err
check "train.lsf" "$? $(grep -c '^rank.* of 4 on rbl[12],.* threads 8: train -solver solver.prototxt' out)" "0 4"

# The true chain of signals: ddlrun, mpirun, its daemons, ranks.
cat > waits << 'END'
#!/bin/bash
trap 'echo "rank $OMPI_COMM_WORLD_RANK stops"; exit 0' USR1
echo up
while :; do sleep 0.1; done
END
chmod +x waits
on_first ddlrun -H rbl1,rbl2 -accelerators 2 ./waits > out 2> err &
job=$!
until [ "$(grep -c up out)" -eq 4 ] || [ $SECONDS -gt 60 ]; do sleep 0.1; done
kill -TERM "$(pgrep -P "$job" || echo "$job")"
wait "$job"
check "SIGTERM to ddlrun stops all ranks in order" "$? $(grep -c stops out)" "0 4"

# Ranks that see the loss of a host by themselves, as the program does, and mpirun, which does not.
cat > watches << 'END'
#!/bin/bash
peer=$([ "$(uname -n)" = rbl3 ] && echo rbl1 || echo rbl3)
echo up
while :; do
  # No one listens there: a host that lives refuses at once.
  timeout 2 bash -c "exec 3<> /dev/tcp/$peer/9" 2> /dev/null
  if [ $? -eq 124 ]; then
    [ "$(uname -n)" = rbl3 ] || echo "8 $OMPI_COMM_WORLD_RANK rbl3 is silent" > "$ROBUSTA_EXIT_FILE"
    exit 8
  fi
  sleep 0.2
done
END
chmod +x watches
on_first ddlrun -H rbl1,rbl2,rbl3 ./watches > out 2> err &
job=$!
until [ "$(grep -c up out)" -eq 3 ] || [ $SECONDS -gt 90 ]; do sleep 0.1; done
sleep 1
check_true "the ranks run while their hosts do" kill -0 "$job"
"$CLUSTER/cluster.sh" cut rbl3 silent > /dev/null
begin=$SECONDS
wait "$job"
check "after the silent cut of a host ddlrun returns the ranks' code" \
  "$? $(grep -c 'exit code 8, by rank [01]: rbl3 is silent' err)" "8 1"
check_true "within 15 s: $((SECONDS - begin)) s" [ $((SECONDS - begin)) -le 15 ]
finish
