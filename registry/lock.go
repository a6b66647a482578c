package registry

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

const typeLock = "drawbridge-lock"

// A Lock is the lock file: which version of each plugin is active. Writing it is
// the one step that makes an install, a rollback or a removal happen.
type Lock struct {
	Type    string  `json:"type"`
	Format  int     `json:"format"`
	Plugins []Entry `json:"plugins"` // sorted by namespace and name
}

// An Entry pins one installed version. The release's hash covers everything that
// was consented to: tools, their texts, flags and grants.
type Entry struct {
	Registry  string              `json:"registry"`
	Namespace string              `json:"namespace"`
	Name      string              `json:"name"`
	Version   string              `json:"version"`
	Snapshot  int64               `json:"snapshot"` // the snapshot's version when it was installed
	Release   FileHash            `json:"release"`
	Module    FileHash            `json:"module"`
	Signer    signing.Fingerprint `json:"signer"` // the publisher
	Key       signing.Fingerprint `json:"key"`    // the key or subkey of it that signed
	Signed    Time                `json:"signed"`
	Consented Time                `json:"consented"`
	// Channel is what updates follow: empty for stable versions alone.
	Channel  Channel `json:"channel,omitempty"`
	Pinned   bool    `json:"pinned,omitempty"`   // updates leave it as it is
	Previous *Entry  `json:"previous,omitempty"` // what Rollback goes back to; without channel and pin
}

// Plugin returns "namespace/name".
func (e Entry) Plugin() string { return e.Namespace + "/" + e.Name }

func (e Entry) keys() []signing.Fingerprint {
	if e.Key == e.Signer {
		return []signing.Fingerprint{e.Signer}
	}
	return []signing.Fingerprint{e.Signer, e.Key}
}

func (l *Lock) check() error {
	if l.Type != typeLock || l.Format != Format || l.Plugins == nil {
		return fmt.Errorf("type %q and format %d, want %q and %d", l.Type, l.Format, typeLock, Format)
	}
	for i, e := range l.Plugins {
		if err := e.check(); err != nil {
			return err
		}
		if i > 0 && l.Plugins[i-1].Plugin() >= e.Plugin() {
			return errors.New("plugins that aren't sorted and different")
		}
	}
	return nil
}

func (e Entry) check() error {
	names := validID(e.Registry) && validName(e.Namespace) && validName(e.Name) && validVersion(e.Version)
	hashes := validHash(e.Release.SHA256) && validHash(e.Module.SHA256) && e.Release.Size > 0 && e.Module.Size > 0
	if !names || !hashes || !e.Signer.Valid() || !e.Key.Valid() {
		return fmt.Errorf("entry %q version %q", e.Plugin(), e.Version)
	}
	if e.Channel != "" && e.Channel != Beta {
		return fmt.Errorf("entry %q that follows channel %q", e.Plugin(), e.Channel)
	}
	if e.Previous == nil {
		return nil
	}
	if e.Previous.Channel != "" || e.Previous.Pinned {
		return fmt.Errorf("entry %q whose previous version has a channel or a pin", e.Plugin())
	}
	if e.Previous.Previous != nil || e.Previous.Plugin() != e.Plugin() || e.Previous.Registry != e.Registry {
		return fmt.Errorf("entry %q whose previous version doesn't belong to it", e.Plugin())
	}
	return e.Previous.check()
}

// find returns the entry of a plugin, or nil.
func (l *Lock) find(plugin string) *Entry {
	i := slices.IndexFunc(l.Plugins, func(e Entry) bool { return e.Plugin() == plugin })
	if i < 0 {
		return nil
	}
	return &l.Plugins[i]
}

// with returns a lock in which e takes the place of its plugin's entry.
func (l *Lock) with(e Entry) *Lock {
	out := l.without(e.Plugin())
	out.Plugins = append(out.Plugins, e)
	slices.SortFunc(out.Plugins, func(a, b Entry) int { return strings.Compare(a.Plugin(), b.Plugin()) })
	return out
}

func (l *Lock) without(plugin string) *Lock {
	kept := slices.DeleteFunc(slices.Clone(l.Plugins), func(e Entry) bool { return e.Plugin() == plugin })
	return &Lock{typeLock, Format, append([]Entry{}, kept...)}
}

// hashes lists what the store must keep for l.
func (l *Lock) hashes() map[string]bool {
	keep := map[string]bool{}
	for _, e := range l.Plugins {
		keep[e.Release.SHA256], keep[e.Module.SHA256] = true, true
		if p := e.Previous; p != nil {
			keep[p.Release.SHA256], keep[p.Module.SHA256] = true, true
		}
	}
	return keep
}

// readLock reads the lock file. None is an empty lock; one that is damaged is
// refused, because guessing would undo what was pinned.
func readLock(path string) (*Lock, error) {
	var l Lock
	err := readOwn(path, &l, maxLockFile)
	if err == nil {
		return &l, nil
	}
	if isMissing(err) {
		return &Lock{typeLock, Format, []Entry{}}, nil
	}
	if e, ok := errors.AsType[*abi.Error](err); ok {
		e.Hint = "restore " + path + " from a copy, or remove it and install the plugins again"
		return nil, err
	}
	return nil, fmt.Errorf("reading the lock file: %w", err)
}

func (l *Lock) write(path string) error {
	if err := writeOwn(path, l, maxLockFile); err != nil {
		return fmt.Errorf("writing the lock file: %w", err)
	}
	return nil
}
