#!/bin/sh
# One closing line on what the test run could not do for want of public corpora
# that are not part of this repository.
set -eu
shared=${DRAWBRIDGE_SHARED:-../shared}
absent=""
for d in vectors/url sites/captures/mantis; do
  [ -d "$shared/$d" ] || absent="$absent $d"
done
if [ -n "$absent" ]; then
  echo "not run: the tests on$absent (set DRAWBRIDGE_SHARED to a folder that has them)"
fi
