package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/drawbridge-mcp/drawbridge/host"
	"github.com/drawbridge-mcp/drawbridge/host/audit"
	"github.com/drawbridge-mcp/drawbridge/host/browser"
	"github.com/drawbridge-mcp/drawbridge/host/clients"
	"github.com/drawbridge-mcp/drawbridge/host/control"
	"github.com/drawbridge-mcp/drawbridge/host/gate"
	"github.com/drawbridge-mcp/drawbridge/host/mcpserver"
	"github.com/drawbridge-mcp/drawbridge/host/platform"
	"github.com/drawbridge-mcp/drawbridge/registry"
	"github.com/drawbridge-mcp/drawbridge/sandbox"
)

// parts are what a daemon is made of, in the order in which they are closed.
type parts struct {
	host    *host.Host
	gate    *gate.Gate
	box     *sandbox.Sandbox
	audit   *audit.Log
	clients *clients.Store
}

// build makes a daemon's parts. Nothing is launched or compiled yet: the browser
// starts with the first call that needs it.
func build(ctx context.Context, dirs platform.Dirs, d *daemon) (*parts, error) {
	p := &parts{}
	err := p.build(ctx, dirs, d)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

func (p *parts) build(ctx context.Context, dirs platform.Dirs, d *daemon) (err error) {
	if p.clients, err = clients.Open(dirs.ClientsFile()); err != nil {
		return err
	}
	secrets := d.secrets
	opts := auditOptions(dirs)
	opts.Redact = secrets
	if p.audit, err = audit.Open(ctx, opts); err != nil {
		return err
	}
	p.gate, err = gate.New(gate.Options{
		UID: os.Getuid(), Lineage: control.Lineage, Connected: func() []gate.Process { return d.control.Connected() },
		MayAsk: p.clients.MayAsk,
		Notify: func(w gate.Pending) {
			d.logger.InfoContext(ctx, "a call waits for a person: drawbridge approvals", slog.String("tool", w.Subject.Tool), slog.String("id", w.ID))
		},
	})
	if err != nil {
		return err
	}
	if p.box, err = sandbox.Open(ctx, sandbox.Config{Dir: dirs.Compiled(), Command: d.worker, Log: d.logger}); err != nil {
		return err
	}
	reg, err := openRegistry(ctx, dirs, d)
	if err != nil {
		return err
	}
	opt := host.Options{
		Registry: reg, Sandbox: p.box, Gate: p.gate, Audit: p.audit, Redact: secrets, Logger: d.logger, Settings: dirs.SettingsFile(),
		Wait: gate.MaxWait, Refresh: d.refresh,
		Launch: func(ctx context.Context, headless bool) (*browser.Browser, error) {
			return browser.Launch(ctx, browser.Options{ProfileDir: dirs.Profile(), Headless: headless, Logger: d.logger, Display: displayOf(ctx)})
		},
		Changed: func() { d.mcp.ToolsChanged() },
	}
	if d.attaches() {
		attach := d.attach
		attach.Logger = d.logger
		opt.Attach = func(ctx context.Context) (*browser.Browser, error) { return browser.Attach(ctx, attach) }
	}
	if p.host, err = host.New(opt); err != nil {
		return err
	}
	d.mcp = mcpserver.New(p.host, mcpserver.Options{Version: version, Logger: d.logger})
	return nil
}

// openRegistry opens the registries, with the one that the program carries. A
// machine on which that can't be had, for want of git, runs what is installed.
func openRegistry(ctx context.Context, dirs platform.Dirs, d *daemon) (*registry.Client, error) {
	own, err := carried(d.carries)
	if err != nil {
		return nil, err
	}
	reg, err := registry.New(registry.Config{Dir: dirs.Data(), Events: registryEvents(d.logger), Builtin: own})
	if err != nil {
		return nil, err
	}
	if err := reg.EnsureBuiltin(ctx); err != nil {
		d.logger.WarnContext(ctx, "the connectors that this program carries", slog.Any("error", err))
	}
	return reg, nil
}

func registryEvents(log *slog.Logger) registry.Events {
	return registry.Events{
		Warning: func(registry, message string) {
			log.Warn("registry", slog.String("registry", registry), slog.String("warning", message))
		},
	}
}

// close ends everything: calls first, then what they used.
func (p *parts) close() error {
	var errs []error
	if p.gate != nil {
		p.gate.Close()
	}
	if p.host != nil {
		errs = append(errs, p.host.Close())
	}
	if p.box != nil {
		errs = append(errs, p.box.Close())
	}
	if p.audit != nil {
		errs = append(errs, p.audit.Close())
	}
	return errors.Join(errs...)
}
