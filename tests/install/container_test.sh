#!/usr/bin/env bash
# Does in a fresh Debian what packaging/container/Containerfile does in its image, and starts there what engines start: by
# the image's user, through its entry point. Wants the network: ROBUSTA_CHROOT=yes, as deb_test.sh. $ROBUSTA_DEB may name
# the package; else it is made.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fresh_root.sh"
[ "${ROBUSTA_CHROOT:-}" = yes ] || skip "a fresh Debian comes from the network (ROBUSTA_CHROOT=yes)"
needs debootstrap wget chroot unshare mount ip python3
[ "$(id -u)" -eq 0 ] || skip "this wants root"
"${alone[@]}" true || skip "this machine lets nobody make namespaces"
suite=$(sed -n 's/^ARG DEBIAN=debian:\([a-z]*\)-slim$/\1/p' "$ROOT/packaging/container/Containerfile")
[ -n "$suite" ] || fail "the container file names no Debian"
if [ -z "${ROBUSTA_DEB:-}" ]; then
  needs cpack dpkg-deb dpkg-shlibdeps
  (cd "$BUILD" && quietly cpack -G DEB -B "$WORK/out")
  ROBUSTA_DEB=$(find "$WORK/out" -maxdepth 1 -name 'robusta_*.deb')
fi
"${alone[@]}" bash "$(dirname "$0")/fresh_container.sh" "$WORK/root" "$ROBUSTA_DEB" "$suite" "$(mirror_of "$suite")" \
  > "$WORK/log" 2>&1 || { tail -n 40 "$WORK/log" >&2 && fail "the container file's steps"; }
tail -n 1 "$WORK/log"
