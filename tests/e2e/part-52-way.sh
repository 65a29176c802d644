# shellcheck shell=bash
# The way out in short, for the run as root too: denied without a rule, let through to a host port, both in the log.

need_first
project=$HUTCH_HOME/config/projects/first.ini
rm -f way.log
python3 -u -m http.server -b 127.0.0.1 --directory app 0 >way.log 2>&1 &
server=$!
within 60 grep -q ' port ' way.log || fail "the server of the test starts" "$(cat way.log)"
port=$(sed -n 's/.* port \([0-9]*\).*/\1/p' way.log | head -1)
printf '[egress]\ndefault = deny\n[host-port way]\nto = 127.0.0.1:%s\n' "$port" >"$project.new" && mv "$project.new" "$project"
rows_now() { "$hutch" log first --kind egress --json | jq -r '"\(.kind) \(.subject) \(.verdict)"'; }
from_first() { timeout 180 "$hutch" exec first -- curl -s -o /dev/null -w '%{http_code}' --noproxy '' -x http://127.0.0.1:3128 "$1"; }
gets() { timeout 180 "$hutch" exec first -- curl -sf "http://way.hutch.internal:$port/LATER" | grep -q later; }
if within 180 gets; then pass "a host port is let through"; else fail "a host port is let through" "$(rows_now | tail -3)"; fi
is "a name without a rule is denied" 403 "$(from_first http://unknown.example/)"
is "the server's port by address is denied" 403 "$(from_first "http://127.0.0.1:$port/")"
kill "$server"
rows=$(rows_now)
like "the log has what passed" "egress\.close way\.hutch\.internal:$port allow" "$rows"
like "  … and what did not" 'egress\.deny unknown\.example:80 deny' "$rows"
