#!/usr/bin/env bash
# The screen while much happens: 200 projects, 100 000 events and a thousand more a second, a session that prints without end.
# No key is lost, memory and frames are bounded, and when nothing happens nothing is done. Counts only: tests/bench has the times. TAP.
# Needs BUILD (the build folder, "." under make check).
set -u
build=$(readlink -f "${BUILD:-.}")
for program in hutch tests/lib/flood_hutchd tests/lib/screen_drive; do
    [ -x "$build/$program" ] || { echo "Bail out! $build/$program is not built"; exit 99; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/hutch-flood.XXXXXX")
export HUTCH_HOME=$work/home TERM=xterm-256color LC_ALL=C.UTF-8 FLOOD_WHOLE=1
unset COLORTERM NO_COLOR TMUX HUTCH_UI_SCRIPT
mkdir "$HUTCH_HOME" && mkdir -m 700 "$HUTCH_HOME/run"
tests=0 failed=0 daemon=

stop_daemon() {
    [ -z "$daemon" ] || { kill "$daemon"; wait "$daemon"; } 2>/dev/null
    daemon=
    rm -f "$HUTCH_HOME/requests" "$HUTCH_HOME/typed" "$HUTCH_HOME/run/hutchd.sock"
}
# shellcheck disable=SC2317
finish() {
    stop_daemon
    rm -rf "$work"
}
trap finish EXIT

start_daemon() { # start_daemon NAME=VALUE ...
    env "$@" "$build/tests/lib/flood_hutchd" &
    daemon=$!
    for _ in $(seq 200); do
        [ -S "$HUTCH_HOME/run/hutchd.sock" ] && return
        sleep 0.05
    done
    echo "Bail out! the hutchd of the test does not start"
    exit 99
}

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

drive() { # drive ROWS COLUMNS: lines on stdin; what it says in $work/said
    timeout 240 "$build/tests/lib/screen_drive" "$1" "$2" "$build/hutch" >"$work/said" 2>"$work/wrong"
    drove=$?
}
wrong() { cat "$work/wrong" "$work/said"; }
# The value of a key in the last line that has it.
said() { sed -n 's/.*"'"$1"'": \([0-9]*\).*/\1/p' "$work/said" | tail -n1; }
most() { # most NAME KEY LIMIT
    local value
    value=$(said "$2")
    [ -n "$value" ] && [ "$value" -le "$3" ]
    result "$1" $? "$2: ${value:-nothing}, more than $3"
}

# ---- events ----
start_daemon FLOOD_EVENTS=100000 FLOOD_RATE=1000
drive 24 80 <<'END'
see > p000
burst 150 3 j
see > p150
burst 140 2 k
see > p010
rest 300
see > p010
usage
rest 3000
usage
END
result "each of 290 keys moves by one row among a thousand events a second" "$drove" "$(wrong)"
most "frames are 30 a second at most" reads 100
most "memory stays small with 100 000 events" peak_kb 98304
stop_daemon

# ---- a session ----
start_daemon FLOOD_EVENTS=2000 FLOOD_RATE=1000 FLOOD_BYTES=40000000
drive 60 200 <<'END'
see > p000
type !
see [p000] shell
burst 100 5 x
see the flood is over
rest 500
usage
END
result "a session prints 40 MB" "$drove" "$(wrong)"
typed=$(cat "$HUTCH_HOME/typed" 2>/dev/null)
[ "$typed" = "$(printf 'x%.0s' $(seq 100))" ]
result "  each key typed meanwhile reaches it once" $? "typed: $typed"
most "  memory stays small" peak_kb 65536
stop_daemon

# ---- acts ----
start_daemon FLOOD_EVENTS=2000 FLOOD_RATE=1000 FLOOD_ACTS=1 FLOOD_PROJECTS=2
begun=$SECONDS
drive 24 80 <<'END'
see > p000
burst 51 40 j
see > p001
END
result "a thousand acts a second" "$drove" "$(wrong)"
asked=$(grep -c '/v1/projects/\|/v1/status' "$HUTCH_HOME/requests")
[ "$asked" -gt 0 ] && [ "$asked" -le $((12 * (SECONDS - begun + 2))) ]
result "  have both projects asked for four times a second at most" $? "$asked times in $((SECONDS - begun)) s"
stop_daemon

# ---- nothing ----
start_daemon FLOOD_EVENTS=2000 FLOOD_RATE=0 # the last command goes on, in another project than the first
drive 24 80 <<'END'
see > p000
rest 1500
usage
rest 6000
usage
END
result "when nothing happens in the project that is shown" "$drove" "$(wrong)"
most "  no frame is drawn, but for the clock's minute" reads 1
most "  and hutch sleeps" switches 3

echo "1..$tests"
[ "$failed" = 0 ]
