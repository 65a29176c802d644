#!/bin/bash
# Git out of a machine with the fake host and the real hutch-guest: what an agent pushes waits for review, what it did not push
# comes out too, a deletion is refused, the host's commits go in.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"
# shellcheck source=fake_git_lib.sh
. "$(dirname "$0")/fake_git_lib.sh"

git_project

out=$(in_tree commit -q --allow-empty -m two && in_tree push origin HEAD:fix)
like "a push is told to the host" 'remote: hutch has it, waiting for review as #1 \(refs/heads/fix\)' "$out"
is "  and asked about" "PUSH|shop fix, 1 commit|routine" "$(requests)"
is "  its tip is kept" "$(git -C "$tree" rev-parse HEAD)" "$(quarantine rev-parse refs/pushes/1)"
is "  the branch that nobody changed is not asked about" "" "$(requests | grep main)"

echo x >"$tree/.envrc" && git -C "$tree" add -A && git -C "$tree" commit -qm three
out=$(in_tree push origin HEAD:fix)
like "a second push goes to the same request" 'waiting for review as #1 ' "$out"
is "  which says what came with it, and that it is unusual" "PUSH|shop fix, 2 commits|unusual" "$(requests)"
is "  with the list of what would run" .envrc "$(api GET /v1/requests/1 | jq -r '.fields.persistence[].path')"
out=$("$hutch" allow 1 2>&1 </dev/null)
like "  hutch allow 1 shows it first" 'runs here +.envrc ' "$out"
like "  and how much it brings" '2 commits, 1 files' "$out"
git -C "$tree" commit -q --amend -m "three again"
out=$(in_tree push -f origin HEAD:fix)
like "a forced push is taken" 'waiting for review as #1' "$out"

out=$(in_tree push origin :fix)
like "a deletion is refused, with the reason" "remote: hutch: 'refs/heads/fix' stays: a person reviews" "$out"
like "  as git says it" 'remote rejected.*fix' "$out"
out=$(in_tree push origin :main)
like "  also of the branch that HEAD names" "'refs/heads/main' stays: a person reviews" "$out"
out=$(in_tree push origin HEAD:refs/odd/x)
like "neither branch nor tag: refused" 'neither a branch nor a tag' "$out"
out=$(in_tree tag v1 && in_tree push origin v1)
like "a tag is asked about too" 'waiting for review as #2 \(refs/tags/v1\)' "$out"

git -C "$tree" reset -q --hard HEAD~1
digest=$(api GET /v1/requests/1 | jq .digest) nonce=$(api GET /v1/requests/1 | jq .nonce)
api POST /v1/requests/1/answer -d "{\"verdict\":\"deny\",\"reason\":\"no .envrc please\",\"nonce\":$nonce,\"digest\":$digest}" >/dev/null
out=$(timeout 30 "$hutch" exec box -e "HUTCH_GUEST_PROXY=$proxy" -- "$build/hutch-guest" wait 1 2>&1)
is "the agent hears why it was rejected" "deny: no .envrc please" "$out"
out=$(in_tree push -f origin HEAD:fix)
like "the next push of that branch says so" 'waiting for review as #3 .*' "$out"
like "  with the reason" 'remote: +#1 was rejected: no .envrc please' "$out"
like "a push after that is another request, and said to be forced" 'shop fix, 1 commit, forced' "$(requests)"

# What was not pushed comes out when a session ends.
git -C "$tree" checkout -q -b work && git -C "$tree" commit -q --allow-empty -m work
echo stash >>"$tree/file" && git -C "$tree" stash -q
echo 'not committed' >>"$tree/file" && echo new >"$tree/new file" && ln -s /etc/passwd "$tree/link"
before=$(git -C "$tree" status --porcelain; sha1sum "$tree/.git/index")
timeout 30 "$hutch" exec box -- true
has() { quarantine rev-parse -q --verify "$1"; }
ok "a branch that was not pushed comes out" within 40 has refs/work/heads/work
ok "  a stash" within 40 has refs/work/stash/0
ok "  what is not committed" within 40 has refs/work/uncommitted
is "  as it is" "not committed" "$(quarantine show refs/work/uncommitted:file | tail -1)"
is "  what git does not know yet, too" new "$(quarantine show 'refs/work/uncommitted:new file')"
is "  on the commit that it was made on" "$(git -C "$tree" rev-parse HEAD)" "$(quarantine rev-parse refs/work/uncommitted^)"
is "  and the tree's own index is as it was" "$before" "$(git -C "$tree" status --porcelain; sha1sum "$tree/.git/index")"

# An agent's turn ends and its session goes on.
sleep 5 # what the sessions' end began
git -C "$tree" commit -q --allow-empty -m "in a turn" 2>/dev/null
turn=$(git -C "$tree" rev-parse work)
env "HUTCH_GUEST_PROXY=$proxy" "$build/hutch-guest" checkpoint # as an agent's hook would: no session of ours ends
is "hutch-guest checkpoint: told" 0 $?
is_turn() { [ "$(quarantine rev-parse refs/work/heads/work)" = "$turn" ]; }
ok "  what a turn made comes out" within 30 is_turn
git -C "$tree" reset -q --soft HEAD^

# The host commits meanwhile.
echo host >"$src/host" && git -C "$src" add -A && git -C "$src" commit -qm host
out=$(in_tree fetch origin)
like "a fetch tells what was rejected" 'hutch: #1 \(refs/heads/fix\) was rejected: no .envrc please' "$out"
unlike "  once" 'was rejected' "$(in_tree fetch origin)"
is "the host's commits go in at a fetch" "$(git -C "$src" rev-parse HEAD)" "$(git -C "$tree" rev-parse origin/main)"
is "  and are no push" "" "$(requests | grep main)"

echo again >"$src/host" && git -C "$src" commit -qam again
like "git push-in brings them at once" 'the machine has your branches' "$("$hutch" git push-in box)"
is "  into the machine's repository" "$(git -C "$src" rev-parse HEAD)" "$(git --git-dir "$bare" rev-parse main)"
git -C "$tree" push -q "$bare" HEAD:refs/heads/apart && git -C "$src" branch apart
like "  what went apart stays, and is said" 'apart from yours stay' "$("$hutch" git push-in box 2>&1)"
is "  as the machine has it" "$(git -C "$tree" rev-parse HEAD)" "$(git --git-dir "$bare" rev-parse apart)"

# A hutchd that ends between a push and its request asks again.
kill_daemon
git -C "$bare" update-ref refs/heads/late "$(git -C "$tree" rev-parse work)" 2>/dev/null || git -C "$tree" push -q "$bare" work:late
start_daemon HUTCH_FAKE_NET=listen
ok "the machine is up again" within 20 guest_up
late() { requests | grep -q 'shop late'; }
ok "what was pushed while nobody listened is asked about" within 40 late

# What is listed, fetched by hand, and kept of a project that is removed.
out=$("$hutch" git ls box --json)
is "git ls: each with its kind and what is new in it" "branch fix 1;branch late 2;stash 0 4;tag v1 2;uncommitted work/uncommitted 3" \
    "$(jq -r 'select(.name | test("fix|^0$|v1|uncommitted|late")) | [.kind,.name,.commits] | join(" ")' <<<"$out" | sort | paste -sd';')"
like "  as a table" 'shop +branch +fix +1 ' "$("$hutch" git ls box)"
git -C "$tree" commit -q --allow-empty -m more && git -C "$tree" push -q "$bare" HEAD:by-hand
like "git fetch says what came, and what waits" 'refs/heads/by-hand waits for review as #[0-9]+' "$("$hutch" git fetch box)"
gives "rm of work that is nowhere else: 7" 7 "$hutch" rm box --yes
like "  listed" 'commits on branch.*not committed.*stashes' "$output"
is "  and kept" run "$(state box)"
is "nothing is lost yet" "" "$("$hutch" git ls --lost --json)"
tip=$(git --git-dir "$bare" rev-parse late)
gives "rm --discard-work" 0 "$hutch" rm box --yes --discard-work
like "  says where it is" 'git ls --lost' "$output"
lost=$("$hutch" git ls --lost --json)
is "  the branch is there by its date and project" "lost/$(date -u +%F)/$id/guest/heads/late $tip box" \
    "$(jq -r 'select(.name | endswith("/guest/heads/late")) | [.ref[5:], .commit, .project] | join(" ")' <<<"$lost")"
folder=$(jq -r .folder <<<"$lost" | head -1)
mv "$home/cache/mirrors" "$home/cache/away"
is "  with all that it needs: its mirror is not asked" new "$(git --git-dir "$folder" show "refs/lost/$(date -u +%F)/$id/work/uncommitted:new file")"
ok "  whole" git --git-dir "$folder" fsck --connectivity-only
like "  in a table" 'box +lost ' "$("$hutch" git ls --lost)"
about=$home/data/lost/$id/about.json
jq -c '.removed_ns -= 31 * 86400 * 1000000000' "$about" >"$about.new" && mv "$about.new" "$about"
is "after 30 days it is gone" "" "$("$hutch" git ls --lost --json)"
the_end
