#!/usr/bin/env bash
# Whether clang takes every source, without a warning: a second reading of the language, which no one else asks for.
#
#   scripts/check_clang.sh [FOLDER]     without those that clang has compiled in this build folder already
#
# It reads all files and makes no code (-fsyntax-only), which is a small part of compiling them. build-clang/ keeps what
# that needs: the generated schema and the precompiled headers.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
folder=build-clang compiled=${1:-}
command -v clang++ > /dev/null || fail "clang++ is not installed; scripts/install_deps.sh --tests --ci installs it"

configure "$folder" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DROBUSTA_TESTS=ON -DROBUSTA_UNITY=ON -DROBUSTA_CUDA=OFF -DROBUSTA_WERROR=ON
mapfile -t headers < <(ninja -C "$folder" -t targets all | sed -n 's/^\(.*cmake_pch\.hxx\.pch\): .*/\1/p')
[ ${#headers[@]} -gt 0 ] || fail "$folder/ makes no precompiled headers: this script looks for them under a wrong name"
build "$folder" "${headers[@]}"

# commands: those of the sources, one a line, without what only code needs.
commands() {
  python3 -I - "$folder/compile_commands.json" "$compiled" << 'END'
import json, pathlib, shlex, sys

for entry in json.load(open(sys.argv[1])):
    words = shlex.split(entry["command"])
    if "cmake_pch" in entry["file"] or "caffe.pb" in entry["file"]:
        continue
    output = words.index("-o")
    if sys.argv[2] and (pathlib.Path(sys.argv[2]) / words[output + 1]).exists():
        continue
    del words[output:output + 2]
    print(shlex.join(words[words.index(next(w for w in words if "clang++" in w)):] + ["-fsyntax-only"]))
END
}
count=$(commands | wc -l)
[ "$count" -gt 0 ] || fail "$folder/compile_commands.json names no sources"
commands | (cd "$folder" && xargs -d '\n' -P "${ROBUSTA_JOBS:-$(jobs_for_build)}" -I '{}' bash -c '{}') ||
  fail "clang refuses a source (above)"
echo "clang takes ${compiled:+the other }$count groups of sources"
