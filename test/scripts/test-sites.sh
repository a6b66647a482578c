#!/bin/bash
# Starts Request Tracker from its Debian package, runs the tests against it, and
# stops it again. Fails where it can't run. Needs Debian 12, root, apt-get.
#
# It keeps everything in a folder of its own, so that another Request Tracker of
# the same scripts is not disturbed. KEEP_SITES=DIR keeps the folder, with the
# installed data, for the next run.
set -euo pipefail
cd "$(dirname "$0")/../.."

[ "$(id -u)" = 0 ] || { echo "drawbridge: error: test-sites installs Debian packages and must be run as root" >&2; exit 1; }
command -v apt-get >/dev/null || { echo "drawbridge: error: test-sites needs Debian 12 with apt-get" >&2; exit 1; }

rt=test/sites/scripts/rt.sh
if [ -n "${KEEP_SITES:-}" ]; then
  mkdir -p "$KEEP_SITES"
  SITES_DIR=$(cd "$KEEP_SITES" && pwd)
else
  SITES_DIR=$(mktemp -d)
  chmod 755 "$SITES_DIR" # the server runs as another user
fi
export SITES_DIR PORT=${PORT:-9131}

stop() {
  local rc=$?
  trap - EXIT
  if [ -n "${KEEP_SITES:-}" ]; then "$rt" stop || rc=1; else "$rt" reset && rmdir "$SITES_DIR" || rc=1; fi
  exit "$rc"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Another program on the port is not ours to stop.
while (exec 3<>"/dev/tcp/127.0.0.1/$PORT") 2>/dev/null; do
  [ "$PORT" -lt 9140 ] || { echo "drawbridge: error: every port from 9131 to 9140 is taken" >&2; exit 1; }
  PORT=$((PORT + 1))
done

echo "starting Request Tracker on port $PORT (half a minute, longer where it has to be installed)" >&2
"$rt" start >&2
"$rt" truth | cmp - test/sites/truth/rt.json || { echo "drawbridge: error: the seed is not what test/sites/truth/rt.json says" >&2; exit 1; }

export DRAWBRIDGE_SITES=1 DRAWBRIDGE_RT_URL=http://127.0.0.1:$PORT
"${GO:-go}" test -count=1 -timeout 20m ${TESTFLAGS:-} ./test/sites/...
