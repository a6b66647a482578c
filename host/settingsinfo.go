package host

import (
	"context"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// SettingInfo is one setting of a plugin, and what it is set to.
type SettingInfo struct {
	Connector string `json:"connector"`
	Name      string `json:"setting"`
	Type      string `json:"type"`
	Title     string `json:"title"`
	Required  bool   `json:"required,omitempty"`
	Value     string `json:"value,omitempty"` // what looks like a secret is left out
	Default   bool   `json:"default,omitempty"`
	Hidden    bool   `json:"hidden,omitempty"` // it looked like one
}

// settingInfos lists the settings of a release with the values of an installation.
// No setting is meant to be a secret, but a person may have put one there.
func (h *Host) settingInfos(r abi.Release, values map[string]string, installed bool) []SettingInfo {
	list := []SettingInfo{}
	for _, c := range r.Connectors {
		for _, s := range c.Settings {
			info := SettingInfo{Connector: c.ID, Name: s.Name, Type: string(s.Type), Title: s.Title, Required: s.Required}
			value, set := values[s.Name]
			if !set || !installed {
				value, info.Default = s.Default, s.Default != ""
			}
			switch {
			case set && redact.Sensitive(s.Name):
				info.Hidden = value != ""
			default:
				info.Value = h.redact.String(value)
				info.Hidden = info.Value != value
			}
			list = append(list, info)
		}
	}
	return list
}

// Settings lists the settings of every plugin that is installed and whole, by
// namespace/name.
func (h *Host) Settings(context.Context) (map[string][]SettingInfo, error) {
	installed, err := h.opts.Registry.Installed()
	if err != nil {
		return nil, err
	}
	all := map[string][]SettingInfo{}
	for _, e := range installed {
		r, err := h.opts.Registry.Release(e.Plugin())
		if err != nil {
			continue // list says what is wrong with it
		}
		values, err := h.settings.get(e.Plugin())
		if err != nil {
			return nil, err
		}
		all[e.Plugin()] = h.settingInfos(r, values, true)
	}
	return all, nil
}
