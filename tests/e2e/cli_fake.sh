#!/bin/bash
# shellcheck disable=SC2154,SC1091,SC1010,SC2016
# The command line with the fake host, the real hutchd, worker and hutch-guest. The "machine" is this host, so its files are in $home.
. "$(dirname "$0")/fake_lib.sh"
hutch=$build/hutch
place=$home/guest
mkdir "$place" "$home/here"
cd "$home/here" || exit 1

gives() { # gives NAME STATUS COMMAND...: output of both kinds in $output
    local name=$1 want=$2 got=0
    shift 2
    output=$(timeout 200 "$@" 2>&1 </dev/null) || got=$?
    if [ "$got" = "$want" ]; then pass "$name"; else fail "$name" "wanted status $want, got $got of: $*" "$output"; fi
}
# exec without the wish of a user: only root can be another one
run() { timeout 200 "$hutch" exec box -u root -w "$place" "$@"; }
daemon_pid() { "$hutch" version --json | jq -r '.daemon.pid // empty'; }
kill_client_daemon() { kill -9 "$(daemon_pid)" 2>/dev/null; }

gives "version starts nothing" 0 "$hutch" version
like "  and says so" "does not run" "$output"
gives "ls starts hutchd" 0 "$hutch" ls
like "  which has nothing yet" "no projects yet" "$output"
make_base
gives "a project of a folder that has no repository: 2 when named" 2 "$hutch" up ./
gives "a name that cannot be" 2 "$hutch" up 'a b'
gives "the empty name" 2 "$hutch" up ''
gives "the empty name elsewhere" 2 "$hutch" show ''
gives "a verb as a name" 2 "$hutch" up start
gives "a template that is not there" 5 "$hutch" up box -t debain-13
like "  the nearest" "debian-13" "$output"
gives "up" 0 "$hutch" up box --memory 256M --cpus 1 --disk 16G
like "  says the state" "^box ready in" "$output"
like "  and that it is slow" "EMULATED" "$output"
like "  and that nothing is in it" "no git repository in .*/here.*begins empty" "$output"
like "  and what brings something in" "hutch up box --repo .*hutch cp FILE box:" "$output"
gives "up again" 0 "$hutch" up box
is "  which says that no more" "" "$(grep -F 'begins empty' <<<"$output")"
printf start=slow >"$home/data/fake/faults"
"$hutch" stop box >/dev/null 2>&1
timeout -s INT 1 "$hutch" start box >"$home/interrupted" 2>&1
like "^C says that the work goes on" "hutchd goes on with it" "$(cat "$home/interrupted")"
: >"$home/data/fake/faults"
gives "  and the same command watches it again" 0 "$hutch" start box
gives "ls" 0 "$hutch" ls
like "  the table" "^PROJECT +STATE" "$output"
like "  the row" "^box +run" "$output"
is "ls --json is one object a line" box "$("$hutch" ls --json | jq -r .name)"
is "  with the fields of the contract" true \
    "$("$hutch" ls --json | jq '[has("name","state","template","kits","agent","waiting","net_rate","disk")] | all')"
gives "show" 0 "$hutch" show box
like "  the state" "^state +run" "$output"
like "  what the guest says" "^inside +ready" "$output"
is "show --json" run "$("$hutch" show box --json | jq -r .state)"
gives "a project that is not there" 5 "$hutch" show bax
like "  the nearest" "box" "$output"
gives "status" 0 "$hutch" status
is "  its line" "1 projects, 1 running, 0 waiting" "$output"
is "status --format" "1/1 {0} 5%" "$("$hutch" status --format '%{running}/%{projects} {%{waiting}} 5%%')"
is "  no project of this folder" "<>" "$("$hutch" status --format '<%{project}%{project.state}>')"
gives "  a field that is not there" 2 "$hutch" status --format '%{nope}'
is "names for completion" box "$("$hutch" completion projects)"
gives "no project of this folder" 5 "$hutch" show
like "  the way out" "hutch up" "$output"
gives "  for exec: 125" 125 "$hutch" exec -- true
gives "template ls" 0 "$hutch" template ls
like "  the base is there" "^debian-13 +built" "$output"
gives "template show" 0 "$hutch" template show debian-13
like "  its packages" "^packages" "$output"
like "  by the names that its file has" "^kernel +linux-image" "$output"
is "    all of them" "" "$(sed -nE 's/^([a-z-]+) = ?.*/\1/p' "$(sed -nE 's/^path +//p' <<<"$output")" |
    while read -r key; do grep -q "^$key " <<<"$output" || echo "$key"; done)"
gives "template rm of a base that is stood on" 1 "$hutch" template rm debian-13 --yes
gives "template build of what is there" 0 "$hutch" template build debian-13
"$hutch" doctor >"$home/doctor" 2>&1
like "doctor has hutchd's checks" "libvirt|kvm" "$(cat "$home/doctor")"
is "  each once" "" "$("$hutch" doctor --json | jq -r .check | sort | uniq -d)"

# ---- exec ----
is "three streams: stdout" o "$(run -- sh -c 'echo o; echo e >&2' 2>/dev/null)"
is "  stderr" e "$(run -- sh -c 'echo o; echo e >&2' 2>&1 >/dev/null)"
run -- sh -c 'exit 42'
is "exit status" 42 $?
run -- sh -c 'kill -TERM $$'
is "a signal: 128+n" 143 $?
run -- no-such-program 2>/dev/null
is "no such program" 127 $?
run -- /etc/passwd 2>/dev/null
is "not executable" 126 $?
run --timeout 1 -- sleep 60
is "--timeout" 124 $?
is "-e" "1 x y" "$(run -e A=1 -e 'B=x y' -- sh -c 'echo "$A $B"')"
is "-w" "$place" "$(run -- pwd)"
is "an empty argument, blanks, quotes" "<> <a b> <'\"> <\$x>" "$(run -- sh -c 'printf "<%s> <%s> <%s> <%s>" "$@"' - '' 'a b' "'\"" '$x')"
head -c 30000000 /dev/urandom >"$home/big"
sum=$(sha256sum <"$home/big")
is "30 MB in and back" "$sum" "$(run -- cat <"$home/big" | sha256sum)"
is "  through pipes" "$sum" "$(tail -c +1 "$home/big" | run -- cat | tail -c +1 | sha256sum)"
is "a command that does not read its stdin" done "$(run -- echo done <"$home/big")"
is "stdin that stays open" done "$(sleep 20 | timeout 15 "$hutch" exec box -u root -w "$place" -- echo done)"
run -- yes 2>/dev/null | head -1 >/dev/null
is "yes | head -1" "141 0" "${PIPESTATUS[0]} ${PIPESTATUS[1]}"
nothing_runs() { [ -z "$("$hutch" sessions box --json | jq -r 'select(.state=="running") | .id')" ]; }
if within 30 nothing_runs; then pass "  nothing goes on"; else fail "  nothing goes on" "$("$hutch" sessions box)"; fi
is "finished sessions are not left" "" "$("$hutch" sessions box --json | jq -r 'select(.label != "kept") | .id')"
gives "sessions" 0 "$hutch" sessions box
like "  titles" "^ID +STATE" "$output"
gives "attach without a session" 5 "$hutch" attach box
like "  the way out" "hutch shell box" "$output"

# ---- sessions outlive everything ----
counting='i=0; while [ $i -lt 300 ]; do i=$((i+1)); echo "n=$i"; sleep 0.01; done'
run -- sh -c "$counting" >"$home/counted" 2>"$home/counted.err" </dev/null &
client=$!
within 60 grep -q '^n=50$' "$home/counted"
kill_client_daemon
wait $client
is "hutchd killed while exec prints: nothing is missing or twice" "$(seq -f 'n=%.0f' 300 | sha256sum)" "$(sha256sum <"$home/counted")"
run -- sh -c "$counting" >"$home/counted" 2>"$home/counted.err" </dev/null &
client=$!
within 60 grep -q '^n=50$' "$home/counted"
for dir in /proc/[0-9]*; do
    [ "$(cat "$dir/comm" 2>/dev/null)" = hutch-worker ] || continue
    [ "$(awk '/^PPid/ {print $2}' "$dir/status" 2>/dev/null)" = "$(daemon_pid)" ] && kill -9 "${dir#/proc/}"
done
wait $client
is "the worker killed while exec prints: the same" "$(seq -f 'n=%.0f' 300 | sha256sum)" "$(sha256sum <"$home/counted")"
"$hutch" exec box -u root -w "$place" -t -- sh -c "${counting/300/30000}" >/dev/null 2>"$home/counted.err" </dev/null &
client=$!
prints() { [ -n "$("$hutch" sessions box --json | jq -r 'select(.state=="running" and .out_total > 100) | .id')" ]; }
within 60 prints
kill -9 $client
wait $client 2>/dev/null # a killed client leaves the session
like "a client can be killed" '^$' "$(cat "$home/counted.err")"
"$hutch" attach box --raw </dev/null >"$home/seen" 2>"$home/counted.err" &
client=$!
within 60 grep -q '^n=40' "$home/seen"
kill $client
wait $client
is "TERM leaves the session too" 143 $?
is "  attach has shown all of it" "$(seq -f 'n=%.0f' 40)" "$(tr -d '\r' <"$home/seen" | head -40)"
id=$("$hutch" sessions box --json | jq -r 'select(.state=="running") | .id')
gives "attach to an id that is not there" 5 "$hutch" attach box nope
"$hutch" attach box "${id:0:8}" --raw </dev/null >"$home/short" 2>&1 &
client=$!
within 60 grep -q '^n=40' "$home/short"
kill $client
wait $client
like "attach by the beginning of an id" '^n=1' "$(cat "$home/short")"
other=$(api POST /v1/projects/box/sessions -d '{"argv":["sleep","60"],"user":"root","cwd":"/"}' | jq -r .id)
common=$(printf '%s\n%s\n' "$id" "$other" | sed -e 'N;s/^\(.*\).*\n\1.*$/\1/')
if [ -n "$common" ]; then
    gives "attach by what two ids begin with: 2" 2 "$hutch" attach box "$common"
    like "  names them" "$id .*$other|$other .*$id" "$output"
else
    gives "attach by no id at all" 2 "$hutch" attach box ''
fi
api DELETE "/v1/projects/box/sessions/$other" >/dev/null
python3 - "$hutch" "$id" >"$home/attached" <<'PY'
import os, pty, sys, time
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "attach", "box", sys.argv[2], "--raw"])
out, typed, end = b"", False, time.time() + 60
while time.time() < end:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data: break
    out += data
    if not typed and b"n=20\r\n" in out:
        os.write(fd, b"\x1dd")
        typed = True
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), b"it goes on" in out, b"n=1\r\n" in out)
PY
is "attach --raw at a terminal, ^] d leaves" "0 True True" "$(cat "$home/attached")"
api DELETE "/v1/projects/box/sessions/$id" >/dev/null
python3 - "$hutch" "$place" >"$home/shell" <<'PY'
import fcntl, os, pty, struct, sys, termios, time, signal
pid, fd = pty.fork()
if pid == 0:
    os.execv(sys.argv[1], [sys.argv[1], "exec", "box", "-t", "-u", "root", "-w", sys.argv[2], "--", "sh", "-c",
        "stty size; read a; stty size; printf '\\033]0;title\\007got %s\\n' \"$a\"; exit 9"])
fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
out, step, end = b"", 0, time.time() + 60
while time.time() < end:
    try:
        data = os.read(fd, 65536)
    except OSError:
        break
    if not data: break
    out += data
    if step == 0 and b" 80\r\n" in out:
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 132, 0, 0))
        step = 1
        time.sleep(0.5)
        os.write(fd, b"word\r")
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), b"50 132" in out, b"got word" in out, b"title" in out)
PY
is "a terminal: size, resize, input, status; the title does not pass" "9 True True False" "$(cat "$home/shell")"

# ---- cp ----
copy=("$hutch" cp -u root)
echo data >plain
gives "cp in" 0 "${copy[@]}" plain "box:$place/plain"
is "  there" data "$(cat "$place/plain")"
gives "cp into a folder" 0 "${copy[@]}" plain "box:$place"
chmod 750 plain
"${copy[@]}" plain "box:$place/mode"
is "  with its mode" 750 "$(stat -c %a "$place/mode")"
gives "cp to a folder that is missing" 5 "${copy[@]}" plain "box:$place/none/x"
like "  names it" "$place/none" "$output"
gives "cp of what is missing" 5 "${copy[@]}" nothing "box:$place/x"
gives "  out" 5 "${copy[@]}" "box:$place/nothing" .
like "  named" "nothing" "$output"
mkdir many && (cd many && seq 1 1000 | split -l 1 -a 3 -)
gives "a folder in" 0 "${copy[@]}" many "box:$place/"
is "  whole" "" "$(diff -r many "$place/many")"
gives "  under another name" 0 "${copy[@]}" many "box:$place/other"
is "  whole" "" "$(diff -r many "$place/other")"
gives "  onto a file" 1 "${copy[@]}" many "box:$place/plain"
gives "a folder out" 0 "${copy[@]}" "box:$place/many" back
is "  whole" "" "$(diff -r many back)"
gives "  into one that is there" 0 "${copy[@]}" "box:$place/many" back
is "  whole" "" "$(diff -r many back/many)"
gives "  onto a file" 1 "${copy[@]}" "box:$place/many" plain
gives "a file out" 0 "${copy[@]}" "box:$place/plain" out
is "  there" data "$(cat out)"
gives "  to stdout" 0 "${copy[@]}" "box:$place/plain" /dev/stdout
is "  there" data "$output"
is "  /dev/stdout is as it was" "symbolic link" "$(stat -c %F /dev/stdout)"
mkfifo "$place/fifo" fifo
gives "a FIFO out is refused" 1 "${copy[@]}" "box:$place/fifo" .
like "  by name" "FIFO" "$output"
gives "a FIFO in is refused" 1 "${copy[@]}" fifo "box:$place/x"
mkdir "$place/odd" in
(cd "$place/odd" && printf a >"$(printf 'new\nline')" && printf b >"$(printf '\377\376')" && ln -s ../../../../etc/passwd up &&
    ln -s / root && ln -s plain fine && printf c >plain && mkfifo fifo && chmod u+s plain)
gives "odd names, links out, a FIFO: 1" 1 "${copy[@]}" "box:$place/odd" in
like "  the links are named" '"odd/up".*leads out' "$output"
is "  the rest is there" "a b c plain" "$(cat in/odd/"$(printf 'new\nline')")$(printf ' ')$(cat in/odd/"$(printf '\377\376')") $(cat in/odd/fine) $(readlink in/odd/fine)"
is "  nothing that leads out" "" "$(find in -name up -o -name root -o -name fifo -o -perm /6000)"
is "  and no temporary" "" "$(find . -name '.hutch-*')"
gives "both sides here" 2 "${copy[@]}" plain out
gives "both sides there" 2 "${copy[@]}" box:a box:b

# ---- power, log, rm ----
gives "pause" 0 "$hutch" pause box
gives "exec on a paused machine: 125 at once" 125 timeout 10 "$hutch" exec box -- true
like "  the way out" "resume" "$output"
gives "resume" 0 "$hutch" resume box
gives "suspend" 0 "$hutch" suspend box
is "  is saved" saved "$("$hutch" show box --json | jq -r .state)"
gives "exec on a saved one" 125 "$hutch" exec box -- true
like "  the way out" "start" "$output"
gives "start" 0 "$hutch" start box
is "stop --json: the project afterwards" off "$("$hutch" stop box --json 2>"$home/err" | jq -r .state)"
gives "log" 0 "$hutch" log box
like "  has the commands" "exec.start +.*sh -c" "$output"
is "log --json" box "$("$hutch" log box --json | jq -r .project | sort -u)"
is "log --kind" "exec.start" "$("$hutch" log box --kind exec.start --json | jq -r .kind | sort -u | xargs)"
gives "log of nothing since" 0 "$hutch" log box --since 2099-01-01
is "  is empty" "" "$output"
gives "log with a time that is none" 2 "$hutch" log box --since yesterday
gives "log with a kind that is none: 2" 2 "$hutch" log box --kind foo
like "  names the kinds" "one of: .*exec, .*lifecycle" "$output"
gives "  one below a kind" 2 "$hutch" log box --kind exec.foo
is "every kind that was written is known" "" "$("$hutch" log --all-projects --all --json | jq -r .kind | sort -u |
    while read -r kind; do "$hutch" log box --kind "$kind" >/dev/null 2>&1 || echo "$kind"; done)"
timeout 20 "$hutch" log box -f --kind lifecycle >"$home/follow" 2>/dev/null </dev/null &
follower=$!
within 30 grep -q lifecycle "$home/follow"
lines=$(wc -l <"$home/follow")
"$hutch" start box >/dev/null 2>&1
longer() { [ "$(wc -l <"$home/follow")" -gt "$lines" ]; }
if within 30 longer; then pass "log -f goes on"; else fail "log -f goes on" "$(tail -3 "$home/follow")"; fi
kill $follower
wait $follower 2>/dev/null
gives "journal verify" 0 "$hutch" journal verify
like "  the chain" "whole" "$output"
gives "rm without a terminal needs --yes" 2 "$hutch" rm box
like "  says so" "--yes" "$output"
gives "rm of several of which one is missing" 5 "$hutch" rm box nope --yes
gives "rm" 0 "$hutch" rm box --yes
gives "  it is gone" 5 "$hutch" show box

# ---- by folder ----
mkdir -p folder/below
api POST /v1/projects -d "{\"folder\":\"$home/here/folder\",\"memory\":268435456}" >/dev/null
cd folder/below || exit 1
gives "the project of the nearest folder" 0 "$hutch" show
like "  is shown" "^project +folder" "$output"
is "  status --format" "folder is run" "$("$hutch" status --format '%{project} is %{project.state}')"
is "  exec" here "$("$hutch" exec -u root -- echo here </dev/null)"
echo up >file
gives "  cp to :PATH" 0 "${copy[@]}" file ":$place/by-folder"
is "  there" up "$(cat "$place/by-folder")"
gives "  up of a folder that has a project" 0 "$hutch" up ..
gives "  stop" 0 "$hutch" stop
is "  is off" off "$("$hutch" show --json | jq -r .state)"
gives "  exec on it says how to go on" 125 "$hutch" exec -- true
like "  by name" "hutch start|hutch up" "$output"
cd / || exit 1
kill_client_daemon
the_end
