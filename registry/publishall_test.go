package registry

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

func TestPublishAll(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var all []Submission
	for _, v := range []string{"1.1.0", "1.2.0", "2.0.0"} {
		all = append(all, f.submission(f.releaseOf(v), f.publisher))
	}
	all = append(all, f.same("2.1.0", "2.0.0")) // two versions with one module
	before, err := f.client.Refresh(t.Context(), "main")
	f.must(err)
	f.must(f.m.PublishAll(t.Context(), f.keys, all))
	after, err := f.client.Refresh(t.Context(), "main")
	if err != nil || after.Snapshot != before.Snapshot+1 {
		t.Errorf("snapshot %d after %d, %v", after.Snapshot, before.Snapshot, err)
	}
	for _, v := range []string{"1.1.0", "2.0.0"} {
		f.mustInstall(Ref{Namespace: "acme", Name: "tracker", Constraint: "=" + v})
		f.wantActive(v)
	}
}

// One release that clients would refuse keeps all of them out.
func TestPublishAllOrNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	good := f.submission(f.releaseOf("1.1.0"), f.publisher)
	next := f.releaseOf("1.2.0")
	swapped := f.submission(next, f.publisher)
	swapped.Wasm = wasmOf("9.9.9")
	for name, tt := range map[string]struct {
		all  []Submission
		want error
	}{
		"nothing":             {nil, abi.ErrInvalidArgs},
		"a foreign key":       {[]Submission{good, f.submission(next, f.mallory)}, abi.ErrUntrusted},
		"another module":      {[]Submission{good, swapped}, abi.ErrUntrusted},
		"the wrong order":     {[]Submission{f.submission(next, f.publisher), good}, abi.ErrInvalidArgs},
		"the same twice":      {[]Submission{good, good}, abi.ErrInvalidArgs},
		"a malformed release": {[]Submission{good, {Release: []byte("{}"), Signature: good.Signature, Wasm: good.Wasm}}, abi.ErrUntrusted},
	} {
		before := f.files()
		if err := f.m.PublishAll(t.Context(), f.keys, tt.all); !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", name, err, tt.want)
		}
		if !bytes.Equal(f.files()[snapshotPath], before[snapshotPath]) {
			t.Errorf("%s: a snapshot was signed", name)
		}
	}
	if refs := f.refsOf(f.origin); strings.Contains(refs, hashOf(good.Wasm)) {
		t.Errorf("refs:\n%s", refs)
	}
}

// A forge that refuses other refs takes the modules as tags, and clients find them.
func TestPushToAForgeThatRefusesOtherRefs(t *testing.T) {
	t.Parallel()
	f := newOrigin(t, "main")
	for name, refuses := range map[string]bool{"takes all": false, "takes branches and tags": true} {
		forge := t.TempDir() + "/forge.git"
		repo, err := create(t.Context(), forge, fromFile)
		f.must(err)
		if refuses {
			f.must(refuseOtherRefs(repo))
		}
		f.must(f.m.Push(t.Context(), forge))
		refs := f.refsOf(forge)
		if strings.Contains(refs, "refs/drawbridge/") == refuses || strings.Contains(refs, "refs/tags/drawbridge/") != refuses {
			t.Errorf("%s: refs:\n%s", name, refs)
		}
		c := f.newClient()
		_, err = c.AddRegistry(t.Context(), forge, f.owner.Fingerprint())
		f.must(err)
		if _, err := c.Install(t.Context(), tracker, InstallOptions{Consent: yes}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// refuseOtherRefs makes a repository refuse what isn't a branch or a tag, as forges
// do, by a hook of its own.
func refuseOtherRefs(r repository) error {
	hooks := filepath.Join(r.dir, "hooks")
	if err := os.MkdirAll(hooks, 0o700); err != nil {
		return err
	}
	script := "#!/bin/sh\ncase \"$1\" in refs/heads/*|refs/tags/*) exit 0;; esac\necho \"$1 is refused\" >&2\nexit 1\n"
	return os.WriteFile(filepath.Join(hooks, "update"), []byte(script), 0o700)
}
