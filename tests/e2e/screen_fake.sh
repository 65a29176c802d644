#!/bin/bash
# shellcheck disable=SC2154,SC1091,SC2016
# The screen with the fake host, in a terminal of tmux: the real programs, keys typed, what is to be seen waited for.
. "$(dirname "$0")/fake_lib.sh"
for tool in tmux flock; do
    command -v $tool >/dev/null || { echo "1..0 # SKIP $tool is missing"; exit 77; }
done
hutch=$build/hutch
unset TMUX COLORTERM NO_COLOR HUTCH_UI_SCRIPT VISUAL EDITOR
export LC_ALL=C.UTF-8 TERM=xterm-256color
mkdir "$home/here" "$home/guest"
cd "$home/here" || exit 1
export TMUX_TMPDIR=$home
tmux() { command tmux -L screen -f /dev/null "$@"; }
end_all() { tmux kill-server 2>/dev/null; finish; }
trap end_all EXIT

daemon_pid() { "$hutch" version --json | jq -r '.daemon.pid // empty'; }
screen() { tmux capture-pane -p -t :0; }
has() { screen | grep -qF -- "$1"; }
has_not() { ! has "$1"; }
keys() { tmux send-keys -t :0 "$@"; }
type() { tmux send-keys -t :0 -l -- "$1"; tmux send-keys -t :0 Enter; }
see() { # see NAME TEXT: it comes
    if within 20 has "$2"; then pass "$1"; else fail "$1" "wanted to see: $2" "$(screen)"; fi
}
unsee() {
    if within 20 has_not "$2"; then pass "$1"; else fail "$1" "wanted to be gone: $2" "$(screen)"; fi
}
# The process of the screen: what the shell of the pane runs.
screen_pid() { pgrep -P "$(tmux display -p -t :0 '#{pane_pid}')" -x hutch; }
# run COMMAND: on a cleared terminal, its status as "status=N." afterwards, the terminal's settings in a file
run() { type "clear; $1; s=\$?; echo sta''tus=\$s.; echo \$s >$home/status; stty -g >$home/stty.after"; }

"$hutch" ls >/dev/null
make_base
for name in box crate; do
    "$hutch" up "$name" --memory 256M --cpus 1 --disk 16G >/dev/null 2>&1 || fail "up $name"
done

# ---- in a terminal ----
tmux new-session -d -x 80 -y 24 "env PS1='pro''mpt> ' bash --norc --noprofile -i"
type "stty -g >$home/stty.before; echo rea''dy"
see "a shell in the terminal" ready
printf start=slow >"$home/data/fake/faults" # no line comes for 2 s
run "$hutch up slow --memory 256M --cpus 1 --disk 16G"
has_clock() { screen | grep -qE '[1-9]s  up\.start'; }
if within 20 has_clock; then pass "the clock of what takes its time goes on"; else fail "the clock of what takes its time goes on" "$(screen)"; fi
see "  to its end" "status=0."
printf '' >"$home/data/fake/faults"
"$hutch" rm slow --yes >/dev/null 2>&1
run "$hutch"
see "the screen opens" "PROJECT"
see "  with the projects" "box"
see "  and the keys" "? help"
is "  and nothing of the shell" "" "$(screen | grep -F 'prompt>')"
keys '?'
see "help" "hutch > Help"
keys q
unsee "  and back" "hutch > Help"
keys Home j
see "the cursor goes to a project" "> crate"

exec 9>"$home/run/hutchd.start.lock"
flock 9 # nobody starts hutchd meanwhile
kill -9 "$(daemon_pid)"
see "hutchd is killed: the screen says so" "NOT CONNECTED"
keys '?'
see "  and goes on" "hutch > Help"
keys q
flock -u 9
exec 9>&-
see "  it starts hutchd again" "connected to hutchd again"
unsee "  and is connected" "NOT CONNECTED"
see "  the selection is kept" "> crate"

keys C-z
see "^Z gives the terminal back" "Stopped"
type "echo out''side"
see "  to the shell" outside
type "fg"
see "  fg brings the screen back" "> crate"
is "  all of it" "" "$(screen | grep -F outside)"

last_line() { [ "$(screen | wc -l)" = "$1" ] && screen | tail -n1 | grep -qF "Enter open"; }
for size in "40 10" "200 60" "80 24"; do
    read -r columns rows <<<"$size"
    tmux resize-window -t :0 -x "$columns" -y "$rows"
    if within 20 last_line "$rows"; then pass "resized to $size"; else fail "resized to $size" "$(screen)"; fi
    see "  the selection is kept" "> crate"
done
for i in $(seq 20); do tmux resize-window -t :0 -x $((60 + i)) -y $((10 + i)); done
tmux resize-window -t :0 -x 80 -y 24
if within 20 last_line 24; then pass "many sizes at once"; else fail "many sizes at once" "$(screen)"; fi

mkdir -p "$home/config"
printf '[screen]\nno-such-option = 1\n' >"$home/config/screen.ini"
see "settings that are wrong are named" "screen.ini:"
: >"$home/config/screen.ini"
see "  and read again when they are right" "the settings were read"

rm -f "$home/stty.after"
keys Q
type "echo sta''tus=\$?.; stty -g >$home/stty.after"
see "quit: 0" "status=0."
has_settings() { [ -s "$home/stty.after" ]; }
within 10 has_settings
is "  the terminal is as it was" "$(cat "$home/stty.before")" "$(cat "$home/stty.after")"
see "  with the shell" "prompt>"
rm -f "$home/stty.after"

modes() { tmux display -p -t :0 '#{alternate_on} #{mouse_any_flag} #{cursor_flag}'; }
has_modes() { [ "$(modes)" = "0 0 1" ]; }
for signal in HUP:129 TERM:143 INT:130 KILL:137; do
    run "$hutch; (s=\$?; sleep 1; exit \$s)" # the next command has the terminal for a while
    see "the screen again" "> box"
    kill "-${signal%:*}" "$(screen_pid)"
    # by the file: after a KILL the shell may speak before the terminal is given back, and is not seen then
    within 20 has_settings
    is "  SIG${signal%:*} ends it" "${signal#*:}" "$(cat "$home/status")"
    is "  the terminal is as it was" "$(cat "$home/stty.before")" "$(cat "$home/stty.after")"
    if within 10 has_modes; then pass "  no mode is left"; else fail "  no mode is left" "$(modes)"; fi
    rm -f "$home/stty.after" "$home/status"
done

# ---- a session on it ----
run "$hutch shell box -u root -w $home/guest"
see "shell: our line below" "^] d leave"
type "echo si''ze; stty size"
see "  one row less" "23 80"
head -c 750000 /dev/urandom | base64 >"$home/paste" # 1 MB
run "cat >$home/guest/pasted"
within 10 has_not "si''ze"
tmux load-buffer "$home/paste"
tmux paste-buffer -p -t :0
pasted() { cmp -s "$home/paste" "$home/guest/pasted"; }
if within 30 pasted; then pass "  a paste of 1 MB arrives whole"; else fail "  a paste of 1 MB" "$(wc -c "$home/guest/pasted")"; fi
keys C-d
type "clear; echo stay''ing"
see "  goes on" "staying"
kill -9 "$(daemon_pid)"
see "  hutchd is killed: the session comes back" "connected again"
type "echo af''ter"
see "  and goes on" "after"
keys C-] d
see "  it can be left" "it goes on"
see "    with 0" "status=0."
run "$hutch attach box"
see "attach: what was there" "staying"
type "exit 7"
see "  the shell's own status" "status=7."
ended() { [ -z "$("$hutch" sessions box --json)" ]; }
if within 10 ended; then pass "  it is forgotten"; else fail "  it is forgotten" "$("$hutch" sessions box)"; fi
run "TERM=dumb $hutch shell box -u root"
type "echo pla''in; exit 4"
see "a terminal that cannot: the plain one" "status=4."

# ---- another takes the name while a question is read ----
run "$hutch rm crate"
see "rm asks" "remove \"crate\""
api DELETE '/v1/projects/crate?discard_work=1' >/dev/null
up crate >/dev/null
keys y Enter
see "  the new one of that name stays" "another project now"
is "  it runs" run "$(state crate)"

# ---- without a terminal ----
play() { HUTCH_UI_SCRIPT=$home/script timeout 100 "$hutch" </dev/null; }
printf '%s\n' 'wait crate' 'Home' 'j' 'wait > crate' "dump $home/dump" 'size 10 40' "dump $home/dump.small" >"$home/script"
ok "a script plays the screen without a terminal" play
like "  its dump" "> crate +run" "$(cat "$home/dump")"
is "  at another size" 40 "$(wc -L <"$home/dump.small")"
printf 'j\nnosuchkey\n' >"$home/script"
play 2>"$home/err"
is "a script with no key: 2" 2 $?
like "  its line" "script:2" "$(cat "$home/err")"
mkdir "$home/alone" && cp "$hutch" "$home/alone/"
printf 'wait NOT CONNECTED\ndump %s/dump\n' "$home" >"$home/script"
HUTCH_HOME=$home/none HUTCH_UI_SCRIPT=$home/script timeout 100 "$home/alone/hutch" </dev/null
is "hutchd that cannot be started: the screen opens" 0 $?
like "  and says why" "hutchd" "$(cat "$home/dump")"

# ---- hutch demo, as far as it goes without a machine; tests/e2e/part-25-demo.sh plays it whole ----
"$hutch" demo </dev/null >/dev/null 2>"$home/err"
is "demo without a terminal: 2" 2 $?
like "  and why" "needs a terminal" "$(cat "$home/err")"
"$hutch" up demo --memory 256M --cpus 1 --disk 16G >/dev/null 2>&1
HUTCH_UI_SCRIPT=$home/script "$hutch" demo >/dev/null 2>"$home/err"
is "a project of one's own with the demo's name is left alone" 1 $?
like "  the way out" "hutch demo NAME" "$(cat "$home/err")"
printf '%s\n' 'wait step 1 of 10' 'j' 'wait press b' "dump $home/dump" 'size 10 40' 'wait press b' 'size 24 80' 'Escape' \
    'gone step 1 of 10' 'wait you left the demo' 'wait > box' 'Q' >"$home/script"
HUTCH_UI_SCRIPT=$home/script timeout 100 "$hutch" demo scene >"$home/out"
is "the demo opens, and can be left" 0 $?
like "  its caption" "An agent will mend a small program" "$(cat "$home/dump")"
like "  the ways on, without a machine" "No machine was made" "$(cat "$home/out")"
is "  its repository is made" "demo: a small program and its test" "$(git -C "$home/data/demo" log -1 --format=%s)"
kill -9 "$(daemon_pid)" 2>/dev/null
the_end
