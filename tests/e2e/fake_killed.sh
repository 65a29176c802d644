#!/bin/bash
# shellcheck disable=SC2154,SC1091
# kill -9 of worker and hutchd in the middle of 50 transfers, with the fake host: all of them end, none hangs, and the next connection
# gets through within two seconds, without help. hutch-guest: part-57-stops.sh; a fake machine ends with it.
. "$(dirname "$0")/fake_lib.sh"
command -v python3 >/dev/null || { echo "1..0 # SKIP python3 is missing"; exit 77; }
folder=$(dirname "$(readlink -f "$0")")
hutch=$build/hutch

"$folder/egress_server.py" >"$home/ports" 2>"$home/errors" &
server=$!
within 60 test -s "$home/ports" || fail "the server of the test starts" "$(cat "$home/errors")"
read -r web _ <"$home/ports"
mkdir -p "$home/config/projects"
printf '[egress]\ndefault = deny\n[host-port web]\nto = 127.0.0.1:%s\n' "$web" >"$home/config/projects/box.ini"
start_daemon HUTCH_FAKE_NET=listen
make_base
up box >"$home/up"
is "a machine" run "$(state box)"

cat >"$home/transfers.py" <<'P'
"""transfers.py NET.JSON WEB: 50 downloads by the machine's proxy, then a line when all run, one of how they ended, one of how
long after the first end the next connection got through (ms)."""
import json, socket, sys, threading, time
NET, WEB, N = sys.argv[1], int(sys.argv[2]), 50
got, ends, first = [0] * N, [], []
def get(i, path, limit):
    with open(NET) as file:
        s = socket.create_connection(("127.0.0.1", json.load(file)["proxy"]), limit)
    s.settimeout(limit)
    s.sendall(b"GET http://web.hutch.internal:%d/%s HTTP/1.1\r\nHost: web.hutch.internal:%d\r\n\r\n" % (WEB, path, WEB))
    while data := s.recv(65536):
        got[i] += len(data)
        if path == b"10":
            return data.startswith(b"HTTP/1.1 200")
def one(i):
    try:
        get(i, b"drip/100000000", 60)
        ends.append("closed")
    except OSError as error:
        ends.append("hung" if isinstance(error, TimeoutError) else "closed")
    first.append(time.monotonic())
for i in range(N):
    threading.Thread(target=one, args=(i,), daemon=True).start()
while sum(g > 200 for g in got) + len(ends) < N:
    time.sleep(0.01)
print("running", N - len(ends), flush=True)
while not ends:
    time.sleep(0.005)
while True:
    try:
        if get(0, b"10", 5):
            break
    except (OSError, ValueError):
        pass
    time.sleep(0.01)
back = time.monotonic()
while len(ends) < N:
    time.sleep(0.01)
print("closed", ends.count("closed"), flush=True)
print(round((back - min(first)) * 1000), flush=True)
P
ports=$(tr '\0' '\n' <"/proc/$(pgrep -f "hutch-guest serve --ports $home/")/cmdline" | sed -n 4p)
for what in worker hutchd; do
    python3 "$home/transfers.py" "$ports/net.json" "$web" >"$home/transfers" 2>&1 &
    transfers=$!
    within 30 grep -q running "$home/transfers"
    case $what in
    worker) kill -9 "$(pgrep -P "$daemon" hutch-worker)" ;;
    hutchd) kill_daemon && start_daemon HUTCH_FAKE_NET=listen ;;
    esac
    wait "$transfers"
    took=$(tail -1 "$home/transfers")
    is "$what killed: all of 50 transfers end, none hangs" "running 50 closed 50" "$(head -2 "$home/transfers" | xargs)"
    if [ "$took" -le 2000 ]; then pass "  … the next connection is through in 2 s"; else fail "  … the next connection is through in 2 s" "$took ms"; fi
    echo "# $took ms"
done
"$hutch" log box --json >"$home/rows"
is "each end that nobody saw is reported" 50 "$(grep '"finding.egress"' "$home/rows" | grep -c 'its end is not known')"
kill "$server"
the_end
