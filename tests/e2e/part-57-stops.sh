# shellcheck shell=bash
# What stops the way out of a real machine, and what cannot slow it: kill -9 of each process of ours in the middle of 50
# transfers, a rule that is taken away, an empty list, a scan of ports, a flood of names, a unit at the first moment of the boot.

need_first
project=$HUTCH_HOME/config/projects/first.ini
in_first() { timeout "${limit:-180}" "$hutch" exec first -- "$@"; }
names_are() { "$hutch" rule ls first | grep -q "names: $1\$"; }
rows() { "$hutch" log first --kind "${1:-egress}" --json 2>/dev/null; }
since() { jq -c "select(.seq > $mark)" | jq -sr "$1"; } # since FILTER: of an array of the rows after $mark
marked() { mark=$("$hutch" log first --json | jq -s 'map(.seq) | max // 0'); }
mode() { # mode WORD [HOST-PORTS]
    { printf '[egress]\ndefault = %s\n%s\n' "$1" "${2-}"; } >"$project.new" && mv "$project.new" "$project"
    within 60 names_are "$1"
}
rm -f server.ports # of a part before
"$stage/tests/e2e/egress_server.py" >server.ports 2>server.errors &
server=$!
within 60 test -s server.ports || fail "the server of the test starts" "$(cat server.errors)"
read -r web _ <server.ports
way=$(printf '[host-port web]\nto = 127.0.0.1:%s' "$web")
mode deny "$way"
within 120 in_first curl -sf -o /dev/null "http://web.hutch.internal:$web/10"

# -- killed in the middle of 50 transfers
cat >transfers.py <<'P'
"""50 downloads that do not end by themselves; then a line of how they ended, and one when the next gets through."""
import socket, sys, threading, time
PORT, N = int(sys.argv[1]), 50
got, ends = [0] * N, []
def get(i, path, limit):
    s = socket.create_connection(("web.hutch.internal", PORT), limit)
    s.sendall(b"GET /%s HTTP/1.1\r\nHost: web.hutch.internal:%d\r\n\r\n" % (path, PORT))
    s.settimeout(limit)
    while data := s.recv(65536):
        got[i] += len(data)
        if path == b"10":
            return data.startswith(b"HTTP/1.1 200")
def one(i):
    try:
        get(i, b"drip/100000000", 200)
        ends.append("closed")
    except OSError as error:
        ends.append("hung" if isinstance(error, TimeoutError) else "closed")
for i in range(N):
    threading.Thread(target=one, args=(i,), daemon=True).start()
while sum(g > 200 for g in got) + len(ends) < N:
    time.sleep(0.05)
print("running", N - len(ends), flush=True)
while len(ends) < N:
    time.sleep(0.02)
print("closed", ends.count("closed"), flush=True)
while True:
    try:
        if get(0, b"10", 5):
            break
    except OSError:
        time.sleep(0.02)
print("back", flush=True)
P
"$hutch" cp transfers.py first:/home/agent/transfers.py >/dev/null 2>&1
worker_of() { # of the daemon with that pid
    local p
    for p in /proc/[0-9]*; do
        [ "$(awk '/^PPid/ {print $2}' "$p/status" 2>/dev/null)" = "$1" ] && [ "$(cat "$p/comm" 2>/dev/null)" = hutch-worker ] && basename "$p"
    done | head -1
}
for what in worker hutchd hutch-guest; do
    in_first sh -c "rm -f /tmp/transfers; setsid python3 ~/transfers.py $web >/tmp/transfers 2>&1 </dev/null &"
    within 300 in_first grep -q running /tmp/transfers
    is "50 transfers run" "running 50" "$(in_first cat /tmp/transfers)"
    marked
    daemon=$(daemon_pid)
    case $what in
        worker) kill -9 "$(worker_of "$daemon")" ;;
        hutchd) kill -9 "$daemon" && "$hutch" ls >/dev/null ;;
        hutch-guest) in_first sudo pkill -9 -f '[h]utch-guest serve' >/dev/null 2>&1 ;;
    esac
    within 300 in_first grep -q back /tmp/transfers
    is "$what killed: all of them closed, none hangs, the next gets through" "running 50 closed 50 back" "$(in_first cat /tmp/transfers | xargs)"
    [ $what != hutchd ] || is "  … each end that nobody saw is reported" 50 "$(rows finding.egress | since 'map(select(.subject | test("its end is not known"))) | length')"
done
ok "journal verify" "$hutch" journal verify

# -- N20, N01
in_first sh -c "rm -f /tmp/transfers; setsid python3 ~/transfers.py $web >/tmp/transfers 2>&1 </dev/null &"
within 300 in_first grep -q running /tmp/transfers
marked
mode deny
within 120 in_first grep -q closed /tmp/transfers
is "a host port taken away: its transfers are cut (N20)" "running 50 closed 50" "$(in_first cat /tmp/transfers | xargs)"
is "  … and their rows say why" 50 "$(rows egress.close | since 'map(select(.data.end_reason == "policy")) | length')"
is "nothing passes an empty list (N01)" 403 "$(in_first curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x http://127.0.0.1:3128 "http://web.hutch.internal:$web/10")"
in_first pkill -f transfers.py
mode deny "$way"

# -- a scan of ports
cat >scan.py <<'P'
import concurrent.futures, socket, sys
open_ports = []
def one(address, port):
    try:
        if socket.create_connection((address, port), 30).recv(1): # port 53 is the machine's own stub, and closes
            open_ports.append((address, port))
    except OSError:
        pass
with concurrent.futures.ThreadPoolExecutor(30) as pool:
    for port in range(1, int(sys.argv[1]) + 1):
        for address in ("169.254.169.254", "172.16.0.1", "10.0.2.2", "192.168.1.1", "203.0.113.9"):
            pool.submit(one, address, port)
print("open:", len(open_ports))
P
"$hutch" cp scan.py first:/home/agent/scan.py >/dev/null 2>&1
ports=100
[ -z "${HUTCH_TEST_ALL:-}" ] || ports=65535
marked
began=$SECONDS
limit=3600
is "a scan of $ports ports of five addresses finds nothing" "open: 0" "$(in_first python3 /home/agent/scan.py $ports)"
told() { rows egress.deny | since 'map(select(.subject | test("connections refused"))) | length > 0' | grep -q true; }
within 120 told
like "  … most of it is one row" 'connections refused' "$(rows egress.deny | since 'map(.subject) | join(", ")')"
# A machine that scans slowly has rows of its own for the first 60 of each minute.
denied=$(rows egress.deny | since 'length')
if [ "$denied" -le $((100 + (SECONDS - began) / 60 * 60)) ]; then pass "  … and all of it few rows"; else fail "  … and all of it few rows" "$denied rows"; fi
unset limit
kill "$server" 2>/dev/null
