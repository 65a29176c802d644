# shellcheck shell=bash
# Starts that fail: the error has the words of the one who failed and the way out; nothing is left half.

templates=$HUTCH_HOME/config/templates
mkdir -p "$templates"
sed 's/^\[vm\]/&\ncpu = no-such-cpu/' "$stage/templates/debian-13.ini" >"$templates/odd-cpu.ini"
grep -q '^cpu = ' "$templates/odd-cpu.ini" || printf '\n[vm]\ncpu = no-such-cpu\n' >>"$templates/odd-cpu.ini"
gives "a processor that QEMU does not know" 2 "$hutch" up odd -t odd-cpu --memory 512M
like "  … named, with the words of libvirt or QEMU" 'no-such-cpu|CPU' "$output"
like "  … and the way out" 'template|vm\.cpu' "$output"
is "  … is listed as what it is" failed "$(state odd)"
ok "  … is removed" "$hutch" rm odd --yes
rm "$templates/odd-cpu.ini"

# a guest that does not come up in time
kill "$(daemon_pid)"
begin=$(now_ms)
HUTCH_BOOT_LIMIT=2 gives "a guest that is not ready within its limit" 1 "$hutch" up slow --memory 768M
like "  … the phase" 'phase "(kernel|agent|system)"' "$output"
like "  … the end of its console" 'its console (ends in|shows nothing)' "$output"
like "  … and the way out" 'hutch stop slow' "$output"
[ $(($(now_ms) - begin)) -lt 60000 ] && pass "  … it ended within its limit" || fail "  … it ended within its limit" "$(($(now_ms) - begin)) ms"
for verb in ls "show slow"; do
    begin=$(now_ms)
    # shellcheck disable=SC2086
    "$hutch" $verb >/dev/null
    [ $(($(now_ms) - begin)) -lt 1000 ] && pass "  … $verb answers within 1 s" || fail "  … $verb answers within 1 s"
done
kill "$(daemon_pid)"
ok "  … with more time it is finished" "$hutch" up slow
ok "  … a command in it" "$hutch" exec slow -- true

# a base that is gone
ok "it stops" "$hutch" stop slow
base=$HUTCH_HOME/data/bases/$("$hutch" show slow --json | jq -r .base)
mv "$base" "$base.away"
gives "start without its base" 5 "$hutch" start slow
like "  … names it" "$(basename "$base" | cut -c1-12)" "$output"
is "  … is listed as failed" failed "$(state slow)"
mv "$base.away" "$base"
ok "  … with it back it starts" "$hutch" start slow
ok "rm slow" "$hutch" rm slow --yes
