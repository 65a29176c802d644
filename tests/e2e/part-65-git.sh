# shellcheck shell=bash
# shellcheck disable=SC2154,SC2016
# Git out of a real machine: an agent that only knows git, and one that tries what it can against the host.

need_first
in_app() { timeout 300 "$hutch" exec first -w /home/agent/app -- "$@" 2>&1 </dev/null; }
asked() { "$hutch" requests --json | jq -r 'select(.kind == "PUSH") | [.id, .subject, .class] | join("|")'; }
id=$("$hutch" show first --json | jq -r .id) # other parts leave projects of the same repository
folder=$HUTCH_HOME/data/projects/$id/quarantine/app.git
quarantine() { git --git-dir "$folder" "$@"; }

is "a project comes with a quarantine" true "$(quarantine rev-parse --is-bare-repository)"
in_app git switch -qc fix-checkout >/dev/null
in_app sh -c 'echo 1 >>LATER && git commit -qam one' >/dev/null
out=$(in_app git push -u origin fix-checkout)
like "a push of a new branch: the host has it, under a number" 'remote: hutch has it, waiting for review as #[0-9]+ \(refs/heads/fix-checkout\)' "$out"
id=$(grep -oE '#[0-9]+' <<<"$out" | head -1 | tr -d '#')
like "  the inbox asks" "^$id\|app fix-checkout, 1 commit\|routine$" "$(asked)"
is "  the host has the commit" "$(in_app git rev-parse HEAD)" "$(quarantine rev-parse "refs/pushes/$id")"
is "  in the user's repository nothing changed" "" "$(git -C app status --porcelain; git -C app branch --list 'fix*')"
in_app sh -c 'echo "exit" >.envrc; git add -A; git commit -qm two' >/dev/null
like "a second push: the same number" "waiting for review as #$id " "$(in_app git push)"
like "  with what would run on the host it is unusual" "^$id\|app fix-checkout, 2 commits\|unusual$" "$(asked)"
in_app git commit -q --amend -m again >/dev/null
like "a forced push" "waiting for review as #$id " "$(in_app git push -f)"
out=$(in_app git push origin :fix-checkout)
like "a deletion is refused, with the reason" "'refs/heads/fix-checkout' stays: a person reviews" "$out"
like "a tag" 'waiting for review as #[0-9]+ \(refs/tags/v2\)' "$(in_app sh -c 'git tag v2; git push origin v2')"

echo host >app/HOST && git -C app add -A && git -C app commit -qm "from the host"
in_app git switch -q main >/dev/null
is "git pull brings what the host committed meanwhile" "$(git -C app rev-parse HEAD)" "$(in_app sh -c 'git pull -q; git rev-parse HEAD' | tail -1)"
unlike "  and that is no push" 'app main' "$(asked)"

in_app sh -c 'cd .git; printf "#!/bin/sh\ntouch /tmp/ran\n" >/tmp/evil; chmod +x /tmp/evil; cp /tmp/evil hooks/post-commit; git config core.fsmonitor /tmp/evil;
    git config core.hooksPath /tmp; git config core.worktree /; git config --unset core.worktree; git config filter.x.clean /tmp/evil' >/dev/null
in_app sh -c 'cd /var/lib/hutch/git/app.git; git config uploadpack.packObjectsHook /tmp/evil; git config core.fsmonitor /tmp/evil; mkdir -p hooks; cp /tmp/evil hooks/post-update' >/dev/null
in_app git -c core.fsmonitor= -c core.hooksPath= push -q origin main:config >/dev/null
is "G01 the machine's configuration reaches nothing of the host" "" "$(git -C app status --porcelain; ls /tmp/ran 2>/dev/null; quarantine config --get-regexp 'hook|fsmonitor')"
in_app sh -c 'git config --unset core.fsmonitor; git config --unset core.hooksPath; rm -f .git/hooks/post-commit' >/dev/null

in_app sh -c 'git switch -qc wip; for i in 1 2 3; do git commit -q --allow-empty -m w$i; done; echo s >>LATER; git stash -q; echo new >untracked' >/dev/null
has() { quarantine rev-parse -q --verify "$1"; }
tip=$(in_app git rev-parse wip)
same() { [ "$(quarantine rev-parse -q --verify refs/work/heads/wip)" = "$tip" ]; } # an earlier look may have come in between
ok "what was not pushed comes out when the session ends: the branch" within 240 same
ok "  the stash" has refs/work/stash/0
ok "  what is not committed" has refs/work/uncommitted
is "  the untracked file" new "$(quarantine show refs/work/uncommitted:untracked)"
like "git ls names them" 'app +unpushed +wip +3 ' "$("$hutch" git ls first)"

"$hutch" stop first --force >/dev/null 2>&1
is "with the machine gone it is all still there" new "$(quarantine show refs/work/uncommitted:untracked)"
