package registry

import (
	"context"
	"errors"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// While a person reads, everything else goes on; and what was agreed to is
// installed only if it is still what there is.
func TestWhileAPersonReads(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(f *fixture)
		want      error // nil: it is installed
		active    string
	}{
		"nothing": {func(*fixture) {}, nil, "1.1.0"},
		"a refresh, a search and a newer version": {func(f *fixture) {
			f.publish("1.2.0")
			_, err := f.client.Refresh(f.t.Context(), "main")
			f.must(err)
			_, err = f.search("track")
			f.must(err)
		}, nil, "1.1.0"},
		"it is uninstalled": {
			func(f *fixture) { f.must(f.client.Uninstall("acme/tracker")) },
			abi.ErrConfirmationRequired, "",
		},
		"another install of it": {func(f *fixture) { f.mustInstall(tracker) }, abi.ErrConfirmationRequired, "1.1.0"},
		"it is yanked": {func(f *fixture) {
			f.must(f.m.Yank(f.t.Context(), f.keys, tracker, "1.1.0", "broken"))
			_, err := f.client.Refresh(f.t.Context(), "main")
			f.must(err)
		}, abi.ErrNotFound, "1.0.0"},
		"its publisher is revoked": {func(f *fixture) {
			f.revoke(Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}, Reason: "stolen"})
			_, err := f.client.Refresh(f.t.Context(), "main")
			f.must(err)
		}, abi.ErrUntrusted, "refused"},
		"the snapshot expires": {func(f *fixture) { f.now = f.now.Add(snapshotLife) }, abi.ErrUntrusted, "1.0.0"},
		"the registry is another": {func(f *fixture) {
			f.must(f.client.Uninstall("acme/tracker"))
			f.must(f.client.RemoveRegistry("main"))
		}, abi.ErrNotFound, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.mustInstall(tracker)
			f.publish("1.1.0")
			_, err := f.client.Install(t.Context(), tracker, InstallOptions{Consent: func(context.Context, Review) error {
				c.meanwhile(f)
				return nil
			}})
			if !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
			if c.active != "refused" {
				f.wantActive(c.active)
			}
		})
	}
}
