#!/bin/bash
# shellcheck disable=SC2154,SC1091,SC2016
# Looking at what came out of a machine and landing it, with the fake host: the quarantine is filled as a fetch would fill it.
. "$(dirname "$0")/fake_lib.sh"
hutch=$build/hutch
export GIT_CONFIG_NOSYSTEM=1 HOME=$home/user
mkdir -p "$HOME"
git config --global user.name User
git config --global user.email user@localhost
git config --global init.defaultBranch main
gives() { # gives NAME STATUS COMMAND...: output of both kinds in $output
    local name=$1 want=$2 got=0
    shift 2
    output=$(timeout 100 "$@" 2>&1 </dev/null) || got=$?
    if [ "$got" = "$want" ]; then pass "$name"; else fail "$name" "wanted status $want, got $got of: $*" "$output"; fi
}

# The user's repository; a project that was made of it (its fake machine has no git, so that up fails behind the record); the
# quarantine, and an agent's clone that pushes into it.
mkdir "$home/app"
cd "$home/app" || exit 1
git init -q
seq 30 >n
printf 'one\n' >a.txt
git add .
git commit -qm first
git clone -q "$home/app" "$home/agent"
start_daemon
make_base
api POST /v1/projects -d "{\"name\":\"app\",\"folder\":\"$home/app\",\"repos\":[\"$home/app\"],\"memory\":268435456,\"cpus\":1,\"disk\":17179869184}" >"$home/up"
api GET /v1/projects/app >"$home/shown"
repo=$(jq -r '.repos[0].name' "$home/shown")
is "the project has the repository" app "$repo"
folder=$(find "$home/data/projects" -mindepth 1 -maxdepth 1 -type d | head -1)
quarantine=$folder/quarantine/$repo.git
rm -rf "$quarantine"
gives "before anything came out" 5 "$hutch" git log app
like "  says what brings it" "nothing has come out" "$output"
git init -q --bare "$quarantine"
mirror=$(find "$home" -path '*mirrors/*.git' -maxdepth 4 -type d | head -1)
[ -n "$mirror" ] || { mirror=$home/mirror.git; git clone -q --bare "$home/app" "$mirror"; }
echo "$mirror/objects" >"$quarantine/objects/info/alternates"
gives "no branch yet" 5 "$hutch" git diff app
cd "$home/agent" || exit 1
git config user.name Agent
git config user.email agent@localhost
git checkout -qb fix
sed -i -e 's/^3$/three/' -e 's/^25$/twenty-five/' n
printf 'new\n' >b.txt
git add .
git commit -qm $'fix it \e[31mnow'
git push -q "$quarantine" HEAD:refs/guest/heads/fix
tip=$(git rev-parse HEAD)

cd "$home/app" || exit 1
gives "git log" 0 "$hutch" git log
like "  the commit" "^commit $tip" "$output"
like "  its subject without a colour of its own" '    fix it \\e\[31mnow' "$output"
gives "git diff of one word that is no project" 0 "$hutch" git diff fix
like "  its lines" '^\+three' "$output"
is "  and no escape" "" "$(grep -c $'\e' <<<"$output" | grep -v '^0')"
gives "git diff --stat" 0 "$hutch" git diff app fix --stat
like "  a row" '^M  n  \+2 -2' "$output"
is "git diff --json: its hunks" 3 "$("$hutch" git diff app fix --json | jq -s '[.[] | select(.header)] | length')"
gives "git diff of a file" 0 "$hutch" git diff app fix --path b.txt
like "  that alone" '^A  b.txt' "$output"
gives "git diff of no file" 5 "$hutch" git diff app fix --path c.txt
gives "a branch that is not there" 5 "$hutch" git log app nope
like "  names those that are" "there is: fix" "$output"
gives "a repository that is not there" 5 "$hutch" git log app fix --repo other

echo dirty >>a.txt
before=$(git status --porcelain; git rev-parse HEAD main)
gives "land" 0 "$hutch" land
like "  says what it made" "branch hutch/app/fix in $home/app" "$output"
is "  the branch is the agent's commit" "$tip" "$(git rev-parse hutch/app/fix)"
is "  the work tree and HEAD are as they were" "$before" "$(git status --porcelain; git rev-parse HEAD main)"
is "  it is on record" "app fix as hutch/app/fix" "$(api GET '/v1/events?kind=git.land' | jq -r .subject)"
gives "a second time" 1 "$hutch" land
like "  says that it is there" "already there" "$output"
gives "as the branch that is checked out" 1 "$hutch" land app fix --as main --fast-forward
gives "a hunk and a file" 0 "$hutch" land app fix --as part --files n:2 --files b.txt
is "  the author is the agent, the committer the user" "Agent User" "$(git show -s --format='%an %cn' part)"
is "  and no more than that" "1 1" "$(git show part:n | grep -c twenty-five) $(git show part:n | grep -cx 3)"
gives "a hunk that is not there" 5 "$hutch" land app fix --as none --files n:9
gives "hunks that are no numbers belong to the name" 5 "$hutch" land app fix --as none --files n:x
git init -q --bare "$home/origin.git"
git remote add origin "$home/origin.git"
gives "push" 0 "$hutch" land app fix --as pushed --push
is "  it is at the origin" "$tip" "$(git -C "$home/origin.git" rev-parse pushed)"
gives "into another repository" 0 "$hutch" land app fix --into "$home/origin.git"
is "  there it is" "$tip" "$(git -C "$home/origin.git" rev-parse hutch/app/fix)"

cd "$home/agent" || exit 1
echo 'layout x' >.envrc
ln -s /etc/passwd out
git add .
git commit -qm more
git push -q "$quarantine" HEAD:refs/guest/heads/fix
cd "$home/app" || exit 1
gives "what tools obey is asked about" 2 "$hutch" land app fix --fast-forward
like "  and listed" ".envrc  .shell" "$output"
gives "a link out of the tree is refused" 4 "$hutch" land app fix --fast-forward --yes
like "  and named" "'out'" "$output"
is "  nothing landed" "$tip" "$(git rev-parse hutch/app/fix)"
gives "allowed, it lands" 0 "$hutch" land app fix --fast-forward --yes --allow-link out
is "  forward" more "$(git show -s --format=%s hutch/app/fix)"
is "what was not looked at does not land" changes "$(api POST /v1/projects/app/git/land \
    -d "{\"branch\":\"fix\",\"as\":\"old\",\"commit\":\"$tip\"}" | tail -1 | jq -r .error.code)"
is "a body that is none" invalid "$(api POST /v1/projects/app/git/land -d '{"into":"relative"}' | jq -r .error.code)"
gives "nothing to reject" 5 "$hutch" git reject app fix -m no

# ---- pushes that wait in the inbox ----
stop_daemon
push() { # push BRANCH COMMIT: as a hutchd before would have left it
    python3 -c 'import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1]); now = int(time.time() * 1000)
db.execute("INSERT INTO requests (project, boot, session, verb, key, subject, fields, owner, generation, tier, scopes, state, "
           "asked_ms, changed_ms, attempts, digest, scope, duration_s, reason, by_whom) SELECT id, boot, \"\", \"PUSH\", ?, ?, ?, "
           "\"git\", 0, \"routine\", 1, \"waiting\", ?, ?, 1, \"\", \"once\", 0, \"\", \"\" FROM projects WHERE name = \"app\"",
           ("app " + sys.argv[2], "app " + sys.argv[2], "{\"repo\":\"app\",\"branch\":\"%s\",\"new\":\"%s\"}" % (sys.argv[2], sys.argv[3]), now, now))
db.commit()' "$home/state/state.db" "$1" "$2"
}
more=$(git -C "$home/agent" rev-parse HEAD)
push fix "$more"
push bad "$tip"
push good "$tip"
git -C "$quarantine" update-ref refs/pushes/3 "$tip"
start_daemon
gives "a push is answered by its landing" 0 "$hutch" land app fix --as answered --yes --allow-link out
like "  says so" "#1 is answered by it" "$output"
is "  it is allowed" allowed "$(api GET /v1/requests/1 | jq -r .state)"
is "  with what became of it" "landed as answered" "$(api GET /v1/requests/1 | jq -r .reason)"
gives "which of the others is not said" 2 "$hutch" git reject app
gives "reject one" 0 "$hutch" git reject app bad -m 'not so'
is "  it is denied, with the reason for the agent" "denied not so" "$(api GET /v1/requests/2 | jq -r '"\(.state) \(.reason)"')"
git -C "$quarantine" update-ref refs/pushes/1 "$more"
git -C "$quarantine" update-ref refs/pushes/1-base "$tip"
git -C "$quarantine" update-ref refs/pushes/2 "$tip"
git -C "$quarantine" update-ref refs/pushes/77 "$tip"
is "what became of the pushes, the newest first" "3 good waiting |2 bad denied not so|1 fix allowed landed as answered" \
    "$(api GET /v1/projects/app/git/pushes | jq -r 'select(.repo) | "\(.request) \(.branch) \(.state) \(.reason)"' | paste -sd'|')"
summary() { api GET "/v1/projects/app/git/summary?branch=$1" | jq -r "$2"; }
is "a push in numbers" "refs/pushes/1 2 1 4 false" "$(summary refs%2Fpushes%2F1 '"\(.ref) \(.commits) \(.new_commits) \(.files) \(.forced)"')"
is "  with what would run" ".envrc shell|out symlink" "$(summary %231 '.persistence[] | "\(.path) \(.class)"' | paste -sd'|')"
is "  and what was there before" "$tip" "$(summary %231 .old)"
is "no such branch" not-found "$(summary nope .error.code)"
page() { api GET "/v1/projects/app/git/diff?branch=fix&$1" | jq -r 'if .status then .path elif .next then "next \(.next)" else empty end' | paste -sd' '; }
is "a page of files" ".envrc out next 2" "$(page max=2)"
is "  the next" "b.txt n" "$(page 'from=2&max=2')"
is "one commit alone" ".envrc out" "$(page alone=1)"
is "a page that is none" invalid "$(api GET '/v1/projects/app/git/diff?branch=fix&from=x' | jq -r .error.code)"
gives "allowed in the inbox" 0 "$hutch" allow 3
landed() { [ "$(git rev-parse -q --verify hutch/app/good)" = "$tip" ]; }
ok "  it lands by itself" within 20 landed
the_end
