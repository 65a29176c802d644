# shellcheck shell=bash
# A question of a real machine that nobody is there for: refused with its number, kept over kill -9 of hutchd and a reboot of the
# machine, answered, the next attempt passes. A unit at the first moment of the boot. A flood of names.

need_first
rules=$HUTCH_HOME/config/rules.ini project=$HUTCH_HOME/config/projects/first.ini
in_first() { timeout "${limit:-180}" "$hutch" exec first -- "$@"; }
names_are() { "$hutch" rule ls first | grep -q "names: $1\$"; }
rows() { "$hutch" log first --kind "$1" --json 2>/dev/null | jq -c "select(.seq > $mark)"; }
marked() { mark=$("$hutch" log first --json | jq -s 'map(.seq) | max // 0'); }
status_of() { in_first curl -sk -o /dev/null -w '%{http_code}' --noproxy '' -x http://127.0.0.1:3128 "$1"; }
waits() { "$hutch" requests first --json | jq -r 'select(.state == "waiting") | "\(.id) \(.subject)"'; }
boot_id() { timeout 60 "$hutch" exec first -- cat /proc/sys/kernel/random/boot_id; }

rm -f server.ports # of a part before
"$stage/tests/e2e/egress_server.py" >server.ports 2>server.errors &
server=$!
within 60 test -s server.ports || fail "the server of the test starts" "$(cat server.errors)"
read -r web _ <server.ports
# The mirror of the base is a name that every host of this test reaches; here each connection to it is asked for.
base=$("$hutch" show first --json | jq -r '.base // empty')
ini=$(grep -ls "digest = $base" "$HUTCH_HOME"/data/bases/*/base.ini | head -1)
read -r scheme host port < <(sed -n '/^\[packages debian\]/,/^\[/s/^    //p' "$ini")
private=
getent ahostsv4 "$host" | grep -q '^203\.0\.113\.' && private=private=203.0.113.0/24
printf '[egress]\nask =\n    %s:%s proto=%s %s\n' "$host" "$port" "${scheme/#https/tls}" "$private" >"$rules"
printf '[egress]\ndefault = ask\n[host-port web]\nto = 127.0.0.1:%s\n' "$web" >"$project.new" && mv "$project.new" "$project"
within 60 names_are ask
for id in $(waits | cut -d' ' -f1); do "$hutch" deny "$id" >/dev/null 2>&1; done # of the parts before: five are the most
is "no question is open" "" "$(waits)"

# -- asked, and nobody there. A new hutchd has seen nobody at a screen.
marked
kill -9 "$(daemon_pid)"
within 180 in_first true || fail "the machine answers a new hutchd"
answer=$(in_first curl -sk -w '\n%{http_code}' --noproxy '' -x http://127.0.0.1:3128 "http://$host:$port/")
is "asked, and nobody there: refused" 403 "$(tail -1 <<<"$answer")"
number=$(jq -r '.request // empty' <<<"${answer%$'\n'*}")
like "  … with the number" '^[0-9]+$' "$number"
is "  … which waits" "$number $host:$port" "$(waits)"
kill -9 "$(daemon_pid)"
is "hutchd killed: it still does" "$number $host:$port" "$(waits)"

# -- a reboot, in which a unit connects before anything else runs
cat >first-moment.sh <<'P'
#!/bin/bash
# Connects again and again from the first moment on; a byte from there is one too many.
i=0 got=0
while [ $((i += 1)) -le 300 ] && [ ! -e /run/first-moment.end ]; do
    timeout 5 bash -c 'exec 3<>/dev/tcp/192.0.2.7/443 && read -rn1 -u3' 2>/dev/null && got=$((got + 1))
    [ $i -gt 1 ] || began=$(cut -d' ' -f1 /proc/uptime)
    sleep 0.1
done
echo "got $got, began at $began s" >/run/first-moment
P
cat >first-moment.service <<'P'
[Unit]
DefaultDependencies=no
Before=sysinit.target
[Service]
ExecStart=/usr/local/bin/first-moment.sh
[Install]
WantedBy=sysinit.target
P
chmod +x first-moment.sh
"$hutch" cp first-moment.sh first:/home/agent/first-moment.sh >/dev/null 2>&1
"$hutch" cp first-moment.service first:/home/agent/first-moment.service >/dev/null 2>&1
ok "a unit of the first moment" in_first sudo sh -c 'mv /home/agent/first-moment.sh /usr/local/bin/ && mv /home/agent/first-moment.service /etc/systemd/system/ && systemctl enable first-moment'
marked
boot=$(boot_id)
in_first sudo systemctl reboot >/dev/null 2>&1
rebooted() { local now; now=$(boot_id) && [ -n "$now" ] && [ "$now" != "$boot" ]; }
if within 600 rebooted; then pass "the machine boots again"; else fail "the machine boots again" "$("$hutch" show first)"; fi
refused() { rows egress.deny | jq -r .subject | grep -q '^192\.0\.2\.7:443'; }
if within 120 refused; then pass "the unit's attempts are denied, and in the log"; else fail "the unit's attempts are denied, and in the log" "$(rows egress.deny)"; fi
in_first sudo touch /run/first-moment.end
within 60 in_first test -s /run/first-moment
like "  … none got a byte" '^got 0,' "$(in_first cat /run/first-moment)"
is "  … and none was let through" "" "$(rows egress.open | jq -r .subject)"
in_first sudo systemctl disable -q first-moment

# -- answered: who waits in the machine hears of it, and the next attempt passes
is "the question outlives the boot" "$number $host:$port" "$(waits)"
limit=300
in_first hutch-guest wait "$number" >waited 2>&1 &
waiter=$!
gives "hutch allow" 0 "$hutch" allow "$number" --yes
if wait "$waiter"; then pass "hutch-guest wait comes back"; else fail "hutch-guest wait comes back" "$(cat waited)"; fi
like "  … with the verdict" '^allow' "$(cat waited)"
marked
like "the next attempt passes" '^[23]|^404' "$(status_of "http://$host:$port/")"
like "  … by the answer" "$host:$port ask-allow" "$(rows egress.close | jq -r '"\(.subject) \(.verdict)"')"

# -- A12: a flood of names, beside what is allowed
cat >flood.py <<'P'
import concurrent.futures, socket
def one(i):
    s = socket.create_connection(("127.0.0.1", 3128), 600)
    s.sendall(b"CONNECT n%d.flood.example:443 HTTP/1.1\r\nHost: n%d.flood.example:443\r\n\r\n" % (i, i))
    return s.recv(12)
with concurrent.futures.ThreadPoolExecutor(50) as pool:
    answers = list(pool.map(one, range(1000)))
print(sum(a[-4:] in (b" 403", b" 503") for a in answers)) # 503: beyond the quota of questions
P
"$hutch" cp flood.py first:/home/agent/flood.py >/dev/null 2>&1
kill -9 "$(daemon_pid)" # the answer above was somebody's: a new hutchd has seen nobody, and freezes for no question
within 180 in_first true || fail "the machine answers a new hutchd"
marked
began=$SECONDS
limit=900
in_first python3 /home/agent/flood.py >flooded 2>&1 &
flood=$!
asked() { rows approval.ask | grep -q flood; } # not by `hutch requests`: who reads the requests is there
within 120 asked
is "allowed traffic during a flood of names" 200 "$(status_of "http://web.hutch.internal:$web/10")"
wait "$flood"
is "1 000 unknown names: all are refused" 1000 "$(cat flooded)"
# what one program asks in a moment is one question with a line for each
questions=$(rows approval.ask | jq '.data.batch // .data.request' | sort -u | wc -l)
if [ "$questions" -ge 1 ] && [ "$questions" -le 5 ]; then pass "  … by five questions at most"; else fail "  … by five questions at most" "$questions"; fi
is "  … and one alert" 1 "$(rows finding.questions | wc -l)"
denied=$(rows egress.deny | wc -l) # slow ones: up to 60 a minute have rows of their own
if [ "$denied" -le $((100 + (SECONDS - began) / 60 * 60)) ]; then pass "  … in few rows"; else fail "  … in few rows" "$denied"; fi
for id in $(waits | cut -d' ' -f1); do "$hutch" deny "$id" >/dev/null 2>&1; done

kill "$server" 2>/dev/null
rm -f "$rules"
unset limit
