#!/bin/sh
set -e
[ "$(printf 'one two\n three\n' | ./words)" = 3 ]
[ "$(printf '' | ./words)" = 0 ]
echo "2 tests passed"
