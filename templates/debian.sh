#!/bin/sh
# Makes a Debian system that mmdebstrap unpacks into a virtual machine's root. mmdebstrap calls it in three hooks
# with the new root as second argument; "chroot" is needed for what must run inside. Its text is part of a base's
# address: a change makes new bases.
#
# From the environment: HUTCH_CACHE (folder of .deb files), HUTCH_USER, HUTCH_KERNEL (package), HUTCH_SETUP (folder
# of scripts, run in the order of their names).
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
    run_setup
    make_initrd
    clean
    ;;
*)
    echo "E: unknown stage $stage"
    exit 1
    ;;
esac
