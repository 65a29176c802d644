# shellcheck shell=bash
# pause, resume, suspend, wake; the managed-save trap; starts that fail.

need_first
domain() { virsh -q -c "qemu:///$mode" list --all --name | grep "^hutch-$1-" | head -1; }
virsh_state() { virsh -q -c "qemu:///$mode" domstate "$(domain "$1")" 2>/dev/null | head -1; }

bad=0 slow=0
for i in $(seq 20); do
    before=$(now_ms)
    "$hutch" pause first >/dev/null 2>&1 || bad=$((bad + 1))
    [ $(($(now_ms) - before)) -lt 1000 ] || slow=$((slow + 1))
    [ "$(virsh_state first)" = paused ] || bad=$((bad + 1))
    if [ $((i % 5)) = 0 ]; then kill -9 "$(daemon_pid)"; fi
    [ "$(state first)" = paused ] || bad=$((bad + 1))
    "$hutch" resume first >/dev/null 2>&1 || bad=$((bad + 1))
    [ "$(virsh_state first)" = running ] && [ "$(state first)" = run ] || bad=$((bad + 1))
done
is "pause and resume 20 times, hutchd killed in between: always libvirt's state" 0 "$bad"
is "  … and quick" 0 "$slow"
ok "  … the machine works" "$hutch" exec first -- true
"$hutch" pause first >/dev/null
gives "exec on a paused machine says so instead of hanging" 125 timeout 10 "$hutch" exec first -- true
like "  … and the way out" 'resume' "$output"
"$hutch" resume first >/dev/null

# memory to disk and back, with a program running
"$hutch" exec first -t -- sh -c 'i=0; while :; do i=$((i+1)); echo $i >/tmp/count; sleep 0.2; done' >/dev/null 2>&1 </dev/null &
client=$!
within 20 "$hutch" exec first -- test -s /tmp/count
ok "suspend" "$hutch" suspend first
kill -9 "$client" 2>/dev/null
wait "$client" 2>/dev/null
is "  … is saved" saved "$(state first)"
is "  … no QEMU is left" "shut off" "$(virsh_state first)"
kill -9 "$(daemon_pid)" 2>/dev/null
is "  … still, after hutchd was killed" saved "$(state first)"
ok "start wakes it" "$hutch" start first
one=$("$hutch" exec first -- cat /tmp/count)
if within 15 sh -c "[ \"\$('$hutch' exec first -- cat /tmp/count)\" -gt '${one:-0}' ]"; then pass "  … the program goes on where it was"; else fail "  … the program goes on where it was" "$one"; fi
skew=$(($(date +%s) - $("$hutch" exec first -- date +%s)))
if [ "${skew#-}" -le 3 ]; then pass "  … the clock is right"; else fail "  … the clock is right" "off by $skew s"; fi

# a foreign managed-save image on the same disk that has moved on
name=$(domain first)
virsh -q -c "qemu:///$mode" managedsave "$name" >/dev/null 2>&1
like "a managed-save image is planted" 'yes' "$(virsh -c "qemu:///$mode" dominfo "$name" | grep 'Managed save')"
gives "start with a foreign managed-save image" 0 "$hutch" start first
like "  … it is gone" 'no' "$(virsh -c "qemu:///$mode" dominfo "$name" | grep 'Managed save')"
ok "  … the machine works" "$hutch" exec first -- true

# starts that fail say why
gives "more memory than the host has: refused with the numbers" 1 "$hutch" up huge --memory 900G
like "  … named" '900|G' "$output"
"$hutch" rm huge --yes >/dev/null 2>&1
before=$(now_ms)
"$hutch" ls >/dev/null
[ $(($(now_ms) - before)) -lt 1000 ] && pass "ls answers within 1 s" || fail "ls answers within 1 s"

# three machines running when the unit stops
ok "a second machine" "$hutch" up second --memory 768M
ok "a third machine" "$hutch" up third --memory 768M
"$hutch" exec second -- sh -c 'echo 2 >/tmp/here'
pid=$(daemon_pid)
ok "the unit's stop saves what runs" timeout 300 "$stage/hutchd" --save-and-quit
if within 10 sh -c "! kill -0 $pid"; then pass "  … hutchd has ended"; else fail "  … hutchd has ended"; fi
is "  … all three are saved" "saved saved saved" "$("$hutch" ls --json | jq -r 'select(.name=="first" or .name=="second" or .name=="third") | .state' | xargs)"
ok "  … wake the second" "$hutch" start second
is "  … found as it was" 2 "$("$hutch" exec second -- cat /tmp/here)"
ok "rm of a saved one" "$hutch" rm third --yes
ok "rm of a running one" "$hutch" rm second --yes
ok "wake the first" "$hutch" start first
