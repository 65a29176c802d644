#!/usr/bin/env bash
# doc/attacks.md against the tests: each test that it names carries the id; each id that a test carries is not called open there.
set -u
top=${srcdir:-.}
page=$top/doc/attacks.md
failed=0 rows=0 named=0

say() { echo "# $*"; failed=1; }

while IFS='|' read -r _ id _ tests _; do
    id=${id// /}
    [[ $id =~ ^[NDTSCEGAL][0-9]{2}$ ]] || continue
    rows=$((rows + 1))
    case $tests in *open:*) continue ;; esac
    files=$(grep -oE '[a-z0-9_-]+\.(c|sh)\b' <<<"$tests" | sort -u)
    [ -n "$files" ] || say "$id: neither a test nor a word why it is open"
    for file in $files; do
        where=$(find "$top/tests" -name "$file" -print -quit)
        if [ -z "$where" ]; then say "$id: there is no $file"
        elif ! grep -qE "(^|[^A-Za-z0-9])$id([^0-9]|$)" "$where"; then say "$id: $file does not carry it"; fi
    done
    while IFS=$'\t' read -r name file; do # `name` (file): the very test is there, not only its number elsewhere
        where=$(find "$top/tests" -name "$file" -print -quit)
        [ -z "$where" ] || grep -qE "(^|[^A-Za-z0-9_])$name([^A-Za-z0-9_]|$)" "$where" || say "$id: $file has no $name"
        named=$((named + 1))
    done < <(grep -oE '`[A-Za-z0-9_]+` \([a-z0-9_-]+\.(c|sh)\)' <<<"$tests" | sed -E 's/`([^`]+)` \((.*)\)/\1\t\2/')
done < <(sed 's/\\|//g' "$page")

carried=0
while read -r id; do # in the name of a function, or at the head of a line's name in a script
    carried=$((carried + 1))
    if ! grep -qE "^\| $id " "$page"; then say "$id: a test carries it, the page does not know it"
    elif grep -qE "^\| $id .*\| open:" "$page"; then say "$id: a test carries it, the page calls it open"; fi
done < <({
    grep -rhoiE '(^|[^A-Za-z0-9_])([NDTSCEGAL][0-9]{2}_)+[a-z]+_' "$top/tests" --include='test_*.c'
    grep -rhoE "(is|like|gives|pass|fail) [\"'] *[NDTSCEGAL][0-9]{2}[ :]" "$top/tests" --include='*.sh'
} | grep -oiE '[NDTSCEGAL][0-9]{2}' | tr a-z A-Z | sort -u)
[ "$carried" -gt 60 ] || say "only $carried ids are carried by tests"

[ "$named" -gt 30 ] || say "only $named tests are named"
[ "$rows" -gt 100 ] || say "only $rows rows were read"
if [ "$failed" = 0 ]; then echo "ok 1 - $rows attacks and their tests"; else echo "not ok 1 - attacks and their tests"; fi
echo 1..1
exit "$failed"
