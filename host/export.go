package host

import (
	"context"
	"maps"
	"slices"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A TeamDraft is a team's lock file that isn't signed yet.
type TeamDraft struct {
	Lock    []byte    // in canonical form
	LeftOut []LeftOut // what is set here and no part of it
}

// A LeftOut is a setting that would make every machine refuse a lock file.
type LeftOut struct {
	Plugin  string `json:"plugin"` // namespace/name
	Version string `json:"version"`
	Setting string `json:"setting"`
	Why     string `json:"message"`
}

// DraftTeamLock writes what is installed here as a team's lock file, which its
// caller signs. The settings that the installed versions have are part of it. What
// else is kept, such as what an older version had, is left out and told. It is
// refused if no machine could follow it, such as with a plugin that is revoked.
func (h *Host) DraftTeamLock(ctx context.Context, name string, version int64) (TeamDraft, error) {
	h.admin.Lock()
	defer h.admin.Unlock()
	d := TeamDraft{LeftOut: []LeftOut{}}
	l, err := h.opts.Registry.DraftTeamLock(ctx, name, version, func(plugin string) (map[string]string, error) {
		kept, err := h.settings.get(plugin)
		if err != nil {
			return nil, err
		}
		rel, err := h.opts.Registry.Release(plugin)
		if err != nil {
			return nil, err
		}
		declared, left := exportable(rel, kept)
		d.LeftOut = append(d.LeftOut, left...)
		settings, err := settingsOf(rel, nil, declared)
		if err == nil {
			err = installable(rel, settings)
		}
		return declared, err
	})
	if err != nil {
		return TeamDraft{}, err
	}
	d.Lock, err = l.Canonical()
	return d, err
}

// exportable takes from a plugin's settings what its release has and takes.
func exportable(rel abi.Release, kept map[string]string) (declared map[string]string, left []LeftOut) {
	types := map[string]abi.SettingType{}
	for _, c := range rel.Connectors {
		for _, s := range c.Settings {
			types[s.Name] = s.Type
		}
	}
	declared = map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(kept)) {
		out := LeftOut{Plugin: rel.Namespace + "/" + rel.Name, Version: rel.Version, Setting: name}
		kind, ok := types[name]
		if !ok {
			out.Why = "this version has no such setting"
			left = append(left, out)
			continue
		}
		if _, err := normalSetting(kind, name, kept[name]); err != nil {
			out.Why = "this version does not take its value"
			left = append(left, out)
			continue
		}
		declared[name] = kept[name]
	}
	return declared, left
}
