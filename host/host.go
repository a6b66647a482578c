package host

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/drawbridge-mcp/drawbridge/abi"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/host/health"
	"github.com/drawbridge-mcp/drawbridge/host/redact"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// Options is what a Host is made of. Every field without a default named is required.
type Options struct {
	Registry *registry.Client
	Sandbox  *sandbox.Sandbox
	Gate     *gate.Gate
	Audit    *audit.Log
	Launch   func(ctx context.Context, headless bool) (*browser.Browser, error)
	// Attach, if set, joins the user's own browser, and Launch is not used. That
	// browser is never ended or restarted.
	Attach   func(ctx context.Context) (*browser.Browser, error)
	Redact   *redact.Redactor // shared with Audit: it learns what secrets were typed
	Logger   *slog.Logger
	Settings string           // path of the file that keeps plugins' settings
	Locale   string           // BCP 47; default en
	Now      func() time.Time // default time.Now
	Wait     time.Duration    // how long the gate waits for a person: a destructive call's deadline is that much later
	Changed  func()           // called after the list of tools changed; may be nil
	// Refresh is how often the registries are asked for what is new, and what is
	// revoked; 0 is never.
	Refresh time.Duration
}

// A Host carries calls. Its methods may be called from any goroutine.
type Host struct {
	opts    Options
	gate    *gate.Gate
	tabs    *tabs
	journal *journal
	redact  *redact.Redactor
	health  *health.Monitor
	values  valueCache
	catalog atomic.Pointer[catalog]
	shots   shots        // the newest calls' last pictures
	fetched atomic.Int64 // when a search last asked the registries, in Unix nanoseconds
	silent  silentRegistries

	// Questions are what waits for a person beside the gate's approvals.
	Questions Questions

	settings *settingsFile
	admin    sync.Mutex // one change of registries, plugins or settings at a time; not held while a person reads
	signin   sync.Mutex // one login or logout at a time: they show and restart the browser

	mu     sync.Mutex
	closed bool
	life   context.Context //nolint:containedctx // the host's own: Close ends it, and with it the calls that run
	end    context.CancelFunc
	calls  sync.WaitGroup
}

// New makes a host and loads what is installed. A plugin that can't be loaded
// is reported by Problems; it does not stop the others.
func New(o Options) (*Host, error) {
	if o.Locale == "" {
		o.Locale = "en"
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	h := &Host{
		opts: o, gate: o.Gate, journal: newJournal(o.Audit, o.Logger), redact: o.Redact,
		settings: &settingsFile{path: o.Settings},
		tabs:     &tabs{browsers: &supervisor{launch: o.Launch, attach: o.Attach}, open: map[tabKey]*tab{}, blank: o.Attach != nil},
	}
	h.life, h.end = context.WithCancel(context.Background())
	h.health = health.New(health.Options{Check: h.checkHealth, Changed: h.healthChanged, Now: o.Now})
	err := h.Reload()
	if errors.Is(err, abi.ErrUntrusted) { // the lock file pins nothing: none is loaded, and commands say why
		o.Logger.Error("no plugin is loaded", slog.Any("error", err))
		h.catalog.Store(&catalog{problems: map[string]*abi.Error{"lock.json": Safe(err)}})
		err = nil
	}
	if err == nil {
		go h.watchHealth()
		go h.watchRegistries()
	}
	return h, err
}

// Close ends the calls that run, the browser, and, once every call is written
// down, the audit log's queue. Later calls fail. It may be called again.
func (h *Host) Close() error {
	h.mu.Lock()
	if !h.closed {
		h.closed = true
		h.end()
	}
	h.mu.Unlock()
	h.calls.Wait()
	err := h.tabs.browsers.close()
	h.journal.close()
	return err
}

// enter counts a call in, unless the host is closed; the caller leaves by
// h.calls.Done.
func (h *Host) enter() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		return false
	}
	h.calls.Add(1)
	return true
}

// untilEnd returns ctx that ends with the host at the latest.
func (h *Host) untilEnd(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	unhook := context.AfterFunc(h.life, cancel)
	return ctx, func() {
		unhook()
		cancel()
	}
}

// Reload reads again what is installed and tells clients if the tools changed.
func (h *Host) Reload() error {
	next, err := h.load()
	if err != nil {
		return err
	}
	prev := h.catalog.Swap(next)
	h.health.Set(next.healthConnectors())
	for name, e := range next.problems {
		h.opts.Logger.Warn("plugin is not loaded", slog.String("plugin", name), slog.String("code", string(e.Code)), slog.String("error", e.Error()))
	}
	if prev == nil {
		return nil
	}
	for id, conn := range prev.connectors {
		if !conn.same(next.connectors[id]) {
			h.tabs.forget(id)
		}
	}
	for name, p := range prev.plugins {
		if p.life != nil {
			p.life.retire(next.revocation(name))
		}
	}
	if h.opts.Changed != nil {
		h.opts.Changed()
	}
	return nil
}

// Tools lists the tools that a client may see, sorted by name.
func (h *Host) Tools(_ context.Context, _ Principal) []ToolDef {
	return slices.Clone(h.catalog.Load().list)
}

// Problems tells which installed plugins are not loaded, and why, by
// namespace/name.
func (h *Host) Problems() map[string]*abi.Error { return h.catalog.Load().problems }

func (h *Host) now() time.Time { return h.opts.Now() }
