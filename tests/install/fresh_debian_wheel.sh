#!/usr/bin/env bash
# Installs a wheel by pip into a fresh Debian that has Python and no compiler, and trains there.
#
#   fresh_debian_wheel.sh ROOT WHEELS SUITE MIRROR MATERIAL
#
# ROOT is a folder to be made; WHEELS one with the wheel and those that it needs; MATERIAL holds what wheel_lenet.py
# works with. scripts/check_wheel.sh runs this in namespaces of its own (fresh_root.sh).
set -euo pipefail
root=$1 wheels=$2 suite=$3 mirror=$4 material=$5
. "$(dirname "$0")/fresh_root.sh"
in_root() { chroot "$root" "$@"; }
fresh_root "$root" "$suite" "$mirror" python3 python3-venv

for program in cc gcc g++ clang cmake make; do
  ! in_root sh -c "command -v $program" || { echo "$program is in the fresh Debian" >&2 && exit 1; }
done
for library in libgomp.so.1 libdnnl.so libopenblas.so libprotobuf.so liblmdb.so libmpi.so; do
  [ -z "$(find "$root" -xdev -name "$library*")" ] || { echo "$library is in the fresh Debian" >&2 && exit 1; }
done
cp -r "$wheels" "$root/wheels"
cp -r "$material" "$root/material"
in_root python3 -m venv /environment
in_root /environment/bin/pip install -q --isolated --no-index --find-links /wheels robusta-caffe
in_root sh -c 'cd /material && /environment/bin/python wheel_lenet.py'
