package harness

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/connectors-src/tracker/site"
	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// Main is TestMain's body.
func Main(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == sandbox.WorkerCommand {
		os.Exit(sandbox.WorkerMain(os.Stdin, os.Stdout, os.Stderr))
	}
	code := m.Run()
	cleanUp()
	os.Exit(code)
}

// Options change what New builds. The zero value is what most tests want.
type Options struct {
	NoSite bool             // no sample tracker and no recording server
	Wait   time.Duration    // how long the gate waits; 0 is its default
	Clock  func() time.Time // of registry and maintainer; nil is time.Now
	Limits sandbox.Limits   // of the sandbox, which is then this world's own
	Log    slog.Handler     // in the place of the test's log
	// Wrap stands between the host and its browser's pipe.
	Wrap     func(chromedp.Transport) chromedp.Transport
	Attach   func(context.Context) (*browser.Browser, error) // joins a browser in place of launching one; may be nil
	OwnCache bool                                            // a sandbox of this world's own, for tests that change its files
}

// A World is one drawbridge with everything around it. Its parts may be used
// directly.
type World struct {
	T    testing.TB
	Dir  string // the host's
	Host *host.Host
	Gate *gate.Gate

	Registry   *registry.Client
	Maintainer *registry.Maintainer
	Keys       Keys
	RepoDir    string // of the registry's bare repository
	Sandbox    *sandbox.Sandbox
	Audit      *audit.Log

	Site *site.Site
	Evil *site.Recorder // http://evil.localhost:PORT
	Wire *Wire          // what is said between host and browser; nothing with Options.Wrap

	opts      Options
	principal host.Principal
	launched  chan *browser.Browser // the newest browser
}

// RegistryID is the id of every world's registry, and Namespace the one
// namespace in it.
const (
	RegistryID = "test"
	Namespace  = "acme"
)

// New builds a world that ends with the test. No browser is running yet.
func New(tb testing.TB, opts Options) *World {
	tb.Helper()
	w := &World{
		T: tb, Dir: filepath.Join(tb.TempDir(), "home"), opts: opts, Keys: sharedKeys(tb), launched: make(chan *browser.Browser, 1),
		Wire:      newWire(),
		principal: host.Principal{ID: "client-1", Name: "test-client"},
	}
	w.check(os.Mkdir(w.Dir, 0o700))
	w.makeRegistry()
	if !opts.NoSite {
		w.startSites()
	}
	w.makeHost()
	w.T.Cleanup(w.closeHost)
	return w
}

func (w *World) startSites() {
	w.T.Helper()
	w.Site = site.New(site.Options{})
	w.check(w.Site.Start(w.T.Context()))
	w.T.Cleanup(func() { _ = w.Site.Close() })
	var err error
	w.Evil, err = site.NewRecorder(w.T.Context(), "evil.localhost")
	w.check(err)
	w.T.Cleanup(func() { _ = w.Evil.Close() })
}

func (w *World) makeHost() {
	w.T.Helper()
	var err error
	ctx := w.T.Context()
	w.Sandbox = w.sandbox()
	secrets := redact.New()
	w.Audit, err = audit.Open(ctx, audit.Options{Path: filepath.Join(w.Dir, "audit.db"), KeyPath: filepath.Join(w.Dir, "audit.key"), Redact: secrets})
	w.check(err)
	w.Gate, err = gate.New(gate.Options{
		UID: os.Getuid(), Wait: w.opts.Wait,
		Lineage: func(pid int) ([]gate.Process, error) { return []gate.Process{{PID: pid, TTY: testTTY}}, nil },
	})
	w.check(err)
	w.Registry, err = registry.New(registry.Config{Dir: filepath.Join(w.Dir, "data"), Clock: w.opts.Clock})
	w.check(err)
	w.Host, err = host.New(host.Options{
		Registry: w.Registry, Sandbox: w.Sandbox, Gate: w.Gate, Audit: w.Audit, Redact: secrets, Logger: w.logger(),
		Settings: filepath.Join(w.Dir, "settings.json"), Launch: w.launch, Attach: w.opts.Attach, Wait: w.opts.Wait,
	})
	w.check(err)
}

// closeHost ends the host and what makeHost made for it.
func (w *World) closeHost() {
	w.T.Helper()
	w.Gate.Close()
	if err := errors.Join(w.Host.Close(), w.Audit.Close()); err != nil {
		w.T.Errorf("closing the host: %v", err)
	}
}

// Restart ends the host and starts it again on the same files.
func (w *World) Restart() {
	w.T.Helper()
	w.closeHost()
	w.makeHost()
}

// launch starts the host's browser and remembers it for tests that kill it.
func (w *World) launch(ctx context.Context, headless bool) (*browser.Browser, error) {
	wrap := w.opts.Wrap
	if wrap == nil {
		wrap = w.Wire.wrap
	}
	b, err := browser.Launch(ctx, browser.Options{ProfileDir: filepath.Join(w.Dir, "profile"), Headless: headless, Logger: w.logger(), Wrap: wrap})
	if err == nil {
		select {
		case <-w.launched:
		default:
		}
		w.launched <- b
	}
	return b, err
}

// Browser returns the host's newest browser; a call must have launched one.
func (w *World) Browser() *browser.Browser {
	w.T.Helper()
	select {
	case b := <-w.launched:
		w.launched <- b
		return b
	default:
		w.T.Fatal("no browser was launched yet")
		return nil
	}
}

// logger writes to the test's log.
func (w *World) logger() *slog.Logger {
	if w.opts.Log != nil {
		return slog.New(w.opts.Log)
	}
	return slog.New(slog.NewTextHandler(w.T.Output(), nil))
}

// NewClient makes later calls those of another client: the gate asks for each of
// them only so often.
func (w *World) NewClient() {
	id := rand.Text()[:8]
	w.principal = host.Principal{ID: "client-" + id, Name: "test-client-" + strings.ToLower(id)}
}

// Call runs one tool call as the world's client, within two minutes.
func (w *World) Call(tool string, args any) host.CallResult {
	w.T.Helper()
	ctx, cancel := context.WithTimeout(w.T.Context(), 2*time.Minute)
	defer cancel()
	return w.CallAs(ctx, w.principal, tool, args)
}

// CallAs runs one tool call as some client.
func (w *World) CallAs(ctx context.Context, p host.Principal, tool string, args any) host.CallResult {
	w.T.Helper()
	raw, err := json.Marshal(args)
	w.check(err)
	return w.Host.Call(ctx, host.CallRequest{Principal: p, Client: "harness", Tool: tool, Args: raw})
}

// Result runs a call that has to succeed, and decodes its result.
func Result[T any](w *World, tool string, args any) T {
	w.T.Helper()
	res := w.Call(tool, args)
	if res.Err != nil {
		w.T.Fatalf("%s: %s: %v (hint: %s)", tool, res.Err.Code, res.Err, res.Err.Hint)
	}
	var v T
	w.check(json.Unmarshal(res.Structured, &v))
	return v
}

// WantCode runs a call that has to fail with code, and returns its error.
func (w *World) WantCode(code abi.Code, tool string, args any) *abi.Error {
	w.T.Helper()
	return w.wantCode(code, tool, w.Call(tool, args))
}

func (w *World) wantCode(code abi.Code, tool string, res host.CallResult) *abi.Error {
	w.T.Helper()
	if res.Err == nil {
		w.T.Fatalf("%s succeeded with %s; want %s", tool, res.Structured, code)
	}
	if res.Err.Code != code {
		w.T.Fatalf("%s: %s: %v; want %s", tool, res.Err.Code, res.Err, code)
	}
	return res.Err
}

func (w *World) check(err error) {
	w.T.Helper()
	if err != nil {
		w.T.Fatal(err)
	}
}
