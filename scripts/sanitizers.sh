# Sourced after lib.sh by .ci/run and nightly.sh: which tests run under sanitizers when, and how they are built.
# shellcheck shell=bash
# shellcheck disable=SC2034  # what is set here is for those who source this

# asan: AddressSanitizer with UndefinedBehaviorSanitizer; tsan: ThreadSanitizer.
declare -A sanitizers=([asan]="address,undefined" [tsan]="thread")
# Checks that CI leaves to nightly.sh: they double the time of compilation, and AddressSanitizer and the processor meet
# most of what they would find.
declare -A checks_left_out=([asan]="null,alignment,pointer-overflow" [tsan]="")
# ThreadSanitizer is clang's, so that a second compiler reads and makes the program, too (check_clang.sh).
declare -A more_options=(
  [asan]="-DCMAKE_C_COMPILER=gcc -DCMAKE_CXX_COMPILER=g++"
  [tsan]="-DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DROBUSTA_WERROR=ON"
)
# Folders of tests/ that CI runs under them, but for the tests below. The rest is for nightly.sh.
declare -A sanitized_folders=(
  [asan]="base schema device memory tensor comm comm_liveness ops data layers net solver api digits fuzz"
  [tsan]="base device comm comm_liveness data net solver api"
)
# Tests of these folders that are left to nightly.sh; scripts/test.sh runs them in full. Only speed and exactness matter in
# them, or they are small ones once more in large.
_slow='Golden|Accuracy.*Mnist|Exhaustive|LmsModels.*(resnet|googlenet)'
# In the others one thread works by itself, so that ThreadSanitizer has nothing to find.
declare -A too_slow=([asan]="$_slow|LevelDb(Test|WriterTest)|LmsGraphs" [tsan]="$_slow|ExtremeNumbers|GpuKernels|DatumFuzz|Level(Bytes|Db)")

export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1
export LSAN_OPTIONS=suppressions=$ROOT/tests/lsan.supp:print_suppressions=0
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=suppressions=$ROOT/tests/tsan.supp:halt_on_error=1:print_suppressions=0

# folders_with_tests: those of tests/ that become a program.
folders_with_tests() {
  local folder
  for folder in "$ROOT"/tests/*/; do
    ! compgen -G "$folder*_test.cpp" > /dev/null || basename "$folder"
  done
}

# folders_left_out KIND: those of them that CI does not run under it.
folders_left_out() {
  local folder
  for folder in $(folders_with_tests); do
    [[ " ${sanitized_folders[$1]} " == *" $folder "* ]] || echo "$folder"
  done
}

# joined SEPARATOR WORD...
joined() {
  local IFS=$1
  shift
  echo "$*"
}

# tests_left_out KIND: a pattern of the tests that CI does not run under it.
tests_left_out() {
  local all others pattern
  mapfile -t all < <(folders_with_tests)
  mapfile -t others < <(folders_left_out "$1")
  pattern="^($(joined '|' "${all[@]}"))\..*(${too_slow[$1]})|^golden$"
  [ ${#others[@]} -eq 0 ] || pattern+="|^($(joined '|' "${others[@]}"))\."
  echo "$pattern"
}

# configure_sanitized KIND CHECKS [OPTION...]: build-KIND/, without these checks. All that builds there comes by here, for
# a compiler of another name would compile everything anew.
configure_sanitized() {
  local kind=$1 without=$2 options
  shift 2
  read -r -a options <<< "${more_options[$kind]}"
  # -O1 halves the time of compilation and keeps the stack traces readable.
  configure "build-$kind" "${options[@]}" -DROBUSTA_TESTS=ON -DROBUSTA_UNITY=ON -DROBUSTA_CUDA=OFF \
    -DROBUSTA_SANITIZE="${sanitizers[$kind]}" -DROBUSTA_SANITIZE_WITHOUT="$without" \
    -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 "$@"
}

# build_sanitized KIND CHECKS FOLDER...: the test programs of these folders, and all tools.
build_sanitized() {
  local kind=$1 without=$2 folder tool targets=(make_digits fake_nccl)
  shift 2
  configure_sanitized "$kind" "$without"
  for folder in "$@"; do targets+=("${folder}_test"); done
  for tool in "$ROOT"/tools/*.cpp; do targets+=("$(basename "$tool" .cpp)"); done
  build "build-$kind" "${targets[@]}"
}
