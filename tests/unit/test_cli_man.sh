#!/usr/bin/env bash
# hutch.1 against the program: the same verbs in the same order with the same options, and the exit statuses of
# error.def; hutch-screen.1 against the tables of ui/. TAP.
set -u
build=${BUILD:-.}
source=$(cd "$(dirname "$0")/../.." && pwd)
page=$source/doc/hutch.1
[ -x "$build/hutch" ] || { echo "Bail out! $build/hutch is not built"; exit 99; }
tests=0 failed=0
same() { # same NAME WANTED GOT
    tests=$((tests + 1))
    if [ "$2" = "$3" ]; then
        echo "ok $tests - $1"
    else
        failed=$((failed + 1))
        echo "not ok $tests - $1"
        diff <(echo "$2") <(echo "$3") | sed 's/^/# /'
    fi
}
# The VERBS section, and the part of one verb in it.
verbs_section=$(sed -n '/^\.Sh VERBS/,/^\.Sh ENVIRONMENT/p' "$page")
verbs=$("$build/hutch" help --verbs | cut -f1)
part() {
    awk -v verb="$1" '/^\.It Ic / {
        head = $0; sub(/^\.It Ic /, "", head); sub(/ (Oo|Ar|Fl|Op) .*$/, "", head); on = head == verb }
        on' <<<"$verbs_section"
}

same "the verbs" "$verbs" "$(sed -n 's/^\.It Ic //p' <<<"$verbs_section" | sed -E 's/ (Oo|Ar|Fl|Op) .*$//')"
while IFS= read -r verb; do
    # shellcheck disable=SC2086
    help=$("$build/hutch" help $verb)
    same "the options of $verb" \
        "$(sed -nE 's/^  (-., |    )--([a-z-]+) .*/\2/p' <<<"$help")" \
        "$(part "$verb" | sed -nE 's/^\.It (Fl . , )?Fl -([a-z-]+).*/\2/p')"
    # each option of the synopsis exists, by its letter or name
    synopsis=$(sed -n '1s/^usage: hutch //p' <<<"$help")
    for option in $(grep -oE -- '(^|[[ ])--?[a-z][a-z-]*' <<<"$synopsis" | tr -d '[ '); do
        grep -qE -- "^  .*$option(,| )" <<<"$help" || same "$verb has $option" "$option" ""
    done
done <<<"$verbs"

exits=$(sed -n '/^\.Sh EXIT STATUS/,/^\.Sh EXAMPLES/p' "$page")
same "the exit statuses" \
    "$( (echo 0; sed -nE 's/^X\([A-Z_]+, +"[a-z-]+", +([0-9]+),.*/\1/p' "$source/src/base/error.def") | sort -nu)" \
    "$(sed -nE 's/^\.It ([0-9]+)$/\1/p' <<<"$exits" | grep -vx 125 | sort -nu)"
text=$(tr '\n' ' ' <<<"$exits")
while IFS= read -r about; do
    case $text in *"$about"*) ;; *) same "error.def: $about" "$about" "" ;; esac
done < <(sed -nE 's/^X\([A-Z_]+, +"[a-z-]+", +([02-9]|1[0-9]+), +[0-9]+, +"(.*)"\)$/\2/p' "$source/src/base/error.def")

# The page of the screen: every act, option, style and map of the tables, in their order, and every key.
screen=$build/doc/hutch-screen.1
names() { sed -nE "s/^X\([A-Z_0-9]+, \"([^\"]*)\".*/\1/p" "$source/ui/$1"; }
section() { sed -n "/^\.Sh $1\$/,/^\.Sh /p" "$screen" | sed 's/\\&//g; s/\\-/-/g; s/\\(ha/^/g; s/\\e/\\/g'; }
same "the acts" "$(names actions.def)" "$(section ACTIONS | sed -n 's/^\.It Cm "\(.*\)"$/\1/p')"
same "the options" "$(sed -nE 's/^X\([A-Z_]+, "([a-z]+)", "([a-z-]+)", [A-Z_]+, "([^"]*)".*/[\1] \2 = \3/p' "$source/ui/options.def")" \
    "$(section OPTIONS | sed -nE 's/^\.It Li (\[[a-z]+\]) Cm ([a-z-]+) No = Li "(.*)"$/\1 \2 = \3/p')"
same "the styles" "$(names styles.def)" "$(section STYLES | sed -n 's/^\.It Cm "\(.*\)"$/\1/p')"
same "the keys" "$(sed -nE 's/^X\([A-Z_]+, "([^"]+)", [A-Z_0-9]+\)$/\1/p' "$source/ui/keys.def" | sort)" \
    "$(section KEYS | sed -nE 's/^\.Ic "(.*)"( ,)?$/\1/p' | sort)"
grep -q "pause the machine" "$screen" && grep -q "hutch rm {project}" "$screen"
same "help and command lines" 0 $?

if command -v mandoc >/dev/null; then
    same "mandoc has nothing to say" "" "$(mandoc -T lint -W warning "$page" "$screen" 2>&1)"
fi
echo "1..$tests"
[ $failed = 0 ]
