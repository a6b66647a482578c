package registry

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// A proposing is a registry and a clone of it in which somebody proposes a change.
type proposing struct {
	*fixture
	fork string
	it   *Maintainer // the fork's, with the registry's keys at hand for what they may do
}

func newProposing(t *testing.T) *proposing {
	t.Helper()
	f := newOrigin(t, "main")
	f.now = f.now.Add(time.Minute)
	p := &proposing{fixture: f, fork: filepath.Join(t.TempDir(), "fork.git")}
	_, err := create(t.Context(), p.fork, fromFile)
	f.must(err)
	p.it = OpenMaintainer(p.fork, f.clock)
	_, err = p.it.repo.run(t.Context(), nil, "-c", "protocol.file.allow=always", "fetch", "--quiet", f.origin, "+refs/*:refs/*")
	f.must(err)
	return p
}

// check compares the fork's branch, or ref, with the registry.
func (p *proposing) check(ref string, change ...func(*CheckOptions)) *CheckReport {
	p.t.Helper()
	opts := CheckOptions{Source: p.fork, Ref: ref, Base: p.origin, Pinned: p.owner.Fingerprint(), Clock: p.clock}
	for _, c := range change {
		c(&opts)
	}
	r, err := Check(p.t.Context(), opts)
	p.must(err)
	return r
}

// inFork runs what changes the fixture's registry on the fork.
func (p *proposing) inFork(f func(fork *fixture)) {
	there := *p.fixture
	there.m, there.origin = p.it, p.fork
	f(&there)
}

func codesOf(r *CheckReport) []string {
	var codes []string
	for _, p := range r.Problems {
		codes = append(codes, p.Code)
	}
	slices.Sort(codes)
	return slices.Compact(codes)
}

func wantAccepted(t *testing.T, r *CheckReport) {
	t.Helper()
	if r.Verdict != VerdictAccepted || len(r.Problems) != 0 {
		t.Errorf("verdict %s, problems %+v", r.Verdict, r.Problems)
	}
}

func wantProblem(t *testing.T, r *CheckReport, code, path string) {
	t.Helper()
	if r.Verdict != VerdictRefused || !slices.ContainsFunc(r.Problems, func(p CheckProblem) bool { return p.Code == code && p.Path == path && p.Message != "" }) {
		t.Errorf("verdict %s, want %s at %q, problems %+v", r.Verdict, code, path, r.Problems)
	}
}

// A registry passes as it is, bare and in a clone with a work tree.
func TestCheckOfAWholeRegistry(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	r, err := Check(t.Context(), CheckOptions{Source: f.origin, Clock: f.clock})
	f.must(err)
	wantAccepted(t, r)
	if r.Registry != "main" || r.Pinned != f.owner.Fingerprint() || r.Commit == "" || r.Commit != r.Base {
		t.Errorf("report %+v", r)
	}
	admitted := 0
	r, err = Check(t.Context(), CheckOptions{Source: f.origin, Clock: f.clock, Admit: func(_ context.Context, r abi.Release, wasm []byte) error {
		admitted++
		return errors.New("it imports too much")
	}})
	f.must(err)
	if wantProblem(t, r, "internal", releaseFile); admitted != 1 {
		t.Errorf("admitted %d modules", admitted)
	}
	f.now = f.now.Add(snapshotLife)
	r, err = Check(t.Context(), CheckOptions{Source: f.origin, Clock: f.clock})
	f.must(err)
	wantProblem(t, r, "snapshot_expired", "snapshot.json")
	r, err = Check(t.Context(), CheckOptions{Source: f.origin, Pinned: f.mallory.Fingerprint(), Clock: f.clock})
	f.must(err)
	wantProblem(t, r, "unknown_key", "")
	for _, bad := range []struct {
		opts CheckOptions
		want error
	}{
		{CheckOptions{Source: filepath.Join(t.TempDir(), "none")}, abi.ErrNotFound},
		{CheckOptions{Source: f.origin, Ref: "none"}, abi.ErrNotFound},
		{CheckOptions{Source: f.origin, Ref: "--upload-pack=id"}, abi.ErrInvalidArgs},
		{CheckOptions{Source: f.origin, Ref: "a..b"}, abi.ErrInvalidArgs},
		{CheckOptions{Source: f.origin, Base: "-x"}, abi.ErrInvalidArgs},
		{CheckOptions{Source: f.origin, Base: "a:b"}, abi.ErrInvalidArgs},
		{CheckOptions{Source: f.origin, Modules: []string{"ext::sh -c id"}}, abi.ErrInvalidArgs},
		{CheckOptions{Source: "ext::sh -c id"}, abi.ErrInvalidArgs},
	} {
		if r, err := Check(t.Context(), bad.opts); !errors.Is(err, bad.want) {
			t.Errorf("%+v: %+v, %v", bad.opts, r, err)
		}
	}
}

// The whole way of a proposal: the author needs no key of the registry, the check
// passes, a maintainer accepts, and users install.
func TestProposeCheckAccept(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	proposal, err := Propose(t.Context(), p.fork, "main", p.submission(p.releaseOf("1.1.0"), p.publisher), p.clock)
	p.must(err)
	if proposal.Branch != "propose/acme/tracker/1.1.0" {
		t.Errorf("proposal %+v", proposal)
	}
	r := p.check(proposal.Branch)
	wantAccepted(t, r)
	if len(r.Proposed) != 1 || r.Proposed[0].Signer != p.publisher.Fingerprint() || len(r.Growth) != 1 || r.Growth[0].From != "1.0.0" || len(r.Growth[0].Added) != 0 {
		t.Errorf("proposed %+v, growth %+v", r.Proposed, r.Growth)
	}
	done, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: r.Commit})
	p.must(err)
	if len(done) != 1 || done[0].Plugin != "acme/tracker" || done[0].Signer != p.publisher.Fingerprint() {
		t.Errorf("accepted %+v", done)
	}
	p.client = p.newClient()
	_, err = p.client.AddRegistry(t.Context(), p.origin, p.owner.Fingerprint())
	p.must(err)
	p.mustInstall(tracker)
	p.wantActive("1.1.0")
	if _, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: proposal.Branch}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("accepting it twice: %v", err)
	}
}

// A forge's own button merges the proposal: users see nothing of it until a
// maintainer signs, and then it is there.
func TestProposalMergedByTheForge(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	_, err := Propose(t.Context(), p.fork, "main", p.submission(p.releaseOf("1.1.0"), p.publisher), p.clock)
	p.must(err)
	_, err = p.m.repo.run(t.Context(), nil, "-c", "protocol.file.allow=always", "fetch", "--quiet", p.fork,
		"+refs/heads/propose/acme/tracker/1.1.0:refs/heads/main", "+refs/tags/*:refs/tags/*")
	p.must(err)
	p.client = p.newClient()
	_, err = p.client.AddRegistry(t.Context(), p.origin, p.owner.Fingerprint())
	p.must(err)
	p.mustInstall(tracker)
	p.wantActive("1.0.0")
	wantAccepted(t, p.check("main", func(o *CheckOptions) { o.Source, o.Base = p.origin, "" }))
	_, err = p.m.Accept(t.Context(), p.keys, AcceptOptions{})
	p.must(err)
	p.mustInstall(tracker)
	p.wantActive("1.1.0")
}

// What is refused of a proposal, by the check and by Accept alike.
func TestProposalsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		propose func(p *proposing) (path string, s Submission)
		code    string
	}{
		"signed by a stranger": {func(p *proposing) (string, Submission) {
			return "connectors/acme/tracker/1.1.0.json", p.submission(p.releaseOf("1.1.0"), p.mallory)
		}, "unknown_key"},
		"unsigned": {func(p *proposing) (string, Submission) {
			s := p.submission(p.releaseOf("1.1.0"), p.publisher)
			s.Signature = nil
			return "connectors/acme/tracker/1.1.0.json", s
		}, "unsigned"},
		"for another registry": {func(p *proposing) (string, Submission) {
			r := p.releaseOf("1.1.0")
			r.Registry = "other"
			return "connectors/acme/tracker/1.1.0.json", p.submission(r, p.publisher)
		}, "wrong_name"},
		"under another version's name": {func(p *proposing) (string, Submission) {
			return "connectors/acme/tracker/1.2.0.json", p.submission(p.releaseOf("1.1.0"), p.publisher)
		}, "wrong_name"},
		"under another plugin's name": {func(p *proposing) (string, Submission) {
			return "connectors/acme/other/1.1.0.json", p.submission(p.releaseOf("1.1.0"), p.publisher)
		}, "wrong_name"},
		"a lower version": {func(p *proposing) (string, Submission) {
			return "connectors/acme/tracker/0.9.0.json", p.submission(p.releaseOf("0.9.0"), p.publisher)
		}, codeNotHigher},
		"a namespace without publishers": {func(p *proposing) (string, Submission) {
			return "connectors/evil/tracker/1.1.0.json", p.submissionAs("evil", "tracker", "1.1.0", p.mallory)
		}, "unknown_key"},
		"another module": {func(p *proposing) (string, Submission) {
			s := p.submission(p.releaseOf("1.1.0"), p.publisher)
			s.Wasm = []byte("another")
			return "connectors/acme/tracker/1.1.0.json", s
		}, "tampered"},
		"no module": {func(p *proposing) (string, Submission) {
			s := p.submission(p.releaseOf("1.1.0"), p.publisher)
			s.Wasm = nil
			return "connectors/acme/tracker/1.1.0.json", s
		}, codeModule},
		"not canonical": {func(p *proposing) (string, Submission) {
			s := p.submission(p.releaseOf("1.1.0"), p.publisher)
			s.Release = append(s.Release, ' ')
			return "connectors/acme/tracker/1.1.0.json", s
		}, "malformed"},
		"signed by a key that is revoked": {func(p *proposing) (string, Submission) {
			p.must(p.m.Revoke(p.t.Context(), p.keys, Revocation{Keys: []signing.Fingerprint{p.publisher.Fingerprint()}, Reason: "stolen"}))
			p.inFork(func(f *fixture) { f.replace(p.files()) })
			return "connectors/acme/tracker/1.1.0.json", p.submission(p.releaseOf("1.1.0"), p.publisher)
		}, "key_revoked"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProposing(t)
			path, s := c.propose(p)
			p.inFork(func(f *fixture) {
				f.tamper(func(m map[string][]byte) {
					if m[path] = s.Release; s.Signature != nil {
						m[path+".asc"] = s.Signature
					}
				})
				if s.Wasm != nil {
					f.must(f.m.putArtifact(t.Context(), abi.Module{SHA256: hashOf(wasmOf("1.1.0"))}, s.Wasm))
				}
			})
			wantProblem(t, p.check("main"), c.code, path)
			before := p.files()
			if done, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: "main"}); err == nil {
				t.Errorf("it is accepted: %+v", done)
			}
			if after := p.files(); len(after) != len(before) {
				t.Errorf("%d files became %d", len(before), len(after))
			}
		})
	}
}

// What is refused of a change to the registry itself.
func TestChangesRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(f *fixture)
		code, path string
	}{
		"an index without a snapshot": {func(f *fixture) { f.edit(indexFile, `"stable"`, `"beta"`) }, codeUnsigned, indexFile},
		"a certificate without one": {func(f *fixture) {
			f.tamper(func(m map[string][]byte) { m[keyPath(f.mallory.Fingerprint())] = f.mallory.Certificate().Armored() })
		}, codeUnsigned, ""},
		"a published release":             {func(f *fixture) { f.edit(releaseFile, "Tickets.", "Trickets") }, codeUnsigned, releaseFile},
		"a removed release":               {func(f *fixture) { f.tamper(func(m map[string][]byte) { delete(m, releaseFile) }) }, codeHistory, releaseFile},
		"a removed index, signed":         {func(f *fixture) { f.resign(func(m map[string][]byte) { delete(m, indexFile) }) }, codeHistory, indexFile},
		"a version removed, signed":       {func(f *fixture) { f.reindex(func(x *Index) { x.Versions = []Version{} }) }, codeHistory, indexFile},
		"a version rewritten, signed":     {func(f *fixture) { f.relistAs(f.submission(f.releaseOf("1.0.0"), f.publisher)) }, codeHistory, indexFile},
		"a version that was put in below": {func(f *fixture) { f.insert("0.9.0") }, codeNotHigher, indexFile},
		"a date of the past":              {func(f *fixture) { f.backdate() }, codeDate, indexFile},
		"an older snapshot":               {func(f *fixture) { f.rewind() }, "snapshot_older", "snapshot.json"},
		"a snapshot by a stranger":        {func(f *fixture) { f.resign(func(map[string][]byte) {}); f.signAs(f.mallory, "snapshot.json") }, "unknown_key", "snapshot.json"},
		"a snapshot that follows another": {func(f *fixture) { f.unchain() }, codeChain, "snapshot.json"},
		"one below the newest that does":  {func(f *fixture) { f.unchainBelow() }, codeChain, "snapshot.json"},
		"a release that isn't there":      {func(f *fixture) { f.publishLoosely("1.1.0") }, "tampered", "connectors/acme/tracker/1.1.0.json"},
		"a name like another's":           {func(f *fixture) { f.publishOther("acne", "tracker") }, codeName, "connectors/acne/tracker/index.json"},
		"a namespace like another":        {func(f *fixture) { f.publishOther("acne", "wiki") }, codeName, "namespaces/acne.json"},
		"a device of Windows": {func(f *fixture) {
			f.tamper(func(m map[string][]byte) { m["connectors/aux/tracker/1.0.0.json"] = []byte("{}") })
		}, codeUnknown, "connectors/aux/tracker/1.0.0.json"},
		"a file of no kind": {func(f *fixture) {
			f.tamper(func(m map[string][]byte) { m["connectors/acme/tracker/run.sh"] = []byte("id") })
		}, codeUnknown, "connectors/acme/tracker/run.sh"},
		"a name that ends with a dot": {func(f *fixture) { f.tamper(func(m map[string][]byte) { m["namespaces/acme.json."] = []byte("{}") }) }, codeUnknown, "namespaces/acme.json."},
		"a signature of nothing": {func(f *fixture) {
			f.tamper(func(m map[string][]byte) { m["connectors/acme/tracker/3.0.0.json.asc"] = []byte("x") })
		}, codeUnknown, "connectors/acme/tracker/3.0.0.json.asc"},
		"a huge file": {func(f *fixture) {
			f.tamper(func(m map[string][]byte) { m["README.md"] = make([]byte, abi.MaxMetadata+1) })
		}, "malformed", "README.md"},
		"a folder of hooks": {func(f *fixture) { f.tamper(func(m map[string][]byte) { m["hooks/post-checkout"] = []byte("id") }) }, "malformed", "hooks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProposing(t)
			p.now = p.now.Add(time.Minute)
			p.inFork(c.change)
			r := p.check("main")
			if c.path == "" {
				c.path = keyPath(p.mallory.Fingerprint())
			}
			wantProblem(t, r, c.code, c.path)
		})
	}
}

func (f *fixture) reindex(change func(*Index)) {
	f.t.Helper()
	f.resign(func(m map[string][]byte) {
		var x Index
		f.must(decode(indexFile, m[indexFile], &x))
		change(&x)
		data, err := canonical(&x)
		f.must(err)
		m[indexFile] = data
	})
}

// insert puts a version in below those that are published.
func (f *fixture) insert(version string) {
	f.t.Helper()
	s := f.submission(f.releaseOf(version), f.publisher)
	f.reindex(func(x *Index) {
		x.Versions = slices.Insert(x.Versions, 0, Version{Version: version, Channel: Stable, Published: At(f.now), Release: fileHash(s.Release)})
	})
}

// backdate lists a version as if it had been there for a day.
func (f *fixture) backdate() {
	f.t.Helper()
	s := f.submission(f.releaseOf("1.1.0"), f.publisher)
	f.list(s)
	f.reindex(func(x *Index) { x.Versions[1].Published = At(epoch) })
}

// rewind puts an older snapshot back.
func (f *fixture) rewind() {
	f.t.Helper()
	f.rework(func(e *edit) error {
		var s Snapshot
		f.must(e.get(snapshotPath, &s))
		s.Version -= 2
		_, err := e.put(snapshotPath, &s)
		return err
	})
}

// unchain signs a snapshot after another one than that in force.
func (f *fixture) unchain() {
	f.t.Helper()
	e, err := f.m.load(f.t.Context(), branch, f.keys)
	f.must(err)
	f.must(e.addSnapshot())
	var s Snapshot
	f.must(e.get(snapshotPath, &s))
	s.Previous = strings.Repeat("0", 64)
	f.must(e.putSigned(snapshotPath, &s, f.keys.Snapshot))
	f.commitRaw(e)
}

// unchainBelow does so two snapshots before the newest.
func (f *fixture) unchainBelow() {
	f.t.Helper()
	f.unchain()
	f.resign(func(map[string][]byte) {})
}

// publishLoosely lists a version without its file.
func (f *fixture) publishLoosely(version string) {
	f.t.Helper()
	f.list(f.submission(f.releaseOf(version), f.publisher))
	f.tamper(func(m map[string][]byte) { delete(m, "connectors/acme/tracker/"+version+".json") })
}

func (f *fixture) publishOther(namespace, name string) {
	f.t.Helper()
	f.must(f.m.AddPublisher(f.t.Context(), f.keys, namespace, f.mallory.Certificate()))
	f.publishAs(namespace, name, "1.0.0", f.mallory)
}

// A change that the registry's keys signed passes: each of them, and all together.
func TestChangesAccepted(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	for _, c := range []struct {
		name   string
		change func(f *fixture)
		kind   ChangeKind
	}{
		{"publish", func(f *fixture) { f.publish("1.1.0") }, ChangePublished},
		{"yank", func(f *fixture) { f.must(f.m.Yank(t.Context(), f.keys, tracker, "1.0.0", "broken")) }, ChangeYanked},
		{"unyank", func(f *fixture) { f.must(f.m.Unyank(t.Context(), f.keys, tracker, "1.0.0")) }, ChangeUnyanked},
		{"a publisher", func(f *fixture) { f.must(f.m.AddPublisher(t.Context(), f.keys, "corp", f.owner2.Certificate())) }, ChangePublisherAdded},
		{"a publisher's end", func(f *fixture) {
			f.must(f.m.RemovePublisher(t.Context(), f.keys, "corp", f.owner2.Fingerprint()))
		}, ChangePublisherEnded},
		{"a revocation", func(f *fixture) {
			f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Versions: []Ref{{Namespace: "acme", Name: "tracker", Constraint: "1.0.0"}}, Reason: "evil"}))
		}, ChangeHashRevoked},
		{"a root", func(f *fixture) { f.must(f.m.ChangeRoles(t.Context(), f.keys, RoleChange{})) }, ChangeRoot},
	} {
		p.now = p.now.Add(time.Minute)
		p.inFork(c.change)
		r := p.check("main")
		wantAccepted(t, r)
		if len(r.Changes) == 0 || r.Changes[0].Kind != c.kind {
			t.Errorf("%s: changes %+v, want %q", c.name, r.Changes, c.kind)
		}
		p.replaceWith(p.it)
	}
}

// replaceWith makes the registry what the fork is.
func (p *proposing) replaceWith(m *Maintainer) {
	p.t.Helper()
	_, err := p.m.repo.run(p.t.Context(), nil, "-c", "protocol.file.allow=always", "fetch", "--quiet", m.repo.dir, "+refs/*:refs/*")
	p.must(err)
}

// A name that somebody looked at passes.
func TestAllowedName(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	p.now = p.now.Add(time.Minute)
	p.inFork(func(f *fixture) { f.publishOther("acne", "tracker") })
	wantAccepted(t, p.check("main", func(o *CheckOptions) { o.Allow = []string{"acne", "acne/tracker"} }))
}

// What a new version may do more is said in plain words, whoever signed it.
func TestGrowth(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	r := p.releaseOf("1.1.0")
	tools := slices.Clone(r.Connectors[0].Tools)
	tools[0].Description, tools[0].Reads[0].Path = "Lists other tickets.", "/other"
	r.Connectors[0].Tools = tools
	_, err := Propose(t.Context(), p.fork, "main", p.submission(r, p.publisher), p.clock)
	p.must(err)
	report := p.check("propose/acme/tracker/1.1.0")
	wantAccepted(t, report)
	if len(report.Growth) != 1 {
		t.Fatalf("growth %+v", report.Growth)
	}
	g := report.Growth[0]
	if !slices.ContainsFunc(g.Added, func(l string) bool { return strings.Contains(l, "GET") && strings.Contains(l, "/other") }) ||
		len(g.Removed) != 1 || !slices.ContainsFunc(g.Told, func(l string) bool { return strings.Contains(l, "Lists other tickets.") }) {
		t.Errorf("growth %+v", g)
	}
}

// Every problem is told, not the first alone.
func TestCheckGoesOn(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	p.inFork(func(f *fixture) {
		f.tamper(func(m map[string][]byte) {
			m["connectors/acme/tracker/run.sh"] = []byte("id")
			m["extra/file"] = []byte("id")
			m["connectors/acme/tracker/2.0.0.json"] = []byte("{")
			m[indexFile] = edited(t, m[indexFile], `"stable"`, `"beta"`)
			delete(m, "namespaces/acme.json.asc")
		})
	})
	r := p.check("main")
	for code, path := range map[string]string{
		codeUnknown: "connectors/acme/tracker/run.sh", codeUnsigned: indexFile, codeHistory: "namespaces/acme.json.asc",
	} {
		wantProblem(t, r, code, path)
	}
	wantProblem(t, r, "malformed", "extra")
	wantProblem(t, r, "malformed", "connectors/acme/tracker/2.0.0.json")
}

// All hostile repositories of the vectors are refused, whatever they are compared
// with, and nothing outside a scratch directory changes.
func TestCheckRefusesHostileRepositories(t *testing.T) {
	f := newOrigin(t, "main")
	t.Setenv("TMPDIR", t.TempDir())
	for name, origin := range eachHostile(t) {
		t.Run(name, func(t *testing.T) {
			base := f.origin
			if strings.HasSuffix(name, "-grafted") {
				base = "" // it is its own
			}
			r, err := Check(t.Context(), CheckOptions{Source: origin, Base: base, Clock: f.clock})
			if err != nil {
				t.Fatal(err)
			}
			if r.Verdict != VerdictRefused || !slices.Contains(codesOf(r), "malformed") {
				t.Errorf("base %q: %s, %+v", base, r.Verdict, r.Problems)
			}
			t.Logf("%d problems, such as %q", len(r.Problems), r.Problems[:min(1, len(r.Problems))])
		})
	}
	if left, _ := filepath.Glob(filepath.Join(os.Getenv("TMPDIR"), "*")); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
}
