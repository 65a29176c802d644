#!/bin/bash
# What of a machine's work is nowhere else, with the fake host: what a person landed or pushed on is not, whoever asks.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"
# shellcheck source=fake_git_lib.sh
. "$(dirname "$0")/fake_git_lib.sh"
refused() { gives "$1" 7 "$hutch" rm box --yes; } # refused NAME: the list is in $output

git_project
in_tree switch -qc fix >/dev/null
in_tree commit -q --allow-empty -m one >/dev/null
in_tree commit -q --allow-empty -m two >/dev/null
like "the push waits" 'waiting for review as #1' "$(in_tree push origin HEAD:fix)"
refused "rm with a push that nobody landed: 7"
like "  which" 'commits on branch fix \(2\)' "$output"
gives "landed" 0 "$hutch" land box fix
git -C "$src" branch -qm hutch/box/fix away && git -C "$src" update-ref -d refs/heads/away
refused "a landed branch that was deleted again is landed no more"
git -C "$src" branch -q merged "$(git -C "$tree" rev-parse fix)" # under whatever name
in_tree commit -q --allow-empty -m three >/dev/null
refused "rm with one more commit: 7"
like "  that one alone is named" 'commits on branch fix \(1\)$' "$(head -1 <<<"$output")"
in_tree reset -q --hard HEAD^ >/dev/null
in_tree branch -q pushed-only >/dev/null
echo kept >"$tree/not yet" # the index knows nothing of it
refused "rm with a file that is not committed: 7"
like "  the branches are not" 'holds .*: files not committed \(1\): .*not yet' "$output"
git -C "$tree" add -A && git -C "$tree" stash -q
refused "rm with a stash: 7"
like "  that alone" ': stashes \(1\)$' "$(head -1 <<<"$output")"
git -C "$tree" stash drop -q
git -C "$tree" switch -q --detach && git -C "$tree" commit -q --allow-empty -m detached
refused "rm with a commit on no branch: 7"
like "  that alone" ': commits on no branch \(1\)$' "$(head -1 <<<"$output")"
git -C "$tree" worktree add -q "$home/tree2" main 2>/dev/null && echo x >"$home/tree2/only here"
git -C "$tree" switch -q fix
refused "rm with a file in another work tree of it: 7"
like "  that alone" ': files not committed \(1\): .*only here' "$output"
git -C "$tree" worktree remove --force "$home/tree2"
like "a push whose branch is gone from the work tree" 'as #2' "$(in_tree push origin HEAD~1:refs/heads/old; in_tree commit -q --allow-empty -m x; in_tree push origin HEAD:refs/heads/gone)"
in_tree reset -q --hard HEAD^ >/dev/null
refused "  is the machine's alone too"
like "  and named" 'pushed: heads/gone \(1\)' "$output"

# An allowance that comes to nothing is asked again, with the reason; one that a hutchd's end cut short goes on.
other=$(git -C "$src" commit-tree -m other "$(git -C "$src" rev-parse HEAD^{tree})")
git -C "$src" branch hutch/box/stuck "$other"
in_tree commit -q --allow-empty -m stuck >/dev/null
number=$(in_tree push origin HEAD:stuck | grep -oE 'as #[0-9]+' | tr -dc 0-9)
gives "a push that cannot land is allowed: 1" 1 "$hutch" allow "$number"
like "  why" "#$number did not land: .hutch/box/stuck. has commits that the new one has not" "$output"
like "  and the way out" 'land it as another branch with --as NAME' "$output"
is "  it waits again" waiting "$(api GET "/v1/requests/$number" | jq -r .state)"
output=$("$hutch" requests 2>&1)
like "  hutch requests says so" "#$number was allowed and came to nothing: .*no fast-forward; land it as another" "$output"
like "  in its list" "^ *$number .*PUSH .*waiting .*shop stuck" "$output"
like "  the journal has both" 'approval.decision approval.failed' "$(api GET '/v1/events?project=box' | jq -r .kind | grep approval | tail -2 | paste -sd' ')"
is "  nothing landed" "$other" "$(git -C "$src" rev-parse hutch/box/stuck)"
git -C "$src" branch -qD hutch/box/stuck
gives "allowed again when nothing is in its way: 0" 0 "$hutch" allow "$number"
is "  it has landed when the command ends" "$(git -C "$tree" rev-parse HEAD)" "$(git -C "$src" rev-parse hutch/box/stuck)"
is "  and is answered" allowed "$(api GET "/v1/requests/$number" | jq -r .state)"
stop_daemon
git -C "$src" branch -qD hutch/box/stuck
mkdir -p "$home/data/projects/$id/landing" && : >"$home/data/projects/$id/landing/$number"
start_daemon HUTCH_FAKE_NET=listen
stuck() { [ "$(git -C "$src" rev-parse -q --verify hutch/box/stuck)" = "$(git -C "$tree" rev-parse HEAD)" ]; }
no_note() { [ ! -e "$home/data/projects/$id/landing/$number" ]; }
ok "what a hutchd before was about to land lands" within 20 stuck
ok "  once" within 10 no_note
ok "  the machine is up again" within 20 guest_up
in_tree reset -q --hard HEAD^ >/dev/null

# Landed in another repository than the project was made of, and forgotten there: its origin has it.
git init -q --bare "$home/origin.git" && git clone -q "$src" "$home/mine" && git -C "$home/mine" remote set-url origin "$home/origin.git"
gives "landed elsewhere, and pushed on" 0 "$hutch" land box gone --into "$home/mine" --push
git -C "$home/mine" branch -qD hutch/box/gone
mv "$home/mine" "$home/away"
refused "with that repository gone nobody can say: 7"
mv "$home/away" "$home/mine"
gives "what was landed goes without a word: 0" 0 "$hutch" rm box --yes
is "  and nothing is kept of it" "" "$("$hutch" git ls --lost --json)"
the_end
