# shellcheck shell=bash
# host.sh: what hutch needs of a host, by distribution. Sourced by quickstart.
# Debian is tried; the names for Fedora and Arch are untried.

missing=()

say() { # a line for a person: on a terminal broken between words, at its width
    if [ -t 1 ]; then
        printf '%s\n' "$*" | fold -s -w "$(host_columns)"
    else
        printf '%s\n' "$*"
    fi
}

host_columns() { # of the terminal, 80 if it does not say
    local columns
    columns=$(stty size 2>/dev/null </dev/tty | cut -d' ' -f2) || columns=
    case $columns in ''|*[!0-9]*|?) columns=80 ;; esac
    echo "$columns"
}

host_kvm() { [ -r /dev/kvm ] && [ -w /dev/kvm ]; }

host_times() { # host_times run|check: what will be done, and how long it takes on this machine
    local demo="under 1 min" tests="10-20 min" why=""
    host_kvm || { demo="1-2 min" tests="about 25 min" why="; times of an EMULATED machine: there is no KVM here"; }
    case $1 in
    run) say "then: build hutch (1-2 min), make the Debian 13 template (2-5 min), start the demo project ($demo)$why" ;;
    check) say "then: build hutch (1-2 min), unit tests (2-4 min), tests with real machines ($tests)$why" ;;
    esac
}

host_detect() {
    host_name=unknown host_family=unknown
    if [ -r /etc/os-release ]; then
        # shellcheck disable=SC1091
        host_name=$(. /etc/os-release && printf '%s' "${PRETTY_NAME:-$ID}")
        # shellcheck disable=SC1091
        host_family=$(. /etc/os-release && printf '%s %s' "$ID" "${ID_LIKE:-}")
    fi
    case " $host_family " in
        *" debian "*|*" ubuntu "*) host_family=debian ;;
        *" fedora "*|*" rhel "*) host_family=fedora ;;
        *" arch "*) host_family=arch ;;
        *) host_family=unknown ;;
    esac
    sudo=()
    [ "$(id -u)" = 0 ] || sudo=(sudo)
}

wanted() { # the packages of this family, one a word
    case $host_family in
    debian)
        echo gcc make autoconf automake pkg-config libc6-dev linux-libc-dev git ca-certificates curl \
            libnghttp2-dev libuv1-dev libjansson-dev libsqlite3-dev libinih-dev libvirt-dev libssl-dev libseccomp-dev libpsl-dev libidn2-dev libgit2-dev libext2fs-dev comerr-dev \
            libncurses-dev libvterm-dev ncurses-bin gettext \
            qemu-system-x86 qemu-utils libvirt-daemon libvirt-daemon-driver-qemu \
            mmdebstrap uidmap e2fsprogs bubblewrap zstd xz-utils debian-archive-keyring procps util-linux openssh-client
        [ "$(id -u)" = 0 ] && echo libvirt-daemon-system
        [ "$what" = check ] && echo libcmocka-dev libvirt-daemon-system libvirt-clients jq python3 sqlite3 shellcheck \
            clang-format cppcheck mandoc tmux socat sudo nftables iproute2
        ;;
    fedora)
        echo gcc make autoconf automake pkgconf-pkg-config git curl libnghttp2-devel libuv-devel libuv-static \
            jansson-devel sqlite-devel inih-devel libvirt-devel openssl-devel libseccomp-devel libpsl-devel libidn2-devel libgit2-devel e2fsprogs-devel libcom_err-devel glibc-static \
            ncurses-devel libvterm-devel gettext \
            qemu-system-x86-core qemu-img libvirt-daemon libvirt-daemon-driver-qemu mmdebstrap shadow-utils e2fsprogs \
            bubblewrap zstd xz debian-keyring procps-ng util-linux openssh-clients
        [ "$what" = check ] && echo libcmocka-devel libvirt-client jq python3 sqlite ShellCheck mandoc tmux socat nftables iproute
        ;;
    arch)
        echo gcc make autoconf automake pkgconf git curl libnghttp2 libuv jansson sqlite libinih libvirt openssl ncurses libvterm gettext \
            libseccomp libpsl libidn2 libgit2 qemu-system-x86 qemu-img mmdebstrap shadow e2fsprogs bubblewrap zstd xz debian-archive-keyring \
            procps-ng util-linux openssh
        [ "$what" = check ] && echo cmocka jq python shellcheck mandoc tmux socat
        ;;
    *) ;;
    esac
    return 0
}

installed() {
    case $host_family in
    debian) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    fedora) rpm -q "$1" >/dev/null 2>&1 ;;
    arch) pacman -Q "$1" >/dev/null 2>&1 ;;
    esac
}

packages_missing() {
    local name
    [ "$host_family" != unknown ] ||
        say "this is no distribution that quickstart knows; what is missing will be named by ./configure and \`hutch doctor\`"
    for name in $(wanted); do
        installed "$name" || missing+=("$name")
    done
}

packages_size() { # ", 120 MB to fetch", where the package tool can tell without changing anything
    [ "$host_family" = debian ] || return 0
    local line
    line=$(LC_ALL=C apt-get install --no-install-recommends --assume-no "${missing[@]}" 2>/dev/null |
        sed -n 's/^Need to get \(.*\) of archives.*/\1/p')
    [ -n "$line" ] && printf ', %s to fetch' "$line"
    return 0
}

# What was installed by quickstart is written down, so that `remove` can say it.
packages_install() {
    local record
    record=$(host_state)/installed-packages
    case $host_family in
    debian)
        "${sudo[@]}" apt-get update -qq || say "(apt-get update failed; going on with the lists that are there)"
        "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}" |
            grep -E '^(Need to get|After this|Setting up)' || true
        ;;
    fedora) "${sudo[@]}" dnf install -y "${missing[@]}" ;;
    arch) "${sudo[@]}" pacman -S --needed --noconfirm "${missing[@]}" ;;
    esac
    local name
    for name in "${missing[@]}"; do
        installed "$name" || die "'$name' could not be installed; see above"
    done
    mkdir -p "$(dirname "$record")"
    printf '%s\n' "${missing[@]}" >>"$record"
}

host_state() { # where hutch keeps its state, as src/base/paths.h says
    if [ -n "${HUTCH_HOME:-}" ]; then echo "$HUTCH_HOME/state"
    elif [ "$(id -u)" = 0 ]; then echo /var/lib/hutch/state
    else echo "${XDG_STATE_HOME:-$HOME/.local/state}/hutch"; fi
}

host_data() {
    if [ -n "${HUTCH_HOME:-}" ]; then echo "$HUTCH_HOME/data"
    elif [ "$(id -u)" = 0 ]; then echo /var/lib/hutch/data
    else echo "${XDG_DATA_HOME:-$HOME/.local/share}/hutch"; fi
}

# KVM, user namespaces, libvirt: prepared where that needs no answer, said where it does.
host_prepare() {
    if [ ! -e /dev/kvm ]; then
        say "/dev/kvm: not there. Machines are EMULATED: 10 to 30 times slower. Turn virtualisation on in the BIOS, or nested virtualisation in the outer hypervisor."
    elif [ ! -r /dev/kvm ] || [ ! -w /dev/kvm ]; then
        say "/dev/kvm: there, but closed to you; machines are EMULATED until you run:  sudo usermod -aG kvm $(id -un)   and log in anew."
    else
        say "/dev/kvm: open"
    fi
    if [ "$(id -u)" != 0 ]; then
        if ! grep -q "^$(id -un):" /etc/subuid 2>/dev/null; then
            say "adding a range of subordinate user ids for $(id -un) (templates are built without root)"
            sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 "$(id -un)"
        fi
        if [ -z "${XDG_RUNTIME_DIR:-}" ] && [ ! -d "/run/user/$(id -u)" ]; then
            say "this login has no runtime folder; hutch uses ~/.cache/hutch/run"
        fi
        say "libvirt: qemu:///session, started by itself"
    else
        services_start
    fi
}

# As root there is only qemu:///system. Without systemd its two daemons are started here.
services_start() {
    if [ -d /run/systemd/system ]; then
        systemctl start virtlogd.socket libvirtd.socket 2>/dev/null || systemctl start libvirtd
        say "libvirt: qemu:///system, started by systemd"
        return
    fi
    mkdir -p /run/libvirt
    local name
    for name in virtlogd libvirtd; do
        if ! service_runs "$name"; then
            say "libvirt: starting $name"
            "/usr/sbin/$name" -d </dev/null >/dev/null 2>&1 || die "$name did not start: try \`/usr/sbin/$name\` in the foreground"
        fi
    done
    local i
    for i in $(seq 100); do
        [ -S /run/libvirt/libvirt-sock ] && break
        sleep 0.1
    done
    [ -S /run/libvirt/libvirt-sock ] || die "libvirtd was started and did not open its socket within 10 s (tried $i times)"
    say "libvirt: qemu:///system"
}

service_runs() { # by its pid file, then by its lock
    local pid
    pid=$(cat "/run/$1.pid" 2>/dev/null || cat "/run/libvirt/$1.pid" 2>/dev/null) || return 1
    [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ]
}

# The demo repository: a small C program with a test; made once.
demo_repository() {
    local dir
    dir=$(host_data)/demo
    if [ ! -d "$dir/.git" ]; then
        rm -rf "$dir"
        mkdir -p "$dir"
        cp -r "$top/templates/demo/." "$dir/"
        git -C "$dir" init -q -b main
        git -C "$dir" add -A
        git -C "$dir" -c user.name=hutch -c user.email=hutch@localhost -c commit.gpgsign=false commit -qm "demo: a small program and its test"
    fi
    printf '%s\n' "$dir"
}
