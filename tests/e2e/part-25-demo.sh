# shellcheck shell=bash
# hutch demo, as a person plays it: each key as its caption names it, what it does in a real machine looked at.

demo_tmux() { TMUX_TMPDIR=$work command tmux -L demo -f /dev/null "$@"; }
demo_screen() { demo_tmux capture-pane -p -t :0; }
demo_has() { demo_screen | grep -qF -- "$1"; }
demo_keys() { demo_tmux send-keys -t :0 "$@"; }
demo_type() { demo_tmux send-keys -t :0 -l -- "$1"; demo_tmux send-keys -t :0 Enter; }
demo_see() { # demo_see SECONDS NAME TEXT: it comes
    if within "$1" demo_has "$3"; then pass "$2"; else fail "$2" "wanted to see: $3" "$(demo_screen)"; return 1; fi
}
demo_agents() { "$hutch" sessions demo --json 2>/dev/null | jq -r 'select(.label == "demo-agent" and .state == "running") | .id'; }
demo_agent_again() { [ "$(demo_agents | wc -l)" = 1 ] && [ "$(demo_agents)" != "$demo_before" ]; }

# A step that does not come ends it: whatever follows waits for it.
demo_play() {
    demo_type "clear; '$hutch' demo; echo sta''tus=\$?."
    demo_see 30 "demo: the first step, in 80x24" "step 1 of 10" || return
    demo_see 5 "  its key" "press b"
    demo_keys G # not t: another project may be there, whose terminal it would open
    demo_keys j
    demo_see 5 "  another key does not go on" "step 1 of 10" || return
    demo_keys b
    demo_see 900 "b: the machine is made and runs" "step 2 of 10" || return
    is "  it runs" run "$(state demo)"
    demo_see 5 "  the timeline has it" "machine is started"
    demo_keys t
    demo_see 120 "t: the agent's terminal" "step 3 of 10" || return
    demo_see 120 "  the test fails" "FAIL: 'one - two'"
    demo_see 120 "  it has no network" "response 403"
    demo_see 5 "  our line and the caption are below it" "press ^] d"
    demo_keys C-] d
    demo_see 10 "^] d: left" "step 4 of 10" || return
    demo_see 10 "  the agent is in the timeline" "demo-agent"
    demo_keys 1
    demo_see 10 "1: the timeline has the keys" "step 5 of 10" || return
    demo_keys Z
    demo_see 10 "Z: hutch asks first" "press y"
    demo_keys n
    demo_see 10 "  a no is a no" "press Z"
    demo_keys Z
    demo_see 10 "  again" "press y"
    demo_keys y
    demo_see 300 "y: saved" "step 6 of 10" || return
    is "  it is saved" saved "$(state demo)"
    demo_keys b
    demo_see 300 "b: it runs again" "step 7 of 10" || return
    is "  it runs" run "$(state demo)"
    demo_keys t
    demo_see 300 "t: the same agent has gone on to its question" "step 8 of 10" || return
    demo_see 10 "  it asks" "Commit it? [y/n]"
    demo_see 10 "  the test passes" "3 tests passed"
    demo_keys y
    demo_see 60 "y: it commits and ends" "step 9 of 10" || return
    demo_see 10 "  its commit" "words: count letters and digits"
    demo_keys Enter
    demo_see 10 "Enter: the last step" "step 10 of 10" || return
    like "  the timeline has the agent's end" "demo-agent +ok" "$(demo_screen)"
    demo_keys Q
    demo_see 20 "Q: the shell again, 0" "status=0." || return
    demo_see 5 "  and the ways on" "hutch shell demo"
    is "what the agent did is in the machine" "words: count letters and digits" \
        "$("$hutch" exec demo -w /home/agent/demo-scene -- git log -1 --format=%s)"
    is "  the project's own work tree is not touched" "" "$("$hutch" exec demo -- git status --porcelain)"

    demo_tmux resize-window -t :0 -x 160 -y 45
    demo_type "clear; '$hutch' demo; echo sta''tus=\$?."
    demo_see 30 "again, in 160x45: from the first step" "step 1 of 10" || return
    demo_keys b
    demo_see 30 "  the machine runs already" "step 2 of 10" || return
    demo_keys t
    demo_see 120 "  a new agent" "step 3 of 10" || return
    demo_see 10 "  beside it the timeline" "1 Timeline"
    demo_keys Escape
    demo_see 10 "Esc leaves it half way" "you left the demo" || return
    demo_before=$(demo_agents)
    demo_keys C-] d
    demo_keys Q
    demo_see 20 "  the shell again" "status=0." || return
    demo_type "clear; '$hutch' demo; echo sta''tus=\$?."
    demo_see 30 "begun again" "step 1 of 10" || return
    demo_keys b
    demo_see 30 "  the machine" "step 2 of 10" || return
    demo_keys t
    demo_see 120 "  the agent" "step 3 of 10" || return
    if within 30 demo_agent_again; then pass "  the one that was left is gone"; else fail "  the one that was left is gone" "$(demo_agents)"; fi
    demo_keys Escape
    demo_see 10 "  Esc leaves it" "you left the demo" || return
    demo_keys C-] d
    demo_keys Q
    demo_see 20 "  left" "status=0." || return
}

if ! command -v tmux >/dev/null; then
    pass "hutch demo # SKIP tmux is missing"
else
(
    unset TMUX COLORTERM NO_COLOR HUTCH_UI_SCRIPT
    export LC_ALL=C.UTF-8 TERM=xterm-256color
    demo_tmux new-session -d -x 80 -y 24 "env PS1='pro''mpt> ' bash --norc --noprofile -i"
)
demo_play
ok "rm of what stayed" "$hutch" rm demo --yes
demo_tmux kill-server
fi
