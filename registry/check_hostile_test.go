package registry

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
)

// A hostile registry is one on its way to be written, object by object and without
// git, which would refuse much of it.
type hostile struct {
	w       *world
	rng     *rand.Rand
	files   map[string]file
	modules map[string][]byte // by the sha256 that its ref says
	tags    map[string][]byte
	// raw changes the entries of one folder after all else.
	raw map[string][]func([]treeLine) []treeLine
}

type file struct {
	mode string
	data []byte
}

// A treeLine is one entry of a tree object.
type treeLine struct {
	mode, name string
	id         []byte
}

func (h *hostile) clone() *hostile {
	return &hostile{
		files: maps.Clone(h.files), modules: maps.Clone(h.modules), tags: maps.Clone(h.tags),
		raw: map[string][]func([]treeLine) []treeLine{},
	}
}

// looseObject writes a loose object and returns its id.
func looseObject(dir, kind string, data []byte) ([]byte, error) {
	raw := append(fmt.Appendf(nil, "%s %d\x00", kind, len(data)), data...)
	sum := sha1.Sum(raw)
	id := hex.EncodeToString(sum[:])
	path := filepath.Join(dir, "objects", id[:2], id[2:])
	if _, err := os.Stat(path); err == nil {
		return sum[:], nil
	}
	var b bytes.Buffer
	z, err := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	if err == nil {
		_, err = z.Write(raw)
	}
	return sum[:], errors.Join(err, z.Close(), os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, b.Bytes(), 0o600))
}

// write makes a bare repository of it.
func (h *hostile) write(dir string) error {
	for path, data := range map[string]string{
		"HEAD": "ref: " + branch + "\n", "config": "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
	} {
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, path), []byte(data), 0o600)); err != nil {
			return err
		}
	}
	top, err := h.folder(dir, "")
	if err != nil {
		return err
	}
	commit, err := looseObject(dir, "commit", fmt.Appendf(nil, "tree %x\nauthor x <> 0 +0000\ncommitter x <> 0 +0000\n\nx\n", top))
	if err == nil {
		err = writeRef(dir, branch, commit)
	}
	for prefix, all := range map[string]map[string][]byte{artifactRef(""): h.modules, artifactTag(""): h.tags} {
		for sha, data := range all {
			id, oerr := looseObject(dir, "blob", data)
			err = errors.Join(err, oerr, writeRef(dir, prefix+sha, id))
		}
	}
	return err
}

func writeRef(dir, name string, id []byte) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	return errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, fmt.Appendf(nil, "%x\n", id), 0o600))
}

// folder writes the tree of the files below dir.
func (h *hostile) folder(repo, dir string) (id []byte, err error) {
	var lines []treeLine
	below := map[string]bool{}
	for path, f := range h.files {
		rest, ok := strings.CutPrefix(path, dir)
		if !ok {
			continue
		}
		if name, _, deeper := strings.Cut(rest, "/"); deeper {
			below[name] = true
			continue
		}
		l := treeLine{f.mode, rest, bytes.Repeat([]byte{7}, 20)}
		if f.mode != "160000" && f.data != nil {
			if l.id, err = looseObject(repo, "blob", f.data); err != nil {
				return nil, err
			}
		}
		lines = append(lines, l)
	}
	for name := range below {
		l := treeLine{mode: modeDir, name: name}
		if l.id, err = h.folder(repo, dir+name+"/"); err != nil {
			return nil, err
		}
		lines = append(lines, l)
	}
	order := func(l treeLine) string {
		if l.mode == modeDir {
			return l.name + "/"
		}
		return l.name
	}
	slices.SortFunc(lines, func(a, b treeLine) int { return strings.Compare(order(a), order(b)) })
	for _, change := range h.raw[strings.TrimSuffix(dir, "/")] {
		lines = change(lines)
	}
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "%s %s\x00%s", l.mode, l.name, l.id)
	}
	return looseObject(repo, "tree", b.Bytes())
}

// The ways in which the snapshot of a hostile registry is made: it is the base's, one
// that follows it and knows nothing of the changes, one that vouches for them by the
// right key, or by a wrong one.
const (
	sealedBefore = iota
	sealedNext
	sealedAfter
	sealedByAnother
	sealings
)

// change makes the changes, and says their names.
func (h *hostile) change(seal byte, ops []byte) (names []string) {
	if seal %= 2 * sealings; seal >= sealings {
		seal = sealedNext + seal%2 // which tell most
	}
	if seal == sealedNext {
		h.seal(h.w.snapshot, nil)
	}
	all := changes()
	for _, op := range ops {
		c := all[int(op)%len(all)]
		names = append(names, c.name)
		c.do(h)
	}
	switch seal {
	case sealedAfter:
		h.seal(h.w.snapshot, nil)
	case sealedByAnother:
		h.seal(h.somebody(), nil)
	}
	return append(names, []string{"no new snapshot", "beside the next snapshot", "signed", "signed by somebody"}[seal])
}

func (h *hostile) somebody() Signer {
	w := h.w
	return pick(h.rng, []Signer{w.owner, w.owner2, w.snapshot, w.revoker, w.publisher, w.mallory})
}

// pick is one of a list.
func pick[T any](rng *rand.Rand, list []T) T { return list[rng.IntN(len(list))] }

// seal signs the next snapshot of the files that there are.
func (h *hostile) seal(by Signer, change func(*Snapshot)) {
	last, err := canonicalSnapshot(h.files[snapshotPath].data)
	if err != nil {
		return
	}
	s := *last
	s.Version, s.Previous, s.Issued, s.Expires, s.Files = s.Version+1, hashOf(h.files[snapshotPath].data), At(h.w.now), At(h.w.now.Add(snapshotLife)), map[string]FileHash{}
	for path, f := range h.files {
		if inSnapshot(path) && f.mode == modeFile {
			s.Files[path] = fileHash(f.data)
		}
	}
	for n := s.Root + 1; h.files[rootPath(n)].data != nil; n++ {
		s.Root = n
	}
	if change != nil {
		change(&s)
	}
	h.sign(snapshotPath, &s, by)
}

func canonicalSnapshot(data []byte) (*Snapshot, error) {
	var s Snapshot
	return &s, decode(snapshotPath, data, &s)
}

// sign writes a document, good or not, and its signature.
func (h *hostile) sign(path string, doc any, by Signer) {
	data, err := canonical(doc)
	if err != nil {
		return
	}
	h.put(path, data)
	h.signFile(path, by)
}

func (h *hostile) put(path string, data []byte) { h.files[path] = file{modeFile, data} }

func (h *hostile) signFile(path string, by Signer) {
	sig, err := by.Sign(h.files[path].data, h.w.now)
	h.w.must(err)
	h.put(signaturePath(path), sig)
}

// A hostileChange is one thing that somebody does to a registry.
type hostileChange struct {
	name string
	do   func(*hostile)
	form bool // of the tree: refused without a look at what the files say
}

// changes are all that there are. Their order is that of the corpus.
func changes() []hostileChange {
	form := slices.Concat(nameChanges(), treeChanges())
	for i := range form {
		form[i].form = true
	}
	return slices.Concat(fileChanges(), form, documentChanges(), releaseChanges())
}

func fileChanges() []hostileChange {
	any := func(h *hostile) string { return pick(h.rng, h.paths("")) }
	bytesOf := func(change func(h *hostile, data []byte) []byte) func(*hostile) {
		return func(h *hostile) {
			path := any(h)
			h.files[path] = file{modeFile, change(h, bytes.Clone(h.files[path].data))}
		}
	}
	mode := func(m string) func(*hostile) {
		return func(h *hostile) { p := any(h); h.files[p] = file{m, h.files[p].data} }
	}
	return []hostileChange{
		{name: "nothing", do: func(*hostile) {}},
		{name: "a file is gone", do: func(h *hostile) { delete(h.files, any(h)) }},
		{name: "a signature is gone", do: func(h *hostile) { delete(h.files, pick(h.rng, h.paths(".asc"))) }},
		{name: "a file in the place of another", do: func(h *hostile) { h.files[any(h)] = h.files[any(h)] }},
		{name: "two signatures change places", do: func(h *hostile) {
			a, b := pick(h.rng, h.paths(".json.asc")), pick(h.rng, h.paths(".json.asc"))
			h.files[a], h.files[b] = h.files[b], h.files[a]
		}},
		{name: "a byte is another", do: bytesOf(func(h *hostile, d []byte) []byte {
			if len(d) > 0 {
				d[h.rng.IntN(len(d))] ^= 1 << h.rng.IntN(8)
			}
			return d
		})},
		{name: "half of a file", do: bytesOf(func(_ *hostile, d []byte) []byte { return d[:len(d)/2] })},
		{name: "a space more", do: bytesOf(func(_ *hostile, d []byte) []byte { return append(d, ' ') })},
		{name: "an empty file", do: bytesOf(func(*hostile, []byte) []byte { return []byte{} })},
		{name: "a huge file", do: bytesOf(func(*hostile, []byte) []byte { return make([]byte, abi.MaxMetadata+1) })},
		{name: "a program", do: mode("100755")},
		{name: "a link", do: mode("120000")},
		{name: "a submodule", do: mode("160000")},
		{name: "a mode that git writes no more", do: mode("100664")},
		{name: "a blob that is called a folder", do: mode(modeDir)},
		{name: "a blob that isn't there", do: func(h *hostile) { h.files[any(h)] = file{modeFile, nil} }},
		{name: "a link to somewhere", do: func(h *hostile) { h.files[any(h)] = file{"120000", []byte("/etc/passwd")} }},
		{name: "a folder in the place of a file", do: func(h *hostile) {
			p := any(h)
			f := h.files[p]
			delete(h.files, p)
			h.files[p+"/"+filepath.Base(p)] = f
		}},
	}
}

// nameChanges put a copy of a file under another name.
func nameChanges() []hostileChange {
	var list []hostileChange
	for name, of := range map[string]func(p string) string{
		"a name in capitals":          strings.ToUpper,
		"a folder in capitals":        func(p string) string { return "C" + strings.TrimPrefix(p, "c") },
		"a composed letter":           func(p string) string { return filepath.Dir(p) + "/\u00edndex.json" },
		"a decomposed letter":         func(p string) string { return filepath.Dir(p) + "/i\u0301ndex.json" },
		"a long name":                 func(p string) string { return p + strings.Repeat("a", 300) },
		"a name that ends with a dot": func(p string) string { return p + "." },
		"a name with a space":         func(p string) string { return p + " " },
		"a name with a line feed":     func(p string) string { return p + "\n" },
		"a name with a backslash":     func(p string) string { return filepath.Dir(p) + "\\" + filepath.Base(p) },
		"a drive":                     func(p string) string { return filepath.Dir(p) + "/c:x.json" },
		"a stream":                    func(p string) string { return p + "::$DATA" },
		"a folder of git's":           func(p string) string { return filepath.Dir(p) + "/.git/config" },
		"another folder of git's":     func(p string) string { return filepath.Dir(p) + "/git~1/config" },
		"the folder above":            func(p string) string { return filepath.Dir(p) + "/../x.json" },
		"a deep folder":               func(p string) string { return "connectors/acme/tracker/a/b/c/d/e/" + filepath.Base(p) },
		"a version of another plugin": func(string) string { return "connectors/corp/wiki/1.0.1.json" },
		"an index of another plugin":  func(string) string { return "connectors/corp/wikis/index.json" },
		"a namespace":                 func(string) string { return "namespaces/evil.json" },
		"a key":                       func(string) string { return "keys/0123456789abcdef0123456789abcdef01234567.asc" },
		"a root":                      func(string) string { return "root/3.json" },
		"a root far up":               func(string) string { return "root/9.json" },
		"a file for people":           func(string) string { return "README.md" },
		"a device":                    func(string) string { return "connectors/nul/aux/1.0.0.json" },
	} {
		list = append(list, hostileChange{name: name, do: func(h *hostile) {
			p := pick(h.rng, h.paths(""))
			h.files[of(p)] = h.files[p]
		}})
	}
	slices.SortFunc(list, func(a, b hostileChange) int { return strings.Compare(a.name, b.name) })
	return list
}

// treeChanges are to tree objects, below what files can say.
func treeChanges() []hostileChange {
	in := func(change func(h *hostile, l []treeLine) []treeLine) func(*hostile) {
		return func(h *hostile) {
			dir := pick(h.rng, []string{"", "keys", "root", "connectors", "connectors/acme", "connectors/acme/tracker", "namespaces"})
			h.raw[dir] = append(h.raw[dir], func(l []treeLine) []treeLine {
				if len(l) == 0 {
					return l
				}
				return change(h, l)
			})
		}
	}
	return []hostileChange{
		{name: "an entry twice", do: in(func(h *hostile, l []treeLine) []treeLine { return append(l, pick(h.rng, l)) })},
		{name: "an entry twice, side by side", do: in(func(_ *hostile, l []treeLine) []treeLine { return slices.Insert(l, 0, l[0]) })},
		{name: "entries in another order", do: in(func(_ *hostile, l []treeLine) []treeLine { slices.Reverse(l); return l })},
		{name: "an entry without a name", do: in(func(_ *hostile, l []treeLine) []treeLine { l[0].name = ""; return l })},
		{name: "a name with a slash", do: in(func(_ *hostile, l []treeLine) []treeLine { l[0].name = "a/" + l[0].name; return l })},
		{name: "a mode with a zero before it", do: in(func(_ *hostile, l []treeLine) []treeLine { l[0].mode = "0" + l[0].mode; return l })},
		{name: "a short id", do: in(func(_ *hostile, l []treeLine) []treeLine { l[len(l)-1].id = l[len(l)-1].id[:7]; return l })},
		{name: "an id of nothing", do: in(func(_ *hostile, l []treeLine) []treeLine { l[0].id = make([]byte, 20); return l })},
		{name: "no entries", do: in(func(*hostile, []treeLine) []treeLine { return nil })},
		{name: "many entries", do: in(func(_ *hostile, l []treeLine) []treeLine {
			for i := range 2000 {
				l = append(l, treeLine{l[0].mode, fmt.Sprintf("x%04d", i), l[0].id})
			}
			return l
		})},
	}
}

// leaves lists the places of a JSON value that a change can be made at.
func leaves(v any, at func(set func(any), old any)) {
	switch x := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			at(func(n any) {
				if n == nil {
					delete(x, k)
				} else {
					x[k] = n
				}
			}, x[k])
			leaves(x[k], at)
		}
	case []any:
		for i := range x {
			at(func(n any) { x[i] = n }, x[i])
			leaves(x[i], at)
		}
	}
}

// another changes one leaf of a JSON document.
func (h *hostile) another(data []byte) []byte {
	var doc any
	if json.Unmarshal(data, &doc) != nil {
		return data
	}
	type leaf struct {
		set func(any)
		old any
	}
	var all []leaf
	leaves(doc, func(set func(any), old any) { all = append(all, leaf{set, old}) })
	if len(all) == 0 {
		return data
	}
	l := pick(h.rng, all)
	switch old := l.old.(type) {
	case float64:
		l.set(old + pick(h.rng, []float64{-1, 1, 1 << 52, -old}))
	case string:
		if at, err := time.Parse(time.RFC3339, old); err == nil {
			l.set(at.Add(time.Duration(h.rng.IntN(5)-2) * 23 * time.Hour).Format(time.RFC3339))
			break
		}
		l.set(pick(h.rng, []any{old + "x", "", "stable", "1.0.0", "main", "acme", "corp", strings.ToUpper(old), string(h.w.mallory.Fingerprint()), hashOf([]byte(old)), nil}))
	case []any:
		l.set(pick(h.rng, []any{[]any{}, append(slices.Clone(old), old...), nil}))
	default:
		l.set(nil)
	}
	raw, err := json.Marshal(doc)
	if err == nil {
		raw, err = release.CanonicalJSON(raw)
	}
	if err != nil {
		return data
	}
	return raw
}

func documentChanges() []hostileChange {
	document := func(h *hostile) string { return pick(h.rng, h.paths(".json")) }
	return []hostileChange{
		{name: "another field", do: func(h *hostile) { p := document(h); h.put(p, h.another(h.files[p].data)) }},
		{name: "another field, signed by somebody", do: func(h *hostile) {
			p := document(h)
			h.put(p, h.another(h.files[p].data))
			h.signFile(p, h.somebody())
		}},
		{name: "another field of an index", do: func(h *hostile) { p := pick(h.rng, h.paths("index.json")); h.put(p, h.another(h.files[p].data)) }},
		{name: "another field of a namespace, by an owner", do: func(h *hostile) {
			h.put(spaceFile, h.another(h.files[spaceFile].data))
			h.signFile(spaceFile, h.w.owner)
		}},
		{name: "another field of the revocations, by their key", do: func(h *hostile) {
			h.put(revocationsPath, h.another(h.files[revocationsPath].data))
			h.signFile(revocationsPath, h.w.revoker)
		}},
		{name: "another field of the snapshot", do: func(h *hostile) { h.put(snapshotPath, h.another(h.files[snapshotPath].data)) }},
		{name: "another field of the snapshot, by its key", do: func(h *hostile) {
			h.put(snapshotPath, h.another(h.files[snapshotPath].data))
			h.signFile(snapshotPath, h.w.snapshot)
		}},
		{name: "another field of the next snapshot, by its key", do: func(h *hostile) {
			h.seal(h.w.snapshot, nil)
			h.put(snapshotPath, h.another(h.files[snapshotPath].data))
			h.signFile(snapshotPath, h.w.snapshot)
		}},
		{name: "another field of the next snapshot, by somebody", do: func(h *hostile) {
			h.seal(h.w.snapshot, nil)
			h.put(snapshotPath, h.another(h.files[snapshotPath].data))
			h.signFile(snapshotPath, h.somebody())
		}},
		{name: "a key twice", do: func(h *hostile) {
			p := document(h)
			h.put(p, bytes.Replace(h.files[p].data, []byte("{"), []byte(`{"format":1,`), 1))
		}},
		{name: "a field in capitals", do: func(h *hostile) {
			p := document(h)
			h.put(p, bytes.Replace(h.files[p].data, []byte(`"type"`), []byte(`"Type"`), 1))
		}},
		{name: "spread over lines", do: func(h *hostile) {
			p := document(h)
			var b bytes.Buffer
			if json.Indent(&b, h.files[p].data, "", " ") == nil {
				h.put(p, b.Bytes())
			}
		}},
		{name: "a signature by somebody", do: func(h *hostile) { h.signFile(document(h), h.somebody()) }},
		{name: "a signature twice", do: func(h *hostile) {
			p := pick(h.rng, h.paths(".json.asc"))
			h.put(p, append(bytes.Clone(h.files[p].data), h.files[p].data...))
		}},
		{name: "somebody's certificate under another name", do: func(h *hostile) {
			h.put(pick(h.rng, slices.DeleteFunc(h.paths(".asc"), func(p string) bool { return !strings.HasPrefix(p, "keys/") })), h.somebody().Certificate().Armored())
		}},
		{name: "one more certificate", do: func(h *hostile) { c := h.somebody().Certificate(); h.put(keyPath(c.Fingerprint), c.Armored()) }},
		{name: "one more root, by somebody", do: func(h *hostile) {
			var r Root
			if decode("root/2.json", h.files["root/2.json"].data, &r) == nil {
				r.Version = 3
				r.Roles.Snapshot = roleOf([]Signer{h.somebody()})
				h.sign("root/3.json", &r, h.somebody())
			}
		}},
		{name: "one more namespace, by somebody", do: func(h *hostile) {
			n := Namespace{typeNamespace, Format, "main", "evil", 1, []Publisher{{Key: h.w.mallory.Fingerprint(), From: At(epoch)}}}
			c := h.w.mallory.Certificate()
			h.put(keyPath(c.Fingerprint), c.Armored())
			h.sign("namespaces/evil.json", &n, h.somebody())
		}},
	}
}

func releaseChanges() []hostileChange {
	module := func(h *hostile) string { return pick(h.rng, slices.Sorted(maps.Keys(h.w.base.modules))) }
	propose := func(list bool) func(h *hostile) {
		return func(h *hostile) {
			ns, name := pick(h.rng, []string{"acme", "corp", "evil"}), pick(h.rng, []string{"tracker", "wiki", "new"})
			version := pick(h.rng, []string{"0.9.0", "1.0.0", "1.0.1", "1.4.0", "2.0.0"})
			s := h.w.submissionAs(ns, name, version, h.somebody())
			path := releasePath(ns, name, version)
			h.put(path, s.Release)
			h.put(signaturePath(path), s.Signature)
			if h.rng.IntN(2) == 0 {
				h.modules[hashOf(s.Wasm)] = s.Wasm
			}
			if list {
				h.list(ns, name, version, s)
			}
		}
	}
	return []hostileChange{
		{name: "a proposal", do: propose(false)},
		{name: "a version that is listed", do: propose(true)},
		{name: "a module is gone", do: func(h *hostile) { delete(h.modules, module(h)) }},
		{name: "a module's ref leads to another", do: func(h *hostile) { h.modules[module(h)] = h.w.base.modules[module(h)] }},
		{name: "a module of garbage", do: func(h *hostile) { h.modules[module(h)] = []byte("garbage") }},
		{name: "a tag beside a module", do: func(h *hostile) { h.tags[module(h)] = []byte("garbage") }},
		{name: "a tag in its place", do: func(h *hostile) { m := module(h); h.tags[m] = h.modules[m]; delete(h.modules, m) }},
		{name: "releases change places", do: func(h *hostile) {
			a, b := "connectors/acme/tracker/1.0.0.json", "connectors/acme/tracker/1.1.0.json"
			h.files[a], h.files[b] = h.files[b], h.files[a]
			h.files[a+".asc"], h.files[b+".asc"] = h.files[b+".asc"], h.files[a+".asc"]
		}},
		{name: "a plugin is gone", do: func(h *hostile) {
			maps.DeleteFunc(h.files, func(p string, _ file) bool { return strings.HasPrefix(p, "connectors/corp/") })
		}},
		{name: "what waited is gone", do: func(h *hostile) {
			maps.DeleteFunc(h.files, func(p string, _ file) bool { return strings.Contains(p, "/1.3.0.json") })
		}},
	}
}

// list puts a version into the index of its plugin, wherever it belongs.
func (h *hostile) list(ns, name, version string, s Submission) {
	x := Index{typeIndex, Format, "main", ns, name, []Version{}}
	path := indexPath(ns, name)
	if f, ok := h.files[path]; ok && decode(path, f.data, &x) != nil {
		return
	}
	x.Versions = append(x.Versions, Version{version, pick(h.rng, []Channel{Stable, Beta}), At(h.w.now.Add(-time.Duration(h.rng.IntN(3)) * time.Minute)), "", fileHash(s.Release)})
	slices.SortStableFunc(x.Versions, func(a, b Version) int { return compareVersions(a.Version, b.Version) })
	if data, err := canonical(&x); err == nil {
		h.put(path, data)
	}
}
