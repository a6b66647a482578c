package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// A Proposal is a release on a branch, without the registry's signatures.
type Proposal struct {
	Plugin  string   `json:"plugin"`
	Version string   `json:"version"`
	Branch  string   `json:"branch"` // as git push takes it
	Module  string   `json:"module"` // sha256
	Refs    []string `json:"refs"`   // what is to be pushed: the branch, and the tag that holds the module
}

// Propose puts a signed release onto a branch of its own in a clone of a registry,
// bare or with a work tree, which stays as it is; and the module below a tag and a
// ref. base is the branch that it is made on, such as "main" or "origin/main". It
// needs no key: the release's own signature is checked as Accept will.
func Propose(ctx context.Context, dir, base string, s Submission, clock Clock) (Proposal, error) {
	gitDir, err := gitDirOf(dir)
	if err != nil {
		return Proposal{}, err
	}
	m := OpenMaintainer(gitDir, clock)
	on, err := m.repo.commitOf(ctx, base)
	if err != nil {
		return Proposal{}, err
	}
	r, err := decodeRelease("the release", s.Release)
	if err != nil {
		return Proposal{}, err
	}
	e, err := m.load(ctx, on, Keys{})
	if err != nil {
		return Proposal{}, err
	}
	if err := e.trusted(); err != nil {
		return Proposal{}, err
	}
	if err := e.accept(r, s); err != nil {
		return Proposal{}, err
	}
	if err := m.putArtifact(ctx, r.Module, s.Wasm); err != nil {
		return Proposal{}, err
	}
	if _, err := m.repo.run(ctx, nil, "update-ref", artifactTag(r.Module.SHA256), artifactRef(r.Module.SHA256)); err != nil {
		return Proposal{}, fmt.Errorf("naming the module: %w", err)
	}
	p := Proposal{
		Plugin: r.Namespace + "/" + r.Name, Version: r.Version, Module: r.Module.SHA256,
		Branch: proposalBranch(r),
	}
	p.Refs = []string{p.Branch, artifactTag(r.Module.SHA256)}
	stream := proposalStream(p, on, e.now.Unix(), releasePath(r.Namespace, r.Name, r.Version), s)
	if _, err := m.repo.run(ctx, bytes.NewReader(stream), "fast-import", "--quiet", "--date-format=raw", "--force"); err != nil {
		return Proposal{}, fmt.Errorf("committing: %w", err)
	}
	return p, nil
}

// proposalBranch names the branch of a release's proposal: its parts are folders, so
// that no two releases share a branch, and none is a folder of another one's. All of
// it is lower case. git refuses a name that ends like its lock files.
func proposalBranch(r abi.Release) string {
	name := "propose/" + r.Namespace + "/" + r.Name + "/" + r.Version
	if strings.HasSuffix(name, ".lock") {
		name += "-" // as no version ends
	}
	return name
}

// proposalStream is a commit that adds a release and its signature to another one.
func proposalStream(p Proposal, on string, now int64, path string, s Submission) []byte {
	var b bytes.Buffer
	message := "propose " + p.Plugin + " " + p.Version + "\n"
	fmt.Fprintf(&b, "commit refs/heads/%s\ncommitter drawbridge <> %d +0000\ndata %d\n%sfrom %s\n", p.Branch, now, len(message), message, on)
	for _, f := range []struct {
		path string
		data []byte
	}{{path, s.Release}, {signaturePath(path), s.Signature}} {
		fmt.Fprintf(&b, "M 100644 inline %s\ndata %d\n", f.path, len(f.data))
		b.Write(f.data)
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// gitDirOf finds the repository of a directory: itself, or the .git in it.
func gitDirOf(dir string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	for _, d := range []string{dir, filepath.Join(dir, ".git")} {
		if isGitDir(d) {
			return d, nil
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "", abi.Errorf(abi.ErrNotFound, "", "there is no folder %q", dir).WithHint("git clone URL %s", dir)
	}
	return "", abi.Errorf(abi.ErrNotFound, "", "%q is no Git repository", dir).WithHint("git clone --mirror URL %s", dir)
}

// AcceptOptions say where proposals are.
type AcceptOptions struct {
	From string // another repository, such as a fork: an address; empty means this one
	Ref  string // empty means the registry's branch, into which somebody merged them
	// Channel is that of the new versions; empty means Stable.
	Channel Channel
	// On is the commit of the registry's branch that somebody compared the proposal
	// with. If the branch is another one, nothing is accepted. Empty means any.
	On string
	// Only are the paths of releases to take in, as in [CheckReport]; nil means all.
	Only []string
}

// Accept takes in every release at a ref that no index lists, with its module, and
// signs a new snapshot; nothing else of that ref is taken. Each is checked as at
// Publish. It needs the snapshot keys. Check says beforehand what is in it.
func (m *Maintainer) Accept(ctx context.Context, keys Keys, opts AcceptOptions) ([]ProposedRelease, error) {
	ref, from, err := m.bringProposal(ctx, opts)
	if err != nil {
		return nil, err
	}
	found, err := m.proposals(ctx, ref)
	if err != nil {
		return nil, err
	}
	found = slices.DeleteFunc(found, func(u unlisted) bool { return opts.Only != nil && !slices.Contains(opts.Only, u.path) })
	var done []ProposedRelease
	what := make([]string, len(found))
	for i, p := range found {
		what[i] = "accept " + p.path
	}
	err = m.change(ctx, keys, strings.Join(what, ", "), func(e *edit) error {
		if opts.On != "" && e.base != opts.On {
			return abi.Errorf(abi.ErrConfirmationRequired, "", "the registry was changed since the proposal was checked: nothing was accepted").WithHint("the same command again")
		}
		for _, p := range found {
			if e.lists(p.path) {
				continue
			}
			accepted, err := m.acceptOne(ctx, e, p, from, opts.Channel)
			if err != nil {
				return err
			}
			done = append(done, accepted)
		}
		if len(done) == 0 {
			return abi.Errorf(abi.ErrNotFound, "", "%q has no release that isn't listed already", ref)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// bringProposal fetches what is elsewhere, with git's own checks.
func (m *Maintainer) bringProposal(ctx context.Context, opts AcceptOptions) (ref string, from address, err error) {
	ref = opts.Ref
	if ref == "" {
		ref = branch
	}
	if err := checkRefName(ref); err != nil {
		return "", address{}, err
	}
	here := address{m.repo.dir, fromFile}
	if opts.From == "" {
		ref, err = m.repo.commitOf(ctx, ref)
		return ref, here, err
	}
	if from, err = parseAddress(opts.From); err != nil {
		return "", address{}, err
	}
	if _, err := m.repo.fetchNamed(ctx, from, ref, refIncoming, fetchHow{}); err != nil {
		return "", address{}, fetchError(err, from)
	}
	return refIncoming, from, nil
}

// An unlisted release is one file of a ref, with its signature.
type unlisted struct {
	path string
	Submission
}

// proposals reads the releases at a ref.
func (m *Maintainer) proposals(ctx context.Context, ref string) ([]unlisted, error) {
	objects, err := m.repo.open(ctx)
	if err != nil {
		return nil, err
	}
	defer objects.close()
	t, err := readTree(objects, ref)
	if err != nil {
		return nil, err
	}
	known, err := readTree(objects, branch)
	if err != nil {
		return nil, err
	}
	before := view{read: known.ReadFile}
	var list []unlisted
	for path := range t.files {
		if !strings.HasPrefix(path, "connectors/") || !knownFile(path) || !strings.HasSuffix(path, ".json") || strings.HasSuffix(path, "/index.json") || before.lists(path) {
			continue
		}
		u := unlisted{path: path}
		if u.Release, err = t.ReadFile(path); err != nil {
			return nil, err
		}
		if u.Signature, err = t.ReadFile(signaturePath(path)); err != nil && !isMissing(err) {
			return nil, err
		}
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b unlisted) int { return byVersion(a.path, b.path) })
	return list, nil
}

// byVersion orders releases by plugin and then by version, since an index grows at
// its end.
func byVersion(a, b string) int {
	dirA, versionA := filepath.Split(strings.TrimSuffix(a, ".json"))
	dirB, versionB := filepath.Split(strings.TrimSuffix(b, ".json"))
	if dirA != dirB {
		return strings.Compare(dirA, dirB)
	}
	return compareVersions(versionA, versionB)
}

// lists reports whether an index lists the release at path.
func (v view) lists(path string) bool {
	parts := strings.Split(path, "/")
	if len(parts) != 4 {
		return false
	}
	index := indexPath(parts[1], parts[2])
	data, err := v.read(index)
	var x Index
	if err != nil || decode(index, data, &x) != nil {
		return false
	}
	return slices.ContainsFunc(x.Versions, func(v Version) bool { return v.Version+".json" == parts[3] })
}

func (e *edit) lists(path string) bool { return view{read: e.read}.lists(path) }

// acceptOne takes one release in.
func (m *Maintainer) acceptOne(ctx context.Context, e *edit, p unlisted, from address, channel Channel) (ProposedRelease, error) {
	r, err := decodeRelease(p.path, p.Release)
	if err != nil {
		return ProposedRelease{}, err
	}
	if releasePath(r.Namespace, r.Name, r.Version) != p.path {
		return ProposedRelease{}, refuse(abi.ReasonWrongName, nil, "%q is a release of %q version %q", p.path, r.Namespace+"/"+r.Name, r.Version)
	}
	if r.Module.Size > abi.MaxModule {
		return ProposedRelease{}, abi.Errorf(abi.ErrLimitExceeded, "", "the module of %q has %d bytes, the limit is %d", p.path, r.Module.Size, abi.MaxModule)
	}
	if r.Module != (abi.Module{}) {
		err = inScratch(func(dir string) (err error) {
			p.Wasm, err = fetchArtifact(ctx, dir, from, r.Module)
			return err
		})
	}
	if noSuchRef(err) {
		return ProposedRelease{}, abi.Errorf(abi.ErrNotFound, "", "the module of %q isn't in %q", p.path, from.url).
			WithHint("git push it as the tag drawbridge/artifacts/%s", r.Module.SHA256)
	}
	if err != nil {
		return ProposedRelease{}, err
	}
	p.Channel = channel
	signer, err := e.acceptBy(r, p.Submission)
	if err != nil {
		return ProposedRelease{}, err
	}
	if r.Module != (abi.Module{}) {
		err = m.putArtifact(ctx, r.Module, p.Wasm)
	}
	return ProposedRelease{r.Namespace + "/" + r.Name, r.Version, signer, r.Module.SHA256, p.path}, err
}
