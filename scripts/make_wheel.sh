#!/usr/bin/env bash
# Makes wheels of the Python module, for pip on every Linux of x86-64 with glibc 2.28 (manylinux_2_28): module, library,
# oneDNN and all others are inside; numpy and protobuf come from PyPI (docs/python.md). On Debian 12, with the packages
# of scripts/install_deps.sh --tests.
#
#   scripts/make_wheel.sh [--output FOLDER] [PYTHON...]
#
#   PYTHON           interpreters to make wheels for (default python3), of Python 3.9 or later, with their headers
#   --output FOLDER  where the wheels come to (default build-wheel/)
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

output=build-wheel pythons=()
while [ $# -gt 0 ]; do
  case $1 in
    --output) output=${2:?--output wants a folder} && shift ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" && exit 0 ;;
    -*) fail "unknown option $1; see scripts/make_wheel.sh --help" ;;
    *) pythons+=("$1") ;;
  esac
  shift
done
[ ${#pythons[@]} -gt 0 ] || pythons=(python3)
most=60000000 # bytes
mkdir -p "$output"
output=$(cd "$output" && pwd)

# tools PYTHON: an environment of it with the packages of packaging/wheel/tools.txt.
tools() {
  local tag folder
  tag=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "$1 is no Python"
  folder=$ROOT/build-wheel-$tag/tools
  if ! cmp -s packaging/wheel/tools.txt "$folder/made_of"; then
    rm -rf "$folder"
    "$1" -m venv "$folder" || fail "$1 makes no virtual environment; install python3-venv"
    "$folder/bin/python" -m pip install -q -r packaging/wheel/tools.txt ||
      fail "pip could not get the tools of packaging/wheel/tools.txt"
    cp packaging/wheel/tools.txt "$folder/made_of"
  fi
  echo "$folder/bin/python"
}

phase "inputs"
inputs=$ROOT/build-wheel-inputs
for python in "${pythons[@]}"; do tools "$python" > /dev/null; done
run "packaging/wheel/inputs.sh" packaging/wheel/inputs.sh "$inputs" "$(tools "${pythons[0]}")"

# symbols_without_version EXTENSION: what nobody is known to bring. Python's own functions have no versions, and oneDNN
# has none either.
symbols_without_version() {
  nm -D --undefined-only "$1" | awk '$1 == "U" && $2 !~ /@/ && $2 !~ /^_?Py|^dnnl_/ { print $2 }'
}

wheels=()
for python in "${pythons[@]}"; do
  python=$(tools "$python")
  folder=$(dirname "$(dirname "$(dirname "$python")")") work=$folder/wheel
  phase "wheel for $("$python" --version), in ${folder##*/}"
  rm -rf "$work" && mkdir "$work"
  # Beside other builds, so that what one has compiled serves the next (CCACHE_BASEDIR).
  env CC="${CC:-cc}" CXX="${CXX:-c++}" CMAKE_GENERATOR=Ninja CMAKE_BUILD_PARALLEL_LEVEL="$(jobs_for_build)" \
    SKBUILD_CMAKE_ARGS="$(tr -s ' ' ';' <<< "${ROBUSTA_CMAKE_ARGS:-}")" \
    "$python" -m build --wheel --no-isolation --skip-dependency-check --outdir "$work/raw" -C build-dir="$folder" \
    -C cmake.define.ROBUSTA_WHEEL="$inputs" -C cmake.define.pybind11_DIR="$("$python" -m pybind11 --cmakedir)" \
    packaging/wheel > "$work/log" 2>&1 || { tail -n 40 "$work/log" >&2 && fail "building failed; the log is $work/log"; }
  raw=$(find "$work/raw" -name '*.whl')
  "$python" -m zipfile -e "$raw" "$work/raw"
  extension=$(find "$work/raw/caffe" -name '_caffe*.so')
  unknown=$(symbols_without_version "$extension")
  [ -z "$unknown" ] || fail "glibc 2.28 lacks, or nothing in the wheel has: $unknown (packaging/wheel/glibc_2_28.c)"
  # Where a process has next to no room for variables of threads of libraries that it loads later.
  ! readelf -d "$extension" | grep -q STATIC_TLS || fail "an archive in the extension is code for programs alone (STATIC_TLS)"
  # auditwheel copies into the wheel what is not on every system, and refuses what is newer than its platform.
  PATH=$(dirname "$python"):$PATH LD_LIBRARY_PATH=$inputs/lib:$inputs/onednn/lib run "auditwheel" "$python" -m auditwheel repair \
    --plat manylinux_2_28_x86_64 --only-plat --strip -z 9 -w "$work/repaired" "$raw" >> "$work/log" 2>&1
  wheel=$(find "$work/repaired" -name '*.whl')
  "$python" -m auditwheel show "$wheel" > "$work/audit" || fail "auditwheel does not know what $wheel is"
  grep -q 'manylinux_2_28_x86_64' "$work/audit" || { cat "$work/audit" && fail "$wheel is not what it is named"; }
  size=$(stat -c %s "$wheel")
  [ "$size" -le "$most" ] || fail "$wheel is larger than $((most / 1000000)) MB"
  cp "$wheel" "$output"
  gpus=$(sed -n 's/.*-- CUDA: toolkit \([^,]*\), .*/, for GPUs with CUDA \1/p' "$work/log")
  wheels+=("$output/${wheel##*/}: $((size / 1000000)).$((size % 1000000 / 100000)) MB${gpus:-, not for GPUs}")
done
end_phase
printf '%s\n' "${wheels[@]}"
