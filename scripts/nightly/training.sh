# What trainings have to stand: accuracy, faults, crowds, size.
# Sourced by nightly.sh, which says what holds for parts.
# shellcheck shell=bash
# shellcheck disable=SC2154  # out, caffe, work: nightly.sh sets them

part_accuracy() { # LeNet on real digits, five seeds, after 1,000 and 4,000 iterations
  local digits=$ROBUSTA_SHARED_DIR/data/mnist-t10k
  [ -f "$digits/t10k-images-idx3-ubyte.gz" ] || skip "there are no digits in $digits"
  measured scripts/accuracy_lenet.py "$digits" --caffe "$caffe"
  result "$(sed -n 's/^mean after \([0-9]*\) iterations: /after \1 iterations /p' "$out" | paste -sd, | sed 's/,/, /g')"
}

part_crowded() { # 16 ranks on two hosts that share the processors of this one, for 10 minutes
  CLUSTER_SH=${CLUSTER_SH:-$ROBUSTA_SHARED_DIR/cluster/cluster.sh}
  measured env ROBUSTA_CROWDED_SECONDS=600 ROBUSTA_CLUSTER_SH="$CLUSTER_SH" ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" \
    bash tests/cluster/crowded.sh
  result "$(tail -n 1 "$out")"
}

part_elastic() { # 50 faults in a row with each of two nets, while ranks come and go (-elastic)
  local status=0 net texts=()
  CLUSTER_SH=${CLUSTER_SH:-$ROBUSTA_SHARED_DIR/cluster/cluster.sh}
  for net in lenet cifar10_quick; do
    measured env ELASTIC_FAULTS="${ROBUSTA_ELASTIC_FAULTS:-50}" ELASTIC_NET=$net ROBUSTA_CLUSTER_SH="$CLUSTER_SH" \
      ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" bash tests/cluster/elastic_faults.sh || status=$?
    [ $status -ne 77 ] || skip "$(tail -n 1 "$out")"
    texts+=("$(grep "faults with $net" "$out")")
  done
  result "${texts[0]}; ${texts[1]}"
  return $status
}

part_kills() { # 100 kills at random moments in snapshots of each format
  told env ROBUSTA_KILLS=100 ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" python3 tests/scripts/killed_snapshots_test.py
  result "$(grep ' kills, ' "$out" | paste -sd';' | sed 's/;/; /g')"
}

part_large() { # a model of more than 2 GiB: saved, restored, tested
  measured scripts/check_large_model.py --caffe "$caffe"
  result "$(tail -n 1 "$out")"
}

part_soak() { # a chain of jobs with a fault each minute, for ROBUSTA_SOAK_MINUTES (120), beside an undisturbed training
  local status=0 hosts=()
  CLUSTER_SH=${CLUSTER_SH:-$ROBUSTA_SHARED_DIR/cluster/cluster.sh}
  # As tests/cluster/ does: without hosts, or the right to make some, all ranks run on this one.
  if [ -x "$CLUSTER_SH" ] && [ "$(id -u)" -eq 0 ] && unshare --net --uts --mount true 2> /dev/null; then
    hosts=(--cluster "$CLUSTER_SH")
  fi
  mkdir -p "$ROOT/build-soak" # logs of faults that were named wrongly stay there
  measured scripts/soak.py --caffe "$caffe" --minutes "${ROBUSTA_SOAK_MINUTES:-120}" --keep "$ROOT/build-soak" \
    "${hosts[@]}" || status=$?
  result "$(tail -n 1 "$out")"
  return $status
}
