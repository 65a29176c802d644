# shellcheck shell=bash
# D14: a container in a real machine. Its packets come from a bridge, its names from a resolver of its own, and each is the same
# connection of the machine. Only with HUTCH_TEST_ALL=1: podman is many packages.

if [ -n "${HUTCH_TEST_ALL:-}" ]; then
    need_first
    rules=$HUTCH_HOME/config/rules.ini project=$HUTCH_HOME/config/projects/first.ini
    in_first() { timeout "${limit:-180}" "$hutch" exec first -- "$@"; }
    names_are() { "$hutch" rule ls first | grep -q "names: $1\$"; }
    rows() { "$hutch" log first --kind "$1" --json 2>/dev/null | jq -c "select(.seq > $mark)"; }
    marked() { mark=$("$hutch" log first --json | jq -s 'map(.seq) | max // 0'); }
    contained() { in_first sudo podman run --rm --network podman --rootfs /home/agent/root /bin/busybox "$@" 2>&1; }

    rm -f server.ports # of a part before
    "$stage/tests/e2e/egress_server.py" >server.ports 2>server.errors &
    server=$!
    within 60 test -s server.ports || fail "the server of the test starts" "$(cat server.errors)"
    read -r web _ <server.ports
    base=$("$hutch" show first --json | jq -r '.base // empty')
    ini=$(grep -ls "digest = $base" "$HUTCH_HOME"/data/bases/*/base.ini | head -1)
    {
        echo '[egress]' && echo 'allow ='
        while read -r scheme host port; do
            getent ahostsv4 "$host" | grep -q '^203\.0\.113\.' || continue
            echo "    $host:$port proto=${scheme/#https/tls} private=203.0.113.0/24"
        done < <(sed -n '/^\[packages debian\]/,/^\[/s/^    //p' "$ini")
    } >"$rules"
    printf '[egress]\ndefault = deny\n[host-port web]\nto = 127.0.0.1:%s\n' "$web" >"$project.new" && mv "$project.new" "$project"
    within 60 names_are deny

    limit=1800
    ok "apt-get install podman" in_first sudo sh -c 'apt-get -q update &&
        DEBIAN_FRONTEND=noninteractive apt-get -qy install --no-install-recommends podman iptables busybox-static'
    in_first sh -c 'cd && mkdir -p root/bin root/etc root/proc root/sys root/dev root/tmp root/run && cp /bin/busybox root/bin/'
    marked
    like "a container has an address of its own" 'inet 10\.88\.' "$(contained ip -4 addr)"
    is "  … a name that is allowed passes" 10 "$(contained wget -q -O - "http://web.hutch.internal:$web/10" | wc -c)"
    said=$(contained wget -q -O - http://unknown-of-container.example/ && echo passed)
    unlike "  … an unknown one is refused" passed "$said"
    like "  … and in the log by its name" 'unknown-of-container\.example:80' "$(rows egress.deny | jq -r .subject)"
    said=$(contained wget -q -O - "http://192.0.2.9:$web/10" && echo passed)
    unlike "  … so is an address" passed "$said"
    like "  … and in the log" "192\.0\.2\.9:$web" "$(rows egress.deny | jq -r .subject)"
        kill "$server" 2>/dev/null
    rm -f "$rules"
    unset limit
fi
