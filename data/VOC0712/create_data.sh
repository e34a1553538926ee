#!/usr/bin/env bash
# Makes databases of the lists that create_list.sh has written: FOLDER/VOC0712/lmdb/VOC0712_trainval_lmdb and
# VOC0712_test_lmdb, with links in examples/VOC0712, where nets of SSD look for them.
#
#   data/VOC0712/create_data.sh [FOLDER with VOC2007 and VOC2012, else ~/data/VOCdevkit] [options of create_annoset.py]
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
devkit=$HOME/data/VOCdevkit
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
  devkit=$1
  shift
fi
[ -d "$devkit" ] || fail "$devkit is not there: name the folder that create_list.sh was given"
here=$ROOT/data/VOC0712
for set in trainval test; do
  [ -f "$here/$set.txt" ] || fail "$here/$set.txt is not there: run data/VOC0712/create_list.sh first"
  [ -s "$here/$set.txt" ] || continue
  python3 "$ROOT/scripts/create_annoset.py" --anno-type=detection --label-map-file="$here/labelmap_voc.prototxt" \
    --check-label --encode-type=jpg --encoded --redo "$@" "$devkit" "$here/$set.txt" \
    "$devkit/VOC0712/lmdb/VOC0712_${set}_lmdb" "$ROOT/examples/VOC0712"
done
