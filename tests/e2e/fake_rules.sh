#!/bin/bash
# The rules of a project through hutchd: files, hot reload, `rule` verbs, and that what cannot be read opens nothing (N02).
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"

start_daemon
make_base
hutch() { "$build/hutch" "$@" 2>&1; }
status() { hutch "$@" >/dev/null; echo $?; }
file=$home/config/projects/shop.ini

api POST /v1/projects -d '{"name":"shop","memory":268435456,"cpus":1,"disk":17179869184,"egress":"deny"}' | last >/dev/null
is "the mode of the request stands in the project's file" "default = deny" "$(grep default "$file")"
like "show says the mode" '"egress": ?"deny"' "$(api GET /v1/projects/shop | jq -c .)"
again() { api POST /v1/projects -d "{\"name\":\"shop\",\"egress\":\"$1\"}" | last; }
like "another mode for what is there is refused, with the file" 'exists.*default = deny.*not changed to ask.*write .*default = ask.*shop.ini' "$(again ask)"
like "the same mode is none" '"result"' "$(again deny)"
is "an unknown host is denied" 4 "$(status rule test shop docs.rs)"
like "and the rule that is missing is named" "allow docs.rs" "$(hutch rule test shop docs.rs)"
ok "a rule is added" hutch rule add shop 'allow docs.rs'
is "it counts at once" 0 "$(status rule test shop docs.rs)"
is "for its port alone" 4 "$(status rule test shop docs.rs:80)"
like "ls has it" "project .*allow docs.rs" "$(hutch rule ls shop)"
is "json names the fields" "decision hits id last_ns layer line source text" \
    "$("$build/hutch" rule ls shop --json 2>/dev/null | jq -r 'select(.text == "allow docs.rs") | keys | join(" ")')"
like "ls --past judges what is remembered again" "HITS +LAST +WOULD +LAST .*allow docs.rs.*of 0 rows of the last 7 days" \
    "$(hutch rule ls shop --past | tr '\n' ' ')"
is "  json has the counts" "0 0" "$("$build/hutch" rule ls shop --past --json 2>/dev/null | jq -r 'select(.text == "allow docs.rs") | "\(.past) \(.past_ns)"')"
is "twice is an error" 1 "$(status rule add shop 'allow docs.rs')"
is "a wildcard over a suffix is refused" 2 "$(status rule add shop 'allow *.com')"
is "a form error is denied" 4 "$(status rule test shop 127.1)"

printf '[egress]\ndefault = ask\nallow =\n    docs.rs\n    crates.io\n' >"$file"
within 5 eval '[ "$(api POST /v1/projects/shop/rules/test -d "{\"target\":\"crates.io\"}" | jq -r .verdict)" = allow ]'
is "an edited file counts" 0 "$(status rule test shop crates.io)"
is "an unknown host is asked now" 6 "$(status rule test shop evil.test)"

seqs=$(api GET "/v1/events?project=shop" | jq -r .seq)
is "a page of older events ends before the number" "$(tail -n4 <<<"$seqs" | head -n2)" \
    "$(api GET "/v1/events?project=shop&limit=2&before=$(tail -n2 <<<"$seqs" | head -n1)" | jq -r .seq)"
before=$(api GET "/v1/events?kind=policy" | jq -s length)
printf '[egress]\ndefault = open\nallow = \n  *.com\n' >"$file"
within 5 eval '[ "$(api GET "/v1/events?kind=policy" | jq -s length)" -gt '"$before"' ]'
like "N02: the journal says that a file was refused" refused "$(api GET '/v1/events?kind=policy' | tail -n1)"
is "N02: the rules of before stay" 0 "$(status rule test shop crates.io)"
is "N02: and open nothing" 6 "$(status rule test shop evil.test)"
like "N02: ls says so" "not what counts now.*shop.ini" "$(hutch rule ls shop)"
stop_daemon
start_daemon
is "N02: after a start without valid rules all is denied" 4 "$(status rule test shop docs.rs)"
like "N02: for that reason" "no valid rules" "$(hutch rule test shop docs.rs)"
printf '[egress]\ndefault = deny\nallow = \n    docs.rs\n' >"$file"
within 5 eval '[ "$(api POST /v1/projects/shop/rules/test -d "{\"target\":\"docs.rs\"}" | jq -r .verdict)" = allow ]'
is "a mended file counts" 0 "$(status rule test shop docs.rs)"
ok "a rule is taken out" hutch rule rm shop 'allow docs.rs'
is "and no longer counts" 4 "$(status rule test shop docs.rs)"
is "one that is not there is an error" 5 "$(status rule rm shop 'allow docs.rs')"
is "no flows" "" "$(api GET /v1/projects/shop/flows)"

# the first preset of a user
printf '[egress]\ndefault = deny\npresets = mine\n' >"$file"
refused() { api GET "/v1/events?kind=policy" | tail -n1 | jq -e '.verdict == "refused"' >/dev/null; }
loaded() { api GET "/v1/events?kind=policy" | tail -n1 | jq -e '.verdict == "loaded"' >/dev/null; }
within 5 refused
mkdir -p "$home/config/presets"
sleep 0.5
printf '[preset]\nabout = my own\n[egress]\nallow = mine.test\n' >"$home/config/presets/mine.ini"
within 5 loaded
ok "a preset that comes later counts by itself" loaded

# a budget, and what is used of it
printf '[egress]\ndefault = budget\n' >"$file"
within 5 eval '[ "$(api GET /v1/projects/shop | jq -r .egress)" = budget ]'
is "BUDGET: what is used is sent" "0 1048576 0 60" \
    "$(api GET /v1/projects/shop | jq -r '"\(.budget_used) \(.budget_max) \(.budget_names) \(.budget_names_max)"')"
kill_daemon # the hour goes on where it was
python3 - "$home/state/state.db" <<'P'
import sqlite3, sys, time
bucket = int(time.time()) // 300 + 1
db = sqlite3.connect(sys.argv[1])
db.execute("INSERT OR REPLACE INTO budgets SELECT id, ? FROM projects WHERE name = 'shop'",
           (f"total {bucket} 1000\nnames {bucket} 2\nhost {bucket} 1 a.test\nup {bucket} 1000\n",))
db.commit()
P
start_daemon
within 5 eval '[ "$(api GET /v1/projects/shop | jq -r .egress)" = budget ]'
is "  what was used is known after a restart" "1000 2" "$(api GET /v1/projects/shop | jq -r '"\(.budget_used) \(.budget_names)"')"
kill_daemon
python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1]); db.execute("UPDATE budgets SET counters = ?", ("total x",)); db.commit()' "$home/state/state.db"
start_daemon
within 5 eval '[ "$(api GET /v1/projects/shop | jq -r .egress)" = budget ]'
is "  what cannot be read is used up" "1048576 60" "$(api GET /v1/projects/shop | jq -r '"\(.budget_used) \(.budget_names)"')"
kill_daemon
python3 -c 'import sqlite3, sys
db = sqlite3.connect(sys.argv[1]); db.execute("DELETE FROM budgets"); db.commit()' "$home/state/state.db"
start_daemon
within 5 eval '[ "$(api GET /v1/projects/shop | jq -r .egress)" = budget ]'
like "  and shown" "internet +budget, 0B of 1M up and 0 of 60 new names" "$(hutch show shop)"
printf '[egress]\ndefault = deny\npresets = mine\n' >"$file"
within 5 eval '[ "$(api GET /v1/projects/shop | jq -r .egress)" = deny ]'
is "  in no other mode" null "$(api GET /v1/projects/shop | jq .budget_used)"

# all projects
user=$home/config/rules.ini
ok "a rule of all projects" hutch rule add shop 'allow every.test' --all
like "  stands in the user's file" "every.test" "$(cat "$user")"
is "  not in the project's" "" "$(grep every.test "$file")"
is "  and counts" 0 "$(status rule test shop every.test)"
like "  the journal has it" "every.test .all projects" "$(api GET '/v1/events?kind=policy.add' | tail -n1)"
is "rm of a project's rule does not take it" 1 "$(status rule rm shop 'allow every.test')"
like "  but says how" "--all" "$(hutch rule rm shop 'allow every.test')"
ok "rm --all does" hutch rule rm shop 'allow every.test' --all
is "  and it no longer counts" 4 "$(status rule test shop every.test)"
ok "allow HOST --for all" hutch allow each.test -p shop --for all
like "  is a rule of all projects" "each.test" "$(cat "$user")"
is "  not of this one" "" "$(grep each.test "$file")"
is "an answer is about one host" 2 "$(status allow '*.each.test' -p shop --for all)"
like "  the rest is a rule" "hutch rule add 'allow \*.each.test'" "$(hutch allow '*.each.test' -p shop)"

# host ports
ok "a host port is added" hutch host-port add shop pg=127.0.0.1:5432
is "it counts at once" 0 "$(status rule test shop pg.hutch.internal:5432)"
is "for its port alone" 4 "$(status rule test shop pg.hutch.internal:5433)"
like "ls has it" "pg +pg.hutch.internal:5432 +127.0.0.1:5432" "$(hutch host-port ls shop)"
is "json names the fields" "host name port to" "$(hutch host-port ls shop --json | jq -r 'keys | join(" ")')"
like "the journal has it" "host-port pg = 127.0.0.1:5432" "$(api GET '/v1/events?kind=policy.add' | tail -n1)"
like "no other host's port" "write 127.0.0.1:5432" "$(hutch host-port add shop db=10.0.0.1:5432)"
like "a socket needs a port" "hutch host-port add agent=unix:/run/x --port" "$(hutch host-port add shop agent=unix:/run/x)"
like "a name without a place" "pg=127.0.0.1:5432" "$(hutch host-port add shop db)"
is "hutchd's own socket is refused" 4 "$(status host-port add shop "me=unix:$home/run/hutchd.sock" --port 80)"
ok "a host port is taken out" hutch host-port rm shop pg
is "and no longer counts" 4 "$(status rule test shop pg.hutch.internal:5432)"
is "one that is not there is an error" 5 "$(status host-port rm shop pg)"

# doctor
doctor=$(hutch doctor --json)
like "doctor names a base without a record of its package hosts" "hutch template build debian-13" \
    "$(jq -c 'select(.check == "bases") | .fix' <<<"$doctor")"
is "  no proxy, no word" "" "$(jq -c 'select(.check == "proxy")' <<<"$doctor")"
printf '[network]\nproxy = http://me:hunter2@proxy.test:3128\n' >"$home/config/hutch.ini"
proxy_said() { hutch doctor --json | jq -c 'select(.check == "proxy") | [.state, .text, .fix]'; }
chmod 644 "$home/config/hutch.ini"
like "  a proxy's password that others can read is not used, and said" '"fail".*others can read it.*chmod 600' "$(proxy_said)"
chmod 600 "$home/config/hutch.ini"
like "  one that they cannot read is" '"ok".*through proxy.test:3128' "$(proxy_said)"
stop_daemon
start_daemon
is "  with it the rules count" 0 "$(status rule test shop mine.test)"
is "L10: the password is in no log and no answer" "" "$(grep -r hunter2 "$home/state" "$home/log" 2>/dev/null; hutch log --json | grep hunter2; proxy_said | grep -e hunter2 -e bWU6)"
printf '[network]\nproxy = https://me:hunter2@proxy.test:3128\n' >"$home/config/hutch.ini"
like "  a proxy that hutch cannot use is said" '"fail".*nothing goes out: ."...@proxy.test:3128' "$(proxy_said)"
is "L10: nor where it is wrong" "" "$(grep -r hunter2 "$home/state" "$home/log" 2>/dev/null)"
stop_daemon
start_daemon
is "  and nothing goes around it: all is denied" 4 "$(status rule test shop mine.test)"
like "  with the reason" "not what counts now.*proxy" "$(hutch rule ls shop)"
before=$(api GET "/v1/events?kind=policy" | jq -s length)
printf '[network]\nproxy = http://proxy.test:3128\n' >"$home/config/hutch.ini"
within 5 eval '[ "$(api GET "/v1/events?kind=policy" | jq -s length)" -gt '"$before"' ]'
is "  one that can be used counts by itself" 0 "$(status rule test shop mine.test)"
like "  another is" "through proxy.test:3128" "$(hutch doctor --json | jq -r 'select(.check == "proxy") | .text')"
rm "$home/config/hutch.ini"

# rm
like "rm: rules that a person wrote stay, and where is said" "stay in .*shop.ini" "$(hutch rm shop --yes)"
is "the file is there" 1 "$(grep -c 'presets = mine' "$file")"
rm "$file"
api POST /v1/projects -d '{"name":"shop","memory":268435456,"cpus":1,"disk":17179869184,"egress":"deny"}' | last >/dev/null
is "rm: a file that nobody wrote in goes" "" "$(hutch rm shop --yes)"
ok "it is gone" test ! -e "$file"
is "the journal has no refused policy for that" 1 "$(refused && echo 0 || echo 1)"
the_end
