package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// refArriving is where modules arrive in a mirror before their hash is looked at.
const refArriving = "refs/drawbridge/arriving/"

// refNext is what a mirror's branch will be when the modules are there.
const refNext = "refs/drawbridge/next"

// How much one run of git brings into a mirror at most: what was interrupted comes
// again.
const (
	mirrorBatch      = 16
	mirrorBatchBytes = 16 << 20
)

// Mirroring says what a mirror takes and tells how far it is.
type Mirroring struct {
	// Only, if not nil, names the versions whose modules are taken. The metadata is
	// taken whole: less of it would not be what was signed.
	Only *TeamLock
	// Progress is called after each batch, with modules and bytes; may be nil.
	Progress func(done, total int, bytes, totalBytes int64)
}

// A MirrorReport says what a mirror holds now.
type MirrorReport struct {
	Registry string   `json:"registry"`
	Snapshot int64    `json:"snapshot"`
	Expires  Time     `json:"expires"`
	Expired  string   `json:"expired,omitempty"` // why clients install nothing from it, if so
	Modules  int      `json:"modules"`           // in the mirror, of those asked for
	Fetched  int      `json:"fetched"`           // of them, now
	Bytes    int64    `json:"bytes"`             // of what was fetched
	Skipped  []string `json:"skipped"`           // versions that clients would refuse, and why
}

// Mirror makes or updates a bare repository in dir that holds a registry's newest
// snapshot and its modules. Each release is verified as for an install, each module
// against its release, before the mirror names it; the branch, which names the
// modules, comes last. A mirror that was interrupted goes on where it was.
//
// Clients take a mirror for the registry itself: they verify it against the key
// that they pinned, and its snapshot expires as it does at its origin.
func (c *Client) Mirror(ctx context.Context, id, dir string, how Mirroring) (MirrorReport, error) {
	report := MirrorReport{Registry: id, Skipped: []string{}}
	m, err := c.openMirror(ctx, id, dir)
	if err != nil {
		return report, err
	}
	defer m.close()
	var modules []*verified
	err = c.verifyRef(ctx, m.repo, refNext, m.state, func(cat *catalog) error {
		m.cat = cat
		modules, err = m.missing(ctx, how.Only, &report)
		return err
	})
	if err != nil {
		return report, err
	}
	return report, m.update(ctx, modules, how, &report)
}

// A mirror is one on its way to a snapshot.
type mirror struct {
	client *Client
	repo   repository
	guard  *os.File // held while it is worked on
	from   address
	state  *state
	cat    *catalog // what refNext points to; its files can't be read any more after missing
}

// openMirror makes a mirror's repository and brings the registry's newest metadata
// into it, under a name that nobody is served.
func (c *Client) openMirror(ctx context.Context, id, dir string) (*mirror, error) {
	s, own, err := c.registryState(id)
	if err != nil {
		return nil, err
	}
	m := &mirror{client: c, state: s}
	if m.from, err = c.source(ctx, s); err != nil {
		return nil, err
	}
	if m.from.via == fromFile && sameFolder(m.from.url, dir) {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "mirror", "%q is where registry %q is fetched from", dir, id)
	}
	if err = m.open(ctx, dir); err == nil {
		err = c.exclusive(func() error { return m.copyMetadata(ctx, own) })
	}
	if err != nil {
		m.close()
		return nil, err
	}
	return m, nil
}

// sameFolder reports whether two paths lead to one folder, by whatever links.
func sameFolder(a, b string) bool {
	one, err1 := os.Stat(a)
	other, err2 := os.Stat(b)
	return a == b || err1 == nil && err2 == nil && os.SameFile(one, other)
}

// copyMetadata refreshes our copy of the registry, in own, and takes it over.
func (m *mirror) copyMetadata(ctx context.Context, own string) (err error) {
	if m.state, err = m.client.fetchRegistry(ctx, own, m.from, m.state); err != nil {
		return err
	}
	copied := address{filepath.Join(own, "git"), fromFile}
	if err := m.repo.fetch(withoutTransfer(ctx), copied, refVerified, refNext); err != nil {
		return fetchError(err, copied)
	}
	return nil
}

// open makes the repository, or takes the one that is there. One of another
// registry, or anything else, isn't written over.
func (m *mirror) open(ctx context.Context, dir string) (err error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !isMissing(err) {
		return fmt.Errorf("reading %q: %w", dir, err)
	}
	if len(entries) > 0 && !isBare(dir) {
		return abi.Errorf(abi.ErrInvalidArgs, "mirror", "%q holds something that is no mirror", dir)
	}
	if m.repo, err = create(ctx, dir, fromFile); err != nil {
		return err
	}
	if m.guard, err = os.OpenFile(filepath.Join(dir, "drawbridge.guard"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return fmt.Errorf("opening the mirror's guard file: %w", err)
	}
	if err := lockFile(m.guard); err != nil {
		return fmt.Errorf("locking the mirror: %w", err)
	}
	if err := m.repo.clearInterrupted(); err != nil {
		return err
	}
	return m.sameRegistry(ctx)
}

func (m *mirror) close() {
	if m.guard != nil {
		_ = m.guard.Close()
	}
}

// sameRegistry refuses a repository whose branch is of another registry.
func (m *mirror) sameRegistry(ctx context.Context) error {
	objects, err := m.repo.open(ctx)
	if err != nil {
		return err
	}
	defer objects.close()
	if _, err := objects.stat(branch); errors.Is(err, errNoObject) {
		return nil
	}
	t, err := readTree(objects, branch)
	if err != nil {
		return err
	}
	var s Snapshot
	data, err := t.ReadFile(snapshotPath)
	if err == nil {
		err = decode(snapshotPath, data, &s)
	}
	if err != nil || s.Registry != m.state.Registry {
		return abi.Errorf(abi.ErrInvalidArgs, "mirror", "%q holds something that is no mirror of registry %q", m.repo.dir, m.state.Registry)
	}
	return nil
}

// update brings the modules, and then lets the branch name them.
func (m *mirror) update(ctx context.Context, modules []*verified, how Mirroring, report *MirrorReport) error {
	count, total := len(modules), int64(0)
	for _, v := range modules {
		total += v.Module.Size
	}
	for len(modules) > 0 {
		n, size := batchOf(modules)
		if err := m.bring(ctx, modules[:n]); err != nil {
			return err
		}
		modules = modules[n:]
		report.Fetched, report.Bytes = report.Fetched+n, report.Bytes+size
		if how.Progress != nil {
			how.Progress(report.Fetched, count, report.Bytes, total)
		}
	}
	if _, err := m.repo.run(ctx, nil, "update-ref", branch, refNext); err != nil {
		return fmt.Errorf("moving the mirror's branch: %w", err)
	}
	report.Modules += report.Fetched
	report.Snapshot, report.Expires, report.Expired = m.cat.snapshot.Version, m.cat.snapshot.Expires, m.cat.expired
	return nil
}

// missing lists the releases whose modules are to be fetched, each module once.
func (m *mirror) missing(ctx context.Context, only *TeamLock, report *MirrorReport) (list []*verified, err error) {
	objects, err := m.repo.open(ctx)
	if err != nil {
		return nil, err
	}
	defer objects.close()
	seen := map[string]bool{}
	take := func(v *verified) {
		if v.Module == (abi.Module{}) || seen[v.Module.SHA256] {
			return
		}
		seen[v.Module.SHA256] = true
		if o, err := objects.stat(artifactRef(v.Module.SHA256)); err == nil && o.kind == "blob" && o.size == v.Module.Size {
			report.Modules++
			return
		}
		list = append(list, v)
	}
	return list, m.eachRelease(ctx, only, take, &report.Skipped)
}

// eachRelease verifies every release that is asked for. One that clients would
// refuse is skipped, unless it was asked for by name.
func (m *mirror) eachRelease(ctx context.Context, only *TeamLock, take func(*verified), skipped *[]string) error {
	for _, ref := range m.cat.plugins() {
		if only != nil && !only.Has(ref.Plugin()) {
			continue
		}
		x, err := m.cat.index(ref)
		if err != nil {
			return err
		}
		for _, v := range x.Versions {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			pinned := only.pins(ref, v)
			if only != nil && !pinned {
				continue
			}
			release, err := m.cat.release(ref, v)
			switch {
			case err == nil:
				take(release)
			case pinned:
				return err
			default:
				*skipped = append(*skipped, fmt.Sprintf("%s %s: %v", ref.Plugin(), v.Version, err))
			}
		}
	}
	return m.hasAll(only)
}

// pins reports whether l names this version.
func (l *TeamLock) pins(ref Ref, v Version) bool {
	if l == nil {
		return false
	}
	for _, p := range l.Plugins {
		if p.Registry == ref.Registry && p.Plugin() == ref.Plugin() {
			return p.Version == v.Version && p.Release == v.Release
		}
	}
	return false
}

// hasAll refuses a lock file with versions that the registry doesn't have.
func (m *mirror) hasAll(only *TeamLock) error {
	if only == nil {
		return nil
	}
	for _, p := range only.Plugins {
		if p.Registry != m.cat.root.Registry {
			continue
		}
		x, err := m.cat.index(p.Ref())
		if err != nil {
			return err
		}
		found := false
		for _, v := range x.Versions {
			found = found || v.Version == p.Version && v.Release == p.Release
		}
		if !found {
			return refuse(abi.ReasonTampered, m.cat.signers, "registry %q has no %q version %q like the one that the lock file pins",
				p.Registry, p.Plugin(), p.Version)
		}
	}
	return nil
}

// batchOf says how many of the modules come together, and their size.
func batchOf(modules []*verified) (n int, size int64) {
	for n < min(len(modules), mirrorBatch) && (n == 0 || size+modules[n].Module.Size <= mirrorBatchBytes) {
		size += modules[n].Module.Size
		n++
	}
	return n, size
}

// bring fetches modules together, and one by one where not all have a ref of
// their own.
func (m *mirror) bring(ctx context.Context, modules []*verified) error {
	refs := make([]string, len(modules))
	for i, v := range modules {
		refs[i] = "+" + artifactRef(v.Module.SHA256) + ":" + refArriving + v.Module.SHA256
	}
	err := m.repo.fetchAll(ctx, m.from, refs)
	if err != nil && !noSuchRef(err) {
		return fetchError(err, m.from)
	}
	if err != nil {
		for _, v := range modules {
			if err := m.bringOne(ctx, v); err != nil {
				return err
			}
		}
		return nil
	}
	for _, v := range modules {
		if err := m.admit(ctx, v); err != nil {
			return err
		}
	}
	return nil
}

// bringOne takes a module from wherever a client would.
func (m *mirror) bringOne(ctx context.Context, v *verified) error {
	to := refArriving + v.Module.SHA256
	err := m.repo.fetch(ctx, m.from, artifactRef(v.Module.SHA256), to)
	if noSuchRef(err) {
		err = m.repo.fetch(ctx, m.from, artifactTag(v.Module.SHA256), to)
	}
	if noSuchRef(err) {
		return m.download(ctx, v)
	}
	if err != nil {
		return fetchError(err, m.from)
	}
	return m.admit(ctx, v)
}

// download takes a module from the URL in its release.
func (m *mirror) download(ctx context.Context, v *verified) error {
	wasm, err := m.client.fetchURL(ctx, v)
	if err != nil {
		return err
	}
	id, err := m.repo.run(ctx, bytes.NewReader(wasm), "hash-object", "-w", "--stdin")
	if err != nil {
		return fmt.Errorf("storing the module: %w", err)
	}
	if _, err := m.repo.run(ctx, nil, "update-ref", refArriving+v.Module.SHA256, strings.TrimSpace(id)); err != nil {
		return fmt.Errorf("naming the module: %w", err)
	}
	return m.admit(ctx, v)
}

// admit names a module that arrived, if it is the one that its release names.
func (m *mirror) admit(ctx context.Context, v *verified) error {
	objects, err := m.repo.open(ctx)
	if err != nil {
		return err
	}
	defer objects.close()
	arrived := refArriving + v.Module.SHA256
	wasm, err := objects.read(arrived, "blob", v.Module.Size)
	if err != nil || int64(len(wasm)) != v.Module.Size || hashOf(wasm) != v.Module.SHA256 {
		_, _ = m.repo.run(ctx, nil, "update-ref", "-d", arrived) // what stands there is never served as an artifact
		return refuseFor(err, abi.ReasonTampered, m.cat.signers, "the module of %q version %q isn't the one that the release names", v.Name, v.Version)
	}
	if _, err := m.repo.run(ctx, nil, "update-ref", artifactRef(v.Module.SHA256), arrived); err != nil {
		return fmt.Errorf("naming the module: %w", err)
	}
	if _, err := m.repo.run(ctx, nil, "update-ref", "-d", arrived); err != nil {
		return fmt.Errorf("tidying the mirror: %w", err)
	}
	return nil
}
