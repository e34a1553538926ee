# A minimal Debian in a folder: source this file.
# shellcheck shell=bash

# mirror_of SUITE: from where this machine gets it.
mirror_of() {
  local found
  # shellcheck disable=SC2016  # apt-get replaces these
  found=$(apt-get indextargets --format '$(CODENAME) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v suite="$1" '$1 == suite && $2 == "main" && !seen++ { print $3 }') || true
  echo "${found:-http://deb.debian.org/debian}"
}

# What a script that calls fresh_root is to be started with: mounts and processes of the fresh system are then nobody
# else's, and end with it however it ends.
alone=(unshare --mount --propagation private --pid --fork --kill-child)

# fresh_root ROOT SUITE MIRROR [PACKAGE]...: makes ROOT, with these packages beside those that Debian cannot be without.
fresh_root() {
  local root=$1 suite=$2 mirror=$3 packages=("${@:4}")
  [ "$$" -eq 1 ] || { echo "this wants a namespace of its own" >&2 && exit 1; }
  export DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
  unset TMPDIR # a folder that the fresh system need not have
  # Without certificates apt could not go on from an https mirror.
  [[ $mirror != https:* ]] || packages+=(ca-certificates)
  debootstrap --variant=minbase ${packages:+--include="$(IFS=, && echo "${packages[*]}")"} "$suite" "$root" "$mirror" \
    > "$root.log" 2>&1 || {
    tail -n 20 "$root.log" "$root/debootstrap/debootstrap.log" >&2
    exit 1
  }
  # Nothing that is installed starts a service.
  printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  mount -t proc proc "$root/proc"
}
