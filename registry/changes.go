package registry

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A Change is one thing that a snapshot changed, such as a version that it lists.
type Change struct {
	Kind    ChangeKind `json:"kind"`
	Subject string     `json:"subject"`          // ns/name@version, a namespace, a fingerprint or a hash
	Detail  string     `json:"detail,omitempty"` // a channel, a key or a reason
}

// A ChangeKind says what a Change is.
type ChangeKind string

// The kinds of change.
const (
	ChangePublished      ChangeKind = "published"
	ChangeChannel        ChangeKind = "channel changed"
	ChangeYanked         ChangeKind = "yanked"
	ChangeUnyanked       ChangeKind = "unyanked"
	ChangeRewritten      ChangeKind = "REWRITTEN" // a version that was published before has other bytes
	ChangeRemoved        ChangeKind = "REMOVED"   // a version, plugin, namespace or file is gone
	ChangePublisherAdded ChangeKind = "publisher added"
	ChangePublisherEnded ChangeKind = "publisher ended"
	ChangeKeyRevoked     ChangeKind = "key revoked"
	ChangeHashRevoked    ChangeKind = "artifact revoked"
	ChangeRoot           ChangeKind = "new root"
	ChangeUnreadable     ChangeKind = "UNREADABLE"
)

// A view is one state of a registry: what its snapshot lists, and the files. The
// zero view is that before the first snapshot.
type view struct {
	files map[string]FileHash
	root  int64
	read  reader
}

func (e *edit) view() view {
	var s Snapshot
	if e.get(snapshotPath, &s) != nil {
		return view{root: e.root.Version, read: e.read}
	}
	return view{s.Files, e.root.Version, e.read}
}

// document reads a file into doc. It is left as it is where there is none; ok is
// false for one that can't be read.
func (v view) document(path string, doc document) (ok bool) {
	want, listed := v.files[path]
	if !listed {
		return true
	}
	data, err := v.read(path)
	return err == nil && want.matches(data) && decode(path, data, doc) == nil
}

// changesBetween lists what differs, by path.
func changesBetween(was, is view) []Change {
	list := []Change{}
	if was.root != is.root {
		list = append(list, rootChange(is))
	}
	all := map[string]bool{}
	for path := range was.files {
		all[path] = true
	}
	for path := range is.files {
		all[path] = true
	}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		before, after := was.files[path], is.files[path]
		if before != after {
			list = append(list, changesOf(path, was, is)...)
		}
	}
	return list
}

func changesOf(path string, was, is view) []Change {
	if _, ok := is.files[path]; !ok {
		return []Change{{ChangeRemoved, path, ""}}
	}
	switch {
	case strings.HasPrefix(path, "connectors/"):
		var before, after Index
		if was.document(path, &before) && is.document(path, &after) {
			return indexChanges(before, after)
		}
	case strings.HasPrefix(path, "namespaces/"):
		var before, after Namespace
		if was.document(path, &before) && is.document(path, &after) {
			return namespaceChanges(before, after)
		}
	case path == revocationsPath:
		var before, after Revocations
		if was.document(path, &before) && is.document(path, &after) {
			return is.named(revocationChanges(before, after))
		}
	default:
		return nil // certificates: the roles and namespaces say who counts
	}
	return []Change{{ChangeUnreadable, path, ""}}
}

func indexChanges(before, after Index) (list []Change) {
	old := map[string]Version{}
	for _, v := range before.Versions {
		old[v.Version] = v
	}
	for _, v := range after.Versions {
		name := after.Namespace + "/" + after.Name + "@" + v.Version
		o, known := old[v.Version]
		delete(old, v.Version)
		switch {
		case !known:
			list = append(list, Change{ChangePublished, name, string(v.Channel)})
			o.Yanked, o.Channel = "", v.Channel
		case o.Release != v.Release || o.Published != v.Published:
			list = append(list, Change{ChangeRewritten, name, ""})
		}
		if o.Channel != v.Channel {
			list = append(list, Change{ChangeChannel, name, string(v.Channel)})
		}
		switch {
		case o.Yanked != v.Yanked && v.Yanked != "":
			list = append(list, Change{ChangeYanked, name, v.Yanked})
		case o.Yanked != v.Yanked:
			list = append(list, Change{ChangeUnyanked, name, ""})
		}
	}
	for _, version := range slices.Sorted(maps.Keys(old)) {
		list = append(list, Change{ChangeRemoved, before.Namespace + "/" + before.Name + "@" + version, ""})
	}
	return list
}

func namespaceChanges(before, after Namespace) (list []Change) {
	for _, p := range after.Publishers {
		i := slices.IndexFunc(before.Publishers, func(o Publisher) bool { return o.Key == p.Key && o.From == p.From })
		switch {
		case i < 0:
			list = append(list, Change{ChangePublisherAdded, after.Namespace, string(p.Key)})
		case before.Publishers[i].Until == nil && p.Until != nil:
			list = append(list, Change{ChangePublisherEnded, after.Namespace, string(p.Key)})
		}
	}
	for _, o := range before.Publishers {
		if !slices.ContainsFunc(after.Publishers, func(p Publisher) bool { return o.Key == p.Key && o.From == p.From }) {
			list = append(list, Change{ChangeRemoved, after.Namespace, string(o.Key)})
		}
	}
	return list
}

func revocationChanges(before, after Revocations) (list []Change) {
	for _, k := range after.Keys {
		if !slices.ContainsFunc(before.Keys, func(o RevokedKey) bool { return o.Key == k.Key }) {
			list = append(list, Change{ChangeKeyRevoked, string(k.Key), k.Reason})
		}
	}
	for _, a := range after.Artifacts {
		if !slices.ContainsFunc(before.Artifacts, func(o RevokedArtifact) bool { return o.SHA256 == a.SHA256 }) {
			list = append(list, Change{ChangeHashRevoked, a.SHA256, a.Reason})
		}
	}
	return list
}

// named puts the versions whose module or release is revoked before the reason.
func (v view) named(list []Change) []Change {
	for i, c := range list {
		if c.Kind != ChangeHashRevoked {
			continue
		}
		if names := v.usersOf(c.Subject); len(names) > 0 {
			list[i].Detail = strings.Join(names, ", ") + ": " + c.Detail
		}
	}
	return list
}

// usersOf lists the versions that a hash is the release or the module of.
func (v view) usersOf(hash string) (names []string) {
	for _, path := range slices.Sorted(maps.Keys(v.files)) {
		var x Index
		if !strings.HasPrefix(path, "connectors/") || !v.document(path, &x) {
			continue
		}
		for _, version := range x.Versions {
			path := releasePath(x.Namespace, x.Name, version.Version)
			what := ""
			if version.Release.SHA256 == hash {
				what = "release"
			} else if data, err := v.read(path); err == nil && version.Release.matches(data) {
				if r, err := decodeRelease(path, data); err == nil && r.Module.SHA256 == hash {
					what = "module"
				}
			}
			if what != "" {
				names = append(names, what+" of "+x.Namespace+"/"+x.Name+"@"+version.Version)
			}
		}
	}
	return names
}

// rootChange says who has the roles from now on.
func rootChange(is view) Change {
	c := Change{Kind: ChangeRoot, Subject: rootPath(is.root)}
	data, err := is.read(rootPath(is.root))
	var r Root
	if err != nil || decode(c.Subject, data, &r) != nil {
		c.Kind = ChangeUnreadable
		return c
	}
	say := func(name string, role Role) string {
		return name + threshold(role) + " " + joinKeys(role.Keys)
	}
	c.Detail = strings.Join([]string{say("owner", r.Roles.Owner), say("snapshot", r.Roles.Snapshot), say("revocation", r.Roles.Revocation)}, "; ")
	return c
}

func threshold(r Role) string {
	if len(r.Keys) == 1 {
		return ""
	}
	return fmt.Sprintf(" %d of", r.Threshold)
}

func joinKeys(keys []signing.Fingerprint) string {
	text := make([]string, len(keys))
	for i, k := range keys {
		text[i] = string(k)
	}
	return strings.Join(text, " ")
}
