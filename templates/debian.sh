#!/bin/sh
# Makes a Debian system that mmdebstrap unpacks into a virtual machine's root. mmdebstrap calls it in three hooks
# with the new root as second argument; "chroot" is needed for what must run inside. Its text is part of a base's
# address: a change makes new bases.
#
# From the environment: HUTCH_CACHE (folder of .deb files), HUTCH_USER, HUTCH_KERNEL (package), HUTCH_SETUP (folder
# of scripts, run in the order of their names), HUTCH_PACKAGE_HOSTS (file to write: where the image's package tools
# fetch from).
set -eu

stage=$1
root=$2

# Lines of this form are progress for people.
say()
{
    echo "hutch: $*"
}

in_root()
{
    env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+"http_proxy=$http_proxy"} ${https_proxy:+"https_proxy=$https_proxy"} \
        ${no_proxy:+"no_proxy=$no_proxy"} \
        chroot "$root" "$@" </dev/null
}

# The downloads go where the next build finds them.
mount_cache()
{
    mkdir -p "$root/var/cache/apt/archives" "$HUTCH_CACHE/partial"
    mount --bind "$HUTCH_CACHE" "$root/var/cache/apt/archives"
}

# Before the packages come: what their scripts look at.
prepare()
{
    mkdir -p "$root/etc/dpkg/dpkg.cfg.d"
    cat >"$root/etc/dpkg/dpkg.cfg.d/hutch" <<'END'
# Translations are left out of hutch's images; delete this file and reinstall a package to have them.
path-exclude=/usr/share/locale/*
path-include=/usr/share/locale/locale.alias
END
    printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
    chmod 755 "$root/usr/sbin/policy-rc.d"
}

# An initrd with the drivers of hutch's machines and nothing to find out, which is small and quick. Without udev: the
# disk is known, and asking all devices costs seconds under emulation.
make_initrd()
{
    dir=$root/etc/initramfs-tools
    mkdir -p "$dir/conf.d" "$dir/hooks" "$dir/scripts/init-bottom"
    printf 'MODULES=list\nCOMPRESS=gzip\nRESUME=none\n' >"$dir/conf.d/hutch"
    cat >"$dir/hooks/hutch" <<'END'
#!/bin/sh
if [ "${1:-}" = prereqs ]; then
    echo udev
    exit 0
fi
. /usr/share/initramfs-tools/hook-functions
for module in virtio_pci virtio_blk virtio_console virtio_rng virtio_balloon ext4; do
    force_load "$module"
done
rm -rf "$DESTDIR/scripts/init-top/udev" "$DESTDIR/scripts/init-bottom/udev" "$DESTDIR/usr/bin/udevadm" \
    "$DESTDIR/usr/lib/systemd/systemd-udevd" "$DESTDIR/usr/lib/udev/rules.d" "$DESTDIR/etc/udev"
END
    cat >"$dir/scripts/init-bottom/hutch" <<'END'
#!/bin/sh
[ "${1:-}" = prereqs ] && exit 0
mount -n -o move /dev "$rootmnt/dev"
END
    chmod 755 "$dir/hooks/hutch" "$dir/scripts/init-bottom/hutch"
    in_root update-initramfs -c -k "$(ls "$root/lib/modules")"
}

# The host boots this kernel from outside, so its modules must never go away: the concrete package is held, and there
# is no meta-package whose upgrade would make it an orphan.
hold_kernel()
{
    version=$(ls "$root/lib/modules")
    if [ "$(echo "$version" | wc -l)" -ne 1 ] || [ ! -e "$root/boot/vmlinuz-$version" ]; then
        echo "E: no kernel, or more than one, in the image: $version"
        exit 1
    fi
    if [ "$HUTCH_KERNEL" != "linux-image-$version" ]; then
        in_root dpkg --remove "$HUTCH_KERNEL"
    fi
    in_root apt-mark manual "linux-image-$version"
    in_root apt-mark hold "linux-image-$version"
}

make_user()
{
    in_root useradd --create-home --uid 1000 --user-group --shell /bin/bash "$HUTCH_USER"
    # No password opens it; "!" would also close it to keys.
    in_root usermod --password '*' "$HUTCH_USER"
    # what tells programs of the way out stays known under sudo
    printf '%s\n' 'Defaults env_keep += "http_proxy https_proxy all_proxy no_proxy"' \
        'Defaults env_keep += "HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY"' \
        "$HUTCH_USER ALL=(ALL:ALL) NOPASSWD: ALL" >"$root/etc/sudoers.d/hutch"
    chmod 440 "$root/etc/sudoers.d/hutch"
}

configure()
{
    echo '/dev/vda / ext4 noatime,discard,errors=remount-ro 0 0' >"$root/etc/fstab"
    echo hutch >"$root/etc/hostname"
    printf '127.0.0.1 localhost hutch\n::1 localhost ip6-localhost ip6-loopback\n' >"$root/etc/hosts"
    printf 'LANG=C.UTF-8\n' >"$root/etc/default/locale"
    # What the program in the machine says of its network; nothing when it is not there.
    cat >"$root/etc/profile.d/hutch.sh" <<'END'
if [ -r /run/hutch/environment ]; then
    . /run/hutch/environment
fi
case $- in
*i*) [ ! -r /run/hutch/motd ] || cat /run/hutch/motd ;;
esac
END
    mkdir -p "$root/etc/systemd/journald.conf.d"
    printf '[Journal]\nStorage=volatile\nRuntimeMaxUse=16M\n' >"$root/etc/systemd/journald.conf.d/hutch.conf"
}

# The program that says where the package tools fetch from. The image has it too: each machine that has started is
# asked the same.
install_package_hosts()
{
    mkdir -p "$root/usr/lib/hutch"
    cat >"$root/usr/lib/hutch/package-hosts" <<'END'
#!/bin/sh
# Prints where this machine's package tools fetch from, "PRESET SCHEME HOST PORT" a line: debian http mirror.test 80.
# The tools are asked for what they are set to, or come with; no host is known here.
set -u
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
# Nobody listens there: a tool that has no other way to say it names what it cannot reach.
nowhere=http://127.0.0.1:9

has()
{
    command -v "$1" >/dev/null 2>&1
}

# host PRESET URL
host()
{
    preset=$1 scheme=${2%%://*} at=${2#*://}
    case $scheme in
    http) port=80 ;;
    https) port=443 ;;
    *) return 0 ;;
    esac
    at=${at%%[/?#]*}
    at=${at##*@}
    case $at in
    \[*) return 0 ;;
    *:*) port=${at##*:} at=${at%:*} ;;
    esac
    at=$(printf %s "$at" | tr '[:upper:]' '[:lower:]')
    case $at in '' | [.-]* | *[!a-z0-9._-]*) return 0 ;; esac
    case $port in '' | 0* | *[!0-9]* | ??????*) return 0 ;; esac
    echo "$preset $scheme $at $port"
}

# hosts PRESET: of URLs, one a line
hosts()
{
    while read -r url rest; do
        host "$1" "$url"
    done
}

# urls: what is left of a text
urls()
{
    grep -oE 'https?://[][A-Za-z0-9.:@_~%-]+'
}

debian()
{
    apt-get indextargets --no-release-info --format '$(REPO_URI)' 2>/dev/null | sort -u | while read -r uri; do
        list=${uri#mirror+file:}
        list=${list%/}
        if [ "$list" != "${uri%/}" ]; then
            [ ! -r "$list" ] || hosts debian <"$list"
        else
            host debian "${uri#mirror+}"
        fi
    done
    for scheme in http https; do
        apt-config dump --format '%v%n' "Acquire::$scheme::Proxy" 2>/dev/null | hosts debian
    done
}

node()
{
    npm --cache "$scratch/npm" config list --json 2>/dev/null |
        sed -nE 's/^ *"(registry|@[^"]*:registry)": "([^"]*)".*/\2/p' | hosts node
}

python()
{
    python3 -m pip --disable-pip-version-check config list 2>/dev/null >"$scratch/pip"
    sed -nE "s/^[^=]*[.](index-url|extra-index-url|find-links)='(.*)'\$/\\2/p" "$scratch/pip" | urls | hosts python
    if ! grep -q '[.]index-url=' "$scratch/pip"; then
        python3 - <<'PYTHON' 2>/dev/null | hosts python
from pip._internal.models.index import PyPI
print(PyPI.simple_url)
print("https://" + PyPI.file_storage_domain)
PYTHON
    fi
}

# With a home of its own that has the settings of the real one, so that nothing is left there.
cargo_hosts()
{
    mkdir -p "$scratch/cargo" "$scratch/package/src"
    for file in config config.toml; do
        [ ! -r "${CARGO_HOME:-$HOME/.cargo}/$file" ] || cp "${CARGO_HOME:-$HOME/.cargo}/$file" "$scratch/cargo/"
    done
    : >"$scratch/package/src/lib.rs"
    printf '[package]\nname = "x"\nversion = "0.0.0"\n[dependencies]\nlibc = "*"\n' >"$scratch/package/Cargo.toml"
    (
        cd "$scratch/package" || exit
        CARGO_HOME=$scratch/cargo CARGO_NET_RETRY=0 CARGO_HTTP_PROXY=$nowhere timeout 30 cargo generate-lockfile 2>&1
    ) | sed -nE 's/.*(failed to (download from|fetch)|[Uu]nable to update) `?(https?:[^`]*).*/\3/p' >"$scratch/index"
    hosts rust <"$scratch/index"
    # The index says where the packages themselves are; it is read once, when the image is made.
    [ -n "${HUTCH_BUILD:-}" ] || return 0
    while read -r url; do
        case $url in */config.json) ! has curl || curl -fsS -m 20 "$url" 2>/dev/null | urls | hosts rust ;; esac
    done <"$scratch/index"
}

rust()
{
    ! has cargo || cargo_hosts
    if has rustup; then
        http_proxy=$nowhere https_proxy=$nowhere HTTPS_PROXY=$nowhere ALL_PROXY=$nowhere timeout 30 rustup check 2>&1 |
            sed -n "s/.*could not download file from '\([^']*\)'.*/\1/p" | hosts rust
    fi
}

go_hosts()
{
    settings=${GOENV:-${XDG_CONFIG_HOME:-$HOME/.config}/go/env}
    GOENV=$settings XDG_CONFIG_HOME=$scratch GOCACHE=$scratch/go go env GOPROXY GOSUMDB >"$scratch/goenv" 2>/dev/null
    { read -r proxies && read -r sums; } <"$scratch/goenv" || return 0
    echo "$proxies" | tr ',|' '\n\n' | hosts go
    case $sums in
    off | '') ;;
    *://*) echo "$sums" | urls | hosts go ;;
    *) host go "https://${sums%%+*}" ;;
    esac
}

{
    ! has apt-get || debian
    ! has npm || node
    ! python3 -c 'import pip' 2>/dev/null || python
    rust
    ! has go || go_hosts
} | sort -u
END
    chmod 755 "$root/usr/lib/hutch/package-hosts"
}

# Asks as the user of sessions, whose settings count.
ask_package_hosts()
{
    rm -f "$root/etc/apt/apt.conf.d/99mmdebstrap" # this build's own settings are not the machine's
    in_root setpriv --reuid "$HUTCH_USER" --regid "$HUTCH_USER" --init-groups \
        env "HOME=/home/$HUTCH_USER" HUTCH_BUILD=1 /usr/lib/hutch/package-hosts >"$HUTCH_PACKAGE_HOSTS"
}

# The console is a log, there is no network to wait for and no clock to ask, updates are the user's business; all
# else costs seconds at each start under emulation.
trim_units()
{
    for unit in apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer man-db.timer fstrim.timer \
        e2scrub_all.timer e2scrub_reap.service logrotate.timer \
        systemd-timesyncd.service systemd-networkd.service systemd-networkd.socket \
        systemd-networkd-wait-online.service networking.service \
        getty@tty1.service getty-static.service serial-getty@ttyS0.service \
        systemd-binfmt.service proc-sys-fs-binfmt_misc.automount systemd-pcrphase.service \
        systemd-pcrphase-sysinit.service systemd-random-seed.service \
        systemd-hostnamed.socket systemd-sysext.socket systemd-creds.socket systemd-mute-console.socket \
        systemd-pcrextend.socket systemd-pcrlock.socket systemd-udev-load-credentials.service \
        systemd-journal-flush.service systemd-initctl.socket systemd-hibernate-clear.service \
        dev-hugepages.mount sys-kernel-debug.mount sys-kernel-tracing.mount sys-kernel-config.mount \
        sys-fs-fuse-connections.mount modprobe@configfs.service modprobe@drm.service modprobe@efi_pstore.service \
        modprobe@fuse.service modprobe@dm_mod.service modprobe@loop.service; do
        ln -sf /dev/null "$root/etc/systemd/system/$unit"
    done
    # The devices that are there, not the drivers of all that a processor or a board could have; with the power
    # button, which is how a host asks for the end.
    mkdir -p "$root/etc/systemd/system/systemd-udev-trigger.service.d"
    cat >"$root/etc/systemd/system/systemd-udev-trigger.service.d/hutch.conf" <<'END'
[Service]
ExecStart=
ExecStart=-udevadm trigger --type=devices --action=add --subsystem-match=block --subsystem-match=virtio-ports --subsystem-match=misc --subsystem-match=acpi --subsystem-match=input --subsystem-match=net --subsystem-match=tty
END
    ln -sf /lib/systemd/system/multi-user.target "$root/etc/systemd/system/default.target"
}

run_setup()
{
    for script in "$HUTCH_SETUP"/*; do
        [ -e "$script" ] || continue
        name=${script##*/}
        say "setup ${name#*-}"
        cp "$script" "$root/tmp/hutch-setup"
        if ! in_root sh -e /tmp/hutch-setup; then
            echo "E: [setup ${name#*-}] failed"
            exit 1
        fi
        rm -f "$root/tmp/hutch-setup"
    done
}

clean()
{
    APT_CONFIG=$MMDEBSTRAP_APT_CONFIG apt-get -o Debug::NoLocking=1 autoclean >/dev/null || true
    umount "$root/var/cache/apt/archives"
    rm -f "$root/usr/sbin/policy-rc.d" "$root/etc/apt/apt.conf.d/99mmdebstrap" \
        "$root/etc/dpkg/dpkg.cfg.d/99mmdebstrap" "$root/etc/resolv.conf"
    # Answered by hutch inside the guest, or at once by nobody.
    echo 'nameserver 127.0.0.1' >"$root/etc/resolv.conf"
    rm -f "$root"/etc/ssh/ssh_host_*_key* "$root/var/lib/systemd/random-seed"
    # Each machine makes its own at sshd's first start; the image has none to share.
    if [ -x "$root/usr/sbin/sshd" ]; then
        mkdir -p "$root/etc/systemd/system/ssh.service.d"
        printf '[Service]\nExecStartPre=\nExecStartPre=/usr/bin/ssh-keygen -A\nExecStartPre=/usr/sbin/sshd -t\n' \
            >"$root/etc/systemd/system/ssh.service.d/host-keys.conf"
    fi
    find "$root/var/log" -type f -delete
    # not $root/tmp: the builder's own apt configuration lies there; without it apt would clean the host's lists
    find "$root/var/tmp" -mindepth 1 -delete 2>/dev/null || true
    # Caches are fresh: without these two a first start rebuilds them all.
    touch "$root/etc/.updated" "$root/var/.updated"
}

case $stage in
start) mount_cache ;;
prepare) prepare ;;
finish)
    say configure
    hold_kernel
    make_user
    configure
    trim_units
    install_package_hosts
    run_setup
    ask_package_hosts
    make_initrd
    clean
    ;;
*)
    echo "E: unknown stage $stage"
    exit 1
    ;;
esac
