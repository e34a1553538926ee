#!/usr/bin/env bash
# Puts into a folder what a visit to a machine with a GPU needs, where nothing is installed and nothing can be built: a
# bundle with tests, the recordings of the real Caffe, and start.sh, which begins a visit there.
#
#   scripts/gpu_visit/prepare.sh [--arch LIST] [--bundle FILE] FOLDER
#
#   --arch LIST    GPUs to make machine code for (default 90)
#   --bundle FILE  take this bundle instead of making one
#
# Fails when the bundle is larger than 50 MB, or when the folder, the files that git knows and the visit.tar.gz that comes
# back are together more than 64 MiB: whoever carries a checkout to such a machine can carry no more. visit.tar.gz gets
# what the others leave, 13 MB at most and 4 at least.
set -euo pipefail
. "$(dirname "$0")/../lib.sh"

arch=90 bundle='' folder=''
while [ $# -gt 0 ]; do
  case $1 in
    --arch) arch=${2:?--arch wants a list} && shift ;;
    --bundle) bundle=$(realpath "${2:?--bundle wants a file}") && shift ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" && exit 0 ;;
    -*) fail "unknown option $1; see scripts/gpu_visit/prepare.sh --help" ;;
    *) folder=$(realpath -m "$1") ;;
  esac
  shift
done
[ -n "$folder" ] || fail "name the folder to fill"
shared=${ROBUSTA_SHARED_DIR:-$(dirname "$ROOT")/shared}
most_bundle=50000000 most=$((64 << 20)) most_back=13 least_back=4 # MB

mkdir -p "$folder"
cd "$ROOT"
rm -f "$folder"/robusta-*.tar.*
if [ -n "$bundle" ]; then
  cp "$bundle" "$folder"
else
  run "the bundle" scripts/make_bundle.sh --tests --arch "$arch" --output "$folder"
fi
if [ -d "$shared/golden" ]; then
  tar -C "$shared" -czf "$folder/recordings.tar.gz" golden
else
  echo "there are no recordings in $shared/golden: the visit will be without them"
fi
cp scripts/gpu_visit/start.sh "$folder"
cuda=${CUDA_HOME:-/usr/local/cuda}
if [ -f "$cuda/include/cupti.h" ]; then
  "${CXX:-c++}" -std=c++20 -O1 -fPIC -shared "-I$cuda/include" -o "$folder/libkernel_trace.so" \
    scripts/gpu_visit/kernel_trace.cpp -ldl
else
  echo "there is no $cuda/include/cupti.h: the visit will be without the times of single kernels"
fi

size=$(cat "$folder"/robusta-*.tar.* | wc -c)
[ "$size" -le $most_bundle ] || fail "the bundle has $size bytes, more than $most_bundle; name fewer GPUs with --arch"
tree=$(git ls-files -z | xargs -0 cat 2> /dev/null | wc -c)
carried=$(find "$folder" -maxdepth 1 -type f -not -name visit.tar.gz -exec cat {} + | wc -c)
back=$(((most - tree - carried) / 1000000))
[ $back -le $most_back ] || back=$most_back
printf 'bundle %d MB, folder %d MB, source tree %d MB, visit.tar.gz up to %d MB: %d MB can be carried\n' \
  $((size / 1000000)) $((carried / 1000000)) $((tree / 1000000)) $back $((most / 1000000))
[ $back -ge $least_back ] || fail "that is more than can be carried"
echo $back > "$folder/most_mb"
