#!/bin/bash
# shellcheck disable=SC2154,SC1091,SC2016
# Requests over the API and the command line, with the fake host: listed, shown, answered, kept over a restart; machines that were
# frozen for one. The questions are put into state.db as a hutchd before would have left them.
. "$(dirname "$0")/fake_lib.sh"
command -v python3 >/dev/null || { echo "1..0 # SKIP python3 is missing"; exit 77; }
hutch=$build/hutch
gives() { # gives NAME STATUS COMMAND...: output of both kinds in $output
    local name=$1 want=$2 got=0
    shift 2
    output=$(timeout 60 "$@" 2>&1 </dev/null) || got=$?
    if [ "$got" = "$want" ]; then pass "$name"; else fail "$name" "wanted status $want, got $got of: $*" "$output"; fi
}
sql() { # sql STATEMENT: in state.db, while no hutchd runs
    python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1]); print(*[x for row in db.execute(sys.argv[2]) for x in row], sep="\n"); db.commit()' \
        "$home/state/state.db" "$1"
}
question() { # question VERB KEY SUBJECT TIER SCOPES STATE [MORE FIELDS]
    local host=${3%:*}
    sql "INSERT INTO requests (project, boot, session, verb, key, subject, fields, owner, generation, tier, scopes, state, asked_ms,
        changed_ms, attempts, digest, scope, duration_s, reason, by_whom) SELECT id, boot, '', '$1', '$2', '$3',
        '{\"authority\":\"$3\",\"host\":\"$host\",\"port\":443,\"proto\":\"tls\",\"rule_missing\":\"allow $host\"${7-}}', 'egress', 1,
        '$4', $5, '$6', $(date +%s)000, $(date +%s)000, 1, '', 'once', 0, '', '' FROM projects WHERE name = 'box'"
}
request() { api GET "/v1/requests/$1"; }
answer() { # answer ID VERDICT-JSON [MORE]: with nonce and digest as they are now
    local shown
    shown=$(request "$1")
    api POST "/v1/requests/$1/answer" -d "{\"verdict\":$2,\"nonce\":$(jq .nonce <<<"$shown"),\"digest\":$(jq .digest <<<"$shown")${3-}}"
}
state_of() { request "$1" | jq -r .state; }
events() { api GET "/v1/events?kind=$1" | jq -r .subject; }

start_daemon
make_base
up box >"$home/up"
is "a machine" run "$(state box)"
gives "no request yet" 0 "$hutch" requests
like "  says so" "nothing waits" "$output"

# ---- A10: open questions at hutchd's end ----
kill_daemon
all=31 once=1
question CONNECT one.test:443/tls one.test:443 routine $all held
question CONNECT two.test:443/tls two.test:443 unusual 3 frozen
question PRIVATE three.test:443/tls three.test:443 critical $once waiting ',"class":"private"'
question CONNECT four.test:443/tls four.test:443 routine $all held
question CONNECT five.test:443/tls five.test:443 routine $all waiting ',"claim":{"known":true,"exe":"/bin/e\u001b[31mvil","argv":["say","yes, \u202eallow","\u009b2K\u00ad"],"pid":7,"uid":1000}'
start_daemon
is "A10 all of them wait after a restart" "waiting waiting waiting waiting waiting" \
    "$(api GET /v1/requests | jq -r .state | paste -sd' ')"
is "  and allow nothing" "" "$(events approval.decision)"
is "  ls counts them" 5 "$("$hutch" ls --json | jq .waiting)"
is "  and status" 5 "$("$hutch" status --format '%{waiting}')"
like "  and show" "waiting +5 for your answer" "$("$hutch" show box)"
gives "requests" 0 "$hutch" requests
like "  its line" "^ *2 +box +CONNECT +unusual +waiting .* two.test:443" "$output"
is "requests --json has the fields of the contract" true \
    "$("$hutch" requests --json | jq -s 'all(has("id") and has("project") and has("kind") and has("subject") and has("class") and has("state") and has("age"))')"
# The bytes of ESC, CR, CSI (U+009B), soft hyphen, zero width, bidi controls and tags, in every way out of the command line.
shows() { LC_ALL=C grep -cP '\x1b|\r|\xc2[\x80-\x9f\xad]|\xe2\x80[\x8b-\x8f\xa8-\xae]|\xe2\x81[\xa0-\xaf]|\xf3\xa0' || true; }
for way in "requests" "requests --json" "show box" "show box --json" "log box" "log box --json" "journal export" "status"; do
    # shellcheck disable=SC2086
    is "A06 $way: nothing of it is raw" 0 "$("$hutch" $way 2>&1 | shows)"
done
like "A06 it was there to be shown" 'u202e' "$(request 5 | jq -ac .)"
gives "  of a project that is not there" 5 "$hutch" requests bax

# ---- A09, A11: answers that do not count ----
digest=$(request 1 | jq .digest) nonce=$(request 1 | jq .nonce)
code() { jq -r .error.code; }
is "A09 a wrong nonce" changes \
    "$(api POST /v1/requests/1/answer -d "{\"verdict\":\"allow\",\"nonce\":\"00000000000000000000000000000000\",\"digest\":$digest}" | code)"
is "A09 a wrong digest" changes \
    "$(api POST /v1/requests/1/answer -d "{\"verdict\":\"allow\",\"nonce\":$nonce,\"digest\":\"x\"}" | code)"
is "A09 the nonce of another one" changes \
    "$(api POST /v1/requests/4/answer -d "{\"verdict\":\"allow\",\"nonce\":$nonce,\"digest\":$(request 4 | jq .digest)}" | code)"
is "A09 without them" invalid "$(api POST /v1/requests/1/answer -d '{"verdict":"allow"}' | code)"
for verdict in 1 true null '"ALLOW"' '"allow "' '["allow"]'; do
    is "A11 the verdict $verdict" invalid "$(answer 1 "$verdict" | code)"
done
is "A11 no JSON" protocol "$(api POST /v1/requests/1/answer -d '{"verdict":"allow"' | code)"
is "A11 a list" invalid "$(api POST /v1/requests/1/answer -d '["allow"]' | code)"
is "a scope that is not offered" invalid "$(answer 3 '"allow"' ',"scope":"project"' | code)"
is "a time that is too long" invalid "$(answer 1 '"allow"' ',"scope":"duration","duration_s":8640000' | code)"
is "a request that is not there" not-found "$(api POST /v1/requests/99/answer -d "{\"verdict\":\"allow\",\"nonce\":$nonce,\"digest\":$digest}" | code)"
is "none of these counted" waiting "$(state_of 1)"
is "  and they are on record" true "$([ "$(events approval.refused | wc -l)" -ge 12 ] && echo true)"
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$home" "$home/run"
    is "A09 another user gets nothing" "" "$(setpriv --reuid 65534 --clear-groups curl -s --max-time 5 --http2-prior-knowledge \
        --unix-socket "$home/run/hutchd.sock" http://hutch/v1/requests)"
    chmod 700 "$home/run"
fi

# ---- answers ----
gives "allow shows what it allows" 0 "$hutch" allow 1
like "  verb and object first" "^#1 +CONNECT one.test:443 +\(routine\)" "$output"
like "  what each answer does, with the rule" 'project +adds "allow one.test" to projects/box.ini' "$output"
is "  and it is allowed" allowed "$(state_of 1)"
like "  by whom" "uid $(id -u)" "$(request 1 | jq -r .by)"
like "  on record" "#1 CONNECT one.test:443" "$(events approval.decision)"
gives "A09 twice: the first counts" 1 "$hutch" deny 1
like "  and the second is told" "allowed already, by uid" "$output"
gives "an unusual one needs a yes" 2 "$hutch" allow 2
like "  where there is no terminal" "give --yes" "$output"
is "  else it still waits" waiting "$(state_of 2)"
gives "  or the option" 0 "$hutch" allow 2 --yes
gives "a critical one is not for --yes" 2 "$hutch" allow 3 --yes
like "  but for its name" "--confirm three.test" "$output"
gives "  not another name" 2 "$hutch" allow 3 --confirm tree.test
is "  and still waits" waiting "$(state_of 3)"
gives "deny, with words" 0 "$hutch" deny 3 -m 'use the mirror'
is "  which are kept" "denied use the mirror" "$(request 3 | jq -r '.state + " " + .reason')"
gives "allow by host" 0 "$hutch" allow four.test --for project
is "A14 makes the rule of this host alone" "four.test" "$(grep -o '[^ ]*four[^ ]*' "$home/config/projects/box.ini")"
gives "deny by host and port" 0 "$hutch" deny five.test:443
is "  no byte of the machine reaches the terminal" "" "$(grep -P '[\x1b]|\xe2\x80\xae' <<<"$output")"
like "  what it claims comes last, marked" "the VM says so" "$output"
gives "a host that nobody asked for is a rule" 0 "$hutch" allow six.test -p box
like "  of the project" "six.test" "$(cat "$home/config/projects/box.ini")"
gives "  not for a time" 5 "$hutch" allow seven.test -p box --for 2h
gives "nothing waits any more" 0 "$hutch" requests
is "  nor counts" 0 "$("$hutch" ls --json | jq .waiting)"

# ---- answers that hold ----
kill_daemon
question CONNECT hold.test:443/tls hold.test:443 routine $all waiting
question CONNECT next.test:443/tls next.test:443 routine $all waiting
start_daemon
gives "nobody lets it yet" 6 "$hutch" rule test box hold.test
gives "allow for a time" 0 "$hutch" allow hold.test --for 2h
gives "allow once" 0 "$hutch" allow next.test
gives "rule test sees it" 0 "$hutch" rule test box hold.test
like "  and whose answer it is" "answer to request #6" "$output"
gives "  not for another port" 6 "$hutch" rule test box hold.test:80
gives "rule ls has it" 0 "$hutch" rule ls box
like "  with its end" "^g[0-9]+ +grant +0 +- +1h .*allow hold.test" "$output"
like "  and that of the next attempt" "grant .*next, 23h .*allow next.test" "$output"
row=$("$hutch" rule ls box --json | jq -c 'select(.text == "allow hold.test")')
like "  its source" "request #6, uid $(id -u)" "$(jq -r .source <<<"$row")"
is "  scope" duration "$(jq -r .scope <<<"$row")"
kill_daemon
start_daemon
gives "it holds over a restart" 0 "$hutch" rule test box hold.test
gives "rule rm takes it back" 0 "$hutch" rule rm box "$(jq -r .id <<<"$row")"
gives "  nobody lets it any more" 6 "$hutch" rule test box hold.test
like "  on record" "grant g[0-9]+: allow hold.test .duration, of request #6" "$(events policy.remove)"
gives "  by its text too" 0 "$hutch" rule rm box 'allow next.test'
gives "  once" 5 "$hutch" rule rm box 'allow next.test'
kill_daemon
start_daemon
gives "  not after a restart either" 6 "$hutch" rule test box hold.test

# ---- two clients at once ----
kill_daemon
question CONNECT both.test:443/tls both.test:443 routine $all waiting
start_daemon
answer 8 '"allow"' >"$home/a1" &
first=$!
answer 8 '"deny"' >"$home/a2" &
wait $first $!
is "two at once: one counts, the other is told" "1 1" \
    "$(cat "$home/a1" "$home/a2" | jq -s -r '"\(map(select(.verdict)) | length) \(map(select(.error.code == "state" or .error.code == "changes")) | length)"')"
is "  and there is one decision" 1 "$(events approval.decision | grep -c '^#8 ')"

# ---- FROZEN ----
freeze() { # freeze BOOT: a hutchd that froze it for #9 and was killed
    ok "pause" "$hutch" pause box
    kill_daemon
    sql "UPDATE projects SET frozen_for = 9, frozen_boot = $1 WHERE name = 'box'"
}
freeze boot
start_daemon
ok "what was frozen goes on at the next start" within 20 is_state box run
is "  and is not frozen any more" null "$(api GET /v1/projects/box | jq .frozen_for)"
like "  which is on record" "for request #9" "$(events lifecycle.thaw)"
freeze "'of another boot'"
start_daemon
ok "what another boot was frozen for" within 20 is_state box paused
sleep 0.5
is "  stays paused: somebody else did it" paused "$(state box)"
ok "resume" "$hutch" resume box
ok "pause" "$hutch" pause box
kill_daemon
start_daemon
ok "what a person paused" within 20 is_state box paused
sleep 0.5
is "  stays paused" paused "$(state box)"
gives "exec in it says so" 125 "$hutch" exec box -- true
like "  with the way out" "hutch resume" "$output"
gives "  --thaw is not for that" 125 "$hutch" exec box --thaw -- true
ok "resume again" "$hutch" resume box
gives "exec --thaw of a machine that runs" 0 "$hutch" exec box -u "$(id -un)" --thaw -- true

# ---- away = freeze: saved because nobody came ----
ok "suspend" "$hutch" suspend box
kill_daemon
question CONNECT away.test:443/tls away.test:443 routine $all waiting
sql "UPDATE projects SET stored_for = (SELECT max(id) FROM requests) WHERE name = 'box'"
start_daemon
is "what was saved for a question stays so over a restart" saved "$(state box)"
id=$(api GET /v1/requests | jq -r 'select(.subject == "away.test:443") | .id')
is "  and says for which" "$id" "$(api GET /v1/projects/box | jq .stored_for)"
gives "an answer" 0 "$hutch" deny "$id"
ok "  wakes it" within 30 is_state box run
is "  and it is saved for nothing any more" null "$(api GET /v1/projects/box | jq .stored_for)"
ok "suspend by a person" "$hutch" suspend box
kill_daemon
question CONNECT stays.test:443/tls stays.test:443 routine $all waiting
start_daemon
gives "an answer" 0 "$hutch" deny stays.test
sleep 0.5
is "  does not wake what a person saved" saved "$(state box)"
ok "wake" "$hutch" start box

# ---- statistics ----
stats() { "$hutch" requests "$@" --stats --json 2>/dev/null; }
of() { jq -c "select(.kind == \"$1\" and .class == \"$2\") | [.asked, .allowed, .denied, .gone, .open]"; }
is "statistics of the critical one" "[1,0,1,0,0]" "$(stats | of PRIVATE critical)"
is "  of the unusual one" "[1,1,0,0,0]" "$(stats | of CONNECT unusual)"
is "  of a project" "$(stats)" "$(stats box)"
is "  nobody answers blindly" "" "$(stats | jq -c 'select(.blind)')"
gives "  of one that is not there" 5 "$hutch" requests bax --stats
kill_daemon
for n in 1 2 3 4 5 6 7 8 9 10 11; do question BLIND "b$n" "b$n.test:443" routine $all allowed; done
sql "UPDATE requests SET asked_ms = 1000 * id, changed_ms = 1000 * id + 100 * id WHERE verb = 'BLIND'"
sql "UPDATE requests SET changed_ms = asked_ms + 1900 WHERE verb = 'BLIND'"
start_daemon
is "  who always says yes at once does not read" "[11,1900,true]" \
    "$(stats | jq -c 'select(.kind == "BLIND") | [.allowed, .median_ms, .blind]')"
gives "  which is said" 0 "$hutch" requests --stats
like "  in words" "BLIND, routine: .*no longer protects you" "$output"
like "  beside the table" "^BLIND +routine +11 +11 +0 +0 +0 +1.9s" "$output"
kill_daemon
sql "DELETE FROM requests WHERE verb = 'BLIND'"
start_daemon

# ---- one question with a line for each name ----
kill_daemon
last=$(($(sql "SELECT seq FROM sqlite_sequence WHERE name = 'requests'") + 1))
question CONNECT l1.test:443/tls l1.test:443 routine $all waiting
question CONNECT l2.test:443/tls l2.test:443 routine $all waiting
question CONNECT l3.test:443/tls l3.test:443 unusual 3 waiting
question CONNECT other.test:443/tls other.test:443 routine $all waiting
question CONNECT m1.test:443/tls m1.test:443 routine $all waiting
question CONNECT m2.test:443/tls m2.test:443 unusual 3 waiting
sql "UPDATE requests SET batch = $last WHERE id IN ($((last + 1)), $((last + 2)))"
sql "UPDATE requests SET batch = $((last + 4)) WHERE id = $((last + 5))"
start_daemon
is "its lines have its number, after a restart too" "$last $last $last $((last + 3)) $((last + 4)) $((last + 4))" \
    "$(api GET /v1/requests | jq -r .batch | paste -sd' ')"
like "  and a + in the list" "^ *[+]$((last + 1)) +box " "$("$hutch" requests)"
gives "allow --batch is of the routine ones" 0 "$hutch" allow "$((last + 1))" --batch
like "  the other one is named" "#$((last + 2)) is left" "$output"
is "  the first, the second, not the third, nor another question" "allowed allowed waiting waiting" \
    "$(state_of "$last") $(state_of $((last + 1))) $(state_of $((last + 2))) $(state_of $((last + 3)))"
is "  by an answer each" 2 "$(events approval.decision | grep -c "^#\($last\|$((last + 1))\) ")"
gives "  not of nothing" 1 "$hutch" allow "$((last + 2))" --batch
gives "several, one of them over" 1 "$hutch" deny "$((last + 2))" "$last" "$((last + 3))"
is "  the others are answered" "denied denied" "$(state_of $((last + 2))) $(state_of $((last + 3)))"
gives "deny --batch is of all" 0 "$hutch" deny "$((last + 4))" --batch -m 'no'
is "  unusual ones too" "denied denied" "$(state_of $((last + 4))) $(state_of $((last + 5)))"

# ---- its end ----
kill_daemon
last=$(($(sql "SELECT seq FROM sqlite_sequence WHERE name = 'requests'") + 1))
question CONNECT last.test:443/tls last.test:443 routine $all waiting
question CONNECT ruled.test:443/tls ruled.test:443 routine $all waiting
start_daemon
gives "a rule" 0 "$hutch" rule add box 'allow ruled.test'
is "  takes away the question that it decides" gone "$(state_of "$((last + 1))")"
is "a question" waiting "$(state_of "$last")"
gives "stop" 0 "$hutch" stop box
is "  outlives the machine's run" waiting "$(state_of "$last")"
gives "start" 0 "$hutch" start box
gives "rm" 0 "$hutch" rm box --yes
is "  but not the project" not-found "$(request "$last" | code)"
is "  of which it is said that it is gone" 1 "$(events approval.gone | grep -c "^#$last ")"
the_end
