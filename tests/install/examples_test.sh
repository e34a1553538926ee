#!/usr/bin/env bash
# Installs a build to a prefix of its own, and uses it as strangers would: the examples are compiled there, a program
# that holds another Caffe's messages too, a plugin, and one in plain C. The tree is moved first: nothing may know where
# it was made.
. "$(dirname "$0")/lib.sh"
needs cmake make pkg-config protoc python3
if grep -q '^ROBUSTA_SANITIZE:STRING=.' "$BUILD/CMakeCache.txt"; then skip "the build has sanitizers"; fi

quietly cmake --install "$BUILD" --prefix "$WORK/made"
mv "$WORK/made" "$WORK/prefix"
prefix=$WORK/prefix
lib=$(dirname "$(find "$prefix" -name librobusta.so)")
export PATH=$prefix/bin:$PATH LD_LIBRARY_PATH=$lib PKG_CONFIG_PATH=$lib/pkgconfig

echo "-- programs, scripts, manual page"
caffe --version | grep -q Robusta
ddlrun --help > /dev/null
rank_gen.py --help > /dev/null
run_intelcaffe.sh --help > /dev/null
[ -x "$prefix/share/robusta/scripts/impi/mpirun" ] || fail "scripts/impi is not installed"
(cd "$prefix/share/robusta" && quietly caffe plan -solver models/lenet/solver.prototxt)
has '^\.B .*solver' "$prefix/share/man/man1/caffe.1"

echo "-- what librobusta.so shows and needs"
nm -DC --defined-only "$lib/librobusta.so" | cut -d' ' -f3- > "$WORK/symbols"
lacks '^(google|robusta::caffe|std)|^(typeinfo|vtable).* for (google|robusta::caffe)' "$WORK/symbols" "shown, and not ours"
has 'robusta::v1::Net::forward' "$WORK/symbols"
has '^robusta_net_forward' "$WORK/symbols"
ldd "$lib/librobusta.so" > "$WORK/needed"
lacks 'gflags|glog' "$WORK/needed" "the library needs"

# build_example NAME: as its CMakeLists.txt says.
build_example() {
  cp -r "$prefix/share/robusta/examples/$1" "$WORK/$1"
  quietly cmake -S "$WORK/$1" -B "$WORK/$1/build" -DCMAKE_PREFIX_PATH="$prefix"
  quietly cmake --build "$WORK/$1/build"
}

echo "-- a program that embeds the library"
build_example embed
(cd "$WORK" && quietly embed/build/embed "$WORK/embed.caffemodel")
has '^accuracy (1|0\.9)' "$WORK/log"
ldd "$WORK/embed/build/embed" > "$WORK/needed"
has "librobusta.so.*$lib" "$WORK/needed"
lacks 'gflags|glog' "$WORK/needed" "the program needs"

echo "-- Caffe's cpp_classification"
build_example classification
# A picture of 6 x 4 pixels, (200, 100, 50) in R, G, B, and a black one for the mean.
python3 - "$WORK" << 'END'
import struct, sys, zlib
def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
for name, pixel in ("red", (200, 100, 50)), ("black", (0, 0, 0)):
    rows = (b"\0" + bytes(pixel) * 6) * 4
    with open(f"{sys.argv[1]}/{name}.png", "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 6, 4, 8, 2, 0, 0, 0)) +
                   chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))
END
(
  cd "$WORK"
  # The mean of each plane, a hundredth of it, as probabilities: exp(0.5), exp(1) and exp(2), divided by their sum.
  cat > deploy.prototxt << 'END'
layer { name: "data" type: "Input" top: "data" input_param { shape { dim: 10 dim: 3 dim: 5 dim: 5 } } }
layer { name: "mean" type: "Pooling" bottom: "data" top: "mean" pooling_param { pool: AVE global_pooling: true } }
layer { name: "small" type: "Power" bottom: "mean" top: "small" power_param { scale: 0.01 } }
layer { name: "flat" type: "Flatten" bottom: "small" top: "flat" }
layer { name: "prob" type: "Softmax" bottom: "flat" top: "prob" }
END
  printf '\n\003toy\242\006\004\n\002ip' > toy.caffemodel # a net "toy" with a layer "ip" of no arrays
  printf 'n01 blue\nn02 green, leaf\nn03 red\n' > labels.txt
  echo "black.png 0" > list.txt
  quietly convert_imageset "$WORK/" list.txt black_lmdb
  quietly compute_image_mean black_lmdb mean.binaryproto
  classify="classification/build/classification deploy.prototxt toy.caffemodel mean.binaryproto"
  quietly $classify labels.txt red.png
  cat > wanted << 'END'
---------- Prediction for red.png ----------
0.6285 - "n03 red"
0.2312 - "n02 green, leaf"
0.1402 - "n01 blue"
END
  diff wanted log || fail "the example prints something else"
  code=0
  $classify labels.txt none.png 2> log || code=$?
  [ "$code" -eq 3 ] || fail "a picture that is not there ended with $code"
  has 'none.png' log
  code=0
  $classify list.txt red.png 2> log || code=$?
  [ "$code" -eq 1 ] || fail "too few labels ended with $code"
  has 'there are 1 labels for 3 outputs' log
)

echo "-- a plugin"
build_example plugin
plugin=$WORK/plugin/build/libsoft_clip.so
ldd "$plugin" > "$WORK/needed"
lacks 'robusta|protobuf' "$WORK/needed" "the plugin needs"
quietly caffe train -plugin "$plugin" -solver "$WORK/plugin/solver.prototxt"
has 'Optimization Done' "$WORK/log"
build_example malis
quietly caffe train -plugin "$WORK/malis/build/libmalis_loss.so" -solver "$WORK/malis/solver.prototxt"
has 'Optimization Done' "$WORK/log"
if caffe train -solver "$WORK/plugin/solver.prototxt" 2> "$WORK/log"; then fail "a type of nobody was trained"; fi
has 'SoftClip' "$WORK/log"
# refused CODE PATTERN FILE
refused() {
  local code=0
  caffe train -plugin "$3" -solver "$WORK/plugin/solver.prototxt" > "$WORK/log" 2>&1 || code=$?
  [ "$code" -eq "$1" ] || fail "-plugin $3 ended with $code, not $1"
  has "$2" "$WORK/log"
}
refused 1 'there is no plugin' "$WORK/none.so"
refused 1 'known already' "$plugin,$plugin"
refused 9 'linked to librobusta.so' "$lib/librobusta.so"
sed 's/kPluginAbi = [0-9]*/kPluginAbi = 99/' -i "$prefix/include/robusta/layer.h"
quietly cmake --build "$WORK/plugin/build" --clean-first
refused 9 'compiled for version 99' "$plugin"

echo "-- plain C, found by pkg-config"
cp -r "$prefix/share/robusta/examples/c" "$WORK/c"
quietly make -C "$WORK/c"
quietly "$WORK/c/linear"
has 'loss 1.1250' "$WORK/log"
quietly "$WORK/c/ranks"
has '^1 ranks, 1 on .*: y = 2\.0' "$WORK/log"
if command -v mpirun > /dev/null && ! grep -q '^ROBUSTA_MPI:STRING=OFF' "$BUILD/CMakeCache.txt"; then
  OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 quietly mpirun --oversubscribe -n 3 "$WORK/c/ranks"
  has '^3 ranks, 3 on .*: y = 2\.0' "$WORK/log"
fi

echo "-- beside another Caffe's messages, in one process and one protobuf"
mkdir "$WORK/other"
cat > "$WORK/other/caffe.proto" << 'END'
syntax = "proto2";
package caffe;
message NetParameter { optional int32 other = 77; }
END
cat > "$WORK/other/main.cpp" << 'END'
#include <robusta/net.h>
#include "caffe.pb.h"
int main() {
  caffe::NetParameter other;
  other.set_other(7);
  robusta::Net net = robusta::Net::from_text(
      "layer { name: 'i' type: 'Input' top: 'x' input_param { shape { dim: 1 } } }");
  net.forward();
  return other.SerializeAsString().empty();
}
END
(cd "$WORK/other" && quietly protoc --cpp_out=. caffe.proto &&
  quietly "${CXX:-c++}" -std=c++20 main.cpp caffe.pb.cc -I"$prefix/include" -L"$lib" -lrobusta -lprotobuf -o other &&
  quietly ./other)
echo "all examples work"
