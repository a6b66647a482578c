package arch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/drawbridge-mcp/drawbridge/"

// allowed is the import graph, see the table in CONTRIBUTING.md. A package
// without a row fails the test, and so does an import, of this module or of
// another, that its row does not list. Standard library imports are free. Rows
// only name rows above them, so the graph cannot have a cycle. A name ending in
// /* stands for a package and all below it.
var allowed = []struct{ pkg, imports string }{
	{"abi", ""},
	{"abi/atomicfile", ""},
	{"abi/strictjson", "abi"},
	{"abi/origin", "abi github.com/nlnwa/whatwg-url golang.org/x/net/publicsuffix"},
	{"abi/release", "abi/* go.yaml.in/yaml/v3 github.com/santhosh-tekuri/jsonschema/v6 github.com/gowebpki/jcs golang.org/x/text"},
	{"signing", "abi/* github.com/ProtonMail/go-crypto"},
	{"signing/gpg", "abi/* signing"},
	{"registry", "abi/* signing github.com/hashicorp/go-version golang.org/x/sys"},
	{"sandbox", "abi/* github.com/extism/go-sdk github.com/tetratelabs/wazero golang.org/x/sys github.com/landlock-lsm/go-landlock github.com/elastic/go-seccomp-bpf"},
	{"host/platform", "abi/* golang.org/x/sys"},
	{"host/logfile", "abi/* host/platform"},
	{"signing/keyring", "abi/* signing host/platform"},
	{"host/redact", "abi/*"},
	{"host/guard", "abi/*"},
	{"host/health", "abi/*"},
	{"host/gate", "abi/* github.com/gowebpki/jcs"},
	{"host/clients", "abi/* host/platform host/gate"},
	{"host/clientconfig", "abi/* host/platform github.com/BurntSushi/toml"},
	{"host/audit", "abi/* host/platform host/redact modernc.org/sqlite"},
	{"host/browser", "abi/* github.com/chromedp"},
	{"host/browser/browsertest", "abi/* host/browser"},
	{"host", "abi/* signing registry sandbox host/platform host/redact host/guard host/gate host/health host/clients host/audit host/browser"},
	{"host/mcpserver", "abi/* host github.com/mark3labs/mcp-go"},
	{"host/control", "abi/* host host/platform host/gate host/audit host/clients"},
	{"abi/sdk", "abi github.com/extism/go-pdk"},
	{"abi/sdk/sdktest", "abi/*"},
	{"abi/sdk/gen", "abi/atomicfile"},
	{"connectors-src/tracker", "abi abi/sdk"},
	{"connectors-src/tracker-suite", "abi abi/sdk"},
	{"connectors-src/trespasser", "abi abi/sdk"},
	{"connectors-src/tracker/site", ""},
	{"connectors-src/tracker/site/cmd/tracker-site", "connectors-src/tracker/site"},
	{"connectors-src/requesttracker", "abi abi/sdk"},
	{"connectors-src/mantis", "abi abi/sdk"},
	{"cmd/drawbridge", "abi/* signing/* registry sandbox host/* connectors-src/tracker/site github.com/spf13/cobra github.com/spf13/pflag golang.org/x/term github.com/creack/pty github.com/mark3labs/mcp-go"},
}

type listed struct {
	ImportPath string
	Imports    []string
}

func goList(t *testing.T, env ...string) (pkgs []listed) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", "./...")
	cmd.Dir = filepath.Join("..", "..")
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p listed
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	return pkgs
}

// allows reports whether a row's entry lets a package import path.
func allows(entry, path string) bool {
	if base, ok := strings.CutSuffix(entry, "/*"); ok {
		return path == base || strings.HasPrefix(path, base+"/")
	}
	external := strings.Contains(entry, ".")
	return path == entry || external && strings.HasPrefix(path, entry+"/")
}

func TestRowsPointUpwards(t *testing.T) {
	seen := []string{}
	for _, r := range allowed {
		for imp := range strings.FieldsSeq(r.imports) {
			base := strings.TrimSuffix(imp, "/*")
			if !strings.Contains(imp, ".") && !slices.Contains(seen, base) {
				t.Errorf("row %q names %q, which is not a row above it", r.pkg, imp)
			}
		}
		seen = append(seen, r.pkg)
	}
}

func TestImports(t *testing.T) {
	rows := map[string][]string{}
	for _, r := range allowed {
		rows[r.pkg] = strings.Fields(r.imports)
	}
	seen := map[string]bool{}
	// The guest packages exist only for wasip1.
	for _, p := range append(goList(t), goList(t, "GOOS=wasip1", "GOARCH=wasm")...) {
		name := strings.TrimPrefix(p.ImportPath, module)
		if strings.HasPrefix(name, "test/") {
			continue // may import anything; TestNobodyImportsTest holds the other half
		}
		row, ok := rows[name]
		if !ok {
			t.Errorf("package %s has no row in allowed", name)
			continue
		}
		seen[name] = true
		for _, imp := range p.Imports {
			if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
				continue // standard library
			}
			short := strings.TrimPrefix(imp, module)
			if !slices.ContainsFunc(row, func(a string) bool { return allows(a, short) }) {
				t.Errorf("%s must not import %s", name, short)
			}
		}
	}
	for name := range rows {
		if !seen[name] {
			t.Errorf("row %s names no package", name)
		}
	}
}

func TestNobodyImportsTest(t *testing.T) {
	for _, p := range goList(t) {
		if strings.HasPrefix(p.ImportPath, module+"test/") {
			continue
		}
		for _, imp := range p.Imports {
			if strings.HasPrefix(imp, module+"test/") {
				t.Errorf("%s imports %s; nobody imports test", p.ImportPath, imp)
			}
		}
	}
}

// banned are packages that must not be linked, with the reason.
var banned = map[string]string{
	"golang.org/x/crypto/openpgp":             "unmaintained, unsafe by design (GO-2026-5932): use go-crypto's openpgp/v2",
	"github.com/ProtonMail/go-crypto/openpgp": "its default API accepts signatures that must be refused: use openpgp/v2",
}

func TestBannedImports(t *testing.T) {
	for _, p := range goList(t) {
		for _, imp := range p.Imports {
			if why, ok := banned[imp]; ok {
				t.Errorf("%s imports %s: %s", p.ImportPath, imp, why)
			}
		}
	}
}
