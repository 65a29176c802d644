# shellcheck shell=bash
# The first ten minutes: a template, a machine, a repository in it, commands, files, stop and start.

ok "template build debian-13" "$hutch" template build debian-13
gives "template build a second time is quick" 0 timeout 20 "$hutch" template build debian-13
like "template ls names it" 'debian-13' "$("$hutch" template ls)"
gives "a template that does not exist: 5, the nearest is offered" 5 "$hutch" up nope -t debain-13
like "  … by name" 'debian-13' "$output"

ok "up with a repository of this host" "$hutch" up first --repo "$work/app" --memory 1G
is "  … runs" run "$(state first)"
like "ls shows it" 'first +run' "$("$hutch" ls)"
is "the work tree is at the repository's commit" "$(git -C app rev-parse HEAD)" "$("$hutch" exec first -- git rev-parse HEAD)"
is "  … on its branch" main "$("$hutch" exec first -- git branch --show-current)"
is "  … clean" "" "$("$hutch" exec first -- git status --porcelain)"
is "  … owned by agent" agent "$("$hutch" exec first -- stat -c %U .)"
is "  … in the agent's home" /home/agent/app "$("$hutch" exec first -- pwd)"
is "origin is hutch's" hutch::app "$("$hutch" exec first -- git remote get-url origin)"
ok "git fetch works in it" "$hutch" exec first -- git fetch
is "tags came along" v1 "$("$hutch" exec first -- git tag)"
ok "its tests run" "$hutch" exec first -- make check
is "sudo without a password" 0 "$("$hutch" exec first -- sudo id -u)"
is "no network device but lo" lo "$("$hutch" exec first -- sh -c 'ls /sys/class/net')"

is "stdout as it is" "a b" "$("$hutch" exec first -- printf 'a b')"
is "stderr apart" "e" "$("$hutch" exec first -- sh -c 'echo o; echo e >&2' 2>&1 >/dev/null)"
is "stdin goes in" 3 "$(printf 'abc' | "$hutch" exec first -- wc -c | tr -d ' ')"
gives "exit status" 42 "$hutch" exec first -- sh -c 'exit 42'
gives "a signal: 128+n" 143 "$hutch" exec first -- sh -c 'kill -TERM $$'
gives "no such program: 127" 127 "$hutch" exec first -- no-such-program
gives "not executable: 126" 126 "$hutch" exec first -- /etc/passwd
gives "--timeout: 124" 124 "$hutch" exec first --timeout 1 -- sleep 60
gives "hutch's own failure: 125" 125 "$hutch" exec no-such-project -- true
is "-w and -e" "/tmp x=1" "$("$hutch" exec first -w /tmp -e x=1 -- sh -c 'echo "$PWD x=$x"')"
is "-u root" root "$("$hutch" exec first -u root -- id -un)"

sum=$(head -c 20000000 /dev/urandom | tee big | sha256sum)
is "20 MB in, byte for byte" "$sum" "$("$hutch" exec first -- sha256sum <big)"
is "20 MB through and back" "$sum" "$("$hutch" exec first -- cat <big | sha256sum)"

ok "cp in" "$hutch" cp big first:/home/agent/big
ok "cp out" "$hutch" cp first:/home/agent/big back
ok "  … the same bytes" cmp big back
ok "cp a folder in" "$hutch" cp app first:/home/agent/copied
is "  … whole" "$(cat app/LATER)" "$("$hutch" exec first -- cat /home/agent/copied/LATER)"

"$hutch" exec first -- sh -c 'echo kept >~/kept'
ok "stop" "$hutch" stop first
is "  … is off" off "$(state first)"
ok "start" "$hutch" start first
is "  … everything as it was" kept "$("$hutch" exec first -- sh -c 'cat ~/kept')"
ok "up again changes nothing" "$hutch" up first --repo "$work/app"
ok "journal verify" "$hutch" journal verify
like "log has the commands" 'make check' "$("$hutch" log first)"
like "every line of log --json is JSON" '^[0-9]+$' "$("$hutch" log first --json | jq -c .seq | tail -1)"
