#!/bin/sh
# extract.sh SRCDIR POT FILE...: the messages of the sources, as a template for translations. In C files they are
# marked by _, N_ and ngettext; in the tables of ui/ they are the arguments that a person reads.
set -eu
srcdir=$1 pot=$2
shift 2
case $pot in /*) ;; *) pot=$PWD/$pot ;; esac
rm -f "$pot.new"
cd "$srcdir"

take() { # take ARGUMENT-OF-xgettext... : adds to what was taken so far
    join=
    if [ -e "$pot.new" ]; then
        join=-j
        sed -i 's/charset=CHARSET/charset=UTF-8/' "$pot.new"
    fi
    xgettext $join --language=C --from-code=UTF-8 --add-location=file --add-comments=TRANSLATORS: \
        --package-name=hutch --copyright-holder="the authors of hutch" -o "$pot.new" "$@"
}

take -k -kX:3 ui/actions.def
take -k -kX:4 ui/actions.def
take -k -kX:4 src/daemon/steps.def
take -k -kX:4 src/policy/reasons.def
take -k -kX:6 ui/options.def
take -k -kX:3 ui/styles.def
take -k -kX:6 ui/demo.def
take -k -kX:7 ui/demo.def
take -k -kX:8 ui/demo.def
take -k -k_ -kN_ -kngettext:1,2 --flag=_:1:pass-c-format --flag=N_:1:pass-c-format \
    --flag=ngettext:1:pass-c-format --flag=ngettext:2:pass-c-format \
    --flag=app_say:3:c-format --flag=xasprintf:1:c-format --flag=out_text:1:c-format --flag=doc_addf:4:c-format \
    "$@"
sed -i '/^"POT-Creation-Date:/d' "$pot.new"
mv "$pot.new" "$pot"
