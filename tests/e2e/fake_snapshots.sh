#!/bin/bash
# Snapshots with the fake host: what is on record, on disk and open is one chain; what fails leaves all as it was.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"

snap() { api POST /v1/projects/box/snapshots -d "${1:-{\}}" | last; }
snaps() { api GET /v1/projects/box/snapshots | jq -r .snap | paste -sd' '; }
id() { api GET /v1/projects/box | jq -r .id; }
disk() { echo "$home/data/projects/$(id)/disk/$1.qcow2"; }
backing() { qemu-img info -U --output=json "$(disk "$1")" | jq -r '."full-backing-filename"'; }
files() { find "$home/data/projects/$(id)/disk" -type f -printf '%f\n' | sort | paste -sd' '; }
layers() { api GET /v1/projects/box | jq -r '[.layers[] | (.path // "base") | sub(".*/"; "")] | join(" ")'; }
open() { find "$home" -name fake.json -exec jq -r '[.[0].chain[] | sub(".*/"; "")] | join(" ")' {} \;; }

start_daemon
make_base
is "before it is made there is nothing to keep" not-found "$(api POST /v1/projects/box/snapshots -d '{}' | jq -r .error.code)"
up box >/dev/null
is "no snapshot yet" "" "$(snaps)"

made=$(snap '{"note":"before the upgrade"}')
is "the first is @1" @1 "$(jq -r .result.snap <<<"$made")"
is "with its note" "before the upgrade" "$(jq -r .result.note <<<"$made")"
is "a person's is kept" true "$(jq -r .result.kept <<<"$made")"
is "a guest that cannot hold its disk is said" crash "$(jq -r .result.consistent <<<"$made")"
like "with its pause" '^[0-9]+$' "$(jq -r .result.pause_ms <<<"$made")"
is "it stands here" true "$(api GET /v1/projects/box/snapshots/@1 | jq -r .here)"
is "the machine goes on" run "$(state box)"
is "files" "0.qcow2 1.qcow2" "$(files)"
is "the new one stands on the old one" "$(disk 0)" "$(backing 1)"
is "which nobody writes any more" 444 "$(stat -c %a "$(disk 0)")"
is "on record" "1.qcow2 0.qcow2 base" "$(layers)"
is "and open" "1.qcow2 0.qcow2 disk.qcow2" "$(open)"

snap >/dev/null
is "the second stands on the first" @1 "$(api GET /v1/projects/box/snapshots/@2 | jq -r .parent)"
is "two" "@1 @2" "$(snaps)"
api POST /v1/projects/box/snapshots/@2/note -d '{"note":"later"}' >/dev/null
is "a note can come later" later "$(api GET /v1/projects/box/snapshots/@2 | jq -r .note)"
is "one that is not there" not-found "$(api GET /v1/projects/box/snapshots/@9 | jq -r .error.code)"
is "no number" invalid "$(api GET /v1/projects/box/snapshots/x | jq -r .error.code)"
is "a cause that is none" invalid "$(api POST /v1/projects/box/snapshots -d '{"cause":"whim"}' | jq -r .error.code)"
is "an automatic one is not kept" false "$(snap '{"cause":"gate","about":"rm -rf"}' | jq -r .result.kept)"
is "the journal has them" 3 "$(api GET '/v1/events?kind=snapshot' | jq -r 'select(.kind == "snapshot.made") | .subject' | wc -l)"

# Restarts of all of it.
kill_daemon
start_daemon
within 20 is_state box run
is "after a restart of hutchd: the chain is right" run "$(state box)"
api POST /v1/projects/box/stop -d '{"force":true}' >/dev/null
is "it is off" off "$(state box)"
is "one of a machine that is off" off "$(snap | jq -r .result.consistent)"
is "four" "@1 @2 @3 @4" "$(snaps)"
is "it starts again" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
is "on the newest layer" "4.qcow2 3.qcow2 2.qcow2 1.qcow2 0.qcow2 disk.qcow2" "$(open)"
api POST /v1/projects/box/pause >/dev/null
is "one of a machine that stands still" crash "$(snap | jq -r .result.consistent)"
is "it stands still as before" paused "$(state box)"
api POST /v1/projects/box/resume >/dev/null
api POST /v1/projects/box/suspend >/dev/null
is "one of a machine that is saved" crash "$(snap | jq -r .result.consistent)"
is "it wakes on the newest layer" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
is "which is open" 6.qcow2 "$(open | cut -d' ' -f1)"

# What fails leaves all as it was.
faults=$(find "$home" -name fake.json -printf '%h/faults\n')
before="$(snaps) $(files) $(layers) $(open)"
echo snapshot=fail >"$faults"
is "a hypervisor that refuses" hypervisor "$(snap | jq -r .error.code)"
is "everything is as before" "$before" "$(snaps) $(files) $(layers) $(open)"
is "and runs" run "$(state box)"
rm "$faults"
is "the number stays given" @8 "$(snap | jq -r .result.snap)"

# Many at once: in turn, none lost.
many=()
for i in 1 2 3 4; do snap >"$home/many.$i" & many+=($!); done
wait "${many[@]}"
is "four at once are four" 4 "$(cat "$home"/many.* | jq -r .result.snap | sort -u | wc -l)"
is "the machine runs" run "$(state box)"

# Going back: the present is kept, what stood on the snapshot stands on it again.
back() { api POST /v1/projects/box/restore -d "$1" | last; }
is "a snapshot that is not there" not-found "$(back '{"snap":"@99"}' | jq -r .error.code)"
is "none named" invalid "$(back '{"snap":"last"}' | jq -r .error.code)"
before=$(layers)
plan=$(api GET /v1/projects/box/snapshots/@2/plan)
is "the plan: it runs" true "$(jq -r .running <<<"$plan")"
is "the plan: later ones stay" true "$(jq -r '.later | index("@4") != null' <<<"$plan")"
done=$(back '{"snap":"@2"}')
is "back on @2" @2 "$(jq -r .result.snap <<<"$done")"
kept=$(jq -r .result.kept <<<"$done")
is "what was there is kept, by its cause" restore "$(api GET "/v1/projects/box/snapshots/$kept" | jq -r .cause)"
is "it runs" run "$(state box)"
like "on a layer on the second one's" '^[0-9]+.qcow2 1.qcow2 0.qcow2 base$' "$(layers)"
is "which is open" "$(layers | sed s/base/disk.qcow2/)" "$(open)"
is "it stands there" true "$(api GET /v1/projects/box/snapshots/@2 | jq -r .here)"
done=$(back "{\"snap\":\"$kept\"}")
is "forward again" "$kept" "$(jq -r .result.snap <<<"$done")"
is "to all that was there" "${before#* }" "$(layers | cut -d' ' -f3-)"
is "no file is on no record" "$(api GET /v1/projects/box/snapshots | jq -r '.layer | sub(".*/"; "")' | cat - <(layers | cut -d' ' -f1) | sort -u | wc -l)" "$(files | wc -w)"
n=$(snaps | wc -w)
is "without keeping the present" null "$(back '{"snap":"@2","discard":true}' | jq -r .result.kept)"
is "there is no snapshot more" "$n" "$(snaps | wc -w)"
is "and no file" "$(api GET /v1/projects/box/snapshots | jq -r '.layer | sub(".*/"; "")' | cat - <(layers | cut -d' ' -f1) | sort -u | wc -l)" "$(files | wc -w)"
back "{\"snap\":\"$kept\"}" >/dev/null

# A target that is not whole is found before anything is touched.
chmod 644 "$(disk 1)"
mv "$(disk 1)" "$home/away"
boot=$(api GET /v1/projects/box | jq -r .vm.boot)
before="$(snaps) $(layers)"
is "a layer of it is missing" corrupt "$(back '{"snap":"@2"}' | jq -r .error.code)"
is "the machine was not touched" "$boot run" "$(api GET /v1/projects/box | jq -r .vm.boot) $(state box)"
is "no snapshot was made" "$before" "$(snaps) $(layers)"
mv "$home/away" "$(disk 1)"
echo destroy=fail >"$faults"
is "a machine that cannot be switched off" hypervisor "$(back '{"snap":"@2"}' | jq -r .error.code)"
rm "$faults"
is "the present is there" "$boot run" "$(api GET /v1/projects/box | jq -r .vm.boot) $(state box)"
is "on what is open" "$(layers | sed s/base/disk.qcow2/)" "$(open)"
api POST /v1/projects/box/suspend >/dev/null
is "one that is saved would lose its memory" state "$(back '{"snap":"@2"}' | jq -r .error.code)"
api POST /v1/projects/box/stop -d '{"force":true}' >/dev/null
is "one that is off" @2 "$(back '{"snap":"@2"}' | jq -r .result.snap)"
is "stays off" off "$(state box)"
is "and starts there" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
back "{\"snap\":\"$kept\"}" >/dev/null

# A stale backing file is never run on.
api POST /v1/projects/box/stop -d '{"force":true}' >/dev/null
top=$(layers | cut -d. -f1)
under=$(backing "$top")
qemu-img rebase -u -F qcow2 -b "$(disk 0)" "$(disk "$top")"
is "a layer that stands on another than it is to" corrupt "$(api POST /v1/projects/box/start | last | jq -r .error.code)"
is "is not started" off "$(state box | sed s/failed/off/)"
qemu-img rebase -u -F qcow2 -b "$under" "$(disk "$top")"
is "put right it starts" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"

# Removing: what stands on it stays whole. Each layer holds a block of its own, and the same one anew.
api DELETE '/v1/projects/box?discard_work=1' >/dev/null
within 20 is_state box not-found
up box >/dev/null
api POST /v1/projects/box/stop -d '{"force":true}' >/dev/null
write() { qemu-io -f qcow2 -c "write -P $1 $(($1 * 1048576)) 65536" -c "write -P $1 0 65536" "$(disk "$(layers | cut -d. -f1)")" >/dev/null; }
reads() { # reads FILE PATTERN OFFSET
    qemu-io -r -U -f qcow2 -c "read -P $2 $3 65536" "$1" | grep -q '^read 65536' && ! qemu-io -r -U -f qcow2 -c "read -P $2 $3 65536" "$1" | grep -q failed
}
for i in 1 2 3 4; do write "$i"; snap >/dev/null; done
write 5
whole() { # whole FILE LAST: its blocks up to LAST
    local i
    for i in $(seq "$2"); do reads "$1" "$i" $((i * 1048576)) || return 1; done
    reads "$1" "$2" 0
}
ok "before" whole "$(disk "$(layers | cut -d. -f1)")" 5
remove() { api DELETE "/v1/projects/box/snapshots/$1" | last; }
is "one that is not there" not-found "$(remove @9 | jq -r .error.code)"
is "the second goes" false "$(remove @2 | jq -r .result.later)"
is "it is listed no more" "@1 @3 @4" "$(snaps)"
is "the third was made on the first" @1 "$(api GET /v1/projects/box/snapshots/@3 | jq -r .parent)"
is "a layer less" "4.qcow2 3.qcow2 2.qcow2 0.qcow2 base" "$(layers)"
is "and a file less" "0.qcow2 2.qcow2 3.qcow2 4.qcow2" "$(files)"
ok "all is there" whole "$(disk 4)" 5
ok "in the third too" whole "$(disk 2)" 3
is "frozen as before" 444 "$(stat -c %a "$(disk 2)")"
is "the present stands on the fourth, which goes" false "$(remove @4 | jq -r .result.later)"
is "it stands on the third" true "$(api GET /v1/projects/box/snapshots/@3 | jq -r .here)"
ok "all is there" whole "$(disk 4)" 5
is "it can be written" 600 "$(stat -c %a "$(disk 4)")"
is "it starts" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
is "of a machine that runs: later" true "$(remove @1 | jq -r .result.later)"
is "gone from the list at once" @3 "$(snaps)"
is "what is open is whole" "4.qcow2 2.qcow2 0.qcow2 disk.qcow2" "$(open)"
api POST /v1/projects/box/stop -d '{"force":true}' >/dev/null
is "stopped: merged" "2.qcow2 4.qcow2" "$(files)"
ok "all is there" whole "$(disk 4)" 5
kept=$(back '{"snap":"@3"}' | jq -r .result.kept)
is "the present's own snapshot holds what nothing else does" would-lose "$(remove "$kept" | jq -r .error.code)"
is "unless that is meant" false "$(api DELETE "/v1/projects/box/snapshots/$kept?discard_work=1" | last | jq -r .result.later)"
is "its file goes" 2 "$(files | wc -w)"
ok "the rest is there" whole "$(disk "$(layers | cut -d. -f1)")" 3
is "it starts" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"

api DELETE '/v1/projects/box?discard_work=1' >/dev/null
ok "rm takes all of it" within 20 no_file
is "the journal is whole" 0 "$(api GET /v1/journal/verify | last | jq -r .result.bad)"
the_end
