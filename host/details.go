package host

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// PluginDetails is all that is known of one plugin.
type PluginDetails struct {
	Name        string       `json:"plugin"` // namespace/name
	Version     string       `json:"version"`
	Channel     string       `json:"channel,omitempty"`
	Published   time.Time    `json:"published,omitzero"`
	Yanked      string       `json:"yanked,omitempty"` // why nobody new gets it
	Refused     *Refusal     `json:"refused,omitempty"`
	Registry    string       `json:"registry"`
	Fetched     RegistryInfo `json:"registry_info"`
	Category    string       `json:"category"`
	Title       string       `json:"title"`
	Description string       `json:"description"`
	License     string       `json:"license,omitempty"`
	Homepage    string       `json:"homepage,omitempty"`
	Source      string       `json:"source,omitempty"`
	Module      int64        `json:"module_bytes,omitempty"`
	Publisher   Publisher    `json:"publisher,omitzero"`

	Permissions []string      `json:"permissions"` // in plain words, but for those of its tools
	Settings    []SettingInfo `json:"settings"`
	Tools       []ToolDetails `json:"tools"`
	Notices     []string      `json:"notices"` // texts to read with care

	History   []VersionInfo  `json:"history"`         // newest first
	Older     int            `json:"older,omitempty"` // how many more there are
	Installed *InstalledInfo `json:"installation,omitempty"`
	Update    *UpdateInfo    `json:"update,omitempty"` // what would change
	Warning   string         `json:"warning,omitempty"`
}

// A Refusal says why something can't be installed.
type Refusal struct {
	Code   abi.Code   `json:"code"`
	Reason abi.Reason `json:"reason,omitempty"`
	Why    string     `json:"message"`
	Hint   string     `json:"hint,omitempty"`
}

// A Publisher is who signed a release. The user ids are the words of the key's
// owner.
type Publisher struct {
	Fingerprint string    `json:"fingerprint"`
	Key         string    `json:"signing_key"` // that signed: this one or a subkey of it
	UserIDs     []string  `json:"user_ids"`
	Signed      time.Time `json:"signed"` // by what the signature says
}

// ToolDetails is one tool in plain words.
type ToolDetails struct {
	Name        string   `json:"tool"` // listed
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Destructive bool     `json:"destructive"`
	Permissions []string `json:"permissions"` // what it may do, reads and writes among it
	Writes      []string `json:"writes"`      // the requests by which it changes data
}

// VersionInfo is one version of a plugin's history.
type VersionInfo struct {
	Version   string    `json:"version"`
	Channel   string    `json:"channel"`
	Published time.Time `json:"published"`
	Yanked    string    `json:"yanked,omitempty"`
	Refused   *Refusal  `json:"refused,omitempty"`
	Signer    string    `json:"signer,omitempty"`
	Installed bool      `json:"active,omitempty"` // it is the one that is installed
}

// InstalledInfo says what of a plugin is installed.
type InstalledInfo struct {
	Version   string    `json:"version"`
	Consented time.Time `json:"consented"`
	Pinned    bool      `json:"pinned,omitempty"`
	Channel   string    `json:"channel"` // that updates follow
	State     string    `json:"state"`   // one of the States
	Error     *Refusal  `json:"error,omitempty"`
}

// UpdateInfo says what would change if another version took the place of the
// installed one.
type UpdateInfo struct {
	To      string           `json:"to"`
	Asks    bool             `json:"asks"` // a person has to agree, because it may do more or tells otherwise
	Changes []release.Change `json:"changes"`
}

func refusal(err error) *Refusal {
	if err == nil {
		return nil
	}
	e := Safe(err)
	return &Refusal{Code: e.Code, Reason: e.Reason, Why: e.Error(), Hint: e.Hint}
}

// Details tells about a plugin, installed or not: "[registry:]name[@version]" with
// or without its namespace. The registries are asked first if that is long ago.
func (h *Host) Details(ctx context.Context, name string, progress func(string)) (PluginDetails, error) {
	ref, err := registry.ParseName(name)
	if err != nil {
		return PluginDetails{}, err
	}
	if h.copiesAreOld() {
		h.fetchForSearch(ctx, progress)
	}
	if ref, err = h.opts.Registry.Complete(ctx, ref); err != nil {
		if e, ok := errors.AsType[*abi.Error](err); ok { // whoever asks about a plugin asks again
			err = e.WithHint("%s", strings.ReplaceAll(e.Hint, "drawbridge install ", "drawbridge info "))
		}
		return PluginDetails{}, err
	}
	d, err := h.opts.Registry.Details(ctx, ref)
	if err != nil {
		return PluginDetails{}, err
	}
	values, err := h.settings.get(d.Plugin)
	if err != nil {
		return PluginDetails{}, err
	}
	out := describe(d, values)
	if why := h.silent.why(out.Registry); why != nil && out.Warning == "" {
		out.Warning = silenceWarning(out.Registry, why)
	}
	out.Fetched.Expired = h.isExpired(d.Registry.Expires, d.Registry.Builtin)
	out.Settings = h.settingInfos(d.Release, values, d.Installed != nil)
	if d.Installed != nil {
		out.Installed = h.installedInfo(*d.Installed)
		out.Update = updateOf(d, values)
	}
	return out, nil
}

func describe(d registry.Details, values map[string]string) PluginDetails {
	r := d.Release
	out := PluginDetails{
		Name: d.Plugin, Version: cmp.Or(d.Version.Version, r.Version), Channel: string(d.Version.Channel),
		Published: d.Version.Published.Time, Yanked: d.Version.Yanked, Refused: refusal(d.Refused), Registry: d.Registry.ID, Fetched: registryInfo(d.Registry),
		Category: string(r.Category), Title: r.Title, Description: r.Description, License: r.License, Homepage: r.Homepage,
		Source: strings.TrimSuffix(r.Source.Repo+"@"+r.Source.Commit, "@"), Module: r.Module.Size,
		Permissions: []string{}, Tools: []ToolDetails{}, Notices: []string{}, History: []VersionInfo{}, Older: d.Older, Warning: d.Warning,
	}
	if s := d.Signer; s.Primary != "" {
		out.Publisher = Publisher{string(s.Primary), string(s.Key), orNone(d.UserIDs), s.Created}
	}
	tools := map[string]bool{}
	for i := range r.Connectors {
		for j := range r.Connectors[i].Tools {
			t := toolDetails(&r.Connectors[i], &r.Connectors[i].Tools[j], values)
			out.Tools, tools[t.Name] = append(out.Tools, t), true
		}
	}
	notices := release.Notices(r)
	for _, n := range notices {
		out.Notices = append(out.Notices, n.String())
	}
	if r.Name != "" {
		for _, l := range release.Explain(r, values) {
			who, _, _ := strings.Cut(l, ": ")
			if !tools[who] && !slices.Contains(out.Notices, l) {
				out.Permissions = append(out.Permissions, l)
			}
		}
	}
	for _, p := range d.History {
		out.History = append(out.History, VersionInfo{
			Version: p.Version.Version, Channel: string(p.Channel), Published: p.Published.Time, Yanked: p.Yanked, Refused: refusal(p.Refused),
			Signer: string(p.Signer), Installed: d.Installed != nil && d.Installed.Version == p.Version.Version,
		})
	}
	return out
}

func orNone(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func toolDetails(c *abi.Connector, t *abi.Tool, values map[string]string) ToolDetails {
	d := ToolDetails{
		Name: c.ID + "_" + t.Name, Title: t.Title, Description: t.Description, Destructive: t.IsDestructive(),
		Permissions: release.ExplainTool(t, values), Writes: []string{},
	}
	for i := range t.Writes {
		d.Writes = append(d.Writes, release.ExplainRequest(&t.Writes[i], values))
	}
	return d
}

func (h *Host) installedInfo(e registry.Entry) *InstalledInfo {
	info := h.info(e)
	return &InstalledInfo{
		Version: e.Version, Consented: e.Consented.Time, Pinned: e.Pinned, State: info.State, Error: info.Error,
		Channel: cmp.Or(string(e.Channel), string(registry.Stable)),
	}
}

// updateOf compares what is installed with the version that was asked about.
func updateOf(d registry.Details, values map[string]string) *UpdateInfo {
	if d.Running == nil || d.Release.Name == "" || d.Release.Version == d.Installed.Version {
		return nil
	}
	changes := release.Compare(*d.Running, d.Release, values)
	return &UpdateInfo{To: d.Release.Version, Asks: release.Asks(changes), Changes: orEmpty(changes)}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
