package rt

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/abi/release"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

const root = "../../.."

// TestMain lets the test binary play the sandbox's worker.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.WorkerCommand {
		os.Exit(sandbox.WorkerMain(os.Stdin, os.Stdout, os.Stderr))
	}
	flag.Parse()
	os.Exit(m.Run())
}

// A rig is a Request Tracker, the connector's module, and its manifest.
type rig struct {
	site   *Site
	def    *abi.Connector
	module *sandbox.Module
}

// NewRig fails the test if it is asked to run and can't; without being asked it
// skips it.
func newRig(t *testing.T) *rig {
	t.Helper()
	if os.Getenv("DRAWBRIDGE_SITES") != "1" {
		t.Skip("not asked to run against real sites: make test-sites")
	}
	site, err := FromEnv(root)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "connectors-src", "requesttracker", "plugin.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m, err := release.ParseManifest(text)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{site: site, def: &m.Connectors[0], module: compiled(t)}
}

// compiled builds the connector as its author would and compiles the module.
func compiled(t *testing.T) *sandbox.Module {
	t.Helper()
	out := filepath.Join(t.TempDir(), "requesttracker.wasm")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags=-s -w", "-buildmode=c-shared", "-o", out, ".")
	cmd.Dir = filepath.Join(root, "connectors-src", "requesttracker")
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("building the connector: %v\n%s", err, said)
	}
	wasm, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.Open(context.WithoutCancel(t.Context()), sandbox.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	info, err := box.Compile(t.Context(), wasm)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("module of %d KiB imports %v", len(wasm)>>10, info.Info.Capabilities)
	module, err := box.Module(wasm, info.Info.Capabilities)
	if err != nil {
		t.Fatal(err)
	}
	return module
}

// user signs in with the login form, in a browser of its own.
func (r *rig) user(t *testing.T, a Account) *user {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	b, err := browser.Launch(ctx, browser.Options{ProfileDir: t.TempDir(), Headless: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	u := &user{rig: r, browser: b, t: t}
	if err := u.signIn(ctx, a); err != nil {
		t.Fatalf("signing in as %s: %v", a.Name, err)
	}
	return u
}

func (r *rig) tool(name string) *abi.Tool {
	for i := range r.def.Tools {
		if r.def.ID+"."+r.def.Tools[i].Name == name {
			return &r.def.Tools[i]
		}
	}
	panic("BUG: no tool " + name)
}

// Call runs a tool of the module in the sandbox, on a page under that tool's
// guard, with its writes granted.
func (u *user) Call(ctx context.Context, name string, args any) (json.RawMessage, error) {
	tool := u.rig.tool(name)
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	page, err := u.open(ctx, tool, raw, tool.Writes)
	if err != nil {
		return nil, err
	}
	defer page.close()
	in, err := json.Marshal(abi.CallInput{
		V: abi.Version, Tool: name, Args: raw, Settings: map[string]string{"base_url": u.rig.site.Base}, Locale: "en",
	})
	if err != nil {
		return nil, err
	}
	data, err := u.rig.module.Run(ctx, sandbox.Call{Export: sandbox.ExportCall, Input: in, Calls: page, OwnWorker: tool.IsDestructive()})
	if err != nil {
		return nil, err
	}
	var out abi.CallOutput
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	if !out.OK {
		return nil, out.Error.AsError("")
	}
	schema, err := release.CompileSchema(tool.Output)
	if err != nil {
		return nil, err
	}
	return out.Result, schema.Validate(out.Result)
}

func TestMyTickets(t *testing.T) {
	r := newRig(t)
	MyTickets(t, r.user(t, Staff()), truthOf(t, r.site), Staff().Name)
}

func TestSearches(t *testing.T) {
	r := newRig(t)
	Searches(t, r.user(t, Staff()), truthOf(t, r.site), Staff().Name)
}

func TestDetails(t *testing.T) {
	r := newRig(t)
	u := r.user(t, Staff())
	before := rawTruth(t, r.site)
	Details(t, u, truthOf(t, r.site))
	unchanged(t, r.site, before)
	for refused, n := range u.refused {
		t.Logf("refused %d times: %s", n, refused)
	}
}

func TestComments(t *testing.T) {
	r := newRig(t)
	r.restored(t)
	Comments(t, r.user(t, Staff()), r.site, Staff().Name, 12)
}

func TestStates(t *testing.T) {
	r := newRig(t)
	t.Run("without rights", func(t *testing.T) { WithoutRights(t, r.user(t, NoRights()), r.site) })
	staff := r.user(t, Staff())
	t.Run("missing", func(t *testing.T) { Missing(t, staff, r.site) })
	t.Run("signed out", func(t *testing.T) { SignedOut(t, staff, r.site) })
}

func TestAttacks(t *testing.T) {
	r := newRig(t)
	r.restored(t)
	u := r.user(t, Staff())
	t.Run("unguarded", func(t *testing.T) { Harmful(t, &puppet{user: u, open: u.unguarded}, r.site, Attacks()) })
	for _, name := range []string{GetTicket, ListMyTickets, SearchTickets} {
		t.Run(name, func(t *testing.T) { Refused(t, u.puppet(r.tool(name)), r.site, Attacks()) })
	}
}

func TestOverreaches(t *testing.T) {
	r := newRig(t)
	r.restored(t)
	u := r.user(t, Staff())
	t.Run("unguarded", func(t *testing.T) { Harmful(t, &puppet{user: u, open: u.unguarded}, r.site, Overreaches()) })
	p := u.approved(r.tool(Comment))
	t.Run("refused", func(t *testing.T) { Refused(t, p, r.site, Overreaches()) })
	before := truthOf(t, r.site)
	twice := &puppet{user: u, open: onePage(t, p)}
	if err := twice.Attack(t.Context(), Approved()); err != nil {
		t.Fatal(err)
	}
	after := truthOf(t, r.site)
	OneComment(t, before, after, 12, Staff().Name, "approved")
	t.Run("twice", func(t *testing.T) { Refused(t, twice, r.site, []Attack{Approved()}) })
}

// restored puts the database back after the test.
func (r *rig) restored(t *testing.T) {
	t.Helper()
	saved := filepath.Join(t.TempDir(), "rt.sqlite")
	if err := r.site.Save(t.Context(), saved); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := r.site.Restore(ctx, saved); err != nil {
			t.Error(err)
		}
	})
}

// onePage opens the puppet's page once and keeps it.
func onePage(t *testing.T, p *puppet) func(context.Context, Attack) (*page, error) {
	var kept *page
	t.Cleanup(func() {
		if kept != nil {
			kept.shut()
		}
	})
	return func(ctx context.Context, a Attack) (*page, error) {
		if kept != nil {
			return kept, nil
		}
		var err error
		if kept, err = p.open(ctx, a); err == nil {
			kept.keep = true
		}
		return kept, err
	}
}

var errNoAnswer = errors.New("no answer")

func notOK(e *abi.ErrorData) error {
	if e == nil {
		return fmt.Errorf("reading an answer: %w", errNoAnswer)
	}
	return e.AsError("")
}
