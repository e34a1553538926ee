# What leaves this tree: packages, wheels, the bundle for a GPU.
# Sourced by nightly.sh, which says what holds for parts.
# shellcheck shell=bash
# shellcheck disable=SC2154  # out, caffe, work: nightly.sh sets them

part_deb() { # the Debian package in a fresh Debian, with what it depends on
  measured env ROBUSTA_CHROOT=yes ROBUSTA_BUILD_DIR="$ROBUSTA_BUILD" bash tests/install/deb_test.sh
  result "$(tail -n 1 "$out")"
}

part_container() { # what the container file does, in a fresh Debian: the image's user, signals, ssh between ranks
  measured env ROBUSTA_CHROOT=yes ROBUSTA_BUILD_DIR="$ROBUSTA_BUILD" bash tests/install/container_test.sh
  result "$(tail -n 1 "$out")"
}

part_wheel() { # wheels for two Pythons train LeNet, in environments and in a bare Debian
  local status=0
  measured scripts/check_wheel.sh || status=$?
  [ "$status" -ne 77 ] || skip "$(sed -n 's/^SKIPPED: //p' "$out")"
  result "$(tail -n 1 "$out")"
  return $status
}

part_gpu_visit() { # the bundle that is carried to a GPU, its size, and the visits with it on a fake one
  local visit=$work/visit name
  command -v xz > /dev/null || skip "xz is not installed"
  measured scripts/gpu_visit/prepare.sh "$visit"
  local size
  size=$(tail -n 1 "$out")
  for name in A B C D E; do
    TMPDIR=$work OUT=$work/gpu measured sh "$visit/start.sh" "$name" --rehearse --seconds 3600
    cp "$work/gpu/visit.tar.gz" "$visit"
  done
  result "$size; all visits rehearsed"
}
