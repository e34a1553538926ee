# Tests that take hours: under sanitizers, with another library, on made-up input.
# Sourced by nightly.sh, which says what holds for parts.
# shellcheck shell=bash
# shellcheck disable=SC2154  # out, caffe, work: nightly.sh sets them

part_fuzz() { # every reader on what libFuzzer makes of tests/fuzz/corpus, 10 minutes for each
  command -v clang++ > /dev/null || skip "clang++ is not installed"
  local folder=$ROOT/build-fuzz program name target targets found seconds fuzzes total=0 idle=0
  local crashes=$folder/crashes
  configure "$folder" -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ -DROBUSTA_FUZZERS=ON -DROBUSTA_TESTS=ON \
    -DROBUSTA_UNITY=ON -DROBUSTA_CUDA=OFF -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1"
  build "$folder" fuzzers
  targets=("$ROOT"/tests/fuzz/corpus/*/)
  seconds=$((${ROBUSTA_FUZZ_MINUTES:-$((10 * ${#targets[@]}))} * 60 / ${#targets[@]}))
  [ "$seconds" -gt 0 ] || fail "ROBUSTA_FUZZ_MINUTES is ${ROBUSTA_FUZZ_MINUTES}; give at least 1"
  rm -rf "$crashes"
  for target in "${targets[@]}"; do
    name=$(basename "$target")
    program=$folder/tests/fuzz_$name fuzzes=yes
    if [ "$name" = hdf5 ] && [ ! -e "$program" ]; then
      echo "-- $name: passed over, this build has no HDF5"
      continue
    fi
    mkdir -p "$crashes/$name" "$folder/grown/$name"
    echo "-- $name, $seconds s"
    if [ "$name" = rank_file ]; then
      tests/fuzz/rank_file_fuzz.py --seconds "$seconds" --seed "$RANDOM" --keep "$crashes/$name" || fuzzes=
    else
      fuzz "$program" "$seconds" "$crashes/$name" "$folder/grown/$name" "$target" || true
      # At its end it says DONE, at a finding "==PID== ERROR: ...".
      grep -aq '^#.*DONE\|^==[0-9]*== *ERROR: \|deadly signal' "$out" || fuzzes=
    fi
    found=$(find "$crashes/$name" -type f | wc -l)
    if [ -z "$fuzzes" ] && { [ "$name" != rank_file ] || [ "$found" -eq 0 ]; }; then
      echo "$name did not fuzz"
      idle=$((idle + 1))
    fi
    [ "$found" -eq 0 ] || echo "$name: $found findings in $crashes/$name"
    # libhdf5 does not survive every byte (docs/security.md): its ends are shown, and are not ours.
    [ "$name" = hdf5 ] || total=$((total + found))
  done
  local lacking=
  [ "$idle" -eq 0 ] || lacking=", $idle did not fuzz"
  result "$total findings by ${#targets[@]} targets in $seconds s each$lacking"
  [ $((total + idle)) -eq 0 ]
}

part_onednn() { # all tests with oneDNN 3.2, which PyPI has, instead of Debian's 2.6
  local folder=$ROOT/build-onednn3 status=0
  measured scripts/get_onednn.sh || status=$?
  [ "$status" -ne 77 ] || skip "oneDNN 3.2 cannot be had here"
  [ "$status" -eq 0 ] || return $status
  configure "$folder" -DROBUSTA_ONEDNN="$ROOT/build-onednn" -DROBUSTA_TESTS=ON -DROBUSTA_UNITY=ON -DROBUSTA_WERROR=ON \
    -DROBUSTA_CUDA=OFF
  build "$folder"
  run_tests "$folder"
  result "$TESTS_PASSED passed, $TESTS_FAILED failed, $TESTS_SKIPPED skipped"
  report_tests
}

part_emulated() { # kernels for AVX-512, for bf16 and for AMX on an emulated processor, where there is Bochs
  local status=0 model filter command passed outcomes=
  local -A has=([bf16]=avx512_bf16 [amx]=amx_bf16) least=([avx512]=11 [bf16]=6 [amx]=19)
  local tests=$ROBUSTA_BUILD/tests narrow
  [ -x "$tests/layers_test" ] || skip "there is no $tests/layers_test: name a build with tests in ROBUSTA_BUILD"
  narrow='HostBf16.Convolution*:HostBf16.Sums:HostBf16.ConcatAndSlice:HostBf16.FunctionsOfElements:ResidualInference.InSixteenBits'
  for model in avx512 bf16 amx; do
    case $model in
      avx512) filter='FewChannels.*:FewRows.*:RowsAsColumns.*:Pointwise.*-*FirstLayers*:*SizesOfAllKinds:*LargeImages:*ManyOutputs' ;;
      bf16) filter=$narrow ;;
      amx) filter="$narrow:AmxWeights.*:AmxPass.ManyThreads:AmxProducts.SumAndRelu:InnerProductAmx.*" ;;
    esac
    command="export GTEST_COLOR=no && caffe device_query | grep 16 && $tests/layers_test --gtest_brief=1 --gtest_filter='$filter'"
    [ $model != amx ] || command+=" && $tests/ops_test --gtest_brief=1 --gtest_filter='Amx.*'"
    measured scripts/emulated_cpu/run.sh $model -- "$command" || status=$?
    [ $status -ne 77 ] || skip "$(sed -n 's/^SKIPPED: //p' "$out")"
    # A processor that has not what it should have would skip the tests, or make nothing of them; of suites that are
    # not found by their names nothing is said.
    passed=$(sed -n 's/^\[  PASSED  \] \([0-9]*\) tests\{0,1\}\..*/\1/p' "$out" | awk '{ sum += $1 } END { print sum + 0 }')
    if [ "$passed" -lt "${least[$model]}" ] || grep -q '^\[  SKIPPED' "$out"; then status=1; fi
    [ $model = avx512 ] || grep -q "16 bits:.*${has[$model]}" "$out" || status=1
    outcomes+="${outcomes:+, }$model $passed passed"
  done
  result "$outcomes"
  return $status
}

part_asan() { # the tests that CI leaves out, with AddressSanitizer and UndefinedBehaviorSanitizer
  left_out_tests asan
}

part_python_asan() { # the Python module's tests, with AddressSanitizer and UndefinedBehaviorSanitizer
  # shellcheck disable=SC1091
  . scripts/sanitizers.sh
  configure_sanitized asan "${checks_left_out[asan]}" -DROBUSTA_PYTHON=ON
  build build-asan robusta_python caffe_python_proto
  local runtime
  # An interpreter without it loads it first, and with it where exceptions come from, which it looks for at once.
  runtime=$(gcc -print-file-name=libasan.so):$(gcc -print-file-name=libstdc++.so)
  # Python gives much of its memory back to nobody: leaks are the business of tests/python/test_kept.py. Programs that
  # tests start have an interpreter of their own, which a module with sanitizers does not fit into. What is freed is kept
  # from use for a while, in less memory than those tests look for.
  LD_PRELOAD=$runtime ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=32:$ASAN_OPTIONS ROBUSTA_BUILD_DIR=$ROOT/build-asan PYTHONMALLOC=malloc \
    measured tests/python/run.py -rf
  result "$(tail -n 1 "$out")"
}

part_tsan() { # the tests that CI leaves out, with ThreadSanitizer
  OMP_NUM_THREADS=1 left_out_tests tsan # as in .ci/run
}

# fuzz PROGRAM SECONDS CRASHES GROWN CORPUS: from the inputs of both folders on; GROWN gets those that reach new code,
# CRASHES those that end the program, as small as 20 s can make them.
fuzz() {
  local limits=(-rss_limit_mb=1024 -timeout=5 -max_len=1048576) crash
  # Ends after the first finding: what it hides is found when it is mended.
  OMP_NUM_THREADS=1 "$1" "${limits[@]}" -max_total_time="$2" -artifact_prefix="$3/" -print_final_stats=1 "$4" "$5" \
    > "$out" 2>&1 || tail -n 40 "$out"
  grep -a '^stat::number_of_executed_units\|^#.*DONE' "$out" || true
  for crash in "$3"/crash-* "$3"/timeout-*; do
    [ -f "$crash" ] || continue
    OMP_NUM_THREADS=1 "$1" "${limits[@]}" -minimize_crash=1 -max_total_time=20 -exact_artifact_path="$crash.small" \
      "$crash" > /dev/null 2>&1 || true
    [ ! -s "$crash.small" ] || mv "$crash.small" "$crash"
  done
}

left_out_tests() {
  local folders
  # shellcheck disable=SC1091
  . scripts/sanitizers.sh
  mapfile -t folders < <(folders_with_tests)
  build_sanitized "$1" "" "${folders[@]}"
  build "build-$1" golden_test
  local these=''
  # Where CI leaves checks out, too, every test is a new one with them.
  [ -n "${checks_left_out[$1]}" ] || these=$(tests_left_out "$1")
  ROBUSTA_TESTS_ONLY=$these run_tests "build-$1" --timeout 3600 ${these:+-R "^($(joined '|' "${folders[@]}"))\.|^golden$"}
  result "$TESTS_PASSED passed, $TESTS_FAILED failed, $TESTS_SKIPPED skipped"
  report_tests
}
