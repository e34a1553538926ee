#!/usr/bin/env bash
# Makes data/cifar10/cifar10_train_lmdb, cifar10_test_lmdb and mean.binaryproto from CIFAR-10's binary archive, which is
# taken from FOLDER or, without one, downloaded. Its MD5 sum is checked.
#
#   data/cifar10/get.sh [FOLDER with cifar-10-binary.tar.gz]
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
sources=(https://www.cs.toronto.edu/~kriz)
if [ $# -gt 0 ]; then
  [ -d "$1" ] || fail "$1 is not a folder"
  sources=("$(cd "$1" && pwd)")
fi
cd "$ROOT"
convert=$(tool convert_cifar_data) mean=$(tool compute_image_mean)
work=$(mktemp -d "$ROOT/data/cifar10/.making.XXXXXX")
trap 'rm -rf "$work"' EXIT

fetch cifar-10-binary.tar.gz c32a1d4ab5d03f1284b67883e8d87530 data/cifar10 "${sources[@]}"
run "unpacking the archive" tar -xzf data/cifar10/cifar-10-binary.tar.gz -C "$work"
run "writing the LMDBs" "$convert" "$work/cifar-10-batches-bin" "$work" lmdb
run "computing the mean" "$mean" --backend=lmdb "$work/cifar10_train_lmdb" "$work/mean.binaryproto"
rm -rf data/cifar10/cifar10_train_lmdb data/cifar10/cifar10_test_lmdb
mv "$work/cifar10_train_lmdb" "$work/cifar10_test_lmdb" "$work/mean.binaryproto" data/cifar10/
echo "made data/cifar10/cifar10_train_lmdb, cifar10_test_lmdb and mean.binaryproto"
echo "next: build/tools/caffe train -solver models/cifar10_quick/solver.prototxt"
