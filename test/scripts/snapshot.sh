#!/bin/sh
# Makes what the program carries: a signed registry with a few connectors, as
# cmd/drawbridge/builtin/registry.bundle and registry.json. make build runs it.
#
# With KEY, an armored secret key file, that key owns the registry; the program asks
# for its passphrase each time. Without it a key is made, used and thrown away: good
# for trying, since every build then is a registry of its own.
#
# The modules are built with -trimpath by the Go of go.mod, so that anybody can build
# the same ones and compare their hashes.
set -eu

drawbridge=$1
out=cmd/drawbridge/builtin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

if [ -n "${KEY:-}" ]; then
	key=$KEY id=${ID:-drawbridge}
	run() { "$drawbridge" "$@"; }
else
	key=$work/key id=
	head -c 24 /dev/urandom | od -An -tx1 | tr -d ' \n' >"$work/passphrase"
	# What it says of a key to be kept is not for one that is thrown away.
	run() {
		"$drawbridge" "$@" --passphrase-fd 3 3<"$work/passphrase" 2>"$work/notes" || {
			code=$?
			cat "$work/notes" >&2
			return "$code"
		}
	}
	run key new "$key" --user-id "drawbridge development build" >/dev/null
fi
fingerprint=$("$drawbridge" key show "$key" --json | sed -n 's/.*"fingerprint": "\([0-9a-f]*\)".*/\1/p')
"$drawbridge" key show "$key" >"$work/key.asc" 2>/dev/null
[ -n "$id" ] || id=dev-$(echo "$fingerprint" | cut -c1-12)

run registry init "$work/registry.git" --id "$id" --key "$key"
run registry add-publisher "$work/registry.git" drawbridge "$work/key.asc" "$fingerprint" --key "$key"
for name in tracker tracker-suite requesttracker mantis; do
	"$drawbridge" connector build "connectors-src/$name" --registry "$id" --namespace drawbridge --out "$work/$name" >/dev/null
	run connector sign "$work/$name" --key "$key"
	run connector publish "$work/$name" --registry "$work/registry.git" --key "$key"
done

git -C "$work/registry.git" bundle create --quiet "$work/registry.bundle" --all
sum=$(git -C "$work/registry.git" cat-file blob main:snapshot.json | sha256sum | cut -d' ' -f1)
printf '{"registry":"%s","fingerprint":"%s","snapshot_sha256":"%s"}\n' "$id" "$fingerprint" "$sum" >"$work/registry.json"
mv "$work/registry.bundle" "$work/registry.json" "$out/"
echo "$out/registry.bundle: registry $id, $(wc -c <"$out/registry.bundle") bytes, owned by $fingerprint"
