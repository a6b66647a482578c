package host

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A DataChoice says what becomes of a plugin's data when it is removed: of its
// settings, and of what its sites keep in our browser's profile. The audit log
// stays whole whatever is chosen.
type DataChoice string

// The choices.
const (
	DataAsk    DataChoice = "ask"    // a person is asked; a no keeps it
	DataKeep   DataChoice = "keep"   // nobody is asked
	DataDelete DataChoice = "delete" // a person is asked; a no removes nothing
)

// Removed says what was removed.
type Removed struct {
	Plugin  string   `json:"plugin"` // namespace/name
	Removed bool     `json:"removed"`
	Data    bool     `json:"data_removed"` // its settings and its sites' sessions too
	Cookies int      `json:"cookies,omitempty"`
	Origins []string `json:"origins"` // whose stored data was removed
	Kept    []string `json:"kept"`    // connectors whose session another plugin uses
}

// RemovePlugin removes an installed plugin. Its calls that are under way end as
// they would have.
func (h *Host) RemovePlugin(ctx context.Context, name string, data DataChoice, show func(Question) error) (Removed, error) {
	e, err := h.opts.Registry.Named(name)
	if err != nil {
		return Removed{}, err
	}
	out := Removed{Plugin: e.Plugin(), Removed: true, Origins: []string{}, Kept: []string{}}
	w, err := h.dataOf(out.Plugin)
	if err != nil && data != DataKeep {
		return Removed{}, err
	}
	if data != DataKeep {
		err = h.askData(ctx, w, data, show)
		out.Data = err == nil
		refused := errors.Is(err, abi.ErrConfirmationDenied) && ctx.Err() == nil
		if err != nil && (data == DataDelete || !refused) {
			return Removed{}, err
		}
	}
	h.admin.Lock()
	defer h.admin.Unlock()
	if out.Data {
		out.Kept = slices.AppendSeq(out.Kept, maps.Keys(w.shared))
		slices.Sort(out.Kept)
		if out.Cookies, out.Origins, err = h.forgetSites(ctx, w); err != nil {
			return Removed{}, err // nothing was removed but some cookies
		}
	}
	if err := h.opts.Registry.Uninstall(out.Plugin); err != nil {
		return Removed{}, err
	}
	if out.Data {
		if err := h.settings.remove(out.Plugin); err != nil {
			return Removed{}, err
		}
	}
	if err := h.Reload(); err != nil {
		return Removed{}, err
	}
	subject := out.Plugin
	if out.Data {
		subject += " with its data"
	}
	return out, h.Note(ctx, "plugin removed", subject)
}

// A pluginData is what a plugin leaves behind.
type pluginData struct {
	plugin   string
	settings map[string]string
	sites    map[string]siteHosts // by connector id
	shared   map[string]string    // connector id to another plugin's, which works on the same site
}

// dataOf finds a plugin's data. The sites of one that isn't loaded are those that
// its release names.
func (h *Host) dataOf(name string) (*pluginData, error) {
	settings, err := h.settings.get(name)
	if err != nil {
		return nil, err
	}
	w := &pluginData{plugin: name, settings: settings, sites: map[string]siteHosts{}, shared: map[string]string{}}
	rel, err := h.opts.Registry.Release(name)
	if err != nil {
		return w, nil //nolint:nilerr // a damaged plugin can be removed all the same; its sites are unknown
	}
	others := map[string]siteHosts{}
	for id, conn := range h.catalog.Load().connectors {
		if r := conn.plugin.release; r.Namespace+"/"+r.Name != name {
			others[id] = newSiteHosts(conn.site, true)
		}
	}
	for i := range rel.Connectors {
		conn, _, err := newConnector(&plugin{release: rel}, &rel.Connectors[i], settings)
		if err != nil {
			continue // it could never be called, so that no site knows it
		}
		mine := newSiteHosts(conn.site, false)
		if other := mine.sharedWith(others); other != "" {
			w.shared[conn.def.ID] = other
		} else {
			w.sites[conn.def.ID] = mine
		}
	}
	return w, nil
}

// sharedWith names a connector that would lose its session with this site's data,
// or nobody.
func (h siteHosts) sharedWith(others map[string]siteHosts) string {
	for _, id := range slices.Sorted(maps.Keys(others)) {
		o := others[id]
		mine := func(n string) bool { return h.mine(n, true) }
		theirs := func(n string) bool { return o.mine(n, true) }
		if slices.ContainsFunc(o.names, mine) || slices.ContainsFunc(h.names, theirs) {
			return id
		}
	}
	return ""
}

// askData asks whether a plugin's data is to be deleted.
func (h *Host) askData(ctx context.Context, w *pluginData, data DataChoice, show func(Question) error) error {
	lines := []string{"deletes      " + settingsWords(w.settings)}
	for _, id := range slices.Sorted(maps.Keys(w.sites)) {
		lines = append(lines, "forgets      cookies and stored data of "+strings.Join(w.sites[id].origins, ", "))
	}
	for _, id := range slices.Sorted(maps.Keys(w.shared)) {
		lines = append(lines, "keeps        the session of "+id+", which "+w.shared[id]+" uses too")
	}
	lines = append(lines, "keeps        what the audit log says of it")
	title := "Remove " + w.plugin + " with its data?"
	if data == DataAsk {
		title = "Delete the data of " + w.plugin + " too?"
		lines = append(lines, "The plugin is removed in any case.")
	}
	return h.Questions.Ask(ctx, title, lines, show)
}

func settingsWords(settings map[string]string) string {
	if len(settings) == 0 {
		return "no settings: it has none"
	}
	return "its settings " + strings.Join(slices.Sorted(maps.Keys(settings)), ", ")
}

// forgetSites removes what the plugin's sites keep in our browser's profile.
func (h *Host) forgetSites(ctx context.Context, w *pluginData) (cookies int, origins []string, err error) {
	if len(w.sites) == 0 {
		return 0, []string{}, nil
	}
	h.signin.Lock()
	defer h.signin.Unlock()
	b, err := h.tabs.browsers.get(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, id := range slices.Sorted(maps.Keys(w.sites)) {
		site := w.sites[id]
		h.tabs.forget(id)
		n, err := b.Forget(ctx, site.mine, site.origins)
		if err != nil {
			return cookies, origins, err
		}
		h.health.LoggedOut(id)
		cookies, origins = cookies+n, append(origins, site.origins...)
	}
	slices.Sort(origins)
	return cookies, orNone(slices.Compact(origins)), nil
}
