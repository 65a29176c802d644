#!/usr/bin/env bash
# The shells' completion against the verbs' table: every verb and option is in it, the shells take it, bash completes. TAP.
set -u
build=${BUILD:-.}
[ -x "$build/hutch" ] || { echo "Bail out! $build/hutch is not built"; exit 99; }
PATH=$(cd "$build" && pwd):$PATH
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
export HUTCH_HOME=$scratch/home # nothing runs there
tests=0 failed=0
ok() { # ok NAME STATUS [LINE]
    tests=$((tests + 1))
    if [ "$2" = 0 ]; then
        echo "ok $tests - $1"
    else
        failed=$((failed + 1))
        echo "not ok $tests - $1"
        [ -z "${3-}" ] || sed 's/^/# /' <<<"$3"
    fi
}
same() { [ "$2" = "$3" ]; ok "$1" $? "wanted: $2
got: $3"; }

for shell in bash zsh fish; do
    hutch completion $shell >"$scratch/$shell"
    ok "completion for $shell" $?
    if command -v $shell >/dev/null; then
        said=$($shell -n "$scratch/$shell" 2>&1)
        ok "  $shell takes it" $? "$said"
    fi
done
hutch completion tcsh 2>/dev/null
same "another shell: usage" 2 $?

missing=
while IFS= read -r verb; do
    # shellcheck disable=SC2086
    help=$(hutch help $verb)
    part=$(awk -v head="    '$verb')" '$0 == head { on = 1 } on { print } on && /words=/ { exit }' "$scratch/bash")
    [ -n "$part" ] || missing+=" bash:$verb"
    grep -qF "'$verb')" "$scratch/zsh" || missing+=" zsh:$verb"
    grep -qF "__hutch_is $verb'" "$scratch/fish" || missing+=" fish:$verb"
    while IFS= read -r option; do
        grep -qE -- "[ ']${option}[ ']" <<<"$part" || missing+=" bash:$verb $option"
        grep -qF -- "'$option:" "$scratch/zsh" || missing+=" zsh:$verb $option"
        grep -F "__hutch_is $verb'" "$scratch/fish" | grep -qF -- "-l ${option#--} " || missing+=" fish:$verb $option"
    done < <(sed -nE 's/^  (-., |    )(--[a-z-]+) .*/\2/p' <<<"$help")
done < <(hutch help --verbs | cut -f1)
same "every verb and option" "" "$missing"

# What bash offers for a line.
complete_line() {
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    _hutch
    echo "${COMPREPLY[*]}"
}
# shellcheck disable=SC1091
. "$scratch/bash"
same "a verb" "status" "$(complete_line hutch statu)"
same "a collection" "ls show build rm" "$(complete_line hutch template '')"
same "an option" "--format" "$(complete_line hutch status --f)"
same "  of a verb of two words" "--yes" "$(complete_line hutch template rm --y)"
same "  with --help" "--help" "$(complete_line hutch ls --h)"
same "nothing behind --" "" "$(complete_line hutch exec -- --)"
same "nothing for a value" "" "$(complete_line hutch exec -u '')"
same "a shell" "zsh" "$(complete_line hutch completion z)"
same "a verb for help" "doctor" "$(complete_line hutch help doc)"
mkdir -p "$scratch/bin"
printf '#!/bin/sh\n[ "$*" = "completion projects" ] && printf "shop\\nshed\\napi\\n"\n' >"$scratch/bin/hutch"
chmod +x "$scratch/bin/hutch"
PATH=$scratch/bin:$PATH
hash -r
same "projects" "shop shed" "$(complete_line hutch shell sh)"
same "  before a path" "shop: shed:" "$(cd "$scratch/bin" && complete_line hutch cp sh)"
echo "1..$tests"
[ "$failed" = 0 ]
