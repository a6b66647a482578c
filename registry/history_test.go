package registry

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/signing"
)

func (f *fixture) log(limit int) *History {
	f.t.Helper()
	h, err := Log(f.t.Context(), LogOptions{Source: f.origin, Pinned: f.owner.Fingerprint(), Limit: limit, Clock: f.clock})
	f.must(err)
	return h
}

// The history says what each snapshot changed, and who signed it.
func TestLog(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	f.publish("1.1.0")
	f.must(f.m.Yank(t.Context(), f.keys, tracker, "1.1.0", "broken"))
	f.must(f.m.Unyank(t.Context(), f.keys, tracker, "1.1.0"))
	f.must(f.m.Revoke(t.Context(), f.keys, Revocation{Keys: []signing.Fingerprint{f.mallory.Fingerprint()}, Reason: "stolen"}))
	f.must(f.m.Refresh(t.Context(), f.keys))
	f.tamper(func(m map[string][]byte) { m["README.md"] = []byte("# ours\n") }) // no snapshot of its own
	h := f.log(0)
	if h.Registry != "main" || !h.Whole || h.Broken() || len(h.Entries) != 8 {
		t.Fatalf("history %+v", h)
	}
	var kinds []ChangeKind
	for i, e := range h.Entries {
		if !slices.Equal(e.Signers, []signing.Fingerprint{f.snapshot.Fingerprint()}) || e.Version != int64(8-i) || len(e.Changes) > 1 {
			t.Errorf("entry %+v", e)
		}
		for _, c := range e.Changes {
			kinds = append(kinds, c.Kind)
		}
	}
	want := []ChangeKind{ChangeKeyRevoked, ChangeUnyanked, ChangeYanked, ChangePublished, ChangePublished, ChangePublisherAdded, ChangeRoot}
	if !slices.Equal(kinds, want) {
		t.Errorf("changes %q, want %q", kinds, want)
	}
	if c := h.Entries[3].Changes[0]; c.Subject != "acme/tracker@1.1.0" || c.Detail != "broken" {
		t.Errorf("change %+v", c)
	}
	if h := f.log(2); len(h.Entries) != 2 || h.Whole || h.Broken() || len(h.Entries[1].Changes) != 1 {
		t.Errorf("two of it: %+v", h)
	}
	if _, err := Log(t.Context(), LogOptions{Source: f.origin, Ref: "-x", Clock: f.clock}); !errors.Is(err, abi.ErrInvalidArgs) {
		t.Errorf("an option as a ref: %v", err)
	}
}

// What was done to a history shows, at the snapshot to which it was done.
func TestLogOfABrokenHistory(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		do   func(f *fixture)
		says string
	}{
		"a snapshot that follows none": {func(f *fixture) { f.unchain() }, "the chain is broken"},
		"another signer":               {func(f *fixture) { f.resign(func(map[string][]byte) {}); f.signAs(f.mallory, "snapshot.json") }, "key"},
		"an older state again": {func(f *fixture) {
			old := f.files()
			f.publish("1.1.0")
			f.replace(old)
		}, "version"},
		"a snapshot for another root": {func(f *fixture) {
			f.rework(func(e *edit) error { e.root.Version = 2; return nil })
		}, "root version"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newOrigin(t, "main")
			f.now = f.now.Add(time.Minute)
			c.do(f)
			h := f.log(0)
			if !h.Broken() || !strings.Contains(h.Entries[0].Problem, c.says) {
				t.Errorf("the newest says %q, want %q", h.Entries[0].Problem, c.says)
			}
			for _, e := range h.Entries[1:] {
				if e.Problem != "" {
					t.Errorf("version %d: %s", e.Version, e.Problem)
				}
			}
		})
	}
}

// Who looked away misses nothing: what was taken back stands in the history.
func TestLogShowsWhatWasRewritten(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	f.now = f.now.Add(time.Minute)
	f.relistAs(f.submission(f.releaseOf("1.0.0"), f.publisher))
	f.reindex(func(x *Index) { x.Versions = []Version{} })
	h := f.log(0)
	if h.Broken() || h.Entries[0].Changes[0].Kind != ChangeRemoved || h.Entries[1].Changes[0].Kind != ChangeRewritten {
		t.Errorf("history %+v", h.Entries[:2])
	}
}

// After a rotation with a new count the history goes on.
func TestLogAfterARestart(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	f.must(f.m.ChangeRoles(t.Context(), Keys{f.keys.Owners, []Signer{f.owner2}, f.keys.Revocation}, RoleChange{
		Snapshot: RoleEdit{Add: []signing.Certificate{f.owner2.Certificate()}, Remove: []signing.Fingerprint{f.snapshot.Fingerprint()}},
		Restart:  true,
	}))
	h := f.log(0)
	if h.Broken() || !h.Whole || h.Entries[0].Version != 1 || len(h.Entries) != 4 || h.Entries[0].Changes[0].Kind != ChangeRoot {
		t.Errorf("history %+v", h)
	}
}

// A commit object is read no further than its first parent, and what is taken for
// one can only be an object id, which is given to git again.
func FuzzFirstParent(f *testing.F) {
	id := strings.Repeat("0a", 20)
	for _, seed := range []string{
		"tree " + id + "\nparent " + id + "\nauthor x <> 0 +0000\n", "tree " + id + "\nauthor parent\n", "parent " + id + "\n",
		"tree x\nparent " + id[1:] + "\n", "tree x\nparent --upload-pack\n", "tree x\nparent " + id + " \n", "",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parent, err := firstParent(data, 40)
		if err != nil || parent == "" {
			return
		}
		if len(parent) != 40 || strings.Trim(parent, "0123456789abcdef") != "" || !strings.Contains(string(data), "\nparent "+parent) {
			t.Errorf("parent %q of %q", parent, data)
		}
	})
}

func TestFirstParentRefuses(t *testing.T) {
	t.Parallel()
	id := strings.Repeat("0a", 20)
	for _, bad := range []string{"", "parent " + id, "tree x\nparent " + id[2:], "tree x\nparent " + strings.Repeat("-u", 20), "tree x\nparent " + strings.ToUpper(id)} {
		if parent, err := firstParent([]byte(bad), 40); err == nil {
			t.Errorf("%q has the parent %q", bad, parent)
		}
	}
	if parent, err := firstParent([]byte("tree x\nauthor y\nparent "+id), 40); err != nil || parent != "" {
		t.Errorf("a root commit: %q, %v", parent, err)
	}
}
