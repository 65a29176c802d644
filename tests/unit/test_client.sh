#!/usr/bin/env bash
# The client against a hutchd of the tests: how it is started, what exec does with bytes, statuses, signals, losses. TAP.
# Needs BUILD (the build folder, "." under make check).
set -u
build=$(readlink -f "${BUILD:-.}")
for program in hutch tests/unit/fake_hutchd; do
    [ -x "$build/$program" ] || { echo "Bail out! $build/$program is not built"; exit 99; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/hutch-client.XXXXXX")
mkdir "$work/bin"
cp "$build/hutch" "$work/bin/hutch"
cp "$build/tests/unit/fake_hutchd" "$work/bin/hutchd"
export HUTCH_HOME=$work/home
mkdir "$HUTCH_HOME"
hutch=$work/bin/hutch
requests=$HUTCH_HOME/requests
tests=0 failed=0

daemon_pid() { "$hutch" version --json | sed -n 's/.*"pid":\([0-9]*\).*/\1/p'; }
stop_daemon() {
    local pid
    pid=$(daemon_pid)
    [ -z "$pid" ] || kill -9 "$pid"
    rm -f "$requests"
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
        printf '%s\n' "${3:-}" | head -20 | sed 's/^/# /'
    fi
}
is() { # is NAME WANTED GOT
    if [ "$2" = "$3" ]; then result "$1" 0; else result "$1" 1 "wanted: $2
got:    $3"; fi
}
has() { # has NAME WORDS TEXT
    case $3 in *"$2"*) result "$1" 0 ;; *) result "$1" 1 "no \"$2\" in: $3" ;; esac
}
status() { # status COMMAND...: its exit status; output in $work/out and $work/err
    timeout 30 "$@" >"$work/out" 2>"$work/err" </dev/null
    echo $?
}
await() { # await WORDS FILE: until the file has them, at most 10 s
    local _
    for _ in $(seq 200); do
        grep -q -- "$1" "$2" 2>/dev/null && return 0
        sleep 0.05
    done
    return 1
}
expected() { # expected TOTAL: the pattern's checksum
    python3 - "$1" <<'PY'
import hashlib, sys
total = int(sys.argv[1])
print(hashlib.sha256(bytes((i * 7 + (i >> 9)) & 255 for i in range(total))).hexdigest())
PY
}

# ---- starting hutchd ----
is "version starts no hutchd" 0 "$(status "$hutch" version)"
has "  and says so" "does not run" "$(cat "$work/out")"
for _ in 1 2 3 4 5 6; do
    "$hutch" exec -- both >/dev/null 2>&1 </dev/null &
done
wait
is "six clients at once start one hutchd" 1 "$(grep -c '^started$' "$requests")"
stop_daemon
is "a hutchd that ends at once: 125 for exec" 125 "$(FAKE_FAILS=1 status "$hutch" exec -- both)"
has "  with its own last words" "libvirtd does not run" "$(cat "$work/err")"
is "  and 3 for others" 3 "$(FAKE_FAILS=1 status "$hutch" ls)"
rm -f "$requests"
is "another protocol is refused" 1 "$(FAKE_PROTOCOL=1 status "$hutch" ls)"
has "  with the way out" "kill" "$(cat "$work/err")"
kill -9 "$(sed -n 's/.*process \([0-9]*\),.*/\1/p' "$work/err" | head -1)"
rm -f "$requests"

# ---- exec ----
is "the command's status" 3 "$(status "$hutch" exec -- both)"
is "  stdout" out "$(cat "$work/out")"
is "  stderr" err "$(cat "$work/err")"
has "  the ended session is deleted" "DELETE /v1/projects/demo/sessions/both" "$(cat "$requests")"
is "a refused start is 125" 125 "$(status "$hutch" exec demo -- refuse)"
has "  with its reason" '"demo" is off' "$(cat "$work/err")"
has "  and hint" "hutch start demo" "$(cat "$work/err")"
is "an unknown project is 125" 125 "$(status "$hutch" exec nope -- both)"
is "a usage error of exec is 125" 125 "$(status "$hutch" exec --nope -- both)"
is "of others 2" 2 "$(status "$hutch" ls --nope)"
rm -f "$requests"
"$hutch" exec demo -u root -w /tmp -e A=1 -e "B=x y" --timeout 2m -- count 1 0 >/dev/null
has "user, folder, environment and time limit are sent" \
    '"env":{"A":"1","B":"x y"}' "$(grep '"argv"' "$requests")"
has "  the time in ms" '"timeout_ms":120000' "$(grep '"argv"' "$requests")"
is "a time limit that is none" 125 "$(status "$hutch" exec --timeout x -- both)"

is "20 MB out" "$(expected 20000000)" "$("$hutch" exec -- count 20000000 0 </dev/null | sha256sum | cut -d' ' -f1)"
is "  into a file" "$(expected 300001)" "$("$hutch" exec -- count 300001 0 </dev/null >"$work/file"; sha256sum <"$work/file" | cut -d' ' -f1)"
head -c 20000000 /dev/urandom >"$work/big"
sum=$(sha256sum <"$work/big")
is "20 MB in and back, from a file" "$sum" "$("$hutch" exec -- echo <"$work/big" | sha256sum)"
stop_daemon
is "  from a pipe, with a slow reader" "$sum" \
    "$(tail -c +1 "$work/big" | "$hutch" exec -- echo | python3 -c 'import sys,time
while True:
    d = sys.stdin.buffer.read1(300000)
    if not d: break
    sys.stdout.buffer.write(d); time.sleep(0.002)' | sha256sum)"
stop_daemon
is "no stdin at all is its end" 0 "$("$hutch" exec -- echo <&- >/dev/null; echo $?)"
stop_daemon
peak=$(/usr/bin/env python3 - "$hutch" <<'PY'
import resource, subprocess, sys
p = subprocess.Popen(["sh", "-c", "head -c 300000000 /dev/zero | \"$0\" exec -- echo | (sleep 1; cat) | wc -c", sys.argv[1]], stdout=subprocess.PIPE)
n = int(p.communicate()[0])
print(n, "small" if resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 60000 else "large")
PY
)
# the sanitizers' own memory says nothing about ours
if grep -q __asan_init "$hutch"; then peak=${peak%% *}" small"; fi
is "300 MB through in bounded memory" "300000000 small" "$peak"
stop_daemon

# ---- losses ----
rm -f "$requests"
is "hutchd killed in the middle: the output goes on where it was" "$(expected 3000000)" \
    "$("$hutch" exec -- die 3000000 1000000 </dev/null 2>"$work/err" | sha256sum | cut -d' ' -f1)"
is "  a second hutchd was started" 2 "$(grep -c '^started$' "$requests")"
has "  from its offset" "stdout?from=" "$(grep -v 'from=0$' "$requests")"

# ---- signals and readers that go away ----
stop_daemon
"$hutch" exec -- sleep </dev/null >"$work/out" 2>"$work/err" &
client=$!
await 'stdout?from=0' "$requests"
kill -INT $client
wait $client
is "^C reaches the command" 130 $?
has "  as INT" '{"signal":"INT"}' "$(cat "$requests")"
stop_daemon
"$hutch" exec -- sleep </dev/null >"$work/out" 2>"$work/err" &
client=$!
await 'stdout?from=0' "$requests"
kill -TERM $client
wait $client
is "TERM ends the client only" 143 $?
has "  and the session is left" "0" "$(grep -c DELETE "$requests")"
stop_daemon
timeout 20 "$hutch" exec -- count 900000000 0 </dev/null 2>/dev/null | head -c 10 >/dev/null
is "a reader that goes away ends exec" 141 "${PIPESTATUS[0]}"
has "  the program gets PIPE" '{"signal":"PIPE"}' "$(cat "$requests")"
stop_daemon
timeout 20 "$hutch" exec -- count 5000 0 >/dev/full </dev/null 2>"$work/err"
is "a full disk is 125" 125 $?
has "  said" "No space left" "$(cat "$work/err")"

# ---- terminals ----
terminal() { # terminal KEYS COMMAND...: in a terminal of its own; KEYS are typed when the session is there, what is behind a "|" after an answer
    local keys=$1
    shift
    python3 - "$keys" "$requests" "$@" <<'PY'
import os, pty, sys, termios, time
keys, requests, command = sys.argv[1].encode().decode("unicode_escape").encode("latin-1"), sys.argv[2], sys.argv[3:]
pid, fd = pty.fork()
if pid == 0:
    os.execvp(command[0], command)
out, end, parts, seen = b"", time.time() + 15, keys.split(b"|") if keys else [], -1
os.set_blocking(fd, False)
while time.time() < end:
    try:
        data = os.read(fd, 65536)
        if not data: break
        out += data
    except BlockingIOError:
        time.sleep(0.01)
    except OSError:
        break
    if parts and len(out) > seen and os.path.exists(requests) and "/stdin" in open(requests).read():
        seen = len(out)
        os.write(fd, parts.pop(0))
_, status = os.waitpid(pid, 0)
sys.stdout.buffer.write(out + b"\n[%d]\n" % os.waitstatus_to_exitcode(status))
PY
}
stop_daemon
has "on a terminal control sequences are shown, not done" 'a\e[2Jb' "$(terminal '' "$hutch" exec -- text $'a\e[2Jb' </dev/null)"
has "  unless --raw" $'a\e[2Jb' "$(terminal '' "$hutch" exec --raw -- text $'a\e[2Jb')"
stop_daemon
out=$(terminal '\x1dd' "$hutch" exec -t -- sleep)
has "^] d leaves a terminal session" "it goes on" "$out"
has "  with 0" "[0]" "$out"
has "  which gets the terminal's size" '"rows":' "$(cat "$requests")"
stop_daemon
has "keys go to the session, ^] ^] is one of them" $'xy\x1dz' "$(terminal 'xy\x1d\x1dz|\x1dd' "$hutch" exec -t -- echo)"

echo "1..$tests"
[ $failed = 0 ]
