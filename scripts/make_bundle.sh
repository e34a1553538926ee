#!/usr/bin/env bash
# Makes a tarball that trains on machines where nothing is installed: programs, the libraries they need, models and
# scripts. CUDA's own libraries are left out; bin/caffe finds them at run time (scripts/bundle_launcher.sh) and uses the
# CPU where there are none. For one host: without MPI.
#
#   scripts/make_bundle.sh [--arch LIST] [--tests] [--build FOLDER] [--output FOLDER]
#
#   --arch LIST      GPUs to make machine code for, as in ROBUSTA_CUDA_ARCHITECTURES (default all)
#   --tests          the test programs as well, as a .tar.xz; run them by bin/run_tests in the unpacked folder
#   --build FOLDER   where to build (default build/bundle)
#   --output FOLDER  where to put the tarball (default the build folder)
set -euo pipefail
. "$(dirname "$0")/lib.sh"
cd "$ROOT"

arch=all tests=OFF folder=build/bundle output=
while [ $# -gt 0 ]; do
  case $1 in
    --arch) arch=${2:?--arch wants a list} && shift ;;
    --tests) tests=ON ;;
    --build) folder=${2:?--build wants a folder} && shift ;;
    --output) output=${2:?--output wants a folder} && shift ;;
    -h | --help) sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" && exit 0 ;;
    *) fail "unknown option $1; see scripts/make_bundle.sh --help" ;;
  esac
  shift
done
output=${output:-$folder}
most=60000000 # bytes: small enough to be carried to a machine for a short visit

# Those of GPUs, kernels and NCCL: they need no file of the source tree and no other program.
test_programs=(device_test ops_test layers_test golden_test solver_test)
programs=(caffe compute_image_mean convert_annoset convert_cifar_data convert_imageset convert_mnist_data
  convert_mnist_siamese_data create_label_map get_image_size make_digits
  upgrade_net_proto_binary upgrade_net_proto_text upgrade_solver_proto_text)

version=$(sed -n 's/^project(robusta VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=robusta-$version-linux-$(uname -m)

phase "1/3 build in $folder"
configure "$folder" -DCMAKE_BUILD_TYPE=Release -DROBUSTA_MPI=OFF -DROBUSTA_UNITY=ON -DROBUSTA_TESTS=$tests \
  "-DROBUSTA_CUDA_ARCHITECTURES=$arch"
has_cuda=$(grep -q '^-- CUDA: toolkit' "$folder/configure.log" && echo yes || echo no)
targets=("${programs[@]}")
[ "$has_cuda" = no ] || targets+=(caffe_host)
[ "$tests" = OFF ] || targets+=("${test_programs[@]}")
build "$folder" "${targets[@]}"

phase "2/3 gathering $name"
bundle=$folder/$name
rm -rf "$bundle"
mkdir -p "$bundle"/{bin,lib,libexec,build}

# put PROGRAM: a stripped copy, and a link to the launcher in its name.
put() {
  strip -o "$bundle/libexec/$1" "$2"
  ln -s launch "$bundle/bin/$1"
}
for program in "${programs[@]}"; do put "$program" "$folder/tools/$program"; done
[ "$has_cuda" = no ] || strip -o "$bundle/libexec/caffe_host" "$folder/tools/caffe_host"
if [ "$tests" = ON ]; then
  for program in "${test_programs[@]}"; do put "$program" "$folder/tests/$program"; done
  cp scripts/bundle_tests.sh "$bundle/bin/run_tests"
fi
cp scripts/bundle_launcher.sh "$bundle/bin/launch"

# Of glibc only what is there on every system; of CUDA nothing.
is_glibc() { case $1 in ld-linux* | libc.so* | libm.so* | libdl.so* | libpthread.so* | librt.so* | libutil.so* | libresolv.so*) ;; *) false ;; esac }
is_cuda() { case $1 in libcu* | libnccl* | libnv*) ;; *) false ;; esac }

# What the programs load when they need it: names and files.
late_libraries() {
  grep -aoh 'libhdf5[a-z_]*\.so\.[0-9]*' "$bundle"/libexec/* | sort -u | while read -r library; do
    /sbin/ldconfig -p | awk -v name="$library" '$1 == name && !seen++ { print name, $NF }'
  done
}
# Names of the libraries that the programs load, directly or not, with their files.
libraries() {
  {
    late_libraries
    late_libraries | while read -r _ file; do ldd "$file"; done | awk '$2 == "=>" { print $1, $3 }'
    for program in "$bundle"/libexec/*; do ldd "$program"; done | awk '$2 == "=>" { print $1, $3 }'
  } | sort -u
}
missing=$(libraries | awk '$2 == "not" { print $1 }')
while read -r library file; do
  is_glibc "$library" || is_cuda "$library" || [ "$file" = not ] || cp -L "$file" "$bundle/lib/$library"
done < <(libraries)
for library in $missing; do is_cuda "$library" || fail "the library $library is not found on this machine"; done

# What the launcher has to look for, and what glibc is the oldest that serves.
objdump -p "$bundle"/libexec/* | awk '$1 == "NEEDED" { print $2 }' | sort -u | while read -r library; do
  ! is_cuda "$library" || echo "$library"
  # The rest of cuDNN lies beside it, and without that it ends the program.
  case $library in libcudnn.so.*) echo "libcudnn_graph${library#libcudnn}" ;; esac
done > "$bundle/lib/cuda_needed"
toolkit=$(sed -n 's/^libcublas\.so\.//p' "$bundle/lib/cuda_needed")
# cuDNN compiles some kernels when they are first used; NCCL is for several GPUs.
printf 'libnvrtc.so.%s\nlibnvrtc.so\nlibnccl.so.2\n' "$toolkit" > "$bundle/lib/cuda_helpful"
for program in "$bundle"/libexec/*; do
  ! objdump -p "$program" | grep -q 'NEEDED *libcudnn' || basename "$program"
done > "$bundle/lib/cuda_programs"
objdump -T "$bundle"/libexec/* "$bundle"/lib/*.so* | grep -o 'GLIBC_[0-9.]*' | sed 's/GLIBC_//' |
  sort -u -t. -k1,1n -k2,2n | tail -n 1 > "$bundle/lib/glibc"

cp LICENSE README.md "$bundle"
# What git does not know has been made here: data sets, snapshots.
mapfile -t files < <(git ls-files models scripts data docs 2> /dev/null | grep -v '\.\(cpp\|h\)$' || true)
[ "${#files[@]}" -gt 0 ] || fail "this is no git checkout: the files to bundle are not known"
tar -c "${files[@]}" | tar -x -C "$bundle"
ln -s ../bin "$bundle/build/tools" # where scripts and docs/ expect the programs

phase "3/3 packing"
mkdir -p "$output"
pack=(gzip -9) tarball=$output/$name.tar.gz
# Six programs are made of much the same code. Matches that reach from one into all others make a quarter of gzip's size;
# the filter for calls of x86 would write the same code differently in each of them.
[ "$tests" = OFF ] || pack=(xz "--lzma2=preset=6,dict=384MiB") tarball=$output/$name.tar.xz
tar -C "$folder" --owner=0 --group=0 --numeric-owner -c "$name" | "${pack[@]}" > "$tarball"
end_phase
size=$(stat -c %s "$tarball")
printf '%s: %d.%d MB, %s\n' "$tarball" $((size / 1000000)) $((size % 1000000 / 100000)) \
  "$([ "$has_cuda" = yes ] && echo "GPUs: $arch" || echo "no GPUs: CUDA was not found")"
[ "$size" -le "$most" ] || fail "the tarball is larger than $((most / 1000000)) MB; name fewer GPUs with --arch"
