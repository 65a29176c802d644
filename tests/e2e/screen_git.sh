#!/bin/bash
# shellcheck disable=SC2154,SC1091,SC2016
# A push on the screen, with the fake host and the real hutch-guest, in a terminal of tmux: it is opened, read, landed in part and as a
# whole, rejected; somebody else answers first; it is pushed again while it is read.
# shellcheck source-path=SCRIPTDIR source=fake_lib.sh
. "$(dirname "$0")/fake_lib.sh"
for tool in git sqlite3 tmux; do
    command -v $tool >/dev/null || { echo "1..0 # SKIP $tool is missing"; exit 77; }
done
unset TMUX COLORTERM NO_COLOR HUTCH_UI_SCRIPT VISUAL EDITOR
export LC_ALL=C.UTF-8 TERM=xterm-256color TMUX_TMPDIR=$home
export GIT_CONFIG_GLOBAL=$home/gitconfig GIT_CONFIG_NOSYSTEM=1
printf '[user]\n\tname = You\n\temail = you@localhost\n[init]\n\tdefaultBranch = main\n[safe]\n\tdirectory = *\n' >"$home/gitconfig"
hutch=$build/hutch src=$home/shop tree=$home/tree
tmux() { command tmux -L git -f /dev/null "$@"; }
end_all() { tmux kill-server 2>/dev/null; finish; }
trap end_all EXIT
screen() { tmux capture-pane -p -t :0; }
has() { screen | grep -qF -- "$1"; }
has_not() { ! has "$1"; }
keys() { tmux send-keys -t :0 "$@"; }
text() { tmux send-keys -t :0 -l -- "$1"; }
see() { if within 20 has "$2"; then pass "$1"; else fail "$1" "wanted to see: $2" "$(screen)"; fi; }
unsee() { if within 20 has_not "$2"; then pass "$1"; else fail "$1" "wanted to be gone: $2" "$(screen)"; fi; }
in_tree() {
    timeout 120 "$hutch" exec box -w "$tree" -e "GIT_CONFIG_GLOBAL=$home/agentconfig" -e "HUTCH_GUEST_PROXY=$proxy" -- git "$@" 2>&1 </dev/null
}

# The user's repository, a project of it, and the agent's work tree in its machine.
git init -q "$src" && cd "$src" || exit 1
seq 60 >n
printf 'one\n' >a.txt
git add -A && git commit -qm one
sed 's/You/Agent/; s/you@/agent@/' "$home/gitconfig" >"$home/agentconfig"
start_daemon HUTCH_FAKE_NET=listen
make_base
up box >/dev/null
id=$(api GET /v1/projects/box | jq -r .id)
stop_daemon
sqlite3 "$home/state/state.db" "UPDATE projects SET user='$(id -un)';
    INSERT INTO repos SELECT id, 0, 'shop', '$src', NULL, 'refs/heads/main', '$(git rev-parse HEAD)', '$tree', 1 FROM projects"
start_daemon HUTCH_FAKE_NET=listen
guest_up() { [ "$(api GET /v1/projects/box | jq -r .guest.up)" = true ]; }
ok "the machine is up" within 20 guest_up
ports=$home/run/p/$id/g
proxy=127.0.0.1:$(jq .proxy "$ports/net.json")
bare=$ports/state/git/shop.git
mkdir -p "$ports/state/git" "$ports/state/hooks"
ln -sf "$build/hutch-guest" "$ports/state/hooks/update" && ln -sf "$build/hutch-guest" "$ports/state/hooks/post-receive"
git clone -q --bare "$src" "$bare" && git clone -q "$bare" "$tree" && git -C "$tree" remote set-url origin hutch::shop
cd "$tree" || exit 1
git checkout -qb fix
sed -i -e 's/^3$/three/' -e 's/^50$/fifty/' n
printf 'layout x\n' >.envrc
printf 'sly \033[31mred\342\200\256\n' >sly.txt
git add -A
GIT_CONFIG_GLOBAL=$home/agentconfig git commit -qm $'fix it \e[31mnow'
like "the agent pushes" 'waiting for review as #1' "$(in_tree push origin HEAD:fix)"

# ---- it is read ----
cd "$src" || exit 1
printf '#!/bin/sh\ncat >%s/paged\n' "$home" >"$home/pager" && chmod +x "$home/pager"
tmux new-session -d -x 80 -y 24 "env PAGER=$home/pager PS1='pro''mpt> ' bash --norc --noprofile -i"
tmux send-keys -t :0 "clear; $hutch" Enter
see "the screen opens" "> box"
keys 5
see "the Git tab has what waits" "WAITING #1 UNUSUAL"
keys Enter
see "its screen" "hutch > Push  box  shop  fix"
see "  first what would run here" "RUNS HERE"
see "    by name" ".envrc"
see "  the commit, without a colour of its own" 'fix it \e[31mnow'
see "  the branch that it becomes" "hutch/box/fix"
keys / && text 'sly' && keys Enter && see "  a file is found" "sly.txt" && keys Enter
see "what differs" 'sly \e[31mred\u{202E}'
keys q
unsee "  and back" "hutch > Diff"
keys g / && text ' n$' && keys Enter Enter
keys '/' && text '^three$' && keys Enter
see "a search finds the line" "three"
for size in "40 10" "120 40" "80 24"; do
    read -r columns rows <<<"$size"
    tmux resize-window -t :0 -x "$columns" -y "$rows"
    see "  at $size" "three"
done
keys e
paged() { grep -q '^+fifty' "$home/paged"; }
ok "the pager gets all of it" within 20 paged
ok "  and no escape" test "$(grep -c $'\e' "$home/paged")" = 0
see "  the screen comes back" "hutch > Diff"

# ---- a part of it lands ----
keys ']'
keys Space
see "a hunk is marked" "marked: 1 hunk"
keys l
see "land asks, and names the branch" "hutch/box/fix"
is "  nothing has landed yet" "" "$(git branch --list 'hutch/*')"
keys n
see "  n: nothing" "nothing was done"
keys l y
see "landed in part" "landed in part"
is "  the hunk that was marked, and no other" "1 0" "$(git show hutch/box/fix:n | grep -c fifty) $(git show hutch/box/fix:n | grep -c three)"
is "  by the agent, committed by you" "Agent You" "$(git show -s --format='%an %cn' hutch/box/fix)"
is "  the push still waits" waiting "$(api GET /v1/requests/1 | jq -r .state)"

# ---- it is pushed again while it is read ----
cd "$tree" || exit 1
printf 'more\n' >more.txt && git add -A && GIT_CONFIG_GLOBAL=$home/agentconfig git commit -qm more
like "the agent pushes again" 'waiting for review as #1' "$(in_tree push origin HEAD:fix)"
see "the screen says that it is another" "pushed again"
keys l
see "  and lands nothing" "read that first"
keys q
see "  its state says so too" "PUSHED AGAIN"
keys f
see "read anew" "more.txt"
keys l
see "land all of it" "land fix as the branch"
keys y
see "  the branch is there: that is asked" "move it forward"
keys n

# ---- it is rejected ----
keys r Enter
see "a rejection without a reason is none" "say why"
text 'no .envrc, please' && keys Enter
see "rejected" "#1 is rejected"
see "  its state says so" "rejected: no .envrc, please"
is "  the agent hears why" "deny: no .envrc, please" \
    "$(timeout 30 "$hutch" exec box -e "HUTCH_GUEST_PROXY=$proxy" -- "$build/hutch-guest" wait 1 2>&1)"
keys r
see "  a second time is refused" "no push of it waits"

# ---- a whole one, from the inbox ----
git -C "$tree" checkout -qb good main && printf 'good\n' >"$tree/good.txt" && git -C "$tree" add -A
GIT_CONFIG_GLOBAL=$home/agentconfig git -C "$tree" commit -qm good
like "another branch" 'waiting for review as #2' "$(in_tree push origin HEAD:good)"
keys q q a
see "it asks in the inbox" "read it"
keys Enter
see "Enter reads it" "hutch > Push  box  shop  good"
see "  its file" "good.txt"
keys l y
see "it lands" "landed: branch hutch/box/good"
is "  as it is" "$(git -C "$tree" rev-parse HEAD)" "$(git -C "$src" rev-parse hutch/box/good)"
see "  that is its answer" "landed as hutch/box/good"
is "  for hutchd too" allowed "$(api GET /v1/requests/2 | jq -r .state)"

# ---- somebody else is faster ----
git -C "$tree" checkout -qb late main && printf 'late\n' >"$tree/late.txt" && git -C "$tree" add -A
GIT_CONFIG_GLOBAL=$home/agentconfig git -C "$tree" commit -qm late
like "a third branch" 'waiting for review as #3' "$(in_tree push origin HEAD:late)"
keys q q a
see "it asks" "read it"
keys v
see "v reads it" "hutch > Push  box  shop  late"
see "  its file" "late.txt"
keys r && text 'too late' # a reason is being typed
ok "another answers meanwhile" "$hutch" git reject box late -m 'I was first'
see "  the screen says so" "rejected: I was first"
keys Enter
see "  what was typed changes nothing" "nothing was done"
is "  the first answer holds" "denied I was first" "$(api GET /v1/requests/3 | jq -r '"\(.state) \(.reason)"')"
keys q q 5
see "the tab tells what became of all" "landed as hutch/box/good"
see "  the rejected ones too" "rejected: I was first"
printf 'x\n' >>"$tree/late.txt"
keys f
see "f brings out what is not committed" "work tree"
keys L
see "the log of acts has the command lines" "hutch deny 1 -m 'no .envrc"
keys Q
see "it ends" "prompt>"
the_end
