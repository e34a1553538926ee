#!/usr/bin/env bash
# Gets oneDNN 3.2, for GNU OpenMP as Debian's, from PyPI into a folder: cmake -DROBUSTA_ONEDNN=FOLDER then builds with
# it. Debian 12's 2.6 (libdnnl-dev) is what everything builds with otherwise; docs/benchmarks.md compares them.
#
#   scripts/get_onednn.sh [FOLDER]      (default build-onednn/)
#
# Versions and SHA-256 sums are pinned; a folder that has it already is left as it is. Exit code 77: it cannot be had
# on this machine, or now.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
folder=$(realpath -m "${1:-$ROOT/build-onednn}")

# cannot WHY: no fault of the sources.
cannot() {
  printf '\n%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 77
}

if [ -e "$folder/lib/libdnnl.so.3" ]; then
  echo "oneDNN 3.2 is in $folder already"
  exit 0
fi
[ ! -e "$folder" ] || [ -z "$(ls -A "$folder")" ] || fail "$folder holds something else; name a folder that is not there yet"
[ "$(uname -m)" = x86_64 ] || cannot "PyPI has oneDNN for x86-64 alone; build it from its sources, and name its folder to cmake"

# Beside the folder, so that it appears whole or not at all.
mkdir -p "$(dirname "$folder")"
work=$(mktemp -d "$(dirname "$folder")/.onednn.XXXXXX")
trap 'rm -rf "$work"' EXIT
pip=(python3 -m pip)
if ! "${pip[@]}" --version > /dev/null 2>&1; then
  python3 -m venv "$work/venv" > /dev/null || cannot "python3 has neither pip nor venv: install python3-venv"
  pip=("$work/venv/bin/python" -m pip)
fi
cat > "$work/packages" << 'END_OF_PACKAGES'
onednn-cpu-gomp==2023.2.0 --hash=sha256:2f22a54d6a890ed14bfa185d42a4be65d8b5b1df85dc1f0f3a9abe31620416fb
onednn-devel-cpu-gomp==2023.2.0 --hash=sha256:9763c69e8c907e119056bd52ad918ca84ac9ba939d130a99dfa95ccca3e5e284
END_OF_PACKAGES
if ! "${pip[@]}" download --quiet --disable-pip-version-check --no-deps --require-hashes --only-binary :all: \
  --dest "$work" -r "$work/packages" 2> "$work/log"; then
  cat "$work/log" >&2
  ! grep -q 'DO NOT MATCH THE HASHES' "$work/log" || fail "a package is not the one that is pinned here; it was not used"
  cannot "pip could not get oneDNN (above)"
fi

for wheel in "$work"/*.whl; do run "unpacking $wheel" python3 -m zipfile -e "$wheel" "$work/wheels"; done
mkdir -p "$work/onednn/lib" "$work/onednn/share"
mv "$work"/wheels/onednn_devel_cpu_gomp-*.data/data/include "$work/onednn/include"
mv "$work"/wheels/onednn_cpu_gomp-*.data/data/share/doc "$work/onednn/share/doc"
# A wheel knows no links: it holds the library three times.
mv "$work"/wheels/onednn_cpu_gomp-*.data/data/lib/libdnnl.so.3.2 "$work/onednn/lib"
ln -s libdnnl.so.3.2 "$work/onednn/lib/libdnnl.so.3"
ln -s libdnnl.so.3 "$work/onednn/lib/libdnnl.so"
[ ! -e "$folder" ] || rmdir "$folder"
mv "$work/onednn" "$folder"
echo "oneDNN 3.2 is in $folder; to build with it: cmake -DROBUSTA_ONEDNN=$folder ..."
