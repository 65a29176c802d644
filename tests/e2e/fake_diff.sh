#!/bin/bash
# Two points of a disk compared, and files out of an old one, with the fake host: the machines write nothing, so the test writes
# into their layers what a machine would have.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"
PATH=$PATH:/usr/sbin:/sbin
for tool in mke2fs debugfs qemu-io; do
    command -v "$tool" >/dev/null || { echo "1..0 # SKIP $tool is missing"; exit 77; }
done

id() { api GET /v1/projects/box | jq -r .id; }
# A base with an ext4 file system.
make_disk() {
    mkdir -p "$home/tree/etc" "$home/tree/home/agent/work"
    echo box >"$home/tree/etc/hostname"
    printf 'int a;\nint b;\n' >"$home/tree/home/agent/work/a.c"
    echo secret >"$home/tree/etc/shadow"
    chmod 600 "$home/tree/etc/shadow"
    mke2fs -q -F -t ext4 -b 4096 -I 256 -J size=4 -d "$home/tree" "$home/0.raw" 65536k >/dev/null
    qemu-img convert -f raw -O qcow2 "$home/0.raw" "$1"
    qemu-img resize -q -f qcow2 "$1" 8G
}
# write_layer NUMBER OLD NEW: what differs between two raw images into a layer.
write_layer() {
    local cluster
    cmp -l "$2" "$3" | awk '{print int(($1 - 1) / 65536)}' | uniq | while read -r cluster; do
        dd if="$3" of="$home/piece" bs=64k skip="$cluster" count=1 2>/dev/null
        qemu-io -f qcow2 -c "write -q -s $home/piece $((cluster * 65536)) 65536" "$home/data/projects/$(id)/disk/$1.qcow2" >/dev/null
    done
}
snaps() { api GET /v1/projects/box/snapshots | jq -r .snap | paste -sd' '; }
diff_of() { api GET "/v1/projects/box/diff?$1"; }
files() { diff_of "$1" | jq -r 'select(.kind == "file") | "\(.change) \(.path)"' | paste -sd,; }

start_daemon
make_base
make_disk "$(find "$home/data/bases" -name disk.qcow2)"
up box >/dev/null
is "a machine" run "$(state box)"
is "nothing has changed since it was made" 0 "$(diff_of "from=base&to=now" | jq -s '[.[] | select(.kind == "file")] | length')"
is "a snapshot was taken of what runs" @1 "$(snaps)"
is "by itself" "call false" "$(api GET /v1/projects/box/snapshots/@1 | jq -r '"\(.cause) \(.kept)"')"

cp "$home/0.raw" "$home/1.raw"
printf 'int a;\nint c;\n' >"$home/a.c"
printf 'rm /home/agent/work/a.c\nwrite %s /home/agent/work/a.c\nwrite %s /etc/new\nrm /etc/shadow\n' "$home/a.c" "$home/a.c" |
    debugfs -w -f - "$home/1.raw" >/dev/null 2>&1
for place in /etc /home/agent/work /home/agent/work/a.c; do echo "sif $place mtime 20300101000000"; done |
    debugfs -w -f - "$home/1.raw" >/dev/null 2>&1
write_layer 1 "$home/0.raw" "$home/1.raw"
want="added /etc/new,removed /etc/shadow,changed /home/agent/work/a.c"
is "what runs, against the last snapshot" "$want" "$(files "")"
is "which made one more" "@1 @2" "$(snaps)"
is "two snapshots" "$want" "$(files "from=@1&to=@2")"
is "the other way round" "removed /etc/new,added /etc/shadow,changed /home/agent/work/a.c" "$(files "from=@2&to=@1")"
is "the same twice" "" "$(files "from=@2&to=@2")"
is "the head counts" "1 1 1" "$(diff_of "from=@1&to=@2" | jq -r 'select(.kind == "diff") | "\(.added) \(.changed) \(.removed)"')"
is "the lines of a file" '[" int a;","-int b;","+int c;"]' \
    "$(diff_of "from=@1&to=@2&path=/home/agent/work/a.c" | jq -c 'select(.lines) | .lines')"
is "one that is nowhere" not-found "$(diff_of "from=@1&to=@2&path=/none" | jq -r .error.code)"
is "no such snapshot" not-found "$(diff_of "from=@9" | jq -r .error.code)"
is "no point" invalid "$(diff_of "from=yesterday" | jq -r .error.code)"
is "no full path" invalid "$(diff_of "from=@1&to=@2&path=a.c" | jq -r .error.code)"

before=$(snaps)
api POST /v1/projects/box/stop -d '{"force":true}' >/dev/null
is "what is off is read as it is" "$want" "$(files "from=@1&to=now")"
is "without a snapshot" "$before" "$(snaps)"

# Out of an old point.
is "a file as it was" "int b;" "$(api GET "/v1/projects/box/files?path=/home/agent/work/a.c&at=@1" | tail -n1)"
is "what it is" "regular 7 384" \
    "$(api GET "/v1/projects/box/files/stat?path=/etc/shadow&at=@1" | jq -r '"\(.type) \(.size) \(.mode)"')"
is "it is not there later" not-found "$(api GET "/v1/projects/box/files/stat?path=/etc/shadow&at=@2" | jq -r .error.code)"
like "copying it is on record" "/etc/shadow" "$(api GET '/v1/events?kind=file' | jq -r .subject; "$build/hutch" cp box@1:/etc/shadow "$home/old" 2>&1; api GET '/v1/events?kind=file' | jq -r .subject)"
is "cp takes it" secret "$(cat "$home/old")"
ok "cp of a folder" "$build/hutch" cp box@1:/home/agent/work "$home/work"
is "is whole" "int a; int b;" "$(paste -sd' ' "$home/work/a.c")"
like "nothing goes in" "cannot be changed" "$("$build/hutch" cp "$home/a.c" box@1:/etc/x 2>&1)"

# The command.
like "diff for a person" '^M /home/agent/work/a\.c' "$("$build/hutch" diff box@1 @2 2>&1)"
like "with a head" '^1 added, 1 changed, 1 removed, 0 renamed$' "$("$build/hutch" diff box@1 @2 2>&1)"
like "and of a text" '^\+int c;' "$("$build/hutch" diff box@1 @2 work/a.c 2>&1)"
is "as JSON" "diff file file file" "$("$build/hutch" diff --json box@1 @2 | jq -r .kind | paste -sd' ')"
is "from the base" 3 "$("$build/hutch" diff --json --base box | jq -r 'select(.kind == "file").path' | wc -l)"

# A layer that is damaged.
dd if=/dev/zero of="$home/data/projects/$(id)/disk/2.qcow2" bs=64k count=1 conv=notrunc 2>/dev/null
is "a damaged layer is said" corrupt "$(diff_of "from=@1&to=now" | jq -r .error.code)"
is "hutchd goes on" off "$(state box)"
the_end
