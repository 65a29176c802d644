#!/bin/bash
# Git out of a machine that means no good, and in places that are not as they should be, with the fake host: another's GIT_DIR, two
# who land at once, a remote that runs a command, a repository that is gone, locked or damaged.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"
# shellcheck source=fake_git_lib.sh
. "$(dirname "$0")/fake_git_lib.sh"
error_of() { tail -1 | jq -r '.error.code // .result.branch // "-"'; }
land() { api POST /v1/projects/box/git/land -d "$1"; } # land BODY
commit() { git -C "$tree" commit -q --allow-empty -m "$1"; }

git_project
# hutchd is started by what comes first, which may be a git remote helper or a hook: with another repository in its environment.
git init -q "$home/other"
git -C "$tree" switch -qc fix
commit one
stop_daemon
start_daemon HUTCH_FAKE_NET=listen "GIT_DIR=$home/other/.git" "GIT_WORK_TREE=$home/other" GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=core.bare GIT_CONFIG_VALUE_0=true
ok "the machine is up again" within 20 guest_up
like "a push is fetched by a hutchd that was started from another repository" 'waiting for review as #1' "$(in_tree push origin HEAD:fix)"
gives "  and lands" 0 env HOME="$home" "$hutch" land box fix
is "  where it belongs" "$(git -C "$tree" rev-parse fix)" "$(git -C "$src" rev-parse hutch/box/fix)"
is "  and not in the other" "" "$(git -C "$home/other" for-each-ref)"
is "  its request is answered" allowed "$(api GET /v1/requests/1 | jq -r .state)"

# An annotated tag is a push like any other.
git -C "$tree" commit -q --allow-empty -m tagged && git -C "$tree" tag -a v1 -m v1
like "an annotated tag waits" 'as #2 \(refs/tags/v1\)' "$(in_tree push origin v1)"
gives "  it lands as a branch" 0 "$hutch" land box v1 --as from-tag
like "  which answers it" '#2 is answered by it' "$output"
git -C "$tree" commit -q --allow-empty -m again && git -C "$tree" tag -a v2 -m v2
like "another one" 'as #3 ' "$(in_tree push origin v2)"
gives "  allowed" 0 "$hutch" allow 3
is "  is the commit that it names" "$(git -C "$tree" rev-parse 'v2^{commit}')" "$(git -C "$src" rev-parse hutch/box/push-3 2>/dev/null)"

# Two who land the same at once.
commit both
like "a push" 'as #4 ' "$(in_tree push origin HEAD:both)"
for i in 1 2 3 4; do land '{"branch":"both"}' >"$home/land.$i" & done
wait $(jobs -p | grep -v "^$daemon$")
is "four land it at once: one does" "1 3" "$(for i in 1 2 3 4; do error_of <"$home/land.$i"; done | sort | uniq -c | awk '{print $1}' | sort | paste -sd' ')"
is "  it is answered once" 1 "$(api GET '/v1/events?project=box&kind=approval.decision' | jq -r .subject | grep -c 'both')"

# What was looked at is what lands.
commit seen
in_tree push origin HEAD:moving >/dev/null
seen=$(git -C "$tree" rev-parse HEAD)
commit unseen
in_tree push origin HEAD:moving >/dev/null
is "what was pushed since it was looked at does not land" changes "$(land "{\"branch\":\"moving\",\"commit\":\"$seen\"}" | error_of)"

# A branch that is called like the request of another.
commit harmless
in_tree push origin HEAD:refs/heads/refs/pushes/1 >/dev/null
is "a branch called like a request is not taken for it" "$(quarantine rev-parse refs/pushes/1)" "$(api GET '/v1/projects/box/git/summary?branch=refs%2Fpushes%2F1' | jq -r .tip)"

# The user's repository.
gives "a name that is a folder there" 1 "$hutch" land box fix --as hutch/box
like "  is named" "hutch/box" "$output"
mkdir -p "$src/.git/refs/heads/hutch/box" && : >"$src/.git/refs/heads/hutch/box/locked.lock"
gives "a branch that is locked" 1 "$hutch" land box fix --as hutch/box/locked
like "  why" "lock" "$output"
rm "$src/.git/refs/heads/hutch/box/locked.lock"
gives "  unlocked it lands" 0 "$hutch" land box fix --as hutch/box/locked
git -C "$src" symbolic-ref refs/heads/alias refs/heads/main
was=$(git -C "$src" rev-parse main)
gives "another name of the branch that is checked out" 1 "$hutch" land box fix --as alias --fast-forward
is "  which stays" "$was" "$(git -C "$src" rev-parse main)"
for url in 'ext::sh -c "touch ran"' "ext::touch $home/ran" 'fd::3' "-oProxyCommand=touch $home/ran" "--upload-pack=touch $home/ran" \
    "ssh://-oProxyCommand=touch $home/ran/x"; do
    git -C "$src" remote remove origin 2>/dev/null
    git -C "$src" config remote.origin.url "$home/nowhere" && git -C "$src" config remote.origin.pushurl "$url"
    n=$((${n:-0} + 1))
    gives "--push to '$url'" 1 "$hutch" land box fix --as "remote-$n" --push
    is "  runs nothing" "" "$(ls "$home/ran" "$src/ran" 2>/dev/null)"
done
git -C "$src" config remote.origin.pushurl https://x.example/ && git -C "$src" config "url.ext::touch $home/ran.insteadOf" https://x.example/
gives "--push to what another name makes a command" 1 "$hutch" land box fix --as remote-alias --push
is "  runs nothing" "" "$(ls "$home/ran" 2>/dev/null)"
git -C "$src" config --remove-section "url.ext::touch $home/ran"
mv "$src" "$src.away"
gives "with the repository gone" 5 "$hutch" land box fix --as gone
like "  it is named, and the way out" "$src.*--into" "$(paste -sd' ' <<<"$output")"
git init -q --bare "$src"
gives "with a bare one in its place" 0 "$hutch" land box fix --as bare
rm -rf "$src" && mv "$src.away" "$src"

# A quarantine that is damaged says so, and nothing waits for ever.
commit good && in_tree push origin HEAD:zgood >/dev/null
pack=$(ls "$home"/data/projects/*/quarantine/shop.git/objects/pack/*.pack | head -1)
for damage in 'truncate -s 20' 'truncate -s 0' 'dd if=/dev/urandom bs=1 count=200 seek=12 conv=notrunc status=none of='; do
    cp "$pack" "$home/pack" && chmod u+w "$pack"
    $damage$([[ $damage == dd* ]] || echo ' ')"$pack"
    timeout 60 "$hutch" git ls box >"$home/out" 2>&1 </dev/null
    is "git ls of a damaged one ends ($damage)" 0 $?
    like "  lists what is there" 'zgood' "$(cat "$home/out")"
    timeout 60 "$hutch" git diff box fix >"$home/out" 2>&1 </dev/null
    is "  git diff ends" no "$([ $? = 124 ] && echo yes || echo no)"
    timeout 60 "$hutch" git fetch box >"$home/out" 2>&1 </dev/null
    is "  git fetch ends" no "$([ $? = 124 ] && echo yes || echo no)"
    timeout 60 "$hutch" land box fix --as "damaged-$RANDOM" >"$home/out" 2>&1 </dev/null
    is "  land ends" no "$([ $? = 124 ] && echo yes || echo no)"
    cp "$home/pack" "$pack"
done
gives "made good it is as before" 0 "$hutch" git diff box zgood
is "hutchd has lived through it" box "$(api GET /v1/projects/box | jq -r .name)"
the_end
