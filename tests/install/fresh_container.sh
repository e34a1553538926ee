#!/usr/bin/env bash
# The last stage of the container file in a fresh Debian, and what engines do with the image.
#
#   fresh_container.sh ROOT PACKAGE SUITE MIRROR
#
# ROOT is a folder to be made. container_test.sh runs this in namespaces of its own (fresh_root.sh).
set -euo pipefail
root=$1 package=$2 suite=$3 mirror=$4
project=$(cd "$(dirname "$0")/../.." && pwd)
. "$project/tests/install/fresh_root.sh"
lines=$(python3 "$project/tests/engines/containerfile.py" "$project/packaging/container/Containerfile" "$project" \
  "$package" "$root")
fresh_root "$root" "$suite" "$mirror"
mount -t tmpfs tmpfs "$root/dev/shm"
eval "$lines"
enter=$root.enter

[ "$("$enter" id -u)" = 1000 ]
[ "$("$enter" pwd)" = /data ]
"$enter" caffe --version
# Without its data source the net gets synthetic input.
cp "$root/usr/share/robusta/models/lenet/train_val.prototxt" "$root/data/net.prototxt"
printf '%s\n' 'net: "net.prototxt"' 'base_lr: 0.01' 'lr_policy: "fixed"' 'max_iter: 3' 'snapshot_prefix: "run"' \
  > "$root/data/plain.prototxt"
"$enter" caffe time -model net.prototxt -iterations 1
"$enter" sh -c 'echo written > file' # by the user, on the mounted path
cat > "$root/data/solver.prototxt" << 'END'
base_lr: 0.01 lr_policy: "fixed" max_iter: 100000000 display: 100 snapshot_prefix: "run" random_seed: 1
net_param { name: "toy"
  layer { name: "data" type: "DummyData" top: "x" top: "y" dummy_data_param { shape { dim: 8 dim: 20 } shape { dim: 8 } } }
  layer { name: "ip" type: "InnerProduct" bottom: "x" top: "ip" inner_product_param { num_output: 2 } }
  layer { name: "loss" type: "SoftmaxWithLoss" bottom: "ip" bottom: "y" top: "loss" } }
END
"$enter" caffe check -solver solver.prototxt

# The entry point hands SIGTERM on, and the exit code back.
"$enter" caffe train -solver solver.prototxt -snapshot auto -restart_code 138 > "$root/train.log" 2>&1 &
until grep -q 'Iteration 100,' "$root/train.log"; do sleep 0.2; done
kill -TERM $!
code=0 && wait $! || code=$?
[ "$code" -eq 138 ] || { cat "$root/train.log" && exit 1; }
snapshot=$(cd "$root/data" && echo run_iter_*.solverstate)

# A worker of an MPIJob, and its launcher: two pods' worth of ranks on one host, reached by ssh with the operator's keys,
# which belong to root.
mkdir -p "$root/home/robusta/.ssh"
ssh-keygen -q -t ecdsa -N '' -f "$root/home/robusta/.ssh/id_rsa"
cp "$root/home/robusta/.ssh/id_rsa.pub" "$root/home/robusta/.ssh/authorized_keys"
chmod 644 "$root"/home/robusta/.ssh/*
echo '127.0.0.1 localhost worker' > "$root/etc/hosts"
sed -i "s/max_iter: 100000000/max_iter: $(($(tr -dc '0-9' <<< "$snapshot") + 10))/" "$root/data/solver.prototxt"
export enter
# shellcheck disable=SC2016  # meant for the other shell
unshare --net --uts bash -ec '
  ip link set lo up
  hostname worker
  "$enter" /usr/sbin/sshd -De -f /etc/ssh/sshd_robusta.conf &
  until "$enter" ssh localhost true; do sleep 0.3; done
  [ "$("$enter" ssh worker id -u)" = 1000 ]
  "$enter" env OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_use_hwthreads_as_cpus=1 OMP_NUM_THREADS=1 \
    ddlrun -nobind -H worker -accelerators 2 -mpiarg "--mca btl_tcp_if_include lo --mca oob_tcp_if_include lo" \
    caffe train -solver solver.prototxt -accept_batch_change -snapshot auto > "$0/mpi.log" 2>&1 || { cat "$0/mpi.log"; exit 1; }
  kill %1
' "$root"
grep -q "resuming from $snapshot" "$root/mpi.log"
grep -q '2 ranks' "$root/mpi.log"
echo "in a bare Debian $suite: the image's steps, its user, check, SIGTERM to code 138, sshd, 2 ranks from $snapshot on"
