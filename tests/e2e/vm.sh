#!/usr/bin/env bash
# vm.sh BUILD BASE: one machine through src/vm and nothing else of hutch: BUILD is the build folder, BASE a folder with
# disk.qcow2, kernel and initrd. As root on qemu:///system, else on qemu:///session. TAP.
set -uo pipefail
build=$(readlink -f "${1:?usage: vm.sh BUILD BASE}")
base=$(readlink -f "${2:?usage: vm.sh BUILD BASE}")
# shellcheck source=tests/e2e/lib.sh
. "$(dirname "$(readlink -f "$0")")/lib.sh"
[ -r "$base/kernel" ] || { echo "1..0 # SKIP no base in $base"; exit 77; }
export HUTCH_QEMU_WRAPPER=$build/hutch-qemu VM_MEMORY=${VM_MEMORY:-512} VM_EXTRA='vm_guest=count'
if [ "$(id -u)" = 0 ]; then
    uri=qemu:///system run=/run/libvirt/qemu
    folder=$(mktemp -d /var/tmp/vm.XXXXXX)
else
    uri=qemu:///session run=$XDG_RUNTIME_DIR/libvirt/qemu/run
    folder=$(mktemp -d "$HOME/vm.XXXXXX")
fi
chmod 711 "$folder"
drive() { timeout 180 "$build/tests/e2e/vm_driver" "$folder" "$@"; }
finish() {
    drive destroy >/dev/null 2>&1
    drive undefine >/dev/null 2>&1
    rm -rf "$folder"
}
trap finish EXIT
says() { grep -aqE "$1" "$folder/console.log"; }
is_now() { drive info | grep -q " $1 "; }
count() { grep -a '^COUNT' "$folder/console.log" | tail -1 | tr -dc 0-9; }
counts_on() { [ "$(count)" -gt "$1" ]; }
anew() { drive destroy >/dev/null; rm -rf "$folder/layers" "$folder/base" "$folder/memory.save"; drive create "$base" "$build/tests/e2e/vm_guest" >/dev/null; drive define >/dev/null; }

part "start"
ok "a layer and an initrd are made" drive create "$base" "$build/tests/e2e/vm_guest"
ok "it is defined" drive define
name=$(drive info | awk '/^[0-9a-f-]* hutch-drv/{print $2}')
owner=$(stat -c %U "$base/disk.qcow2" "$base/kernel")
ok "it starts paused" drive start paused
ok "it is paused" is_now paused
ok "QEMU has the layers open that it should" drive check
ok "it goes on" drive resume
ok "the stand-in of hutch-guest is process 1" within 600 says '^UP pid=1 /run/hutch/bin/hutch-guest'
like "it is in the list" "$name running" "$(drive list)"

part "confinement"
pid=$(cat "$run/$name.pid")
is "no new privileges" 1 "$(awk '/^NoNewPrivs/{print $2}' "/proc/$pid/status")"
is "two filters: ours and QEMU's" 2 "$(awk '/^Seccomp_filters/{print $2}' "/proc/$pid/status")"
unlike "another network" "^$(readlink /proc/self/ns/net)$" "$(readlink "/proc/$pid/ns/net")"
like "no core" 'Max core file size +0 +0' "$(cat "/proc/$pid/limits")"
like "QEMU's own sandbox" '^-sandbox on' "$(tr '\0' ' ' <"/proc/$pid/cmdline" | grep -o -- '-sandbox on')"
unlike "the list is not passed on" HUTCH_CONFINE "$(tr '\0' '\n' <"/proc/$pid/environ")"
unlike "no device but the few" 'dev: (.*fdc|.*ahci|.*ide|i8042|ps2|.*usb|.*vga|e1000|virtio-net|rtl)' \
    "$(virsh -c $uri qemu-monitor-command "$name" --hmp 'info qtree')"

part "pause and resume"
cycle=$(drive cycle 20)
like "20 times" 'pause [0-9]+ us resume [0-9]+ us' "$cycle"
echo "# slowest: $(head -1 <<<"$cycle")"
seen=$(count)
ok "it counts on" within 30 counts_on "${seen:-0}"

part "save and wake"
seen=$(count)
ok "saved" drive save
ok "it is off" is_now off
is "no process is left" no "$([ -e "/proc/$pid" ] && echo yes || echo no)"
ok "woken, paused" drive restore paused
ok "its layers are right" drive check
ok "it goes on" drive resume
ok "it counts on from there" within 30 counts_on "$seen"
gives "an image with another machine's name is not woken" 1 \
    env HUTCH_QEMU_WRAPPER="$HUTCH_QEMU_WRAPPER" sh -c "mkdir -p $folder/other && cp -r $folder/layers $folder/base $folder/initrd $folder/other/ && cp $folder/memory.save $folder/other/ && timeout 60 $build/tests/e2e/vm_driver $folder/other restore"
like "and it says so" 'another machine' "$output"

part "managed save"
ok "planted" virsh -c $uri managedsave "$name"
like "it is seen" managed_save=1 "$(drive info)"
like "it is dropped and said" dropped "$(drive start)"
ok "a cold start" within 600 says '^UP pid=1'
ok "a layer on top, live" virsh -c $uri snapshot-create-as "$name" --disk-only --atomic --no-metadata \
    --diskspec "vda,file=$folder/layers/2.qcow2,driver=qcow2" x
gives "another chain than ours is seen" 1 drive check
like "and named" "$folder/layers/2.qcow2" "$output"
ok "ended" drive destroy
ok "ended twice" drive destroy
ok "defined as before" drive define
is "the base belongs to whom it did" "$owner" "$(stat -c %U "$base/disk.qcow2" "$base/kernel")"

part "failures"
ok "a bad processor is defined" env VM_CPU_MODEL=NoSuch "$build/tests/e2e/vm_driver" "$folder" define
gives "and refused at the start" 1 drive start
like "with the reason" 'NoSuch' "$output"
is_off_now=$(drive info)
like "it is off" ' off ' "$is_off_now"
ok "defined well" drive define
mv "$folder/initrd" "$folder/initrd.away"
gives "without its initrd" 1 drive start
like "it names the file" "$folder/initrd" "$output"
mv "$folder/initrd.away" "$folder/initrd"
ok "defined with too much memory" env VM_MEMORY=900000 "$build/tests/e2e/vm_driver" "$folder" define
gives "too much memory" 1 drive start
echo "# $output" | tail -2

part "restart and switch off from inside"
VM_EXTRA='vm_guest=restart' anew
ok "it starts" drive start
ok "it switches itself off in the end" within 900 is_now off
like "after a second start" 'START 2' "$(cat "$folder/console.log")"

part "a flood on the console"
VM_EXTRA='vm_guest=spam' anew
ok "it starts" drive start
ok "12 MB are written" within 900 says '^SPAM DONE'
like "at most 9 MB are kept" '^[0-8]$' "$(($(cat "$folder"/console.log* | wc -c) / 1048576))"
pid=$(cat "$run/$name.pid")
ok "ended" drive destroy
is "no process is left" no "$([ -e "/proc/$pid" ] && echo yes || echo no)"
ok "removed" drive undefine
like "it is not there" ' absent ' "$(drive info)"
ok "removed twice" drive undefine
printf '1..%d\n' "$tap_count"
[ "$tap_failed" = 0 ]
