# shellcheck shell=bash
# apt in the machine, with packages served from a folder in it; a kernel whose modules are gone.

need_first
"$hutch" exec first -u root -- sh -e <<'GUEST' >apt.log 2>&1
mkdir -p /srv/repo /tmp/one/DEBIAN
cd /tmp
for version in 1 2; do
    printf 'Package: passing\nVersion: %s\nArchitecture: all\nMaintainer: T <t@localhost>\nDescription: a test\n' $version >one/DEBIAN/control
    dpkg-deb -b one /srv/repo/passing_$version.deb >/dev/null
done
cd /srv/repo
for f in *.deb; do
    dpkg-deb -f $f; printf 'Filename: ./%s\nSize: %s\nSHA256: %s\n\n' $f $(stat -c %s $f) $(sha256sum <$f | cut -d' ' -f1)
done >Packages
mkdir -p /etc/apt/off && mv /etc/apt/sources.list /etc/apt/sources.list.d/* /etc/apt/off/ 2>/dev/null || true
echo 'deb [trusted=yes] file:/srv/repo ./' >/etc/apt/sources.list
apt-get update
apt-get install -y passing=1
apt-get -y full-upgrade
apt-get -y autoremove
GUEST
is "full-upgrade and autoremove run in the machine" 0 $?
is "  … upgraded" 2 "$("$hutch" exec first -- dpkg-query -W -f '${Version}' passing)"
ok "  … the kernel's modules are still there" "$hutch" exec first -- sh -c 'test -d /lib/modules/$(uname -r)/kernel'
ok "  … it stops" "$hutch" stop first
ok "  … and still starts" "$hutch" start first

"$hutch" exec first -u root -- sh -c 'mv /lib/modules/$(uname -r) /root/modules'
gives "stop with the kernel's modules gone" 0 "$hutch" stop first
gives "start says what is missing" 0 "$hutch" start first
like "  … and how to go on" 'modules' "$output"
"$hutch" exec first -u root -- sh -c 'mv /root/modules /lib/modules/$(uname -r)'
