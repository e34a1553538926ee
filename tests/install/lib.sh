# Helpers of the tests of what is installed: source this file. ROBUSTA_BUILD_DIR names the build folder.
# shellcheck shell=bash
set -euo pipefail
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
BUILD=${ROBUSTA_BUILD_DIR:-$ROOT/build-test}
WORK=$(mktemp -d)
trap 'rm -rf --one-file-system "$WORK"' EXIT
export OMP_NUM_THREADS=1 OMP_WAIT_POLICY=passive

skip() {
  echo "SKIPPED: $*"
  exit 77
}
fail() {
  echo "FAILED: $*" >&2
  exit 1
}
# quietly COMMAND...: shows what it said only when it fails.
quietly() { "$@" > "$WORK/log" 2>&1 || { cat "$WORK/log" >&2; fail "$*"; }; }
# lacks PATTERN FILE WHAT
lacks() { ! grep -Eq "$1" "$2" || fail "$3: $(grep -Em1 "$1" "$2")"; }
# has PATTERN FILE
has() { grep -Eq "$1" "$2" || { cat "$2" >&2; fail "no \"$1\" in $2"; }; }
# needs PROGRAM...
needs() {
  local program
  for program in "$@"; do command -v "$program" > /dev/null || skip "$program is not installed"; done
}
[ -x "$BUILD/tools/caffe" ] || skip "$BUILD/tools/caffe is not built"
