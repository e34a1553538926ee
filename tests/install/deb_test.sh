#!/usr/bin/env bash
# Makes the Debian package, installs it into a root of its own, starts what it brought, and removes it again. With
# ROBUSTA_CHROOT=yes that root is a fresh Debian (by debootstrap, from the network), in which apt installs what the
# package depends on.
. "$(dirname "$0")/lib.sh"
needs cpack dpkg dpkg-deb dpkg-shlibdeps
[ "$(id -u)" -eq 0 ] || skip "dpkg --root needs root"
if grep -q '^ROBUSTA_SANITIZE:STRING=.' "$BUILD/CMakeCache.txt"; then skip "the build has sanitizers"; fi

(cd "$BUILD" && quietly cpack -G DEB -B "$WORK/out")
package=$(find "$WORK/out" -maxdepth 1 -name '*.deb')
[ -n "$package" ] || fail "cpack made no package"
dpkg-deb -I "$package" > "$WORK/info"
has 'Depends: .*libprotobuf' "$WORK/info"
lacks 'Depends: .*libgtest' "$WORK/info" "the package depends on tests"
has 'Conflicts: .*caffe-tools-cpu' "$WORK/info"

root=$WORK/root
if [ "${ROBUSTA_CHROOT:-}" = yes ]; then
  needs debootstrap chroot
  quietly debootstrap --variant=minbase bookworm "$root"
  cp "$package" "$root/tmp/robusta.deb"
  quietly chroot "$root" apt-get install -y --no-install-recommends /tmp/robusta.deb
  quietly chroot "$root" caffe device_query
  quietly chroot "$root" apt-get remove -y robusta
else
  mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info"
  touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"
  # The root holds no shell: the package's scripts run outside of it, where all that they call is this ldconfig.
  mkdir "$WORK/bin" && ln -s /bin/true "$WORK/bin/ldconfig"
  export PATH=$WORK/bin:$PATH
  quietly dpkg --root="$root" --force-script-chrootless --force-depends --log="$WORK/dpkg.log" -i "$package"
  quietly "$root/usr/bin/caffe" --version
  quietly dpkg --root="$root" --force-script-chrootless --log="$WORK/dpkg.log" -r robusta
fi
left=$(find "$root/usr" -path '*robusta*' ! -type d 2> /dev/null || true)
[ -z "$left" ] || fail "left behind: $left"
[ ! -e "$root/usr/bin/caffe" ] || fail "caffe is left behind"
echo "$(basename "$package"): installed, started and removed"
