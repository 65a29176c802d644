# shellcheck shell=bash
# Programs that know nothing of hutch, in a real machine, to servers of this host's loopback (host ports): git over https
# and ssh, curl, a WebSocket, ssh, pip with an index of ours. With HUTCH_TEST_ALL=1 also 1 GB each way, an npm package and
# the real Claude Code from npm's registry, which does one prompt with one tool call against a model of ours.

need_first
rules=$HUTCH_HOME/config/rules.ini project=$HUTCH_HOME/config/projects/first.ini
in_first() { timeout "${limit:-180}" "$hutch" exec first -- "$@"; }
names_are() { "$hutch" rule ls first | grep -q "names: $1\$"; }
rows() { "$hutch" log first --kind egress --json 2>/dev/null; }
newest() { rows | jq -s 'map(.seq) | max // 0'; }

# -- servers
openssl req -x509 -newkey rsa:2048 -nodes -keyout tls.key -out tls.crt -days 2 -subj /CN=tls.hutch.internal \
    -addext subjectAltName=DNS:tls.hutch.internal >/dev/null 2>&1
mkdir -p served
git clone -q --bare app served/app.git 2>/dev/null && git -C served/app.git update-server-info
python3 - <<'P'
# A package for pip: a wheel is an archive with three files of words.
import os, zipfile
os.makedirs("served/simple/hutch-hello", exist_ok=True)
with zipfile.ZipFile("served/simple/hutch-hello/hutch_hello-1.0-py3-none-any.whl", "w") as z:
    z.writestr("hutch_hello.py", "WORDS = 'hello from the index'\n")
    z.writestr("hutch_hello-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: hutch-hello\nVersion: 1.0\n")
    z.writestr("hutch_hello-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("hutch_hello-1.0.dist-info/RECORD", "")
P
rm -f clients.ports server.ports model.log # of a part before
"$stage/tests/e2e/clients_server.py" served tls.crt tls.key >clients.ports 2>clients.errors &
clients=$!
"$stage/tests/e2e/egress_server.py" >server.ports 2>server.errors &
server=$!
"$stage/tests/e2e/model_server.py" /home/agent/written >model.log 2>model.errors &
model=$!
for file in clients.ports server.ports model.log; do
    within 60 test -s $file || fail "the servers of the test start" "$(cat ./*.errors)"
done
read -r tls plain <clients.ports
read -r web _ <server.ports
read -r model_port <model.log
ssh_port=
if [ -x /usr/sbin/sshd ] && [ "$(id -u)" != 0 ]; then
    rm -rf sshd && mkdir -m 700 sshd
    ssh-keygen -q -t ed25519 -N '' -f sshd/host && ssh-keygen -q -t ed25519 -N '' -f sshd/user
    ssh_port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    /usr/sbin/sshd -f /dev/null -D -e -p "$ssh_port" -o ListenAddress=127.0.0.1 -h "$work/sshd/host" -o PidFile=none \
        -o AuthorizedKeysFile="$work/sshd/user.pub" -o StrictModes=no -o UsePAM=no 2>sshd/errors &
    sshd=$!
fi
ports() {
    printf '[host-port %s]\nto = 127.0.0.1:%s\n' tls "$tls" plain "$plain" web "$web" model "$model_port"
    [ -z "$ssh_port" ] || printf '[host-port ssh]\nto = 127.0.0.1:%s\nport = 22\n' "$ssh_port"
}
# What allows the hosts of the lines "scheme host port" of stdin, where this host finds them in a range for documentation.
private_rules() {
    local host port scheme
    while read -r scheme host port; do
        getent ahostsv4 "$host" | grep -q '^203\.0\.113\.' || continue
        echo "    $host:$port proto=${scheme/#https/tls} private=203.0.113.0/24"
    done
}
base=$("$hutch" show first --json | jq -r '.base // empty')
ini=$(grep -ls "digest = $base" "$HUTCH_HOME"/data/bases/*/base.ini | head -1)
mirrors=$(sed -n '/^\[packages debian\]/,/^\[/s/^    //p' "$ini")
registry=
[ -z "${HUTCH_TEST_ALL:-}" ] || registry=$(npm config get registry 2>/dev/null)
registry=${registry%/}
registry_host=${registry#https://}
{
    echo '[egress]' && echo 'allow ='
    private_rules <<<"$mirrors"
    [ -z "$registry" ] || private_rules <<<"https $registry_host 443"
    [ -z "$registry" ] || echo "    $registry_host"
} >"$rules"
{ printf '[egress]\ndefault = deny\n' && ports; } >"$project.new" && mv "$project.new" "$project"
within 60 names_are deny
"$hutch" cp tls.crt first:/home/agent/tls.crt >/dev/null 2>&1

# -- git, curl, a WebSocket, ssh
head=$(git -C app rev-parse HEAD)
limit=300
is "git clone over https" "$head" "$(in_first sh -c "rm -rf /tmp/c && git -c http.sslCAInfo=\$HOME/tls.crt clone -q https://tls.hutch.internal:$tls/app.git /tmp/c && git -C /tmp/c rev-parse HEAD")"
is "curl --http2 https" 200 "$(in_first curl -s --http2 --cacert /home/agent/tls.crt -o /dev/null -w '%{http_code}' "https://tls.hutch.internal:$tls/app.git/HEAD")"
cat >websocket.py <<'P'
import base64, os, socket, ssl, sys
host, port, secure = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "wss"
s = socket.create_connection((host, port), 30)
if secure:
    s = ssl.create_default_context(cafile="/home/agent/tls.crt").wrap_socket(s, server_hostname=host)
s.sendall(f"GET /echo HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
          f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n\r\n".encode())
f = s.makefile("rb")
assert b" 101 " in f.readline()
while f.readline() != b"\r\n":
    pass
for word in (b"one", b"two", b"three"):
    mask = os.urandom(4)
    s.sendall(bytes([0x81, 0x80 | len(word)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(word)))
    head = f.read(2)
    print(f.read(head[1]).decode())
P
"$hutch" cp websocket.py first:/home/agent/websocket.py >/dev/null 2>&1
is "a WebSocket" "one two three" "$(in_first python3 /home/agent/websocket.py plain.hutch.internal "$plain" ws | xargs)"
is "a WebSocket in TLS" "one two three" "$(in_first python3 /home/agent/websocket.py tls.hutch.internal "$tls" wss | xargs)"
if [ -n "$ssh_port" ]; then
    "$hutch" cp sshd/user first:/home/agent/ssh-key >/dev/null 2>&1
    as="-i /home/agent/ssh-key -o StrictHostKeyChecking=accept-new -o BatchMode=yes -q"
    is "ssh" "$(id -un)" "$(in_first sh -c "chmod 600 ~/ssh-key; ssh $as $(id -un)@ssh.hutch.internal id -un" | tail -1)"
    is "git clone over ssh" "$head" "$(in_first sh -c "rm -rf /tmp/s && GIT_SSH_COMMAND='ssh $as' git clone -q $(id -un)@ssh.hutch.internal:$work/served/app.git /tmp/s && git -C /tmp/s rev-parse HEAD")"
    kill "$sshd"
fi

# -- pip, from Debian's packages, with an index of ours
limit=900
ok "apt-get install of pip's wheel" in_first sh -c 'sudo apt-get -q update && sudo apt-get -qy install --no-install-recommends python3-pip-whl'
is "pip install" "hello from the index" "$(in_first sh -c "PYTHONPATH=\$(echo /usr/share/python-wheels/pip-*.whl) python3 -m pip install -q --disable-pip-version-check \
    --index-url http://plain.hutch.internal:$plain/simple --trusted-host plain.hutch.internal --target /tmp/pip hutch-hello &&
    PYTHONPATH=/tmp/pip python3 -c 'import hutch_hello; print(hutch_hello.WORDS)'")"
like "  … with its connections in the log" "plain\.hutch\.internal:$plain" "$(rows | tail -40)"

if [ -n "${HUTCH_TEST_ALL:-}" ]; then
    limit=1800
    at=http://web.hutch.internal:$web
    before=$(newest)
    sum=$(curl -s "http://127.0.0.1:$web/1073741824" | sha256sum)
    is "1 GB down, byte for byte" "$sum" "$(in_first sh -c "curl -sS $at/1073741824 | sha256sum")"
    is "1 GB up, byte for byte" "${sum%% *}" "$(in_first sh -c "curl -sS $at/1073741824 | curl -sS -T - -H 'Content-Length: 1073741824' -H 'Transfer-Encoding:' $at/x")"
    moved() { rows | jq -s "[.[] | select(.seq > $before and .kind == \"egress.close\") | .bytes_$1 | select(. > 1073741824 and . < 1073741824 + 1000)] | length"; }
    is "  … counted, and the heads" "2 1" "$(moved down) $(moved up)"
    for pid in $(daemon_pid) $(pgrep -P "$(daemon_pid)" hutch-worker); do
        peak=$(awk '/^VmHWM/ {print $2}' "/proc/$pid/status")
        if [ "$peak" -gt 1 ] && [ "$peak" -le 65536 ]; then pass "  … $(cat "/proc/$pid/comm") at most 64 MiB"; else fail "  … $(cat "/proc/$pid/comm") at most 64 MiB" "$peak KiB"; fi
    done
fi

# -- npm and the real Claude Code, where this host has a registry
if [ -n "$registry" ]; then
    limit=1200
    ok "apt-get install nodejs" in_first sudo apt-get -qy install --no-install-recommends nodejs
    bundle=$(npm config get cafile 2>/dev/null)
    [ -f "$bundle" ] || bundle=/etc/ssl/certs/ca-certificates.crt
    "$hutch" cp "$bundle" first:/home/agent/ca.crt >/dev/null 2>&1
    archive=$(npm view npm@10 dist.tarball --json 2>/dev/null | jq -r 'if type == "array" then last else . end')
    is "curl --http2 to it" 200 "$(in_first curl -s --http2 --cacert /home/agent/ca.crt -o /dev/null -w '%{http_code}' "$registry/is-odd")"
    is "  … with a ClientHello of 20 KiB" 200 "$(in_first python3 -c "
import socket, ssl
context = ssl.create_default_context(cafile='/home/agent/ca.crt')
context.set_alpn_protocols(['http/1.1'] + ['x%03d' % i + 'y' * 200 for i in range(100)])
s = context.wrap_socket(socket.create_connection(('$registry_host', 443), 60), server_hostname='$registry_host')
s.sendall(b'HEAD /is-odd HTTP/1.1\r\nHost: $registry_host\r\nConnection: close\r\n\r\n')
print(s.recv(15).split()[1].decode())")"
    ok "npm itself" in_first sh -c "printf 'registry = $registry/\ncafile = /home/agent/ca.crt\naudit = false\nfund = false\nupdate-notifier = false\n' >~/.npmrc &&
        mkdir -p ~/npm ~/claude && curl -sS --fail --cacert ~/ca.crt $archive | tar -xz -C ~/npm"
    npm='node /home/agent/npm/package/bin/npm-cli.js'
    ok "npm install of a package" in_first sh -c "mkdir -p ~/odd && cd ~/odd && $npm install is-odd && node -e 'if (!require(\"is-odd\")(3)) process.exit(1)'"
    ok "npm install @anthropic-ai/claude-code" in_first sh -c "cd ~/claude && $npm install @anthropic-ai/claude-code"
    cat >claude.sh <<'P'
cd ~/claude
printf '{"hasCompletedOnboarding": true, "theme": "dark", "bypassPermissionsModeAccepted": true,
 "customApiKeyResponses": {"approved": ["key-of-the-test-0001"], "rejected": []},
 "projects": {"%s": {"hasTrustDialogAccepted": true, "hasCompletedProjectOnboarding": true}}}' "$PWD" >~/.claude.json
export ANTHROPIC_API_KEY=key-of-the-test-0001 CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
export CLAUDE_CODE_DISABLE_OFFICIAL_MARKETPLACE_AUTOINSTALL=1
node_modules/.bin/claude -p "Write the file." --output-format stream-json --verbose --dangerously-skip-permissions
P
    "$hutch" cp claude.sh first:/home/agent/claude.sh >/dev/null 2>&1
    before=$(newest)
    answer=$(in_first env ANTHROPIC_BASE_URL="http://model.hutch.internal:$model_port" sh /home/agent/claude.sh)
    like "claude: one prompt to its end" '"result":"The file is written' "$answer"
    is "  … its tool wrote the file" written "$(in_first cat /home/agent/written)"
    like "  … one tool call" 'POST /v1/messages.* tool$' "$(cat model.log)"
    tried=$(rows | jq -r "select(.seq > $before) | \"\(.subject) \(.verdict)\"" | sort -u)
    is "  … and reached nothing but its model" "model.hutch.internal:$model_port allow" "$tried"
fi
kill "$clients" "$server" "$model" 2>/dev/null
rm -f "$rules"
unset limit
