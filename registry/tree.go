package registry

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/drawbridge-mcp/drawbridge/abi"
)

// The policy for a registry's tree. It is checked whole before a file is read.
const (
	maxTreeDepth = 4
	maxTreeFiles = 20_000
	maxTreeLines = 3 * maxTreeFiles // of all tree objects: folders and what is refused too
	maxTreeBytes = 4 << 20          // of one tree object
	modeFile     = "100644"
	modeDir      = "40000"
)

// fileName is what a name in the tree may look like. It leaves out everything
// that some file system takes for another name, ".." and ".git" among it.
var fileName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,99}$`)

// topFiles and topDirs are all that may stand in a registry's top folder. What
// people put there for people is let be and never read.
func topFiles() []string {
	return []string{
		snapshotPath, signaturePath(snapshotPath), revocationsPath, signaturePath(revocationsPath),
		"README.md", "LICENSE", "SECURITY.md", "CONTRIBUTING.md",
	}
}

func topDirs() []string { return []string{"root", "keys", "namespaces", "connectors"} }

// A tree is the file list of one commit, after the policy: path > object id.
type tree struct {
	objects *objects
	files   map[string]string
	lines   int // of the tree objects that were read
	// refused is told of an entry that is against the policy, and the walk goes on
	// without it; nil ends the walk there.
	refused func(path string, err error)
}

// readTree walks the tree of a commit and refuses it whole if anything in it is
// against the policy. Errors are *abi.Error, untrusted, malformed.
func readTree(o *objects, commit string) (*tree, error) {
	return walkTree(o, commit, nil)
}

func walkTree(o *objects, commit string, refused func(string, error)) (*tree, error) {
	root, err := o.stat(commit + "^{tree}")
	if err != nil {
		return nil, malformed(commit, "%w", err)
	}
	t := &tree{objects: o, files: map[string]string{}, refused: refused}
	if err := t.walk(root, "", 1); err != nil {
		return nil, err
	}
	return t, nil
}

// walk reads one tree object, and then what its entries are, all at once.
func (t *tree) walk(folder object, dir string, depth int) error {
	raw, err := t.objects.readKnown(folder, "tree", maxTreeBytes)
	if err != nil {
		return malformed(dir+"/", "%w", err)
	}
	entries, err := entriesOf(raw, len(folder.id)/2)
	if err != nil {
		return malformed(dir+"/", "%w", err)
	}
	if t.lines += len(entries); len(entries) > maxTreeFiles || t.lines > maxTreeLines {
		return malformed(dir+"/", "more than %d entries, or %d in all", maxTreeFiles, maxTreeLines)
	}
	ids := make([]string, len(entries))
	for i, e := range entries {
		ids[i] = e.id
	}
	known, err := t.objects.statAll(ids)
	if err != nil {
		return malformed(dir+"/", "%w", err)
	}
	for i, e := range entries {
		err := t.admit(e, known[i], dir, depth)
		if err != nil && t.refused != nil && len(t.files) < maxTreeFiles && t.lines <= maxTreeLines {
			t.refused(strings.TrimPrefix(dir+"/"+e.name, "/"), err)
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// admit applies the policy to one entry, which is obj, and descends.
func (t *tree) admit(e entry, obj object, dir string, depth int) error {
	path := strings.TrimPrefix(dir+"/"+e.name, "/")
	isDir := e.mode == modeDir
	if !isDir && e.mode != modeFile {
		return malformed(path, "mode %q, only plain files are allowed", e.mode)
	}
	top := topFiles()
	if isDir {
		top = topDirs()
	}
	if depth == 1 && !slices.Contains(top, e.name) {
		return malformed(path, "it doesn't belong into a registry's top folder")
	}
	if depth > 1 && !fileName.MatchString(e.name) {
		return malformed(path, "a name like this isn't allowed")
	}
	if isDir {
		if depth >= maxTreeDepth {
			return malformed(path, "more than %d folders deep", maxTreeDepth)
		}
		return t.walk(obj, path, depth+1)
	}
	if len(t.files) >= maxTreeFiles {
		return malformed(path, "more than %d files", maxTreeFiles)
	}
	if obj.kind != "blob" || obj.size > abi.MaxMetadata {
		return malformed(path, "a %s of %d bytes", obj.kind, obj.size)
	}
	t.files[path] = e.id
	return nil
}

// An entry is one line of a tree object: "mode name\0id".
type entry struct{ mode, name, id string }

// entriesOf reads a whole tree object, in which no name may stand twice.
func entriesOf(raw []byte, idSize int) (list []entry, err error) {
	seen := map[string]bool{}
	for len(raw) > 0 {
		var e entry
		if e, raw, err = nextEntry(raw, idSize); err != nil {
			return nil, err
		}
		if seen[e.name] {
			return nil, fmt.Errorf("%q stands there twice", e.name)
		}
		seen[e.name] = true
		list = append(list, e)
	}
	return list, nil
}

func nextEntry(raw []byte, idSize int) (e entry, rest []byte, err error) {
	line, rest, found := bytes.Cut(raw, []byte{0})
	mode, name, spaced := bytes.Cut(line, []byte{' '})
	if !found || !spaced || len(name) == 0 || len(rest) < idSize {
		return entry{}, nil, errors.New("a broken tree object")
	}
	return entry{string(mode), string(name), hex.EncodeToString(rest[:idSize])}, rest[idSize:], nil
}

// ReadFile returns a file's content. The error for one that isn't there wraps
// fs.ErrNotExist.
func (t *tree) ReadFile(path string) ([]byte, error) {
	id, ok := t.files[path]
	if !ok {
		return nil, fmt.Errorf("%q: %w", path, fs.ErrNotExist)
	}
	data, err := t.objects.read(id, "blob", abi.MaxMetadata)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", path, err)
	}
	return data, nil
}
