#!/bin/sh
# Installs what the product needs and the machine lacks: Chromium, Git. With "npm" as
# its argument also npm, for the tests with other people's clients, if it can.
# With apt-get and the right to use it, it installs; otherwise it says what to install.
set -eu

missing=""
command -v git >/dev/null 2>&1 || missing="$missing git"
found=""
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null 2>&1; then found=$name; break; fi
done
[ -n "$found" ] || missing="$missing chromium"
optional=""
if [ "${1:-}" = npm ] && ! command -v npm >/dev/null 2>&1; then optional="npm"; fi
[ -n "$missing$optional" ] || exit 0

if command -v apt-get >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
  sudo=""
elif command -v apt-get >/dev/null 2>&1 && command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  sudo="sudo -n"
else
  if [ -z "$missing" ]; then exit 0; fi
  echo "drawbridge: error: missing:$missing" >&2
  echo "drawbridge: hint: install them with your system's package manager, for example: sudo apt-get install$missing" >&2
  exit 1
fi
echo "installing$missing $optional (a minute or two)" >&2
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get -o DPkg::Lock::Timeout=300 update -qq >&2
# shellcheck disable=SC2086
[ -z "$missing" ] || $sudo apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends $missing >/dev/null
if [ -n "$optional" ]; then
  $sudo apt-get -o DPkg::Lock::Timeout=300 install -y -qq --no-install-recommends nodejs $optional >/dev/null ||
    echo "drawbridge: npm could not be installed; the tests that need it say so" >&2
fi
