# shellcheck shell=bash
# What QEMU and the worker can reach, and how much memory they hold.

need_first
daemon=$(daemon_pid)
id=$("$hutch" show first --json | jq -r .id)
qemu=$(for p in /proc/[0-9]*; do grep -aq "guest=hutch-first-$id" "$p/cmdline" 2>/dev/null && [ "$(cat "$p/comm")" != hutch ] && basename "$p"; done | head -1)
worker=$(for p in /proc/[0-9]*; do [ "$(awk '/^PPid/ {print $2}' "$p/status" 2>/dev/null)" = "$daemon" ] && [ "$(cat "$p/comm")" = hutch-worker ] && basename "$p"; done | head -1)
if [ -n "$qemu" ] && [ -n "$worker" ]; then pass "QEMU and the worker are found"; else fail "QEMU and the worker are found" "qemu=$qemu worker=$worker"; fi
is "QEMU: no new privileges" 1 "$(awk '/^NoNewPrivs/ {print $2}' "/proc/$qemu/status")"
is "QEMU: seccomp filter" 2 "$(awk '/^Seccomp:/ {print $2}' "/proc/$qemu/status")"
if [ "$(readlink "/proc/$qemu/ns/net")" != "$(readlink /proc/self/ns/net)" ]; then pass "QEMU: a network namespace of its own"; else fail "QEMU: a network namespace of its own"; fi
is "QEMU: with nothing in it but lo" lo "$(awk -F: 'NR > 2 {gsub(/ /, "", $1); print $1}' "/proc/$qemu/net/dev")"
is "QEMU: no core dumps" 0 "$(awk '/^Max core file size/ {print $5}' "/proc/$qemu/limits")"
is "worker: no new privileges" 1 "$(awk '/^NoNewPrivs/ {print $2}' "/proc/$worker/status")"
is "worker: seccomp filter" 2 "$(awk '/^Seccomp:/ {print $2}' "/proc/$worker/status")"

private() { awk '/^RssAnon/ {print $2}' "/proc/$1/status"; } # the worker cannot be looked into further: it is not dumpable
# 256 MiB each way (1 GiB with HUTCH_TEST_ALL=1): memory stays bounded
size=$((256 * 1024 * 1024))
[ -z "${HUTCH_TEST_ALL:-}" ] || size=$((1024 * 1024 * 1024))
is "$((size >> 20)) MiB out" "$size" "$("$hutch" exec first -- head -c $size /dev/zero | wc -c)"
is "$((size >> 20)) MiB in" "$size" "$(head -c $size /dev/zero | "$hutch" exec first -- wc -c | tr -d ' ')"
peak() { awk '/^VmHWM/ {print $2}' "/proc/$1/status"; }
if [ "$(private "$worker")" -lt 4096 ]; then pass "worker under 4 MB private after that"; else fail "worker under 4 MB private after that" "$(private "$worker") kB"; fi
if [ "$(private "$daemon")" -lt 15360 ]; then pass "hutchd under 15 MB private after that"; else fail "hutchd under 15 MB private after that" "$(private "$daemon") kB"; fi
if [ "$(peak "$worker")" -lt 40000 ] && [ "$(peak "$daemon")" -lt 120000 ]; then pass "peaks are bounded"; else fail "peaks are bounded" "worker $(peak "$worker") kB, hutchd $(peak "$daemon") kB"; fi

# a guest that is gone without a word
ok "a guest that powers itself off" "$hutch" exec first -u root -- sh -c 'nohup sh -c "sleep 1; systemctl poweroff" >/dev/null 2>&1 &'
if within 180 is_state first off; then pass "  … is off"; else fail "  … is off" "$(state first)"; fi
ok "  … and starts again" "$hutch" start first
