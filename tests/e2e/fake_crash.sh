#!/bin/bash
# kill -9 at every recorded step of every operation: the project is listed with its true state, and can be finished or removed.
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
    [ "$took" -lt 15000 ] && pass "$step: the next one lists after $took ms" || fail "$step: the next one lists soon" "$took ms"
}
body='{"name":"box","memory":268435456,"cpus":1,"disk":17179869184}'
clean() {
    api DELETE '/v1/projects/box?discard_work=1' >/dev/null
    within 20 is_state box not-found || fail "cleaning up"
    is "no file of it stays" "" "$(ls "$home/data/projects" "$home/run/p" 2>/dev/null | grep -v :)"
}

start_daemon
make_base
steps=$("$build/hutchd" --crash-steps)

for step in $(grep '^up\.' <<<"$steps"); do
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

for step in $(grep '^suspend\.' <<<"$steps"); do
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

for step in $(grep '^wake\.' <<<"$steps"); do
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

for step in $(grep '^stop\.' <<<"$steps"); do
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

for step in $(grep '^rm\.' <<<"$steps"); do
    up box >/dev/null
    crash_at "$step" DELETE /v1/projects/box
    within 10 is_state box not-found && pass "$step: the removal is finished" || fail "$step: the removal is finished" "$(state box)"
    is "$step: the name is free" run "$(up box | last | jq -r .result.state)"
    clean
done

is "the journal is whole" 0 "$(api GET /v1/journal/verify | last | jq -r .result.bad)"
the_end
