#!/bin/bash
# The life of a project through the API, with the fake host and the real hutch-guest.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"

start_daemon
make_base

out=$(up box)
like "up ends with the project" '"result":\{"id":"[0-9a-f]{8}","name":"box","state":"run"' "$(last <<<"$out")"
like "up tells its phases" '"phase":"kernel"' "$out"
is "show says run" run "$(state box)"
is "show has the guest's word" ready "$(api GET /v1/projects/box | jq -r .guest.phase)"

session=$(api POST /v1/projects/box/sessions -d '{"argv":["sh","-c","cat; echo out; echo err >&2; exit 7"],"user":"root","cwd":"/"}')
id=$(jq -r .id <<<"$session")
is "a session knows its project" box "$(jq -r .project <<<"$session")"
head -c 3000000 /dev/urandom >"$home/in"
api POST "/v1/projects/box/sessions/$id/stdin" --data-binary "@$home/in" >"$home/stdin.answer" &
api GET "/v1/projects/box/sessions/$id/stdout" >"$home/out" &
reader=$!
api GET "/v1/projects/box/sessions/$id/stderr" >"$home/err" &
wait "$reader"
is "wait gives the exit status" 7 "$(api GET "/v1/projects/box/sessions/$id/wait" | jq -r .exit_status)"
{ cat "$home/in"; echo out; } >"$home/wanted"
ok "stdin came out of stdout, byte for byte" cmp "$home/wanted" "$home/out"
ok "stderr is apart" within 5 grep -qx err "$home/err"
like "the end is in the journal" '"kind":"exec.end".*"exit":7' "$(api GET '/v1/events?project=box&kind=exec')"
like "the start was there before" '"kind":"exec.start".*exit 7' "$(api GET '/v1/events?project=box&kind=exec')"
is "a session that is not there" not-found "$(api GET /v1/projects/box/sessions/nope | jq -r .error.code)"

mkdir "$home/files"
api PUT "/v1/projects/box/files?path=$home/files/a&mode=0600" --data-binary "@$home/in" >/dev/null
ok "a file goes in" cmp "$home/in" "$home/files/a"
api GET "/v1/projects/box/files?path=$home/files/a" >"$home/back"
ok "and comes out" cmp "$home/in" "$home/back"
is "into a folder that is missing: the guest's own word" not-found \
    "$(api PUT "/v1/projects/box/files?path=$home/none/a" --data-binary x | jq -r .error.code)"
is "list" a "$(api GET "/v1/projects/box/files/list?path=$home/files" | jq -r .name)"

is "pause" paused "$(api POST /v1/projects/box/pause | last | jq -r .result.state)"
is "a command in a paused machine is refused" state \
    "$(api POST /v1/projects/box/sessions -d '{"argv":["true"],"user":"root"}' | jq -r .error.code)"
kill_daemon
start_daemon
is "a paused machine stays paused over a kill" paused "$(state box)"
is "resume" run "$(api POST /v1/projects/box/resume | last | jq -r .result.state)"
is "a command runs after it" 0 "$(id=$(api POST /v1/projects/box/sessions -d '{"argv":["true"],"user":"root"}' | jq -r .id)
    api GET "/v1/projects/box/sessions/$id/wait" | jq -r .exit_status)"

is "suspend" saved "$(api POST /v1/projects/box/suspend | last | jq -r .result.state)"
is "start wakes it" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"
is "the image is spent" "" "$(find "$home/data/projects" -name suspend.img)"
is "stop" off "$(api POST /v1/projects/box/stop -d '{}' | last | jq -r .result.state)"
is "start" run "$(api POST /v1/projects/box/start | last | jq -r .result.state)"

out=$(up box)
is "up of a running project does the missing steps" run "$(last <<<"$out" | jq -r .result.state)"
for name in "a/b" ".." "a b" "$(printf 'x%.0s' {1..300})" "" "up"; do
    is "the name '${name:0:10}' is refused" invalid "$(jq -n --arg n "$name" '{name:$n}' | api POST /v1/projects -d @- | jq -r .error.code)"
done
like "a template that is not there: the nearest" 'debian-13' "$(api POST /v1/projects -d '{"name":"b","template":"debian-31"}')"
like "a project that is not there: the nearest" 'did you mean .*box' "$(api GET /v1/projects/bax)"
is "nothing was made of them" box "$(api GET /v1/projects | jq -r .name)"

like "memory that is not there: with the numbers" 'no-memory.*of memory' \
    "$(api POST /v1/projects -d '{"name":"huge","memory":17592186044416}' | last)"
is "and the name is free again" not-found "$(state huge)"

api POST /v1/projects -d "{\"folder\":\"$home/files\",\"memory\":268435456}" >/dev/null
is "a folder's project" files "$(api GET "/v1/find?folder=$home/files/x/y" | jq -r .name)"
is "no project of another folder" not-found "$(api GET "/v1/find?folder=$home/filesystem" | jq -r .error.code)"

# Who waits for a guest that says nothing goes away; then the machine is paused.
guest=$(pgrep -f "hutch-guest serve --ports $home/run/p/$(api GET /v1/projects/box | jq -r .id)/")
kill -STOP "$guest"
curl -sS --http2-prior-knowledge --unix-socket "$home/run/hutchd.sock" http://hutch/v1/projects/box/sessions \
    -d '{"argv":["told-once"],"wait_ready":true}' >/dev/null 2>&1 &
client=$!
started() { api GET '/v1/events?project=box&kind=exec' | grep -q '"kind":"exec.start".*told-once'; }
failures() { api GET '/v1/events?project=box&kind=exec' | grep -c '"kind":"exec.failed".*told-once'; }
has_failed() { [ "$(failures)" != 0 ]; }
within 20 started
{ kill -9 "$client" && wait "$client"; } 2>/dev/null
ok "a client that waited for the guest and went away" within 20 has_failed
is "  the machine is paused after it" paused "$(api POST /v1/projects/box/pause | last | jq -r .result.state)"
# Nothing marks what must not happen: a forgotten wait would look at the state within a quarter of a second.
sleep 1
is "  its end is told once" 1 "$(failures)"
kill -CONT "$guest"
api POST /v1/projects/box/resume >/dev/null

is "rm" '{}' "$(api DELETE /v1/projects/box | last | jq -c .result)"
is "it is gone" not-found "$(state box)"
like "its events stay" '"kind":"lifecycle.remove"' "$(api GET '/v1/events?project=box')"
is "the journal is whole" 0 "$(api GET /v1/journal/verify | last | jq -r .result.bad)"

ok "the unit's stop ends hutchd" timeout 60 "$build/hutchd" --save-and-quit
ok "at once" sh -c "! kill -0 $daemon 2>/dev/null || grep -q '^State:.Z' /proc/$daemon/status"
wait "$daemon"
is "in order" 0 "$?"
start_daemon
is "and the machine was saved" saved "$(state files)"
is "rm of a saved one" '{}' "$(api DELETE /v1/projects/files | last | jq -c .result)"
the_end
