# shellcheck shell=bash
# kill -9 of every process of ours while a session prints: the machine and the session go on.

need_first

guest_pid() { # of "serve" in the machine
    "$hutch" exec first -u root -- sh -c 'for p in /proc/[0-9]*; do tr "\0" " " <$p/cmdline 2>/dev/null | grep -q "[h]utch-guest serve" && echo ${p#/proc/}; done' | head -1
}
worker_pid() { # the worker of this daemon
    local daemon=$1 p
    for p in /proc/[0-9]*; do
        [ "$(awk '/^PPid/ {print $2}' "$p/status" 2>/dev/null)" = "$daemon" ] && [ "$(cat "$p/comm" 2>/dev/null)" = hutch-worker ] && basename "$p"
    done | head -1
}
# starts a session that counts; leaves its id in $session
start_counter() {
    "$hutch" exec first -t -- sh -c 'i=0; while [ $i -lt 600 ]; do i=$((i+1)); echo "n=$i"; sleep 0.2; done' >/dev/null 2>&1 </dev/null &
    client=$!
    within 20 sh -c "'$hutch' sessions first --json | jq -r .state | grep -q running" || true
    session=$("$hutch" sessions first --json | jq -r 'select(.state=="running") | .id' | tail -1)
}
# prints what attach shows within some seconds, then leaves the session
look() { timeout "${1:-6}" "$hutch" attach first "$session" --raw </dev/null 2>/dev/null | tr -d '\r'; }
count_seen() { grep -c '^n=' <<<"$1"; }

start_counter
kill -9 "$client" 2>/dev/null
wait "$client" 2>/dev/null
seen=$(look 6)
if [ "$(count_seen "$seen")" -ge 5 ]; then pass "a killed client leaves the session attachable"; else fail "a killed client leaves the session attachable" "$seen"; fi

pid=$(daemon_pid)
kill -9 "$pid"
gives "hutchd killed: the next client starts one, ls is right" 0 "$hutch" ls
like "  … first runs" 'first +run' "$output"
seen=$(look 8)
like "  … attach shows what was printed meanwhile, from the start" '^n=1$' "$seen"
ok "  … commands work" "$hutch" exec first -- true

pid=$(worker_pid "$(daemon_pid)")
if [ -n "$pid" ]; then kill -9 "$pid" && pass "worker found and killed"; else fail "worker found and killed"; fi
if within 60 "$hutch" exec first -- true; then pass "  … it comes back by itself"; else fail "  … it comes back by itself"; fi
like "  … the session went on" '^n=1$' "$(look 8)"

pid=$(guest_pid)
if [ -n "$pid" ]; then "$hutch" exec first -u root -- kill -9 "$pid" >/dev/null 2>&1; pass "hutch-guest found and killed"; else fail "hutch-guest found and killed"; fi
if within 60 "$hutch" exec first -- true; then pass "  … it comes back by itself"; else fail "  … it comes back by itself"; fi
like "  … the session went on" '^n=1$' "$(look 8)"
numbers=$(look 8 | grep -o '^n=[0-9]*$' | cut -d= -f2)
is "  … no line is missing or twice" "$(seq "$(wc -l <<<"$numbers")")" "$numbers"

# 1 MiB of replay: the oldest goes first, the newest is all there
"$hutch" exec first -t -- sh -c 'seq 1 400000; sleep 300' >/dev/null 2>&1 </dev/null &
client=$!
within 60 sh -c "[ \"\$('$hutch' sessions first --json | jq -r .out_total | sort -n | tail -1)\" -ge 3088895 ]"
kill -9 "$client" 2>/dev/null
wait "$client" 2>/dev/null
session=$("$hutch" sessions first --json | jq -r 'select(.state=="running") | .id' | tail -1)
seen=$(look 10)
like "replay has the newest line" '^400000$' "$seen"
size=$(printf '%s' "$seen" | wc -c)
if [ "$size" -gt 700000 ] && [ "$size" -le 1200000 ]; then pass "replay is about 1 MiB"; else fail "replay is about 1 MiB" "$size bytes"; fi

# up killed at every step that hutchd records: listed with its true state, can be finished, can be removed
steps=$("$stage/hutchd" --crash-steps 2>/dev/null)
if [ -n "$steps" ]; then pass "hutchd tells its steps"; else fail "hutchd tells its steps"; fi
tried=0
for crash in $(grep '^up\.' <<<"$steps"); do
    kill -9 "$(daemon_pid)" 2>/dev/null
    HUTCH_CRASH_AT=$crash timeout 300 "$hutch" up crash --repo "$work/app" --memory 1G >/dev/null 2>&1 </dev/null
    listed=$("$hutch" ls --json | jq -r 'select(.name=="crash") | .state')
    if [ -z "$listed" ]; then
        # killed before the project was recorded: the name must be free
        listed=free
    fi
    if timeout 300 "$hutch" up crash --repo "$work/app" --memory 1G >"$work/up.log" 2>&1 </dev/null &&
        [ "$("$hutch" exec crash -- git rev-parse HEAD 2>/dev/null)" = "$(git -C app rev-parse HEAD)" ]; then
        pass "up killed at $crash (listed: $listed), finished by up"
    else
        fail "up killed at $crash (listed: $listed), finished by up" "$(cat "$work/up.log")"
    fi
    tried=$((tried + 1))
    timeout 120 "$hutch" rm crash --yes --discard-work >/dev/null 2>&1 </dev/null || fail "rm after $crash"
    [ "${HUTCH_TEST_ALL:-}" ] || [ $tried -lt 4 ] || break # each is a boot; all of them with HUTCH_TEST_ALL=1, and all with the fake VM in unit tests
done
