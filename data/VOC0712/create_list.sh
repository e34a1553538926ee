#!/usr/bin/env bash
# Lists the images of PASCAL VOC 2007 and 2012 with their boxes, as SSD trains on them: data/VOC0712/trainval.txt (both
# years' trainval, in an order that is mixed and always the same), test.txt (2007's) and test_name_size.txt (for
# name_size_file).
#
#   data/VOC0712/create_list.sh [FOLDER with VOC2007 and VOC2012, else ~/data/VOCdevkit]
#
# Years and sets that are not there are left out; without any it fails.
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
devkit=${1:-$HOME/data/VOCdevkit}
[ -d "$devkit" ] || fail "$devkit is not there: unpack VOCtrainval and VOCtest there, or name the folder"
devkit=$(cd "$devkit" && pwd)
here=$ROOT/data/VOC0712
sizes=$(tool get_image_size)

# Lines "YEAR/JPEGImages/ID.jpg YEAR/Annotations/ID.xml" of the sets YEAR:SET that there are.
pairs() {
  local set year ids
  for set in "$@"; do
    year=${set%:*} ids=$devkit/${set%:*}/ImageSets/Main/${set#*:}.txt
    [ -f "$ids" ] || continue
    awk -v year="$year" 'NF { printf "%s/JPEGImages/%s.jpg %s/Annotations/%s.xml\n", year, $1, year, $1 }' "$ids"
  done
}

mkdir -p "$here"
pairs VOC2007:trainval VOC2012:trainval | sort -R --random-source=<(yes robusta) > "$here/trainval.txt"
pairs VOC2007:test > "$here/test.txt"
[ -s "$here/trainval.txt" ] || [ -s "$here/test.txt" ] || fail "$devkit has neither VOC2007 nor VOC2012"
rm -f "$here/test_name_size.txt"
if [ -s "$here/test.txt" ]; then
  run "sizes of the test images" "$sizes" "$devkit/" "$here/test.txt" "$here/test_name_size.txt"
fi
echo "listed $(wc -l < "$here/trainval.txt") images for training, $(wc -l < "$here/test.txt") for testing"
