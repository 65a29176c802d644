# shellcheck shell=bash
# D14: a container in a real machine. Its packets come from a bridge, its names from a resolver of its own, and each is the same
# connection of the machine. It has the machine's own programs. Only with HUTCH_TEST_ALL=1: podman is many packages.

if [ -n "${HUTCH_TEST_ALL:-}" ]; then
    need_first
    rules=$HUTCH_HOME/config/rules.ini project=$HUTCH_HOME/config/projects/first.ini
    in_first() { timeout "${limit:-180}" "$hutch" exec first -- "$@"; }
    names_are() { "$hutch" rule ls first | grep -q "names: $1\$"; }
    rows() { "$hutch" log first --kind "$1" --json 2>/dev/null | jq -c "select(.seq > $mark)"; }
    marked() { mark=$("$hutch" log first --json | jq -s 'map(.seq) | max // 0'); }
    contained() { in_first sudo podman run --rm --network podman --rootfs /:O "$@" 2>&1; }

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
    ok "apt-get install podman" in_first sudo sh -c 'apt-get -q update && DEBIAN_FRONTEND=noninteractive \
        apt-get -qy -o Dpkg::Options::=--force-unsafe-io install --no-install-recommends podman'
    limit=300
    marked
    like "a container has an address of its own" 'inet 10\.88\.' "$(contained ip -4 address)"
    is "  … a name that is allowed passes" 10 "$(contained curl -sS --noproxy '*' "http://web.hutch.internal:$web/10" | wc -c)"
    is "  … an unknown one is refused" 000 "$(contained curl -s --noproxy '*' -o /dev/null -w '%{http_code}' http://unknown-of-container.example/)"
    denied() { rows egress.deny | jq -r .subject | grep -q "$1"; }
    if within 60 denied '^unknown-of-container\.example:80'; then pass "  … and in the log by its name"; else fail "  … and in the log by its name" "$(rows egress.deny)"; fi
    is "  … so is an address" 000 "$(contained curl -s --noproxy '*' -o /dev/null -w '%{http_code}' "http://192.0.2.9:$web/10")"
    if within 60 denied "^192\.0\.2\.9:$web"; then pass "  … and in the log"; else fail "  … and in the log" "$(rows egress.deny)"; fi
    # podman gives a container the variables of the session: the proxy that they name must be one there too
    is "by the session's proxy: allowed" 200 "$(contained curl -sS --noproxy '' -o /dev/null -w '%{http_code}' "http://web.hutch.internal:$web/10")"
    is "  … and refused, with the reason" 403 "$(contained curl -sS --noproxy '' -o /dev/null -w '%{http_code}' http://unknown.example/)"
    kill "$server" 2>/dev/null
    rm -f "$rules"
    unset limit
fi
