#!/bin/bash
# SPDX-License-Identifier: BSL-1.0
# Runs test programs under a complete cgroup v2 hierarchy, in a small virtual machine that is thrown away.
#   run_in_guest.sh CACHE PROGRAM... [-- FILE...]
# FILEs are programs that the others start, as /tests/FILE.
# CACHE keeps the kernel between calls (26 MB to fetch, 9 MB kept). Needs no root and leaves this machine's boot alone.
# Exit code: 0 when every program gave 0; the first other code, 1 where that is 77: nothing lacks there; 77 with the reason when there is
# no emulator or no kernel; 124 when the guest ran out of time (RATION_GUEST_SECONDS, 100 if unset).
set -euo pipefail

skip() { echo "skipped: $*"; exit 77; }
[ $# -ge 2 ] || { echo "usage: $0 CACHE PROGRAM..." >&2; exit 2; }
cache=$1; shift
for tool in qemu-system-x86_64 busybox cpio; do
    command -v "$tool" >/dev/null || skip "no $tool here: apt-get install --no-install-recommends qemu-system-x86 busybox-static cpio"
done
[ "$(uname -m)" = x86_64 ] || skip "the guest is an x86-64 machine"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
mkdir -p "$cache"

# The distribution's kernel for virtual machines: fetched and unpacked, not installed.
fetch_kernel() {
    local meta package
    for meta in linux-image-cloud-amd64 linux-image-virtual; do
        package=$(apt-cache depends "$meta" 2>/dev/null | sed -n 's/^ *Depends: *\(linux-image-[0-9][^ ]*\)$/\1/p' | head -n 1)
        [ -n "$package" ] && (cd "$work" && apt-get download -qq "$package" >/dev/null 2>&1) && break
    done
    local files=("$work"/linux-image-*.deb)
    [ -e "${files[0]}" ] || return 1
    dpkg --fsys-tarfile "${files[0]}" | tar -x -O --wildcards './boot/vmlinuz-*' > "$work/vmlinuz" && [ -s "$work/vmlinuz" ]
    mv "$work/vmlinuz" "$cache/vmlinuz"
    rm -f "${files[0]}"
}
[ -s "$cache/vmlinuz" ] || fetch_kernel || skip "no kernel for the guest: apt-get cannot download linux-image-cloud-amd64"

# The guest's whole file system: busybox, the programs, and the libraries that they name.
root=$work/root
mkdir -p "$root"/{bin,proc,sys,dev,tmp,tests}
cp "$(command -v busybox)" "$root/bin/busybox"
for applet in sh mount cat poweroff; do ln -s busybox "$root/bin/$applet"; done
{
    echo '#!/bin/sh'
    echo 'mount -t proc proc /proc; mount -t sysfs sysfs /sys; mount -t devtmpfs dev /dev'
    echo 'mount -t cgroup2 cgroup2 /sys/fs/cgroup; cd /tmp; code=0'
} > "$root/init"
runs=true
for program in "$@"; do
    if [ "$program" = -- ]; then runs=false; continue; fi
    name=$(basename "$program")
    strip -o "$root/tests/$name" "$program" 2>/dev/null || cp "$program" "$root/tests/$name"
    for library in $(ldd "$program" 2>/dev/null | grep -o '/[^ ]*\.so[^ ]*' || true); do
        mkdir -p "$root$(dirname "$library")"
        cp -L "$library" "$root$library"
    done
    $runs || continue
    echo "echo '== $name'; /tests/$name --durations yes; now=\$?; [ \$now = 77 ] && now=1; [ \$code = 0 ] && code=\$now" >> "$root/init"
done
echo 'echo "guest-exit-code $code"; poweroff -f' >> "$root/init"
chmod +x "$root/init"
(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0 | gzip -1) > "$work/initrd"

# Without hardware support everywhere: emulation is slow and always there.
run_guest() {
    timeout -k 5 "${RATION_GUEST_SECONDS:-100}" qemu-system-x86_64 -M pc -nodefaults -no-user-config -no-reboot -display none \
        -serial stdio -accel tcg,thread=multi -cpu max -smp 2 -m 512 -kernel "$cache/vmlinuz" -initrd "$work/initrd" \
        -append "console=ttyS0 quiet loglevel=3 panic=-1 tsc=reliable random.trust_cpu=on" </dev/null | tr -d '\r' | tee "$work/log"
}

# An emulated processor sometimes stops forever: a guest without an exit code gets one more start, and the output reports it.
for attempt in 1 2; do
    status=0
    run_guest || status=$?
    code=$(sed -n 's/^guest-exit-code \([0-9]*\)$/\1/p' "$work/log" | tail -n 1)
    if [ -n "$code" ]; then exit "$code"; fi
    echo "the guest gave no exit code (emulator: $status, start $attempt of 2)" >&2
done
[ "$status" = 124 ] && exit 124
exit 1
