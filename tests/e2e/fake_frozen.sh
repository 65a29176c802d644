#!/bin/bash
# shellcheck disable=SC2154,SC1091
# A machine that stands still for several questions at once, with the fake host: for the oldest, until the last is answered.
. "$(dirname "$0")/fake_lib.sh"
hutch=$build/hutch
mkdir -p "$home/config/projects"
printf '[approvals]\naway = freeze\nhold = 1s\n' >"$home/config/projects/box.ini"
start_daemon HUTCH_FAKE_NET=listen
make_base
up box >"$home/up"
is "a machine" run "$(state box)"
proxy=127.0.0.1:$(jq .proxy "$home/run/p/$(api GET /v1/projects/box | jq -r .id)/g/net.json")
frozen() { api GET /v1/requests | jq -r 'select(.state == "frozen") | .id' | paste -sd' '; }
all_frozen() { [ "$(frozen)" = "1 2 3" ]; }
frozen_for() { api GET /v1/projects/box | jq .frozen_for; }
is_for() { [ "$(frozen_for)" = "$1" ]; }
timeout 120 "$hutch" exec box -u "$(id -un)" -w / -- sh -c "for n in 1 2 3; do curl -sS -m 100 -x http://$proxy https://n\$n.test/ & done; wait" \
    >"$home/curl" 2>&1 </dev/null &
asking=$!
ok "it stands still for all three" within 40 all_frozen
ok "  for the oldest" within 20 is_for 1
is "  which is written down once" "for request #1" "$(api GET '/v1/events?kind=lifecycle.freeze' | jq -r .subject)"
shown=$("$hutch" deny 3 </dev/null)
like "the newest is answered, and shown as it was asked" 'ago, once$' "$shown"
like "  a time is offered as it is typed" 'allow --for 2h ' "$shown"
is "  it still stands for the oldest" 1 "$(frozen_for)"
ok "the oldest is answered" "$hutch" deny 1
ok "  it stands for the next" within 20 is_for 2
ok "the last is answered" "$hutch" deny 2
ok "  it goes on" within 20 is_state box run
ok "  and who asked with it" within 20 sh -c "! kill -0 $asking"
wait "$asking"
is "  each with its answer" 3 "$(grep -c 403 "$home/curl")"
like "nothing to suggest is said" "nothing was asked for lately" "$("$hutch" rule suggest box 2>&1)"
the_end
