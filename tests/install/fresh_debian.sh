#!/usr/bin/env bash
# Installs a package into a fresh Debian, uses what it brought, and removes it again, all by apt.
#
#   fresh_debian.sh ROOT PACKAGE SUITE MIRROR
#
# ROOT is a folder to be made. deb_test.sh runs this in namespaces of its own: mounts and processes of the fresh system
# are nobody else's, and end with this script however it ends.
set -euo pipefail
root=$1 package=$2 suite=$3 mirror=$4
[ "$$" -eq 1 ] || { echo "run this by deb_test.sh: it wants a namespace of its own" >&2 && exit 1; }
export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
unset TMPDIR # a folder that the fresh system need not have
in_root() { chroot "$root" "$@"; }

# Without certificates apt could not go on from an https mirror.
include=()
[[ $mirror != https:* ]] || include=(--include=ca-certificates)
debootstrap --variant=minbase "${include[@]}" "$suite" "$root" "$mirror" > "$root.log" 2>&1 || {
  tail -n 20 "$root.log" "$root/debootstrap/debootstrap.log" >&2
  exit 1
}
# Nothing that is installed starts a service.
printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
mount -t proc proc "$root/proc"

apt=(apt-get -qq -o Acquire::Retries=3 -o Dpkg::Use-Pty=0)
cp "$package" "$root/tmp/robusta.deb"
in_root "${apt[@]}" update
in_root "${apt[@]}" install -y --no-install-recommends /tmp/robusta.deb
in_root caffe --version
in_root caffe device_query
# Without its data source the net gets synthetic input.
in_root caffe time -model /usr/share/robusta/models/lenet/train_val.prototxt -iterations 2

# The OpenMP build of OpenBLAS serves it, also beside another one that the system prefers.
in_root "${apt[@]}" install -y --no-install-recommends libopenblas0-pthread
in_root ldd /usr/bin/caffe | grep 'libopenblas.*/openblas-openmp/'
in_root "${apt[@]}" purge -y robusta
