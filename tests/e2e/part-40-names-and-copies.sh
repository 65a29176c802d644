# shellcheck shell=bash
# Names that cannot be, copies that could go wrong.

need_first
long=$(printf 'x%.0s' $(seq 300))
for name in 'a/b' '..' 'a b' "$long" '' 'start' '-x' 'Ünï' '.'; do
    gives "the name '${name:0:12}' is refused" 2 "$hutch" up "$name"
done
gives "a second project of the same name is the same project" 0 "$hutch" up first
gives "an unknown verb: 2, the nearest is offered" 2 "$hutch" strat
like "  … by name" 'start' "$output"
gives "an unknown project: 5" 5 "$hutch" stop fisrt
like "  … the nearest is offered" 'first' "$output"

echo data >plain
gives "cp to a folder that is missing" 5 "$hutch" cp plain first:/no/such/folder/x
like "  … names it" '/no/such/folder' "$output"
ok "cp onto a folder goes into it" "$hutch" cp plain first:/home/agent
is "  … there" data "$("$hutch" exec first -- cat /home/agent/plain)"
"$hutch" exec first -- sh -c 'mkfifo ~/fifo; ln -s /etc/passwd ~/out-link; mkdir -p ~/odd; cd ~/odd; printf a >"$(printf "new\nline")"; printf b >"$(printf "\377\376")"; ln -s ../../../../etc/passwd up; ln -s / root; printf c >plain'
gives "a FIFO is refused" 1 timeout 20 "$hutch" cp first:/home/agent/fifo .
like "  … named as what it is" 'fifo|FIFO|not a regular' "$output"
mkdir -p in
"$hutch" cp first:/home/agent/odd in >cp.log 2>&1 </dev/null
is "odd names come out" "a b c" "$(cat in/odd/"$(printf 'new\nline')" 2>/dev/null) $(cat in/odd/"$(printf '\377\376')" 2>/dev/null) $(cat in/odd/plain)"
if [ -L in/odd/up ] || [ -L in/odd/root ]; then fail "links that lead out are refused"; else pass "links that lead out are refused"; fi
like "  … and named" 'up|root' "$(cat cp.log)"
is "nothing else was touched" "odd" "$(ls in)"
mkdir many && (cd many && seq 1 20000 | split -l 1 -a 4 -)
ok "20 000 files in" timeout 300 "$hutch" cp many first:/home/agent/
is "  … all there" 20000 "$("$hutch" exec first -- sh -c 'ls ~/many | wc -l')"
ok "20 000 files out" timeout 300 "$hutch" cp first:/home/agent/many many-back
ok "  … the same" diff -r many many-back
rm -rf many many-back

# repositories of other forms
git init -q void
git clone -q --bare app other.git
ok "an empty repository, a tag, a commit" "$hutch" up forms --memory 768M --repo "$work/void" --repo "$work/app#v1" --repo "file://$work/other.git#$(git -C app rev-parse side)"
is "  … a work tree without a commit" "" "$("$hutch" exec forms -w /home/agent/void -- git log --oneline 2>/dev/null)"
is "  … a tag" "$(git -C app rev-parse v1)" "$("$hutch" exec forms -w /home/agent/app -- git rev-parse HEAD)"
is "  … a commit of a bare repository" "$(git -C app rev-parse side)" "$("$hutch" exec forms -w /home/agent/other -- git rev-parse HEAD)"
ok "rm forms" "$hutch" rm forms --yes --discard-work
