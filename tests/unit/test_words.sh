#!/usr/bin/env bash
# The catalogues against the sources: every message translated, none in doubt, formats alike, no character whose
# width terminals do not agree on; and what the command line says in Chinese. TAP.
set -u
build=${BUILD:-.}
source=$(cd "$(dirname "$0")/../.." && pwd)
pot=$build/po/hutch.pot
[ -x "$build/hutch" ] || { echo "Bail out! $build/hutch is not built"; exit 99; }
make -s -C "$build" po/hutch.pot >/dev/null 2>&1 || { echo "Bail out! po/hutch.pot cannot be made"; exit 99; }
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT
tests=0 failed=0
ok() { # ok NAME STATUS [WHY]
    tests=$((tests + 1))
    if [ "$2" = 0 ]; then
        echo "ok $tests - $1"
    else
        failed=$((failed + 1))
        echo "not ok $tests - $1"
        while IFS= read -r line; do echo "# $line"; done <<<"${3-}"
    fi
}

# What is wrong with a catalogue; nothing: it is complete.
complaints() {
    msgfmt --check -o "$scratch/checked.mo" "$1" 2>&1 # it renames over its output: never a device
    msgcmp "$1" "$pot" 2>&1
    msgattrib --only-fuzzy --no-obsolete "$1" | grep -A3 '^#, fuzzy'
    msgattrib --only-obsolete "$1" | sed -n 's/^#~ msgid/obsolete:/p'
    # U+2010-2026, arrows, · × ± § …: one column or two, by the terminal
    grep -nP '^(msgstr.*|".*)[\x{A1}\x{A4}\x{A7}\x{A8}\x{AD}\x{AE}\x{B0}-\x{B4}\x{B6}-\x{BA}\x{BC}-\x{BF}\x{D7}\x{F7}\x{2010}-\x{203E}\x{2190}-\x{2199}\x{2460}-\x{24FF}\x{2500}-\x{26FF}]' "$1"
}
export LC_ALL=C.UTF-8

[ "$(grep -c '^msgid' "$pot")" -gt 500 ]
ok "the messages are taken from the sources" $?
for word in "suspend" "leave hutch; the machines go on" "colours: dark, light, 16 or mono" "the row under the cursor" \
    "making the disk" "Timeline" "show what happened: commands, starts, git, files"; do
    grep -qF "msgid \"$word\"" "$pot"
    ok "\"$word\" is one of them" $?
done
for po in "$source"/po/*.po; do
    said=$(complaints "$po")
    [ -z "$said" ]
    ok "${po##*/} is complete" $? "$said"
done

# Each kind of fault is found.
zh=$source/po/zh_CN.po
refused() { # refused NAME FILE
    [ -n "$(complaints "$2")" ]
    ok "refused: $1" $?
}
awk 'BEGIN {RS=""; ORS="\n\n"} !/msgid "help"/' "$zh" >"$scratch/missing.po"
refused "a message that is not there" "$scratch/missing.po"
sed '/^msgid "help"$/,/^$/s/^msgstr .*/msgstr ""/' "$zh" >"$scratch/empty.po"
refused "a message without a translation" "$scratch/empty.po"
sed 's/^msgid "help"$/#, fuzzy\n&/' "$zh" >"$scratch/fuzzy.po"
refused "a translation in doubt" "$scratch/fuzzy.po"
sed '/^msgid "not found: %s"$/,/^$/s/%s"$/%d"/; s/^msgid "not found: %d"/msgid "not found: %s"/' "$zh" >"$scratch/format.po"
refused "another format" "$scratch/format.po"
sed '/^msgid "help"$/,/^$/s/^msgstr .*/msgstr "…"/' "$zh" >"$scratch/width.po"
refused "a character of no certain width" "$scratch/width.po"

# The command line. glibc translates nothing in C.UTF-8, so it gets that locale under a Chinese name.
for place in /usr/lib/locale/C.utf8 /usr/lib64/locale/C.utf8; do
    [ ! -d "$place" ] || ln -sfn "$place" "$scratch/zh_CN.utf8"
done
hutch() { LOCPATH=$scratch LC_ALL=zh_CN.UTF-8 "$build/hutch" "$@"; }
[[ $(hutch help) == *"列出项目"* ]]
ok "help is Chinese" $?
[[ $(hutch help exec) == *"为命令分配终端"* ]]
ok "help of a verb is Chinese, with its options" $?
[[ $(hutch nonsense 2>&1) == *"没有动词"* ]]
ok "an error is Chinese" $?
[ "$(hutch help --verbs)" = "$("$build/hutch" help --verbs)" ] && [ "$(hutch paths)" = "$("$build/hutch" paths)" ] &&
    [ "$(hutch completion bash)" = "$("$build/hutch" completion bash)" ]
ok "what programs read is English" $?
[[ $(LC_ALL=zh_CN.ISO-8859-1 LOCPATH=$scratch "$build/hutch" help) == *"list the projects"* ]]
ok "a locale that is not UTF-8 is English" $?
[[ $(LOCPATH=$scratch LC_ALL=zh_CN.UTF-8 HUTCH_LOCALEDIR=$scratch "$build/hutch" help) == *"list the projects"* ]]
ok "HUTCH_LOCALEDIR says where the catalogue is" $?

make -s -C "$build" install-nodist_zh_CNDATA DESTDIR="$scratch/root" >/dev/null 2>&1
[ -n "$(find "$scratch/root" -path '*/zh_CN/LC_MESSAGES/hutch.mo')" ]
ok "an installation has it" $?
echo "1..$tests"
[ $failed = 0 ]
