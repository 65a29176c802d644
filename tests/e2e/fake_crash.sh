#!/bin/bash
# kill -9 at every recorded step of every operation: the project is listed with its true state, and can be finished or removed.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"

# crash_at STEP METHOD PATH [BODY]: hutchd ends at that step of the call, and a new one is started.
crash_at() {
    local step=$1 method=$2 path=$3 body=${4:-{\}} status
    stop_daemon
    start_daemon "HUTCH_CRASH_AT=$step"
    api "$method" "$path" -d "$body" >"$home/cut" 2>&1
    wait "$daemon"
    status=$?
    daemon=0
    is "$step: hutchd was killed there" 137 "$status"
    begin=$(date +%s%3N)
    start_daemon
    listed=$(api GET /v1/projects)
    took=$(($(date +%s%3N) - begin))
    ok "$step: the next one lists soon ($took ms)" [ "$took" -lt 15000 ]
}
body='{"name":"box","memory":268435456,"cpus":1,"disk":17179869184}'
clean() {
    api DELETE '/v1/projects/box?discard_work=1' >/dev/null
    within 20 is_state box not-found || fail "cleaning up"
    ok "no file of it stays" no_file
}

start_daemon
make_base
steps_of() { "$build/hutchd" --crash-steps | sed -n "/^$1\\./p"; }

for step in $(steps_of up); do
    crash_at "$step" POST /v1/projects "$body"
    like "$step: it is listed" '"name":"box"' "$listed"
    case $step in
    up.check | up.base | up.disk | up.define | up.start) want=new ;;
    up.chain) want=paused ;;
    *) want=run ;;
    esac
    is "$step: with its true state" "$want" "$(state box)"
    is "$step: up finishes it" run "$(up box | last | jq -r .result.state)"
    clean
    crash_at "$step" POST /v1/projects "$body"
    is "$step: or rm removes it" '{}' "$(api DELETE /v1/projects/box | last | jq -c .result)"
    clean
done

for step in $(steps_of suspend); do
    up box >/dev/null
    crash_at "$step" POST /v1/projects/box/suspend
    case $step in
    suspend.save) want=run ;; # the fake saves at once or not at all
    *) want=saved ;;
    esac
    is "$step: its true state" "$want" "$(state box)"
    is "$step: it runs again" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
    clean
done

for step in $(steps_of wake); do
    up box >/dev/null
    api POST /v1/projects/box/suspend >/dev/null
    crash_at "$step" POST /v1/projects/box/start
    case $step in
    wake.restore) want=saved ;;
    *) want=run ;;
    esac
    is "$step: its true state" "$want" "$(state box)"
    is "$step: it runs again" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
    is "$step: the image is spent" "" "$(find "$home/data/projects" -name suspend.img)"
    clean
done

for step in $(steps_of stop); do
    up box >/dev/null
    crash_at "$step" POST /v1/projects/box/stop
    case $step in
    stop.guest) want=run ;; # not asked yet
    *) want=off ;;
    esac
    is "$step: its true state" "$want" "$(state box)"
    is "$step: stop finishes it" off "$(api POST /v1/projects/box/stop | last | jq -r .result.state)"
    clean
done

snaps() { api GET /v1/projects/box/snapshots | jq -r .snap | paste -sd' '; }
for step in $(steps_of snap); do
    up box >/dev/null
    api POST /v1/projects/box/snapshots -d '{"note":"kept"}' >/dev/null
    crash_at "$step" POST /v1/projects/box/snapshots
    within 20 is_state box run
    is "$step: it runs" run "$(state box)"
    case $step in
    snap.record) want='@1 @2' ;;
    *) want='@1' ;; # the machine had no new layer yet
    esac
    is "$step: it was taken or not" "$want" "$(snaps)"
    folder=$home/data/projects/$(api GET /v1/projects/box | jq -r .id)/disk
    is "$step: no file too many" "$(api GET /v1/projects/box | jq '[.layers[].path | select(.)] | length')" "$(find "$folder" -type f | wc -l)"
    is "$step: what is frozen cannot be written" 0 "$(api GET /v1/projects/box | jq -r '.layers[] | select(.frozen and .path) | .path' | xargs stat -c %a | grep -vc 444)"
    is "$step: another can be taken" @3 "$(api POST /v1/projects/box/snapshots -d '{}' | last | jq -r .result.snap)"
    api POST /v1/projects/box/stop -d '{"force":true}' >/dev/null
    is "$step: it starts" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
    clean
done

for step in $(steps_of restore); do
    up box >/dev/null
    api POST /v1/projects/box/snapshots -d '{}' >/dev/null
    api POST /v1/projects/box/snapshots -d '{}' >/dev/null
    crash_at "$step" POST /v1/projects/box/restore '{"snap":"@1"}'
    case $step in
    restore.layer | restore.stop) want='@3 run' ;; # the present, which was kept just before
    *) want='@1 off' ;;
    esac
    within 20 is_state box "${want#* }"
    is "$step: the present or the snapshot" "$want" "$(api GET /v1/projects/box/snapshots | jq -r 'select(.here) | .snap') $(state box)"
    is "$step: all are listed" '@1 @2 @3' "$(snaps)"
    folder=$home/data/projects/$(api GET /v1/projects/box | jq -r .id)/disk
    is "$step: no file too many" 4 "$(find "$folder" -type f | wc -l)"
    is "$step: it runs" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
    is "$step: it can go back" @1 "$(api POST /v1/projects/box/restore -d '{"snap":"@1"}' | last | jq -r .result.snap)"
    clean
done

for step in $(steps_of snaprm); do
    up box >/dev/null
    api POST /v1/projects/box/stop -d '{"force":true}' >/dev/null
    api POST /v1/projects/box/snapshots -d '{}' >/dev/null
    api POST /v1/projects/box/snapshots -d '{}' >/dev/null
    crash_at "$step" DELETE /v1/projects/box/snapshots/@1
    within 20 is_state box off
    is "$step: it is forgotten" '@2' "$(snaps)"
    api POST /v1/projects/box/stop -d '{"force":true}' >/dev/null
    folder=$home/data/projects/$(api GET /v1/projects/box | jq -r .id)/disk
    is "$step: the next stop merges what is left" 2 "$(find "$folder" -type f | wc -l)"
    is "$step: it runs" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
    clean
done

for step in $(steps_of rm); do
    up box >/dev/null
    crash_at "$step" DELETE /v1/projects/box
    ok "$step: the removal is finished" within 20 is_state box not-found
    is "$step: the name is free" run "$(up box | last | jq -r .result.state)"
    clean
done

is "the journal is whole" 0 "$(api GET /v1/journal/verify | last | jq -r .result.bad)"
the_end
