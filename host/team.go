package host

import (
	"context"
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// TeamInfo is one team whose lock files this machine follows.
type TeamInfo struct {
	Name    string `json:"team"`
	Signer  string `json:"signer"`       // fingerprint of the key that signs them
	Version int64  `json:"lock_version"` // newest one seen; 0 before the first
	Trusted string `json:"trusted"`      // when a person said so
}

func teamInfo(t registry.Team) TeamInfo {
	return TeamInfo{Name: t.Name, Signer: string(t.Signer), Version: t.Version, Trusted: t.Trusted.String()}
}

// Teams lists the teams whose lock files are followed.
func (h *Host) Teams(context.Context) ([]TeamInfo, error) {
	all, err := h.opts.Registry.Teams()
	list := make([]TeamInfo, 0, len(all))
	for _, t := range all {
		list = append(list, teamInfo(t))
	}
	return list, err
}

// TrustTeam follows the lock files of a name that a key signs, after a person
// agreed to both: from then on they install without a question.
func (h *Host) TrustTeam(ctx context.Context, name, certificate, fingerprint string, show func(Question) error) (TeamInfo, error) {
	fpr, err := signing.ParseFingerprint(fingerprint)
	if err != nil {
		return TeamInfo{}, err
	}
	cert, err := signing.ReadCertificate([]byte(certificate), fpr)
	if err != nil {
		return TeamInfo{}, err
	}
	lines := []string{
		"lock files   " + name,
		"signed by    " + fpr.Grouped(),
	}
	before, was, err := h.knownTeam(name)
	if err != nil {
		return TeamInfo{}, err
	}
	if before.Name != "" && before.Signer != fpr {
		lines = append(lines, "in place of  "+before.Signer.Grouped())
	}
	lines = append(lines, formerLines(was, fpr)...)
	lines = append(lines, "Whoever holds this key decides from now on, without asking you, which registries this machine trusts,",
		"which connectors it installs, changes and goes back to, and which settings they have.",
		"Compare the fingerprint with what they told you.")
	if err := h.Questions.Ask(ctx, "Follow this team's lock files?", lines, show); err != nil {
		return TeamInfo{}, err
	}
	h.admin.Lock()
	defer h.admin.Unlock()
	if err := h.sameTeam(name, before, was); err != nil {
		return TeamInfo{}, err
	}
	if err := h.opts.Registry.TrustTeam(name, cert); err != nil {
		return TeamInfo{}, err
	}
	now, err := h.team(name)
	if err != nil {
		return TeamInfo{}, err
	}
	return teamInfo(now), h.Note(ctx, "team trusted", name+" "+string(fpr))
}

// team returns the team of a name; the zero value if nobody is trusted for it.
func (h *Host) team(name string) (registry.Team, error) {
	all, err := h.opts.Registry.Teams()
	for _, t := range all {
		if t.Name == name {
			return t, nil
		}
	}
	return registry.Team{}, err
}

// DistrustTeam follows the lock files of a name no longer. What they installed
// stays, and which of them was the newest is remembered.
func (h *Host) DistrustTeam(ctx context.Context, name string) error {
	h.admin.Lock()
	defer h.admin.Unlock()
	if err := h.opts.Registry.DistrustTeam(name); err != nil {
		return err
	}
	return h.Note(ctx, "team distrusted", name)
}

// MoveRegistry fetches a registry from another address from now on, after a person
// agreed: whoever serves it can't change what is installed, and can keep news from
// arriving until its snapshot expires. They are not asked about what would be refused.
func (h *Host) MoveRegistry(ctx context.Context, id, url string, show func(Question) error) (RegistryInfo, error) {
	if err := registry.CheckAddress(url); err != nil {
		return RegistryInfo{}, err
	}
	shown, err := h.opts.Registry.Registry(id)
	if err != nil {
		return RegistryInfo{}, err
	}
	if err := h.opts.Registry.PreviewMove(ctx, shown, url); err != nil {
		return RegistryInfo{}, err
	}
	before := shown.URL
	if shown.Elsewhere {
		before = "nowhere on this machine"
	}
	lines := []string{
		"registry     " + id,
		"until now    " + before,
		"owner's key  " + shown.Pinned.Grouped() + ", as before",
		"from now on  " + url,
	}
	if err := h.Questions.Ask(ctx, "Fetch this registry from another address?", lines, show); err != nil {
		return RegistryInfo{}, err
	}
	h.admin.Lock()
	defer h.admin.Unlock()
	r, err := h.opts.Registry.SetRegistryURL(ctx, shown, url)
	if err != nil {
		return RegistryInfo{}, err
	}
	info := registryInfo(r)
	info.Expired = h.isExpired(r.Expires, r.Builtin)
	return info, h.Note(ctx, "registry moved", fmt.Sprintf("%s to %s", r.ID, r.URL))
}
