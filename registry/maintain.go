package registry

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// How long what a Maintainer signs is good for.
const (
	rootLife     = 365 * 24 * time.Hour
	snapshotLife = maxSnapshotLife
)

// A Signer makes detached signatures. *signing.SecretKey is one; a smart card or a
// signing service can be another. How it gets its passphrase is its own affair.
type Signer interface {
	// Certificate returns the public part.
	Certificate() signing.Certificate
	// Sign returns an armored detached signature over data, dated now.
	Sign(data []byte, now time.Time) ([]byte, error)
}

// Keys are the signers that an operation may use. Operations say which roles they
// need; the others may be empty.
type Keys struct {
	Owners     []Signer
	Snapshot   []Signer
	Revocation []Signer
}

// A Maintainer changes a registry in a local bare repository. Each change is one
// commit with a new snapshot, so that no state in between is ever visible. It
// builds only on a state that the registry's own keys vouch for (trusted).
type Maintainer struct {
	repo    repository
	clock   Clock
	partial bool // see Partial
}

// OpenMaintainer works on the bare repository in dir. A nil clock means time.Now.
func OpenMaintainer(dir string, clock Clock) *Maintainer {
	if clock == nil {
		clock = time.Now
	}
	return &Maintainer{repo: repository{dir, fromFile}, clock: clock}
}

// Init makes a registry in dir, which must not hold one yet: its first root, an
// empty list of revocations, and a snapshot. All three roles of keys are needed;
// every key given gets its role, and as many signatures are required as there are
// keys in the role.
func Init(ctx context.Context, dir, id string, keys Keys, clock Clock) (*Maintainer, error) {
	if !validID(id) {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "", "registry id %q, want lower-case letters, digits, dots and dashes", id)
	}
	m := OpenMaintainer(dir, clock)
	if _, err := create(ctx, dir, fromFile); err != nil {
		return nil, err
	}
	if m.repo.hasRef(ctx, branch) {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "", "%q holds a registry already", dir)
	}
	e := &edit{files: map[string][]byte{}, keys: keys, now: m.clock()}
	if err := e.addRoot(id, 1, keys.Owners); err != nil {
		return nil, err
	}
	empty := &Revocations{typeRevocations, Format, id, 1, []RevokedKey{}, []RevokedArtifact{}}
	if err := e.putSigned(revocationsPath, empty, keys.Revocation); err != nil {
		return nil, err
	}
	return m, m.commit(ctx, e, "init")
}

// roleOf makes the role of a set of signers.
func roleOf(signers []Signer) Role {
	var r Role
	for _, s := range signers {
		r.Keys = append(r.Keys, s.Certificate().Fingerprint)
	}
	slices.Sort(r.Keys)
	r.Keys = slices.Compact(r.Keys)
	r.Threshold = len(r.Keys)
	return r
}

// An edit is a registry's files on their way to the next commit.
type edit struct {
	files   map[string][]byte
	root    Root
	keys    Keys
	now     time.Time
	signed  []string // paths of what this edit signs, in order
	base    string   // commit of the branch that this is an edit of; empty for a new registry
	pending string   // commit that it was put aside in; empty if it wasn't
	roots   bool     // this edit makes a new root, so that everything is vouched for anew
}

// addRoot writes the root with that version for e.keys, signed by signers.
func (e *edit) addRoot(id string, version int64, signers []Signer) error {
	e.root = Root{
		Type: typeRoot, Format: Format, Registry: id, Version: version, Issued: At(e.now), Expires: At(e.now.Add(rootLife)),
		Roles: Roles{roleOf(e.keys.Owners), roleOf(e.keys.Snapshot), roleOf(e.keys.Revocation)},
	}
	for _, s := range slices.Concat(e.keys.Owners, e.keys.Snapshot, e.keys.Revocation) {
		e.addKey(s.Certificate())
	}
	e.roots = true
	return e.putSigned(rootPath(version), &e.root, signers)
}

func (e *edit) addKey(c signing.Certificate) { e.files[keyPath(c.Fingerprint)] = c.Armored() }

// put writes a document in canonical form. It refuses one that a client would.
func (e *edit) put(path string, doc document) ([]byte, error) {
	if err := doc.check(); err != nil {
		return nil, abi.Errorf(abi.ErrInvalidArgs, "", "%q would be malformed: %w", path, err)
	}
	data, err := canonical(doc)
	if err == nil {
		err = fitsIn(path, data)
	}
	if err != nil {
		return nil, err
	}
	e.files[path] = data
	return data, nil
}

// putSigned writes a document and the signatures of all signers.
func (e *edit) putSigned(path string, doc document, signers []Signer) error {
	data, err := e.put(path, doc)
	if err != nil {
		return err
	}
	return e.sign(path, data, signers)
}

// sign writes the signatures of those signers that clients will ask for. If that
// is none, all of them sign: vouched then says whose signature is missing.
func (e *edit) sign(path string, data []byte, signers []Signer) error {
	e.signed = append(e.signed, path)
	asked := e.keysFor(path)
	mine := slices.DeleteFunc(slices.Clone(signers), func(s Signer) bool {
		return !slices.Contains(asked, s.Certificate().Fingerprint)
	})
	if len(mine) == 0 {
		mine = signers
	}
	delete(e.files, signaturePath(path))
	if len(mine) == 0 {
		return nil
	}
	sig, err := signAll(data, mine, e.now)
	if err != nil {
		return fmt.Errorf("signing %q: %w", path, err)
	}
	e.files[signaturePath(path)] = sig
	return nil
}

func signAll(data []byte, signers []Signer, now time.Time) ([]byte, error) {
	var all [][]byte
	done := map[signing.Fingerprint]bool{}
	for _, s := range signers {
		f := s.Certificate().Fingerprint
		if done[f] {
			continue
		}
		done[f] = true
		sig, err := s.Sign(data, now)
		if err != nil {
			return nil, err
		}
		all = append(all, sig)
	}
	return signing.Join(all...)
}

// get reads a document that is there.
func (e *edit) get(path string, doc document) error {
	data, ok := e.files[path]
	if !ok {
		return abi.Errorf(abi.ErrNotFound, "", "the registry has no %q", path)
	}
	return decode(path, data, doc)
}

// load reads the registry's files at a ref.
func (m *Maintainer) load(ctx context.Context, ref string, keys Keys) (*edit, error) {
	if err := m.repo.exists(); err != nil {
		return nil, err
	}
	objects, err := m.repo.open(ctx)
	if err != nil {
		return nil, err
	}
	defer objects.close()
	commit, err := objects.stat(ref + "^{commit}")
	if ref == branch && errors.Is(err, errNoObject) {
		return nil, noRegistry(m.repo.dir)
	}
	if err != nil {
		return nil, malformed(ref, "%w", err)
	}
	t, err := readTree(objects, commit.id)
	if err != nil {
		return nil, err
	}
	e := &edit{files: map[string][]byte{}, keys: keys, now: m.clock(), base: commit.id}
	for path := range t.files {
		if e.files[path], err = t.ReadFile(path); err != nil {
			return nil, err
		}
	}
	for n := int64(1); ; n++ {
		if _, ok := e.files[rootPath(n)]; !ok {
			break
		}
		e.root = Root{}
		if err := e.get(rootPath(n), &e.root); err != nil {
			return nil, err
		}
	}
	if e.root.Version == 0 {
		return nil, malformed(rootPath(1), "it is missing")
	}
	return e, nil
}

// change loads, edits and commits.
func (m *Maintainer) change(ctx context.Context, keys Keys, what string, f func(*edit) error) error {
	e, err := m.load(ctx, branch, keys)
	if err != nil {
		return err
	}
	if err := e.trusted(); err != nil {
		return err
	}
	if err := f(e); err != nil {
		return err
	}
	return m.commit(ctx, e, what)
}

// commit signs a snapshot of the files and commits all of it.
func (m *Maintainer) commit(ctx context.Context, e *edit, what string) error {
	if err := e.addSnapshot(); err != nil {
		return err
	}
	if err := e.vouched(); err != nil {
		if m.partial && len(e.missing()) > 0 {
			return m.write(ctx, e, pendingRef, what)
		}
		return e.partialHint(err)
	}
	return m.write(ctx, e, branch, what)
}

// write commits an edit's files to a ref, on top of the state that the edit was made
// for. If the branch is another by now, nothing is written: what somebody else has
// signed meanwhile, such as a revocation, would be undone.
func (m *Maintainer) write(ctx context.Context, e *edit, ref, what string) error {
	if err := e.fits(); err != nil {
		return err
	}
	made := "refs/drawbridge/writing/" + strings.ToLower(rand.Text())
	if _, err := m.repo.run(ctx, bytes.NewReader(e.stream(made, what)), "fast-import", "--quiet", "--date-format=raw"); err != nil {
		return fmt.Errorf("committing: %w", err)
	}
	_, err := m.repo.run(ctx, strings.NewReader(e.moves(ref, made)), "update-ref", "--stdin")
	if err == nil {
		return nil
	}
	_, _ = m.repo.run(ctx, nil, "update-ref", "-d", made)
	return abi.Errorf(abi.ErrConfirmationRequired, "", "the registry was changed meanwhile, by another command: nothing was written: %w", err).
		WithHint("the same command again")
}

// fits refuses a state that no client would read, nor this program again.
func (e *edit) fits() error {
	if len(e.files) > maxTreeFiles {
		return abi.Errorf(abi.ErrLimitExceeded, "", "the registry would have %d files, and clients read %d: nothing was written", len(e.files), maxTreeFiles)
	}
	for _, path := range slices.Sorted(maps.Keys(e.files)) {
		if err := fitsIn(path, e.files[path]); err != nil {
			return err
		}
	}
	return nil
}

func fitsIn(path string, data []byte) error {
	if len(data) <= abi.MaxMetadata {
		return nil
	}
	return abi.Errorf(abi.ErrLimitExceeded, "", "%q would have %d bytes, and clients read %d: nothing was written", path, len(data), abi.MaxMetadata)
}

// moves makes ref, and no other, what was made, in one transaction of git's.
func (e *edit) moves(ref, made string) string {
	var b strings.Builder
	b.WriteString("start\n")
	switch {
	case ref != branch:
		fmt.Fprintf(&b, "verify %s %s\nupdate %s %s %s\n", branch, e.base, ref, made, e.pending)
	case e.base == "":
		fmt.Fprintf(&b, "create %s %s\n", branch, made)
	default:
		fmt.Fprintf(&b, "update %s %s %s\n", branch, made, e.base)
	}
	if ref == branch && e.pending != "" {
		fmt.Fprintf(&b, "delete %s %s\n", pendingRef, e.pending)
	}
	fmt.Fprintf(&b, "delete %s\ncommit\n", made)
	return strings.ReplaceAll(b.String(), " \n", "\n")
}

// addSnapshot lists every file that a snapshot vouches for.
func (e *edit) addSnapshot() error {
	s := Snapshot{
		Type: typeSnapshot, Format: Format, Registry: e.root.Registry, Version: 1, Root: e.root.Version,
		Issued: At(e.now), Expires: At(e.now.Add(snapshotLife)), Files: map[string]FileHash{},
	}
	if data, ok := e.files[snapshotPath]; ok {
		var last Snapshot
		if err := decode(snapshotPath, data, &last); err != nil {
			return err
		}
		s.Version, s.Previous = last.Version+1, hashOf(data)
	}
	for path, data := range e.files {
		if inSnapshot(path) {
			s.Files[path] = fileHash(data)
		}
	}
	return e.putSigned(snapshotPath, &s, e.keys.Snapshot)
}

// inSnapshot leaves out what vouches for itself: roots, and releases by the hash
// in their index; and signatures, which can be changed without becoming invalid.
func inSnapshot(path string) bool {
	switch top, _, _ := strings.Cut(path, "/"); top {
	case "keys":
		return true
	case "namespaces", revocationsPath:
		return strings.HasSuffix(path, ".json")
	case "connectors":
		return strings.HasSuffix(path, "/index.json")
	}
	return false
}

// stream is the whole tree as "git fast-import" reads it.
func (e *edit) stream(ref, what string) []byte {
	var b bytes.Buffer
	message := "registry: " + what + "\n"
	fmt.Fprintf(&b, "commit %s\ncommitter drawbridge <> %d +0000\ndata %d\n%s", ref, e.now.Unix(), len(message), message)
	if e.base != "" {
		fmt.Fprintf(&b, "from %s\ndeleteall\n", e.base)
	}
	for _, path := range slices.Sorted(maps.Keys(e.files)) {
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n", path, len(e.files[path]))
		b.Write(e.files[path])
		b.WriteByte('\n')
	}
	return b.Bytes()
}
