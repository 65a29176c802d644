# shellcheck shell=bash
# shellcheck disable=SC2154
# fake_git_lib.sh: a project "box" of the user's repository $src on the fake host, as `up` would have brought it in: the machine's bare
# repository $bare, its work tree $tree. Sourced after fake_lib.sh.
for tool in git sqlite3; do
    command -v $tool >/dev/null || { echo "1..0 # SKIP $tool is missing"; exit 77; }
done
export GIT_CONFIG_GLOBAL=$home/gitconfig GIT_CONFIG_NOSYSTEM=1
printf '[user]\n\tname = a\n\temail = a@b.example\n[init]\n\tdefaultBranch = main\n[safe]\n\tdirectory = *\n' >"$home/gitconfig"
hutch=$build/hutch src=$home/shop tree=$home/tree
in_tree() { timeout 120 "$hutch" exec box -w "$tree" -e "GIT_CONFIG_GLOBAL=$home/gitconfig" -e "HUTCH_GUEST_PROXY=$proxy" -- git "$@" 2>&1 </dev/null; }
in_guest() { timeout 60 "$hutch" exec box -e "HUTCH_GUEST_PROXY=$proxy" -- "$build/hutch-guest" "$@" 2>&1 </dev/null; }
requests() { api GET /v1/requests | jq -r '[.kind,.subject,.class] | join("|")'; }
quarantine() { git --git-dir "$home"/data/projects/*/quarantine/shop.git "$@"; }
guest_up() { [ "$(api GET /v1/projects/box | jq -r .guest.up)" = true ]; }
gives() { local want=$2 got=0; output=$(timeout 200 "${@:3}" 2>&1 </dev/null) || got=$?; is "$1" "$want" "$got"; }

# git_project [SOURCE]: makes it; SOURCE: what the project was made of, $src if not given
git_project() {
    [ -d "$src" ] || { git init -q "$src" && echo 1 >"$src/file" && git -C "$src" add -A && git -C "$src" commit -qm one; }
    start_daemon HUTCH_FAKE_NET=listen
    make_base
    up box >/dev/null
    id=$(api GET /v1/projects/box | jq -r .id)
    stop_daemon
    sqlite3 "$home/state/state.db" "UPDATE projects SET user='$(id -un)';
        INSERT INTO repos SELECT id, 0, 'shop', '${1-$src}', NULL, 'refs/heads/main', '$(git -C "$src" rev-parse HEAD)', '$tree', 1 FROM projects"
    start_daemon HUTCH_FAKE_NET=listen
    ok "the machine is up" within 20 guest_up
    ports=$home/run/p/$id/g
    proxy=127.0.0.1:$(jq .proxy "$ports/net.json")
    bare=$ports/state/git/shop.git
    mkdir -p "$ports/state/git" "$ports/state/hooks"
    ln -sf "$build/hutch-guest" "$ports/state/hooks/update" && ln -sf "$build/hutch-guest" "$ports/state/hooks/post-receive"
    git clone -q --bare "$src" "$bare" && git clone -q "$bare" "$tree" && git -C "$tree" remote set-url origin hutch::shop
}
