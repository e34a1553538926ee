#!/usr/bin/env bash
# Checks that the C++ sources are formatted by .clang-format; --fix formats them. Needs clang-format 14, because other
# versions format differently; without it the check is skipped and says so.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

formatter=''
for candidate in clang-format-14 clang-format; do
  if command -v "$candidate" > /dev/null && "$candidate" --version | grep -q 'version 14\.'; then
    formatter=$candidate
    break
  fi
done
if [ -z "$formatter" ]; then
  echo "SKIPPED: format check, clang-format 14 is not installed (Debian package clang-format-14)"
  exit 0
fi

mapfile -t files < <(find src include tools tests data -name '*.h' -o -name '*.cpp' | sort)
if [ "${1:-}" = --fix ]; then
  "$formatter" -i "${files[@]}"
elif ! "$formatter" --dry-run --Werror "${files[@]}"; then
  fail "some files are not formatted; scripts/check_format.sh --fix formats them"
else
  echo "format: ${#files[@]} files are right"
fi
