#!/bin/bash
# The remote of a user's own repository, with the fake host: git fetch reads what came out of the machine, git push sends in, and
# nothing that the machine has a say in runs here.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"
# shellcheck source=fake_git_lib.sh
. "$(dirname "$0")/fake_git_lib.sh"
export PATH=$build:$PATH
mine() { git -C "$src" "$@" 2>&1; }

git_project
in_tree switch -qc fix >/dev/null
in_tree commit -q --allow-empty -m one >/dev/null
in_tree push -q origin fix >/dev/null
in_tree tag v9 >/dev/null && in_tree push -q origin v9 >/dev/null
in_tree switch -qc unpushed >/dev/null
in_tree commit -q --allow-empty -m unpushed >/dev/null
"$hutch" git fetch box >/dev/null
before=$(cat "$src/.git/config")
mine remote add box hutch::box >/dev/null
ok "git fetch box" mine fetch box
is "  what was pushed is there, and that alone" "refs/remotes/box/fix refs/remotes/box/main" \
    "$(mine for-each-ref --format='%(refname)' refs/remotes | paste -sd' ')"
is "  as it is" "$(git -C "$tree" rev-parse fix)" "$(mine rev-parse box/fix)"
is "  no tag of the machine's" "" "$(mine tag -l)"
ok "again" mine fetch box
ok "one of them" mine fetch box fix
ok "by the name of its repository too" mine fetch hutch::box/shop fix
like "a project that is not there" 'there is no project' "$(mine fetch hutch::nobody)"
like "a repository that it has not" 'no repository' "$(mine fetch hutch::box/nothing)"
is "in a submodule's URL it is not allowed" 128 "$(GIT_PROTOCOL_FROM_USER=0 git -C "$src" fetch box >/dev/null 2>&1; echo $?)"

# In.
mine switch -qc mine >/dev/null
mine commit -q --allow-empty -m "mine one" >/dev/null
like "git push box HEAD:mine/fix" 'new branch.*HEAD -> mine/fix' "$(mine push box HEAD:mine/fix)"
is "  it is in the machine" "$(mine rev-parse HEAD)" "$(git --git-dir "$bare" rev-parse mine/fix)"
in_tree fetch -q origin >/dev/null
is "  and its git fetches it" "$(mine rev-parse HEAD)" "$(git -C "$tree" rev-parse origin/mine/fix)"
"$hutch" git fetch box >/dev/null
is "  it is no push of the machine's" "" "$(requests | grep mine)"
in_tree switch -q mine/fix >/dev/null
in_tree commit -q --allow-empty -m "theirs on mine" >/dev/null
in_tree push -q origin mine/fix >/dev/null
is "  what it puts on top of it is, and that alone" "PUSH|shop mine/fix, 1 commit|routine" "$(requests | grep mine)"
mine commit -q --allow-empty -m "mine two" >/dev/null
output=$(mine push box HEAD:mine/fix)
like "what went apart is refused" 'remote rejected.*mine/fix|rejected.*mine/fix' "$output"
like "  with the way out" 'fetch them first, or take another name' "$output"
mine fetch -q box >/dev/null
is "  which works" 0 "$(mine merge -q -m merged box/mine/fix >/dev/null; mine push -q box HEAD:mine/fix >/dev/null; echo $?)"
mine commit -q --amend --allow-empty -m "mine again" >/dev/null
ok "a forced push" mine push box +HEAD:mine/fix
like "a deletion is refused" 'unable to delete|nothing of a machine is deleted' "$(mine push box :fix)"
like "a name that can be none" 'can be no name in a machine' "$(mine push box HEAD:refs/odd/x)"
mine switch -q --detach >/dev/null && mine commit -q --allow-empty -m detached >/dev/null
ok "a commit that no branch has" mine push box HEAD:refs/heads/detached
ok "a tag" mine push box HEAD:refs/tags/v1
is "the API wants a full path" invalid "$(api POST /v1/projects/box/git/send -d '{"from":"x","refs":[{"commit":"'"$(mine rev-parse HEAD)"'","to":"refs/heads/x"}]}' | jq -r .error.code)"
is "  and no option for a name" invalid "$(api POST /v1/projects/box/git/send -d '{"from":"/x","refs":[{"commit":"'"$(mine rev-parse HEAD)"'","to":"--upload-pack=x"}]}' | jq -r .error.code)"
is "  and a commit" invalid "$(api POST /v1/projects/box/git/send -d '{"from":"/x","refs":[{"commit":"--all","to":"refs/heads/x"}]}' | jq -r .error.code)"
mine remote rm box >/dev/null
is "git remote rm takes it away again" "$before" "$(cat "$src/.git/config")"

# G01, G12: what the machine writes into its repositories, and into the trees that it pushes, is inert here.
cat >"$home/evil" <<END
#!/bin/sh
touch "$home/ran"
END
chmod +x "$home/evil"
for repository in "$bare" "$tree/.git"; do
    for key in core.fsmonitor core.sshCommand core.editor core.pager uploadpack.packObjectsHook filter.x.clean filter.x.smudge diff.external; do
        git --git-dir "$repository" config "$key" "$home/evil"
    done
    mkdir -p "$repository/hooks"
    for hook in post-update pre-receive post-checkout post-commit reference-transaction; do cp "$home/evil" "$repository/hooks/$hook"; done
done
rm -f "$home/ran"
(
    cd "$tree" || exit
    export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=core.fsmonitor GIT_CONFIG_VALUE_0=false GIT_CONFIG_KEY_1=core.hooksPath \
        GIT_CONFIG_VALUE_1=/dev/null GIT_CONFIG_KEY_2=filter.x.clean GIT_CONFIG_VALUE_2=cat
    git switch -qC tricks main
    echo '* filter=x diff=x' >.gitattributes
    mkdir -p inner/objects inner/refs sub
    printf 'ref: refs/heads/main\n' >inner/HEAD
    printf '[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tfsmonitor = %s\n\thooksPath = %s\n' "$home/evil" "$home" >inner/config
    printf '/../../x\n' >inner/commondir && printf '%s/.git\n' "$tree" >inner/gitdir && printf 'gitdir: ../inner\n' >sub/gitdir
    touch inner/objects/keep inner/refs/keep
    git add -A && git commit -qm tricks && git push -q "$bare" tricks
) >"$home/tricks" 2>&1
"$hutch" git fetch box >/dev/null 2>&1
rm -f "$home/ran"
mine switch -q main >/dev/null
mine remote add box hutch::box >/dev/null
is "G01, G12: fetched" 0 "$(mine fetch -q box >/dev/null; echo $?)"
is "  the branch is there" "$(git --git-dir "$bare" rev-parse tricks)" "$(mine rev-parse box/tricks)"
gives "  landed" 0 "$hutch" land box tricks --yes
mine status >/dev/null
mine diff main box/tricks >/dev/null
mine log -p box/tricks >/dev/null
(cd "$src" && git worktree add -q "$home/look" box/tricks >/dev/null 2>&1 && cd "$home/look/inner" && git status >/dev/null 2>&1)
is "  git status, diff, log and a checkout run nothing of it" "" "$(ls "$home/ran" 2>/dev/null)"
is "  the user's repository has nothing of its configuration" "" "$(mine config --get-regexp 'fsmonitor|sshcommand|hooks|filter|diff\.' ; ls "$src/.git/hooks" | grep -v sample)"
is "  nor has the quarantine" "" "$(quarantine config --get-regexp 'fsmonitor|sshcommand|hook|filter'; ls "$home"/data/projects/*/quarantine/shop.git/hooks 2>/dev/null)"
the_end
