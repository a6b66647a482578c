package host

import (
	"context"
	"errors"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// A VerifiedPlugin is a plugin whose installed bytes were looked at again.
type VerifiedPlugin struct {
	Name    string        `json:"plugin"`
	Version string        `json:"version"`
	OK      bool          `json:"ok"`
	Checks  []VerifyCheck `json:"checks"`
}

// A VerifyCheck is one thing that was looked at.
type VerifyCheck struct {
	What    string   `json:"check"` // release, module, revocations, signature, previous version, machine code
	OK      bool     `json:"ok"`
	Refused *Refusal `json:"error,omitempty"`
}

// Verify looks at every byte that is installed of plugins, or of all: what is
// stored against the lock file, the release's signature against the registry's
// verified state, revocations, and the machine code that was made of the module. It
// changes nothing.
func (h *Host) Verify(ctx context.Context, names []string) ([]VerifiedPlugin, error) {
	plugins := make([]string, 0, len(names))
	for _, n := range names {
		e, err := h.opts.Registry.Named(n)
		if err != nil {
			return nil, err
		}
		plugins = append(plugins, e.Plugin())
	}
	checked, err := h.opts.Registry.Inspect(ctx, plugins...)
	if err != nil {
		return nil, err
	}
	list := []VerifiedPlugin{}
	for _, k := range checked {
		v := VerifiedPlugin{Name: k.Entry.Plugin(), Version: k.Entry.Version, OK: true, Checks: []VerifyCheck{}}
		k.Checks = append(k.Checks, registry.Inspection{What: "machine code", Err: h.opts.Sandbox.Verify(k.Entry.Module.SHA256)})
		for _, c := range k.Checks {
			v.OK = v.OK && c.Err == nil
			v.Checks = append(v.Checks, VerifyCheck{c.What, c.Err == nil, v.alike(Mend(k.Entry, c))})
		}
		list = append(list, v)
	}
	return list, nil
}

// alike gives a second check that finds a revocation the hint of the first one: one
// command mends both.
func (v VerifiedPlugin) alike(r *Refusal) *Refusal {
	for _, c := range v.Checks {
		if r != nil && revoked(r.Reason) && c.Refused != nil && revoked(c.Refused.Reason) {
			r.Hint = c.Refused.Hint
		}
	}
	return r
}

// revoked reports whether a reason is that the registry took something back.
func revoked(r abi.Reason) bool {
	return r == abi.ReasonArtifactRevoked || r == abi.ReasonKeyRevoked
}

// Mend is what an inspection found, with the command that mends it; nil if it found
// nothing.
func Mend(e registry.Entry, c registry.Inspection) *Refusal {
	r := refusal(c.Err)
	switch {
	case r == nil || r.Hint != "" && c.What != "machine code":
	case revoked(r.Reason):
		r.Hint = "drawbridge update " + e.Plugin() + ", or drawbridge remove " + e.Plugin()
	case c.What == "signature" && !errors.Is(c.Err, abi.ErrUntrusted):
		r.Hint = "drawbridge search --refresh"
	default:
		r.Hint = "drawbridge install " + e.Plugin() + "@" + e.Version
	}
	return r
}
