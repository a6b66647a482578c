package registry

import (
	"archive/tar"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// unpack extracts the hostile repositories and returns the folder of each.
func unpack(t *testing.T) (repos []string) {
	t.Helper()
	f, err := os.Open("../test/vectors/git.tar.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || !filepath.IsLocal(h.Name) {
			t.Fatalf("archive entry %+v: %v", h, err)
		}
		path := filepath.Join(dir, h.Name)
		if h.FileInfo().IsDir() {
			err = os.MkdirAll(path, 0o700)
		} else {
			err = writeEntry(path, r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	repos, err = filepath.Glob(filepath.Join(dir, "git", "*.git"))
	if err != nil || len(repos) < 15 {
		t.Fatalf("%d repositories, %v", len(repos), err)
	}
	return repos
}

func writeEntry(path string, r io.Reader) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, r)
	return errors.Join(err, f.Close())
}

// snapshotOf lists every file below a folder with its size and mode.
func snapshotOf(t *testing.T, dir, but string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if path == but {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err == nil {
			found[path] = info.Mode().String() + " " + strconv.FormatInt(info.Size(), 10)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// graft puts each repository's tree below connectors/, where the rule for the top
// folder doesn't catch it.
func graft(t *testing.T, origin string) {
	t.Helper()
	r := repository{origin, fromFile}
	run := func(stdin string, args ...string) string {
		t.Helper()
		out, err := r.run(t.Context(), strings.NewReader(stdin), args...)
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(out)
	}
	hostile := run("", "rev-parse", branch+"^{tree}")
	top := run("040000 tree "+hostile+"\tconnectors\n", "mktree")
	stream := fmt.Sprintf("commit %s\ncommitter x <> 0 +0000\ndata 0\nM 040000 %s \n", branch, top)
	run(stream, "fast-import", "--quiet", "--force", "--date-format=raw")
}

// Every hostile repository is refused by git's own checks or by the policy, not
// by chance because it lacks a root, and nothing outside our folder changes.
func TestHostileRepositories(t *testing.T) {
	t.Parallel()
	p, err := everybody()
	if err != nil {
		t.Fatal(err)
	}
	outer := t.TempDir()
	home := filepath.Join(outer, "home")
	c, err := New(Config{Dir: home})
	if err != nil {
		t.Fatal(err)
	}
	before := snapshotOf(t, outer, home)
	for name, origin := range eachHostile(t) {
		t.Run(name, func(t *testing.T) {
			_, err := c.AddRegistry(t.Context(), origin, p.owner.Fingerprint())
			wantRefused(t, err, abi.ReasonMalformed)
			t.Log(err)
			if left, _ := filepath.Glob(filepath.Join(home, "registries", "*")); len(left) != 0 {
				t.Errorf("it left %v", left)
			}
		})
	}
	if after := snapshotOf(t, outer, home); !maps.Equal(after, before) {
		t.Errorf("files outside: %v, were %v", after, before)
	}
	for _, escaped := range []string{"/tmp/drawbridge-escaped", "/tmp/drawbridge-escaped-abs"} {
		if _, err := os.Lstat(escaped); err == nil {
			t.Errorf("%s was made", escaped) // what the repositories try to write
		}
	}
	if list, err := c.Registries(); err != nil || len(list) != 0 {
		t.Errorf("registries %+v, %v", list, err)
	}
}

// The policy has to stand by itself: here the same trees are walked without a
// fetch, so that git's own checks don't help.
func TestPolicyAlone(t *testing.T) {
	t.Parallel()
	for name, origin := range eachHostile(t) {
		t.Run(name, func(t *testing.T) {
			objects, err := repository{origin, fromFile}.open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer objects.close()
			_, err = readTree(objects, branch)
			wantRefused(t, err, abi.ReasonMalformed)
			t.Log(err)
		})
	}
}

// eachHostile yields each repository by a name, as it is, and with its tree grafted.
func eachHostile(t *testing.T) iter.Seq2[string, string] {
	t.Helper()
	repos := unpack(t)
	return func(yield func(name, origin string) bool) {
		for _, origin := range repos {
			name := strings.TrimSuffix(filepath.Base(origin), ".git")
			if !yield(name, origin) {
				return
			}
			graft(t, origin)
			if !yield(name+"-grafted", origin) {
				return
			}
		}
	}
}
