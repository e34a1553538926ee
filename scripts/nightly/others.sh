# Beside the programs and files of others.
# Sourced by nightly.sh, which says what holds for parts.
# shellcheck shell=bash
# shellcheck disable=SC2154  # out, caffe, work: nightly.sh sets them

part_zoo() { # nets of the zoo learn a few samples by heart, and published nets whole
  local status=0 small
  measured scripts/learn_zoo.py --caffe "$caffe" || status=$?
  small=$(tail -n 1 "$out")
  measured scripts/learn_wholes.py --tools "$(dirname "$caffe")" || status=$?
  result "$small; $(tail -n 1 "$out")"
  return $status
}

part_oracle() { # trainings go on in the real Caffe where ours stop, and the other way round
  local status=0
  measured scripts/check_oracle.py --tools "$(dirname "$caffe")" || status=$?
  [ "$status" -ne 77 ] || skip "$(sed -n 's/^SKIPPED: //p' "$out")"
  result "$(tail -n 1 "$out")"
  return $status
}

part_readers() { # other programs that read caffemodels compute what we compute; the rules of deploy are theirs
  local status=0 nets ruled
  measured scripts/check_readers.py --tools "$(dirname "$caffe")" || status=$?
  [ "$status" -ne 77 ] || skip "$(sed -n 's/^SKIPPED: //p' "$out")"
  nets=$(tail -n 1 "$out")
  measured scripts/check_readers.py --rules --tools "$(dirname "$caffe")" || status=$?
  ruled=$(tail -n 1 "$out")
  local recorded="no recordings in $ROBUSTA_SHARED_DIR/golden"
  if [ -d "$ROBUSTA_SHARED_DIR/golden" ]; then
    measured scripts/check_readers.py --recordings "$ROBUSTA_SHARED_DIR/golden" --readers opencv,mnn,openvino,ncnn,tpu-mlir \
      --tools "$(dirname "$caffe")" || status=$?
    recorded=$(tail -n 1 "$out")
  fi
  result "nets: $nets; rules: $ruled; recordings: $recorded"
  return $status
}

part_onnx() { # export and import of ONNX beside onnxruntime, and of models as PyTorch exports them
  local status=0 name python test outcomes=
  for test in export_onnx import_operators_onnx import_onnx; do
    name=onnx
    [ "$test" != import_onnx ] || name=torch # gigabytes, which the others do without
    if ! python=$(PYTHONPATH=scripts python3 -m robusta_readers.environments "$name" 2>&1); then
      echo "-- $test is left out: $python"
      continue
    fi
    echo "-- $test"
    told env ROBUSTA_ONNX_PYTHON="$python" ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" PYTHONPATH=scripts \
      "$python" "tests/scripts/${test}_test.py" || status=$?
    outcomes+="${outcomes:+; }$test: $(sed -n 's/^Ran \([0-9]* tests\{0,1\}\) in .*/\1/p' "$out")"
    outcomes+=", $(grep -E '^(OK|FAILED)( |$)' "$out" || echo "no outcome")"
  done
  [ -n "$outcomes" ] || skip "neither onnxruntime nor PyTorch can be had here"
  result "$outcomes"
  return $status
}

part_launchers() { # ranks that PyTorch's torchrun starts, and Slurm by PMIx
  local status=0 python torchrun
  if python=$(PYTHONPATH=scripts python3 -m robusta_readers.environments torch 2>&1); then
    told env PATH="$(dirname "$python"):$PATH" ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" python3 \
      tests/scripts/torchrun_test.py || status=$?
    torchrun="$(sed -n 's/^Ran \([0-9]* tests\) in .*/\1/p' "$out"), $(grep -E '^(OK|FAILED)( |$)' "$out" || echo "no outcome")"
  else
    torchrun="left out: $python"
  fi
  told env ROBUSTA_TOOLS_DIR="$(dirname "$caffe")" bash tests/cluster/slurm_test.sh || [ $? -eq 77 ] || status=1
  result "torchrun: $torchrun; Slurm: $(grep -E '^[0-9]+ checks,|^SKIPPED' "$out" || echo "no outcome")"
  return $status
}
