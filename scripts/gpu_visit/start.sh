#!/bin/sh
# Begins a visit on a machine with a GPU: unpacks the bundle that lies beside this file (prepare.sh puts both there), at
# the same place in each call, and goes on with what visit.tar.gz, beside it too, says is done.
#
#   sh start.sh A|B|C|D|E [options of scripts/gpu_visit/run.py]
#
#   OUT     folder for visit.tar.gz (default: out beside this file)
#   PYTHON  a Python that has PyTorch (default python3)
set -eu
here=$(cd "$(dirname "$0")" && pwd)
place=${TMPDIR:-/tmp}/robusta_visit
python=${PYTHON:-python3}
mkdir -p "$place"
for bundle in "$here"/robusta-*.tar.*; do
  [ -f "$bundle" ] || { echo "start.sh: no bundle lies in $here; scripts/gpu_visit/prepare.sh makes one" >&2; exit 1; }
done
root=$place/$(basename "${bundle%.tar.*}")
# Python, because not every machine has xz.
[ -f "$root/unpacked" ] || {
  "$python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2], filter="tar")' "$bundle" "$place"
  touch "$root/unpacked"
}
exec "$python" "$root/scripts/gpu_visit/run.py" "$@" --carried "$here" --out "${OUT:-$here/out}"
