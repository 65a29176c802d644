#!/bin/bash
# shellcheck disable=SC2154,SC1091
# A scan of five addresses from the machine, with the fake host: all of it is refused and becomes one record, and what is allowed is
# not slower than half meanwhile. With HUTCH_TEST_ALL=1 all 65535 ports of each: minutes.
. "$(dirname "$0")/fake_lib.sh"
command -v python3 >/dev/null || { echo "1..0 # SKIP python3 is missing"; exit 77; }
folder=$(dirname "$(readlink -f "$0")")
hutch=$build/hutch
ports=400 seconds=3 path=slow/100000000 # 1 MB/s: a loaded host has that, and what is full speed there changes by the second
[ -z "${HUTCH_TEST_ALL:-}" ] || { ports=65535 seconds=20 path=100000000000; }

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

cat >"$home/scan.py" <<'P'
"""scan.py PROXY WEB PATH SECONDS PORTS: KiB/s of a download alone and beside the scan; answers to the scan and their number; ms."""
import selectors, socket, struct, sys, threading, time
path, (proxy, web, seconds, ports) = sys.argv[3], (int(word) for word in sys.argv[1:3] + sys.argv[4:])
addresses = ("169.254.169.254", "172.16.0.1", "10.0.2.2", "192.168.1.1", "203.0.113.9")
def rate(enough):
    s = socket.create_connection(("127.0.0.1", proxy), 60)
    s.settimeout(60)
    s.sendall(b"GET http://web.hutch.internal:%d/%s HTTP/1.1\r\nHost: web.hutch.internal:%d\r\n\r\n" % (web, path.encode(), web))
    begun, size = time.monotonic(), 0
    while not enough(time.monotonic() - begun):
        size += len(s.recv(262144))
    return round(size / 1024 / (time.monotonic() - begun))
codes, done = {}, threading.Event()
def scan():
    left, waiting = ((a, p) for p in range(1, ports + 1) for a in addresses), selectors.DefaultSelector()
    def begin():
        target = next(left, None)
        if target:
            s = socket.create_connection(("127.0.0.1", proxy))
            s.sendall(b"\5\1\0\5\1\0\1" + socket.inet_aton(target[0]) + struct.pack(">H", target[1]))
            s.setblocking(False)
            waiting.register(s, selectors.EVENT_READ, bytearray())
    for _ in range(30):
        begin()
    while waiting.get_map():
        for key, _ in waiting.select():
            try:
                data = key.fileobj.recv(100)
            except OSError:
                data = b""
            key.data.extend(data)
            if not data or len(key.data) >= 4:
                waiting.unregister(key.fileobj)
                key.fileobj.close()
                code = "refused" if key.data[2:4] in (b"\5\1", b"\5\2") else key.data.hex() or "closed"
                codes[code] = codes.get(code, 0) + 1
                begin()
    done.set()
alone = rate(lambda passed: passed > seconds)
begun = time.monotonic()
threading.Thread(target=scan).start()
beside = rate(lambda passed: passed > seconds or done.is_set())
done.wait()
print(alone, beside, " ".join(f"{code} {count}" for code, count in codes.items()), round((time.monotonic() - begun) * 1000))
P
read -r alone beside word answers ms < <(python3 "$home/scan.py" "$(jq .proxy "$(find "$home" -name net.json)")" "$web" "$path" "$seconds" "$ports")
is "a scan of $ports ports of five addresses: all is refused" "refused $((ports * 5))" "$word $answers"
if [ $((beside * 2)) -ge "$alone" ] && [ "$alone" -gt 0 ]; then pass "  … what is allowed is not slower than half"; else fail "  … what is allowed is not slower than half" "$beside of $alone KiB/s"; fi
echo "# $ms ms; $alone KiB/s alone, $beside beside it"
refused() { "$hutch" log box --kind egress.deny --json | jq -r .subject; }
told() { [ -n "$(refused)" ]; }
within 30 told
like "  … and is one record" '^[0-9]+ connections refused, the first to 169\.254\.169\.254:1$' "$(refused | head -1)"
is "  … of all of it" $((ports * 5)) "$(refused | awk '/ connections refused, / {all += $1} END {print all}')"
is "  … and no other" $((1 + ms / 600000)) "$(refused | wc -l)" # a burst is told every ten minutes
is "  … with one alert" 1 "$("$hutch" log box --json | jq -r .subject | grep -c 'many connections are refused in a row')"
kill "$server"
the_end
