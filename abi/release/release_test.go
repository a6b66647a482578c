package release_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/test/golden"
)

func read(tb testing.TB, name string) []byte {
	tb.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

func manifest(t *testing.T) abi.Manifest {
	t.Helper()
	m, err := release.ParseManifest(read(t, "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func info() release.BuildInfo {
	return release.BuildInfo{
		Registry: "registry.example", Namespace: "helpdesk", Module: []byte("\x00asm\x01\x00\x00\x00"),
		Imports: []string{"read", "act", "fetch", "progress"},
		Commit:  "89abcdef0123456789abcdef0123456789abcdef",
	}
}

func build(t *testing.T) abi.Release {
	t.Helper()
	r, err := release.Build(manifest(t), info())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func canonical(t *testing.T, r abi.Release) []byte {
	t.Helper()
	b, err := release.Canonical(r)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestManifestBecomesRelease(t *testing.T) {
	r := build(t)
	text := canonical(t, r)
	golden.Check(t, filepath.Join("testdata", "release.json"), text)
	again, err := release.ParseRelease(text)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(canonical(t, again), text) {
		t.Error("a release read back has other bytes")
	}
	if d := again.Connectors[0].Tools[2].Destructive; d == nil || !*d {
		t.Error("a tool that does not say destructive has to be written down as destructive")
	}
	if again.Source.Commit != info().Commit {
		t.Errorf("commit is %q", again.Source.Commit)
	}
}

func TestBuildRefuses(t *testing.T) {
	tests := []struct {
		name string
		edit func(*abi.Manifest, *release.BuildInfo)
		want string
	}{
		{"surplus import", func(_ *abi.Manifest, i *release.BuildInfo) { i.Imports = append(i.Imports, "screenshot") }, `imports "screenshot" and no tool`},
		{"missing import", func(_ *abi.Manifest, i *release.BuildInfo) { i.Imports = i.Imports[1:] }, `capability "read" and the module does not import it`},
		{"no module", func(_ *abi.Manifest, i *release.BuildInfo) { i.Module = nil }, "$.module: missing"},
		{"module too large", func(_ *abi.Manifest, i *release.BuildInfo) { i.Module = make([]byte, 4*abi.MaxModule+1) }, "$.module.size"},
		{"module by http", func(_ *abi.Manifest, i *release.BuildInfo) { i.ModuleURL = "http://x.example/m" }, "$.module.url"},
		{"registry", func(_ *abi.Manifest, i *release.BuildInfo) { i.Registry = "Up/per" }, "$.registry"},
		{"namespace", func(_ *abi.Manifest, i *release.BuildInfo) { i.Namespace = "../x" }, "$.namespace"},
		{"commit", func(_ *abi.Manifest, i *release.BuildInfo) { i.Commit = "main" }, "$.source.commit"},
		{"ABI range", func(_ *abi.Manifest, i *release.BuildInfo) { i.ABI = abi.VersionRange{Min: 2, Max: 1} }, "$.abi"},
		{"manifest changed after parsing", func(m *abi.Manifest, _ *release.BuildInfo) { m.Name = "../x" }, "$.name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, i := manifest(t), info()
			tt.edit(&m, &i)
			_, err := release.Build(m, i)
			if !errors.Is(err, abi.ErrInvalidArgs) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error is %v, want %q", err, tt.want)
			}
		})
	}
}

func TestReleaseHasOneSpelling(t *testing.T) {
	text := string(canonical(t, build(t)))
	tests := map[string]string{
		"space":             strings.Replace(text, ":", ": ", 1),
		"final newline":     text + "\n",
		"escape":            strings.Replace(text, "helpdesk-suite", `helpdesk\u002dsuite`, 1),
		"order":             strings.Replace(text, `{"abi":{"max":1,"min":1}`, `{"abi":{"min":1,"max":1}`, 1),
		"explicit default":  strings.Replace(text, `"idempotent":true`, `"idempotent":true,"writes":[]`, 1),
		"null list":         strings.Replace(text, `"reads":[]`, `"reads":null`, 1),
		"null object":       strings.Replace(text, `"health":{"path":"/dashboard"}`, `"health":null`, 1),
		"absent flag":       strings.Replace(text, `"destructive":true,`, ``, 1),
		"number":            strings.Replace(text, `"maximum":500`, `"maximum":5e2`, 1),
		"unknown key":       strings.Replace(text, `"abi":`, `"aaa":1,"abi":`, 1),
		"key twice":         strings.Replace(text, `"abi":`, `"abi":{"max":1,"min":1},"abi":`, 1),
		"folded key":        strings.Replace(text, `"destructive":false`, `"DESTRUCTIVE":true,"destructive":false`, 1),
		"trailing value":    text + "{}",
		"byte order mark":   "\ufeff" + text,
		"two capabilities":  strings.Replace(text, `"capabilities":["act","fetch","read"]`, `"capabilities":["read","fetch","act"]`, 1),
		"surplus union":     strings.Replace(text, `"capabilities":["act","fetch","progress","read"]`, `"capabilities":["act","fetch","progress","read","see"]`, 1),
		"other type":        strings.Replace(text, `"type":"drawbridge-release"`, `"type":"drawbridge-snapshot"`, 1),
		"other format":      strings.Replace(text, `"format":1`, `"format":2`, 1),
		"upper-case hash":   strings.Replace(text, `"sha256":"9`, `"sha256":"F`, 1),
		"empty":             "",
		"truncated":         text[:len(text)-2],
		"invalid manifest":  strings.Replace(text, `"name":"list_tickets"`, `"name":"list__tickets"`, 1),
		"module taken away": strings.Replace(text, `"module":{`, `"modul":{`, 1),
	}
	for name, doc := range tests {
		t.Run(name, func(t *testing.T) {
			if doc == text {
				t.Fatal("the test changes nothing")
			}
			_, err := release.ParseRelease([]byte(doc))
			e, ok := errors.AsType[*abi.Error](err)
			if !ok || e.Code != abi.ErrUntrusted || e.Reason != abi.ReasonMalformed {
				t.Errorf("error is %v", err)
			}
		})
	}
}

func TestOtherCategoriesHaveNoModule(t *testing.T) {
	m := abi.Manifest{Name: "node", Version: "1.0.0", Category: abi.CategoryPipelineNode, Title: "A node", Description: "Transforms text."}
	r, err := release.Build(m, release.BuildInfo{Registry: "registry.example", Namespace: "nodes"})
	if err != nil {
		t.Fatal(err)
	}
	if text := string(canonical(t, r)); strings.Contains(text, "module") || strings.Contains(text, "connectors") {
		t.Errorf("release is %s", text)
	}
	if lines := release.Explain(r, nil); len(lines) != 1 || !strings.Contains(lines[0], "does not run") {
		t.Errorf("explained as %q", lines)
	}
}

func TestExplain(t *testing.T) {
	settings := map[string]string{"base_url": "https://desk.example/", "id": "https://never.example"}
	golden.Check(t, filepath.Join("testdata", "explain.txt"), []byte(strings.Join(release.Explain(build(t), settings), "\n")+"\n"))
}

func TestExplainToolIsPartOfExplain(t *testing.T) {
	r := build(t)
	all := release.Explain(r, nil)
	for _, line := range release.ExplainTool(&r.Connectors[0].Tools[1], nil) {
		if !slices.Contains(all, "helpdesk_answer: "+line) {
			t.Errorf("%q is not in the whole", line)
		}
	}
}

func TestHostileNamesCannotPoseAsWords(t *testing.T) {
	fields := []abi.Param{{Name: `a is "b"; nothing else`, Empty: true}, {Name: "n\u043ete", Empty: true}, {Name: "items[]", Empty: true}}
	for _, tt := range []struct {
		req  abi.Request
		want string
	}{
		{
			abi.Request{Method: "POST", Path: "/x", Encoding: abi.EncodingURLEncoded, Fields: fields},
			`POST /x; in the urlencoded body "a is \"b\"; nothing else" is empty, "nоte" is empty, items[] is empty`,
		},
		{
			abi.Request{Method: "GET", Path: "/delete where id is the argument id"},
			`GET "/delete where id is the argument id"`,
		},
	} {
		if got := release.ExplainRequest(&tt.req, nil); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}

func FuzzParseRelease(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "release.json"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := release.ParseRelease(text)
		if err != nil {
			return
		}
		if again := canonical(t, r); !bytes.Equal(again, text) {
			t.Errorf("accepted bytes are not canonical\n got %s\nwant %s", text, again)
		}
	})
}

func FuzzParseManifest(f *testing.F) {
	text, err := os.ReadFile(filepath.Join("testdata", "plugin.yaml"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte("a: &x [1]\nb: *x\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := release.ParseManifest(text)
		if err != nil {
			return
		}
		if err := release.Validate(m); err != nil {
			t.Errorf("accepted and then refused: %v", err)
		}
	})
}
