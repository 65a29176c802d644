# shellcheck shell=bash
# The way out of a real machine: packages, what is refused, host ports, transfers, a question nobody answers.
# Nothing is configured in the machine.

need_first
rules=$HUTCH_HOME/config/rules.ini project=$HUTCH_HOME/config/projects/first.ini
in_first() { timeout "${limit:-180}" "$hutch" exec first -- "$@"; }
# mode WORD [LINES]: the project's rules, and they count.
mode() {
    printf '[egress]\ndefault = %s\n%s\n%s' "$1" "${2:-}" "$host_ports" >"$project.new" && mv "$project.new" "$project"
    within 60 mode_is "$1"
}
mode_is() { "$hutch" rule ls first | grep -q "names: $1\$"; }
rows() { "$hutch" log first --kind egress --json 2>/dev/null; }
log_lines() { rows | wc -l; }

# -- a server of ours on the host's loopback, as host ports
rm -f server.ports git.log # of a part before
"$stage/tests/e2e/egress_server.py" >server.ports 2>server.errors &
server=$!
within 60 test -s server.ports || fail "the server of the test starts" "$(cat server.errors)"
read -r web tcp <server.ports
git clone -q --bare app web.git && git -C web.git update-server-info
python3 -u -m http.server -b 127.0.0.1 --directory "$work" 0 >git.log 2>&1 &
git_server=$!
within 60 grep -q ' port ' git.log || fail "the server of git starts" "$(cat git.log)"
git_port=$(sed -n 's/.* port \([0-9]*\).*/\1/p' git.log | head -1)
host_ports=$(printf '[host-port %s]\nto = 127.0.0.1:%s\n' web "$web" tcp "$tcp" git "$git_port")
at=http://web.hutch.internal:$web

# -- packages (the mirror's addresses may be of a range for documentation, where a rule needs private=)
base=$("$hutch" show first --json | jq -r '.base // empty')
ini=$(grep -ls "digest = $base" "$HUTCH_HOME"/data/bases/*/base.ini | head -1)
mirrors=$(sed -n '/^\[packages debian\]/,/^\[/s/^    //p' "$ini")
if [ -n "$mirrors" ]; then pass "the base says where its packages come from"; else fail "the base says where its packages come from" "$(cat "$ini")"; fi
{
    echo '[egress]' && echo 'allow ='
    while read -r scheme host port; do
        getent ahostsv4 "$host" | grep -q '^203\.0\.113\.' || continue
        proto=${scheme/#https/tls}
        echo "    $host:$port proto=$proto private=203.0.113.0/24"
    done <<<"$mirrors"
} >"$rules"
mode deny
while read -r _ host port; do
    gives "the preset debian allows the base's mirror" 0 "$hutch" rule test first "$host:$port"
done <<<"$mirrors"
limit=900
ok "apt-get update, with nothing configured" in_first sudo apt-get -q update
ok "apt-get install" in_first sudo apt-get -qy install --no-install-recommends hello
like "  … it runs" 'Hello' "$(in_first hello)"
unset limit

# -- refused
gives "an unknown name: refused" 22 in_first curl -sS --fail http://unheard.example/
like "  … 403 with the reason" '"verdict":"deny"' "$(in_first curl -s http://unheard.example/)"
logged() { rows | grep -q 'unheard\.example'; } # a moment later: refusals are gathered, in case many come
ok "  … in the log" within 30 logged
like "  … and in the machine's denials" 'unheard\.example' "$(in_first tail -2 /run/hutch/denials)"
is "  … without a proxy too: reset" 000 "$(in_first env -u http_proxy -u https_proxy -u all_proxy -u HTTP_PROXY -u HTTPS_PROXY -u ALL_PROXY curl -s -o /dev/null -w '%{http_code}' https://unheard.example/)"
in_first ping -c1 -W5 192.0.2.1 >/dev/null 2>&1 && fail "no ping" || pass "no ping"
is "no UDP: refused, not lost" refused "$(in_first python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(60)
try:
    s.connect(("192.0.2.1", 123))
    s.send(b"x")
    print("came", s.recv(1))
except TimeoutError:
    print("lost")
except OSError:
    print("refused")')"

# -- nothing of the host answers
lan=$(hostname -I 2>/dev/null | tr ' ' '\n' | grep -m1 -E '^[0-9.]+$')
for address in 169.254.169.254 10.0.2.2 "${lan:-192.168.0.1}"; do
    is "$address does not answer" 403 "$(in_first curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x http://127.0.0.1:3128 "http://$address:$web/1")"
done
is "the machine's loopback is its own" 000 "$(in_first curl -s -o /dev/null -w '%{http_code}' "http://127.0.0.1:$web/1")"
is "  … by name through the proxy as well" 403 "$(in_first curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x http://127.0.0.1:3128 "http://127.0.0.1:$web/1")"
is "no other name of hutch.internal" 403 "$(in_first curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x http://127.0.0.1:3128 http://other.hutch.internal/)"

# -- transfers
sum=$(curl -s "http://127.0.0.1:$web/67108864" | sha256sum)
is "64 MiB down, byte for byte" "$sum" "$(in_first sh -c "curl -sS $at/67108864 | sha256sum")"
is "64 MiB up, byte for byte" "${sum%% *}" "$(in_first sh -c "curl -sS $at/67108864 -o /tmp/big; curl -sS -T /tmp/big $at/x")"
is "half-close: the answer comes after the end" "$(printf abc | sha256sum | cut -d' ' -f1)" \
    "$(in_first python3 -c "
import socket
s = socket.create_connection(('tcp.hutch.internal', $tcp))
s.sendall(b'abc'); s.shutdown(socket.SHUT_WR)
print(s.makefile().read())")"
is "200 connections at once" 200 "$(in_first sh -c "curl -s -Z --parallel-immediate --parallel-max 200 -o /dev/null -w '%{http_code}\n' '$at/1000?[1-200]' | grep -c 200")"
is "git clone over http" "$(git -C app rev-parse HEAD)" \
    "$(in_first sh -c "rm -rf /tmp/clone; git clone -q http://git.hutch.internal:$git_port/web.git /tmp/clone && git -C /tmp/clone rev-parse HEAD")"

# -- a question that nobody answers in time. A new hutchd has seen nobody at a screen; an older one may have, minutes ago.
mode ask
kill -9 "$(daemon_pid)"
within 180 in_first true || fail "the machine answers a new hutchd"
code=$(limit=180 in_first curl -s -o /tmp/answer -w '%{http_code}' http://asked.example/)
answer=$(in_first cat /tmp/answer)
is "asked, and nobody there: refused" 403 "$code"
number=$(jq -r .request <<<"$answer")
like "  … with the number" '^[0-9]+$' "$number"
like "requests lists it" "asked\.example" "$("$hutch" requests first)"
ok "journal verify" "$hutch" journal verify
kill "$server" "$git_server" 2>/dev/null
rm -f "$rules"
