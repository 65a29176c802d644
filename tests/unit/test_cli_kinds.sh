#!/usr/bin/env bash
# The kinds of events in the sources against those that `hutch log --kind` knows (src/cli/log_kinds.def). TAP.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
known=$(sed -nE 's/^X\("([a-z]+)", "([a-z -]+)"\)$/\1 \2/p' "$source/src/cli/log_kinds.def" |
    while read -r kind subs; do for sub in $subs; do echo "$kind.$sub"; done; done | sort -u)
kinds=$(sed -nE 's/^X\("([a-z]+)".*/\1/p' "$source/src/cli/log_kinds.def")
groups=$(printf '%s\n' approval dns egress policy secret snapshot "$kinds" | paste -sd'|')
written=$(grep -rhoE --include='*.c' "\"($groups)\\.[a-z-]+\"" "$source/src" |
    tr -d '"' | grep -vE '\.(sock|ini|db|log)$' | sort -u)
echo 1..2
if [ "$(wc -l <<<"$written")" -gt 10 ]; then echo "ok 1 - the sources have kinds"; else echo "not ok 1 - the sources have kinds"; fi
missing=$(comm -23 <(echo "$written") <(echo "$known"))
if [ -z "$missing" ]; then
    echo "ok 2 - all of them are known"
else
    echo "not ok 2 - all of them are known"
    sed 's/^/# not in log_kinds.def: /' <<<"$missing"
    exit 1
fi
