#!/usr/bin/env bash
# Installs what the tests need, builds everything with tests into build-test/, and runs all tests.
# The last line reads 'N passed, N failed, N skipped'; the exit code is 0 when none failed.
#
#   scripts/test.sh [options of ctest, such as -R layers]
#
#   ROBUSTA_CMAKE_ARGS   more options for cmake
#   ROBUSTA_SHARED_DIR   folder with recorded material (default ../shared); tests that need it skip without it
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

phase "packages"
run "installing packages" scripts/install_deps.sh --tests

phase "build in build-test/"
configure build-test -DROBUSTA_TESTS=ON -DROBUSTA_UNITY=ON
build build-test

phase "tests"
run_tests build-test "$@"
end_phase
report_tests
