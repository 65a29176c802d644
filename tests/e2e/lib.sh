# shellcheck shell=bash
# lib.sh: what the tests with real machines share. TAP on stdout; each script is sourced by `run` in one shell.
# A test waits for a condition with a limit, never for a time.

tap_count=${tap_count:-0}
tap_failed=${tap_failed:-0}
stage=$(dirname "$(dirname "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")")")
hutch=$stage/hutch

pass() { tap_count=$((tap_count + 1)); printf 'ok %d - %s\n' "$tap_count" "$1"; }
fail() { # fail NAME [DETAIL...]
    tap_count=$((tap_count + 1)); tap_failed=$((tap_failed + 1))
    printf 'not ok %d - %s\n' "$tap_count" "$1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" | head -40 | sed 's/^/#   /'
    return 0
}
# ok NAME COMMAND...: the command succeeds.
ok() {
    local name=$1 out
    shift
    if out=$("$@" 2>&1 </dev/null); then pass "$name"; else fail "$name" "status $? of: $*" "$out"; fi
}
# gives NAME STATUS COMMAND...: exactly that exit status; its output is left in $output.
gives() {
    local name=$1 want=$2 got=0
    shift 2
    output=$("$@" 2>&1 </dev/null) || got=$?
    if [ "$got" = "$want" ]; then pass "$name"; else fail "$name" "wanted status $want, got $got of: $*" "$output"; fi
}
# is NAME WANTED GOT
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted: $2" "got:    $3"; fi; }
# like NAME PATTERN TEXT: a grep -E pattern.
like() { if grep -qE -- "$2" <<<"$3"; then pass "$1"; else fail "$1" "wanted something like: $2" "$3"; fi; }
unlike() { if grep -qE -- "$2" <<<"$3"; then fail "$1" "did not want: $2" "$3"; else pass "$1"; fi; }
# within SECONDS COMMAND...: until it succeeds; fails after the limit.
within() {
    local limit=$1 start=$SECONDS
    shift
    until "$@" >/dev/null 2>&1; do
        [ $((SECONDS - start)) -lt "$limit" ] || return 1
        sleep 0.2
    done
}
state() { "$hutch" show "$1" --json 2>/dev/null | jq -r .state; }
is_state() { [ "$(state "$1")" = "$2" ]; }
daemon_pid() { "$hutch" version --json 2>/dev/null | jq -r '.daemon.pid // empty'; }
part() { printf '== %s (%d s)\n' "$*" "$SECONDS"; }
# The repository and the machine that most parts work with.
make_app() {
    mkdir -p app && git -C app init -q && cp -r "$stage/templates/demo/." app/
    git -C app add -A && git -C app commit -qm "first"
    git -C app tag v1
    git -C app branch side
    echo "later" >app/LATER && git -C app add -A && git -C app commit -qm "second"
}
need_first() { is_state first run || "$hutch" up first --repo "$work/app" --memory 1G >/dev/null 2>&1; }
now_ms() { date +%s%3N; }
