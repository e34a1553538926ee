#!/usr/bin/env bash
# Installs the Debian packages that Robusta needs. Does nothing when all are there; can be run again at any time.
#
#   scripts/install_deps.sh [--tests] [--ci]
#
#   --tests   also what the tests need
#   --ci      also what the checks of CI need
set -euo pipefail
. "$(dirname "$0")/lib.sh"

packages=(
  g++ cmake ninja-build pkg-config
  protobuf-compiler libprotobuf-dev
  libdnnl-dev libopenblas-openmp-dev
  liblmdb-dev libhdf5-dev libgoogle-glog-dev libgflags-dev
  libjpeg62-turbo-dev libpng-dev libwebp-dev
  libopenmpi-dev openmpi-bin
  python3 # ddlrun, the mpirun for Intel MPI's options, and other scripts
)
for option in "$@"; do
  case $option in
    --tests) packages+=(libgtest-dev libleveldb-dev ccache iproute2 make dpkg-dev python3-venv
                        python3-dev pybind11-dev python3-yaml) ;;
    --ci) packages+=(clang libclang-rt-14-dev clang-format-14 chromium) ;;
    *) fail "unknown option $option (known: --tests, --ci)" ;;
  esac
done

if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
  echo "This is no Debian-like system, so nothing is installed. Needed, under Debian's names:"
  printf '  %s\n' "${packages[@]}"
  exit 0
fi

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2> /dev/null)" = installed ]; }
missing=()
for package in "${packages[@]}"; do
  is_installed "$package" || missing+=("$package")
done

if [ ${#missing[@]} -eq 0 ]; then
  echo "all ${#packages[@]} packages are installed"
else
  echo "installing ${#missing[@]} packages: ${missing[*]}"
  as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo > /dev/null || fail "this needs root: run it as root, or install sudo"
    echo "(as root, by sudo)"
    as_root=(sudo)
  fi
  apt() {
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
      apt-get -q -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 "$@"
  }
  # Without package lists nothing can be found; with old ones a file may have gone.
  apt update || echo "apt-get update failed; going on with the package lists that are here" >&2
  apt install -y --no-install-recommends "${missing[@]}" ||
    fail "apt-get could not install: ${missing[*]} (see above); check the network and /etc/apt/sources.list"
fi

# The pthread build of OpenBLAS brings a second thread pool that spins on the cores of oneDNN's OpenMP threads. Our
# build links the OpenMP one by path, so the system's choice is left alone.
current=$(readlink -f "/usr/lib/$(uname -m)-linux-gnu/libopenblas.so.0" || true)
case $current in
  *openblas-openmp* | '') ;;
  *)
    echo "note: the default OpenBLAS here is $current; Robusta links the OpenMP build beside it. To make that the"
    echo "      default of all programs: update-alternatives --config libopenblas.so.0-$(uname -m)-linux-gnu"
    ;;
esac
