#!/usr/bin/env bash
# Each header compiles alone, and twice in one unit, under the strict flags of the build.
set -u
top=$(cd "${srcdir:-.}" && pwd)
scratch=$(mktemp -d) || exit 99
trap 'rm -rf "$scratch"' EXIT

read -ra flags <<<"$(pkg-config --cflags libnghttp2 libuv jansson sqlite3 libvirt libcrypto libgit2 2>/dev/null)"
check() {
    local header=$1 name
    name=$(tr / _ <<<"$header")
    printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$scratch/$name.c"
    if ! ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-parameter -Werror -fsyntax-only -I"$top/src" \
        -I"$top" "${flags[@]}" "$scratch/$name.c" >"$scratch/$name.log" 2>&1; then
        echo "$header does not compile alone:"
        sed 's/^/    /' "$scratch/$name.log"
        touch "$scratch/failed"
    fi
}

count=0
while IFS= read -r header; do
    check "$header" &
    count=$((count + 1))
    ((count % 4)) || wait
done < <(cd "$top/src" && find . -name '*.h' | sed 's|^\./||' | sort && cd "$top" && find ui -name '*.h' | sort)
wait
echo "$count headers"
# None found is a wrong srcdir, not a success.
[ "$count" -gt 10 ] && [ ! -e "$scratch/failed" ]
