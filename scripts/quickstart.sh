#!/usr/bin/env bash
# From a fresh Debian machine to a trained network, in one command:
#   installs the packages, builds, makes a data set (no download), trains LeNet on it, tests the result.
# Where the machine has an NVIDIA GPU and the CUDA toolkit, it builds for that GPU and trains on it.
# Can be run again: what is there already is not made again, only the training is.
#
#   ROBUSTA_CMAKE_ARGS   more options for cmake, such as -DCMAKE_BUILD_TYPE=Debug
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

phase "1/5 packages"
run "installing packages" scripts/install_deps.sh

gpu=() cuda=OFF
if nvidia-smi -L 2> /dev/null | grep -q '^GPU 0'; then cuda=AUTO; fi

phase "2/5 build (release, without tests) in build/"
configure build -DCMAKE_BUILD_TYPE=Release -DROBUSTA_TESTS=OFF -DROBUSTA_UNITY=ON -DROBUSTA_CUDA=$cuda
build build
if build/tools/caffe device_query -gpu 0 > /dev/null 2>&1; then
  gpu=(-gpu 0)
elif [ $cuda = AUTO ]; then
  echo "this machine's GPU is not used: $(sed -n 's/^-- CUDA: //p' build/configure.log);" \
    "$(build/tools/caffe device_query -gpu 0 2>&1 | tail -n 1)"
fi

phase "3/5 data: synthetic handwritten digits in data/digits"
run "making the data" data/digits/create.sh

phase "4/5 training LeNet (models/lenet/solver.prototxt)"
run "training" build/tools/caffe train -solver models/lenet/solver.prototxt "${gpu[@]}"

phase "5/5 testing the snapshot"
iterations=$(sed -n 's/^max_iter: *//p' models/lenet/solver.prototxt)
weights=models/lenet/lenet_iter_$iterations.caffemodel
[ -f "$weights" ] || fail "training ended, but there is no $weights"
log=build/quickstart_test.log
status=0
build/tools/caffe test -model models/lenet/train_val.prototxt -weights "$weights" -iterations 20 \
  "${gpu[@]}" > "$log" 2>&1 || status=$?
[ "$status" -eq 0 ] || { cat "$log" >&2; fail "testing the snapshot failed (exit code $status)"; }
accuracy=$(sed -n 's/.*\] accuracy = \([0-9.e+-]*\)$/\1/p' "$log" | tail -n 1)
[ -n "$accuracy" ] || { cat "$log" >&2; fail "no accuracy in $log"; }
end_phase

percent=$(awk -v a="$accuracy" 'BEGIN { printf "%.2f", 100 * a }')
cat << END

Done in $SECONDS s.
  test accuracy   $percent % of 2,000 digits that were not trained on
  snapshot        $weights
  solver state    ${weights%.caffemodel}.solverstate

What to try next:
  build/tools/caffe time -solver models/lenet/solver.prototxt         how long each layer takes
  build/tools/caffe plan -solver models/lenet/solver.prototxt         kernels, layouts and memory
  build/tools/caffe train -solver models/lenet/solver.prototxt -snapshot auto
                                     go on from the newest snapshot (raise max_iter in the solver first)
  data/mnist/get.sh, data/cifar10/get.sh                              real data sets
  README.md                                                           train on images of your own
END
awk -v a="$accuracy" 'BEGIN { exit !(a >= 0.99) }' || fail "the accuracy should be at least 99 %: something is wrong"
