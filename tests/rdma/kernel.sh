#!/bin/bash
# Unpacks Debian's stock kernel of the package file DEB into DIR and makes the guests' first root
# (busybox and the modules for 9p, virtio and soft RoCE). Nothing is installed on this machine.
#   kernel.sh DEB DIR
set -euo pipefail

deb=$1
dir=$2
here=$(cd "$(dirname "$0")" && pwd)
export PATH=$PATH:/sbin:/usr/sbin

rm -rf "$dir"
mkdir -p "$dir"
dpkg-deb --fsys-tarfile "$deb" | tar x -C "$dir" --wildcards './boot/vmlinuz-*' \
    './lib/modules/*/modules.*' \
    './lib/modules/*/kernel/'{arch,crypto,fs,lib,net,drivers/{infiniband,net,virtio}}'/*'
version=$(basename "$dir"/lib/modules/*)
depmod -b "$dir" "$version"

# The uncompressed kernel boots without a BIOS: several seconds less than to unpack it emulated.
image=$dir/boot/vmlinuz-$version
offset=$(LC_ALL=C grep -abo -P '\xFD7zXZ\x00' "$image" | head -n 1 | cut -d: -f1 || true)
[ -z "$offset" ] ||
    tail -c +$((offset + 1)) "$image" | xz -dc >"$dir/vmlinux" 2>"$dir/xz.log" || true
head -c 4 "$dir/vmlinux" 2>/dev/null | grep -q ELF || cp "$image" "$dir/vmlinux"

root=$dir/initrd
modules=lib/modules/$version
mkdir -p "$root"/{bin,proc,sys,dev,mnt,"$modules"}
cp "$(command -v busybox)" "$root/bin/busybox"
for module in virtio_pci virtio_net 9pnet_virtio 9p overlay rdma_rxe ib_uverbs crc32_generic \
    crc32c_generic crc32_pclmul crc32c_intel; do
    modprobe -d "$dir" -S "$version" --show-depends "$module" | awk '$1 == "insmod" { print $2 }'
done | LC_ALL=C sort -u | while read -r file; do
    file=${file#*/"$modules"/}
    mkdir -p "$root/$modules/$(dirname "$file")"
    cp "$dir/$modules/$file" "$root/$modules/$file"
done
cp "$dir/$modules"/modules.{order,builtin,builtin.modinfo} "$root/$modules/"
depmod -b "$root" "$version"
cp "$here/init" "$root/init"
chmod +x "$root/init"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) | gzip -1 >"$dir/initrd.gz"
rm -rf "${root:?}" "${dir:?}/lib" "${dir:?}/boot"
