#!/usr/bin/env bash
# Makes the Debian package, installs it into a root of its own, starts what it brought, and removes it again. With
# ROBUSTA_CHROOT=yes that root is a fresh Debian (by debootstrap, from the network), in which apt installs what the
# package depends on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/fresh_root.sh"
needs cpack dpkg dpkg-deb dpkg-shlibdeps
[ "$(id -u)" -eq 0 ] || skip "dpkg --root needs root"
if grep -q '^ROBUSTA_SANITIZE:STRING=.' "$BUILD/CMakeCache.txt"; then skip "the build has sanitizers"; fi

suite=''
if [ "${ROBUSTA_CHROOT:-}" = yes ]; then
  needs debootstrap wget chroot unshare mount
  # The Debian of this machine: a package depends on the libraries that it was linked to.
  suite=$(. /etc/os-release && [ "$ID" = debian ] && echo "${VERSION_CODENAME:-}") || true
  [ -n "$suite" ] || skip "this machine is no Debian with a name"
  "${alone[@]}" true || skip "this machine lets nobody make namespaces"
fi

(cd "$BUILD" && quietly cpack -G DEB -B "$WORK/out")
package=$(find "$WORK/out" -maxdepth 1 -name 'robusta_*.deb')
[ -n "$package" ] || fail "cpack made no package"
dpkg-deb -I "$package" > "$WORK/info"
has 'Depends: .*libprotobuf' "$WORK/info"
lacks 'Depends: .*libgtest' "$WORK/info" "the package depends on tests"
has 'Conflicts: .*caffe-tools-cpu' "$WORK/info"
if grep -q '^ROBUSTA_OPENBLAS:FILEPATH=.*/openblas-openmp/' "$BUILD/CMakeCache.txt"; then
  has 'Depends: .*libopenblas0-openmp' "$WORK/info"
fi

module=$(find "$WORK/out" -maxdepth 1 -name 'python3-robusta_*.deb')
if [ -n "$module" ]; then
  echo "-- the Python module"
  dpkg-deb -I "$module" > "$WORK/info"
  has 'Depends: .*robusta \(= ' "$WORK/info"
  has 'Depends: .*python3-numpy' "$WORK/info"
  dpkg-deb -x "$package" "$WORK/both" && dpkg-deb -x "$module" "$WORK/both"
  # The environment of the tests of the module (tests/python/run.py), whatever numpy this machine has.
  python=$(PYTHONPATH=$ROOT/scripts python3 -c 'from robusta_readers import environments
print(environments.environment("pytest", make=False)[0])' 2> /dev/null) || python=''
  if [ -n "$python" ]; then
    cat > "$WORK/doubles.py" <<'PYTHON'
import caffe

class Doubles(caffe.Layer):
    def reshape(self, bottom, top):
        top[0].reshape(*bottom[0].shape)
    def forward(self, bottom, top):
        top[0].data[...] = 2 * bottom[0].data

if __name__ == "__main__":
    spec = caffe.NetSpec()
    spec.x = caffe.layers.Input(shape=dict(dim=[2, 3]))
    spec.y = caffe.layers.Python(spec.x, module="doubles", layer="Doubles")
    open("net.prototxt", "w").write(str(spec.to_proto()))
    net = caffe.Net("net.prototxt", caffe.TEST)
    net.blobs["x"].data[...] = 4
    assert (net.forward()["y"] == 8).all()
PYTHON
    export PYTHONPATH=$WORK/both/usr/lib/python3/dist-packages
    (cd "$WORK" && quietly "$python" doubles.py)
    echo "-- the interpreter in the program"
    unset PYTHONPATH
    (cd "$WORK" && VIRTUAL_ENV=${python%/bin/*} quietly "$WORK/both/usr/bin/caffe" time -model net.prototxt -iterations 1)
  else
    echo "   not imported: there is no environment of tests/python/run.py"
  fi
fi

root=$WORK/root
if [ -n "$suite" ]; then
  quietly "${alone[@]}" bash "$(dirname "$0")/fresh_debian.sh" "$root" "$package" "$suite" "$(mirror_of "$suite")"
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
left=$(cd "$root" && find . -path './usr/*robusta*' ! -type d)
[ -z "$left" ] || fail "left behind: $left"
[ ! -e "$root/usr/bin/caffe" ] || fail "caffe is left behind"
echo "$(basename "$package"): installed, started and removed"
