package registry

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

// next signs the very next snapshot of a registry, and what changes afterwards is
// beside it: whoever merges or hosts it can do that.
func (f *fixture) next(change func(files map[string][]byte)) {
	f.t.Helper()
	f.must(f.m.Refresh(f.t.Context(), f.keys))
	f.tamper(change)
}

// snapshotBy signs a next snapshot whose content somebody changed at will.
func (f *fixture) snapshotBy(key Signer, change func(*Snapshot)) {
	f.t.Helper()
	e, err := f.m.load(f.t.Context(), branch, f.keys)
	f.must(err)
	f.must(e.addSnapshot())
	var s Snapshot
	f.must(e.get(snapshotPath, &s))
	change(&s)
	f.must(e.putSigned(snapshotPath, &s, []Signer{key}))
	f.commitRaw(e)
}

// A genuine next snapshot carries nothing else in: what was published before is
// looked at again, whatever a snapshot doesn't vouch for included.
func TestBesideTheNextSnapshot(t *testing.T) {
	for name, c := range map[string]struct {
		change     func(f *fixture)
		code, path string
	}{
		"a signature of nothing at a published release": {func(f *fixture) {
			f.next(func(m map[string][]byte) { m[releaseFile+".asc"] = []byte("nothing\n") })
		}, "malformed", releaseFile},
		"another release's signature": {func(f *fixture) {
			f.publish("1.1.0")
			f.next(func(m map[string][]byte) { m[releaseFile+".asc"] = m["connectors/acme/tracker/1.1.0.json.asc"] })
		}, "bad_signature", releaseFile},
		"a stranger's signature": {func(f *fixture) {
			f.next(func(map[string][]byte) {})
			f.signAs(f.mallory, releaseFile)
		}, "unknown_key", releaseFile},
		"other bytes of a published release": {func(f *fixture) {
			f.next(func(m map[string][]byte) { m[releaseFile] = edited(t, m[releaseFile], "Tickets.", "Trickets") })
		}, "tampered", releaseFile},
		"a published release that is gone": {func(f *fixture) { f.next(func(m map[string][]byte) { delete(m, releaseFile) }) }, codeHistory, releaseFile},
		"a broken signature of a namespace": {func(f *fixture) {
			f.next(func(m map[string][]byte) { m[spaceFile+".asc"] = []byte("nothing\n") })
		}, "malformed", spaceFile},
		"a certificate that no snapshot lists": {func(f *fixture) {
			f.next(func(m map[string][]byte) { m[keyPath(f.mallory.Fingerprint())] = f.mallory.Certificate().Armored() })
		}, codeUnsigned, "mallory"},
		"a namespace that no snapshot lists": {func(f *fixture) {
			f.next(func(m map[string][]byte) { m["namespaces/corp.json"] = m[spaceFile] })
		}, codeUnsigned, "namespaces/corp.json"},
		"an index that the snapshot leaves out": {func(f *fixture) {
			f.snapshotBy(f.snapshot, func(s *Snapshot) { delete(s.Files, indexFile) })
		}, codeUnsigned, indexFile},
		"a file that the snapshot lists and that isn't there": {func(f *fixture) {
			f.snapshotBy(f.snapshot, func(s *Snapshot) { s.Files[keyPath(f.mallory.Fingerprint())] = s.Files[indexFile] })
		}, "tampered", "mallory"},
		"a file that no snapshot vouches for": {func(f *fixture) {
			f.snapshotBy(f.snapshot, func(s *Snapshot) { s.Files[releaseFile] = fileHash(f.files()[releaseFile]) })
		}, codeUnknown, releaseFile},
		"a snapshot of the day before": {func(f *fixture) {
			f.snapshotBy(f.snapshot, func(s *Snapshot) { s.Issued, s.Expires = At(s.Issued.Add(-24*time.Hour)), At(s.Issued.Add(time.Hour)) })
		}, codeDate, snapshotPath},
		"a certificate that is none": {func(f *fixture) {
			f.resign(func(m map[string][]byte) { m[keyPath(f.mallory.Fingerprint())] = []byte("nothing\n") })
		}, "malformed", "mallory"},
		"the publisher's certificate as somebody else's": {func(f *fixture) {
			f.resign(func(m map[string][]byte) { m[keyPath(f.publisher.Fingerprint())] = f.mallory.Certificate().Armored() })
		}, "unknown_key", releaseFile},
		"a publisher who may not have published": {func(f *fixture) {
			f.respace(func(n *Namespace) { n.Version++; n.Publishers[0].From = At(f.now) })
		}, "unknown_key", releaseFile},
		"a namespace with two contents": {func(f *fixture) {
			f.respace(func(n *Namespace) { n.Publishers[0].From = At(epoch) })
		}, codeHistory, spaceFile},
		"a revocation list with two contents": {func(f *fixture) {
			f.rework(func(e *edit) error {
				var r Revocations
				f.must(e.get(revocationsPath, &r))
				r.Artifacts = []RevokedArtifact{{hashOf(nil), "nobody's", At(f.now)}}
				return e.putSigned(revocationsPath, &r, f.keys.Revocation)
			})
		}, codeHistory, revocationsPath},
		"an older root that is rewritten": {func(f *fixture) {
			f.must(f.m.ChangeRoles(t.Context(), f.keys, RoleChange{}))
			f.next(func(m map[string][]byte) {
				m["root/1.json"] = edited(t, m["root/1.json"], `"version":1`, `"version":2`)
			})
		}, "malformed", snapshotPath},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProposing(t)
			p.now = p.now.Add(time.Minute)
			p.inFork(c.change)
			if c.path == "mallory" {
				c.path = keyPath(p.mallory.Fingerprint())
			}
			wantProblem(t, p.check("main"), c.code, c.path)
		})
	}
}

// respace signs the namespace anew.
func (f *fixture) respace(change func(*Namespace)) {
	f.t.Helper()
	f.rework(func(e *edit) error {
		var n Namespace
		f.must(e.get(spaceFile, &n))
		change(&n)
		return e.putSigned(spaceFile, &n, f.keys.Owners)
	})
}

// What a maintainer may do to what was published, and what may go.
func TestBesideTheNextSnapshotAccepted(t *testing.T) {
	for name, change := range map[string]func(f *fixture){
		"a release signed again by its publisher": func(f *fixture) {
			f.next(func(map[string][]byte) {})
			f.signAs(f.publisher, releaseFile)
		},
		"its publisher revoked": func(f *fixture) {
			f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Keys: []signing.Fingerprint{f.publisher.Fingerprint()}, Reason: "stolen"}))
		},
		"a proposal that nobody took in": func(f *fixture) {
			f.tamper(func(m map[string][]byte) {
				delete(m, "connectors/acme/tracker/2.0.0.json")
				delete(m, "connectors/acme/tracker/2.0.0.json.asc")
			})
		},
		"the same beside a next snapshot": func(f *fixture) {
			f.next(func(m map[string][]byte) {
				delete(m, "connectors/acme/tracker/2.0.0.json")
				delete(m, "connectors/acme/tracker/2.0.0.json.asc")
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProposing(t)
			waiting := p.submission(p.releaseOf("2.0.0"), p.publisher)
			for _, f := range []func(func(*fixture)){p.inFork, func(do func(*fixture)) { do(p.fixture) }} {
				f(func(f *fixture) {
					f.tamper(func(m map[string][]byte) {
						m["connectors/acme/tracker/2.0.0.json"], m["connectors/acme/tracker/2.0.0.json.asc"] = waiting.Release, waiting.Signature
					})
					f.must(f.m.putArtifact(t.Context(), abi.Module{SHA256: hashOf(waiting.Wasm)}, waiting.Wasm))
				})
			}
			p.now = p.now.Add(time.Minute)
			p.inFork(change)
			r := p.check("main")
			if strings.Contains(name, "revoked") && (len(r.Changes) == 0 || r.Changes[0].Kind != ChangeKeyRevoked) {
				t.Errorf("changes %+v", r.Changes)
			}
			wantAccepted(t, r)
		})
	}
}

// Whoever pinned any of the owners goes on to be served.
func TestEveryOwnersPinHolds(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	both := Keys{[]Signer{p.owner, p.owner2}, p.keys.Snapshot, p.keys.Revocation}
	p.must(p.m.ChangeRoles(t.Context(), both, RoleChange{Owner: RoleEdit{Add: certs(p.owner2), Threshold: 1}}))
	p.it.must(t, "-c", "protocol.file.allow=always", "fetch", "--quiet", p.origin, "+refs/*:refs/*")
	p.now = p.now.Add(time.Minute)
	p.inFork(func(f *fixture) {
		f.next(func(map[string][]byte) {})
		f.signAs(f.owner, "root/2.json") // which is enough, but for who pinned owner2
	})
	r := p.check("main")
	if wantProblem(t, r, "unknown_key", "root/2.json"); len(r.Problems) != 1 || !strings.Contains(r.Problems[0].Message, string(p.owner2.Fingerprint())) {
		t.Errorf("problems %+v", r.Problems)
	}
}

// Modules aren't on the branch. One that the base has and that is another object in
// the proposal's repository is refused, and so is one that nobody has.
func TestModulesOfPublishedReleases(t *testing.T) {
	sha := hashOf(wasmOf("1.0.0"))
	for name, c := range map[string]struct {
		change func(p *proposing)
		code   string // of the problem; empty if there is none
		notice string
	}{
		"another object": {func(p *proposing) {
			p.must(p.it.putArtifact(t.Context(), abi.Module{SHA256: sha}, []byte("another")))
		}, codeHistory, ""},
		"a ref before the right tag": {func(p *proposing) {
			p.it.must(t, "update-ref", artifactTag(sha), artifactRef(sha))
			p.must(p.it.putArtifact(t.Context(), abi.Module{SHA256: sha}, []byte("another")))
		}, codeHistory, ""},
		"an annotated tag of the same": {func(p *proposing) {
			id, err := p.it.repo.run(t.Context(), nil, "rev-parse", artifactRef(sha))
			p.must(err)
			text := "object " + strings.TrimSpace(id) + "\ntype blob\ntag x\ntagger x <> 0 +0000\n\nx\n"
			tag, err := p.it.repo.run(t.Context(), bytes.NewReader([]byte(text)), "mktag")
			p.must(err)
			p.it.must(t, "update-ref", artifactTag(sha), strings.TrimSpace(tag))
			p.it.must(t, "update-ref", "-d", artifactRef(sha))
		}, "", ""},
		"not in the proposal's repository": {func(p *proposing) { p.it.must(t, "update-ref", "-d", artifactRef(sha)) }, "", ""},
		"nowhere": {func(p *proposing) {
			p.publish("1.1.0")
			p.it.must(t, "-c", "protocol.file.allow=always", "fetch", "--quiet", p.origin, "+refs/*:refs/*")
			p.it.must(t, "update-ref", "-d", artifactRef(sha))
			p.m.must(t, "update-ref", "-d", artifactRef(sha))
		}, codeModule, ""},
		"one that has a URL": {func(p *proposing) {
			r := p.releaseOf("1.1.0")
			r.Module.URL = "https://modules.example/1.1.0.wasm"
			p.must(p.m.Publish(t.Context(), p.keys, p.submission(r, p.publisher)))
			p.it.must(t, "-c", "protocol.file.allow=always", "fetch", "--quiet", p.origin, "+refs/*:refs/*")
			p.it.must(t, "update-ref", "-d", artifactRef(r.Module.SHA256))
			p.m.must(t, "update-ref", "-d", artifactRef(r.Module.SHA256))
		}, "", ""},
		"a base that has none, as in a clone": {func(p *proposing) {
			p.it.must(t, "update-ref", "-d", artifactRef(sha))
			p.m.must(t, "update-ref", "-d", artifactRef(sha))
		}, "", codeModule},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProposing(t)
			c.change(p)
			p.now = p.now.Add(time.Minute)
			p.inFork(func(f *fixture) { f.next(func(map[string][]byte) {}) })
			r := p.check("main")
			switch {
			case c.code != "":
				wantProblem(t, r, c.code, releaseFile)
			case c.notice != "" && !slices.ContainsFunc(r.Notices, func(p CheckProblem) bool { return p.Code == c.notice }):
				t.Errorf("notices %+v", r.Notices)
			default:
				wantAccepted(t, r)
			}
		})
	}
}

// must runs git on a maintainer's repository.
func (m *Maintainer) must(t *testing.T, args ...string) {
	t.Helper()
	if _, err := m.repo.run(t.Context(), nil, args...); err != nil {
		t.Fatal(err)
	}
}

// The branch in force has all of its modules looked at, however they are named.
func TestEveryModuleOfTheBranchInForce(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	var all []Submission
	for _, v := range []string{"1.1.0", "1.2.0", "1.3.0", "1.4.0"} {
		all = append(all, f.submission(f.releaseOf(v), f.publisher))
	}
	f.must(f.m.PublishAll(t.Context(), f.keys, append(all, f.same("1.5.0", "1.4.0"))))
	looked := map[string]int{}
	check := func() *CheckReport {
		r, err := Check(t.Context(), CheckOptions{Source: f.origin, Clock: f.clock, Admit: func(_ context.Context, r abi.Release, wasm []byte) error {
			if hashOf(wasm) != r.Module.SHA256 {
				t.Errorf("%s is given another module", r.Version)
			}
			looked[r.Version]++
			return nil
		}})
		f.must(err)
		return r
	}
	wantAccepted(t, check())
	sha := hashOf(wasmOf("1.2.0"))
	f.m.must(t, "update-ref", artifactTag(sha), artifactRef(sha))
	f.m.must(t, "update-ref", "-d", artifactRef(sha))
	wantAccepted(t, check())
	if len(looked) != 6 || looked["1.2.0"] != 2 || looked["1.5.0"] != 2 {
		t.Errorf("looked at %v", looked)
	}
	f.must(f.m.putArtifact(t.Context(), abi.Module{SHA256: hashOf(wasmOf("1.3.0"))}, wasmOf("1.1.0")))
	r := check()
	if wantProblem(t, r, "tampered", "connectors/acme/tracker/1.3.0.json"); len(r.Problems) != 1 {
		t.Errorf("problems %+v", r.Problems)
	}
}

// What a key's owner revoked stays so: an older copy of the certificate passes neither
// the check nor a second owner.
func TestACertificatesRevocationStays(t *testing.T) {
	t.Parallel()
	pass := func(signing.Fingerprint) ([]byte, error) { return []byte("passphrase"), nil }
	armored, err := signing.GenerateKey("author", epoch, pass)
	if err != nil {
		t.Fatal(err)
	}
	author, err := signing.OpenSecretKey(armored, pass)
	if err != nil {
		t.Fatal(err)
	}
	p := newProposing(t)
	p.must(p.m.AddPublisher(t.Context(), p.keys, "acme", author.Certificate()))
	p.must(p.publishAt(author, "1.1.0", 48*time.Hour))
	p.now = p.now.Add(time.Hour)
	path := keyPath(author.Fingerprint())
	fetch := func(from, to *Maintainer) {
		to.must(t, "-c", "protocol.file.allow=always", "fetch", "--quiet", from.repo.dir, "+refs/*:refs/*")
	}
	fetch(p.m, p.it)
	revoked := p.revokedCertificate(armored, packet.KeyCompromised, p.now)
	p.inFork(func(f *fixture) { f.resign(func(m map[string][]byte) { m[path] = revoked.Armored() }) })
	wantAccepted(t, p.check("main")) // 1.1.0 stops, which is what its author wants
	fetch(p.it, p.m)
	p.inFork(func(f *fixture) {
		f.resign(func(m map[string][]byte) { m[path] = author.Certificate().Armored() })
	})
	wantProblem(t, p.check("main"), "key_revoked", path)
	p.must(p.m.Partial().ChangeRoles(t.Context(), Keys{Owners: p.keys.Owners, Snapshot: p.keys.Snapshot},
		RoleChange{Revocation: RoleEdit{Add: certs(p.owner2), Remove: []signing.Fingerprint{p.revoker.Fingerprint()}}}))
	e, _, err := p.m.pending(t.Context())
	p.must(err)
	e.files[path], e.keys = author.Certificate().Armored(), p.keys
	last, err := p.m.load(t.Context(), branch, Keys{})
	p.must(err)
	e.files[snapshotPath] = last.files[snapshotPath]
	p.must(e.addSnapshot())
	p.must(p.m.write(t.Context(), e, pendingRef, "tampered"))
	_, err = p.m.Sign(t.Context(), Keys{Revocation: []Signer{p.owner2}}, p.shown())
	wantRefused(t, err, abi.ReasonKeyRevoked, author)
}

// A base whose releases aren't signed any more is no state to build on: a proposal on
// top of it is refused with the reason, though it changes nothing about them.
func TestBaseWithABrokenSignature(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		breaks func(f *fixture, m map[string][]byte)
		code   string
	}{
		"gone":           {func(_ *fixture, m map[string][]byte) { delete(m, releaseFile+".asc") }, "unsigned"},
		"of other bytes": {func(_ *fixture, m map[string][]byte) { m[releaseFile+".asc"] = m[spaceFile+".asc"] }, "unknown_key"},
		"a stranger's": {func(f *fixture, m map[string][]byte) {
			sig, err := f.mallory.Sign(m[releaseFile], f.now)
			f.must(err)
			m[releaseFile+".asc"] = sig
		}, "unknown_key"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newProposing(t)
			proposal := p.propose("1.1.0", p.publisher)
			wantAccepted(t, p.check(proposal.Branch))
			f := p.fixture
			f.tamper(func(m map[string][]byte) { c.breaks(f, m) })
			p.it.must(t, "-c", "protocol.file.allow=always", "fetch", "--quiet", p.origin, "+refs/heads/main:refs/heads/main")
			proposal = p.propose("1.1.0", p.publisher)
			wantProblem(t, p.check(proposal.Branch), c.code, releaseFile)
		})
	}
}
