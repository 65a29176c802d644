#!/usr/bin/env bash
# The checks that need no build: make lint.
#   lint.sh                      format, cppcheck, shell
#   lint.sh CHECK [FILE…]        one of: format cppcheck shell analyze tidy; analyze is gcc -fanalyzer (slow)
# A tool that is not installed is told and passed over.
set -u
cd "$(dirname "$0")/.." || exit 99
status=0

have() {
    command -v "$1" >/dev/null || {
        echo "lint: no $1 here, its check is left out"
        return 1
    }
}

roots=()
for root in src ui tests; do
    [ -d "$root" ] && roots+=("$root")
done
# What follows CHECK on the command line, else all of the kind.
chosen=("${@:2}")
sources() {
    if [ ${#chosen[@]} -gt 0 ]; then
        printf '%s\n' "${chosen[@]}"
    else
        find "${roots[@]}" quickstart -type f -name "$1" | sort
    fi
}
flags() {
    printf -- '-std=c11\n-D_GNU_SOURCE\n-Isrc\n-I.\n-DHUTCH_LIBEXECDIR="x"\n-DHUTCH_DATADIR="x"\n'
    pkg-config --cflags libnghttp2 libuv jansson sqlite3 libvirt libcrypto libseccomp 2>/dev/null | tr ' ' '\n' | sed '/^$/d'
}

check_format() {
    have clang-format || return 0
    sources '*.[ch]' | xargs -d '\n' clang-format --dry-run -Werror --ferror-limit=3
}

# Its parser is helped over attributes and system macros, and its view of what a callee fills is worse than the compiler's.
check_cppcheck() {
    have cppcheck || return 0
    local cache="${XDG_CACHE_HOME:-$HOME/.cache}/hutch-lint"
    mkdir -p "$cache"
    sources '*.c' | cppcheck --quiet --file-list=- --std=c11 -j2 --cppcheck-build-dir="$cache" --inline-suppr \
        --enable=warning,portability --error-exitcode=1 -D_GNU_SOURCE -Isrc --max-configs=1 \
        --suppress=missingIncludeSystem --suppress=normalCheckLevelMaxBranches --suppress=varFuncNullUB \
        --suppress=uninitvar --suppress=legacyUninitvar --include=tests/lib/cppcheck.h \
        --template='{file}:{line}: {severity}: {message} [{id}]'
}

check_shell() {
    have shellcheck || return 0
    local programs parts failed=0
    mapfile -t programs < <(sources '*' | xargs -d '\n' grep -lE -m1 '^#!.*\b(bash|sh)$')
    mapfile -t parts < <(sources '*.sh' | xargs -d '\n' grep -LE -m1 '^#!')
    # Programs with all that they source; then the parts, whose variables come from who sources them.
    [ ${#programs[@]} -eq 0 ] ||
        shellcheck --external-sources --source-path=SCRIPTDIR --severity=warning "${programs[@]}" || failed=1
    [ ${#parts[@]} -eq 0 ] ||
        shellcheck --shell=bash --severity=warning --exclude=SC2154,SC2034 "${parts[@]}" || failed=1
    return "$failed"
}

check_analyze() {
    have gcc || return 0
    local args failed=0
    mapfile -t args < <(flags)
    while IFS= read -r file; do
        gcc "${args[@]}" -O1 -fanalyzer -Werror -c -o /dev/null "$file" || failed=1
    done < <(sources '*.c' | grep -v '^tests/')
    return "$failed"
}

check_tidy() {
    have clang-tidy || return 0
    local args
    mapfile -t args < <(flags)
    sources '*.c' | grep -v '^tests/' | xargs -d '\n' -I{} clang-tidy --quiet --warnings-as-errors='*' \
        --checks='-*,bugprone-*,clang-analyzer-*,-bugprone-easily-swappable-parameters,-bugprone-reserved-identifier,-bugprone-narrowing-conversions,-bugprone-assignment-in-if-condition,-bugprone-macro-parentheses,-bugprone-multi-level-implicit-pointer-conversion,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling' \
        {} -- "${args[@]}"
}

checks=(format cppcheck shell)
[ $# -gt 0 ] && checks=("$1")
for check in "${checks[@]}"; do
    case $check in
    format | cppcheck | shell | analyze | tidy) ;;
    *)
        echo "lint: no check \"$check\": format, cppcheck, shell, analyze or tidy" >&2
        exit 2
        ;;
    esac
    if ! "check_$check"; then
        echo "lint: $check found something"
        status=1
    fi
done
exit "$status"
