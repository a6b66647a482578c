package registry

import (
	"errors"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// Where a full name isn't there, git looks for it below refs/tags and refs/heads too:
// a tag "refs/heads/main" would be the branch of a clone that has only origin's.
func TestFullNamesAreWhole(t *testing.T) {
	t.Parallel()
	p := newProposing(t)
	old, err := p.m.repo.commitOf(t.Context(), branch)
	p.must(err)
	p.publish("1.1.0")
	p.it.must(t, "-c", "protocol.file.allow=always", "fetch", "--quiet", p.origin, "+refs/heads/main:refs/remotes/origin/main")
	now, err := p.m.repo.commitOf(t.Context(), branch)
	p.must(err)
	p.it.must(t, "update-ref", "-d", branch)
	for _, name := range []string{"refs/heads/main", "refs/heads/origin/main", "refs/remotes/origin/main", "refs/pull/7/head"} {
		p.it.must(t, "update-ref", "refs/tags/"+name, old)
		p.it.must(t, "update-ref", "refs/heads/"+name, old)
	}
	p.it.must(t, "update-ref", "refs/heads/proposed", now)
	for _, base := range []string{"", "origin/main", "refs/remotes/origin/main"} {
		r, err := Check(t.Context(), CheckOptions{Source: p.fork, Ref: "proposed", Base: base, Clock: p.clock})
		p.must(err)
		if r.Base != now || r.Commit != now {
			t.Errorf("base %q: compared %s with %s, want %s", base, r.Commit, r.Base, now)
		}
	}
	if id, err := p.it.repo.commitOf(t.Context(), "origin/main"); err != nil || id != now {
		t.Errorf("origin/main is %s, %v", id, err)
	}
	for _, absent := range []string{"refs/pull/7/head", "main", "refs/heads/main"} {
		if _, err := Check(t.Context(), CheckOptions{Source: p.fork, Ref: absent, Base: p.origin, Clock: p.clock}); !errors.Is(err, abi.ErrNotFound) {
			t.Errorf("%q of a clone: %v", absent, err)
		}
		if id, err := p.it.repo.commitOf(t.Context(), absent); !errors.Is(err, abi.ErrNotFound) {
			t.Errorf("%q here is %s, %v", absent, id, err)
		}
	}
	if _, err := p.m.Accept(t.Context(), p.keys, AcceptOptions{From: p.fork, Ref: "refs/pull/7/head"}); !errors.Is(err, abi.ErrNotFound) {
		t.Errorf("accepted: %v", err)
	}
}
