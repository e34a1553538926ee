#!/usr/bin/env bash
# Runs programs of a build on an emulated processor whose vector instructions this one lacks. Bochs
# (https://bochs.sourceforge.io) emulates a whole machine exactly, and about a hundred times as slowly.
#
#   scripts/emulated_cpu/run.sh MODEL -- COMMAND...
#
#   MODEL    avx512  Skylake-X: AVX-512, nothing for 16 bits
#            bf16    the same and AVX512_BF16, as Zen 4 has it
#            amx     the same, AVX512_BF16 and AMX; for one program at a time, since Bochs seems to lose tiles when
#                    others take their turn
#   COMMAND  one line for bash, run in the root of the sources with build/tools in PATH. The machine has the tests and
#            tools of the build, the sources, and what they load from this system; what it writes is lost.
#
#   EMULATED_KERNEL  the unpacked package of a kernel of Debian, linux-image-*-cloud-amd64-unsigned of 6.1 or later:
#                    apt-get download it, dpkg-deb -x FILE FOLDER
#   BOCHS            the program (default: from PATH), 3.0 or later, configured with --enable-avx --enable-evex
#                    --enable-amx --enable-x86-64 --enable-all-optimizations --with-nogui; for bf16 and amx made from
#                    sources with bochs.patch, which says why
#   BXSHARE          its folder with BIOS-bochs-latest and VGABIOS-lgpl-latest.bin
#   ROBUSTA_BUILD    folder of the build (default: build/)
#   EMULATED_MEMORY  in MiB (default 2048)
#   EMULATED_SECONDS when the machine is ended, whatever it does (default 3600)
#
# Needs isolinux, xorriso, busybox-static and e2fsprogs. Shows what the command writes, and exits with its status; with
# 125 when the machine did not get as far or was ended, and with 77 when something that it takes is missing.
set -euo pipefail
# shellcheck disable=SC1091  # lib.sh is beside this folder
. "$(dirname "$0")/../lib.sh"
here=$(realpath "$(dirname "$0")")
lacking() { echo "SKIPPED: $*" && exit 77; }

if [ $# -lt 3 ] || [ "$2" != -- ]; then fail "usage: run.sh avx512|bf16|amx -- COMMAND..."; fi
case $1 in
  avx512) cpu="model=corei7_skylake_x" ;;
  bf16) cpu="model=corei7_skylake_x, add_features=\"avx512vnni avx512bf16\"" ;;
  amx) cpu="model=corei7_skylake_x, add_features=\"avx512vnni avx512bf16 amx amx_int8 amx_bf16\"" ;;
  *) fail "unknown processor $1 (known: avx512, bf16, amx)" ;;
esac
shift 2

build=$(realpath "${ROBUSTA_BUILD:-$ROOT/build}") bochs=${BOCHS:-bochs}
command -v "$bochs" > /dev/null || lacking "Bochs is not installed"
bios=${BXSHARE:-$(dirname "$(command -v "$bochs")")/../share/bochs}
vmlinuz=$(find "${EMULATED_KERNEL:-/nowhere}" -path '*/boot/vmlinuz-*' 2> /dev/null | head -n 1 || true)
[ -n "$vmlinuz" ] || lacking "EMULATED_KERNEL names no folder with boot/vmlinuz-*"
for tool in xorriso mkfs.ext4; do command -v $tool > /dev/null || lacking "$tool is not installed"; done
isolinux=/usr/lib/ISOLINUX/isolinux.bin ldlinux=/usr/lib/syslinux/modules/bios/ldlinux.c32 busybox=$(command -v busybox || true)
for file in "$bios/BIOS-bochs-latest" "$isolinux" "$ldlinux" "$busybox"; do
  [ -f "$file" ] || lacking "there is no ${file:-busybox}"
done

work=$(mktemp -d) machine=
# Bochs in the background is ours to end, however this script ends.
trap '[ -z "$machine" ] || kill "$machine" 2> /dev/null || true; rm -rf "$work"' EXIT

# The disk: the same paths as here, so that what is compiled in holds.
disk=$work/root
mkdir -p "$disk"/{proc,sys,dev,tmp,root,bin,etc,lib64} "$disk$ROOT"
(cd "$ROOT" && git ls-files -z | xargs -0 cp --parents -t "$disk$ROOT")
programs=()
for program in "$build"/tests/*_test "$build"/tools/*; do
  [ ! -f "$program" ] || [ ! -x "$program" ] || programs+=("$program")
done
[ ${#programs[@]} -gt 0 ] || fail "there are no programs in $build"
cp --parents "${programs[@]}" /bin/bash "$disk"
if [ -d "${ROBUSTA_SHARED_DIR:-}" ]; then cp -r --parents "$(realpath "$ROBUSTA_SHARED_DIR")" "$disk"; fi
ldd "${programs[@]}" /bin/bash | sed -n 's|.*[[:blank:]]\(/[^ ]*\) (0x.*|\1|p' | sort -u | xargs cp -L --parents -t "$disk"
[ -e "$disk/bin/bash" ] || cp /bin/bash "$disk/bin/bash"
cp "$busybox" "$disk/bin/busybox"
for name in $("$busybox" --list); do [ -e "$disk/bin/$name" ] || ln -s busybox "$disk/bin/$name"; done
echo 'root:x:0:0:root:/root:/bin/bash' > "$disk/etc/passwd"
echo '127.0.0.1 localhost emulated' > "$disk/etc/hosts"
cat > "$disk/job" << JOB
export PATH=$build/tools:/bin:/usr/bin HOME=/root USER=root OMP_NUM_THREADS=1 ROBUSTA_TOOLS_DIR=$build/tools
export ROBUSTA_SHARED_DIR=$(realpath "${ROBUSTA_SHARED_DIR:-/}")
cd $ROOT
$*
JOB
truncate -s "$(($(du -sm "$disk" | cut -f1) + 512))M" "$work/disk.img"
mkfs.ext4 -q -F -O ^has_journal -d "$disk" "$work/disk.img"
rm -rf "$disk"

# What is booted: the kernel, and init with the modules that it takes to reach the disk.
mkdir -p "$work"/boot "$work"/init/{bin,proc,sys,dev,disk,modules}
cp "$busybox" "$work/init/bin/busybox"
cp "$here/init" "$work/init/init"
chmod +x "$work/init/init"
for module in scsi_common scsi_mod libata ata_piix sd_mod; do
  find "$EMULATED_KERNEL" -name "$module.ko" -exec cp {} "$work/init/modules" \;
done
(cd "$work/init" && find . | "$busybox" cpio -o -H newc 2> /dev/null) > "$work/boot/initrd"
cp "$vmlinuz" "$work/boot/vmlinuz"
cp "$isolinux" "$ldlinux" "$work/boot"
cat > "$work/boot/isolinux.cfg" << CFG
default linux
prompt 0
label linux
  kernel vmlinuz
  append initrd=initrd console=ttyS0 loglevel=4 mitigations=off nokaslr random.trust_cpu=on tsc=reliable lapic=notscdeadline
CFG
xorriso -as mkisofs -quiet -o "$work/boot.iso" -b isolinux.bin -c boot.cat -no-emul-boot -boot-load-size 4 \
  -boot-info-table "$work/boot" 2> "$work/iso.log" || fail "no boot image: $(tail -n 1 "$work/iso.log")"

cat > "$work/bochsrc" << BOCHSRC
display_library: nogui
cpu: $cpu, count=1, ips=100000000, reset_on_triple_fault=0
megs: ${EMULATED_MEMORY:-2048}
romimage: file="$bios/BIOS-bochs-latest"
vgaromimage: file="$bios/VGABIOS-lgpl-latest.bin"
pci: enabled=1, chipset=i440fx
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata1: enabled=1, ioaddr1=0x170, ioaddr2=0x370, irq=15
ata0-master: type=disk, path="$work/disk.img", mode=flat
ata1-master: type=cdrom, path="$work/boot.iso", status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev="$work/serial"
clock: sync=none
log: "$work/log"
panic: action=fatal
BOCHSRC
: > "$work/serial"
timeout "${EMULATED_SECONDS:-3600}" "$bochs" -q -f "$work/bochsrc" < /dev/null > "$work/out" 2>&1 &
machine=$!
tail -n +1 --pid="$machine" -f "$work/serial" | stdbuf -oL tr -d '\r'
wait "$machine" || true
machine=
status=$(tr -d '\r' < "$work/serial" | sed -n 's/^emulated: status \([0-9]*\)$/\1/p' | tail -n 1)
[ -n "$status" ] || { tail -n 5 "$work/log" "$work/out" >&2 && echo "the emulated machine did not end its job" >&2; }
exit "${status:-125}"
