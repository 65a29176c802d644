#!/bin/bash
# demo-agent: what `hutch demo` runs inside of the machine in the place of a coding agent. It plays a part, no model is
# behind it; what it does is real. It works in a clone of its own, ~/demo-scene, made anew each time: the project's work
# tree is not touched. The screen waits for two of its lines: "your task:" and "Commit it?" (ui/demo.def).
set -uf
export GIT_PAGER=cat
scene=~/demo-scene
bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'

say() { # words come as a model gives them
    local word
    for word in $1; do
        printf '%s ' "$word"
        sleep 0.07
    done
    printf '\n'
    sleep 0.6
}
run() { # run COMMAND...: a tool call, its output below it
    printf '%s* %s%s\n' "$bold" "$*" "$plain"
    sleep 0.6
    "$@" 2>&1 | sed "s/^/    $dim/; s/\$/$plain/"
    sleep 1.2
}

# The work tree as it was first committed, and a test on top of it that fails.
prepare() {
    rm -rf "$scene"
    git clone -q hutch::demo "$scene" || return
    cd "$scene" || return
    git checkout -q -B scene "$(git rev-list --max-parents=0 HEAD | tail -n1)" || return
    cat >test.sh <<'END'
#!/bin/sh
# What words must say: how many words a text has, and the text.
check() {
    got=$(printf "$2" | ./words)
    [ "$got" = "$1" ] || { echo "FAIL: '$2' has $1 words, words says $got"; exit 1; }
}
check 3 'one two\n three\n'
check 0 ''
check 2 'one - two'
echo "3 tests passed"
END
    git -c user.name=you -c user.email=you@localhost commit -qam "test: a dash alone is no word"
}

stty -echo
trap 'stty echo' EXIT
printf '%sdemo-agent%s  a script that plays an agent; what it does is real\n' "$bold" "$plain"
printf 'your task: "make check" fails in ~/demo-scene; find out why and mend it\n\n'
prepare || { echo "the repository could not be cloned"; exit 1; }

say "I look at what fails."
run make -s check
say "Others may have met this. I ask the network."
run curl -sS --max-time 10 https://example.org/
say "No answer from out there. Then by reading."
run grep -n word words.c
say "Whatever is no space counts as a word, a dash too. Letters should."
run sed -i 's/!isspace(c)/isalnum(c)/' words.c
run git diff -U0
run make -s check
say "It passes, and nothing else has changed."

# What was typed before the question is no answer to it.
while read -rs -t 0.1 -n 1000; do :; done
while :; do
    printf '%sCommit it?%s [y/n] ' "$bold" "$plain"
    IFS= read -rs -n 1 answer || exit 1
    printf '%s\n' "$answer"
    case $answer in
    y|Y)
        git -c user.name=demo-agent -c user.email=agent@localhost commit -qam "words: count letters and digits"
        run git log --oneline --no-decorate
        exit 0
        ;;
    n|N)
        say "It stays as it is, uncommitted."
        exit 0
        ;;
    esac
done
