#!/bin/bash
# Several clients at once: joining a running job, cancelling one, two that make the same project; failures that leave nothing half.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"

start_daemon
make_base
faults() { printf '%s' "$1" >"$home/data/fake/faults"; }

faults start=slow
up two >"$home/a" & a=$!
up two >"$home/b" & b=$!
ok "while it is made it is new" within 10 is_state two new
begin=$(date +%s%3N)
api GET /v1/projects >/dev/null && api GET /v1/projects/two >/dev/null
took=$(($(date +%s%3N) - begin))
ok "ls and show answer meanwhile ($took ms)" [ "$took" -lt 2000 ]
wait "$a" "$b"
is "the first client has the result" run "$(last <"$home/a" | jq -r .result.state)"
is "the second one joined it" run "$(last <"$home/b" | jq -r .result.state)"
is "one project was made" 1 "$(api GET /v1/projects | grep -c .)"
is "one start" 1 "$(api GET '/v1/events?kind=lifecycle.start' | grep -c .)"

faults start=slow
up three >/dev/null & a=$!
within 10 is_state three new
kill "$a"
ok "a client that goes away stops nothing" within 20 is_state three run

faults start=slow
up four >"$home/a" & a=$!
within 10 is_state four new
is "rm cancels an up" '{}' "$(api DELETE /v1/projects/four | last | jq -c .result)"
wait "$a"
is "and the up says so" cancelled "$(last <"$home/a" | jq -r .error.code)"
is "nothing of it stays" not-found "$(state four)"

faults start=fail
out=$(up five | last)
like "a failed start says why" '"error"' "$out"
is "and is listed as failed" failed "$(state five)"
like "with the reason" . "$(api GET /v1/projects/five | jq -r .failure)"
faults ''
is "up finishes it" run "$(up five | last | jq -r .result.state)"

faults chain=wrong
is "on another disk" off "$(api POST /v1/projects/five/stop | last | jq -r .result.state)"
is "it is not let run" corrupt "$(api POST /v1/projects/five/start | last | jq -r .error.code)"
is "and is off" failed "$(state five)"
faults chain=fail
like "nor on one that cannot be seen" 'could not be seen' "$(api POST /v1/projects/five/start | last | jq -r .error.message)"
is "and is off again" failed "$(state five)"
faults ''
is "then it is" run "$(api POST /v1/projects/five/start | last | jq -r .result.state)"

faults save=fail
like "a suspend that fails" '"error"' "$(api POST /v1/projects/five/suspend | last)"
is "leaves it as it was" run "$(state five)"
faults ''
api POST /v1/projects/five/suspend >/dev/null
faults restore=fail
like "a wake that fails says what can be done" 'hutch stop five' "$(api POST /v1/projects/five/start | last)"
api POST /v1/projects/five/stop >/dev/null
faults ''
is "the image was dropped: it is off" off "$(state five)"
is "and boots cold" run "$(api POST /v1/projects/five/start | last | jq -r .result.state)"

for i in $(seq 20); do
    begin=$(date +%s%3N)
    api POST /v1/projects/five/pause | last | jq -r .result.state >"$home/p"
    api POST /v1/projects/five/resume | last | jq -r .result.state >>"$home/p"
    echo $(($(date +%s%3N) - begin)) >>"$home/times"
    [ "$i" != 10 ] || { kill_daemon; start_daemon; }
    [ "$(tr '\n' ' ' <"$home/p")" = "paused run " ] || break
done
is "pause and resume, 20 times with a kill between" 20 "$(wc -l <"$home/times")"

guest_up() { [ "$(api GET "/v1/projects/$1" | jq -r .guest.up)" = true ]; }
mapfile -t old < <(pgrep -P "$daemon" -f hutch-worker)
replaced() { # as many workers as before, and none of them
    local now pid
    mapfile -t now < <(pgrep -P "$daemon" -f hutch-worker)
    [ "${#now[@]}" = "${#old[@]}" ] || return 1
    for pid in "${now[@]}"; do [[ " ${old[*]} " != *" $pid "* ]] || return 1; done
}
is "each running machine has a worker" 3 "${#old[@]}"
kill -9 "${old[@]}"
ok "killed workers are replaced" within 20 replaced
ok "and the guest is in step again" within 20 guest_up five

clients=()
for i in $(seq 8); do
    up "many-$i" >"$home/many-$i" &
    clients+=($!)
done
wait "${clients[@]}"
is "eight at once" 8 "$(cat "$home"/many-* | grep -c '"result"')"

# What is fetched beside the boot is not told as the step that runs.
git init -q "$home/code" && git -C "$home/code" -c user.name=t -c user.email=t@localhost commit -q --allow-empty -m one
mkdir "$home/mute" && ln -s "$build/hutch-fake-machine" "$home/mute/"
printf '#!/bin/sh\nexec sleep 600\n' >"$home/mute/hutch-guest" && chmod +x "$home/mute/hutch-guest"
stop_daemon
start_daemon HUTCH_FAKE_GUEST="$home/mute/hutch-guest" HUTCH_BOOT_LIMIT=3
out=$(api POST /v1/projects -d "{\"name\":\"six\",\"memory\":268435456,\"cpus\":1,\"repos\":[\"$home/code\"]}")
like "a boot that does not end" 'did not get ready' "$(last <<<"$out" | jq -r .error.message)"
is "  its hint is one line, and says what its console shows" 1 \
    "$(last <<<"$out" | jq -r .error.hint | grep -c '^its console')"
is "  is what was told of, to its end" kernel "$(jq -r '.phase // empty' <<<"$out" | last)"
is "  and nothing of the repository" "" "$(jq -r '.phase // empty' <<<"$out" | grep -x repos)"
ok "  which was fetched meanwhile" [ -n "$(find "$home/cache" -name HEAD | head -1)" ]
the_end
