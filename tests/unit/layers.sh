#!/usr/bin/env bash
# The house has floors: who may include whom, which library belongs to which folder, how long a file may be.
#   layers.sh           checks the tree at $srcdir
#   layers.sh --self    checks that each kind of offence is found
set -u
top=${srcdir:-.}
failed=0

# A module and what it may include besides itself. A module that is not here may include nothing of the others.
declare -A may=(
    [base]=""
    [wire]="base"
    [conf]="base"
    [policy]="base"
    [journal]="base"
    [vm]="base conf"
    [image]="base conf"
    [guard]="base wire"
    [worker]="base wire guard"
    [egress]="base policy worker"
    [keeper]="base wire guard"
    [approval]="base policy journal"
    [repo]="base wire"
    [review]="base"
    [diff]="base"
    [daemon]="base wire conf policy journal vm image guard worker egress keeper approval repo review diff"
    [client]="base wire"
    [cli]="base wire conf client ui/grid ui/term ui/pane ui/model ui/view"
    [ui/grid]="base"
    [ui/term]="base ui/grid"
    [ui/pane]="base ui/grid"
    [ui/model]="base conf ui/grid ui/pane"
    [ui/view]="base ui/grid ui/pane ui/model"
    [guest]="base wire guard policy"
)
# Single headers that may be included across the rules above, each with its reason.
exceptions="
"
# A library's header (extended regular expression) and the paths that may include it.
libraries='
libvirt/        src/vm/
git2            src/review/ src/diff/texts
ext2fs/         src/diff/
sqlite3\.h      src/journal/ src/daemon/state tests/unit/test_journal_sql
n?curses        ui/term/
ini\.h          src/conf/
nghttp2/        src/wire/
seccomp\.h      src/vm/ src/worker/ src/repo/ src/diff/ src/keeper/ ui/
curl/           src/keeper/ src/image/
jansson\.h      src/wire/ src/vm/ src/image/ src/worker/ src/egress/ src/keeper/ src/repo/ src/review/ src/diff/ src/daemon/ src/client/ src/cli/ src/guest/ ui/
vterm\.h        ui/pane/ tests/
libpsl\.h       src/policy/suffix
idn2\.h         src/policy/host_idn
uv\.h           src/wire/ src/worker/ src/keeper/ src/egress/ src/repo/ src/daemon/ src/client/ src/cli/ src/guest/ ui/
openssl/        src/base/file_hash src/conf/ src/journal/ src/policy/grant_digest src/image/ src/keeper/ src/approval/ src/repo/ src/daemon/
'
# In conf only names may be used by the command line: it has no template of its own.
names_only="src/cli/"
# Of worker egress knows the structs that travel, and nothing else.
structs_only="src/egress/"
lines_max=600

offence() {
    echo "$*"
    failed=1
}

# "file:module/header.h" for each include of our own.
own_includes() {
    local root
    for root in src ui; do
        [ ! -d "$root" ] ||
            grep -rHoE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"[a-z_]+/[^"]+"' --include='*.[ch]' --include='*.def' "$root" |
            sed -E 's/:[^"]*"/:/; s/"$//'
    done
}

# The folder that a file or header belongs to, into $place: "wire" of wire/h2.h, "ui/term" of ui/term/term.h.
module_of() {
    place=${1%%/*}
    case $1 in ui/*/*) place=${1#ui/} place=ui/${place%%/*} ;; esac
}

check_modules() {
    local file header module target place
    while IFS=: read -r file header; do
        module_of "${file#src/}" && module=$place
        module_of "$header" && target=$place
        [ "$module" = "$target" ] && continue
        [ -d "src/$target" ] || [ -d "$target" ] || continue
        [[ $header == ui/*.def ]] && [[ $file == ui/* ]] && continue # the lists that all of the screen shares
        [[ $exceptions == *$'\n'"$file $header"$'\n'* ]] && continue
        case " ${may[$module]-} " in
        *" $target "*) ;;
        *) offence "$file includes \"$header\": $module may include only: ${may[$module]-nothing}" ;;
        esac
        if [[ $file == "$names_only"* && $target == conf && $header != conf/names.h ]]; then
            offence "$file includes \"$header\": the command line knows names only, hutchd reads templates"
        fi
        if [[ $file == "$structs_only"* && $header == worker/* && $header != *proto.h ]]; then
            offence "$file includes \"$header\": of worker only the structs of its messages are for egress"
        fi
    done < <(own_includes)
}

check_libraries() {
    local header places file place good
    while read -r header places; do
        [ -n "$header" ] || continue
        while IFS= read -r file; do
            good=
            for place in $places; do
                [[ $file == "$place"* ]] && good=yes
            done
            [ "$good" ] || offence "$file includes a header of \"$header\": that belongs to $places"
        done < <(grep -rlE "^[[:space:]]*#[[:space:]]*include[[:space:]]*[<\"]$header" --include='*.[ch]' "${roots[@]}")
    done <<<"$libraries"
}

# Calls that the style forbids; strcpy and its like as whole words that are called.
check_calls() {
    local hits
    hits=$(grep -rnE '(^|[^a-zA-Z0-9_>.])(sprintf|vsprintf|strcpy|strcat|strtok|system|popen|atoi|gets)[[:space:]]*\(' \
        --include='*.[ch]' "${roots[@]}" | grep -vE '^[^:]*:[0-9]*:[[:space:]]*(/?\*|//)')
    [ -z "$hits" ] || offence "forbidden calls:"$'\n'"$hits"
}

check_lengths() {
    local lines file
    while read -r lines file; do
        [ "$file" != total ] && [ "$lines" -gt "$lines_max" ] && offence "$file has $lines lines, more than $lines_max"
    done < <(find "${roots[@]}" -name '*.[ch]' -o -name '*.sh' | sort | xargs wc -l)
}

check_tree() {
    cd "$1" || exit 99
    roots=()
    for root in src ui tests; do
        [ -d "$root" ] && roots+=("$root")
    done
    # Nothing found is a wrong srcdir, not a success: without folders grep would read stdin.
    [ "${#roots[@]}" -gt 0 ] && [ "$(own_includes | wc -l)" -ge "$2" ] || {
        offence "no includes found in \"$1\""
        return 1
    }
    check_modules
    check_libraries
    check_calls
    check_lengths
    return "$failed"
}

# One offence of each kind in a small tree; each must be found, and the clean tree must pass.
self_check() {
    local kind said
    scratch=$(mktemp -d) || exit 99
    trap 'rm -rf "$scratch"' EXIT
    bad() {
        rm -rf "${scratch:?}"/*
        mkdir -p "$scratch"/src/{base,wire,vm,cli,conf,daemon} "$scratch"/ui/{model,term}
        echo '#include "base/error.h"' >"$scratch/src/wire/h2.c"
        printf '%s\n' "$2" >>"$scratch/$1"
    }
    expect() {
        if said=$(check_tree "$scratch" 1); then
            echo "not found: $1"
            failed=1
        elif ! grep -q "$2" <<<"$said"; then
            echo "$1: said \"$said\" instead of \"$2\""
            failed=1
        fi
    }
    bad src/base/buf.c '#include "ui/term/term.h"' && expect "the screen below" 'src/base/buf.c includes "ui/term/term.h"'
    bad src/wire/h2.c '/* clean: no call of strcpy (a, b) */'
    (check_tree "$scratch" 1) || { echo "the clean tree fails"; failed=1; }
    bad src/base/buf.c '#include "wire/h2.h"' && expect "an arrow down" 'src/base/buf.c includes "wire/h2.h"'
    bad src/vm/x.c '#  include "daemon/x.h"' && expect "daemon below" 'src/vm/x.c includes "daemon/x.h"'
    bad ui/model/x.c '#include "ui/term/term.h"' && expect "curses under the model" 'ui/model/x.c includes "ui/term/term.h"'
    bad src/cli/x.c '#include "conf/template.h"' && expect "templates in the client" "names only"
    for kind in libvirt/libvirt.h git2.h sqlite3.h curses.h ncurses.h uv.h jansson.h nghttp2/nghttp2.h; do
        bad src/base/x.c "#include <$kind>" && expect "$kind in base" "src/base/x.c includes a header of"
    done
    bad src/daemon/state_x.c '#include <sqlite3.h>'
    (check_tree "$scratch" 1) || { echo "sqlite is not let into state"; failed=1; }
    bad src/daemon/other.c '#include <sqlite3.h>' && expect "sqlite beside state" "src/daemon/other.c"
    bad src/wire/x.c '    strcpy(a, b);' && expect "strcpy" "forbidden calls"
    bad src/wire/x.c "$(seq 601)" && expect "a long file" "has 601 lines"
    rm -rf "${scratch:?}"/* && expect "an empty tree" "no includes found"
    return "$failed"
}

if [ "${1-}" = --self ]; then
    self_check
else
    (self_check) || exit 1
    check_tree "$top" 50
fi
