#!/usr/bin/env bash
# Installs wheels of the Python module as their users do, and trains LeNet with them: in an environment of each Python
# that they are for, and in a bare Debian 12 without compilers and libraries, which debootstrap makes and which is gone
# afterwards.
#
#   scripts/check_wheel.sh [WHEEL...]
#
# Without a WHEEL, scripts/make_wheel.sh makes those of Python 3.11 and of the newest Python here. $ROBUSTA_BUILD, or
# build/, has the programs that draw the digits. Exit code 77: this machine has no means for it.
set -euo pipefail
# shellcheck disable=SC1091  # they are here
. "$(dirname "$0")/lib.sh"
cd "$ROOT"
. tests/install/fresh_root.sh
[ "${1:-}" != --help ] || { sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" && exit 0; }

skip() {
  echo "SKIPPED: $*"
  exit 77
}

# interpreters: those of Python 3.11 and later, each as its version and its path.
interpreters() {
  local minor path
  for minor in 14 13 12 11; do
    for path in "$(command -v "python3.$minor" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3."$minor".*/bin/python3; do
      # What was found may be a script that finds no interpreter.
      [ -z "$path" ] || ! "$path" -c 'import sysconfig, venv' > /dev/null 2>&1 || { echo "3.$minor $path" && break; }
    done
  done
}
# python_for WHEEL: an interpreter of the Python that it is for.
python_for() {
  local minor=${1##*-cp3}
  minor=${minor%%-*}
  interpreters | awk -v version="3.$minor" '$1 == version { print $2; exit }'
}

if [ $# -eq 0 ]; then
  pythons=()
  for version in 3.11 "$(interpreters | head -n 1 | cut -d' ' -f1)"; do
    path=$(interpreters | awk -v version="$version" '$1 == version { print $2 }')
    [ -n "$path" ] || skip "there is no Python $version"
    [[ " ${pythons[*]} " == *" $path "* ]] || pythons+=("$path")
  done
  scripts/make_wheel.sh --output build-wheel/checked "${pythons[@]}"
  set -- build-wheel/checked/*.whl
fi

work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
material=$work/material
data/digits/create.sh
mkdir -p "$material/data"
cp -r models "$material"
cp -r data/digits "$material/data"
cp tests/install/wheel_lenet.py "$material"
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-2}

bare='' # the wheel for the Python of Debian 12
for wheel in "$@"; do
  phase "$(basename "$wheel")"
  [[ $wheel != *-cp311-* ]] || bare=$wheel
  python=$(python_for "$wheel")
  [ -n "$python" ] || fail "there is no interpreter for $wheel"
  environment=$work/$(basename "$wheel" .whl)
  "$python" -m venv "$environment"
  run "pip" "$environment/bin/pip" install -q "$wheel"
  (cd "$material" && env -u PYTHONPATH "$environment/bin/python" wheel_lenet.py)
done

[ -n "$bare" ] || fail "a bare Debian 12 wants the wheel of Python 3.11"
phase "a bare Debian 12"
for program in debootstrap chroot unshare mount; do
  command -v "$program" > /dev/null || skip "$program is not installed"
done
{ [ "$(id -u)" -eq 0 ] && "${alone[@]}" true; } || skip "this wants root, and namespaces"
run "pip" "$work/$(basename "$bare" .whl)/bin/pip" download -q --only-binary :all: -d "$work/wheels" "$bare"
"${alone[@]}" bash tests/install/fresh_debian_wheel.sh "$work/root" "$work/wheels" bookworm "$(mirror_of bookworm)" \
  "$material" | tee "$work/log"
end_phase
echo "$# wheels, at most $(ls -l "$@" | awk '$5 > most { most = $5 } END { printf "%.1f MB", most / 1e6 }'); in a bare Debian 12: $(tail -n 1 "$work/log")"
