#!/usr/bin/env bash
# The program of the images that asks package tools where they fetch from, with tools that are stand-ins here.
set -u
source=${srcdir:-.}/templates/debian.sh
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/bin" "$dir/home" "$dir/tmp" || exit 1
failed=0
awk '/hutch\/package-hosts" <<.END/ {inside = 1; next} /^END$/ {inside = 0} inside' "$source" >"$dir/package-hosts"

# tool NAME: a stand-in, its script on stdin.
tool() {
    { echo '#!/bin/sh'; cat; } >"$dir/bin/$1"
    chmod 755 "$dir/bin/$1"
}
for name in sh sort sed grep tr cat mktemp rm cp mkdir timeout env; do
    ln -s "$(command -v $name)" "$dir/bin/$name"
done
# finds NAME WANTED: what the program prints, in its order.
finds() {
    local got
    got=$(env -i PATH="$dir/bin" HOME="$dir/home" TMPDIR="$dir/tmp" sh "$dir/package-hosts" 2>&1)
    if [ "$got" = "$2" ]; then
        echo "ok - $1"
    else
        printf 'not ok - %s\nwanted:\n%s\ngot:\n%s\n' "$1" "$2" "$got"
        failed=1
    fi
}

finds "a machine without tools has no hosts" ""

printf '# mirrors\nhttps://list.test/debian\tpriority:1\n' >"$dir/mirrors"
tool apt-get <<END
[ "\$1" = indextargets ] || exit 1
echo http://Deb.test/debian/
echo http://Deb.test/debian/
echo https://user:word@sec.test:8443/x
echo file:/srv/debian
echo cdrom:x
echo 'http://[::1]/debian'
echo 'http://bad!name.test/'
echo http://m.test:port/
echo http://m.test:123456/
echo http://-m.test/
echo 'http://\$(touch $dir/ran)/'
echo mirror+file:$dir/mirrors/
END
tool apt-config <<'END'
case $* in *Acquire::http::Proxy*) echo http://cache.test:3142/; echo DIRECT ;; esac
END
finds "apt says its sources and its proxy" "debian http cache.test 3142
debian http deb.test 80
debian https list.test 443
debian https sec.test 8443"
[ ! -e "$dir/ran" ] || { echo "not ok - a name was run"; failed=1; }
rm "$dir/bin/apt-get" "$dir/bin/apt-config"

tool npm <<'END'
cat <<'JSON'
{
  "registry": "https://npm.test/",
  "@corp:registry": "https://corp.test:4873/x/",
  "registry-note": "https://no.test/",
  "cache": "https://no.test/"
}
JSON
END
finds "npm says its registries" "node https corp.test 4873
node https npm.test 443"
rm "$dir/bin/npm"

tool python3 <<'END'
case "$*" in
"-c import pip") ;;
*config*) cat "$HOME/pip" ;;
-) echo https://default.test/simple; echo https://files.test ;;
esac
END
printf "global.timeout='9'\n:env:.cert='/etc/x'\n" >"$dir/home/pip"
finds "pip says what it comes with" "python https default.test 443
python https files.test 443"
printf "global.index-url='https://index.test/simple'\nglobal.extra-index-url='https://a.test/s\\\\nhttp://b.test/s'\n" >"$dir/home/pip"
finds "pip says what it is set to" "python http b.test 80
python https a.test 443
python https index.test 443"
rm "$dir/bin/python3"

tool cargo <<'END'
[ -e src/lib.rs ] && [ "$CARGO_HTTP_PROXY" ] && [ ! "$CARGO_HOME" = "$HOME/.cargo" ] || exit 9
echo 'error: failed to get `libc`' >&2
cat "$CARGO_HOME/config.toml" >&2
exit 101
END
tool rustup <<'END'
echo "error: could not download file from 'https://dist.test/dist/channel.sha256' to '/x'" >&2
exit 1
END
mkdir "$dir/home/.cargo"
# shellcheck disable=SC2016
echo '  failed to download from `https://sparse.test/config.json`' >"$dir/home/.cargo/config.toml"
finds "cargo and rustup say what they cannot reach" "rust https dist.test 443
rust https sparse.test 443"
# shellcheck disable=SC2016
echo '  failed to fetch `https://git.test/index`' >"$dir/home/.cargo/config.toml"
finds "cargo says a git index" "rust https dist.test 443
rust https git.test 443"
rm "$dir/bin/cargo" "$dir/bin/rustup"

tool go <<'END'
[ "$GOENV" = "$HOME/.config/go/env" ] || exit 1
cat "$HOME/go"
END
printf 'https://proxy.test|https://second.test,direct\nsum.test+key\n' >"$dir/home/go"
finds "go says its proxies and its database" "go https proxy.test 443
go https second.test 443
go https sum.test 443"
printf 'off\noff\n' >"$dir/home/go"
finds "go that is off has none" ""
printf 'direct\nsum.test https://sums.test/x\n' >"$dir/home/go"
finds "go says where its database is" "go https sums.test 443"
[ -z "$(ls -A "$dir/tmp")" ] || { echo "not ok - something was left"; failed=1; }
exit $failed
