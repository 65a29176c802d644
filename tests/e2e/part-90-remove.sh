# shellcheck shell=bash
# Removing leaves nothing.

need_first
id=$("$hutch" show first --json | jq -r .id)
gives "rm without a terminal needs --yes" 2 "$hutch" rm first
ok "rm --yes" "$hutch" rm first --yes --discard-work
gives "  … it is gone" 5 "$hutch" show first
is "no domain is left" "" "$(virsh -c "qemu:///$mode" list --all --name 2>/dev/null | grep "^hutch-first-$id" || true)"
is "no disk is left" "" "$(ls "$HUTCH_HOME/data/projects" 2>/dev/null)"
is "no QEMU is left" "" "$(for p in /proc/[0-9]*; do { tr '\0' ' ' <"$p/cmdline"; } 2>/dev/null | grep -o "guest=hutch-first-$id"; done)"
ok "the name is free again" "$hutch" up first --memory 1G
ok "rm of the new one" "$hutch" rm first --yes --discard-work
ok "journal verify at the end" "$hutch" journal verify
