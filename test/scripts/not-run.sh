#!/bin/sh
# Closing lines on what the test run could not do: for want of public corpora that
# are not part of this repository, of npm, or of a compiler.
set -eu
shared=${DRAWBRIDGE_SHARED:-../shared}
absent=""
for d in vectors/url sites/captures/mantis; do
  [ -d "$shared/$d" ] || absent="$absent $d"
done
if [ -n "$absent" ]; then
  echo "not run: the tests on$absent (set DRAWBRIDGE_SHARED to a folder that has them)"
fi
for note in .cache/npm/not-run-*; do
  [ -f "$note" ] || continue
  echo "not run: the tests with ${note##*/not-run-} from npm: $(cat "$note")"
done
if [ ! -d test/tck/guests/as/node_modules/assemblyscript ]; then
  echo "not run: the conformance kit on AssemblyScript (npm ci --prefix test/tck/guests/as)"
fi
wasm=""
for rustc in rustc /usr/bin/rustc; do
  dir=$("$rustc" --print target-libdir --target wasm32-unknown-unknown 2>/dev/null) || continue
  for lib in "$dir"/libstd-*.rlib; do
    [ -f "$lib" ] && wasm=yes
  done
done
if [ -z "$wasm" ]; then
  echo "not run: the conformance kit on Rust (apt-get install rustc libstd-rust-dev-wasm32 lld)"
fi
