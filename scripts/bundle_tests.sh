#!/bin/sh
# Runs the test programs of a bundle that was made with --tests, one after the other, and counts their failures. Arguments
# go to each program: bin/run_tests --gtest_filter='*Gpu*:Cudnn*'.
#
#   ROBUSTA_SHARED_DIR   folder with recorded material (default shared beside the bundle's folder); without it tests skip
set -u
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")
ROBUSTA_SHARED_DIR=${ROBUSTA_SHARED_DIR:-$(dirname -- "$root")/shared}
export ROBUSTA_SHARED_DIR
cd "$root" || exit 1
failed=0
for program in libexec/*_test; do
  name=$(basename "$program")
  case $name in
    golden_test) "bin/$name" ;;
    solver_test) "bin/$name" --gtest_brief=1 --gtest_filter='NcclLibrary.*:PipelineOnGpus.*' ;; # the others want a source tree
    *) "bin/$name" --gtest_brief=1 "$@" ;;
  esac || failed=$((failed + 1)) && echo "$name: done"
done
echo "$failed of the test programs failed"
[ "$failed" -eq 0 ]
