#!/bin/sh
# Starts a program of a bundle (scripts/make_bundle.sh): every name in bin/ is a link to this file. Sets the path of the
# libraries that came with it and looks for CUDA's own, which did not: in the folders of LD_LIBRARY_PATH, in toolkits, and
# in the packages of Python environments. Without them caffe is started in its build for CPUs. Needs nothing but a shell.
#
#   ROBUSTA_CUDA_LIBS       folders, separated by colons, that hold CUDA's libraries: looked into first
#   ROBUSTA_SHOW_LIBRARIES  when set, the folders are printed and nothing is started
set -eu

name=$(basename -- "$0")
root=$(dirname -- "$(dirname -- "$(readlink -f -- "$0")")")

# list FILE: the words of a file of the bundle, if there is one.
list() { tr '\n' ' ' < "$root/lib/$1" 2> /dev/null || true; }

users=$(list cuda_programs)  # programs that name libraries of CUDA,
needed=$(list cuda_needed)   # these,
helpful=$(list cuda_helpful) # and others that those load when they want them

# The glibc that the programs were linked with.
check_glibc() {
  want=$(cat "$root/lib/glibc" 2> /dev/null || true)
  have=$(getconf GNU_LIBC_VERSION 2> /dev/null | sed 's/^glibc //' || true)
  [ -n "$want" ] && [ -n "$have" ] || return 0
  oldest=$(printf '%s\n%s\n' "$want" "$have" | sort -t. -k1,1n -k2,2n | head -n 1)
  [ "$oldest" = "$want" ] && return 0
  echo "$name: this bundle needs glibc $want, and this machine has $have; make a bundle on an older system" >&2
  exit 9
}

# Folders where packages of Python lie, one a line.
python_folders() {
  for prefix in "${VIRTUAL_ENV:-}" "${CONDA_PREFIX:-}" "${HOME:-}/.local" /usr/local /usr; do
    [ -n "$prefix" ] || continue
    for folder in "$prefix"/lib/python3*/site-packages "$prefix"/lib/python3*/dist-packages; do
      [ ! -d "$folder/nvidia" ] || echo "$folder"
    done
  done
  command -v python3 > /dev/null 2>&1 || return 0
  python3 -c 'import sys; print("\n".join(p for p in sys.path if p.endswith("-packages")))' 2> /dev/null || true
}

# Places: lines of folders, separated by colons, that belong together; the best first.
places() {
  [ -z "${ROBUSTA_CUDA_LIBS:-}" ] || echo "$ROBUSTA_CUDA_LIBS"
  [ -z "${LD_LIBRARY_PATH:-}" ] || echo "$LD_LIBRARY_PATH"
  for toolkit in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /usr/local/cuda-*; do
    [ -z "$toolkit" ] || [ ! -d "$toolkit/lib64" ] || echo "$toolkit/lib64"
  done
  python_folders | while read -r packages; do
    place=
    for folder in "$packages"/nvidia/*/lib; do
      [ ! -d "$folder" ] || place=$place${place:+:}$folder
    done
    [ -z "$place" ] || echo "$place"
  done
  echo "/usr/lib/x86_64-linux-gnu:/usr/lib64:/usr/lib/aarch64-linux-gnu"
}

# folder_with LIBRARY PLACE: the first folder of the place that holds the library.
folder_with() (
  IFS=:
  for folder in $2; do
    if [ -n "$folder" ] && [ -e "$folder/$1" ]; then
      echo "$folder"
      return 0
    fi
  done
  return 1
)

# add FOLDER: appends it to $found, once.
add() {
  case ":$found:" in
    *":$1:"*) ;;
    *) found=$found${found:+:}$1 ;;
  esac
}

# search PLACE: sets $found to the folders of the needed libraries and $missing to those that it lacks.
search() {
  found='' missing=''
  for library in $needed; do
    if folder=$(folder_with "$library" "$1"); then add "$folder"; else missing="$missing $library"; fi
  done
  for library in $helpful; do
    if folder=$(folder_with "$library" "$1"); then add "$folder"; fi
  done
}

# Sets $cuda to the folders of CUDA's libraries: of one place that has them all, else from all places together. Libraries
# of different releases do not always work together.
find_cuda() {
  all=$(places)
  old_ifs=$IFS
  IFS='
'
  set -f
  # shellcheck disable=SC2086  # a word per line
  set -- $all
  set +f
  IFS=$old_ifs
  for place in "$@"; do
    search "$place"
    [ -n "$missing" ] || break
  done
  if [ -n "$missing" ]; then search "$(echo "$all" | tr '\n' ':')"; fi
  cuda=$found
}

check_glibc
cuda='' missing=''
program=$root/libexec/$name
case " $users " in
  *" $name "*) find_cuda ;;
esac
if [ -n "$missing" ]; then
  case "$name $* " in
    *_test\ * | *" -gpu"* | *" --gpu"* | *" device_query "*)
      echo "$name: GPUs cannot be used: these libraries of CUDA were not found:$missing." \
        "Install the CUDA toolkit with cuDNN, or name their folders in ROBUSTA_CUDA_LIBS" >&2
      ;;
  esac
  [ -x "${program}_host" ] || exit 9
  program=${program}_host
fi
# Those of the bundle first: the system may have others of the same name.
libraries=$root/lib${cuda:+:$cuda}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
if [ -n "${ROBUSTA_SHOW_LIBRARIES:-}" ]; then
  printf '%s\n%s\n' "$program" "$libraries"
  exit 0
fi
[ -x "$program" ] || { echo "$name: $program is missing; unpack the bundle again" >&2; exit 1; }
LD_LIBRARY_PATH=$libraries
export LD_LIBRARY_PATH
exec "$program" "$@"
