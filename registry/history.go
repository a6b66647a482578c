package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// maxHistory is how many commits of a registry are followed.
const maxHistory = 100_000

// maxCommit bounds one commit object.
const maxCommit = 64 << 10

// A LogEntry is one snapshot of a registry's history.
type LogEntry struct {
	Commit  string                `json:"commit"`
	Version int64                 `json:"snapshot"`
	Root    int64                 `json:"root"`
	Issued  time.Time             `json:"issued"`
	Expires time.Time             `json:"expires"`
	Signers []signing.Fingerprint `json:"signers"`
	Changes []Change              `json:"changes"` // empty for one that only renews
	// Problem says why clients would have refused it, or that it doesn't follow the
	// snapshot before it; empty if all is well.
	Problem string `json:"problem,omitempty"`
}

// A History is what a registry's branch went through, newest first.
type History struct {
	Registry string              `json:"registry"`
	Pinned   signing.Fingerprint `json:"pinned"`
	Entries  []LogEntry          `json:"snapshots"`
	Whole    bool                `json:"whole"` // it goes back to the first snapshot
}

// Broken reports whether a snapshot has a problem.
func (h *History) Broken() bool {
	return slices.ContainsFunc(h.Entries, func(e LogEntry) bool { return e.Problem != "" })
}

// LogOptions say which history is read.
type LogOptions struct {
	Source string              // an address or a path, as at AddRegistry
	Ref    string              // empty means the registry's branch
	Pinned signing.Fingerprint // of an owner; empty takes the first root at its word
	Limit  int                 // how many snapshots; 0 means all
	Clock  Clock
}

// Log reads and verifies the history of a registry: each snapshot's signature under
// the root of its time, and that it names the one before by its hash. A snapshot
// that fails is listed with its problem; an error says that nothing could be read.
func Log(ctx context.Context, opts LogOptions) (*History, error) {
	if opts.Clock == nil {
		opts.Clock = time.Now
	}
	from, err := parseAddress(opts.Source)
	if err != nil {
		return nil, err
	}
	ref := opts.Ref
	if ref == "" {
		ref = branch
	}
	if err := checkRefName(ref); err != nil {
		return nil, err
	}
	var h *History
	err = inScratch(func(dir string) error {
		repo, err := create(ctx, filepath.Join(dir, "git"), from.via)
		if err != nil {
			return err
		}
		if _, err := repo.fetchNamed(ctx, from, ref, refIncoming, fetchHow{whole: true}); err != nil {
			return fetchError(err, from)
		}
		objects, err := repo.open(ctx)
		if err != nil {
			return err
		}
		defer objects.close()
		h, err = readHistory(objects, opts)
		return err
	})
	return h, err
}

// inScratch runs f with a directory that lives as long as it does.
func inScratch(f func(dir string) error) (err error) {
	dir, err := os.MkdirTemp("", "drawbridge-registry-")
	if err != nil {
		return fmt.Errorf("making a scratch directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	return f(dir)
}

// A past is one commit with the snapshot in it.
type past struct {
	commit   string
	id       string // of the blob
	bytes    []byte
	snapshot Snapshot
	read     reader // at the commit that brought it
	latest   reader // at the last commit that has it: what a client met
}

// readHistory lists the snapshots below refIncoming.
func readHistory(o *objects, opts LogOptions) (*History, error) {
	pasts, whole, err := snapshotsOf(o, opts.Limit)
	if err != nil {
		return nil, err
	}
	if len(pasts) == 0 {
		return nil, malformed(snapshotPath, "no commit has one")
	}
	h := &History{Registry: pasts[0].snapshot.Registry, Pinned: opts.Pinned, Whole: whole, Entries: []LogEntry{}}
	if h.Pinned == "" {
		if h.Pinned, err = firstOwner(pasts[0].read, opts.Clock()); err != nil {
			return nil, err
		}
	}
	for i, p := range pasts {
		if opts.Limit > 0 && i == opts.Limit {
			h.Whole = false // the rest is there, and wasn't asked for
			break
		}
		var before *past
		if i+1 < len(pasts) {
			before = &pasts[i+1]
		}
		h.Entries = append(h.Entries, p.entry(before, whole, h.Pinned, opts.Clock()))
	}
	return h, nil
}

// snapshotsOf goes back through the first parents and collects each snapshot at the
// commit that brought it; one more than limit, to compare the last with. whole is
// false if the history ends early.
func snapshotsOf(o *objects, limit int) (list []past, whole bool, err error) {
	next := refIncoming
	for range maxHistory {
		commit, parent, err := readCommit(o, next)
		if errors.Is(err, errNoObject) {
			return list, false, nil // a shallow copy
		}
		if err != nil {
			return nil, false, malformed(next, "%w", err)
		}
		p, err := pastOf(o, commit)
		switch {
		case err != nil:
			return nil, false, err
		case p == nil: // before the registry
		case len(list) > 0 && list[len(list)-1].id == p.id:
			p.latest = list[len(list)-1].latest
			list[len(list)-1] = *p // the earlier commit brought it
		case limit > 0 && len(list) > limit:
			return list, true, nil
		default:
			list = append(list, *p)
		}
		if parent == "" {
			return list, true, nil
		}
		next = parent
	}
	return list, false, nil
}

// readCommit returns a commit's id and its first parent.
func readCommit(o *objects, name string) (id, parent string, err error) {
	obj, err := o.stat(name)
	if err != nil {
		return "", "", err
	}
	data, err := o.read(obj.id, "commit", maxCommit)
	if err != nil {
		return "", "", err
	}
	parent, err = firstParent(data, len(obj.id))
	return obj.id, parent, err
}

// firstParent reads a commit object as far as its first parent; "" if it has none.
func firstParent(commit []byte, idSize int) (string, error) {
	tree, rest, _ := bytes.Cut(commit, []byte("\n"))
	if !bytes.HasPrefix(tree, []byte("tree ")) {
		return "", errors.New("a commit object without a tree")
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	id, ok := bytes.CutPrefix(line, []byte("parent "))
	if !ok {
		return "", nil
	}
	if len(id) != idSize || len(bytes.Trim(id, "0123456789abcdef")) > 0 {
		return "", errors.New("a commit object whose parent isn't an object id")
	}
	return string(id), nil
}

// pastOf reads the snapshot of a commit; nil if there is none.
func pastOf(o *objects, commit string) (*past, error) {
	p := &past{commit: commit, read: readerAt(o, commit)}
	p.latest = p.read
	obj, err := o.stat(commit + ":" + snapshotPath)
	if errors.Is(err, errNoObject) {
		return nil, nil
	}
	if err == nil {
		p.id = obj.id
		p.bytes, err = p.read(snapshotPath)
	}
	if err == nil {
		err = decode(snapshotPath, p.bytes, &p.snapshot)
	}
	return p, err
}

// readerAt reads single files of a commit.
func readerAt(o *objects, commit string) reader {
	return func(path string) ([]byte, error) {
		data, err := o.read(commit+":"+path, "blob", abi.MaxMetadata)
		if errors.Is(err, errNoObject) {
			return nil, missingError{path}
		}
		return data, err
	}
}

// entry verifies one snapshot against the one before, which is nil for the first
// one that is there.
func (p *past) entry(before *past, whole bool, pinned signing.Fingerprint, now time.Time) LogEntry {
	s := p.snapshot
	e := LogEntry{
		Commit: p.commit, Version: s.Version, Root: s.Root, Issued: s.Issued.Time, Expires: s.Expires.Time,
		Signers: []signing.Fingerprint{}, Changes: []Change{},
	}
	roots, err := followRoots(p.latest, pinned, now)
	if err == nil {
		var verdict signing.Verdict
		verdict, err = judge{p.latest, now}.verify(snapshotPath, p.bytes, roots.newest.Roles.Snapshot, signing.Archive)
		e.Signers = append(e.Signers, keysOf(verdict)...)
	}
	if err == nil && roots.newest.Version != s.Root {
		err = fmt.Errorf("it is for root version %d, beside root version %d", s.Root, roots.newest.Version)
	}
	if err == nil {
		err = p.follows(before, whole, roots.newest)
	}
	if err != nil {
		e.Problem = err.Error()
	}
	var was view
	if before != nil {
		was = before.view()
	}
	if before != nil || whole {
		e.Changes = changesBetween(was, p.view())
	}
	return e
}

// follows checks the hash chain.
func (p *past) follows(before *past, whole bool, root *Root) error {
	s := p.snapshot
	switch {
	case before == nil && whole && s.Previous != "":
		return fmt.Errorf("the chain is broken: it follows a snapshot with hash %s, and there is none before it", s.Previous)
	case before == nil:
		return nil
	case before.snapshot.Registry != s.Registry:
		return fmt.Errorf("the snapshot before is of registry %q", before.snapshot.Registry)
	case s.Previous == "" && s.Root > before.snapshot.Root && otherSnapshotKeys(before, root):
		return nil // the owners let the count start again
	case s.Previous != hashOf(before.bytes):
		return fmt.Errorf("the chain is broken: it follows a snapshot with hash %q, and version %d before it has %s", s.Previous, before.snapshot.Version, hashOf(before.bytes))
	case s.Version <= before.snapshot.Version:
		return fmt.Errorf("its version isn't above %d, that of the snapshot before", before.snapshot.Version)
	}
	return nil
}

func otherSnapshotKeys(before *past, root *Root) bool {
	var old Root
	data, err := before.read(rootPath(before.snapshot.Root))
	return err == nil && decode(rootPath(before.snapshot.Root), data, &old) == nil && !slices.Equal(old.Roles.Snapshot.Keys, root.Roles.Snapshot.Keys)
}

func (p *past) view() view { return view{p.snapshot.Files, p.snapshot.Root, p.read} }
