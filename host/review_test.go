package host

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// What the registry and the publisher have to do with a version is a reason to ask
// like what it may do.
func TestChangesOf(t *testing.T) {
	key := func(c string) signing.Fingerprint { return signing.Fingerprint(strings.Repeat(c, 40)) }
	for name, c := range map[string]struct {
		edit func(r *registry.Review)
		says string
		asks bool
	}{
		"nothing":           {func(*registry.Review) {}, "", false},
		"another publisher": {func(r *registry.Review) { r.Signer = signing.Signer{Primary: key("B"), Key: key("B")} }, "ANOTHER PUBLISHER", true},
		"another subkey":    {func(r *registry.Review) { r.Signer.Key = key("C") }, "another key of its publisher", false},
		"revoked":           {func(r *registry.Review) { r.Unsound = errors.New("x") }, "not in use", true},
		"pinned":            {func(r *registry.Review) { r.Entry.Pinned = true }, "is pinned at 1.0.0", true},
		"pinned, the same": {func(r *registry.Review) {
			r.Entry.Pinned, r.Release.Version = true, "1.0.0"
		}, "", false},
		"to beta":     {func(r *registry.Review) { r.Channel = registry.Beta }, "channel beta", true},
		"beta before": {func(r *registry.Review) { r.Channel, r.Entry.Channel = registry.Beta, registry.Beta }, "", false},
		"wider":       {func(r *registry.Review) { r.Release.Category = abi.CategoryTool }, "category tool", true},
	} {
		t.Run(name, func(t *testing.T) {
			before := abi.Release{Namespace: "acme", Name: "tracker", Version: "1.0.0", Category: abi.CategoryConnector}
			rev := registry.Review{Release: before, Previous: &before, Signer: signing.Signer{Primary: key("A"), Key: key("A")}}
			rev.Release.Version = "1.1.0"
			rev.Entry = &registry.Entry{Namespace: "acme", Name: "tracker", Version: "1.0.0", Signer: key("A"), Key: key("A")}
			c.edit(&rev)
			got := changesOf(rev, nil)
			if release.Asks(got) != c.asks || (len(got) == 0) != (c.says == "") {
				t.Errorf("asks %v, changes %+v", release.Asks(got), got)
			}
			lines := reviewLines(rev, nil, got)
			if !slices.ContainsFunc(lines, func(l string) bool { return strings.Contains(l, c.says) }) {
				t.Errorf("a person reads %q", lines)
			}
		})
	}
	// What takes no place is shown whole, and asked about whatever it is.
	if got := changesOf(registry.Review{}, nil); got == nil || len(got) > 0 {
		t.Errorf("changes of something new: %+v", got)
	}
}
