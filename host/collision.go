package host

import (
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// checkNames refuses a release with a connector that another installed plugin has:
// whichever of the two were loaded first would answer under the other's name. What
// its tools are called begins with the connector's id, so they need no look.
func (h *Host) checkNames(rel abi.Release) error {
	installed, err := h.opts.Registry.Installed()
	if err != nil {
		return err
	}
	for _, e := range installed {
		if e.Plugin() == rel.Namespace+"/"+rel.Name {
			continue
		}
		other, err := h.opts.Registry.Release(e.Plugin())
		if err != nil {
			continue // it is damaged and not loaded
		}
		for _, c := range rel.Connectors {
			if slices.ContainsFunc(other.Connectors, func(o abi.Connector) bool { return o.ID == c.ID }) {
				return abi.Errorf(abi.ErrInvalidArgs, "install", "connector %q is there already, from %q: its tools would be called the same", c.ID, e.Plugin()).
					WithHint("drawbridge remove %s", e.Plugin())
			}
		}
	}
	return nil
}
