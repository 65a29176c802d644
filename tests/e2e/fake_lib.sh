# shellcheck shell=bash
# fake_lib.sh: hutchd without a hypervisor: the fake host, behind each machine the real hutch-guest on this host. Sourced by the
# fake_*.sh tests, which `make check` runs in the build folder. TAP on stdout. A test waits for a condition with a limit.
set -u
build=$PWD
for tool in curl jq qemu-img; do
    command -v "$tool" >/dev/null || { echo "1..0 # SKIP $tool is missing"; exit 77; }
done
home=$(mktemp -d /tmp/hf-XXXXXX)
export HUTCH_HOME=$home HUTCH_VM=fake HUTCH_FAKE_GUEST=$build/hutch-guest HUTCH_BOOT_LIMIT=20
daemon=0
count=0
failed=0

pass() { count=$((count + 1)); echo "ok $count - $1"; }
fail() {
    count=$((count + 1)); failed=$((failed + 1))
    echo "not ok $count - $1"
    shift
    [ $# -eq 0 ] || printf '%s\n' "$@" | head -30 | sed 's/^/#   /'
}
ok() { # ok NAME COMMAND...: it succeeds
    local name=$1 out
    shift
    if out=$("$@" 2>&1); then pass "$name"; else fail "$name" "status $? of: $*" "$out"; fi
}
is() { if [ "$2" = "$3" ]; then pass "$1"; else fail "$1" "wanted: $2" "got:    $3"; fi; }
like() { if grep -qE -- "$2" <<<"$3"; then pass "$1"; else fail "$1" "wanted something like: $2" "got: $3"; fi; }
unlike() { if grep -qE -- "$2" <<<"$3"; then fail "$1" "wanted nothing like: $2" "got: $3"; else pass "$1"; fi; }
within() { # within SECONDS COMMAND...
    local limit=$1 start=$SECONDS
    shift
    until "$@" >/dev/null 2>&1; do
        [ $((SECONDS - start)) -lt "$limit" ] || return 1
        sleep 0.05
    done
}

api() { # api METHOD PATH [curl options]
    local method=$1 path=$2
    shift 2
    curl -sS --max-time 60 --http2-prior-knowledge --unix-socket "$home/run/hutchd.sock" -X "$method" "http://hutch$path" "$@"
}
# start_daemon [NAME=VALUE...]: until it listens. Its end is the caller's or stop_daemon's.
start_daemon() {
    # The file of a killed one refuses connections: wait for the process's own.
    env "$@" "$build/hutchd" --foreground 2>>"$home/log" &
    daemon=$!
    within 20 api GET /v1/version || { fail "hutchd starts" "$(tail -5 "$home/log")"; exit 1; }
}
stop_daemon() { kill "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; daemon=0; }
kill_daemon() { kill -9 "$daemon" 2>/dev/null; wait "$daemon" 2>/dev/null; daemon=0; }
state() { api GET "/v1/projects/$1" | jq -r '.state // .error.code'; }
is_state() { [ "$(state "$1")" = "$2" ]; }
last() { tail -n1; }
up() { api POST /v1/projects -d "{\"name\":\"$1\",\"memory\":268435456,\"cpus\":1,\"disk\":17179869184}"; }

# A base that the fake machines stand on: no system is in it.
make_base() {
    local digest folder
    digest=$(api GET /v1/templates/debian-13 | jq -r .digest)
    folder=$home/data/bases/$digest
    mkdir -p "$folder"
    qemu-img create -q -f qcow2 "$folder/disk.qcow2" 8G
    echo kernel >"$folder/kernel"
    echo initrd >"$folder/initrd"
    printf '[base]\ntemplate = debian-13\ndigest = %s\nkernel-version = 6\nvirtual-size = 8589934592\nbuilt-ns = 1\n' "$digest" \
        >"$folder/base.ini"
}
no_file() { [ -z "$(find "$home/data/projects" "$home/run/p" -mindepth 1 2>/dev/null)" ]; }
# Ends the processes of the machines, which outlive hutchd: those whose command line has our home in it.
end_machines() {
    local dir
    for dir in /proc/[0-9]*; do
        if { tr "\\0" " " <"$dir/cmdline"; } 2>/dev/null | grep -q -- "$home/"; then kill -9 "${dir#/proc/}" 2>/dev/null; fi
    done
}
finish() {
    [ "$daemon" = 0 ] || kill_daemon
    end_machines
    [ "$failed" = 0 ] || sed 's/^/# log: /' "$home/log" | tail -40
    rm -rf "$home"
}
trap finish EXIT
the_end() {
    echo "1..$count"
    [ "$failed" = 0 ]
    exit $?
}
