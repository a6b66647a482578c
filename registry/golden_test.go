package registry

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/signing"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

// examples is one document of every format, and an empty one to read it into.
func examples() map[string][2]document {
	day := func(n int) Time { return At(time.Date(2026, 11, n, 12, 0, 0, 0, time.UTC)) }
	key := func(c string) signing.Fingerprint { return signing.Fingerprint(strings.Repeat(c, 40)) }
	hash := func(c string) FileHash { return FileHash{strings.Repeat(c, 64), 1234} }
	one := func(c string) Role { return Role{[]signing.Fingerprint{key(c)}, 1} }
	until := day(30)
	old := Entry{
		Registry: "main", Namespace: "acme", Name: "tracker", Version: "1.0.0", Snapshot: 3, Release: hash("a"),
		Module: hash("b"), Signer: key("3"), Key: key("3"), Signed: day(1), Consented: day(2),
	}
	entry := old
	entry.Version, entry.Snapshot, entry.Release, entry.Module = "1.1.0", 7, hash("c"), hash("d")
	entry.Signed, entry.Consented, entry.Previous = day(3), day(4), &old
	entry.Channel, entry.Pinned = Beta, true
	seen := state{
		typeState, Format, "main", "https://git.example/registry.git", false, key("0"), 2, hash("9").SHA256, nil,
		[]signing.Fingerprint{key("2")},
		7, hash("e").SHA256, day(15),
		map[string]int64{"acme": 2},
		4,
		[]RevokedKey{{key("4"), "stolen", day(5)}},
		[]RevokedArtifact{},
		map[string]seenIndex{"acme/tracker": {day(4), map[string]Time{"1.0.0": day(1), "1.1.0": day(3)}}},
	}
	rooted := seen
	rooted.Roots = []string{hash("8").SHA256, hash("9").SHA256}
	elsewhere := seen
	elsewhere.URL, elsewhere.Elsewhere = "/srv/registry.git", true
	return map[string][2]document{
		"root.json": {&Root{
			typeRoot, Format, "main", 2, day(1), day(30),
			Roles{Role{[]signing.Fingerprint{key("0"), key("1")}, 2}, one("2"), one("0")},
		}, &Root{}},
		"snapshot.json": {&Snapshot{
			typeSnapshot, Format, "main", 7, 2, day(1), day(15), hash("e").SHA256,
			map[string]FileHash{revocationsPath: hash("1"), indexPath("acme", "tracker"): hash("2")},
		}, &Snapshot{}},
		"revocations.json": {&Revocations{
			typeRevocations, Format, "main", 4,
			[]RevokedKey{{key("4"), "stolen", day(5)}},
			[]RevokedArtifact{{hash("f").SHA256, "sends tickets elsewhere", day(6)}},
		}, &Revocations{}},
		"namespace.json": {&Namespace{
			typeNamespace, Format, "main", "acme", 2,
			[]Publisher{{key("3"), day(1), nil}, {key("5"), day(1), &until}},
		}, &Namespace{}},
		"index.json": {&Index{
			typeIndex, Format, "main", "acme", "tracker",
			[]Version{{"1.0.0", Stable, day(2), "broken", hash("a")}, {"1.1.0-rc.1", Beta, day(3), "", hash("c")}},
		}, &Index{}},
		"lock.json": {&Lock{typeLock, Format, []Entry{entry}}, &Lock{}},
		"team-lock.json": {&TeamLock{
			typeTeamLock, Format, "support", 3, day(5),
			[]TeamRegistry{{"main", "https://git.example/registry.git", key("0")}},
			[]TeamPlugin{{"main", "acme", "tracker", "1.1.0", hash("c"), hash("d"), key("3"), map[string]string{"base_url": "https://tracker.example"}}},
		}, &TeamLock{}},
		"teams.json":        {&teams{typeTeams, Format, []Team{{"support", key("6"), "-----BEGIN PGP PUBLIC KEY BLOCK-----\n", day(4), 3, hash("7").SHA256}}, nil}, &teams{}},
		"teams-former.json": {&teams{typeTeams, Format, []Team{}, []FormerTeam{{"support", key("6"), 3, hash("7").SHA256, day(6)}}}, &teams{}},
		"state.json":        {&seen, &state{}},
		"state-roots.json":  {&rooted, &state{}},
		"names.json":        {&knownNames{typeNames, Format, "main", day(1), []string{"acme/clock", "acme/tracker"}}, &knownNames{}},
		"removed.json":      {&tombstone{typeRemoved, Format, day(9), true, &elsewhere, []string{"acme/clock", "acme/tracker"}}, &tombstone{}},
	}
}

func goldenPath(name string) string { return filepath.Join("testdata", "golden", name) }

// The formats are frozen: a change to a golden file is a change to what registries
// out there must look like.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, e := range examples() {
		got, err := canonical(e[0])
		if err != nil {
			t.Fatal(err)
		}
		want := golden.Check(t, goldenPath(name), got)
		if err := decode(name, want, e[1]); err != nil {
			t.Errorf("reading %s: %v", name, err)
		}
		if again, err := canonical(e[1]); err != nil || !bytes.Equal(again, want) {
			t.Errorf("%s read and written again is\n%s, %v", name, again, err)
		}
	}
}

// Every change of one byte that still is a document means something else or is
// refused: there is one spelling.
func TestOneSpelling(t *testing.T) {
	t.Parallel()
	for name, e := range examples() {
		good, err := os.ReadFile(goldenPath(name))
		if err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{
			"", "null", "{}", "[]", " " + string(good), string(good) + "\n", string(good[:len(good)-1]), "\ufeff" + string(good),
			strings.Replace(string(good), `"format":1`, `"format":1.0`, 1),
			strings.Replace(string(good), `"format":1`, `"format":2`, 1),
			strings.Replace(string(good), `"format":1`, `"format":1,"more":1`, 1),
			strings.Replace(string(good), `"format":1`, `"format":1,"format":1`, 1),
			strings.Replace(string(good), `"format":1`, `"Format":1`, 1),
			strings.Replace(string(good), `"type":"drawbridge-`, `"type":"drawbridge_`, 1),
			strings.Replace(string(good), `:00Z"`, `:00.0Z"`, 1),
			strings.Replace(string(good), `:00Z"`, `:00+00:00"`, 1),
		} {
			if bad == string(good) {
				t.Fatalf("%s: a case changes nothing", name)
			}
			if err := decode(name, []byte(bad), fresh(e[1])); err == nil {
				t.Errorf("%s is read from %q", name, bad)
			}
		}
	}
}

// fresh returns an empty document of the same type.
func fresh(d document) document {
	switch d.(type) {
	case *Root:
		return &Root{}
	case *Snapshot:
		return &Snapshot{}
	case *Revocations:
		return &Revocations{}
	case *Namespace:
		return &Namespace{}
	case *Index:
		return &Index{}
	case *Lock:
		return &Lock{}
	case *TeamLock:
		return &TeamLock{}
	case *teams:
		return &teams{}
	case *tombstone:
		return &tombstone{}
	case *knownNames:
		return &knownNames{}
	}
	return &state{}
}

// fuzzDocument checks that what is accepted has one spelling.
func fuzzDocument(f *testing.F, kind string) {
	f.Helper()
	for name := range examples() {
		data, err := os.ReadFile(goldenPath(name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	empty := examples()[kind][1]
	f.Fuzz(func(t *testing.T, data []byte) {
		d := fresh(empty)
		if decode("fuzz", data, d) != nil {
			return
		}
		if again, err := canonical(d); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s was read, and is written as %s (%v)", data, again, err)
		}
	})
}

func FuzzRoot(f *testing.F)        { fuzzDocument(f, "root.json") }
func FuzzSnapshot(f *testing.F)    { fuzzDocument(f, "snapshot.json") }
func FuzzRevocations(f *testing.F) { fuzzDocument(f, "revocations.json") }
func FuzzNamespace(f *testing.F)   { fuzzDocument(f, "namespace.json") }
func FuzzIndex(f *testing.F)       { fuzzDocument(f, "index.json") }
func FuzzLock(f *testing.F)        { fuzzDocument(f, "lock.json") }
func FuzzState(f *testing.F)       { fuzzDocument(f, "state.json") }

func FuzzTeams(f *testing.F)   { fuzzDocument(f, "teams-former.json") }
func FuzzRemoved(f *testing.F) { fuzzDocument(f, "removed.json") }
func FuzzNames(f *testing.F)   { fuzzDocument(f, "names.json") }

func FuzzParseRef(f *testing.F) {
	f.Add("main:acme/tracker@~> 1.2")
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRef(s)
		if err != nil {
			return
		}
		if !validName(r.Namespace) || !validName(r.Name) || (r.Registry != "" && !validID(r.Registry)) {
			t.Errorf("%q is read as %+v", s, r)
		}
		for _, v := range []string{"0.0.0", "1.2.3", "1.2.3-rc.1"} {
			x := &Index{Versions: []Version{{Version: v, Channel: Stable}}}
			if _, err := eligible(x, r, ""); err != nil {
				t.Errorf("%q: %v", s, err)
			}
		}
	})
}

func FuzzParseAddress(f *testing.F) {
	f.Add("https://git.example/x.git")
	f.Add("git@git.example:x.git")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := parseAddress(s)
		if err != nil {
			return
		}
		if strings.HasPrefix(a.url, "-") || strings.Contains(a.url, "\n") || (a.via == fromFile) != filepath.IsAbs(a.url) {
			t.Errorf("%q is read as %+v", s, a)
		}
	})
}

func FuzzVersions(f *testing.F) {
	f.Add("1.0.0-01", "1.0.0-rc.1")
	f.Fuzz(func(t *testing.T, a, b string) {
		if !validVersion(a) || !validVersion(b) {
			return
		}
		if compareVersions(a, b) != -compareVersions(b, a) {
			t.Errorf("%q and %q have no order", a, b)
		}
		if (a == b) != (compareVersions(a, b) == 0) {
			t.Errorf("%q and %q compare as equal", a, b)
		}
	})
}

func FuzzTree(f *testing.F) {
	f.Add(append([]byte("100644 a\x00"), make([]byte, 20)...))
	f.Fuzz(func(t *testing.T, raw []byte) {
		for len(raw) > 0 {
			e, rest, err := nextEntry(raw, 20)
			if err != nil {
				return
			}
			if e.name == "" || len(e.id) != 40 || len(rest) >= len(raw) {
				t.Fatalf("entry %+v", e)
			}
			raw = rest
		}
	})
}
