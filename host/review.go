package host

import (
	"fmt"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/registry"
)

// changesOf lists what is different about a version that would take the place of
// another one, the worst first. Nothing is known about one that takes no place.
func changesOf(rev registry.Review, settings map[string]string) []release.Change {
	if rev.Previous == nil || rev.Entry == nil {
		return []release.Change{}
	}
	plugin := rev.Entry.Plugin()
	list := []release.Change{}
	add := func(kind release.ChangeKind, format string, args ...any) {
		list = append(list, release.Change{Kind: kind, Who: plugin, Text: fmt.Sprintf(format, args...)})
	}
	if rev.Signer.Primary != rev.Entry.Signer {
		add(release.Wider, "is signed by ANOTHER PUBLISHER, %s, and was signed by %s", rev.Signer.Primary.Grouped(), rev.Entry.Signer.Grouped())
	} else if rev.Signer.Key != rev.Entry.Key {
		add(release.Noted, "is signed with another key of its publisher, %s", rev.Signer.Key.Grouped())
	}
	if rev.Unsound != nil {
		add(release.Told, "the version that is installed is not in use: %s", Safe(rev.Unsound).Error())
	}
	if rev.Entry.Pinned && rev.Release.Version != rev.Entry.Version {
		add(release.Told, "is pinned at %s", rev.Entry.Version)
	}
	if rev.Channel == registry.Beta && rev.Entry.Channel != registry.Beta {
		add(release.Told, "follows the channel beta from now on: versions that its publisher calls unfinished")
	}
	return append(list, release.Compare(*rev.Previous, rev.Release, settings)...)
}

// reviewLines are what a person reads about one version: what changes, if another
// one was agreed to before, else all that it may do.
func reviewLines(rev registry.Review, settings map[string]string, changes []release.Change) []string {
	rel := rev.Release
	lines := []string{
		"signed by    " + rev.Signer.Primary.Grouped(),
		"registry     " + rev.Registry.ID,
	}
	lines = append(lines, noticeLines(rev)...)
	if rev.Previous == nil {
		return append(lines, release.Explain(rel, settings)...)
	}
	lines = append([]string{fmt.Sprintf("%s/%s %s, in place of %s", rel.Namespace, rel.Name, rel.Version, rev.Previous.Version)}, lines...)
	for _, group := range []struct {
		kind release.ChangeKind
		lead string
	}{
		{release.Wider, "MORE         "},
		{release.Told, "other        "},
		{release.Narrower, "less         "},
		{release.Noted, "note         "},
	} {
		for _, c := range changes {
			if c.Kind == group.kind {
				lines = append(lines, group.lead+c.String())
			}
		}
	}
	return append(lines, "The rest of what it may do is as you agreed to it before.")
}

// installable refuses at once what could not be loaded afterwards.
func installable(rel abi.Release, settings map[string]string) error {
	if rel.ABI.Min > abi.Version || rel.ABI.Max < abi.Version {
		return abi.Errorf(abi.ErrUnsupportedAction, "install", "it needs ABI version %d to %d, this host has %d", rel.ABI.Min, rel.ABI.Max, abi.Version)
	}
	for i := range rel.Connectors {
		if _, err := resolve(&rel.Connectors[i], settings); err != nil {
			return err
		}
	}
	return nil
}

func settingsChanged(plugin string) error {
	return abi.Errorf(abi.ErrConfirmationRequired, "install", "the settings of %q changed while the question was open: nothing was installed", plugin).
		WithHint("drawbridge install %s", plugin)
}
