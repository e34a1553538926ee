#!/usr/bin/env bash
# Installs a package into a fresh Debian, uses what it brought, and removes it again, all by apt.
#
#   fresh_debian.sh ROOT PACKAGE SUITE MIRROR
#
# ROOT is a folder to be made. deb_test.sh runs this in namespaces of its own: mounts and processes of the fresh system
# are nobody else's, and end with this script however it ends.
set -euo pipefail
root=$1 package=$2 suite=$3 mirror=$4
. "$(dirname "$0")/fresh_root.sh"
in_root() { chroot "$root" "$@"; }
fresh_root "$root" "$suite" "$mirror"

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
