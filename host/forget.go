package host

import (
	"context"
	"fmt"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// RemovedInfo is a registry that was removed, and what was seen of it: an older state
// of it is refused if it is added again.
type RemovedInfo struct {
	ID          string    `json:"registry,omitempty"`
	URL         string    `json:"url,omitempty"`
	Fingerprint string    `json:"fingerprint,omitempty"`   // of the owner's key that was pinned
	Snapshot    int64     `json:"snapshot,omitempty"`      // newest version seen
	Revoked     int       `json:"revoked_count,omitempty"` // keys and artifacts that were revoked
	Ended       time.Time `json:"ended,omitzero"`          // when it was removed
	Problem     *Refusal  `json:"error,omitempty"`         // why a record can't be read; the rest is empty then
}

// FormerTeamInfo is a team that isn't followed any more.
type FormerTeamInfo struct {
	Name    string    `json:"team"`
	Signer  string    `json:"signer"`       // fingerprint of the key that signed its lock files
	Version int64     `json:"lock_version"` // newest one seen; 0 if none was
	Ended   time.Time `json:"ended"`        // when it was distrusted
}

// RemovedRegistries lists what is remembered of registries that were removed, the
// last one first, and then what can't be read.
func (h *Host) RemovedRegistries(context.Context) ([]RemovedInfo, error) {
	all, err := h.opts.Registry.Removed()
	list := make([]RemovedInfo, 0, len(all))
	for _, r := range all {
		list = append(list, RemovedInfo{ID: r.ID, URL: r.URL, Fingerprint: string(r.Pinned), Snapshot: r.Snapshot, Revoked: r.Revoked, Ended: r.Removed.UTC()})
	}
	for _, problem := range problemsOf(err) {
		list = append(list, RemovedInfo{Problem: &problem})
	}
	return list, nil
}

// FormerTeams lists the teams that aren't followed any more.
func (h *Host) FormerTeams(context.Context) ([]FormerTeamInfo, error) {
	all, err := h.opts.Registry.FormerTeams()
	list := make([]FormerTeamInfo, 0, len(all))
	for _, t := range all {
		list = append(list, FormerTeamInfo{t.Name, string(t.Signer), t.Version, t.Distrusted.UTC()})
	}
	return list, err
}

// removedOn is the day of a removal, as a person is told it.
func removedOn(t registry.Time) string { return t.UTC().Format(time.DateOnly) }

// beforeLines tell whoever is asked to trust a registry what was added under its id
// before.
func beforeLines(before []registry.Removed, pinned signing.Fingerprint) []string {
	var lines []string
	for _, r := range before {
		if r.Pinned == pinned {
			lines = append(lines, fmt.Sprintf("before       trusted until %s; snapshot %d was seen of it, and nothing older counts", removedOn(r.Removed), r.Snapshot))
			continue
		}
		lines = append(lines, fmt.Sprintf("before       ANOTHER KEY was pinned for %s until %s, when snapshot %d was seen:", r.ID, removedOn(r.Removed), r.Snapshot),
			"             "+r.Pinned.Grouped())
	}
	return lines
}

// formerLines tell whoever is asked to trust a team how far its lock files were.
func formerLines(was registry.FormerTeam, signer signing.Fingerprint) []string {
	if was.Name == "" {
		return nil
	}
	lines := []string{fmt.Sprintf("before       trusted until %s; version %d was seen, and nothing older counts", removedOn(was.Distrusted), was.Version)}
	if was.Signer != signer {
		lines = append(lines, "             signed by ANOTHER KEY, "+was.Signer.Grouped())
	}
	return lines
}

// ForgetRegistry removes a registry, if it is there, and all that was seen of the
// registries of its id, after a person agreed: an older state of it, and what was
// revoked since, counts again if it is added.
func (h *Host) ForgetRegistry(ctx context.Context, id string, show func(Question) error) error {
	what, err := h.opts.Registry.Remembered(id)
	if err != nil {
		return err
	}
	if err := h.Questions.Ask(ctx, "Forget what was seen of this registry?", forgetLines(what), show); err != nil {
		return err
	}
	h.admin.Lock()
	defer h.admin.Unlock()
	if err := h.opts.Registry.ForgetRegistry(what); err != nil {
		return err
	}
	return h.Note(ctx, "registry forgotten", id)
}

func forgetLines(what registry.Remembered) []string {
	lines := []string{"registry     " + what.ID}
	if r := what.There; r != nil {
		lines = append(lines, "address      "+r.URL, "owner's key  "+r.Pinned.Grouped(),
			fmt.Sprintf("seen         snapshot %d; it is removed as well", r.Snapshot))
	}
	for _, r := range what.Before {
		lines = append(lines, "owner's key  "+r.Pinned.Grouped(),
			fmt.Sprintf("seen         snapshot %d, %d revoked; removed %s", r.Snapshot, r.Revoked, removedOn(r.Removed)))
	}
	if what.Damaged > 0 {
		lines = append(lines, fmt.Sprintf("damaged      %d records that can't be read", what.Damaged))
	}
	return append(lines, "From then on whoever serves a registry of this name can serve an older state of it,",
		"in which what was revoked since is not revoked. Say yes only if its owner started it anew, or if it never comes back.")
}

// ForgetTeam follows the lock files of a name no longer, if it does, and forgets
// which of them was the newest, after a person agreed.
func (h *Host) ForgetTeam(ctx context.Context, name string, show func(Question) error) error {
	now, was, err := h.knownTeam(name)
	if err != nil {
		return err
	}
	lines := []string{"lock files   " + name}
	switch {
	case now.Name != "":
		lines = append(lines, "signed by    "+now.Signer.Grouped(), fmt.Sprintf("seen         version %d; they are not followed any more", now.Version))
	case was.Name != "":
		lines = append(lines, "signed by    "+was.Signer.Grouped(), fmt.Sprintf("seen         version %d; not followed since %s", was.Version, removedOn(was.Distrusted)))
	default:
		return abi.Errorf(abi.ErrNotFound, "sync", "nothing is remembered of the lock files of %q", name).WithHint("drawbridge sync list --removed")
	}
	lines = append(lines, "From then on an older lock file of this name counts again if somebody trusts its signer.")
	if err := h.Questions.Ask(ctx, "Forget what was seen of this team's lock files?", lines, show); err != nil {
		return err
	}
	h.admin.Lock()
	defer h.admin.Unlock()
	if err := h.sameTeam(name, now, was); err != nil {
		return err
	}
	if err := h.opts.Registry.ForgetTeam(name); err != nil {
		return err
	}
	return h.Note(ctx, "team forgotten", name)
}

// knownTeam returns what is known of a team's name: whom it follows and whom it
// followed; zero values if nobody.
func (h *Host) knownTeam(name string) (registry.Team, registry.FormerTeam, error) {
	now, err := h.team(name)
	if err != nil {
		return now, registry.FormerTeam{}, err
	}
	former, err := h.opts.Registry.FormerTeams()
	for _, t := range former {
		if t.Name == name {
			return now, t, err
		}
	}
	return now, registry.FormerTeam{}, err
}

// sameTeam refuses an answer to a question about a team of which something else is
// known by now.
func (h *Host) sameTeam(name string, shown registry.Team, was registry.FormerTeam) error {
	now, before, err := h.knownTeam(name)
	if err != nil {
		return err
	}
	if now.Signer != shown.Signer || before != was {
		return abi.Errorf(abi.ErrConfirmationRequired, "sync", "what is known of the team %q changed while the question was open: nothing was done", name).
			WithHint("drawbridge sync list, and the same command again")
	}
	return nil
}
