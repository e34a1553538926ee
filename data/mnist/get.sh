#!/usr/bin/env bash
# Makes data/mnist/train_lmdb and test_lmdb from MNIST's four published files, which are taken from FOLDER or, without
# one, downloaded. Their MD5 sums are checked.
#
#   data/mnist/get.sh [FOLDER with train-images-idx3-ubyte.gz and the other three]
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
sources=(https://ossci-datasets.s3.amazonaws.com/mnist https://storage.googleapis.com/cvdf-datasets/mnist
         http://yann.lecun.com/exdb/mnist)
if [ $# -gt 0 ]; then
  [ -d "$1" ] || fail "$1 is not a folder"
  sources=("$(cd "$1" && pwd)")
fi
cd "$ROOT"
convert=$(tool convert_mnist_data)
work=$(mktemp -d "$ROOT/data/mnist/.making.XXXXXX")
trap 'rm -rf "$work"' EXIT

fetch train-images-idx3-ubyte.gz f68b3c2dcbeaaa9fbdd348bbdeb94873 data/mnist "${sources[@]}"
fetch train-labels-idx1-ubyte.gz d53e105ee54ea40749a09fcbcd1e9432 data/mnist "${sources[@]}"
fetch t10k-images-idx3-ubyte.gz 9fb629c4189551a2d022fa330f9573f3 data/mnist "${sources[@]}"
fetch t10k-labels-idx1-ubyte.gz ec29112dd5afa0611ce80d1b7f02629c data/mnist "${sources[@]}"

for pair in train:train t10k:test; do
  set=${pair%:*} name=${pair#*:}_lmdb
  for part in images-idx3 labels-idx1; do
    gzip -dc "data/mnist/$set-$part-ubyte.gz" > "$work/$set-$part-ubyte"
  done
  run "writing $name" "$convert" "$work/$set-images-idx3-ubyte" "$work/$set-labels-idx1-ubyte" "$work/$name" \
    --backend=lmdb
  rm -rf "data/mnist/$name"
  mv "$work/$name" "data/mnist/$name"
done
echo "made data/mnist/train_lmdb and data/mnist/test_lmdb"
echo "next: build/tools/caffe train -solver models/lenet/mnist_solver.prototxt"
