#!/bin/bash
# A repository whose objects are named by sha256, with the fake host: all of the way out but libgit2's review, which says what does.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"
# shellcheck source=fake_git_lib.sh
. "$(dirname "$0")/fake_git_lib.sh"
export PATH=$build:$PATH

git init -q --object-format=sha256 "$src" && echo 1 >"$src/file" && git -C "$src" add -A && git -C "$src" commit -qm one
git_project
in_tree switch -qc fix >/dev/null
in_tree commit -q --allow-empty -m two >/dev/null
like "a push waits" 'waiting for review as #1' "$(in_tree push origin fix)"
is "  as unusual: nobody has read it" "PUSH|shop fix, 1 commit|unusual" "$(requests)"
like "  and says so" 'sha256, which the review does not read' "$(api GET /v1/requests/1 | jq -r .fields.unread)"
is "  its tip is kept" "$(git -C "$tree" rev-parse fix)" "$(quarantine rev-parse refs/pushes/1)"
gives "land refuses" 1 "$hutch" land box fix
like "  with the way out" 'git fetch hutch::PROJECT BRANCH' "$output"
gives "rm: what is there alone is kept" 7 "$hutch" rm box --yes
like "  named" 'commits on branch fix \(1\)' "$output"
gives "git fetch hutch::box fix" 0 git -C "$src" fetch hutch::box fix:fix
is "  it is there" "$(git -C "$tree" rev-parse fix)" "$(git -C "$src" rev-parse fix)"
git -C "$src" commit -q --allow-empty -m mine
gives "git push hutch::box HEAD:mine" 0 git -C "$src" push hutch::box HEAD:refs/heads/mine
is "  it is in the machine" "$(git -C "$src" rev-parse HEAD)" "$(git --git-dir "$bare" rev-parse mine)"
gives "rm: what was fetched is no loss" 0 "$hutch" rm box --yes
the_end
