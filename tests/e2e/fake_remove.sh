#!/bin/bash
# What rm says of work that exists nowhere else, and that an rm that is refused changes nothing.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"
for tool in git sqlite3; do
    command -v $tool >/dev/null || { echo "1..0 # SKIP $tool is missing"; exit 77; }
done
export GIT_CONFIG_GLOBAL=/dev/null GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b.example GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b.example
faults() { printf '%s' "$1" >"$home/data/fake/faults"; }
tree=$home/tree
in_tree() { git -C "$tree" "$@" >/dev/null 2>&1; }
removal() { api DELETE /v1/projects/box | last; }

start_daemon
make_base
up box >/dev/null
git init -q -b main "$tree"
echo 1 >"$tree/file"
in_tree add -A && in_tree commit -m one
git clone -q "$tree" "$home/source"
commit=$(git -C "$tree" rev-parse HEAD)

# The "machine" is this host: a repository as `up` would have brought it in.
stop_daemon
sqlite3 "$home/state/state.db" "UPDATE projects SET user='$(id -un)';
    INSERT INTO repos SELECT id, 0, 'tree', '$home/source', NULL, 'refs/heads/main', '$commit', '$tree', 1 FROM projects"
start_daemon
guest_up() { [ "$(api GET /v1/projects/box | jq -r .guest.up)" = true ]; }
ok "the machine is up" within 20 guest_up

echo 2 >"$tree/new file"
out=$(removal)
is "a file that is not committed: refused" would-lose "$(jq -r .error.code <<<"$out")"
like "  the project is named once" '^hutch: "box" holds' "$("$build/hutch" rm box --yes 2>&1 </dev/null)"
like "  named" 'files not committed \(1\): .*new file' "$out"
like "  the ways out" 'hutch cp box:.*tree \..*--discard-work' "$out"
in_tree add -A
in_tree stash
like "a stash is named" 'stashes \(1\)' "$(removal)"
in_tree checkout -b fix/it
in_tree commit --allow-empty -m two
in_tree commit --allow-empty -m three
like "commits on a branch are named" 'commits on branch fix/it \(2\).*; stashes' "$(removal)"
in_tree checkout --detach
in_tree commit --allow-empty -m four
like "commits on no branch too" 'commits on no branch \(1\)' "$(removal)"
is "it runs as before" run "$(state box)"
mv "$tree/.git/HEAD" "$tree/.git/HEAD.away"
out=$(removal)
is "a tree that git does not understand: refused" would-lose "$(jq -r .error.code <<<"$out")"
like "  with the reason" 'could not be looked at' "$out"
mv "$tree/.git/HEAD.away" "$tree/.git/HEAD"

api POST /v1/projects/box/stop >/dev/null
faults start=slow
api POST /v1/projects/box/start >"$home/start" & start=$!
ok "it is being started" within 10 is_state box starting
out=$(removal)
is "rm meanwhile is refused" would-lose "$(jq -r '.error.code' <<<"$out")"
like "  and says why" 'being started' "$out"
wait "$start"
is "  the start went on" run "$(last <"$home/start" | jq -r .result.state)"
faults ''

meant=$(api GET /v1/projects/box | jq -r .id)
is "with the work given up it goes" '{}' "$(api DELETE '/v1/projects/box?discard_work=1' | last | jq -c .result)"
is "nothing of it stays" not-found "$(state box)"
like "its events are there still" 'lifecycle.create' "$(api GET '/v1/events?project=box')"
up box >/dev/null
is "another project of the name begins anew" "lifecycle.create 1" \
    "$(api GET '/v1/events?project=box' | jq -r .kind | head -1) $(api GET '/v1/events?project=box' | grep -c lifecycle.create)"
code() { last | jq -r '.error.code // "done"'; }
for act in "POST box/stop" "DELETE box" "POST box/sessions" "DELETE box/rules/x" "POST box/thaw" "GET box"; do
    body=() # what asks for none may be answered, and its stream ended, while curl still sends
    [ "${act% *}" != POST ] || body=(-d '{"argv":["true"]}')
    out=$(api "${act% *}" "/v1/projects/${act#* }?id=$meant" "${body[@]}")
    is "$act meant the earlier one: refused" state "$(code <<<"$out")"
done
like "  and says why" '"\\"box\\" is another project now: the one that was meant is gone' "$out"
is "  it still runs" run "$(state box)"
meant=$(api GET /v1/projects/box | jq -r .id)
out=$(api POST "/v1/projects/box/sessions?id=$meant" -d '{"argv":["sleep","9"],"user":"root"}')
is "what means this one is done" running "$(jq -r .state <<<"$out")"
is "  the guest is asked without it" 1 "$(api GET "/v1/projects/box/sessions?id=$meant" | grep -c '"sleep')"
session_ended() { api GET '/v1/events?project=box' | grep -q exec.end; }
api DELETE "/v1/projects/box/sessions/$(jq -r .id <<<"$out")?id=$meant" >/dev/null
ok "  and ends it" within 10 session_ended
is "  the earlier one's events can be asked for" 2 "$(api GET '/v1/events?project=box&earlier=1' | grep -c lifecycle.create)"
up other >/dev/null
for i in $(seq 12); do api POST "/v1/projects/other/$([ $((i % 2)) = 1 ] && echo pause || echo resume)" >/dev/null; done
is "the newest of all" other "$(api GET '/v1/events?limit=5' | jq -r .project | sort -u)"
out=$(api GET '/v1/events?limit=5&each=3')
is "  and of each project" "3 box" "$(jq -r .project <<<"$out" | grep box | uniq -c | xargs)"
is "  in their order, each once" "$(jq .seq <<<"$out" | sort -n -u)" "$(jq .seq <<<"$out")"
the_end
