# shellcheck shell=bash
# remove.sh: `quickstart remove`: lists what hutch has made for this user, and removes it after one yes.

remove_all() {
    local paths=() line config data state cache run unit name found=0 answer=
    if [ -n "${HUTCH_HOME:-}" ]; then
        for name in config data state cache run; do paths+=("$HUTCH_HOME/$name"); done
    elif [ "$(id -u)" = 0 ]; then
        paths=(/etc/hutch /var/lib/hutch /run/hutch)
    else
        config=${XDG_CONFIG_HOME:-$HOME/.config}/hutch data=${XDG_DATA_HOME:-$HOME/.local/share}/hutch
        state=${XDG_STATE_HOME:-$HOME/.local/state}/hutch cache=${XDG_CACHE_HOME:-$HOME/.cache}/hutch
        run=${XDG_RUNTIME_DIR:-/run/user/$(id -u)}/hutch
        paths=("$config" "$data" "$state" "$cache" "$run")
    fi
    unit=${XDG_CONFIG_HOME:-$HOME/.config}/systemd/user/hutchd.service
    local record
    record=$(host_state)/installed-packages
    local packages=()
    [ ! -r "$record" ] || mapfile -t packages < <(sort -u "$record")

    say "this would be removed:"
    while read -r name; do
        [ -z "$name" ] || { say "  machine  $name"; found=1; }
    done < <(existing_projects)
    for line in "${paths[@]}"; do
        [ ! -e "$line" ] || { say "  folder   $line  ($(du -sh "$line" 2>/dev/null | cut -f1))"; found=1; }
    done
    [ ! -e "$unit" ] || { say "  unit     $unit"; found=1; }
    [ ! -L "$top/hutch" ] || { say "  link     $top/hutch"; found=1; }
    [ ! -d "$top/build" ] || { say "  build    $top/build"; found=1; }
    if [ $found = 0 ]; then say "  nothing: hutch has made nothing here"; return 0; fi
    if [ ! -t 0 ]; then
        say "nothing was removed: this question is asked on a terminal only"
        return 1
    fi
    say
    say "Work that is only in these machines is lost with them."
    read -r -p "Remove all of it? Type yes: " answer
    [ "$answer" = yes ] || { say "nothing was removed"; return 1; }

    while read -r name; do
        [ -z "$name" ] || "$top/hutch" rm "$name" --yes --discard-work || say "'$name' could not be removed; see above"
    done < <(existing_projects)
    daemon_quit
    [ ! -e "$unit" ] || { systemctl --user disable --now hutchd.service 2>/dev/null || true; rm -f "$unit"; }
    for line in "${paths[@]}"; do
        [ ! -e "$line" ] || remove_tree "$line"
    done
    rm -rf "$top/build" "$top/hutch"
    say "removed."
    if [ ${#packages[@]} -gt 0 ]; then
        say "these packages were installed by quickstart and are still there:"
        printf '  %s\n' "${packages[*]}"
    fi
}

existing_projects() {
    [ -x "$top/hutch" ] || return 0
    local socket
    socket=$("$top/hutch" paths 2>/dev/null | awk '$1 == "socket" {print $2}')
    { [ -S "$socket" ] || [ -e "$(host_state)/state.db" ]; } || return 0
    "$top/hutch" ls --json 2>/dev/null | sed -n 's/.*"name": *"\([^"]*\)".*/\1/p'
}

daemon_quit() { # by the process id that hutchd itself tells
    local pid
    [ -x "$top/hutch" ] || return 0
    pid=$("$top/hutch" version --json 2>/dev/null | sed -n 's/.*"pid": *\([0-9]*\).*/\1/p')
    [ -z "$pid" ] || kill "$pid" 2>/dev/null || true
}

remove_tree() { # a killed template build can have left files of subordinate ids
    rm -rf "$1" 2>/dev/null || unshare --map-auto --map-root-user rm -rf "$1" 2>/dev/null || rm -rf "$1"
}
