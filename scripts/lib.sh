# Helpers of the shell scripts: source this file. It defines ROOT, the project's folder, and what ccache needs.
# shellcheck shell=bash
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT
# Without this ccache passes by whatever is compiled with a precompiled header.
export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
# What one build folder has compiled serves the next with the same options.
export CCACHE_BASEDIR=${CCACHE_BASEDIR:-$ROOT} CCACHE_NOHASHDIR=${CCACHE_NOHASHDIR:-yes}

# say TEXT...: one line that stands out.
say() { printf '\n== %s\n' "$*"; }

# fail TEXT...: what failed and what to do about it; ends the script.
fail() {
  printf '\n%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# run WHAT COMMAND...: runs the command; on failure says which part failed.
run() {
  local what=$1
  shift
  "$@" || fail "$what failed (exit code $?): $*"
}

# Every phase announces itself and, when the next begins, how long it took.
PHASE_NAME='' PHASE_START=0
end_phase() {
  [ -z "$PHASE_NAME" ] || printf -- '-- %s: %d s\n' "$PHASE_NAME" $((SECONDS - PHASE_START))
  PHASE_NAME=''
}
phase() {
  end_phase
  PHASE_NAME=$* PHASE_START=$SECONDS
  say "$PHASE_NAME"
}

# tool NAME: path of one of our programs, from $ROBUSTA_BUILD or build/.
tool() {
  local path="${ROBUSTA_BUILD:-$ROOT/build}/tools/$1"
  [ -x "$path" ] || fail "$path is not built; build first (scripts/quickstart.sh does), or set ROBUSTA_BUILD"
  printf '%s\n' "$path"
}

# check_md5 FILE SUM: true when the file has this checksum.
check_md5() { [ "$(md5sum < "$1" | cut -d' ' -f1)" = "$2" ]; }

# fetch NAME SUM TARGET SOURCE...: puts the file NAME into folder TARGET from the first source (a folder or the
# beginning of a URL) that has it with the right MD5 sum.
fetch() {
  local name=$1 sum=$2 target=$3 source
  shift 3
  if [ -f "$target/$name" ] && check_md5 "$target/$name" "$sum"; then
    echo "$name: already here, checksum right"
    return
  fi
  for source in "$@"; do
    rm -f "$target/$name.part"
    case $source in
      http://* | https://*)
        echo "$name: downloading from $source"
        if command -v curl > /dev/null; then
          curl -fL --retry 2 --connect-timeout 20 -o "$target/$name.part" "$source/$name" || continue
        elif command -v wget > /dev/null; then
          wget -q --tries=2 --timeout=20 -O "$target/$name.part" "$source/$name" || continue
        else
          fail "neither curl nor wget is installed; install one, or give the folder that holds $name"
        fi
        ;;
      *)
        [ -f "$source/$name" ] || continue
        cp "$source/$name" "$target/$name.part"
        ;;
    esac
    if check_md5 "$target/$name.part" "$sum"; then
      mv "$target/$name.part" "$target/$name"
      echo "$name: checksum right"
      return
    fi
    echo "$name from $source: wrong checksum, not used" >&2
  done
  rm -f "$target/$name.part"
  fail "$name was found nowhere with MD5 $sum (looked in: $*)"
}

# Cores to build with: those this process may use, fewer when memory is short (a compiler may take 1.5 GiB).
jobs_for_build() {
  local cores gib
  cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)  # nproc obeys these, which compilers do not read
  gib=$(awk '/MemAvailable/ { print int($2 / 1572864) }' /proc/meminfo)
  [ "$gib" -ge 1 ] || gib=1
  echo $((cores < gib ? cores : gib))
}

# configure FOLDER OPTION...: runs cmake for build folder FOLDER; $ROBUSTA_CMAKE_ARGS comes last and wins.
configure() {
  local folder=$1
  shift
  local more=()
  read -r -a more <<< "${ROBUSTA_CMAKE_ARGS:-}"
  local generator=()
  [ -f "$folder/CMakeCache.txt" ] || generator=(-G Ninja)
  mkdir -p "$folder"
  cmake -S "$ROOT" -B "$folder" "${generator[@]}" "$@" "${more[@]}" > "$folder/configure.log" 2>&1 || {
    cat "$folder/configure.log" >&2
    fail "configuring $folder failed; if it was made by another version, remove $folder and run this again"
  }
}

# build FOLDER TARGET...: builds these targets, or all.
build() {
  local folder=$1
  shift
  run "building $folder" cmake --build "$folder" -j "$(jobs_for_build)" ${1:+--target "$@"}
}

# run_tests FOLDER OPTION...: ctest with these options; adds to the counts, and to the names of those that failed.
# ROBUSTA_TESTS_ONLY and ROBUSTA_TESTS_WITHOUT choose among the tests within suites (tests/discover.cmake).
TESTS_PASSED=0 TESTS_FAILED=0 TESTS_SKIPPED=0 FAILED_TESTS=()
run_tests() {
  local folder=$1 report status=0 counts passed failed skipped
  report=$(realpath "$1")/tests.xml
  shift
  rm -f "$report"
  # Two programs at a time with two threads each: the threads of a program that waits must not spin. What passed is
  # counted from the end of its output.
  OMP_NUM_THREADS=${OMP_NUM_THREADS:-2} OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-passive} \
    ctest --test-dir "$folder" -j 2 --timeout 600 --output-on-failure --output-junit "$report" \
    --test-output-truncation head --test-output-size-passed 4096 "$@" || status=$?
  [ -s "$report" ] || fail "ctest left no report of $folder (exit code $status)"
  mapfile -t counts < <("$ROOT/scripts/count_tests.py" "$report")
  read -r passed failed skipped <<< "${counts[0]:-0 0 0}"
  [ $((passed + failed + skipped)) -gt 0 ] || fail "no test was found in $folder"
  [ "$status" -eq 0 ] || [ "$failed" -gt 0 ] || fail "ctest failed in $folder (exit code $status)"
  FAILED_TESTS+=("${counts[@]:1}")
  TESTS_PASSED=$((TESTS_PASSED + passed)) TESTS_FAILED=$((TESTS_FAILED + failed))
  TESTS_SKIPPED=$((TESTS_SKIPPED + skipped))
}

# report_tests: which tests failed, and the closing line; false when one did.
report_tests() {
  [ ${#FAILED_TESTS[@]} -eq 0 ] || printf 'FAILED: %s\n' "${FAILED_TESTS[@]}"
  printf '\n%d passed, %d failed, %d skipped\n' "$TESTS_PASSED" "$TESTS_FAILED" "$TESTS_SKIPPED"
  [ "$TESTS_FAILED" -eq 0 ]
}
