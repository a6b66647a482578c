package host

import (
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
)

// A SettingChange is one setting that becomes what a lock file says. No setting is
// meant to be a secret; what looks like one is left out, as it is in [SettingInfo].
type SettingChange struct {
	Name   string `json:"name"`
	Action string `json:"action"` // set, changed, or removed
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	Hidden bool   `json:"hidden,omitempty"`
}

// The actions of a SettingChange.
const (
	SettingSet     = "set"
	SettingChanged = "changed"
	SettingRemoved = "removed"
)

// settingChanges lists what makes a plugin's settings exactly others, by name.
func (h *Host) settingChanges(before, after map[string]string) (list []SettingChange) {
	names := slices.Collect(maps.Keys(before))
	names = slices.AppendSeq(names, maps.Keys(after))
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		old, was := before[name]
		value, is := after[name]
		if was == is && old == value {
			continue
		}
		c := SettingChange{Name: name, Action: SettingChanged, Before: old, After: value}
		switch {
		case !was:
			c.Action = SettingSet
		case !is:
			c.Action = SettingRemoved
		}
		list = append(list, h.concealed(c))
	}
	return list
}

// concealed takes out of c what looks like a secret.
func (h *Host) concealed(c SettingChange) SettingChange {
	if redact.Sensitive(c.Name) {
		c.Before, c.After, c.Hidden = "", "", true
		return c
	}
	before, after := h.redact.String(c.Before), h.redact.String(c.After)
	c.Hidden = before != c.Before || after != c.After
	c.Before, c.After = before, after
	return c
}

// fits refuses a release that could not be loaded with these settings and no
// others, as they stand in a lock file.
func fits(rel abi.Release, given map[string]string) error {
	settings, err := settingsOf(rel, nil, given)
	if err != nil {
		return inLockFile(rel, err)
	}
	return installable(rel, settings)
}

// inLockFile says who can mend a setting of a lock file.
func inLockFile(rel abi.Release, err error) error {
	e := *Safe(err)
	e.Msg = "the lock file's settings of " + rel.Namespace + "/" + rel.Name + ": " + e.Error()
	return e.WithHint("drawbridge lock export again, where the lock file is made and the plugin is set up")
}
