#!/usr/bin/env bash
# The screen with a hutchd that is slow, silent, or answers nonsense, halves or without end: keys are answered, it says what is
# wrong, its memory is bounded, and it is whole again when a good one is there. TAP.
# Needs BUILD (the build folder, "." under make check).
set -u
build=$(readlink -f "${BUILD:-.}")
for program in hutch tests/lib/flood_hutchd tests/lib/screen_drive; do
    [ -x "$build/$program" ] || { echo "Bail out! $build/$program is not built"; exit 99; }
done
command -v flock >/dev/null || { echo "1..0 # SKIP flock is missing"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/hutch-lying.XXXXXX")
export HUTCH_HOME=$work/home TERM=xterm-256color LC_ALL=C.UTF-8 SCREEN_DRIVE_S=30
unset COLORTERM NO_COLOR TMUX HUTCH_UI_SCRIPT
mkdir "$HUTCH_HOME" && mkdir -m 700 "$HUTCH_HOME/run"
tests=0 failed=0 daemon=
exec 8>"$HUTCH_HOME/run/hutchd.start.lock" # held while it lies: the screen starts no other

stop_daemon() {
    [ -z "$daemon" ] || { kill -9 "$daemon"; wait "$daemon"; } 2>/dev/null
    daemon=
    rm -f "$HUTCH_HOME/run/hutchd.sock"
}
# shellcheck disable=SC2317
finish() {
    stop_daemon
    rm -rf "$work"
}
trap finish EXIT
result() { # result NAME OK [DETAIL]
    tests=$((tests + 1))
    if [ "$2" = 0 ]; then
        echo "ok $tests - $1"
    else
        failed=$((failed + 1))
        echo "not ok $tests - $1"
        printf '%s\n' "${3:-}" | head -40 | sed 's/^/# /'
    fi
}
start_daemon() { # start_daemon NAME=VALUE ...
    env FLOOD_EVENTS=200 FLOOD_PROJECTS=3 "$@" "$build/tests/lib/flood_hutchd" >/dev/null 8>&- &
    daemon=$!
    for _ in $(seq 200); do
        [ -S "$HUTCH_HOME/run/hutchd.sock" ] && return
        sleep 0.05
    done
    echo "Bail out! the hutchd of the test does not start"
    exit 99
}
# play FAULT SEEN: what is seen while hutchd does wrong; in the middle of it a good one takes its place.
play() {
    local fault=$1 seen=$2 driver
    flock 8
    start_daemon FLOOD_FAULT="$fault"
    mkfifo "$work/lines"
    timeout 100 "$build/tests/lib/screen_drive" 24 100 "$build/hutch" <"$work/lines" >"$work/said" 2>"$work/wrong" 8>&- &
    driver=$!
    {
        echo "see $seen"
        echo "toggle 12 ? Help q"
        echo "rest 1500"
        echo "usage"
        until grep -q peak_kb "$work/said" || ! kill -0 "$driver" 2>/dev/null; do sleep 0.05; done
        stop_daemon
        start_daemon
        flock -u 8
        echo "see p000"
        echo "type g" # the row of the cursor may have been one that is gone now
        echo "see > p000"
        echo "type j"
        echo "see > p001"
        echo "usage"
    } 2>/dev/null >"$work/lines"
    wait "$driver"
    result "$fault: it says so, and is whole with the next hutchd" $? "$(cat "$work/wrong" "$work/said")"
    result "  keys are answered meanwhile" "$(slow)" "$(cat "$work/said")"
    local peak
    peak=$(sed -n 's/.*"peak_kb": \([0-9]*\).*/\1/p' "$work/said" | tail -n1)
    [ -n "$peak" ] && [ "$peak" -le 40960 ]
    result "  its memory stays small" $? "peak: ${peak:-unknown} kB"
    [ -n "${SAY:-}" ] && sed 's/^/# /' "$work/said"
    rm "$work/lines"
    stop_daemon
}
# Half a second for a key is more than a machine in need takes, and less than any wait for hutchd.
slow() { sed -n 's/.*"toggle".*"median_ms": \([0-9]*\).*/\1/p' "$work/said" | awk '{ n = 1; if ($1 >= 500) bad = 1 } END { print n && !bad ? 0 : 1 }'; }

play slow "asking hutchd"
play silent "asking hutchd"
play half "premature end of input"
play cut "cut in the middle"
play no-json "JSON: invalid token"
play endless "a line of the answer is longer than"
play nested "a line of the answer is longer than"
play types "no projects yet"
play errors "an error without a message"
play names '\e]0;x\x07'

echo "1..$tests"
[ "$failed" = 0 ]
