#!/usr/bin/env bash
# Makes data/digits: 12,000 training and 2,000 test images of synthetic handwritten digits, as LMDB.
# Nothing is downloaded; the same seed gives the same images everywhere.
#
#   data/digits/create.sh [--force] [options of make_digits, such as --seed=2 or --train=60000]
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
cd "$ROOT"

force=''
if [ "${1:-}" = --force ]; then
  force=1
  shift
fi
made=$(find data/digits -path '*_lmdb/data.mdb' | wc -l)
if [ -z "$force" ] && [ $# -eq 0 ] && [ "$made" -eq 2 ]; then
  echo "data/digits is already made (--force makes it again)"
  exit 0
fi

make_digits=$(tool make_digits) convert=$(tool convert_mnist_data)
work=$(mktemp -d "$ROOT/data/digits/.making.XXXXXX")
trap 'rm -rf "$work"' EXIT

run "drawing the digits" "$make_digits" "$work" "$@"
for pair in train:train t10k:test; do
  set=${pair%:*} name=${pair#*:}_lmdb
  run "writing $name" "$convert" "$work/$set-images-idx3-ubyte" "$work/$set-labels-idx1-ubyte" "$work/$name" \
    --backend=lmdb
  rm -rf "data/digits/$name"
  mv "$work/$name" "data/digits/$name"
done
echo "made data/digits/train_lmdb and data/digits/test_lmdb"
