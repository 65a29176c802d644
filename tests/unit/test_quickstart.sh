#!/bin/bash
# What quickstart says: lines that end between words, times that hold on this machine, something while it prepares.
set -u
srcdir=${srcdir:-.}
count=0 failed=0
is() {
    count=$((count + 1))
    if [ "$2" = "$3" ]; then echo "ok $count - $1"; else
        echo "not ok $count - $1"
        printf '# wanted: %s\n# got:    %s\n' "$2" "$3"
        failed=1
    fi
}
# shellcheck source=tests/lib/host.sh
. "$srcdir/tests/lib/host.sh"

long="one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
is "a pipe gets the line as it is" "$long" "$(say "$long" | cat)"
if command -v script >/dev/null; then
    shown=$(SHELL=/bin/bash script -qec "stty cols 40; . '$srcdir/tests/lib/host.sh'; say '$long'" /dev/null </dev/null | tr -d '\r')
    is "a terminal gets lines that fit" 0 "$(awk 'length($0) > 40' <<<"$shown" | wc -l)"
    is "broken between words, none lost" "$long" "$(tr '\n' ' ' <<<"$shown" | tr -s ' ' | sed 's/ $//')"
fi
host_kvm() { true; }
is "with KVM no word of emulation" 0 "$(host_times run | grep -c EMULATED)"
host_kvm() { false; }
is "without it the demo takes longer" 1 "$(host_times run | grep -c '1-2 min)*; times of an EMULATED')"
is "and the tests" 1 "$(host_times check | grep -c 'about 25 min')"
is "autoreconf is announced" 1 "$(grep -c 'say "  autoreconf: ' "$srcdir/quickstart")"
is "configure is announced" 1 "$(grep -c 'say "  configure: ' "$srcdir/quickstart")"
echo "1..$count"
exit $failed
