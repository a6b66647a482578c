package host

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/origin"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/abi/strictjson"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// RegistryInfo is one trusted registry.
type RegistryInfo struct {
	ID          string    `json:"registry"`
	URL         string    `json:"url"`
	Fingerprint string    `json:"fingerprint"` // of the owner's key that was pinned
	Snapshot    int64     `json:"snapshot"`    // newest version seen
	Expires     time.Time `json:"expires"`     // of that snapshot
	Builtin     bool      `json:"builtin"`     // the program carries it, and it doesn't expire with Expires
	Expired     bool      `json:"expired"`     // nothing of it can be installed or updated
	// Elsewhere: a lock file brought it, URL is a path of another machine, and nothing
	// is fetched from it here.
	Elsewhere bool `json:"elsewhere,omitempty"`
}

// PluginInfo is one plugin, installed or found.
type PluginInfo struct {
	Name        string   `json:"plugin"` // namespace/name
	Version     string   `json:"version"`
	Registry    string   `json:"registry"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Category    string   `json:"category,omitempty"`
	Signer      string   `json:"signer,omitempty"`
	Connectors  []string `json:"connectors"`         // ids
	State       string   `json:"state"`              // one of the States
	Error       *Refusal `json:"error,omitempty"`    // why it does not run
	Channel     string   `json:"channel,omitempty"`  // that updates follow: stable or beta
	Pinned      bool     `json:"pinned,omitempty"`   // updates leave it as it is
	Previous    string   `json:"previous,omitempty"` // the version that a rollback goes back to
	Notices     []string `json:"notices"`            // what works today and needs attention

	Health []ConnectorHealth `json:"health"` // of its connectors
}

// WithTransfer returns a context whose operations tell how far a transfer from a
// registry is, in percent.
func WithTransfer(ctx context.Context, report func(what string, percent int)) context.Context {
	return registry.WithTransfer(ctx, report)
}

func registryInfo(r registry.Registry) RegistryInfo {
	return RegistryInfo{ID: r.ID, URL: r.URL, Fingerprint: string(r.Pinned), Snapshot: r.Snapshot, Expires: r.Expires, Builtin: r.Builtin, Elsewhere: r.Elsewhere}
}

// AddRegistry trusts a registry after a person agreed to its address and
// fingerprint. They are not asked about one that isn't the owner's: it is fetched
// and verified first, and nothing of it is kept before the yes.
func (h *Host) AddRegistry(ctx context.Context, url, fingerprint string, show func(Question) error) (RegistryInfo, error) {
	fpr, err := signing.ParseFingerprint(fingerprint)
	if err != nil {
		return RegistryInfo{}, err
	}
	if err := registry.CheckAddress(url); err != nil {
		return RegistryInfo{}, err
	}
	seen, err := h.opts.Registry.Preview(ctx, url, fpr)
	if err != nil {
		return RegistryInfo{}, err
	}
	lines := []string{
		"registry     " + seen.ID,
		"address      " + url,
		"owner's key  " + fpr.Grouped(),
	}
	lines = append(append(append(lines, expiredLines(seen.Registry, h.now())...), beforeLines(seen.Before, fpr)...),
		"Whoever holds this key decides whose connectors you can install. Compare it with what the owner told you.")
	if err := h.Questions.Ask(ctx, "Trust this registry?", lines, show); err != nil {
		return RegistryInfo{}, err
	}
	h.admin.Lock()
	defer h.admin.Unlock()
	r, err := h.opts.Registry.AddPreviewed(ctx, seen)
	if err != nil {
		return RegistryInfo{}, err
	}
	info := registryInfo(r)
	info.Expired = h.isExpired(r.Expires, r.Builtin)
	return info, h.Note(ctx, "registry added", r.ID+" "+string(fpr))
}

// Registries lists the trusted registries.
func (h *Host) Registries(context.Context) ([]RegistryInfo, error) {
	all, err := h.opts.Registry.Registries()
	list := make([]RegistryInfo, 0, len(all))
	for _, r := range all {
		info := registryInfo(r)
		info.Expired = h.isExpired(r.Expires, r.Builtin)
		list = append(list, info)
	}
	return list, err
}

// RemoveRegistry trusts a registry no longer. What was seen of it is remembered.
func (h *Host) RemoveRegistry(ctx context.Context, id string) error {
	h.admin.Lock()
	defer h.admin.Unlock()
	if err := h.opts.Registry.RemoveRegistry(id); err != nil {
		return err
	}
	return h.Note(ctx, "registry removed", id)
}

// searchRefresh is how long a search waits for a registry's newest snapshot.
const searchRefresh = 15 * time.Second

// refreshAll fetches the registries' newest snapshots, unless an install is under
// way: it does so itself. What failed is remembered until it no longer does.
func (h *Host) refreshAll(ctx context.Context) {
	if !h.admin.TryLock() {
		return
	}
	defer h.admin.Unlock()
	defer h.stopRevokedOrLog(ctx)
	ctx, cancel := context.WithTimeout(ctx, searchRefresh)
	defer cancel()
	all, err := h.opts.Registry.Registries()
	if err != nil {
		h.opts.Logger.WarnContext(ctx, "registries", slog.Any("error", err))
	}
	for _, r := range all {
		_, err := h.opts.Registry.Refresh(ctx, r.ID)
		if err != nil {
			h.opts.Logger.WarnContext(ctx, "registry", slog.String("registry", r.ID), slog.Any("error", err))
		}
		h.silent.note(r.ID, err)
	}
}

// Install installs or updates a plugin after a person agreed to what it may do.
// The module is scanned and compiled, and what it says of itself is compared
// with the release, before anything is written.
func (h *Host) Install(ctx context.Context, ref string, settings map[string]string, show func(Question) error, progress func(string)) (PluginInfo, error) {
	h.admin.Lock()
	defer h.admin.Unlock()
	r, err := registry.ParseName(ref)
	if err != nil {
		return PluginInfo{}, err
	}
	if r, err = h.opts.Registry.Complete(ctx, r); err != nil {
		return PluginInfo{}, err
	}
	changes, err := h.settings.differ(r.Plugin(), settings)
	if err != nil {
		return PluginInfo{}, err
	}
	progress("fetching and verifying " + ref)
	q := consent{host: h, ref: ref, given: settings, again: changes, show: show}
	entry, err := h.opts.Registry.Install(ctx, r, registry.InstallOptions{
		Again:   changes, // another address is another grant
		Consent: q.ask,
		Admit: func(ctx context.Context, rev registry.Review, wasm []byte) error {
			if err := q.stillHolds(rev); err != nil {
				return err
			}
			progress("compiling the module")
			return h.admit(ctx, rev, wasm)
		},
	})
	if err != nil {
		h.stopRevokedOrLog(ctx) // what was fetched may revoke
		return PluginInfo{}, err
	}
	if err := h.settings.set(entry.Plugin(), settings); err != nil {
		return PluginInfo{}, err
	}
	if err := h.Reload(); err != nil {
		return PluginInfo{}, err
	}
	if e := h.Problems()[entry.Plugin()]; e != nil {
		return PluginInfo{}, e
	}
	return h.info(entry), h.Note(ctx, "plugin installed", fmt.Sprintf("%s@%s %s", entry.Plugin(), entry.Version, entry.Signer))
}

// A consent is one person's answer about one release with its settings.
type consent struct {
	host  *Host
	ref   string // what was asked for, as it was typed
	given map[string]string
	again bool // the settings are to be others than before
	show  func(Question) error
	shown map[string]string // every setting, as it was shown; nil if nothing was to be agreed to
}

// ask shows a person what a release may do, with the settings put in, and
// refuses at once what could not be loaded afterwards. Nobody is asked about what
// may do no more than the version that it takes the place of. Other administration
// goes on while the person reads, so h.admin is let go.
func (q *consent) ask(ctx context.Context, rev registry.Review) error {
	rel := rev.Release
	settings, err := q.host.allSettings(rel, q.given)
	if err != nil {
		return q.asTyped(rel, err)
	}
	if err := installable(rel, settings); err != nil {
		return err
	}
	if err := q.host.checkNames(rel); err != nil {
		return err
	}
	q.shown = settings
	changes := changesOf(rev, settings)
	if rev.Previous != nil && !q.again && !release.Asks(changes) {
		return nil
	}
	lines := reviewLines(rev, settings, changes)
	if q.again && rev.Previous != nil { // another address is another grant: all of it is shown
		lines = append(append(lines, "All that it may do, with these settings:"), release.Explain(rel, settings)...)
	}
	title := fmt.Sprintf("Install %s/%s %s?", rel.Namespace, rel.Name, rel.Version)
	q.host.admin.Unlock()
	defer q.host.admin.Lock()
	return q.host.Questions.Ask(ctx, title, lines, q.show)
}

// asTyped keeps the version or channel, and the registry, in a hint to install again.
func (q *consent) asTyped(rel abi.Release, err error) error {
	e, ok := errors.AsType[*abi.Error](err)
	begins := "drawbridge install " + rel.Namespace + "/" + rel.Name
	if !ok || !strings.HasPrefix(e.Hint, begins) {
		return err
	}
	head, version, _ := strings.Cut(q.ref, "@")
	name := rel.Namespace + "/" + rel.Name
	if id, _, named := strings.Cut(head, ":"); named {
		name = id + ":" + name
	}
	if version != "" {
		name += "@" + version
	}
	if strings.ContainsAny(name, " ~<>=!*,") {
		name = "'" + name + "'"
	}
	return e.WithHint("drawbridge install %s%s", name, strings.TrimPrefix(e.Hint, begins))
}

// stillHolds refuses what was agreed to with other settings than those that are
// there now. What the registry knows it has looked at itself.
func (q *consent) stillHolds(rev registry.Review) error {
	if q.shown == nil {
		return nil
	}
	now, err := q.host.allSettings(rev.Release, q.given)
	if err != nil {
		return err
	}
	if !maps.Equal(now, q.shown) {
		return settingsChanged(rev.Release.Namespace + "/" + rev.Release.Name)
	}
	return nil
}

// allSettings is what a plugin would run with: defaults, what was set before,
// what is given now. A name that the release doesn't have is an error.
func (h *Host) allSettings(rel abi.Release, given map[string]string) (map[string]string, error) {
	before, err := h.settings.get(rel.Namespace + "/" + rel.Name)
	if err != nil {
		return nil, err
	}
	return settingsOf(rel, before, given)
}

// settingsOf is allSettings with what was set before.
func settingsOf(rel abi.Release, before, given map[string]string) (map[string]string, error) {
	all, types := map[string]string{}, map[string]abi.SettingType{}
	for _, c := range rel.Connectors {
		for _, s := range c.Settings {
			all[s.Name], types[s.Name] = s.Default, s.Type
		}
	}
	for name, value := range before {
		if _, ok := all[name]; ok {
			all[name] = value
		}
	}
	for name, value := range given {
		if _, ok := all[name]; !ok {
			return nil, abi.Errorf(abi.ErrInvalidArgs, "settings", "there is no setting %q, only %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		all[name] = value
	}
	var err error
	for name, value := range all {
		if all[name], err = normalSetting(types[name], name, value); err != nil {
			return nil, err
		}
	}
	return all, missingSettings(rel, given, all)
}

// normalSetting checks a value and returns it as it will be used: a person who is
// shown an address must not be shown another spelling of it than the one that is
// asked, such as letters that look like others, or a number for a host.
func normalSetting(kind abi.SettingType, name, value string) (string, error) {
	wrong := func(want string) error {
		return abi.Errorf(abi.ErrInvalidArgs, "settings", "setting %q is %q, want %s", name, value, want)
	}
	switch {
	case value == "":
	case kind == abi.SettingURL:
		u, err := origin.ParseURL(value)
		if err != nil || strings.ContainsAny(value, "?#") {
			return "", wrong("an http or https URL without query and fragment")
		}
		if u.Path() == "/" && !strings.HasSuffix(value, "/") {
			return strings.TrimSuffix(u.String(), "/"), nil
		}
		return u.String(), nil
	case kind == abi.SettingInteger:
		if n, err := strconv.ParseInt(value, 10, 64); err != nil || strconv.FormatInt(n, 10) != value {
			return "", wrong("a whole number")
		}
	case kind == abi.SettingBoolean && value != "true" && value != "false":
		return "", wrong("true or false")
	}
	return value, nil
}

// missingSettings names all settings that still need a value, and the command
// that gives them beside what was given.
func missingSettings(rel abi.Release, given, all map[string]string) error {
	var missing []string
	command := []string{"drawbridge install " + rel.Namespace + "/" + rel.Name}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		command = append(command, "--set "+name+"="+given[name])
	}
	asked := map[string]bool{} // connectors of one plugin may share a setting
	for _, c := range rel.Connectors {
		for _, s := range c.Settings {
			if s.Required && all[s.Name] == "" && !asked[s.Name] {
				asked[s.Name] = true
				missing = append(missing, fmt.Sprintf("%q (%s)", s.Name, s.Title))
				command = append(command, "--set "+s.Name+"=…")
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	return abi.Errorf(abi.ErrInvalidArgs, "settings", "these have no value: %s", strings.Join(missing, ", ")).WithHint("%s", strings.Join(command, " "))
}

// admit refuses a connector that another plugin has, and examines the module.
func (h *Host) admit(ctx context.Context, rev registry.Review, wasm []byte) error {
	if err := h.checkNames(rev.Release); err != nil {
		return err
	}
	return h.examine(ctx, rev, wasm)
}

// examine scans and compiles a module, and holds what it says of itself against
// its release. What is none of a connector's is never run, so nothing is asked of it.
func (h *Host) examine(ctx context.Context, rev registry.Review, wasm []byte) error {
	if rev.Release.Category != abi.CategoryConnector {
		return nil
	}
	compiled, err := h.opts.Sandbox.Compile(ctx, wasm)
	if err != nil {
		return err
	}
	return CheckModule(rev.Release, compiled)
}

// CheckModule holds what a compiled module says of itself against its release.
func CheckModule(rel abi.Release, compiled sandbox.CompiledInfo) error {
	if !slices.Equal(compiled.Info.Capabilities, rel.Capabilities) {
		return abi.Errorf(abi.ErrCapabilityDenied, "module", "it imports %q and its release says %q", compiled.Info.Capabilities, rel.Capabilities)
	}
	var says abi.Description
	if err := strictjson.Decode(compiled.Describe, &says, strictjson.MaxBytes(abi.MaxMetadata)); err != nil {
		return abi.Errorf(abi.ErrInvalidResult, "module", "describe: %w", err)
	}
	want := []string{}
	for _, c := range rel.Connectors {
		for _, t := range c.Tools {
			want = append(want, c.ID+"."+t.Name)
		}
	}
	slices.Sort(want)
	if says.V != abi.Version || !slices.Equal(says.Tools, want) {
		return abi.Errorf(abi.ErrInvalidResult, "module", "it says it has the tools %q and its release says %q", says.Tools, want)
	}
	return nil
}

// Plugins lists what is installed, and whether it runs.
func (h *Host) Plugins(ctx context.Context) ([]PluginInfo, error) {
	installed, err := h.opts.Registry.Installed()
	list := make([]PluginInfo, 0, len(installed))
	if err != nil {
		return list, err
	}
	yanked, err := h.opts.Registry.Yanked(ctx)
	all, expired := h.Health(ctx), h.expiredRegistries()
	for _, e := range installed {
		info := h.info(e)
		info.Notices = orNone(notices(e, expired, yanked))
		for _, c := range all {
			if slices.Contains(info.Connectors, c.Connector) {
				info.Health = append(info.Health, c)
			}
		}
		list = append(list, info)
	}
	return list, err
}

func (h *Host) info(e registry.Entry) PluginInfo {
	info := PluginInfo{Name: e.Plugin(), Version: e.Version, Registry: e.Registry, Signer: string(e.Signer), State: StateReady}
	info.Connectors, info.Notices, info.Health = []string{}, []string{}, []ConnectorHealth{}
	info.Channel, info.Pinned = channelName(e.Channel), e.Pinned
	if e.Previous != nil {
		info.Previous = e.Previous.Version
	}
	cat := h.catalog.Load()
	if p, ok := cat.plugins[e.Plugin()]; ok {
		info.Title, info.Description, info.Category = p.release.Title, p.release.Description, string(p.release.Category)
		for _, c := range p.release.Connectors {
			info.Connectors = append(info.Connectors, c.ID)
		}
		if p.release.Category != abi.CategoryConnector {
			info.State = StateListed
		}
	}
	if problem, ok := cat.problems[e.Plugin()]; ok {
		info.State, info.Error = StateFailing, refusal(problem)
	}
	return info
}

// The states of an installed plugin.
const (
	StateReady   = "ready"
	StateListed  = "listed only" // it is of a kind that this host doesn't run
	StateFailing = "failing"     // it could not be loaded
)

// explainWrites says in plain words what a destructive tool may send.
func explainWrites(t *tool) []string {
	var lines []string
	for i := range t.writes {
		lines = append(lines, strings.TrimSpace(release.ExplainRequest(&t.writes[i], t.conn.settings)))
	}
	return lines
}

// Note writes one administrative event to the audit log.
func (h *Host) Note(ctx context.Context, name, subject string) error {
	return h.opts.Audit.Note(ctx, audit.Event{Name: name, Subject: subject})
}

// NoteDecision writes to the audit log who decided about a call.
func (h *Host) NoteDecision(ctx context.Context, id string, approve bool, by gate.Approver) error {
	name := "call denied"
	if approve {
		name = "call approved"
	}
	return h.opts.Audit.Note(ctx, audit.Event{Name: name, Actor: who(by), Subject: id})
}
