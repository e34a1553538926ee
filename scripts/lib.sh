# Helpers of the shell scripts: source this file. It defines ROOT, the project's folder, and changes nothing else.
# shellcheck shell=bash
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
export ROOT

# say TEXT...: one line that stands out.
say() { printf '\n== %s\n' "$*"; }

# fail TEXT...: what failed and what to do about it; ends the script.
fail() {
  printf '\n%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# run WHAT COMMAND...: runs the command; on failure says which part failed.
run() {
  local what=$1
  shift
  "$@" || fail "$what failed (exit code $?): $*"
}

# Every phase announces itself and, when the next begins, how long it took.
PHASE_NAME='' PHASE_START=0
end_phase() {
  [ -z "$PHASE_NAME" ] || printf -- '-- %s: %d s\n' "$PHASE_NAME" $((SECONDS - PHASE_START))
  PHASE_NAME=''
}
phase() {
  end_phase
  PHASE_NAME=$* PHASE_START=$SECONDS
  say "$PHASE_NAME"
}

# tool NAME: path of one of our programs, from $ROBUSTA_BUILD or build/.
tool() {
  local path="${ROBUSTA_BUILD:-$ROOT/build}/tools/$1"
  [ -x "$path" ] || fail "$path is not built; build first (scripts/quickstart.sh does), or set ROBUSTA_BUILD"
  printf '%s\n' "$path"
}

# check_md5 FILE SUM: true when the file has this checksum.
check_md5() { [ "$(md5sum < "$1" | cut -d' ' -f1)" = "$2" ]; }

# fetch NAME SUM TARGET SOURCE...: puts the file NAME into folder TARGET from the first source (a folder or the
# beginning of a URL) that has it with the right MD5 sum.
fetch() {
  local name=$1 sum=$2 target=$3 source
  shift 3
  if [ -f "$target/$name" ] && check_md5 "$target/$name" "$sum"; then
    echo "$name: already here, checksum right"
    return
  fi
  for source in "$@"; do
    rm -f "$target/$name.part"
    case $source in
      http://* | https://*)
        echo "$name: downloading from $source"
        if command -v curl > /dev/null; then
          curl -fL --retry 2 --connect-timeout 20 -o "$target/$name.part" "$source/$name" || continue
        elif command -v wget > /dev/null; then
          wget -q --tries=2 --timeout=20 -O "$target/$name.part" "$source/$name" || continue
        else
          fail "neither curl nor wget is installed; install one, or give the folder that holds $name"
        fi
        ;;
      *)
        [ -f "$source/$name" ] || continue
        cp "$source/$name" "$target/$name.part"
        ;;
    esac
    if check_md5 "$target/$name.part" "$sum"; then
      mv "$target/$name.part" "$target/$name"
      echo "$name: checksum right"
      return
    fi
    echo "$name from $source: wrong checksum, not used" >&2
  done
  rm -f "$target/$name.part"
  fail "$name was found nowhere with MD5 $sum (looked in: $*)"
}
